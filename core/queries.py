"""Questions about shapes and scenes: how far apart, where in contact, when, and what a ray meets.

A pose is (position [m], orientation (w, x, y, z)) of a shape's own frame, a twist (linear [m/s], angular
velocity [rad/s]) of its origin, both in world axes. Normals point from b to a.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .collision.broad_phase import HIGH, empty_pairs
from .collision.manifold import MAX_POINTS
from .collision.narrow_phase import Scratch, detect_contacts, empty_contacts, make_scratch
from .compilation import compile_kernels
from .dynamics.body_state import quat_multiply, quat_rotate
from .errors import SolverError
from .geometry.shape_table import PLANE, Colliders, build_shape_table
from .geometry.shapes import Shape, Sphere
from .scene import Scene

Pose = tuple[ArrayLike, ArrayLike]
Twist = tuple[ArrayLike, ArrayLike]
Array = NDArray[np.float64]

# A time of impact is found to this part of the smaller shape's size, in at most so many steps.
IMPACT_ACCURACY = 1e-9
MAX_ADVANCES = 10_000


class ClosestPoints(NamedTuple):
    """The two points that decide the separation of two shapes.

    Attributes:
        separation: n . (point_a - point_b) [m], negative when the shapes overlap.
        point_a, point_b: Points of the two surfaces [m], world axes, shape (3,).
        normal: Unit vector from b to a, shape (3,).
    """

    separation: float
    point_a: Array
    point_b: Array
    normal: Array


class ContactRegion(NamedTuple):
    """Outline of the region where two shapes touch: k points.

    Attributes:
        separation: [m], shape (k,).
        point_a, point_b: Points of the two surfaces [m], world axes, shape (k, 3).
        normal: Unit vectors from b to a, shape (k, 3).
    """

    separation: Array
    point_a: Array
    point_b: Array
    normal: Array


class RayHit(NamedTuple):
    """Where a ray meets a body first.

    Attributes:
        body: Name of the body.
        distance: From the ray's origin [m].
        point: World axes [m], shape (3,).
        normal: Out of the body, shape (3,).
    """

    body: str
    distance: float
    point: Array
    normal: Array


class _Pair:
    """Two shapes in one table, with the scratch to collide them."""

    def __init__(self, shape_a: Shape, shape_b: Shape) -> None:
        compile_kernels()
        solids = [(shape, np.zeros(3), np.eye(3)) for shape in (shape_a, shape_b)]
        self.table, colliders = build_shape_table(solids)
        self.parts = [colliders.shape[colliders.body == side] for side in (0, 1)]
        if all((self.table.kind[parts] == PLANE).all() for parts in self.parts):
            raise SolverError("both shapes are planes, which are never at a distance; give one solid shape")
        self.bound = [float(self.table.bound[parts].max()) for parts in self.parts]
        self.scratch: Scratch = make_scratch(self.table)
        self.contacts = empty_contacts(MAX_POINTS)
        self.pairs = {}  # per pair of parts a table of its own, which keeps the witness from call to call
        for i in range(len(self.parts[0])):
            for j in range(len(self.parts[1])):
                self.pairs[i, j] = table = empty_pairs(1)
                table.collider[0], table.counter[HIGH] = (0, 1), 1

    @property
    def size(self) -> float:
        """Bound of the smaller shape [m]."""
        return min(self.bound)

    def region(
        self, pose_a: tuple[Array, Array], pose_b: tuple[Array, Array], margin: float
    ) -> ContactRegion:
        """All candidates of all parts, up to `margin` apart."""
        regions = [region for region, _ in self._collide(pose_a, pose_b, margin)]
        return ContactRegion(*(np.concatenate(columns) for columns in zip(*regions, strict=True)))

    def closest(self, pose_a: tuple[Array, Array], pose_b: tuple[Array, Array]) -> ClosestPoints:
        """The closest points of the closest parts."""
        nearest: ClosestPoints | None = None
        for region, deepest in self._collide(pose_a, pose_b, np.inf):
            if np.isnan(deepest[0]):
                k = int(np.argmin(region.separation))
                found = ClosestPoints(*(column[k] for column in region))
            else:
                separation, normal, point_a = deepest[0], deepest[1:4], deepest[4:7] + pose_b[0]
                found = ClosestPoints(separation, point_a, point_a - separation * normal, normal)
            if nearest is None or found.separation < nearest.separation:
                nearest = found._replace(separation=float(found.separation))
        assert nearest is not None  # every shape has a part
        return nearest

    def _collide(
        self, pose_a: tuple[Array, Array], pose_b: tuple[Array, Array], margin: float
    ) -> Iterator[tuple[ContactRegion, Array]]:
        """Per pair of parts its candidates, and its closest points as the kernel notes them."""
        c = np.array([pose_a[0] - pose_b[0], np.zeros(3)])
        rotation = np.array([_matrix(pose_a[1]), _matrix(pose_b[1])])
        for (i, j), table in self.pairs.items():
            shapes = np.array([self.parts[0][i], self.parts[1][j]])
            self.scratch.deepest[0] = np.nan
            self.scratch.manifold.count[0] = 0
            detect_contacts(
                Colliders(np.arange(2), shapes), self.table, c, rotation, table, np.zeros(2), margin,
                self.contacts, self.scratch,
            )  # fmt: skip
            found = self.scratch.manifold
            count = found.count[0]
            separation, normal = found.separation[:count].copy(), found.normal[:count].copy()
            point_a = found.p_a[:count] + pose_b[0]
            point_b = point_a - separation[:, None] * normal
            yield ContactRegion(separation, point_a, point_b, normal), self.scratch.deepest.copy()


def closest_points(shape_a: Shape, pose_a: Pose, shape_b: Shape, pose_b: Pose) -> ClosestPoints:
    """Distance of two shapes with its points, or their depth where they overlap.

    Raises:
        SolverError: A pose is not usable, or both shapes are planes.
    """
    return _Pair(shape_a, shape_b).closest(_pose("pose_a", pose_a), _pose("pose_b", pose_b))


def contacts(
    shape_a: Shape, pose_a: Pose, shape_b: Shape, pose_b: Pose, *, margin: float = 0.0
) -> ContactRegion:
    """Points of the contact region's outline, as far as they are at most `margin` [m] apart.

    Raises:
        SolverError: A pose is not usable, or both shapes are planes.
    """
    return _Pair(shape_a, shape_b).region(_pose("pose_a", pose_a), _pose("pose_b", pose_b), float(margin))


def time_of_impact(
    shape_a: Shape,
    pose_a: Pose,
    twist_a: Twist,
    shape_b: Shape,
    pose_b: Pose,
    twist_b: Twist,
    seconds: float,
) -> float | None:
    """When two shapes that move and turn steadily first touch: conservative advancement.

    Along the normal n of the closest points the separation s can fall no faster than
    n . (v_b - v_a) + |w_a| r_a + |w_b| r_b; so nothing touches before s over that rate.

    Args:
        seconds: How long to look ahead.

    Returns:
        A time at which they are at most 1e-9 of the smaller shape's size apart, never past the
        contact; 0 where they touch at once; None where they do not touch in time.

    Source: Mirtich 1996, section 2.3; Ericson 2005, section 5.5.
    """
    pair = _Pair(shape_a, shape_b)
    a, b = _pose("pose_a", pose_a), _pose("pose_b", pose_b)
    (v_a, w_a), (v_b, w_b) = _twist("twist_a", twist_a), _twist("twist_b", twist_b)
    turning = 0.0
    for bound, w in zip(pair.bound, (w_a, w_b), strict=True):
        if not np.isfinite(bound) and w.any():
            raise SolverError("a plane that turns sweeps all of space; give it no angular velocity")
        turning += float(np.linalg.norm(w)) * bound if w.any() else 0.0
    time = 0.0
    for _ in range(MAX_ADVANCES):
        found = pair.closest(_moved(a, v_a, w_a, time), _moved(b, v_b, w_b, time))
        if found.separation <= IMPACT_ACCURACY * pair.size:
            return time
        rate = float(found.normal @ (v_b - v_a)) + turning
        if rate <= 0.0:
            return None
        time += found.separation / rate
        if time > seconds:
            return None
    return time  # creeping up on a grazing contact: not past it


def ray_cast(scene: Scene, origin: ArrayLike, direction: ArrayLike) -> RayHit | None:
    """The first body that a ray meets, at the bodies' poses in the scene; None where there is none.

    Args:
        origin: World axes [m], shape (3,).
        direction: World axes, shape (3,), any length but zero.

    Raises:
        SolverError: The origin or the direction is not usable.
    """
    start, along = _vector("origin", origin), _vector("direction", direction)
    length = float(np.linalg.norm(along))
    if length == 0.0:
        raise SolverError("the direction of a ray is zero; give the direction it goes in")
    along = along / length
    nearest: RayHit | None = None
    for body in scene.bodies:
        limit = nearest.distance if nearest else np.inf
        found = _cast_at(body.shape, (body.position, body.orientation), start, along, limit)
        if found is not None:
            distance, normal = found
            nearest = RayHit(body.name, distance, start + distance * along, normal)
    return nearest


def _cast_at(
    shape: Shape, pose: tuple[Array, Array], start: Array, along: Array, limit: float
) -> tuple[float, Array] | None:
    """Distance along the ray and normal: a point moves up to the shape, never past its surface."""
    pair = _Pair(_POINT, shape)
    distance = 0.0
    upright = np.array([1.0, 0.0, 0.0, 0.0])
    size = pair.bound[1]
    accuracy = IMPACT_ACCURACY * (size if np.isfinite(size) else 1.0)
    for _ in range(MAX_ADVANCES):
        found = pair.closest((start + distance * along, upright), pose)
        rate = -float(found.normal @ along)
        if found.separation <= accuracy:
            return distance, found.normal
        if rate <= 0.0 or distance + found.separation / rate > limit:
            return None
        distance += found.separation / rate
    return distance, found.normal


def _moved(pose: tuple[Array, Array], v: Array, w: Array, time: float) -> tuple[Array, Array]:
    angle = float(np.linalg.norm(w)) * time
    if angle == 0.0:
        return pose[0] + time * v, pose[1]
    turn = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * w / np.linalg.norm(w)])
    return pose[0] + time * v, quat_multiply(turn[None], pose[1][None])[0]


def _matrix(q: Array) -> Array:
    """Rotation matrix as a row of nine."""
    columns = quat_rotate(np.repeat(q[None], 3, axis=0), np.eye(3))
    return np.ascontiguousarray(columns.T).reshape(9)


def _vector(name: str, value: ArrayLike) -> Array:
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SolverError(f"{name} is {value!r}; give three numbers") from error
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise SolverError(f"{name} is {value!r}; give three finite numbers")
    return vector


def _pose(name: str, pose: Pose) -> tuple[Array, Array]:
    position, orientation = pose
    q = np.array(orientation, dtype=np.float64)
    length = float(np.linalg.norm(q)) if q.shape == (4,) else 0.0
    if not (np.isfinite(length) and length > 0.0):
        raise SolverError(f"the orientation of {name} is {orientation!r}; give a quaternion (w, x, y, z)")
    return _vector(f"the position of {name}", position), q / length


def _twist(name: str, twist: Twist) -> tuple[Array, Array]:
    linear, angular = twist
    return (
        _vector(f"the linear velocity of {name}", linear),
        _vector(f"the angular velocity of {name}", angular),
    )


class _Point(Sphere):
    """A sphere of no size."""

    def __init__(self) -> None:
        super().__init__(1.0)
        self.radius = 0.0


_POINT = _Point()
