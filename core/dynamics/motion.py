"""Motion of free bodies: orientation from angular momentum, exact flight under gravity.

Symbols: q orientation of the principal frame P in the world W, L angular momentum about the centre
of mass (world axes), I principal moments, w angular velocity. Torque-free motion keeps L; only q
changes.
"""

import math
from typing import NamedTuple

import numpy as np

from ..collision.pairs import HIGH
from ..collision.persistence import follow
from ..crew import FIRST, LEADER, TASK, next_piece_in_turn, piece_done, put_up
from ..jit import inlined, inner, kernel, merged
from ..math3 import mat3, quat, vec3
from .body_state import DYNAMIC, KINEMATIC, STATIC
from .free_rotation import free_spin, spin_under_torque
from .locked_rotation import is_locked, locked_spin, locked_velocity, restricted_inverse


@inlined
def _update_spin(model, state, i):
    """Write w of a dynamic body `i` from its L."""
    if model.inv_inertia[i, 0] > 0.0:
        w = mat3.transform(mat3.load(state.inv_I, i), vec3.load(state.L, i))
        state.w[i, 0], state.w[i, 1], state.w[i, 2] = w


@inner
def update_derived(model, state, i):
    """Write R, inv_I and (for dynamic bodies) w of body `i` from its q and L."""
    r = quat.to_mat3(quat.load(state.q, i))
    inverse = mat3.rotate_diagonal(r, vec3.load(model.inv_inertia, i))
    if is_locked(model.lock_angular[i]):
        inertia = mat3.rotate_diagonal(r, vec3.load(model.inertia, i))
        if model.inv_inertia[i, 0] > 0.0:
            lock = model.lock_angular[i]
            inverse = restricted_inverse(inverse, inertia, lock[0], lock[1], lock[2])
    for k in range(9):
        state.R[i, k] = r[k]
        state.inv_I[i, k] = inverse[k]
    _update_spin(model, state, i)


@kernel
def update_all_derived(model, state):
    """`update_derived` for every body."""
    for i in range(state.q.shape[0]):
        update_derived(model, state, i)


ENERGY_SLACK = 1.01  # rotational energy may rise by one in a hundred before it is held


WILD_TURN = 2.0  # [rad] a step; see `spin_steadily`
WHOLE = 12  # column of a plan's drive
LEAST_TURN = 0.01  # [rad] a step: what a torque does to a body that turns by less is linear in it


class MotionPlan(NamedTuple):
    """Motion of n bodies over one step; rows hold linear then angular velocity, world axes.

    mean: What positions follow: displacement / h [m/s, rad/s].
    end: Velocity at the end of the step. For smooth motion it is start + `change`.
    change: Velocity change over the step by what acts smoothly (gravity, lasting contacts).
    spin: Mean angular velocity of free motion.
    push: By what contacts changed the linear and angular momentum in the last step.
    steady: Whether that was about the same as in the step before.
    lasts: Whether it was by forces that last.
    drive: What applied forces add to `mean` (6), to the velocity (3) and to the angular momentum (3) at the
        end of the step; no rows where a scene has no such forces. Of a body that turns far, WHOLE is set, and
        its angular mean is all that it turns by. See `impulse_forces`.
    driven: Mean angular velocity if they do so again, of bodies that turn far; zero of others.
    collided: Bodies that collide in the step, whose momentum is not that which they turned with before.
    due: Bodies to be planned next: all, unless only some were moved since.
    """

    start: np.ndarray  # (n, 6)
    mean: np.ndarray  # (n, 6)
    change: np.ndarray  # (n, 6)
    end_minus_mean: np.ndarray  # (n, 6)
    spin: np.ndarray  # [rad/s] (n, 3)
    push: np.ndarray  # [kg m/s, kg m^2/s] (n, 6)
    steady: np.ndarray  # (n,)
    lasts: np.ndarray  # (n,)
    drive: np.ndarray  # [m/s, rad/s, m/s, kg m^2/s, -] (n, 13) or (0, 13)
    driven: np.ndarray  # [rad/s] (n, 3)
    collided: np.ndarray  # (n,)
    due: np.ndarray  # (n,)


def empty_plan(n: int, has_forces: bool = False) -> MotionPlan:
    """A plan for n bodies, in a scene that may have applied forces."""
    start, mean, change, end_minus_mean, push = (np.zeros((n, 6)) for _ in range(5))
    spin, driven = np.zeros((n, 3)), np.zeros((n, 3))
    steady, lasts = np.ones(n, np.bool_), np.ones(n, np.bool_)
    drive = np.zeros((n if has_forces else 0, 13))
    return MotionPlan(
        start, mean, change, end_minus_mean, spin, push, steady, lasts, drive, driven,
        collided=np.zeros(n, np.bool_), due=np.ones(n, np.bool_),
    )  # fmt: skip


