"""When and where bodies collide within a step.

The contact points of a step are those of its beginning, or, of what moves far in it, of a moment at which the
free motion would meet (see `collision/meeting.py`). From there to the collision bodies slide past each other
and turn. Pushed at the points of the beginning they would be pushed at two places, and the moment of that
pair of impulses would come from nowhere. So a contact is moved on to its collision first: what carries the
normal turns it, and both bodies are pushed at one point.

Source: Mirtich 1996 (resting limit); p x (c_a + r_a - c_b - r_b) = 0 for the impulse p of a contact, or the
angular momentum of both bodies would change.
"""

import math
from typing import NamedTuple

import numpy as np

from ..collision.contact_set import cores
from ..collision.narrow_phase import CARRIED_BY_A, CARRIED_BY_B
from ..dynamics.contact_rows import combine, normal_response, normal_velocity, relative_velocity
from ..jit import inlined, inner, not_inlined
from ..math3 import quat, vec3
from .collision_motion import motion_at
from .impulse_arms import MOST_TURN, contact_share, rate_at_start, rim_radius
from .impulse_contacts import curvature, gap_curvature, turn_shown, turned_arm, turns_far

# The approach speed, in units of what gravity adds in one step, below which contact is resting.
REST_STEPS = 1.05
# So it is where the bounce would be lower than the tolerance: it is over before anyone could see it. With
# less restitution than this a faster one would be, too; its friction should still act at its own time, but
# where another collision of the step caused it. Of two that do not bounce each causes the other again and
# again, as long as they slow each other down: the lasting contacts find at once what that ends in.
LEAST_RESTITUTION, LEAST_OF_CAUSED = 0.5, 1e-6
LOOKS = 3  # steps of Newton's method to where a point that goes round touches; it starts close


class Surfaces(NamedTuple):
    """How bodies bounce."""

    restitution: np.ndarray  # (n,)
    multiply: bool  # how coefficients combine
    low_bounce: float  # [m/s] speed of a bounce that rises by the tolerance
    tolerance: float  # [m]


def surfaces_of(restitution: np.ndarray, multiply: bool, gravity: float, tolerance: float) -> Surfaces:
    """How bodies bounce that gravity [m/s^2] pulls, where heights up to the tolerance [m] do not count."""
    return Surfaces(restitution, multiply, math.sqrt(2.0 * gravity * tolerance), tolerance)


@inlined
def _closes(velocity, change, rest_speed):
    """Whether a contact of these normal speeds closes at some time in the step faster than a resting one."""
    return velocity + min(change, 0.0) < -rest_speed


@inlined
def _first_touch(gap, speed, acceleration, earliest, h, limit):
    """(time, normal velocity) at which a gap closes faster than the limit; time -1 where it does not.

    Args:
        gap, speed, acceleration: How far it is open at the time `earliest`, and its rates.
    """
    if gap <= 0.0:  # in touch already
        return (earliest if speed < -limit else -1.0), speed
    discriminant = speed * speed - 2.0 * acceleration * gap
    if discriminant <= limit * limit:
        return -1.0, 0.0
    closing = math.sqrt(discriminant)
    if closing - speed <= 0.0:
        return -1.0, 0.0
    time = earliest + 2.0 * gap / (closing - speed)
    return (time, -closing) if time <= h else (-1.0, 0.0)


@inner
def _impact(masses, contacts, rows, c, velocity, acceleration, h, limit, motion):
    """(time, normal velocity) of the collision of contact `c`, which closes; time -1 where none.

    The gap follows s + J offset + J v t + J a t^2 / 2 with the normal velocity J v and acceleration J a. From
    a collision on, where bodies may turn faster than before, the way is curved, too; and all the way where
    they turn so far that contacts are not those of the moment they meet.
    """
    earliest = max(motion.time[contacts.body[c, 0]], motion.time[contacts.body[c, 1]])
    n = vec3.load(contacts.normal, c)
    gap = rows.gap[c] + vec3.dot(n, relative_velocity(motion.offset, contacts, c))
    now = gap + (velocity + 0.5 * acceleration * earliest) * earliest
    speed = velocity + acceleration * earliest
    bends = contacts.meets[c] == 0.0 and turns_far(masses, contacts, c, h, motion.velocity)
    if now > 0.0 and (earliest > 0.0 or bends):
        acceleration += gap_curvature(masses, contacts, c, motion.velocity)
    return _first_touch(now, speed, acceleration, earliest, h, limit)


