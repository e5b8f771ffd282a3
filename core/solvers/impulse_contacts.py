"""Resting contact of the impulse solver: no penetration predicted for the end of the step.

The unknown is the mean velocity w of each body over the step, so that positions at t + h are exactly
those the contacts are tested on. Impulses of the last step act all through the step (they move
positions by half their velocity change, like gravity: a body at rest has w = 0 and a sliding one
stops where Coulomb's law says); only what changes against the last step acts at its start.

Source: Bender & Schmitt 2006, section 3.2: eq. 8 (impulse from the predicted penetration), eq. 7
(rotating arms), condition (2), static friction from the predicted tangential displacement.
"""

import math

from ..collision.contact_set import cores
from ..collision.narrow_phase import CARRIED_BY_A, CARRIED_BY_B
from ..dynamics.contact_rows import normal_velocity, to_world
from ..jit import inlined, inner, kernel
from ..math3 import mat3, quat, vec3

# Largest speed [m/s] at which the contact's spring takes penetration back: a deep overlap parts gently.
PUSH_SPEED = 0.5
# Cosine of the angle to the lowest point of a rim within which a contact point is taken for it.
LOWEST = 1.0 - 1e-6
FAR_TURN = 0.5  # [rad] a step; beyond it the impulses of the last step are none of the next
# Net contact impulse on a body, in units of what gravity adds in a step, up to which it is a lasting force.
SMOOTH = 4.0
STEADY = 0.5  # part of it by which it may have changed since the step before, and is one too, however large
ROUND = 1.0 + 1e-9  # of its radius: how far from its centre of mass no point of a ball is
MOST_BENT = 1.5  # [rad] a step; what comes round farther may have been anywhere on its way to the end


@inlined
def square_of_push(masses, i, push):
    """Square of what momenta (6,) change of a body's velocity, turning included [m^2/s^2]."""
    (px, py, pz), L = vec3.load_pair(push)
    m, w = masses.inv_mass[i], mat3.transform(mat3.load(masses.inv_I, i), L)
    square = (m[0] * px) ** 2 + (m[1] * py) ** 2 + (m[2] * pz) ** 2
    return square + vec3.dot(w, L) / masses.mass[i]


@inlined
def lasts(plan, i, square, gravity_speed):
    """Whether impulses are taken for a force that lasts: they are small, or as they were in the step before.

    Args:
        square: See `square_of_push`.
        gravity_speed: What gravity adds to a velocity in a step [m/s].
    """
    return plan.steady[i] or square <= (SMOOTH * gravity_speed) ** 2


@inlined
def round_axis_of(masses, body):
    """The axis of a round body, world axes; zero where it has none."""
    axis = vec3.load(masses.round_axis, body)
    if axis[0] == 0.0 and axis[1] == 0.0 and axis[2] == 0.0:
        return axis
    return mat3.transform(mat3.load(masses.R, body), axis)


@inlined
def without_roll(masses, body, w):
    """A rotation without its part about the axis of a round body."""
    axis = round_axis_of(masses, body)
    return vec3.subtract(w, vec3.scale(axis, vec3.dot(w, axis)))


@inlined
def is_ball(masses, body, rounding):
    """Whether a body whose surface has this rounding [m] is a ball about its centre of mass."""
    return masses.bound[body] <= ROUND * rounding


@inlined
def turn_shown(masses, body, w):
    """Rotation by w as far as it shows: of a round body that which takes its axis along."""
    axis = round_axis_of(masses, body)
    if axis[0] == 0.0 and axis[1] == 0.0 and axis[2] == 0.0:
        return quat.exp(w)
    moved = quat.rotate(quat.exp(w), axis)
    x, y, z = vec3.cross(axis, moved)
    return quat.normalize((1.0 + vec3.dot(axis, moved), x, y, z))


@inlined
def is_lowest(axis, arm, n):
    """Whether a contact point is the lowest of a rim about an axis; `n` points out of the body there."""
    offset = vec3.subtract(arm, vec3.scale(axis, vec3.dot(arm, axis)))
    lowest = vec3.subtract(n, vec3.scale(axis, vec3.dot(n, axis)))
    return vec3.dot(offset, lowest) > LOWEST * (vec3.norm(offset) * vec3.norm(lowest))


