"""Questions about shapes and scenes: how far apart, where in contact, when, and what a ray meets.

A pose is (position [m], orientation (w, x, y, z)) of a shape's own frame, a twist (linear [m/s], angular
velocity [rad/s]) of its origin, both in world axes. Normals point from b to a.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .collision.contact_set import empty_contacts
from .collision.manifold import MAX_POINTS
from .collision.narrow_phase import Scratch, detect_contacts, make_scratch
from .collision.pairs import HIGH, PairTable, empty_pairs
from .collision.persistence import CARRIED, new_trace
from .collision.time_of_impact import advance_along
from .compilation import compile_parts
from .crew import alone
from .dynamics.body_state import quat_multiply
from .errors import SolverError, shown
from .geometry.shape_table import MESH, PLANE, TRIANGLE, Colliders, build_shape_table
from .geometry.shapes import Mesh, Shape, Sphere
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
        compile_parts("collision")
        if isinstance(shape_a, Mesh) and isinstance(shape_b, Mesh):
            raise SolverError("both shapes are meshes, which have no inside; give one solid shape")
        solids = [(shape, np.zeros(3), np.eye(3)) for shape in (shape_a, shape_b)]
        self.table, colliders, _ = build_shape_table(solids)
        own = [colliders.shape[colliders.body == side] for side in (0, 1)]
        self.parts = [parts[self.table.kind[parts] != MESH] for parts in own]
        if all((self.table.kind[parts] == PLANE).all() for parts in self.parts):
            raise SolverError("both shapes are planes, which are never at a distance; give one solid shape")
        self.bound = [float(self.table.bound[parts].max()) for parts in self.parts]
        self.scratch: Scratch = make_scratch(self.table)
        self.contacts = empty_contacts(MAX_POINTS)
        self.trace = new_trace(np.zeros(2))
        # Per pair of parts a table of its own, which keeps the witness from call to call.
        self.pairs: dict[tuple[int, int], PairTable] = {}

    @property
    def size(self) -> float:
        """Bound of the smaller shape [m]."""
        return min(self.bound)

    def region(
        self, pose_a: tuple[Array, Array], pose_b: tuple[Array, Array], margin: float
    ) -> ContactRegion:
        """All candidates of all parts, up to `margin` apart."""
        regions = [_NO_CONTACT]
        for i, j, apart in self._by_distance(pose_a, pose_b):
            if apart > margin:
                break
            regions.append(self._collide(i, j, pose_a, pose_b, margin)[0])
        return ContactRegion(*(np.concatenate(columns) for columns in zip(*regions, strict=True)))

    def closest(self, pose_a: tuple[Array, Array], pose_b: tuple[Array, Array]) -> ClosestPoints:
        """The closest points of the closest parts."""
        nearest: ClosestPoints | None = None
        for i, j, apart in self._by_distance(pose_a, pose_b):
            if nearest is not None and apart > nearest.separation:
                break
            region, deepest = self._collide(i, j, pose_a, pose_b, np.inf)
            if np.isinf(deepest.separation):
                k = int(np.argmin(region.separation))
                found = ClosestPoints(*(column[k] for column in region))
            else:
                found = deepest
            if nearest is None or found.separation < nearest.separation:
                nearest = found._replace(separation=float(found.separation))
        assert nearest is not None  # every shape has a part
        return nearest

    def advance(
        self, poses: tuple[tuple[Array, Array], ...], twists: tuple[tuple[Array, Array], ...],
        found: ClosestPoints, time: float, seconds: float,
    ) -> float:  # fmt: skip
        """A later time up to which the shapes do not touch, from their closest points at `time` [s].

        Args:
            poses, twists: Of a and b at time 0.
            seconds: Nothing later is of interest; infinite where they do not touch up to then.
        """
        (v_a, w_a), (v_b, w_b) = twists
        bound = np.array([b if w.any() else 0.0 for b, w in zip(self.bound, (w_a, w_b), strict=True)])
        if all(len(parts) == 1 for parts in self.parts):
            columns = [np.array([one[k], other[k]]) for one, other in (poses, twists) for k in (0, 1)]
            return advance_along(
                self.table, np.array([self.parts[0][0], self.parts[1][0]]), *columns, bound,
                np.ascontiguousarray(found.normal), time, float(seconds), 0.5 * IMPACT_ACCURACY * self.size,
            )  # fmt: skip
        # Of many parts each has a plane of its own: none comes nearer faster than the fastest point.
        turning = float(bound @ [np.linalg.norm(w_a), np.linalg.norm(w_b)])
        rate = float(found.normal @ (v_b - v_a)) + turning
        return time + found.separation / rate if rate > 0.0 else np.inf

    def _by_distance(
        self, pose_a: tuple[Array, Array], pose_b: tuple[Array, Array]
    ) -> Iterator[tuple[int, int, float]]:
        """Parts of a and b and how far apart they are at least, by the spheres around them; nearest first."""
        spheres = []
        for parts, pose in zip(self.parts, (pose_a, pose_b), strict=True):
            center = self.table.box_center[parts] @ _matrix(pose[1]).reshape(3, 3).T + pose[0]
            spheres.append((center, np.linalg.norm(self.table.box_half[parts], axis=1)))
        (center_a, radius_a), (center_b, radius_b) = spheres
        apart = np.linalg.norm(center_a[:, None] - center_b, axis=2) - radius_a[:, None] - radius_b
        for k in np.argsort(apart, axis=None, kind="stable"):
            i, j = divmod(int(k), len(center_b))
            yield i, j, float(apart[i, j])

    def _collide(
        self, i: int, j: int, pose_a: tuple[Array, Array], pose_b: tuple[Array, Array], margin: float
    ) -> tuple[ContactRegion, ClosestPoints]:
        """Candidates of a pair of parts, and its closest points; with margin inf where none are noted."""
        a, b = self.parts[0][i], self.parts[1][j]
        turned = self.table.kind[a] == TRIANGLE  # kernels take triangles as b
        if turned:
            a, b, pose_a, pose_b = b, a, pose_b, pose_a
        if (i, j) not in self.pairs:
            self.pairs[i, j] = empty_pairs(1, 1)
            self.pairs[i, j].collider[0], self.pairs[i, j].counter[HIGH] = (0, 1), 1
        c = np.array([pose_a[0] - pose_b[0], np.zeros(3)])
        rotation = np.array([_matrix(pose_a[1]), _matrix(pose_b[1])])
        self.pairs[i, j].way[0] = -np.inf  # look, whatever was seen before
        self.scratch.manifold.count[0] = 0
        detect_contacts(
            Colliders(np.arange(2), np.array([a, b])), self.table, np.zeros(2, np.bool_), c, rotation,
            self.trace, self.pairs[i, j], np.full(2, 0.5 * margin), 0.0, CARRIED, self.contacts, self.scratch,
            *alone(),
        )  # fmt: skip
        found = self.scratch.manifold
        count = found.count[0]
        separation, normal = found.separation[:count].copy(), found.normal[:count].copy()
        on_a = found.p_a[:count] + pose_b[0]
        region = ContactRegion(separation, on_a, on_a - separation[:, None] * normal, normal)
        noted = self.scratch.deepest.copy()
        on_a = noted[4:7] + pose_b[0]
        apart = noted[0] if np.isfinite(noted[0]) else 0.0
        deepest = ClosestPoints(noted[0], on_a, on_a - apart * noted[1:4], noted[1:4])
        if turned:
            region = ContactRegion(separation, region.point_b, region.point_a, -normal)
            deepest = ClosestPoints(noted[0], deepest.point_b, deepest.point_a, -deepest.normal)
        return region, deepest


_NO_CONTACT = ContactRegion(np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3)))


def _with_backs(shape: Shape) -> Shape:
    """The shape, a mesh with both sides: what is near a surface is near its back, too."""
    return Mesh(shape.vertices, shape.triangles, two_sided=True) if isinstance(shape, Mesh) else shape


def closest_points(shape_a: Shape, pose_a: Pose, shape_b: Shape, pose_b: Pose) -> ClosestPoints:
    """Distance of two shapes with its points, or their depth where they overlap.

    Raises:
        SolverError: A pose is not usable, or both shapes are planes.
    """
    return _Pair(_with_backs(shape_a), _with_backs(shape_b)).closest(
        _pose("pose_a", pose_a), _pose("pose_b", pose_b)
    )


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
    n . (v_b - v_a) + |w_a| r_a + |w_b| r_b; so nothing touches before s over that rate. The plane across n
    is followed until it no longer separates them, and only then the closest points are sought again.

    Args:
        seconds: How long to look ahead.

    Returns:
        A time at which they are at most 1e-9 of the smaller shape's size apart, never past the
        contact; 0 where they touch at once; None where they do not touch in time.

    Source: Mirtich 1996, section 2.3; Ericson 2005, section 5.5.
    """
    pair = _Pair(_with_backs(shape_a), _with_backs(shape_b))
    a, b = _pose("pose_a", pose_a), _pose("pose_b", pose_b)
    (v_a, w_a), (v_b, w_b) = _twist("twist_a", twist_a), _twist("twist_b", twist_b)
    for bound, w in zip(pair.bound, (w_a, w_b), strict=True):
        if not np.isfinite(bound) and w.any():
            raise SolverError("a plane that turns sweeps all of space; give it no angular velocity")
    time = 0.0
    for _ in range(MAX_ADVANCES):
        found = pair.closest(_moved(a, v_a, w_a, time), _moved(b, v_b, w_b, time))
        if found.separation <= IMPACT_ACCURACY * pair.size:
            return time
        time = pair.advance((a, b), ((v_a, w_a), (v_b, w_b)), found, time, seconds)
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
        cast = _cast_at_mesh if isinstance(body.shape, Mesh) else _cast_at
        found = cast(body.shape, (body.position, body.orientation), start, along, limit)
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


