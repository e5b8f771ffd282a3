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


def new_trace(bound: np.ndarray) -> Trace:
    """A trace of bodies of these sizes [m], shape (n,)."""
    n = len(bound)
    return Trace(np.zeros((n, 3)), np.zeros((n, 9)), bound, np.zeros(n), np.zeros(n, np.int32))


@inner
def follow(trace, c, R):
    """Add to each body's way how far any of its points moved since the last call, and count its moves."""
    for i in range(c.shape[0]):
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


@inner
def keep_points(pairs, slot, ra, p_ba, rb, contacts, count):
    """Store a pair's contact points, the first so many, also for steps in which next to nothing moves."""
    for c in range(count):
        point = pairs.point[pairs.room[slot], c]
        core_a, core_b = vec3.load(contacts.core[c], 0), vec3.load(contacts.core[c], 1)
        local_a, local_b = mat3.transform_transposed(ra, core_a), mat3.transform_transposed(rb, core_b)
        n = vec3.load(contacts.normal, c)
        point[0], point[1] = contacts.separation[c], contacts.carrier[c]
        for m in range(3):
            point[2 + m] = n[m]
            point[5 + m], point[8 + m] = contacts.arm[c, 0, m], contacts.arm[c, 1, m]
            point[11 + m], point[14 + m] = local_a[m], local_b[m]
        point[17] = _distance(ra, p_ba, rb, local_a, local_b, n)[0]


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
def take_impulses(pairs, slot, contacts, first):
    """Give a pair's contact points their last impulses; returns the place after them."""
    room, count = pairs.room[slot], pairs.point_count[slot]
    for k in range(count):
        for m in range(3):
            contacts.impulse[first + k, m] = pairs.impulse[room, k, m]
    return first + count


@inner
def write_points(pairs, slot, a, b, ra, p_ba, rb, moves, contacts, first):
    """Write a pair's stored contact points, without impulses, from `first` on.

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
        n = (point[2], point[3], point[4])
        local_a, local_b = (point[11], point[12], point[13]), (point[14], point[15], point[16])
        distance, core_a, core_b = _distance(ra, p_ba, rb, local_a, local_b, n)
        contacts.slot[c], contacts.place[c], contacts.carried[c] = slot, k, carried
        contacts.look[c], contacts.moves[c] = pairs.looks[slot], moves
        contacts.body[c, 0], contacts.body[c, 1] = a, b
        contacts.separation[c], contacts.carrier[c] = point[0] + (distance - point[17]), int(point[1])
        for m in range(3):
            contacts.normal[c, m] = n[m]
            contacts.arm[c, 0, m], contacts.arm[c, 1, m] = point[5 + m], point[8 + m]
            contacts.core[c, 0, m], contacts.core[c, 1, m] = core_a[m], core_b[m]


class Movers(NamedTuple):
    """Points that went from one triangle of a mesh to the next within this step, to keep their impulses."""

    body: np.ndarray  # (room, 2) a, b of points that left a pair
    arm: np.ndarray  # [m] (room, 3) where they were, from b's centre of mass
    impulse: np.ndarray  # [N s] (room, 3)
    place: np.ndarray  # (room, 2) pairs into which points came, and which of their points these are
    reach: np.ndarray  # [m] (room,) how far one of these may have moved
    count: np.ndarray  # (2,) left, came


def empty_movers(any_meshes: bool) -> Movers:
    """Room for MOST_MOVERS points, or for none where there is no mesh."""
    room = MOST_MOVERS if any_meshes else 0
    return Movers(
        body=np.zeros((room, 2), np.int64),
        arm=np.zeros((room, 3)),
        impulse=np.zeros((room, 3)),
        place=np.zeros((room, 2), np.int64),
        reach=np.zeros(room),
        count=np.zeros(2, np.int64),
    )


@inlined
def _arm_then(point):
    """Where a pair's point was when last looked at, from b's centre of mass, world axes."""
    return point[8], point[9], point[10]


@inlined
def inherit_impulses(pairs, slot, contacts, kept, manifold, reach):
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
                    contacts.impulse[k, m] = pairs.impulse[room, j, m]
                free_old &= ~(1 << j)
                free_new &= ~(1 << k)
                break
    for j in range(pairs.point_count[slot]):
        if not free_old >> j & 1:
            continue
        nearest, best = -1, reach
        for k in range(kept):
            if free_new >> k & 1:
                d = vec3.norm(vec3.subtract(vec3.load(contacts.arm[k], 1), _arm_then(pairs.point[room, j])))
                if d < best:
                    nearest, best = k, d
        if nearest >= 0:
            for m in range(3):
                contacts.impulse[nearest, m] = pairs.impulse[room, j, m]
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
            arm = _arm_then(pairs.point[room, j])
            for k in range(3):
                movers.arm[i, k], movers.impulse[i, k] = arm[k], pairs.impulse[room, j, k]
            movers.count[0] = i + 1


@inner
def note_came(slot, points, reach, movers):
    """Note the points (bits) that came into a pair of a mesh."""
    for k in range(MAX_POINTS):
        i = movers.count[1]
        if points >> k & 1 and i < MOST_MOVERS:
            movers.place[i, 0], movers.place[i, 1], movers.reach[i] = slot, k, reach
            movers.count[1] = i + 1


@inner
def settle_movers(pairs, owner, movers):
    """Give each point that came the impulse of the nearest one of the same bodies that left.

    Args:
        owner: Body of each collider.
    """
    for i in range(movers.count[1]):
        slot, k = movers.place[i, 0], movers.place[i, 1]
        a, b = owner[pairs.collider[slot, 0]], owner[pairs.collider[slot, 1]]
        nearest, best = -1, movers.reach[i]
        for j in range(movers.count[0]):
            if movers.body[j, 0] == a and movers.body[j, 1] == b:
                arm = _arm_then(pairs.point[pairs.room[slot], k])
                d = vec3.norm(vec3.subtract(arm, vec3.load(movers.arm, j)))
                if d < best:
                    nearest, best = j, d
        if nearest >= 0:
            movers.body[nearest, 0] = -1
            for m in range(3):
                pairs.impulse[pairs.room[slot], k, m] = movers.impulse[nearest, m]


@kernel
def store_impulses(slot, place, body, impulse, count, jammed, room, pair_impulse):
    """Keep each point's impulse in its pair's room for the next step; of a jammed body, none."""
    for c in range(count):
        forget = jammed[body[c, 0]] or jammed[body[c, 1]]
        for m in range(3):
            pair_impulse[room[slot[c]], place[c], m] = 0.0 if forget else impulse[c, m]