@inner
def turned_arm(masses, body, q, arm, n, n_end):
    """The arm of the contact point of a turned body; `n` and `n_end` point out of the body there.

    The lowest point of a rim is another one when its axis has turned.
    """
    axis = round_axis_of(masses, body)
    is_round = axis[0] != 0.0 or axis[1] != 0.0 or axis[2] != 0.0
    if not (is_round and is_lowest(axis, arm, n)):
        return quat.rotate(q, arm)
    offset = vec3.subtract(arm, vec3.scale(axis, vec3.dot(arm, axis)))
    axis_end = quat.rotate(q, axis)
    lowest = vec3.subtract(n_end, vec3.scale(axis_end, vec3.dot(n_end, axis_end)))
    along = vec3.scale(axis_end, vec3.dot(arm, axis))
    return vec3.add(along, vec3.scale(lowest, vec3.norm(offset) / vec3.norm(lowest)))


@inner
def turns_far(masses, contacts, c, h, velocity):
    """Whether a body carries its contact point around by more than FAR_TURN in the step; a tip stays."""
    for side in range(2):
        body = contacts.body[c, side]
        w = (velocity[body, 3], velocity[body, 4], velocity[body, 5])
        if not vec3.dot(w, w) * h * h > FAR_TURN * FAR_TURN or is_ball(
            masses, body, contacts.rounding[c, side]
        ):
            continue
        core = cores(contacts.arm_at_start, contacts.normal_at_start, contacts.rounding, c)[side]
        way = vec3.cross(without_roll(masses, body, w), core)
        if vec3.dot(way, way) * h * h > FAR_TURN * FAR_TURN * vec3.dot(core, core):
            return True
    return False


@inlined
def gap_rate(gap, h, push):
    """Least normal velocity that a gap [m] admits over the step; a penetration is pushed back."""
    if gap >= 0.0:
        return -gap / h
    return min(-push * gap / h, PUSH_SPEED)


@inlined
def _centripetal(w, r):
    """Acceleration w x (w x r) of the end of an arm that turns."""
    return vec3.cross(w, vec3.cross(w, r))


@inlined
def curvature(carrier, n, ra, rb, a, b):
    """Second rate at which a gap opens as its bodies turn [m/s^2].

    The second derivative of n . p, p the point of a from the centre of mass of b: where b carries the normal
    n . (w_a x (w_a x r_a) + w_b x (w_b x r_b) - 2 w_b x p'), with p' = v_a + w_a x r_a - v_b.

    Args:
        carrier: Which of them turns the normal n.
        ra, rb: Where they touch, from their centres of mass.
        a, b: Their velocities (v, w), w without what shows nowhere.
    """
    (va, wa), (vb, wb) = a, b
    inwards_a, inwards_b = _centripetal(wa, ra), _centripetal(wb, rb)
    if carrier == CARRIED_BY_B:
        way = vec3.subtract(vec3.add(va, vec3.cross(wa, ra)), vb)
        turning = vec3.add(vec3.add(inwards_a, inwards_b), vec3.scale(vec3.cross(wb, way), -2.0))
    elif carrier == CARRIED_BY_A:  # the same seen from a, whose normal out is -n
        way = vec3.subtract(vec3.add(vb, vec3.cross(wb, rb)), va)
        turning = vec3.scale(vec3.add(inwards_a, inwards_b), -1.0)
        turning = vec3.add(turning, vec3.scale(vec3.cross(wa, way), 2.0))
    else:
        turning = vec3.subtract(inwards_a, inwards_b)
    return vec3.dot(n, turning)


