"""Arms and normals of lasting contacts as they are in the mean over a step.

Velocities are means over the step, and so are the arms that go with them: then w x r is the chord that a
contact point moves along, and what sticks does no work. With the arms of the beginning of the step the end
of an arm that turns by an angle leaves its circle along the tangent: what pivots or rolls about an edge
would lose that part of its energy in every radian, and what rides on a turntable would drift outwards. With
the normal of the beginning what slides on what tilts, or is round, would be pushed back or on.

Source: the mean of exp([w] t) r over 0 <= t <= h; work by the mean velocity as in the implicit midpoint rule
(Hairer, Lubich & Wanner 2006, *Geometric Numerical Integration*, section IV.2.1).
"""

import math

import numpy as np

from ..collision.contact_set import cores
from ..collision.narrow_phase import CARRIED_BY_A, CARRIED_BY_B, CARRIED_BY_WORLD
from ..dynamics.body_state import DYNAMIC
from ..dynamics.contact_rows import normal_velocity
from ..dynamics.motion import is_driven
from ..jit import inlined, inner
from ..math3 import vec3
from .impulse_contacts import LOWEST, is_ball, is_lowest, round_axis_of, turn_shown, turned_arm, without_roll

# What turns by less [rad], and moves by no more of its size, keeps its arms: energy is off by that part in
# a radian. So does what turns farther in a step than the last step tells of, which of rims tells farther,
# unless it is known where to: what is sharp is planned to turn about as far as it did.
UNTURNED, MOST_TURN, MOST_TURN_OF_RIM = 1e-5, 0.1, 0.3
SERIES_LIMIT = 0.1  # [rad] up to which the mean over a turn is taken from its series
ON_TIP = 0.1  # sine of the angle between an arm and the angular velocity, up to which a body spins on its tip
ON_SIDE = 1e-6  # sine of an angle up to which two directions are one
ON_AXIS = 1e-9  # of an arm: a point no farther from the axis of its body is on it


@inlined
def _mean_beyond(w, r):
    """How far the mean of exp([w] t) r, 0 <= t <= 1, is from r."""
    square, straight = vec3.dot(w, w), vec3.cross(w, r)
    along = 0.5 - square * (1.0 / 24.0 - square / 720.0)
    inwards = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    if square > SERIES_LIMIT**2:
        angle = math.sqrt(square)
        along, inwards = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)
    return vec3.add(vec3.scale(straight, along), vec3.scale(vec3.cross(w, straight), inwards))


@inlined
def _shift(masses, body, w, arm, n, n_mean):
    """How a contact point moves with its body, which turns by w, from the body's centre of mass [m].

    Args:
        arm: Of the surface's core; see `cores`.
        n, n_mean: Normal, out of the body, at the beginning of the step and in the mean.

    Returns:
        (shift of the mean over the step, half of what the shift of its end is to first order, radius of
        the rim whose lowest point it is, or 0).
    """
    axis = round_axis_of(masses, body)
    if axis[0] != 0.0 or axis[1] != 0.0 or axis[2] != 0.0:
        return _shift_of_round(masses, body, axis, w, arm, n, n_mean)
    return _mean_beyond(w, arm), vec3.scale(vec3.cross(w, arm), 0.5), 0.0


@inlined
def _radius(axis, arm):
    """Distance of a point from the axis of its body [m]."""
    return vec3.norm(vec3.subtract(arm, vec3.scale(axis, vec3.dot(arm, axis))))


@inlined
def rim_radius(masses, body, arm, n):
    """Radius of the rim whose lowest point a contact is [m], or 0; `n` points out of the body."""
    axis = round_axis_of(masses, body)
    is_round = axis[0] != 0.0 or axis[1] != 0.0 or axis[2] != 0.0
    return _radius(axis, arm) if is_round and is_lowest(axis, arm, n) else 0.0


