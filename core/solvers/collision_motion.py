"""How bodies move through a step in which they collide: their turn from one collision to the next.

Centres of mass fly on parabolas. What turns does so as its angular momentum says, w = inv_I L, so its angular
velocity when it collides is not that of an even acceleration: bounces at that would each lose energy.
So the free rotation of a body is followed from collision to collision; what else acts on it is even.

Source: the torque-free rotation of `free_rotation.py`; the impulses of collisions change L in between.
Verified by: tests/oracle/test_collision_motion.py, tests/verification/test_impact.py
"""

from typing import NamedTuple

import numpy as np

from ..dynamics.body_state import DYNAMIC, STATIC, Masses, turned_inverse
from ..dynamics.contact_rows import relative_velocity
from ..dynamics.free_rotation import free_spin, mean_spin
from ..dynamics.locked_rotation import is_locked
from ..dynamics.motion import LEAST_TURN, WHOLE, WILD_TURN, decay
from ..jit import inlined, inner
from ..math3 import mat3, quat, vec3
from ..tables import scratch_tables
from .collision_round import is_same_pair
from .impulse_arms import UNTURNED


class CollisionMotion(NamedTuple):
    """Motion of n bodies through the step, so far."""

    velocity: np.ndarray  # (n, 6) velocity without the smooth acceleration
    offset: np.ndarray  # (n, 6) minus the sum of velocity changes times their time [m, rad]
    time: np.ndarray  # [s] (n,) time of the last collision of each body in this step
    turned: np.ndarray  # [s] (n,) until when its free rotation has been followed
    turn: np.ndarray  # [rad] (n, 3) by how much that has turned it since the beginning of the step
    beyond: np.ndarray  # [rad/s] (n, 3) its angular velocity then, but for what an even acceleration gives it
    colliding: Masses  # of bodies as they then stand
    half_way: Masses  # of bodies as they stand half way through the step


def empty_motion(half_way: Masses, velocity: np.ndarray, offset: np.ndarray) -> CollisionMotion:
    """Scratch, but for `half_way`; `velocity` and `offset` (n, 6) are others' between collisions."""
    n = len(velocity)
    by_body, by_three = ((n,), float), ((n, 3), float)
    *scratch, inv_I = scratch_tables(by_body, by_body, by_three, by_three, ((n, 9), float))
    colliding = half_way._replace(inv_I=inv_I)
    return CollisionMotion(velocity, offset, *scratch, colliding=colliding, half_way=half_way)


@inner
def begin_motion(plan, motion):
    """Begin a step in which no body has collided yet."""
    for i in range(plan.start.shape[0]):
        motion.time[i] = motion.turned[i] = 0.0
        for k in range(6):
            motion.velocity[i, k] = plan.start[i, k]
            motion.offset[i, k] = 0.0
        for k in range(3):
            motion.turn[i, k] = motion.beyond[i, k] = 0.0


@inner
def _free_mean(model, state, plan, i, h):
    """Mean angular velocity of a body's free rotation if it did not collide [rad/s]."""
    spin = vec3.load(plan.spin, i)
    if plan.drive.shape[0] == 0:
        return spin
    if plan.drive[i, WHOLE] == 0.0:
        return vec3.subtract(spin, (plan.drive[i, 3], plan.drive[i, 4], plan.drive[i, 5]))
    return free_spin(
        quat.load(state.q, i), mat3.load(state.R, i), vec3.load(state.L, i), vec3.load(state.w, i),
        model.inertia[i], model.inv_inertia[i], model.axis_order[i], h,
    )  # fmt: skip


@inner
def _free_change(model, state, plan, i, h):
    """What free rotation adds evenly to a body's angular velocity, so that the mean is right [rad/s]."""
    start = plan.start[i]
    mean = _free_mean(model, state, plan, i, h)
    return vec3.scale(vec3.subtract(mean, (start[3], start[4], start[5])), 2.0)


@inlined
def _turns_freely(model, i, w, h):
    """Whether a body of this angular velocity turns so far in a step that it is not an even turn."""
    far = vec3.dot(w, w) * h * h
    is_free = model.inv_inertia[i, 0] > 0.0 and not is_locked(model.lock_angular[i])
    return is_free and LEAST_TURN**2 < far < WILD_TURN**2


@inner
def _turn_on(model, state, i, turn, w, lasts, h):
    """(turn since the beginning of the step, angular velocity) of a free body after some time, or before.

    Args:
        turn: Since the beginning of the step [rad].
        w: Angular velocity now [rad/s].
        lasts: How long it turns on [s].
    """
    inertia, inverse = vec3.load(model.inertia, i), vec3.load(model.inv_inertia, i)
    keep, mean = decay(model.damping[i, 1], lasts)
    start = quat.load(state.q, i)
    q = quat.normalize(quat.multiply(quat.exp(turn), start))
    r = quat.to_mat3(q)
    L = mat3.transform(mat3.rotate_diagonal(r, inertia), w)
    spin = free_spin(
        q, r, vec3.scale(L, mean), vec3.scale(w, mean), model.inertia[i], model.inv_inertia[i],
        model.axis_order[i], lasts,
    )  # fmt: skip
    then = quat.normalize(quat.multiply(quat.exp(vec3.scale(spin, lasts)), q))
    w_then = mat3.transform(mat3.rotate_diagonal(quat.to_mat3(then), inverse), vec3.scale(L, keep))
    about = vec3.scale(vec3.add(turn, vec3.scale(spin, lasts)), 1.0 / h)
    return vec3.scale(mean_spin(start, then, about, h), h), w_then