@inner
def gap_curvature(masses, contacts, c, velocity):
    """That of contact `c`, for velocities of the bodies (n, 6) [m/s^2]."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    ra, rb = cores(contacts.arm, contacts.normal, contacts.rounding, c)
    (va, wa), (vb, wb) = vec3.load_pair(velocity[a]), vec3.load_pair(velocity[b])
    wa, wb = without_roll(masses, a, wa), without_roll(masses, b, wb)
    return curvature(contacts.carrier[c], vec3.load(contacts.normal, c), ra, rb, (va, wa), (vb, wb))


@inlined
def _gap_of_balls(contacts, c, shift):
    """The gap of two balls after one has moved on the other [m]."""
    radius = contacts.rounding[c, 0] + contacts.rounding[c, 1]
    way = vec3.add(vec3.scale(vec3.load(contacts.normal_at_start, c), contacts.separation[c] + radius), shift)
    return vec3.norm(way) - radius


@inlined
def _correct(rows, c, correction, opens, limit, gap_out):
    """Take a correction into the gap of contact `c` if it can matter; whether that changes it by so much."""
    old = rows.gap[c] - gap_out[c]
    if rows.impulse[c, 0] > 0.0 or opens + correction < 0.0:
        rows.gap[c] = gap_out[c] + correction
        return abs(correction - old) > limit
    return False


@inner
def bend(masses, contacts, rows, order, first, last, h, limit, velocity, gap_out):
    """Correct the gaps of an island for arms that rotate through the step.

    The sweeps move contacts along straight lines; here both arms and the carried normal turn. Where
    the separation predicted for t + h then falls below -limit, the difference to the straight
    prediction is taken into the gap. Balls have the same gap however they turn, but part as one goes
    past the other.

    Returns:
        Whether any gap was corrected by so much that the island must be solved again.
    """
    again = False
    for i in range(first, last):
        c = order[i]
        a, b = contacts.body[c, 0], contacts.body[c, 1]
        wa = (h * velocity[a, 3], h * velocity[a, 4], h * velocity[a, 5])
        wb = (h * velocity[b, 3], h * velocity[b, 4], h * velocity[b, 5])
        turn_a, turn_b = vec3.dot(wa, wa), vec3.dot(wb, wb)
        most = max(turn_a * masses.bound[a], turn_b * masses.bound[b])
        if contacts.meets[c] > 0.0:  # they have not met: what is still apart needs no correction
            continue
        n, separation = vec3.load(contacts.normal_at_start, c), contacts.separation[c]
        shift = (
            h * (velocity[a, 0] - velocity[b, 0]),
            h * (velocity[a, 1] - velocity[b, 1]),
            h * (velocity[a, 2] - velocity[b, 2]),
        )
        radius_a, radius_b = contacts.rounding[c, 0], contacts.rounding[c, 1]
        if is_ball(masses, a, radius_a) and is_ball(masses, b, radius_b):
            # By shift^2 / (2 radius): an eighth of the limit.
            if vec3.dot(shift, shift) >= 0.25 * limit * (radius_a + radius_b):
                straight = separation + h * normal_velocity(velocity, contacts, c)
                correction = _gap_of_balls(contacts, c, shift) - straight
                opens = gap_out[c] + straight - separation
                again = _correct(rows, c, correction, opens, limit, gap_out) or again
            continue
        if most < 0.125 * limit and max(turn_a, turn_b) < FAR_TURN * FAR_TURN:
            continue  # `turning`, below, is less than twice that
        ra, rb = cores(contacts.arm_at_start, contacts.normal_at_start, contacts.rounding, c)
        # The surface of a round body turns under its contact, which stays where it is.
        tilt_a, tilt_b = vec3.norm(without_roll(masses, a, wa)), vec3.norm(without_roll(masses, b, wb))
        if max(tilt_a, tilt_b) > MOST_BENT:
            rows.gap[c] = gap_out[c]
            continue
        far_a, far_b = vec3.norm(ra), vec3.norm(rb)
        turning = tilt_a * math.sqrt(turn_a) * far_a + tilt_b * math.sqrt(turn_b) * far_b
        if turning < 0.25 * limit:
            continue
        straight = separation + h * normal_velocity(velocity, contacts, c)
        # What a correction, below, is less than: what opens farther than that needs none. Not so of a rim,
        # whose lowest point can move by more than its body turns.
        moved_by = abs(separation) + vec3.norm(shift) + tilt_a * far_a + tilt_b * far_b
        opens = gap_out[c] + straight - separation
        round_axes = vec3.norm(vec3.load(masses.round_axis, a)) + vec3.norm(vec3.load(masses.round_axis, b))
        far = round_axes == 0.0 and opens > max(tilt_a, tilt_b) * moved_by + turning
        if far and rows.impulse[c, 0] == 0.0:
            continue
        qa, qb = turn_shown(masses, a, wa), turn_shown(masses, b, wb)
        if contacts.carrier[c] == CARRIED_BY_A:
            n_end = quat.rotate(qa, n)
        elif contacts.carrier[c] == CARRIED_BY_B:
            n_end = quat.rotate(qb, n)
        else:
            n_end = n
        back, back_end = vec3.scale(n, -1.0), vec3.scale(n_end, -1.0)
        ra_end = turned_arm(masses, a, qa, ra, back, back_end)
        rb_end = turned_arm(masses, b, qb, rb, n, n_end)
        # p_a - p_b at the end: the gap at the start along n, moved by both bodies.
        d = vec3.subtract(vec3.subtract(ra_end, ra), vec3.subtract(rb_end, rb))
        moved = vec3.add(shift, d)
        curved = separation * vec3.dot(n_end, n) + vec3.dot(n_end, moved)
        again = _correct(rows, c, curved - straight, opens, limit, gap_out) or again
    return again


@kernel
def write_impulses(contacts, impulse, impulse_out):
    """Turn impulses in the frames of their contacts into world axes, shapes (c, 3)."""
    for c in range(impulse.shape[0]):
        impulse_out[c, 0], impulse_out[c, 1], impulse_out[c, 2] = to_world(contacts, c, vec3.load(impulse, c))