@inlined
def _turned_normal(contacts, c, qa, qb):
    """Normal of contact `c` once its bodies have turned: with what carries it."""
    n = vec3.load(contacts.normal_at_start, c)
    if contacts.carrier[c] == CARRIED_BY_A:
        return quat.rotate(qa, n)
    if contacts.carrier[c] == CARRIED_BY_B:
        return quat.rotate(qb, n)
    return n


@inner
def _turned_point(masses, contacts, c, turn_a, turn_b):
    """(normal, arm of a, arm of b) of contact `c` once its bodies have turned."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    qa, qb = turn_shown(masses, a, turn_a), turn_shown(masses, b, turn_b)
    n, n_end = vec3.load(contacts.normal_at_start, c), _turned_normal(contacts, c, qa, qb)
    arm_a, arm_b = cores(contacts.arm_at_start, contacts.normal_at_start, contacts.rounding, c)
    arm_a = turned_arm(masses, a, qa, arm_a, vec3.scale(n, -1.0), vec3.scale(n_end, -1.0))
    arm_b = turned_arm(masses, b, qb, arm_b, n, n_end)
    arm_a = vec3.add(arm_a, vec3.scale(n_end, -contacts.rounding[c, 0]))
    return n_end, arm_a, vec3.add(arm_b, vec3.scale(n_end, contacts.rounding[c, 1]))


@inlined
def _is_carried_round(contacts, rows, c, h, motion):
    """Whether bodies that one struck before turn so far that points of contact `c` go round, not straight."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    if max(motion.time[a], motion.time[b]) == 0.0 or rows.before[c, 0] > 0.0 or rows.collision[c, 0] > 0.0:
        return False
    (_, wa), (_, wb) = vec3.load_pair(motion.velocity[a]), vec3.load_pair(motion.velocity[b])
    return max(vec3.dot(wa, wa), vec3.dot(wb, wb)) * h * h > MOST_TURN * MOST_TURN


@inner
def _gap_at(model, state, masses, contacts, rows, c, time, h, plan, motion):
    """(gap, normal velocity, acceleration) of contact `c` at a time in the step, wherever its bodies are."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    way_a, turn_a, va, wa = motion_at(model, state, plan, a, time, h, motion)
    way_b, turn_b, vb, wb = motion_at(model, state, plan, b, time, h, motion)
    n, arm_a, arm_b = _turned_point(masses, contacts, c, turn_a, turn_b)
    apart = vec3.subtract(vec3.load(masses.c, a), vec3.load(masses.c, b))
    apart = vec3.add(vec3.add(apart, vec3.subtract(way_a, way_b)), vec3.subtract(arm_a, arm_b))
    gap = vec3.dot(n, apart) + rows.gap[c] - contacts.separation[c]
    u = vec3.subtract(vec3.add(va, vec3.cross(wa, arm_a)), vec3.add(vb, vec3.cross(wb, arm_b)))
    (dva, dwa), (dvb, dwb) = vec3.load_pair(plan.change[a]), vec3.load_pair(plan.change[b])
    du = vec3.subtract(vec3.add(dva, vec3.cross(dwa, arm_a)), vec3.add(dvb, vec3.cross(dwb, arm_b)))
    core_a = vec3.add(arm_a, vec3.scale(n, contacts.rounding[c, 0]))
    core_b = vec3.subtract(arm_b, vec3.scale(n, contacts.rounding[c, 1]))
    # What round bodies roll is in it: it tells where to look first, no more.
    bend = curvature(contacts.carrier[c], n, core_a, core_b, (va, wa), (vb, wb))
    return gap, vec3.dot(n, u), vec3.dot(n, du) / h + bend


@not_inlined
def _impact_of_struck(model, state, masses, contacts, rows, c, h, limit, plan, motion):
    """(time, normal velocity) of the collision of contact `c`, one of whose bodies was struck and turns.

    It is looked for by Newton's method, from where the gap would close if it went on evenly, or from the end.
    """
    time = struck = max(motion.time[contacts.body[c, 0]], motion.time[contacts.body[c, 1]])
    for look in range(LOOKS + 1):
        gap, speed, acceleration = _gap_at(model, state, masses, contacts, rows, c, time, h, plan, motion)
        if look == 0 and gap > 0.0:
            time, _ = _first_touch(gap, speed, acceleration, struck, h, limit)
            time = h if time < 0.0 else time
        elif speed >= -limit or (time == h and gap > 0.0):
            return -1.0, 0.0
        elif look == 0:
            break
        elif look < LOOKS:
            time = min(max(time - gap / speed, struck), h)
    return time, speed


@inlined
def restitution_of(surfaces, contacts, c):
    """Of the bodies of contact `c`."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    return combine(surfaces.restitution[a], surfaces.restitution[b], surfaces.multiply)