@inner
def _shift_of_round(masses, body, axis, w, arm, n, n_mean):
    """The same on a body that is round about an axis."""
    if is_lowest(axis, arm, n):
        half = turn_shown(masses, body, vec3.scale(w, 0.5))
        shift = vec3.subtract(turned_arm(masses, body, half, arm, n, n_mean), arm)
        return shift, shift, _radius(axis, arm)
    offset = vec3.cross(axis, arm)
    is_tip = vec3.dot(offset, offset) <= ON_AXIS**2 * vec3.dot(arm, arm)
    if not is_tip and vec3.dot(axis, n) ** 2 <= LOWEST:  # the point stays where it is as the side rolls
        w = vec3.subtract(w, vec3.scale(axis, vec3.dot(w, axis)))
    return _mean_beyond(w, arm), vec3.scale(vec3.cross(w, arm), 0.5), 0.0


@inlined
def _turn(masses, plan, body, h, w, arm, rounding, n):
    """By what a body turns in the step that turned with w in the last one.

    What is blunt by no more than a part of its arm turns as planned, however far, where it spins on a tip or
    turned so in the last step. Where a round body rolls on its side, that does not show.

    Args:
        n: Normal; either way.

    Returns:
        (rotation [rad], square of the angle by which the arm turns, whether that is more than is known).
    """
    axis, driven, reach = round_axis_of(masses, body), vec3.load(plan.driven, body), vec3.dot(arm, arm)
    way, offset = vec3.cross(driven, arm), vec3.cross(axis, arm)
    around, is_rim = vec3.dot(way, way), vec3.dot(offset, offset) > ON_AXIS**2 * reach
    spins = 0.0 < around < ON_TIP**2 * vec3.dot(driven, driven) * reach
    is_sharp = rounding * rounding <= ON_TIP**2 * reach
    if spins and not is_rim and is_sharp:
        return vec3.scale(driven, h), around * h * h / reach, False
    turn = vec3.scale(w, h)
    shown = without_roll(masses, body, turn) if vec3.dot(axis, n) ** 2 <= LOWEST else turn
    angle = 0.0 if is_ball(masses, body, rounding) else vec3.dot(shown, shown)
    most = MOST_TURN_OF_RIM if is_rim and rounding == 0.0 else MOST_TURN
    if angle <= most * most or not is_sharp or not is_driven(plan, body):
        return turn, angle, angle > most * most
    beyond = vec3.subtract(vec3.scale(driven, h), turn)
    return vec3.scale(driven, h), angle, vec3.dot(beyond, beyond) > most * most


@inlined
def contact_share(contacts, c, rim_a, rim_b):
    """Which part of a slip the contact moves on b, the rest being on a.

    On what is flat it moves, on what is round it stays below. Of two round surfaces it moves on both, to
    where their normals are one again: on each by as much as its radius asks for.
    """
    if contacts.carrier[c] == CARRIED_BY_B:
        return 1.0
    if contacts.carrier[c] == CARRIED_BY_A:
        return 0.0
    radius_a, radius_b = contacts.rounding[c, 0] + rim_a, contacts.rounding[c, 1] + rim_b
    if radius_a > 0.0 and radius_b > 0.0:
        return radius_b / (radius_a + radius_b)
    return 0.5 + 0.5 * (np.sign(radius_a) - np.sign(radius_b))


@inlined
def _half_slip(n, way, moved_a, moved_b, sticks):
    """How far a contact point of a slides on that of b in half a step, along the surfaces [m].

    Args:
        sticks: What seems to slip by less does not: the velocities are those of the last step.
    """
    slip = vec3.add(vec3.scale(way, 0.5), vec3.subtract(moved_a, moved_b))
    slip = vec3.subtract(slip, vec3.scale(n, vec3.dot(n, slip)))
    return slip if vec3.dot(slip, slip) >= sticks * sticks else (0.0, 0.0, 0.0)


