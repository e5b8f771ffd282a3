"""What pairs keep from step to step: contact points while nothing moves, and their impulses.

A pair whose bodies have hardly moved since it was last looked at keeps its contact points, carried on to
first order, or stays apart. Points found anew are known again by their feature id, else by their place in
the pair; on a mesh they also move from one triangle's pair to the next. So impulses stay where they act.
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner, kernel
from ..math3 import mat3, vec3
from .contact_set import cores
from .manifold import MAX_POINTS

SAME_PLACE = 0.05  # part of the size within which an old point's impulse goes to a new one
MOST_MOVERS = 1024  # more in one step start from zero, which costs iterations only


# Part of the slack (the tolerance of the solver) that bodies may move while their contact points are kept,
# and may be moved in a step after these were found: the points are carried on to first order, which is
# exact to a thousandth of the slack.
CARRIED, CARRIED_IN_STEP = 1e-3, 0.5
FRESH = 8  # added to a pair's number of contact points whose bodies moved, until they are written


class Trace(NamedTuple):
    """How far n bodies have moved, measured from call to call."""

    c: np.ndarray  # [m] (n, 3) centres of mass at the last call
    R: np.ndarray  # (n, 9) rotations then
    bound: np.ndarray  # [m] (n,) largest distance of any point from the centre of mass
    way: np.ndarray  # [m] (n,) bound on the way any point of the body has gone so far
    moves: np.ndarray  # (n,) calls between which it moved at all
    ahead: np.ndarray  # [m, rad] (n, 6) by what each is to move and turn in the step; zero where nobody says


def new_trace(bound: np.ndarray) -> Trace:
    """A trace of bodies of these sizes [m], shape (n,)."""
    n = len(bound)
    return Trace(
        np.zeros((n, 3)), np.zeros((n, 9)), bound, np.zeros(n), np.zeros(n, np.int32), np.zeros((n, 6))
    )


@inner
def follow(trace, c, R, first, last):
    """Add to the way of some bodies how far any point of them moved since the last call; count the moves."""
    for i in range(first, last):
        shift, turn, moved = 0.0, 0.0, False
        for k in range(3):
            shift += (c[i, k] - trace.c[i, k]) ** 2
            moved |= c[i, k] != trace.c[i, k]
        for k in range(9):
            turn += (R[i, k] - trace.R[i, k]) ** 2
            moved |= R[i, k] != trace.R[i, k]
        if not moved:
            continue
        trace.moves[i] += 1
        for k in range(3):
            trace.c[i, k] = c[i, k]
        for k in range(9):
            trace.R[i, k] = R[i, k]
        if shift > 0.0:
            trace.way[i] += math.sqrt(shift)
        if turn > 0.0:  # |R - R'| = 2 sqrt(2) sin(angle / 2), a point moves by 2 r sin(angle / 2)
            trace.way[i] += trace.bound[i] * math.sqrt(0.5 * turn)


@inlined
def keep_points(pairs, slot, ra, p_ba, rb, contacts, count):
    """Store a pair's contact points, the first so many, also for steps in which next to nothing moves."""
    for c in range(count):
        point = pairs.point[pairs.room[slot], c]
        n = vec3.load(contacts.normal, c)
        core_a, core_b = cores(contacts.arm, contacts.normal, contacts.rounding, c)
        local_a, local_b = mat3.transform_transposed(ra, core_a), mat3.transform_transposed(rb, core_b)
        for m in range(3):
            point[m], point[3 + m], point[6 + m] = n[m], local_a[m], local_b[m]
        point[9] = contacts.separation[c] - _distance(ra, p_ba, rb, local_a, local_b, n)[0]


@inlined
def _distance(ra, p_ba, rb, local_a, local_b, n):
    """(n . (p_a - p_b), p_a, p_b) of two points of a and b, each from its centre of mass in world axes."""
    p_a, p_b = mat3.transform(ra, local_a), mat3.transform(rb, local_b)
    return vec3.dot(n, vec3.add(vec3.subtract(p_a, p_b), p_ba)), p_a, p_b


@inlined
def stay_written(pairs, slot, moves, contacts, first):
    """Whether a pair's points are at their places, from `first` on, and neither body has moved since."""
    if pairs.point_count[slot] >= FRESH:
        return False
    for k in range(pairs.point_count[slot]):
        c = first + k
        same = contacts.slot[c] == slot and contacts.place[c] == k and contacts.look[c] == pairs.looks[slot]
        if not (same and contacts.moves[c] == moves):
            return False
        contacts.carried[c] = True
    return True


@inlined
def write_points(pairs, slot, a, b, ra, p_ba, rb, radius_a, radius_b, moves, contacts, first):
    """Write a pair's stored contact points from `first` on.

    The separation follows the motion of the two points to first order: what a turn of the normal adds is the
    square of the way over the size, 1e-14 of it. Were it left as it was, the contacts' springs would
    be jerked by each new look.
    """
    carried = pairs.point_count[slot] < FRESH
    if not carried:
        pairs.point_count[slot] -= FRESH
    for k in range(pairs.point_count[slot]):
        c = first + k
        point = pairs.point[pairs.room[slot], k]
        n = (point[0], point[1], point[2])
        local_a, local_b = (point[3], point[4], point[5]), (point[6], point[7], point[8])
        distance, core_a, core_b = _distance(ra, p_ba, rb, local_a, local_b, n)
        contacts.slot[c], contacts.place[c], contacts.carried[c] = slot, k, carried
        contacts.look[c], contacts.moves[c] = pairs.looks[slot], moves
        contacts.body[c, 0], contacts.body[c, 1] = a, b
        contacts.separation[c] = distance + point[9]
        contacts.carrier[c], contacts.meets[c] = pairs.carrier[slot], pairs.meets[slot]
        contacts.rounding[c, 0], contacts.rounding[c, 1] = radius_a, radius_b
        for m in range(3):
            contacts.normal[c, m] = n[m]
            contacts.arm[c, 0, m] = core_a[m] - radius_a * n[m]
            contacts.arm[c, 1, m] = core_b[m] + radius_b * n[m]