@inlined
def decay(c, h):
    """(end / start, mean / start) of a speed that decays at the rate c [1/s] over the time h."""
    x = c * h
    if x < 1e-5:
        return 1.0 - x + 0.5 * x * x, 1.0 - 0.5 * x + x * x / 6.0
    return math.exp(-x), (1.0 - math.exp(-x)) / x


@inner
def _plan_driven(model, plan, i, q, L, w, h):
    """Note how a body will turn if contacts act on it as in the last step."""
    _, torque = vec3.load_pair(plan.push[i])
    if plan.lasts[i] and vec3.dot(torque, torque) > 0.0:
        driven = spin_under_torque(q, L, torque, w, model.inv_inertia[i], model.axis_order[i], h)
        plan.driven[i, 0], plan.driven[i, 1], plan.driven[i, 2] = driven


@inlined
def is_driven(plan, i):
    """Whether it is known how a body turns if contacts act on it as in the last step."""
    return plan.driven[i, 0] != 0.0 or plan.driven[i, 1] != 0.0 or plan.driven[i, 2] != 0.0


@merged
def _plan_flight(model, state, gravity, h, plan, i):
    """Plan the flight of a body's centre of mass."""
    keep, mean = decay(model.damping[i, 0], h)
    # The mean of the decay itself, for the part gravity adds: (1 - mean) / (c h) -> 1/2.
    x = model.damping[i, 0] * h
    half = 0.5 - x / 6.0 + x * x / 24.0 if x < 1e-3 else (1.0 - mean) / x
    for k in range(3):
        g = gravity[i, k] if model.inv_mass[i, k] > 0.0 else 0.0
        v = state.v[i, k]
        plan.mean[i, k] = v * mean + g * h * half
        plan.change[i, k] = v * (keep - 1.0) + g * h * mean
        plan.end_minus_mean[i, k] = v + plan.change[i, k] - plan.mean[i, k]


@merged
def _plan_turn(model, state, h, plan, i):
    """Plan the turn of a body about its centre of mass."""
    w = vec3.load(state.w, i)
    if model.inv_inertia[i, 0] == 0.0 or vec3.dot(w, w) == 0.0:
        return
    _, mean = decay(model.damping[i, 1], h)
    spin, q, L = vec3.scale(w, mean), quat.load(state.q, i), vec3.scale(vec3.load(state.L, i), mean)
    if is_locked(model.lock_angular[i]):
        spin = locked_spin(q, L, spin, model.inertia[i], model.lock_angular[i], h)
    else:
        r = mat3.load(state.R, i)
        if LEAST_TURN**2 < vec3.dot(w, w) * h * h < WILD_TURN**2:
            _plan_driven(model, plan, i, q, L, spin, h)
        spin = free_spin(q, r, L, spin, model.inertia[i], model.inv_inertia[i], model.axis_order[i], h)
    for k in range(3):
        plan.mean[i, 3 + k], plan.spin[i, k] = spin[k], spin[k]
        plan.change[i, 3 + k] = 2.0 * (spin[k] - w[k])
        plan.end_minus_mean[i, 3 + k] = spin[k] - w[k]


@inner
def _add_drive(state, plan, i):
    """Add what applied forces do in the step to the plan of a body."""
    drive, knows_contacts = plan.drive[i], is_driven(plan, i)
    turned = mat3.transform(mat3.load(state.inv_I, i), (drive[9], drive[10], drive[11]))
    for k in range(3):
        if drive[WHOLE]:
            plan.mean[i, 3 + k] -= plan.spin[i, k]
            plan.end_minus_mean[i, 3 + k] += plan.spin[i, k]
            plan.spin[i, k] = 0.0
        plan.spin[i, k] += drive[3 + k]
        if knows_contacts:
            plan.driven[i, k] += drive[3 + k]
        plan.change[i, k] += drive[6 + k]
        plan.change[i, 3 + k] += turned[k]
        plan.end_minus_mean[i, k] += drive[6 + k]
        plan.end_minus_mean[i, 3 + k] += turned[k]
    for k in range(6):
        plan.mean[i, k] += drive[k]
        plan.end_minus_mean[i, k] -= drive[k]