@inlined
def _parting(contacts, c, radius, n, way):
    """By how much round surfaces part where one goes straight on along the other [m]; 0 where it does not.

    That far apart what rolls on the other is on it still. Its arms must not jump to those of the start of the
    step as it leaves: by these it would go straight on, held up by as much as that takes.

    Args:
        radius: Sum of theirs [m].
    """
    off = vec3.dot(n, way)
    if contacts.carrier[c] != CARRIED_BY_WORLD or contacts.meets[c] > 0.0 or radius == 0.0:
        return 0.0
    parting = 0.5 * (vec3.dot(way, way) - off * off) / radius
    # On the other the mean of the last step, seen from the end of it, leads away by just that.
    return parting if abs(off) <= 2.0 * parting else 0.0


@inner
def _carried(n, w):
    """A normal that a body carries as it turns by w, in the mean."""
    n = vec3.add(n, vec3.scale(vec3.cross(w, n), 0.5))
    return vec3.scale(n, 1.0 / vec3.norm(n))


@inlined
def _line_of(masses, body, n, rounding):
    """Direction in which a body that is round about an axis is straight where it touches; zero where in none.

    A capsule is along its side, cylinders and cones are; on a rim they are sharp that way.
    """
    axis = round_axis_of(masses, body)
    along = vec3.dot(axis, n)
    line = vec3.subtract(axis, vec3.scale(n, along))
    square = vec3.dot(line, line)
    if square <= ON_SIDE**2 or (rounding > 0.0 and along * along > ON_SIDE**2):
        return (0.0, 0.0, 0.0)
    return vec3.scale(line, 1.0 / math.sqrt(square))


@inner
def _rolled(masses, contacts, c, n, slip, radius_a, radius_b):
    """Normal in the mean of contact `c` of two round surfaces, one of which goes past the other.

    Along a line on which one of them is straight it stays.

    Args:
        slip: By how much in half a step [m].
        radius_a, radius_b: [m]
    """
    if radius_a == 0.0 or radius_b == 0.0:
        return n
    line_a = _line_of(masses, contacts.body[c, 0], n, contacts.rounding[c, 0])
    line_b = _line_of(masses, contacts.body[c, 1], n, contacts.rounding[c, 1])
    across = vec3.cross(line_a, line_b)
    if vec3.dot(across, across) > ON_SIDE**2:  # they cross: the normal is across both
        return n
    line = line_b if vec3.dot(line_a, line_a) == 0.0 else line_a
    slip = vec3.subtract(slip, vec3.scale(line, vec3.dot(slip, line)))
    n = vec3.add(n, vec3.scale(slip, 1.0 / (radius_a + radius_b)))
    return vec3.scale(n, 1.0 / vec3.norm(n))


@inner
def note_moving(kind, masses, h, planned_mean, last_mean, moves):
    """Note which bodies move by so much in the coming step that their contacts' arms are others in the mean.

    Args:
        planned_mean: Velocities in the mean of the step (bodies, 6).
        last_mean: Those of the last step; read where forces move the body. At the beginning of a step a
            velocity can be off by what contacts did in the last one, which arms that follow it feed.
        moves: (bodies,) is written.
    """
    for i in range(len(moves)):
        v = last_mean[i] if kind[i] == DYNAMIC else planned_mean[i]
        turn, way = v[3] * v[3] + v[4] * v[4] + v[5] * v[5], v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
        moves[i] = h * h * max(turn, way / masses.bound[i] ** 2) > UNTURNED**2


