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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
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
from .forces import CustomForce, Spring, Thruster, UniformField
from .geometry.shapes import Mesh
from .report import Report
from .scene import Scene
from .trajectory import Trajectory
from .verification_mesh import Surface, surface_depth
from .verification_solids import (
    PlacedSolids,
    Solid,
    boxes_of,
    overlap,
    signed_distance,
    smallest_overlap,
    solids_of,
)

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
    parts = [(owner, solid) for owner, body in enumerate(scene.bodies) for solid in solids_of(body.shape)]
    owners, solids = np.array([owner for owner, _ in parts], np.int64), [solid for _, solid in parts]
    names = tuple(trajectory.names[owner] for owner in owners)
    positions = trajectory.position[:, owners]
    all_rotations = rotation_matrices(trajectory.orientation)
    rotations = all_rotations[:, owners]
    low, high = boxes_of(solids, positions, rotations)
    free = np.zeros(0, bool)
    meets = may_meet = np.zeros((0, 0), bool)
    meshes = {i: body.shape for i, body in enumerate(scene.bodies) if isinstance(body.shape, Mesh)}
    known_directions: dict[tuple[int, int], Array] = {}
    found = []
    for frame, time in enumerate(trajectory.times):
        free_now = _are_free(scene, float(time))
        if not np.array_equal(free, free_now):
            free = free_now
            meets = _may_meet(scene, free)
            may_meet = meets[np.ix_(owners, owners)] & (owners[:, None] != owners)
        placed = PlacedSolids(solids, positions[frame], rotations[frame], known_directions)
        pairs = _close_pairs(low[frame], high[frame])
        deepest = _deepest(placed, pairs[may_meet[pairs[:, 0], pairs[:, 1]]], names)
        for index, mesh in meshes.items():
            surface = Surface(mesh, trajectory.position[frame, index], all_rotations[frame, index])
            for part in np.flatnonzero(meets[index, owners]).tolist():
                depth = _depth_in(surface, placed.solid(part), low[frame, part], high[frame, part])
                if depth > deepest.depth:
                    deepest = Penetration(depth, (trajectory.names[index], names[part]))
        found.append(deepest)
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


def _are_free(scene: Scene, time: float) -> NDArray[np.bool_]:
    """Which bodies forces can move at a time [s]: what is animated until its release goes where it is led."""
    return np.array(
        [
            b.kind == "dynamic" or (b.release_time is not None and b.release_time <= time)
            for b in scene.bodies
        ],
        dtype=bool,
    )


def _may_meet(scene: Scene, free: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Pairs that a solver keeps apart: one can move freely, the layers agree, none lets the other pass."""
    layers = np.array([body.layers for body in scene.bodies], dtype=np.int64)
    masks = np.array([body.collides_with for body in scene.bodies], dtype=np.int64)
    solid = ~np.array([body.sensor for body in scene.bodies], dtype=bool)
    sees = (layers[:, None] & masks[None, :]) != 0
    meets = (free[:, None] | free[None, :]) & sees & sees.T & solid[:, None] & solid[None, :]
    index = {body.name: i for i, body in enumerate(scene.bodies)}
    for one, other in scene.ignored:
        meets[index[one], index[other]] = meets[index[other], index[one]] = False
    return meets


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


def _deepest(frame: PlacedSolids, pairs: NDArray[np.int64], names: tuple[str, ...]) -> Penetration:
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


def _depth_bound(frame: PlacedSolids, a: int, b: int) -> float:
    """Smallest overlap along the face normals and the direction that decided this pair before."""
    one, other = frame.solid(a), frame.solid(b)
    bound = min(_face_overlap(one, other), _face_overlap(other, one))
    known = frame.known_directions.get((a, b))
    if known is not None and bound > 0:
        bound = min(bound, overlap(one, other, known))
    return bound


def _face_overlap(one: Solid, other: Solid) -> float:
    if len(one.normals) == 0 or other.is_plane:
        return np.inf
    return float((one.distances + other.heights(-one.normals)).min())


def _depth_in(surface: Surface, solid: Solid, low: Array, high: Array) -> float:
    """How deep a solid with these bounds reaches through a surface [m]."""
    if solid.is_plane:
        return 0.0
    middle = solid.vertices.mean(axis=0)  # inside, where the middle of a tilted cone's box may not be
    size = 0.5 * float(np.linalg.norm(high - low))
    vertices = solid.vertices if len(solid.normals) else np.zeros((0, 3))
    return surface_depth(surface.near(low, high), middle, size, vertices, solid.supports, solid.depth_of)


def _depth(frame: PlacedSolids, a: int, b: int) -> float:
    """Penetration depth [m], 0 where the two do not overlap."""
    one, other = frame.solid(a), frame.solid(b)
    if one.is_plane or other.is_plane:
        return max(0.0, _depth_bound(frame, a, b))  # along a plane's only normal it is exact
    if one.is_round or other.is_round:
        depth, frame.known_directions[a, b] = smallest_overlap(one, other)
        return max(0.0, depth)
    if one.radius > 0 and other.radius > 0:
        distance = float(np.linalg.norm(one.vertices[0] - other.vertices[0]))
        return max(0.0, one.radius + other.radius - distance)
    if one.radius > 0:
        return max(0.0, one.radius - signed_distance(one.vertices[0], other))
    if other.radius > 0:
        return max(0.0, other.radius - signed_distance(other.vertices[0], one))
    # A and B share a point where a - b = 0 for some a, b: where the hull of all differences holds
    # the origin, whose distance to the nearest face is then the depth.
    differences = (one.vertices[:, None] - other.vertices[None]).reshape(-1, 3)
    planes = Qhull(differences).equations
    nearest = int(np.argmax(planes[:, 3]))
    frame.known_directions[a, b] = planes[nearest, :3]
    return max(0.0, -float(planes[nearest, 3]))


def _energy_warnings(scene: Scene, trajectory: Trajectory, tolerance: float) -> list[str]:
    """Energy that rises where no body is driven."""
    if any(body.motion is not None for body in scene.bodies):
        return []
    if any(isinstance(force, Thruster | CustomForce) for force in scene.forces):
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
    fields = [force for force in scene.forces if isinstance(force, UniformField) and force.bodies is None]
    springs = [force for force in scene.forces if isinstance(force, Spring) and force.body_b is not None]
    free = len(fields) + len(springs) == len(scene.forces) and all(
        body.kind == "dynamic"
        and not any((*body.lock_linear, *body.lock_angular, body.linear_damping, body.angular_damping))
        for body in scene.bodies
    )
    if not free or not scene.bodies:
        return []
    masses = np.array([body.mass for body in scene.bodies])
    seconds = trajectory.times - trajectory.times[0]
    momentum = linear_momentum(scene, trajectory)
    gravity = np.sum([scene.gravity, *(np.asarray(field.acceleration, float) for field in fields)], axis=0)
    pull = masses.sum() * seconds[:, None] * gravity
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
