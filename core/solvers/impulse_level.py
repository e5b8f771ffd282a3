"""Bodies that get over an edge that is level with what they slide on, as at the seam of two tiles.

What slides on a tile sinks into it by next to nothing, and by as little it would run against the side of the
next one, which is as high. Before it gets there both sides are apart in the direction in which it slides, and
the contact points lie on the upper edge of the tile ahead. Where the body is no lower than that, but for
penetration that does not count, until it gets there, it is the face behind the edge that it comes on to.

What rolls on a tile gets nearer to the edge of the next one without running against it: the contact's normal
leans back, and turns upright as the body gets there. Such contacts do not close in the step.
"""

import numpy as np

from ..collision.narrow_phase import CARRIED_BY_A, CARRIED_BY_B
from ..collision.separating_plane import FACE_A, FACE_B
from ..dynamics.contact_rows import (
    in_frame,
    normal_response,
    normal_velocity,
    relative_velocity,
    to_world,
)
from ..geometry.shape_table import CAPSULE, DISCS, HULL, PLANE, SPHERE
from ..geometry.support import support_feature
from ..jit import inlined, inner
from ..math3 import mat3, quat, vec3
from .impulse_arms import velocity_at_start
from .impulse_contacts import is_ball, without_roll

SIDE = 0.9  # cosine of the angle from which on two faces are not the same side of a body
LEVEL = 1.0 - 1e-9  # and of that between a face and what lies flat on it
# How much farther than a free body the end of a disc falls that was borne at two, where one of these is gone:
# g - f + f r^2 / k^2 with the load f = g / 2 and the inertia k^2 = r^2 / 4.
FALL_OF_END = 2.5
LIGHT = 0.2  # of a free fall in the step: what a remembered impulse moves a body by that does not count
NOT_YET = 1.0 + 1e-6  # so much more than what closes in a step does not


@inlined
def _closing_along(contacts, c, side, m, velocity):
    """How fast the bodies of contact `c` get nearer along m, which points out of that of one side [m/s]."""
    return (1.0 - 2.0 * side) * vec3.dot(m, relative_velocity(velocity, contacts, c))


@inlined
def _is_open(contacts, rows, c, h, tolerance, fall):
    """Whether contact `c` is neither closed yet, nor pressed by what it remembers, so far as that counts.

    What it remembers may be of the face that it was turned to.
    """
    if contacts.separation[c] <= -tolerance:
        return False
    return rows.impulse[c, 0] == 0.0 or rows.impulse[c, 0] * rows.K_nn[c] * h < LIGHT * fall


@inlined
def _closes(contacts, rows, c, h, tolerance, fall, velocity):
    """Whether contact `c` closes in the step, and is open at first."""
    if contacts.carried[c] or rows.kept[c] or not _is_open(contacts, rows, c, h, tolerance, fall):
        return False
    return -h * velocity_at_start(contacts, c, velocity) > max(contacts.separation[c], 0.0)


@inlined
def _time_to_meet(contacts, rows, first, last, h, tolerance, fall, velocity):
    """When the first of a pair's contacts closes [s]; `h` where any is closed at first."""
    time = h
    for c in range(first, last):
        if not _is_open(contacts, rows, c, h, tolerance, fall):
            return h
        closing, gap = -velocity_at_start(contacts, c, velocity), max(contacts.separation[c], 0.0)
        if closing * time > gap:
            time = gap / closing
    return time


@inner
def _height(masses, shapes, shape, body, seen_from, m, time, velocity):
    """Where the lowest point of a body is along a direction that another carries, at a time in the step [m].

    Seen from the centre of mass of the other; both go on evenly.

    Args:
        m: The direction at first.
    """
    (v, w), (v_other, w_other) = vec3.load_pair(velocity[body]), vec3.load_pair(velocity[seen_from])
    m = quat.rotate(quat.exp(vec3.scale(w_other, time)), m)
    turned_back = quat.rotate(quat.exp(vec3.scale(w, -time)), m)
    down = mat3.transform_transposed(mat3.load(masses.R, body), vec3.scale(turned_back, -1.0))
    _, lowest = support_feature(shapes, shape, down)
    apart = vec3.subtract(vec3.load(masses.c, body), vec3.load(masses.c, seen_from))
    apart = vec3.add(apart, vec3.scale(vec3.subtract(v, v_other), time))
    return vec3.dot(m, apart) - vec3.dot(down, lowest) - shapes.radius[shape]


