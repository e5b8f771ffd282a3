"""An independent check of a trajectory: does anything overlap, is energy or momentum made?

Shares no code with the solver, not even the hulls: Qhull triangulates the points a shape was given,
and the depth of two convex solids comes from the hull of all differences of their vertices. That is
exact for polyhedra; for capsules, cylinders and cones the smallest overlap is searched for among all
directions. It needs nothing beyond scipy, which Topple needs anyway; the libraries made for
it were no better choice: python-fcl's penetration depth comes from an iteration (EPA) that can stop
far from the true depth, which the tests show, so it serves there as a second opinion on contact only.

Legend: A, B the two bodies; overlap along a direction n, h_A(n) + h_B(-n) with support functions h:
the distance B must move along n to come free. The penetration depth is the smallest overlap over all n.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial import ConvexHull as Qhull

from .diagnostics import (
    angular_momentum,
    centers_of_mass,
    kinetic_energy,
    linear_momentum,
    potential_energy,
    rotation_matrices,
)
from .errors import SceneError
from .geometry.shapes import Box, Capsule, Compound, Cone, ConvexSolid, Cylinder, Plane, Shape, Sphere
from .report import Report
from .scene import Body, Scene
from .trajectory import Trajectory

Array = NDArray[np.float64]
Progress = Callable[[str, int, int], object]

# What a solver may leave [m]: the default tolerance of the impulse solver.
PENETRATION_TOLERANCE = 1e-4
# Energy may rise by this fraction of the energy in play from frame to frame: time stepping moves
# energy between height and speed with an error of the order of the step.
ENERGY_TOLERANCE = 1e-3
# Without fixed bodies momentum is exact up to the rounding of sums over all steps.
MOMENTUM_TOLERANCE = 1e-6


class Penetration(NamedTuple):
    """Deepest overlap in one frame.

    Attributes:
        depth: Smallest distance one of the two must move to come free [m]; 0 without overlap.
        pair: Names of the two bodies; None without overlap.
    """

    depth: float
    pair: tuple[str, str] | None


def verify(
    scene: Scene,
    trajectory: Trajectory,
    *,
    tolerance: float = PENETRATION_TOLERANCE,
    progress: Progress | None = None,
) -> Report:
    """Check a trajectory of a scene by means that share no code with the solver.

    Looks at every pair of bodies that may touch, in every frame, and at the budgets of energy (it must
    not rise where nothing is driven) and momentum (kept where no body is fixed and nothing is damped).

    Args:
        scene: The scene that was simulated.
        trajectory: Its trajectory, bodies in the scene's order.
        tolerance: Penetration above which a warning is written [m].
        progress: Called as progress(stage, done, total) after each frame.

    Returns:
        A report with `max_penetration`, `worst_pair`, `worst_frame` and a warning for each finding;
        `unresolved` lists the frames with penetration above the tolerance.

    Raises:
        SceneError: The trajectory belongs to other bodies, or has states that are no poses.
    """
    frames = frame_penetrations(scene, trajectory, progress=progress)
    report = Report(state_hash=trajectory.state_hash)
    report.unresolved = [
        {"frame": frame, "pair": pair, "depth": depth}
        for frame, (depth, pair) in enumerate(frames)
        if depth > tolerance
    ]
    worst = max(range(len(frames)), key=lambda frame: frames[frame].depth)
    report.max_penetration, report.worst_pair = frames[worst]
    if report.worst_pair is not None:
        report.worst_frame = worst
    if report.max_penetration > tolerance and report.worst_pair is not None:
        a, b = report.worst_pair
        report.warnings.append(
            f"'{a}' and '{b}' overlap by {report.max_penetration:.3g} m in frame {worst}, and "
            f"{len(report.unresolved)} of {len(frames)} frames exceed {tolerance:.3g} m; "
            + ("move them apart at the start" if worst == 0 else "bake with a smaller tolerance or time step")
        )
    report.warnings += _energy_warnings(scene, trajectory, tolerance)
    report.warnings += _momentum_warnings(scene, trajectory)
    return report


def frame_penetrations(
    scene: Scene, trajectory: Trajectory, *, progress: Progress | None = None
) -> list[Penetration]:
    """Find the deepest overlap of every frame.

    Raises:
        SceneError: As for `verify`.
    """
    _check_match(scene, trajectory)
    parts = [(owner, solid) for owner, body in enumerate(scene.bodies) for solid in _solids(body.shape)]
    owners, solids = np.array([owner for owner, _ in parts], np.int64), [solid for _, solid in parts]
    names = tuple(trajectory.names[owner] for owner in owners)
    positions = trajectory.position[:, owners]
    rotations = rotation_matrices(trajectory.orientation)[:, owners]
    low, high = _boxes(solids, positions, rotations)
    may_meet = _may_meet([scene.bodies[owner] for owner in owners]) & (owners[:, None] != owners)
    known_directions: dict[tuple[int, int], Array] = {}
    found = []
    for frame in range(len(trajectory.times)):
        placed = _Frame(solids, positions[frame], rotations[frame], known_directions)
        pairs = _close_pairs(low[frame], high[frame])
        found.append(_deepest(placed, pairs[may_meet[pairs[:, 0], pairs[:, 1]]], names))
        if progress is not None:
            progress("verify", frame + 1, len(trajectory.times))
    return found


def _check_match(scene: Scene, trajectory: Trajectory) -> None:
    names = tuple(body.name for body in scene.bodies)
    if names != trajectory.names:
        raise SceneError(
            f"the trajectory holds {len(trajectory.names)} bodies that are not the scene's {len(names)}; "
            "give the scene it was baked from"
        )
    length = np.linalg.norm(trajectory.orientation, axis=-1)
    for name in ("position", "orientation", "linear_velocity", "angular_velocity"):
        usable = np.isfinite(getattr(trajectory, name)).all(axis=-1)
        if name == "orientation":
            usable &= np.abs(length - 1) < 1e-6
        if not usable.all():
            frame, body = np.argwhere(~usable)[0]
            raise SceneError(
                f"its {name} in frame {frame} is not usable; bake again", body=names[body], field=name
            )


@dataclass(frozen=True)
class _Solid:
    """A shape in its body's frame; `radius` grows the hull of `vertices`, a sphere has one vertex.

    Cylinders and cones are the hull of two discs about their two vertices.
    """

    vertices: Array  # (v, 3), none for a plane
    normals: Array  # (f, 3) outward, unit
    distances: Array  # (f,) normal . x on the face
    edges: Array  # (e, 2, 3) endpoints of segments that hold all edges
    radius: float = 0.0
    discs: tuple[float, ...] = ()  # [m] radii about the two vertices
    axis: Array = field(default_factory=lambda: np.zeros(3))  # of the discs, zero without

    @classmethod
    def of(cls, shape: ConvexSolid | Plane) -> "_Solid":
        none = np.zeros((0, 3))
        if isinstance(shape, Capsule | Cylinder | Cone):
            ends = np.array([[0.0, 0.0, -shape.height / 2], [0.0, 0.0, shape.height / 2]])
            if isinstance(shape, Capsule):
                return cls(ends, none, np.zeros(0), np.zeros((0, 2, 3)), shape.radius)
            discs = (shape.radius, shape.radius if isinstance(shape, Cylinder) else 0.0)
            return cls(ends, none, np.zeros(0), np.zeros((0, 2, 3)), 0.0, discs, np.array([0.0, 0.0, 1.0]))
        if isinstance(shape, Sphere):
            return cls(np.zeros((1, 3)), none, np.zeros(0), np.zeros((0, 2, 3)), shape.radius)
        if isinstance(shape, Plane):
            return cls(none, shape.normal[None], np.array([shape.offset]), np.zeros((0, 2, 3)))
        if isinstance(shape, Box):
            points = np.array(list(product(*[(-extent / 2, extent / 2) for extent in shape.size])))
        else:
            points = shape.points
        middle = points.mean(axis=0)
        qhull = Qhull(points - middle)
        planes = np.unique(np.round(qhull.equations, 12), axis=0)
        sides = np.concatenate(
            [qhull.simplices[:, [0, 1]], qhull.simplices[:, [1, 2]], qhull.simplices[:, [2, 0]]]
        )
        edges = points[np.unique(np.sort(sides, axis=1), axis=0)]
        distances = planes[:, :3] @ middle - planes[:, 3]
        return cls(points[qhull.vertices], planes[:, :3], distances, edges)

    @property
    def is_plane(self) -> bool:
        return len(self.vertices) == 0

    @property
    def is_round(self) -> bool:
        """Neither a polyhedron nor a sphere."""
        return len(self.vertices) == 2

    def heights(self, directions: Array) -> Array:
        """Support function: how far the solid reaches along each direction [m], shape (d,)."""
        reach = directions @ self.vertices.T
        if self.discs:
            across = directions - np.outer(directions @ self.axis, self.axis)
            reach = reach + np.linalg.norm(across, axis=1)[:, None] * np.array(self.discs)
        return reach.max(axis=1) + self.radius

    def moved(self, position: Array, rotation: Array) -> "_Solid":
        """The same solid elsewhere."""
        normals = self.normals @ rotation.T
        return _Solid(
            self.vertices @ rotation.T + position,
            normals,
            self.distances + normals @ position,
            self.edges @ rotation.T + position,
            self.radius,
            self.discs,
            rotation @ self.axis,
        )


def _solids(shape: Shape) -> list[_Solid]:
    """The convex solids a shape consists of, in the body's frame."""
    if isinstance(shape, Compound):
        return [
            _Solid.of(part).moved(position, rotation) for part, position, rotation in shape.placed_parts()
        ]
    return [_Solid.of(shape)]


