"""Bodies as a struct of arrays: what a scene's bodies are (BodyModel) and how they move (BodyState).

Symbols: c centre of mass, W world axes, P principal frame (origin c, axes of inertia). The solver
works in P; `position` of the public API is the body's origin, converted at the border (here).
Bodies stand in the order of their sorted names, so results do not depend on the order of adding.
"""

from typing import NamedTuple

import numpy as np

from ..forces import UniformField
from ..geometry.mass_properties import principal_axes
from ..geometry.shape_table import CAPSULE, DISCS, SPHERE, Colliders, MeshTrees, ShapeTable, build_shape_table
from ..jit import inlined
from ..math3 import mat3, quat, vec3
from ..scene import Body, Scene

STATIC, KINEMATIC, DYNAMIC = 0, 1, 2
ROUND_WITHIN = 1e-9  # of its size: how far a body's round parts may lie off its axis
_KIND = {"static": STATIC, "kinematic": KINEMATIC, "dynamic": DYNAMIC}


class BodyModel(NamedTuple):
    """Constants of n bodies."""

    kind: np.ndarray  # (n,) STATIC, KINEMATIC or DYNAMIC
    bound: np.ndarray  # [m] (n,) largest distance of any point from the centre of mass
    round_axis: np.ndarray  # (n, 3) axis about which the body is round, in P; zero where it is not
    mass: np.ndarray  # [kg] (n,)
    inv_mass: np.ndarray  # [1/kg] (n, 3) per world axis: 0 where the axis is locked or the body fixed
    inertia: np.ndarray  # [kg m^2] (n, 3) principal moments
    inv_inertia: np.ndarray  # [1/(kg m^2)] (n, 3), 0 for bodies that do not respond
    axis_order: np.ndarray  # (n, 3) principal axes, the two closest moments first: see free_rotation.py
    lock_angular: np.ndarray  # (n, 3) world axes
    restitution: np.ndarray  # (n,)
    friction: np.ndarray  # (n, 2) static, dynamic
    damping: np.ndarray  # [1/s] (n, 2) linear, angular
    layers: np.ndarray  # (n,) bits
    collides_with: np.ndarray  # (n,) bits
    p_Oc: np.ndarray  # [m] (n, 3) centre of mass from the origin, body axes
    q_OP: np.ndarray  # (n, 4) principal frame in body axes


class BodyState(NamedTuple):
    """Motion of n bodies, world axes; angular velocity and matrices follow from q and L."""

    c: np.ndarray  # [m] (n, 3) centre of mass
    q: np.ndarray  # (n, 4) orientation of P in W
    v: np.ndarray  # [m/s] (n, 3) velocity of the centre of mass
    L: np.ndarray  # [kg m^2/s] (n, 3) angular momentum about the centre of mass
    w: np.ndarray  # [rad/s] (n, 3) angular velocity
    R: np.ndarray  # (n, 9) rotation matrix of q
    inv_I: np.ndarray  # [1/(kg m^2)] (n, 9) inverse inertia in world axes


class Masses(NamedTuple):
    """Where n bodies are and how they answer impulses: arrays of the model and the state."""

    c: np.ndarray  # [m] (n, 3)
    bound: np.ndarray  # [m] (n,) largest distance of any point from there
    mass: np.ndarray  # [kg] (n,)
    inv_mass: np.ndarray  # [1/kg] (n, 3)
    inertia: np.ndarray  # [kg m^2] (n, 3)
    round_axis: np.ndarray  # (n, 3)
    lock_angular: np.ndarray  # (n, 3)
    R: np.ndarray  # (n, 9)
    inv_I: np.ndarray  # [1/(kg m^2)] (n, 9)


def body_masses(model: BodyModel, state: BodyState) -> Masses:
    """The masses of all bodies; the arrays are those of the model and the state, not copies."""
    return Masses(
        state.c, model.bound, model.mass, model.inv_mass, model.inertia, model.round_axis, model.lock_angular,
        state.R, state.inv_I,
    )  # fmt: skip


@inlined
def inertia_of(masses, body):
    """Inertia of a body about its centre of mass, world axes [kg m^2]: what `inv_I` is the inverse of.

    Locked axes are not, but in their block of it.
    """
    lock = masses.lock_angular[body]
    if lock[0] or lock[1] or lock[2]:
        return mat3.rotate_diagonal(mat3.load(masses.R, body), vec3.load(masses.inertia, body))
    return mat3.inverse_of_symmetric(mat3.load(masses.inv_I, body))