@inner
def _find(
    model, state, surfaces, plan, masses, contacts, rows, c, h, rest_speed, least_restitution,
    is_carried_round, velocity, change, motion,
):  # fmt: skip
    """`find_collision` of a contact that is carried round, or else closes at these rates."""
    restitution = max(restitution_of(surfaces, contacts, c), least_restitution)
    limit = max(rest_speed, surfaces.low_bounce / restitution)
    if is_carried_round:
        return _impact_of_struck(model, state, masses, contacts, rows, c, h, limit, plan, motion)
    if not _closes(velocity, change, limit):
        return -1.0, 0.0
    return _impact(masses, contacts, rows, c, velocity, change / h, h, limit, motion)


@inlined
def find_collision(
    model, state, surfaces, plan, masses, contacts, rows, c, h, rest_speed, least_restitution, now, motion
):  # fmt: skip
    """(time, normal velocity) of the collision of contact `c` in the coming step; time -1 where none.

    Args:
        least_restitution: With less of it, a collision is one from the speed on that it would be with this.
    """
    velocity = normal_velocity(motion.velocity, contacts, c)
    change, sooner = now.smooth[c], rate_at_start(contacts, c, motion.velocity)
    if rows.gap[c] < h * abs(sooner):  # it rolls or slides on: arms turn by more than it is apart
        velocity, change = velocity + sooner, change - 2.0 * sooner
    is_carried_round = _is_carried_round(contacts, rows, c, h, motion)
    if not (is_carried_round or _closes(velocity, change, rest_speed)):
        return -1.0, 0.0
    return _find(
        model, state, surfaces, plan, masses, contacts, rows, c, h, rest_speed, least_restitution,
        is_carried_round, velocity, change, motion,
    )  # fmt: skip


@inlined
def _opened(plan, motion, contacts, c, time, h):
    """How far the gap of contact `c` has opened at a time in the step [m]."""
    n = vec3.load(contacts.normal, c)
    way = vec3.dot(n, relative_velocity(motion.offset, contacts, c))
    steady = vec3.dot(n, relative_velocity(motion.velocity, contacts, c))
    return way + (steady + 0.5 * vec3.dot(n, relative_velocity(plan.change, contacts, c)) * time / h) * time


@inlined
def _move_contact(contacts, rows, c, n, arm_a, arm_b, slip, share):
    """Write another normal and arms of contact `c`, put right by a slip, so large a share of it on b."""
    for k in range(3):
        contacts.normal[c, k] = contacts.normal_at_start[c, k] = n[k]
        contacts.arm[c, 0, k] = contacts.arm_at_start[c, 0, k] = arm_a[k] - (1.0 - share) * slip[k]
        contacts.arm[c, 1, k] = contacts.arm_at_start[c, 1, k] = arm_b[k] + share * slip[k]
    rows.slot[c] = contacts.look[c] = -1  # neither is that of the point found any longer