class _Frame:
    """All solids at their places in one frame, moved to the world when first needed."""

    def __init__(
        self,
        solids: list[_Solid],
        position: Array,
        rotation: Array,
        known_directions: dict[tuple[int, int], Array],
    ) -> None:
        self._solids, self._position, self._rotation = solids, position, rotation
        self._placed: dict[int, _Solid] = {}
        self.known_directions = known_directions

    def solid(self, body: int) -> _Solid:
        if body not in self._placed:
            self._placed[body] = self._solids[body].moved(self._position[body], self._rotation[body])
        return self._placed[body]


def _boxes(solids: list[_Solid], position: Array, rotation: Array) -> tuple[Array, Array]:
    """Axis-aligned boxes of all bodies in all frames [m], each (frames, bodies, 3)."""
    low, high = np.empty_like(position), np.empty_like(position)
    for body, solid in enumerate(solids):
        if solid.is_plane:
            low[:, body], high[:, body] = -np.inf, np.inf
            continue
        turned = np.einsum("fij,vj->fvi", rotation[:, body], solid.vertices)
        wide = np.full((len(position), 1, 3), solid.radius)
        if solid.discs:  # a disc reaches r sqrt(1 - a^2) along an axis of cosine a with its own
            across = np.sqrt(np.maximum(1.0 - (rotation[:, body] @ solid.axis) ** 2, 0.0))
            wide = across[:, None] * np.array(solid.discs)[:, None]
        low[:, body] = (turned - wide).min(axis=1) + position[:, body]
        high[:, body] = (turned + wide).max(axis=1) + position[:, body]
    return low, high