@inner
def _follow(model, state, free, i, time, h, motion):
    """(turn since the beginning of the step, angular velocity) of a body's free rotation at a time in it.

    Args:
        free: See `_free_change`.
    """
    earlier = motion.turned[i]
    lasts, turn = time - earlier, vec3.load(motion.turn, i)
    _, v = vec3.load_pair(motion.velocity[i])
    w = vec3.add(vec3.add(v, vec3.scale(free, earlier / h)), vec3.load(motion.beyond, i))
    if lasts != 0.0 and _turns_freely(model, i, w, h):
        return _turn_on(model, state, i, turn, w, lasts, h)
    on = vec3.add(w, vec3.scale(free, 0.5 * lasts / h))
    return vec3.add(turn, vec3.scale(on, lasts)), vec3.add(w, vec3.scale(free, lasts / h))


@inner
def motion_at(model, state, plan, i, time, h, motion):
    """(way of the centre of mass [m], rotation [rad], velocities) of a body at a time in the step."""
    free = _free_change(model, state, plan, i, h)
    turn, w = _follow(model, state, free, i, time, h, motion)
    v, _ = vec3.load_pair(motion.velocity[i])
    dv, dw = vec3.load_pair(plan.change[i])
    x, _ = vec3.load_pair(motion.offset[i])
    way = vec3.add(x, vec3.scale(vec3.add(v, vec3.scale(dv, 0.5 * time / h)), time))
    even = vec3.scale(vec3.subtract(dw, free), time / h)
    turn, w = vec3.add(turn, vec3.scale(even, 0.5 * time)), vec3.add(w, even)
    return way, turn, vec3.add(v, vec3.scale(dv, time / h)), w


@inner
def _turn_body(model, state, masses, plan, i, time, h, motion):
    """Follow the rotation of a body to a time in the step, at which it collides."""
    inverse = mat3.load(masses.inv_I, i)
    if model.kind[i] != STATIC:  # several threads read what static bodies do
        free = _free_change(model, state, plan, i, h)
        turn, w = _follow(model, state, free, i, time, h, motion)
        for k in range(3):
            motion.turn[i, k] = turn[k]
            motion.beyond[i, k] = w[k] - motion.velocity[i, 3 + k] - free[k] * time / h
        motion.turned[i] = time
        if model.kind[i] == DYNAMIC:
            _, change = vec3.load_pair(plan.change[i])
            turn = vec3.add(turn, vec3.scale(vec3.subtract(change, free), 0.5 * time * time / h))
            if vec3.dot(turn, turn) > UNTURNED * UNTURNED:
                inverse = turned_inverse(inverse, masses.lock_angular[i], turn)
    for k in range(9):
        motion.colliding.inv_I[i, k] = inverse[k]


@inner
def turn_bodies(model, state, masses, contacts, now, first, last, h, plan, soonest, motion):
    """Follow the rotation of the bodies of a group to when they first collide in the round, `soonest`."""
    for i in range(first, last):
        if i > first and is_same_pair(contacts.body, now.contact[i], now.contact[i - 1]):
            continue
        for side in range(2):
            body = contacts.body[now.contact[i], side]
            _turn_body(model, state, masses, plan, body, soonest[body], h, motion)


@inlined
def smooth_velocity(plan, contacts, c, time, h, motion):
    """What smooth motion has added at a time in the step to the velocity of contact `c` [m/s], world axes."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    turn_a = vec3.cross(vec3.load(motion.beyond, a), vec3.load(contacts.arm[c], 0))
    turn_b = vec3.cross(vec3.load(motion.beyond, b), vec3.load(contacts.arm[c], 1))
    even = vec3.scale(relative_velocity(plan.change, contacts, c), time / h)
    return vec3.add(even, vec3.subtract(turn_a, turn_b))


@inner
def end_turn(model, state, plan, i, h, motion):
    """Plan the turn of a body that collided in the step, to whose plan its changes of velocity are added."""
    _, w = vec3.load_pair(motion.velocity[i])
    _, late = vec3.load_pair(motion.offset[i])
    start = plan.start[i, 3], plan.start[i, 4], plan.start[i, 5]
    fastest = max(vec3.dot(w, w), vec3.dot(start, start)) * h * h
    if model.inv_inertia[i, 0] == 0.0 or is_locked(model.lock_angular[i]):
        return
    plan.collided[i] = fastest < WILD_TURN**2
    if not LEAST_TURN**2 < fastest < WILD_TURN**2:
        return
    turn, _ = _follow(model, state, _free_change(model, state, plan, i, h), i, h, h, motion)
    change = vec3.add(vec3.subtract(w, start), vec3.scale(late, 1.0 / h))
    straight = vec3.add(_free_mean(model, state, plan, i, h), change)
    for k in range(3):
        plan.mean[i, 3 + k] += turn[k] / h - straight[k]
        plan.end_minus_mean[i, 3 + k] -= turn[k] / h - straight[k]