@inner
def move_to_collision(model, state, masses, contacts, rows, c, time, h, plan, motion):
    """Make a contact that begins with a collision that of the moment at which it happens.

    Normal, arms, separation and gap are brought there: the gap closes then, and both arms end at one point.

    Args:
        time: Of the collision, within the step [s].
        motion: That of the bodies so far.
    """
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    way_a, turn_a, _, _ = motion_at(model, state, plan, a, time, h, motion)
    way_b, turn_b, _, _ = motion_at(model, state, plan, b, time, h, motion)
    n = n_then = vec3.load(contacts.normal_at_start, c)
    arm_a, arm_b = vec3.load(contacts.arm_at_start[c], 0), vec3.load(contacts.arm_at_start[c], 1)
    core_a, core_b = cores(contacts.arm_at_start, contacts.normal_at_start, contacts.rounding, c)
    rim_a, rim_b = rim_radius(masses, a, core_a, vec3.scale(n, -1.0)), rim_radius(masses, b, core_b, n)
    if contacts.meets[c] == 0.0:
        n_then, arm_a, arm_b = _turned_point(masses, contacts, c, turn_a, turn_b)
    apart = vec3.subtract(vec3.load(masses.c, a), vec3.load(masses.c, b))
    apart = vec3.add(vec3.add(apart, vec3.subtract(way_a, way_b)), vec3.subtract(arm_a, arm_b))
    left = 0.0
    if time == max(motion.time[a], motion.time[b]):  # they may have been in each other before
        left = min(vec3.dot(n_then, apart) + rows.gap[c] - contacts.separation[c], 0.0)
    _move_contact(contacts, rows, c, n_then, arm_a, arm_b, apart, contact_share(contacts, c, rim_a, rim_b))
    gap = left - _opened(plan, motion, contacts, c, time, h)
    contacts.separation[c] += gap - rows.gap[c]
    rows.gap[c], rows.K_nn[c] = gap, normal_response(motion.half_way, contacts, c)


@inlined
def _turned_back(masses, plan, body, part, h):
    """Rotation of a body from where its free motion takes it in a part of the step to where it begins."""
    return quat.conjugate(turn_shown(masses, body, vec3.scale(vec3.load(plan.spin, body), part * h)))


@not_inlined
def _begin_with(masses, contacts, rows, c, h, plan, motion):
    """Make a contact of the moment at which its bodies would have met one of the beginning of the step.

    They collided elsewhere before: from the beginning on arms can be followed whatever they do.
    """
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    part = float(contacts.meets[c])
    qa, qb = _turned_back(masses, plan, a, part, h), _turned_back(masses, plan, b, part, h)
    n_start = _turned_normal(contacts, c, qa, qb)
    arm_a, arm_b = cores(contacts.arm_at_start, contacts.normal_at_start, contacts.rounding, c)
    arm_a = vec3.add(quat.rotate(qa, arm_a), vec3.scale(n_start, -contacts.rounding[c, 0]))
    arm_b = vec3.add(quat.rotate(qb, arm_b), vec3.scale(n_start, contacts.rounding[c, 1]))
    apart = vec3.subtract(vec3.load(masses.c, a), vec3.load(masses.c, b))
    apart = vec3.add(apart, vec3.subtract(arm_a, arm_b))
    separation = vec3.dot(n_start, apart)
    slip = vec3.subtract(apart, vec3.scale(n_start, separation))
    _move_contact(contacts, rows, c, n_start, arm_a, arm_b, slip, contact_share(contacts, c, 0.0, 0.0))
    # What faces the other where they meet can be behind it before: they are beside each other, not in.
    separation = max(separation, min(contacts.separation[c], 0.0))
    rows.gap[c] += separation - contacts.separation[c]
    contacts.separation[c], contacts.meets[c] = separation, 0.0
    rows.K_nn[c] = normal_response(motion.half_way, contacts, c)


@inlined
def begin_where_struck(masses, contacts, rows, c, h, plan, now, motion):
    """Make a contact of the moment at which bodies would have met that were struck before one of now."""
    last = max(motion.time[contacts.body[c, 0]], motion.time[contacts.body[c, 1]])
    if last > 0.0 and contacts.meets[c] > 0.0 and rows.collision[c, 0] == 0.0:
        _begin_with(masses, contacts, rows, c, h, plan, motion)
        now.smooth[c] = normal_velocity(plan.change, contacts, c)