def _may_meet(bodies: list[Body]) -> NDArray[np.bool_]:
    """Pairs that a solver keeps apart: at least one can move freely, and the layers agree."""
    free = np.array([body.is_movable for body in bodies], dtype=bool)
    layers = np.array([body.layers for body in bodies], dtype=np.int64)
    masks = np.array([body.collides_with for body in bodies], dtype=np.int64)
    sees = (layers[:, None] & masks[None, :]) != 0
    return (free[:, None] | free[None, :]) & sees & sees.T


def _close_pairs(low: Array, high: Array) -> NDArray[np.int64]:
    """Pairs of bodies whose boxes overlap, shape (pairs, 2), by a sweep along the longest axis."""
    bounded = np.isfinite(low).all(axis=1)
    spread = np.ptp(low[bounded], axis=0) if bounded.any() else np.zeros(3)
    axis = int(np.argmax(spread))
    order = np.argsort(low[:, axis], kind="stable")
    starts, ends = low[order, axis], high[order, axis]
    count = np.searchsorted(starts, ends, side="right") - np.arange(len(order)) - 1
    first = np.repeat(np.arange(len(order)), count)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
    a, b = order[first], order[second]
    overlap = ((low[a] < high[b]) & (low[b] < high[a])).all(axis=1)
    return np.sort(np.stack([a[overlap], b[overlap]], axis=1), axis=1)