@inner
def _turn_far(masses, contacts, c, m, time, tolerance, velocity):
    """Whether a body of contact `c` turns so far that its points go round by more than the tolerance along m.

    In a direction m a point at r goes round with m . (w x (w x r)), by no more than |w| |w x m| |r|.
    """
    for side in range(2):
        body = contacts.body[c, side]
        w = without_roll(masses, body, (velocity[body, 3], velocity[body, 4], velocity[body, 5]))
        way = vec3.norm(w) * vec3.norm(vec3.cross(w, m)) * masses.bound[body] * time * time
        if way > 8.0 * tolerance and not is_ball(masses, body, contacts.rounding[c, side]):
            return True
    return False


@inner
def _turn_on(masses, contacts, rows, first, last, side, m, distance):
    """Have a pair's contacts be with the face m . x = distance of the body of one side instead."""
    sign = 2.0 * side - 1.0  # the normal is from b to a
    for c in range(first, last):
        other, body = contacts.body[c, 1 - side], contacts.body[c, side]
        remembered = to_world(contacts, c, vec3.load(rows.impulse, c))
        for k in range(3):
            contacts.normal[c, k] = contacts.normal_at_start[c, k] = sign * m[k]
        p = in_frame(contacts, c, remembered)  # it acts already
        rows.impulse[c, 0], rows.impulse[c, 1], rows.impulse[c, 2] = max(p[0], 0.0), p[1], p[2]
        for k in range(3):
            rows.before[c, k] = rows.impulse[c, k]
        apart = vec3.subtract(vec3.load(masses.c, other), vec3.load(masses.c, body))
        height = vec3.dot(m, vec3.add(apart, vec3.load(contacts.arm_at_start[c], 1 - side))) - distance
        rows.gap[c] += height - contacts.separation[c]
        contacts.separation[c], contacts.meets[c] = height, 0.0
        contacts.carrier[c] = CARRIED_BY_A if side == 0 else CARRIED_BY_B
        response = normal_response(masses, contacts, c)
        rows.compliance[c] *= response / rows.K_nn[c]
        rows.K_nn[c] = response
        rows.slot[c] = contacts.look[c] = -1  # neither is that of the point found any longer


@inlined
def _rolls(masses, shapes, shape, body, m):
    """Whether a shape rolls on a plane with the normal m, which what it touches it with turns along."""
    if shapes.kind[shape] != DISCS:
        return shapes.kind[shape] in (CAPSULE, SPHERE)
    axis = mat3.transform(mat3.load(masses.R, body), vec3.load(shapes.axis, shape))
    return abs(vec3.dot(axis, m)) < SIDE


@inlined
def _face_count(shapes, shape):
    """How many flat faces a shape has that others may come on to."""
    if shapes.kind[shape] == HULL:
        return shapes.face_start[shape + 1] - shapes.face_start[shape]
    return np.int64(2 if shapes.kind[shape] == DISCS else 0)


@inlined
def _face(shapes, shape, f):
    """(normal, distance) of a shape's face, in its frame; of a disc that is a point, nothing lies over it."""
    if shapes.kind[shape] == HULL:
        face = shapes.face_start[shape] + f
        return vec3.load(shapes.face_normal, face), shapes.face_distance[face]
    normal = vec3.scale(vec3.load(shapes.axis, shape), 2.0 * f - 1.0)
    distance = vec3.dot(normal, vec3.load(shapes.vertex, shapes.vertex_start[shape] + f))
    return normal, distance if shapes.disc[shape, f] > 0.0 else np.inf


@inner
def _stays_over(
    masses, shapes, shape, contacts, c, side, m, distance, until, tolerance, sinks, velocity
):  # fmt: skip
    """Whether a body stays over a face of the other one, m . x = distance, up to a time in the step.

    Args:
        c: Contact of the two.
        side: Whose the face is; `shape` is of the body on the other side.
        sinks: How far the body may be planned to sink in: what bears it is still to be found [m].
    """
    body, other = contacts.body[c, side], contacts.body[c, 1 - side]
    if _turn_far(masses, contacts, c, m, until, tolerance, velocity):
        return False
    height = _height(masses, shapes, shape, other, body, m, 0.0, velocity)
    if height < distance - tolerance:
        return False
    height = _height(masses, shapes, shape, other, body, m, until, velocity)
    return height >= distance - tolerance - sinks