def _cast_at_mesh(
    mesh: Shape, pose: tuple[Array, Array], start: Array, along: Array, limit: float
) -> tuple[float, Array] | None:
    """Distance along the ray and normal of the first triangle it meets (Moeller & Trumbore 1997)."""
    assert isinstance(mesh, Mesh)
    rotation = _matrix(pose[1]).reshape(3, 3)
    surface = mesh.surface
    origin, direction = rotation.T @ (start - pose[0]), rotation.T @ along
    a, b, c = np.moveaxis(surface.vertices[surface.triangles], 1, 0)
    across = np.cross(direction, c - a)
    volume = ((b - a) * across).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = ((origin - a) * across).sum(axis=1) / volume
        beside = np.cross(origin - a, b - a)
        v = beside @ direction / volume
        distance = (beside * (c - a)).sum(axis=1) / volume
    facing = np.sign(surface.normal @ direction)
    hit = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (distance >= 0.0) & (distance <= limit)
    hit &= (facing < 0.0) | mesh.is_two_sided
    if not hit.any():
        return None
    k = int(np.argmin(np.where(hit, distance, np.inf)))
    return float(distance[k]), rotation @ surface.normal[k] * -facing[k]


def _moved(pose: tuple[Array, Array], v: Array, w: Array, time: float) -> tuple[Array, Array]:
    angle = float(np.linalg.norm(w)) * time
    if angle == 0.0:
        return pose[0] + time * v, pose[1]
    turn = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * w / np.linalg.norm(w)])
    return pose[0] + time * v, quat_multiply(turn[None], pose[1][None])[0]


def _matrix(q: Array) -> Array:
    """Rotation matrix as a row of nine."""
    w, x, y, z = q.tolist()
    return np.array([
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    ])  # fmt: skip


def _vector(name: str, value: ArrayLike) -> Array:
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SolverError(f"{name} is {shown(value)}; give three numbers") from error
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise SolverError(f"{name} is {shown(value)}; give three finite numbers")
    return vector


def _pose(name: str, pose: Pose) -> tuple[Array, Array]:
    position, orientation = pose
    q = np.array(orientation, dtype=np.float64)
    length = float(np.linalg.norm(q)) if q.shape == (4,) else 0.0
    if not (np.isfinite(length) and length > 0.0):
        raise SolverError(
            f"the orientation of {name} is {shown(orientation)}; give a quaternion (w, x, y, z)"
        )
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