def _deepest(frame: _Frame, pairs: NDArray[np.int64], names: tuple[str, ...]) -> Penetration:
    """Deepest overlap of a frame's pairs.

    The overlap along any one direction bounds the depth from above, so pairs are looked at in the
    order of their bounds, and those that cannot beat the deepest yet found are not worked out.
    """
    bounds = [(_depth_bound(frame, a, b), a, b) for a, b in pairs.tolist()]
    deepest = Penetration(0.0, None)
    for bound, a, b in sorted(bounds, reverse=True):
        if bound <= deepest.depth:
            break
        depth = _depth(frame, a, b)
        if depth > deepest.depth:
            deepest = Penetration(depth, (names[a], names[b]))
    return deepest


def _depth_bound(frame: _Frame, a: int, b: int) -> float:
    """Smallest overlap along the face normals and the direction that decided this pair before."""
    one, other = frame.solid(a), frame.solid(b)
    bound = min(_face_overlap(one, other), _face_overlap(other, one))
    known = frame.known_directions.get((a, b))
    if known is not None and bound > 0:
        bound = min(bound, _overlap(one, other, known))
    return bound


def _face_overlap(one: _Solid, other: _Solid) -> float:
    if len(one.normals) == 0 or other.is_plane:
        return np.inf
    return float((one.distances + other.heights(-one.normals)).min())


def _overlap(one: _Solid, other: _Solid, direction: Array) -> float:
    """Overlap along one direction: how far `other` must move along it to come free [m]."""
    return float(one.heights(direction[None])[0] + other.heights(-direction[None])[0])


def _smallest_overlap(one: _Solid, other: _Solid) -> tuple[float, Array]:
    """The smallest overlap of all directions and its direction, by search: for round solids.

    The overlap is smooth or has ridges, but few minima: the best of many directions lie in the right
    ones, and a simplex search on the sphere goes to their bottom.
    """
    golden = np.arange(400) + 0.5
    height, turn = 1.0 - golden / 200.0, np.pi * (1.0 + 5**0.5) * golden
    ring = np.sqrt(1.0 - height**2)
    spread = np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)
    special = [solid.axis for solid in (one, other) if solid.discs]
    between = other.vertices.mean(axis=0) - one.vertices.mean(axis=0)
    if np.linalg.norm(between) > 0:
        special.append(between / np.linalg.norm(between))
    directions = np.concatenate(
        [spread, *(np.stack([d, -d]) for d in special), one.normals, -other.normals], dtype=np.float64
    )
    overlaps = one.heights(directions) + other.heights(-directions)
    best, best_direction = np.inf, directions[0]
    for start in directions[np.argsort(overlaps)[:6]]:
        tangents = np.linalg.svd(start[None])[2][1:]

        def along(x: Array, start: Array = start, tangents: Array = tangents) -> float:
            direction = start + x @ tangents
            return _overlap(one, other, direction / np.linalg.norm(direction))

        found = minimize(
            along, np.zeros(2), method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-14, "initial_simplex": [[0, 0], [0.05, 0], [0, 0.05]]},
        )  # fmt: skip
        if found.fun < best:
            direction = start + found.x @ tangents
            best, best_direction = float(found.fun), direction / np.linalg.norm(direction)
    return best, best_direction


def _depth(frame: _Frame, a: int, b: int) -> float:
    """Penetration depth [m], 0 where the two do not overlap."""
    one, other = frame.solid(a), frame.solid(b)
    if one.is_plane or other.is_plane:
        return max(0.0, _depth_bound(frame, a, b))  # along a plane's only normal it is exact
    if one.is_round or other.is_round:
        depth, frame.known_directions[a, b] = _smallest_overlap(one, other)
        return max(0.0, depth)
    if one.radius > 0 and other.radius > 0:
        distance = float(np.linalg.norm(one.vertices[0] - other.vertices[0]))
        return max(0.0, one.radius + other.radius - distance)
    if one.radius > 0:
        return max(0.0, one.radius - _signed_distance(one.vertices[0], other))
    if other.radius > 0:
        return max(0.0, other.radius - _signed_distance(other.vertices[0], one))
    # A and B share a point where a - b = 0 for some a, b: where the hull of all differences holds
    # the origin, whose distance to the nearest face is then the depth.
    differences = (one.vertices[:, None] - other.vertices[None]).reshape(-1, 3)
    planes = Qhull(differences).equations
    nearest = int(np.argmax(planes[:, 3]))
    frame.known_directions[a, b] = planes[nearest, :3]
    return max(0.0, -float(planes[nearest, 3]))