@inner
def plan_bodies(model, state, gravity, h, plan, first, last):
    """Plan the step of some bodies, if due, as if nothing touched them; exact for gravity and linear damping.

    Velocities follow v' = g - c v; angular momentum decays at its own rate. Bodies of kind
    KINEMATIC have the mean velocity in `state` and its `change`, which the caller has set for this step.

    Args:
        gravity: Of each body [m/s^2], shape (n, 3).
    """
    for i in range(first, last):
        if not plan.due[i]:
            plan.due[i] = True
            continue
        plan.collided[i] = False
        for k in range(3):
            plan.start[i, k], plan.start[i, 3 + k] = state.v[i, k], state.w[i, k]
            plan.spin[i, k], plan.driven[i, k] = state.w[i, k], 0.0
        for k in range(6):
            plan.mean[i, k] = plan.start[i, k]
            plan.change[i, k] = plan.change[i, k] if model.kind[i] == KINEMATIC else 0.0
            plan.end_minus_mean[i, k] = 0.5 * plan.change[i, k]
            plan.start[i, k] -= plan.end_minus_mean[i, k]
        if model.kind[i] == DYNAMIC:
            _plan_flight(model, state, gravity, h, plan, i)
            _plan_turn(model, state, h, plan, i)
            if plan.drive.shape[0] > 0:
                _add_drive(state, plan, i)


@kernel
def plan_free_motion(model, state, gravity, h, plan):
    """`plan_bodies` for every body."""
    plan_bodies(model, state, gravity, h, plan, np.int64(0), state.c.shape[0])


@inlined
def _spin_energy(model, i, l_P):
    """Rotational energy of an angular momentum in principal axes [J]."""
    inv = model.inv_inertia[i]
    return 0.5 * (l_P[0] * l_P[0] * inv[0] + l_P[1] * l_P[1] * inv[1] + l_P[2] * l_P[2] * inv[2])


@inner
def _keep_spin_energy(model, state, i, q_end):
    """Turn the angular momentum with the body where keeping it would make energy.

    A body in contact does not turn quite as its momentum says. For a needle, whose moments differ by a
    factor of a million, the momentum's small part along its axis then becomes a furious spin. With locked
    axes it cannot be turned and is shortened.
    """
    L = vec3.load(state.L, i)
    if is_locked(model.lock_angular[i]):
        before = vec3.dot(L, mat3.transform(mat3.load(state.inv_I, i), L))
        after = vec3.dot(L, locked_velocity(q_end, L, model.inertia[i], model.lock_angular[i]))
        if after > ENERGY_SLACK * before:
            for k in range(3):
                state.L[i, k] *= math.sqrt(before / after)
        return
    l_P = mat3.transform_transposed(mat3.load(state.R, i), L)
    energy = _spin_energy(model, i, l_P)
    if _spin_energy(model, i, quat.rotate(quat.conjugate(q_end), L)) > ENERGY_SLACK * energy:
        turned = quat.rotate(q_end, l_P)
        state.L[i, 0], state.L[i, 1], state.L[i, 2] = turned


@inner
def spin_steadily(plan, i, h):
    """Plan that a body which turns far in the step keeps its angular velocity.

    The turn that leads from one orientation to the next says nothing of the velocities on the way: near a
    whole turn its axis may be any. Contacts are solved for the velocity of the start instead; where none
    acts, the body turns as planned (see `move_bodies`).
    """
    w = plan.start[i, 3], plan.start[i, 4], plan.start[i, 5]
    if vec3.dot(w, w) * h * h > WILD_TURN * WILD_TURN:
        for k in range(3, 6):
            plan.mean[i, k], plan.change[i, k], plan.end_minus_mean[i, k] = plan.start[i, k], 0.0, 0.0


@inlined
def _is_steady(plan, i):
    """Whether a body that turns is to keep its angular velocity, to the bit: see `spin_steadily`."""
    mean, start = plan.mean[i], plan.start[i]
    if start[3] == 0.0 and start[4] == 0.0 and start[5] == 0.0:
        return False
    return mean[3] == start[3] and mean[4] == start[4] and mean[5] == start[5]


@inlined
def _without_drive(plan, i, w):
    """Mean angular velocity less what applied forces add; none where they have given all of it."""
    drive = plan.drive[i, 3], plan.drive[i, 4], plan.drive[i, 5]
    is_touched = w[0] != plan.spin[i, 0] or w[1] != plan.spin[i, 1] or w[2] != plan.spin[i, 2]
    return w if plan.drive[i, WHOLE] and is_touched else vec3.subtract(w, drive)