@inner
def mean_arms(
    kind, masses, contacts, slots, allowance, first, last, h, plan, last_mean, moves, touching, kept
):
    """Write the mean arms and normals of some contacts in the coming step.

    Args:
        slots: Pair of each contact; `allowance` [m] is of each pair.
        plan, last_mean, moves: See `note_moving`.
        touching: Gap [m] up to which bodies touch all through the step.
        kept: Contacts to leave alone.
    """
    for c in range(first, last):
        for k in range(3):
            contacts.normal[c, k] = contacts.normal_at_start[c, k]
        if kept[c]:
            continue
        for side in range(2):
            for k in range(3):
                contacts.arm[c, side, k] = contacts.arm_at_start[c, side, k]
        a, b = contacts.body[c, 0], contacts.body[c, 1]
        if not (moves[a] or moves[b]):
            continue
        va = last_mean[a] if kind[a] == DYNAMIC else plan.mean[a]
        vb = last_mean[b] if kind[b] == DYNAMIC else plan.mean[b]
        way = h * (va[0] - vb[0]), h * (va[1] - vb[1]), h * (va[2] - vb[2])
        n = vec3.load(contacts.normal, c)
        ra, rb = cores(contacts.arm_at_start, contacts.normal_at_start, contacts.rounding, c)
        round_a, round_b = contacts.rounding[c, 0], contacts.rounding[c, 1]
        wa, turn_a, far_a = _turn(masses, plan, a, h, (va[3], va[4], va[5]), ra, round_a, n)
        wb, turn_b, far_b = _turn(masses, plan, b, h, (vb[3], vb[4], vb[5]), rb, round_b, n)
        if far_a or far_b:
            continue
        carrier = contacts.carrier[c]
        mean = n
        if carrier != CARRIED_BY_WORLD:
            mean = _carried(n, wa if carrier == CARRIED_BY_A else wb)
        tilt = vec3.subtract(mean, n)
        shift_a, moved_a, rim_a = _shift(masses, a, wa, ra, vec3.scale(n, -1.0), vec3.scale(mean, -1.0))
        shift_b, moved_b, rim_b = _shift(masses, b, wb, rb, n, mean)
        near = touching + _parting(contacts, c, round_a + rim_a + round_b + rim_b, n, way)
        touches = contacts.separation[c] + allowance[slots[c]] <= near
        if not touches and contacts.meets[c] > 0.0:
            continue  # arms are those of the moment they meet
        # What is between a core and the surface stays with the normal.
        roll_a, roll_b = vec3.scale(tilt, -round_a), vec3.scale(tilt, round_b)
        shift_a, moved_a = vec3.add(shift_a, roll_a), vec3.add(moved_a, roll_a)
        shift_b, moved_b = vec3.add(shift_b, roll_b), vec3.add(moved_b, roll_b)
        slip, share = (0.0, 0.0, 0.0), 0.0
        if touches:  # where one slides on the other, both are pushed at the same point still
            reach = math.sqrt(vec3.dot(ra, ra) + vec3.dot(rb, rb))
            sticks = 0.0 if rim_a > 0.0 or rim_b > 0.0 else 0.5 * max(turn_a, turn_b) * reach
            slip = _half_slip(n, way, moved_a, moved_b, sticks)
            share = contact_share(contacts, c, rim_a, rim_b)
            if carrier == CARRIED_BY_WORLD:
                mean = _rolled(masses, contacts, c, n, slip, round_a + rim_a, round_b + rim_b)
        for k in range(3):
            contacts.normal[c, k] = mean[k]
            contacts.arm[c, 0, k] += shift_a[k] - (1.0 - share) * slip[k]
            contacts.arm[c, 1, k] += shift_b[k] + share * slip[k]


@inlined
def _surface_velocity(velocity, body, arm):
    """Velocity of the point of a body at the end of an arm [m/s]."""
    v, w = vec3.load_pair(velocity[body])
    return vec3.add(v, vec3.cross(w, arm))


@inlined
def velocity_at_start(contacts, c, velocity):
    """Normal velocity of contact `c` as it lies at the start of the step [m/s]."""
    a, b, arm = contacts.body[c, 0], contacts.body[c, 1], contacts.arm_at_start[c]
    of_a = _surface_velocity(velocity, a, vec3.load(arm, 0))
    of_b = _surface_velocity(velocity, b, vec3.load(arm, 1))
    return vec3.dot(vec3.load(contacts.normal_at_start, c), vec3.subtract(of_a, of_b))


@inner
def rate_at_start(contacts, c, velocity):
    """Normal velocity of contact `c` as it lies at the start of the step, less that as it does in the mean.

    What rolls or slides on touches with one point after the other: that half way comes down until then.
    """
    return velocity_at_start(contacts, c, velocity) - normal_velocity(velocity, contacts, c)