class Movers(NamedTuple):
    """Points that went from one triangle of a mesh to the next within this step, to keep their impulses."""

    body: np.ndarray  # (room, 2) a, b of points that left a pair
    place: np.ndarray  # [m] (room, 3) where they were, from b's centre of mass in its own axes
    impulse: np.ndarray  # [N s] (room, 3)
    index: np.ndarray  # (room, 2) pairs into which points came, and which of their points these are
    reach: np.ndarray  # [m] (room,) how far one of these may have moved
    count: np.ndarray  # (2,) left, came


def empty_movers(any_meshes: bool) -> Movers:
    """Room for MOST_MOVERS points, or for none where there is no mesh."""
    room = MOST_MOVERS if any_meshes else 0
    return Movers(
        body=np.zeros((room, 2), np.int64),
        place=np.zeros((room, 3)),
        impulse=np.zeros((room, 3)),
        index=np.zeros((room, 2), np.int64),
        reach=np.zeros(room),
        count=np.zeros(2, np.int64),
    )


@inlined
def _place_on_b(point):
    """Where a pair's point was when last looked at, without rounding, from b's centre of mass in its axes."""
    return point[6], point[7], point[8]


@inlined
def inherit_impulses(pairs, slot, rb, radius_b, contacts, kept, manifold, reach, impulse_out):
    """Give the pair's new points the impulses of its old ones: same feature first, then same place.

    A feature id changes where a corner slides over an edge; the load must not vanish with it.

    Returns:
        Bits of the old points that found no new one, and of the new ones that found no old one.
    """
    free_old, free_new, room = 0, 0, pairs.room[slot]  # bits
    for j in range(pairs.point_count[slot]):
        free_old |= 1 << j
    for k in range(kept):
        free_new |= 1 << k
        for j in range(pairs.point_count[slot]):
            if free_old >> j & 1 and pairs.feature[room, j] == manifold.feature[manifold.chosen[k]]:
                for m in range(3):
                    impulse_out[k, m] = pairs.impulse[room, j, m]
                free_old &= ~(1 << j)
                free_new &= ~(1 << k)
                break
    for j in range(pairs.point_count[slot]):
        if not free_old >> j & 1:
            continue
        nearest, best, point = -1, reach, pairs.point[room, j]
        rounding = vec3.scale((point[0], point[1], point[2]), radius_b)
        arm = vec3.add(mat3.transform(rb, _place_on_b(point)), rounding)
        for k in range(kept):
            if free_new >> k & 1:
                d = vec3.norm(vec3.subtract(vec3.load(contacts.arm[k], 1), arm))
                if d < best:
                    nearest, best = k, d
        if nearest >= 0:
            for m in range(3):
                impulse_out[nearest, m] = pairs.impulse[room, j, m]
            free_old &= ~(1 << j)
            free_new &= ~(1 << nearest)
    return free_old, free_new


@inner
def note_left(pairs, slot, points, a, b, movers):
    """Note the points (bits) that left a pair of the mesh b."""
    room = pairs.room[slot]
    for j in range(pairs.point_count[slot]):
        i = movers.count[0]
        if points >> j & 1 and i < MOST_MOVERS:
            movers.body[i, 0], movers.body[i, 1] = a, b
            place = _place_on_b(pairs.point[room, j])
            for k in range(3):
                movers.place[i, k], movers.impulse[i, k] = place[k], pairs.impulse[room, j, k]
            movers.count[0] = i + 1


@inner
def note_came(slot, points, reach, movers):
    """Note the points (bits) that came into a pair of a mesh."""
    for k in range(MAX_POINTS):
        i = movers.count[1]
        if points >> k & 1 and i < MOST_MOVERS:
            movers.index[i, 0], movers.index[i, 1], movers.reach[i] = slot, k, reach
            movers.count[1] = i + 1


@inner
def settle_movers(pairs, owner, movers):
    """Give each point that came the impulse of the nearest one of the same bodies that left.

    Args:
        owner: Body of each collider.
    """
    for i in range(movers.count[1]):
        slot, k = movers.index[i, 0], movers.index[i, 1]
        a, b = owner[pairs.collider[slot, 0]], owner[pairs.collider[slot, 1]]
        nearest, best = -1, movers.reach[i]
        for j in range(movers.count[0]):
            if movers.body[j, 0] == a and movers.body[j, 1] == b:
                place = _place_on_b(pairs.point[pairs.room[slot], k])
                d = vec3.norm(vec3.subtract(place, vec3.load(movers.place, j)))
                if d < best:
                    nearest, best = j, d
        if nearest >= 0:
            movers.body[nearest, 0] = -1
            for m in range(3):
                pairs.impulse[pairs.room[slot], k, m] = movers.impulse[nearest, m]


@kernel
def store_impulses(contacts, impulse, slips, count, unchanged, jammed, pairs):
    """Keep the impulse (c, 3) of each contact that has changed for the next step, and whether it slips (c,).

    Of a jammed body no impulse is kept.
    """
    for c in range(count):
        if unchanged[c]:
            continue
        kept = pairs.impulse[pairs.room[contacts.slot[c]], contacts.place[c]]
        pairs.slips[contacts.slot[c]] = slips[c]
        forget = jammed[contacts.body[c, 0]] or jammed[contacts.body[c, 1]]
        for m in range(3):
            kept[m] = 0.0 if forget else impulse[c, m]