@inner
def move_some_bodies(model, state, plan, gravity, h, first, last):
    """Move bodies by their mean velocities and let gravity and damping act on their momentum.

    Impulses have been added to v and L before (see `impulse_motion`); what they add decays with the rest,
    which is exact where the body is undamped.
    """
    for i in range(first, last):
        if model.kind[i] == STATIC:
            continue
        for k in range(3):
            state.c[i, k] += h * plan.mean[i, k]
        if _is_steady(plan, i):
            for k in range(3):
                plan.mean[i, 3 + k] = plan.spin[i, k]
        w = (plan.mean[i, 3], plan.mean[i, 4], plan.mean[i, 5])
        turns = w[0] != 0.0 or w[1] != 0.0 or w[2] != 0.0
        if turns:
            q_start = quat.load(state.q, i)
            q = quat.normalize(quat.multiply(quat.exp(vec3.scale(w, h)), q_start))
            state.q[i, 0], state.q[i, 1], state.q[i, 2], state.q[i, 3] = q
            if model.kind[i] == DYNAMIC and not plan.collided[i]:
                if plan.drive.shape[0] > 0:  # whose turn goes with a change of L that comes below
                    w = _without_drive(plan, i, w)
                    q = quat.normalize(quat.multiply(quat.exp(vec3.scale(w, h)), q_start))
                _keep_spin_energy(model, state, i, q)
        if model.kind[i] == DYNAMIC:
            keep, mean = decay(model.damping[i, 0], h)
            keep_spin, _ = decay(model.damping[i, 1], h)
            for k in range(3):
                g = gravity[i, k] if model.inv_mass[i, k] > 0.0 else 0.0
                state.v[i, k] = state.v[i, k] * keep + g * h * mean
                state.L[i, k] *= keep_spin
                if plan.drive.shape[0] > 0:
                    state.v[i, k] += plan.drive[i, 6 + k]
                    if not model.lock_angular[i, k]:
                        state.L[i, k] += plan.drive[i, 9 + k]
        if turns:
            update_derived(model, state, i)
        else:
            _update_spin(model, state, i)


@kernel
def move_bodies(model, state, plan, gravity, h):
    """`move_some_bodies` for every body."""
    move_some_bodies(model, state, plan, gravity, h, np.int64(0), state.c.shape[0])


BODIES = FIRST  # are planned, then pairs looked at


@inner
def _own_reach(trace, mean, h, first, last, own, reach_out):
    """How far any point of some bodies may move in a step by their own motion; what they do is noted."""
    for i in range(first, last):
        speed = vec3.norm((mean[i, 0], mean[i, 1], mean[i, 2]))
        spin = vec3.norm((mean[i, 3], mean[i, 4], mean[i, 5]))
        for k in range(6):
            trace.ahead[i, k] = h * mean[i, k]
        own[i] = h * (speed + (spin * trace.bound[i] if spin > 0.0 else 0.0))
        for k in range(reach_out.shape[0]):
            reach_out[k, i] = own[i]


@inner
def _reach_of_others(kind, owner, trace, pairs, first, last, own, reach_out):
    """Give a body that is near a faster one the other's reach: it may be hit by it within the step."""
    for slot in range(first, last):
        if pairs.collider[slot, 0] >= 0:
            a, b = owner[pairs.collider[slot, 0]], owner[pairs.collider[slot, 1]]
            if pairs.gap[slot] - (trace.way[a] + trace.way[b] - pairs.way[slot]) > own[a] + own[b]:
                continue
            if kind[a] == DYNAMIC:
                reach_out[a] = max(reach_out[a], own[b])
            if kind[b] == DYNAMIC:
                reach_out[b] = max(reach_out[b], own[a])


@kernel
def plan_motion(
    model, state, gravity, h, plan, owner, trace, pairs, own, reach_out, shares, board, thread
):  # fmt: skip
    """Plan the step of every body as free motion, and bound how far any point of it may move [m], shape (n,).

    Args:
        gravity: Of each body [m/s^2], shape (n, 3).
        owner: Body of each collider.
        trace: How far the bodies have moved, and what they are about to; brought up to date.
        own: Scratch (n,).
        reach_out: Written, with a row for each thread; the result is the first.
        shares: In how many parts the bodies are divided, and the pairs.
        board, thread: See `crew`.
    """
    n, high, pieces = state.c.shape[0], pairs.counter[HIGH], (shares, shares)
    if thread == LEADER:
        put_up(board, BODIES, shares)
    piece = next_piece_in_turn(board, thread, pieces)
    while piece >= 0:
        if board.word[TASK] == BODIES:
            first, last = n * piece // shares, n * (piece + 1) // shares
            plan_bodies(model, state, gravity, h, plan, first, last)
            follow(trace, state.c, state.R, first, last)
            _own_reach(trace, plan.mean, h, first, last, own, reach_out)
        else:
            first, last = high * piece // shares, high * (piece + 1) // shares
            _reach_of_others(model.kind, owner, trace, pairs, first, last, own, reach_out[thread])
        piece_done(board)
        piece = next_piece_in_turn(board, thread, pieces)
    for k in range(1, reach_out.shape[0] if thread == LEADER else 0):
        for i in range(n):
            reach_out[0, i] = max(reach_out[0, i], reach_out[k, i])
