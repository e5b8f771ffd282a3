"""Motion of bodies under forces: their states as one vector y, its rates, and what error it may have.

y holds (c, q, v, L) of each driven body, as in Baraff 1997, section 2 (with v for P): 13 numbers. Its c is
measured from where the body was at the start of the step, so that errors do not depend on where that is.
"""

import numpy as np

from ..jit import inner, kernel
from ..math3 import mat3, quat, vec3
from .body_state import DYNAMIC, BodyModel, BodyState
from .motion import update_derived

# Of the relative error, in (c, q, v, L): an error in the velocity counts twice in the energy.
PARTS = np.repeat([1.0, 0.1], [7, 6])


def copy_state(state: BodyState) -> BodyState:
    """A state of its own."""
    return BodyState(*(column.copy() for column in state))


def start_vector(state: BodyState, rows: np.ndarray) -> np.ndarray:
    """The y of the bodies `rows` at the start of a step, shape (13 k,)."""
    here = np.zeros((len(rows), 3))
    return np.concatenate([here, state.q[rows], state.v[rows], state.L[rows]], axis=1).ravel()


def vector_sizes(y: np.ndarray) -> np.ndarray:
    """The length of the vector or quaternion that each number of (c, q, v, L) of bodies belongs to."""
    rows, sizes = y.reshape(-1, 13), np.empty((len(y) // 13, 13))
    for part in (slice(0, 3), slice(3, 7), slice(7, 10), slice(10, 13)):
        sizes[:, part] = np.linalg.norm(rows[:, part], axis=1)[:, None]
    return sizes.ravel()


def allowed_errors(model: BodyModel, error: float, tolerance: float) -> np.ndarray:
    """Absolute error of a step in (c, q, v, L) of each body, shape (n, 13).

    That of a length, and what moves a body's surface, or changes its speed in a second, by as much.

    Args:
        error: Of the length [m].
        tolerance: Size below which a body counts as so large [m].
    """
    size = np.where(np.isfinite(model.bound), np.maximum(model.bound, tolerance), 1.0)
    allowed = np.full((len(size), 13), error)
    allowed[:, 3:7] /= size[:, None]
    allowed[:, 10:] *= (model.inertia.max(axis=1) / size)[:, None]
    return allowed


@inner
def place_body(model, start, state, i, y):
    """Write y (13,) to body `i`, with its quaternion normalized, and what follows from it."""
    q = quat.normalize((y[3], y[4], y[5], y[6]))
    state.q[i, 0], state.q[i, 1], state.q[i, 2], state.q[i, 3] = q
    for x in range(3):
        state.c[i, x] = start.c[i, x] + y[x]
        state.v[i, x], state.L[i, x] = y[7 + x], y[10 + x]
    update_derived(model, state, i)


@kernel
def place_bodies(model, start, state, rows, y):
    """Write y, shape (k, 13), to the bodies `rows`, with quaternions normalized, and what follows from it."""
    for k in range(rows.shape[0]):
        place_body(model, start, state, rows[k], y[k])


@inner
def carry_body(model, start, state, i, t):
    """Write where body `i` is after the time t [s] if it keeps the velocities it has."""
    turn = quat.exp(vec3.scale(vec3.load(start.w, i), t))
    q = quat.multiply(turn, quat.load(start.q, i))
    state.q[i, 0], state.q[i, 1], state.q[i, 2], state.q[i, 3] = q
    for x in range(3):
        state.c[i, x] = start.c[i, x] + t * start.v[i, x]
    update_derived(model, state, i)


@kernel
def carry_bodies(model, start, state, rows, t):
    """`carry_body` for the bodies `rows`."""
    for k in range(rows.shape[0]):
        carry_body(model, start, state, rows[k], t)


@inner
def _momentum(model, state, i):
    """Angular momentum I w; about locked axes L does not follow what holds the body there."""
    lock = model.lock_angular[i]
    if not (lock[0] or lock[1] or lock[2]):
        return vec3.load(state.L, i)
    inertia = mat3.rotate_diagonal(mat3.load(state.R, i), vec3.load(model.inertia, i))
    return mat3.transform(inertia, vec3.load(state.w, i))


@inner
def free_acceleration(model, state, gravity, i, force, torque, a_out, alpha_out):
    """Accelerations of body `i` without contact; see `free_accelerations`."""
    is_dynamic = model.kind[i] == DYNAMIC
    for x in range(3):
        g = gravity[x] if model.inv_mass[i, x] > 0.0 else 0.0
        damping = model.damping[i, 0] * state.v[i, x] if model.inv_mass[i, x] > 0.0 else 0.0
        a_out[i, x] = g + force[i, x] * model.inv_mass[i, x] - damping if is_dynamic else 0.0
        torque[i, x] = torque[i, x] - model.damping[i, 1] * state.L[i, x] if is_dynamic else 0.0
    turning = vec3.cross(vec3.load(state.w, i), _momentum(model, state, i))
    alpha = mat3.transform(mat3.load(state.inv_I, i), vec3.subtract(vec3.load(torque, i), turning))
    for x in range(3):
        alpha_out[i, x] = alpha[x] if is_dynamic else 0.0


@kernel
def free_accelerations(model, state, gravity, force, torque, a_out, alpha_out):
    """Accelerations of all bodies without contact [m/s^2], [rad/s^2], shapes (n, 3).

    Equation: a = F / m, alpha = I^-1 (tau - w x I w): C-10 of Baraff 1997, appendix C. Where axes are locked
    I^-1 is that of the free ones' block, whose momentum is what the locks leave alone.

    Args:
        force, torque: Applied forces [N] and torques [N m]; the torques get the damping added.
    """
    g = gravity[0], gravity[1], gravity[2]
    for i in range(state.c.shape[0]):
        free_acceleration(model, state, g, i, force, torque, a_out, alpha_out)


@inner
def body_rates(state, i, a, torque, rates_out):
    """y' of body `i`, shape (13,), from accelerations and torques of all bodies, shapes (n, 3)."""
    dq = quat.multiply((0.0, state.w[i, 0], state.w[i, 1], state.w[i, 2]), quat.load(state.q, i))
    for x in range(4):
        rates_out[3 + x] = 0.5 * dq[x]
    for x in range(3):
        rates_out[x] = state.v[i, x]
        rates_out[7 + x], rates_out[10 + x] = a[i, x], torque[i, x]


@kernel
def write_rates(state, rows, a, torque, rates_out):
    """y' of the bodies `rows`, shape (k, 13), from accelerations and torques of all bodies, shapes (n, 3)."""
    for k in range(rows.shape[0]):
        body_rates(state, rows[k], a, torque, rates_out[k])