def _signed_distance(point: Array, solid: _Solid) -> float:
    """Distance from a point to the surface of a polyhedron [m], negative inside."""
    above = solid.normals @ point - solid.distances
    if above.max() <= 0:
        return float(above.max())
    # Outside, the nearest point is on an edge, or is the foot on a face whose plane it is above.
    start, along = solid.edges[:, 0], solid.edges[:, 1] - solid.edges[:, 0]
    parameter = np.einsum("ei,ei->e", point - start, along) / np.einsum("ei,ei->e", along, along)
    feet = start + np.clip(parameter, 0, 1)[:, None] * along
    distance = float(np.linalg.norm(feet - point, axis=1).min())
    for face in np.flatnonzero(above > 0):
        foot = point - above[face] * solid.normals[face]
        others = np.delete(solid.normals @ foot - solid.distances, face)
        if above[face] < distance and (others <= 1e-12 * np.abs(solid.distances).max()).all():
            distance = float(above[face])
    return distance


def _energy_warnings(scene: Scene, trajectory: Trajectory, tolerance: float) -> list[str]:
    """Energy that rises where no body is driven."""
    if any(body.motion is not None for body in scene.bodies):
        return []
    kinetic, potential = kinetic_energy(scene, trajectory), potential_energy(scene, trajectory)
    weight = sum(body.mass for body in scene.bodies) * float(np.linalg.norm(scene.gravity))
    # Pushing overlaps of the tolerance apart lifts bodies by as much; that is no fault.
    allowed = ENERGY_TOLERANCE * float(kinetic.max() + np.ptp(potential)) + weight * tolerance
    rise = np.diff(kinetic + potential)
    frames = np.flatnonzero(rise > allowed)
    if len(frames) == 0:
        return []
    worst = int(np.argmax(rise))
    return [
        f"energy rises in {len(frames)} of {len(rise)} frames, most by {rise[worst]:.3g} J into frame "
        f"{worst + 1} (of {kinetic[worst] + np.ptp(potential):.3g} J in play); bake with a smaller time step"
    ]


def _momentum_warnings(scene: Scene, trajectory: Trajectory) -> list[str]:
    """Momentum that is not kept, where all bodies are free: p grows by m g t, spin about the centre stays."""
    free = all(
        body.kind == "dynamic"
        and not any((*body.lock_linear, *body.lock_angular, body.linear_damping, body.angular_damping))
        for body in scene.bodies
    )
    if not free or not scene.bodies:
        return []
    masses = np.array([body.mass for body in scene.bodies])
    seconds = trajectory.times - trajectory.times[0]
    momentum = linear_momentum(scene, trajectory)
    pull = masses.sum() * seconds[:, None] * scene.gravity
    center = np.einsum("b,fbi->fi", masses / masses.sum(), centers_of_mass(scene, trajectory))
    spin = angular_momentum(scene, trajectory) - np.cross(center, momentum)
    arm = np.linalg.norm(centers_of_mass(scene, trajectory) - center[:, None], axis=-1)
    speed = np.linalg.norm(trajectory.linear_velocity, axis=-1)
    size = float((masses * speed).sum(axis=1).max() + np.linalg.norm(pull, axis=1).max())
    spin_size = float((masses * speed * arm).sum(axis=1).max() + np.linalg.norm(spin, axis=1).max())
    warnings = []
    for name, unit, drift, scale in (
        ("linear", "kg m/s", momentum - momentum[0] - pull, size),
        ("angular", "kg m^2/s", spin - spin[0], spin_size),
    ):
        lost = np.linalg.norm(drift, axis=1)
        worst = int(np.argmax(lost))
        if lost[worst] > MOMENTUM_TOLERANCE * scale:
            warnings.append(
                f"{name} momentum drifts by {lost[worst]:.3g} {unit} by frame {worst} though every body is "
                "free; please report this scene"
            )
    return warnings