@inner
def _level_face(
    masses, shapes, colliders, collider, contacts, rows, first, last, side, time, h, tolerance, fall, velocity
):  # fmt: skip
    """The face of the body of one side that the other is about to come on to.

    Returns:
        (face, its normal, distance, whether the other rolls on it); the face is -1 where there is none.
    """
    body, other = contacts.body[first, side], contacts.body[first, 1 - side]
    shape = colliders.shape[collider[side]]
    n = vec3.scale(vec3.load(contacts.normal_at_start, first), 2.0 * side - 1.0)
    shape_of_other = colliders.shape[collider[1 - side]]
    if shapes.kind[shape_of_other] == PLANE:  # above which nothing is
        return -1, n, 0.0, False
    R = mat3.load(masses.R, body)
    n_local = mat3.transform_transposed(R, n)
    near = tolerance + (fall if contacts.meets[first] > 0.0 else 0.0)
    for c in range(first, last):
        point = mat3.transform_transposed(R, vec3.load(contacts.arm_at_start[c], side))
        for f in range(_face_count(shapes, shape)):
            normal, distance = _face(shapes, shape, f)
            if vec3.dot(normal, point) < distance - near:
                continue
            m = mat3.transform(R, normal)
            rolls = _rolls(masses, shapes, shape_of_other, other, m)
            closing = _closing_along(contacts, c, side, m, velocity)
            if rows.impulse[c, 0] > 0.0 if rolls else closing >= -velocity_at_start(contacts, c, velocity):
                continue
            until, same = (h, LEVEL) if rolls else (time, SIDE)
            if vec3.dot(normal, n_local) <= same and _stays_over(
                masses, shapes, shape_of_other, contacts, first, side, m, distance, until, tolerance,
                0.0 if rolls else FALL_OF_END * fall, velocity,
            ):  # fmt: skip
                return f, m, distance, rolls
    return -1, n, 0.0, False


@inner
def _come_on_pair(
    masses, shapes, colliders, pairs, contacts, slot, first, last, h, tolerance, fall, velocity, rows
):  # fmt: skip
    """Do what `come_on` does to the contacts of one pair."""
    time = _time_to_meet(contacts, rows, first, last, h, tolerance, fall, velocity)
    collider = pairs.collider[slot]
    for side in range(2 if time < h else 0):
        face, m, distance, rolls = _level_face(
            masses, shapes, colliders, collider, contacts, rows, first, last, side, time, h, tolerance, fall,
            velocity,
        )  # fmt: skip
        if face >= 0 and rolls:
            for c in range(first, last):
                closing = max(
                    -velocity_at_start(contacts, c, velocity), -normal_velocity(velocity, contacts, c)
                )
                rows.gap[c] = max(rows.gap[c], h * closing * NOT_YET)
            return
        if face >= 0:
            _turn_on(masses, contacts, rows, first, last, side, m, distance)
            # Where it is over the edge, that face is where the next look at the pair begins.
            witness, sign = pairs.witness[slot], 2.0 * side - 1.0
            shape = colliders.shape[collider[side]]
            if shapes.kind[shape] == HULL:
                face += shapes.face_start[shape]
                witness[0], witness[1], witness[2] = (FACE_A, face, -1) if side == 0 else (FACE_B, -1, face)
            for k in range(3):
                pairs.axis[slot, k] = sign * m[k]
            return


@inner
def come_on(
    masses, shapes, colliders, pairs, contacts, slots, first, last, h, tolerance, fall, velocity, rows
):
    """Have bodies that get to the edge of a face come on to that, if they are level with it.

    Args:
        slots: Pair of each contact.
        first, last: Contacts, whole pairs.
        tolerance: Penetration that does not count [m].
        fall: How far bodies fall freely in a step: points of pairs that meet only then are as far off [m].
        velocity: Mean velocities of the bodies in the coming step, (bodies, 6).
        rows: Brought up to date with what is written to `contacts`.
    """
    done = first
    for c in range(first, last):
        if c >= done and _closes(contacts, rows, c, h, tolerance, fall, velocity):
            begin, done = c, c + 1
            while begin > first and slots[begin - 1] == slots[c]:
                begin -= 1
            while done < last and slots[done] == slots[c]:
                done += 1
            _come_on_pair(
                masses, shapes, colliders, pairs, contacts, slots[c], begin, done, h, tolerance, fall,
                velocity, rows,
            )  # fmt: skip