@inlined
def turned_inverse(inverse, lock, turn):
    """Inverse inertia of a body once it has turned by `turn` [rad]; with locked axes it is that of now."""
    if lock[0] or lock[1] or lock[2]:
        return inverse
    back = quat.to_mat3(quat.exp(vec3.scale(turn, -1.0)))
    return mat3.transposed_times(back, mat3.transposed_times(inverse, back))


def quat_multiply(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Hamilton products of rows, shape (n, 4)."""
    pw, px, py, pz = np.moveaxis(p, -1, 0)
    qw, qx, qy, qz = np.moveaxis(q, -1, 0)
    return np.stack(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ],
        axis=-1,
    )


def quat_rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors v (n, 3) rotated by unit quaternions q (n, 4)."""
    t = 2.0 * _cross(q[..., 1:], v)
    return v + q[..., :1] * t + _cross(q[..., 1:], t)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of rows, in half the time of NumPy's own and with the same bits."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _quat_from_axes(axes: np.ndarray) -> np.ndarray:
    """Quaternion (w, x, y, z) of a rotation matrix."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(axes).as_quat()
    return np.array([w, x, y, z]) * (1.0 if w >= 0.0 else -1.0)


def _axis_order(moments: np.ndarray) -> np.ndarray:
    """The two principal axes with the closest moments, then the third (even permutation)."""
    gaps = [abs(moments[(k + 1) % 3] - moments[(k + 2) % 3]) for k in range(3)]
    third = int(np.argmin(gaps))
    return np.array([(third + 1) % 3, (third + 2) % 3, third])


def build_bodies(scene: Scene) -> tuple[BodyModel, ShapeTable, Colliders, MeshTrees, np.ndarray]:
    """Flatten a scene's bodies.

    Returns:
        The model, the shape table, the colliders, the trees of meshes, and `order`: the scene's index of
        each body, shape (n,).
    """
    order = np.array(sorted(range(len(scene.bodies)), key=lambda i: scene.bodies[i].name), np.int64)
    bodies = [scene.bodies[i] for i in order]
    n = len(bodies)
    moments, q_OP = np.ones((n, 3)), np.tile([1.0, 0, 0, 0], (n, 1))
    solids = []
    for i, body in enumerate(bodies):
        axes = np.eye(3)
        if body.mass > 0.0:
            moments[i], axes = principal_axes(body.inertia)
            q_OP[i] = _quat_from_axes(axes)
        solids.append((body.shape, body.center_of_mass, axes))
    table, colliders, trees = build_shape_table(solids)
    bound = np.zeros(n)
    np.maximum.at(bound, colliders.body, table.bound[colliders.shape])
    kind = np.array([_KIND[b.kind] for b in bodies], np.int64)
    dynamic = kind == DYNAMIC
    mass = np.array([b.mass for b in bodies], float)
    free_linear = ~np.array([b.lock_linear for b in bodies], bool).reshape(n, 3)
    lock_angular = np.array([b.lock_angular for b in bodies], bool).reshape(n, 3)
    with np.errstate(divide="ignore"):
        inv_mass = np.where(dynamic[:, None] & free_linear, 1.0 / mass[:, None], 0.0)
    spins = dynamic & ~lock_angular.all(axis=1)
    model = BodyModel(
        kind=kind,
        bound=bound,
        round_axis=_round_axes(table, colliders, n),
        mass=mass,
        inv_mass=inv_mass,
        inertia=moments,
        inv_inertia=np.where(spins[:, None], 1.0 / moments, 0.0),
        axis_order=np.array([_axis_order(m) for m in moments], np.int8).reshape(n, 3),
        lock_angular=lock_angular,
        restitution=np.array([b.restitution for b in bodies], float),
        friction=np.array([[b.friction, b.friction_dynamic] for b in bodies], float).reshape(n, 2),
        damping=np.array([[b.linear_damping, b.angular_damping] for b in bodies], float).reshape(n, 2),
        layers=np.array([b.layers for b in bodies], np.int64),
        collides_with=np.array([b.collides_with for b in bodies], np.int64),
        p_Oc=np.array([b.center_of_mass for b in bodies], float).reshape(n, 3),
        q_OP=q_OP,
    )
    return model, table, colliders, trees, order


def _round_axes(table: ShapeTable, colliders: Colliders, count: int) -> np.ndarray:
    """Axis through the centre of mass about which each body is round, shape (n, 3); zero where none is."""
    axes = np.zeros((count, 3))
    round_shape = np.isin(table.kind, (SPHERE, CAPSULE, DISCS))[colliders.shape]
    parts: dict[int, list[int]] = {}
    for body, shape in zip(colliders.body, colliders.shape, strict=True):
        parts.setdefault(int(body), []).append(int(shape))
    for body in colliders.body[~round_shape]:
        parts.pop(int(body), None)
    for body, shapes in parts.items():
        size = table.bound[shapes].max()
        ends = [table.vertex[table.vertex_start[s] : table.vertex_start[s + 1]] for s in shapes]
        lines = np.vstack([*ends, size * table.axis[shapes]])
        length = np.linalg.norm(lines, axis=1)
        if length.max() > ROUND_WITHIN * size:
            axis = lines[length.argmax()] / length.max()
            if np.linalg.norm(np.cross(lines, axis), axis=1).max() <= ROUND_WITHIN * size:
                axes[body] = axis
    return axes


def gravity_of(scene: Scene, bodies: list[Body]) -> np.ndarray:
    """Acceleration of each body by gravity and the scene's uniform fields [m/s^2], shape (n, 3)."""
    gravity = np.tile(np.asarray(scene.gravity, float), (len(bodies), 1))
    for field in scene.forces:
        if isinstance(field, UniformField):
            rows = [field.bodies is None or body.name in field.bodies for body in bodies]
            gravity[rows] += np.asarray(field.acceleration, float)
    return gravity


def usual_gravity(scene: Scene) -> float:
    """Acceleration that all bodies share, or where there is none the greatest that any has [m/s^2].

    It tells what counts as slow. What acts on a few bodies alone says nothing of the others.
    """
    shared, own = np.asarray(scene.gravity, float).copy(), [0.0]
    for field in scene.forces:
        if isinstance(field, UniformField) and field.bodies is None:
            shared += np.asarray(field.acceleration, float)
        elif isinstance(field, UniformField):
            own.append(float(np.linalg.norm(field.acceleration)))
    size = float(np.linalg.norm(shared))
    return size if size > 0.0 else max(own)


def ignored_pairs(scene: Scene, bodies: list[Body]) -> np.ndarray:
    """Pairs that ignore each other as the broad phase takes them, for bodies in the order of the model."""
    index = {body.name: i for i, body in enumerate(bodies)}
    pairs = [sorted(index[name] for name in pair) for pair in scene.ignored]
    return np.array(sorted(a * len(bodies) + b for a, b in pairs), np.int64)


def initial_state(scene: Scene, order: np.ndarray, model: BodyModel) -> BodyState:
    """State of the bodies at the scene's start; `dynamics.motion.update_derived` completes it."""
    bodies = [scene.bodies[i] for i in order]
    n = len(bodies)
    q_WO = np.array([b.orientation for b in bodies], float).reshape(n, 4)
    origin = np.array([b.position for b in bodies], float).reshape(n, 3)
    moving = (model.kind == DYNAMIC)[:, None]
    w = np.where(moving, np.array([b.angular_velocity for b in bodies], float).reshape(n, 3), 0.0)
    w = np.where(model.lock_angular, 0.0, w)
    moves = moving & ~np.array([b.lock_linear for b in bodies], bool).reshape(n, 3)
    v = np.where(moves, np.array([b.linear_velocity for b in bodies], float).reshape(n, 3), 0.0)
    q = quat_multiply(q_WO, model.q_OP)
    conjugate = q * [1.0, -1.0, -1.0, -1.0]
    return BodyState(
        c=origin + quat_rotate(q_WO, model.p_Oc),
        q=q,
        v=v,
        L=np.where(moving, quat_rotate(q, model.inertia * quat_rotate(conjugate, w)), 0.0),
        w=w,
        R=np.zeros((n, 9)),
        inv_I=np.zeros((n, 9)),
    )


def origin_pose(model: BodyModel, c: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the bodies' origins [m] (n, 3) and orientations (n, 4) of the body axes."""
    q_WO = quat_multiply(q, model.q_OP * [1.0, -1.0, -1.0, -1.0])
    return c - quat_rotate(q_WO, model.p_Oc), q_WO
