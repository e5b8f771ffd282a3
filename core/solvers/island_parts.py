"""Large islands divided in space, so that several threads sweep them.

An island is halved across its longest side, so that both halves have as many contacts, and the halves
again, down to parts of some size. Contacts between two bodies of a part are a set, and those between bodies
of two parts, for each two. A sweep goes over the sets in rounds: in the first over the parts, in round r over
parts i and i xor r, for all i. What is swept in one round touches no common body, so it can be swept at once.
Neighbours come first: they are each other's i xor 1. In a heap of 2000 cubes 9 % of the contacts lie between
parts.

The parts follow from the number of contacts and from where bodies are, so sweeps go the same way with any
number of threads.

Source: George & Liu 1981, chapter 8 (nested dissection), of which this is the order of the parts only.
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner
from ..tables import scratch_tables

SMALLEST = 2048  # contacts of a part: fewer are swept before another thread has heard of them
DEEPEST = 3  # how often an island is halved
PARTS = 1 << DEEPEST
SETS = PARTS + (PARTS - 1) * PARTS // 2
SLICES = 256  # of a side, between two of which it is cut


class IslandParts(NamedTuple):
    """One island divided. Members are its bodies, part by part, then others that its contacts touch."""

    island: np.ndarray  # (1,) which island that is; -1 where none of this step
    depth: np.ndarray  # (1,) how often it was halved
    contact: np.ndarray  # (c,) contact indices, set by set in the order of the rounds
    contact_start: np.ndarray  # (SETS,) where each set begins there
    contact_end: np.ndarray  # (SETS,)
    member: np.ndarray  # (bodies,) body indices
    member_start: np.ndarray  # (PARTS + 2,) where each part begins there, then the others, then none
    place: np.ndarray  # (bodies,) where each body is among the members
    part: np.ndarray  # (bodies,) of each body
    weight: np.ndarray  # (bodies,) contacts of each body
    set_of: np.ndarray  # (c,) the set of each contact, in the order of the island
    side: np.ndarray  # [m] (PARTS, 6) lowest and highest coordinates of a part
    weight_of: np.ndarray  # (PARTS,) contacts of a part's bodies
    slice: np.ndarray  # (PARTS, SLICES) and of those in each slice of its longest side
    cut: np.ndarray  # (PARTS,) the first slice beyond the cut


def empty_parts(body_count: int, contact_capacity: int) -> IslandParts:
    """Room for so many bodies and contacts."""
    by_body = ((body_count,), np.int64)
    contact, member, place, part, weight, set_of = scratch_tables(
        ((contact_capacity,), np.int64), by_body, by_body, by_body, by_body, ((contact_capacity,), np.int8)
    )
    return IslandParts(
        island=np.full(1, -1),
        depth=np.zeros(1, np.int64),
        contact=contact,
        contact_start=np.empty(SETS, np.int64),
        contact_end=np.empty(SETS, np.int64),
        member=member,
        member_start=np.empty(PARTS + 2, np.int64),
        place=place,
        part=part,
        weight=weight,
        set_of=set_of,
        side=np.empty((PARTS, 6)),
        weight_of=np.empty(PARTS, np.int64),
        slice=np.empty((PARTS, SLICES), np.int64),
        cut=np.empty(PARTS, np.int64),
    )


@inlined
def sets_before(depth, number):
    """How many sets the rounds before round `number` have, of an island halved `depth` times."""
    return 0 if number == 0 else (1 << depth) + (number - 1) * (1 << depth >> 1)


@inner
def _weigh(body_of, islands, island, parts):
    """Count the contacts of each body of an island, all in one part."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        parts.weight[islands.body[k]], parts.part[islands.body[k]] = 0, 0
    for i in range(islands.start[island], islands.start[island + 1]):
        for side in range(2):
            body = body_of[islands.order[i], side]
            if islands.number[body] >= 0:
                parts.weight[body] += 1


@inner
def _measure_sides(c, islands, island, count, parts):
    """How far each of so many parts reaches, and how many contacts it has."""
    for part in range(count):
        parts.weight_of[part] = 0
        for k in range(3):
            parts.side[part, k], parts.side[part, 3 + k] = np.inf, -np.inf
    for i in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[i]
        part = parts.part[body]
        parts.weight_of[part] += parts.weight[body]
        for k in range(3):
            parts.side[part, k] = min(parts.side[part, k], c[body, k])
            parts.side[part, 3 + k] = max(parts.side[part, 3 + k], c[body, k])


@inner
def _longest(side):
    """The axis along which a part is longest."""
    axis = 0
    for k in range(1, 3):
        if side[3 + k] - side[k] > side[3 + axis] - side[axis]:
            axis = k
    return axis


@inner
def _halve(c, islands, island, count, parts):
    """Cut each of so many parts of an island across its longest side."""
    first, last = islands.body_start[island], islands.body_start[island + 1]
    _measure_sides(c, islands, island, count, parts)
    for part in range(count):  # from here on where it begins, slices per length, and the axis stand first
        axis = _longest(parts.side[part])
        low, length = parts.side[part, axis], parts.side[part, 3 + axis] - parts.side[part, axis]
        parts.side[part, 0], parts.side[part, 1] = low, SLICES / length if length > 0.0 else 0.0
        parts.side[part, 2] = axis
        for k in range(SLICES):
            parts.slice[part, k] = 0
    for i in range(first, last):
        body = islands.body[i]
        part = parts.part[body]
        parts.slice[part, _slice_of(c, body, parts.side[part])] += parts.weight[body]
    for part in range(count):
        below, cut = 0, 0
        while cut < SLICES and 2 * below + parts.slice[part, cut] < parts.weight_of[part]:
            below += parts.slice[part, cut]
            cut += 1
        parts.cut[part] = cut
    for i in range(first, last):
        body = islands.body[i]
        part = parts.part[body]
        beyond = _slice_of(c, body, parts.side[part]) >= parts.cut[part]
        parts.part[body] = 2 * part + (1 if beyond else 0)


@inlined
def _slice_of(c, body, side):
    """The slice of its part that a body is in; the first of a part too short, or too long, to be cut."""
    return max(min(int((c[body, int(side[2])] - side[0]) * side[1]), SLICES - 1), 0)


@inner
def _set_of(body_of, islands, c, parts):
    """The set that a contact belongs to."""
    a, b = body_of[c, 0], body_of[c, 1]
    x = parts.part[a if islands.number[a] >= 0 else b]
    y = parts.part[b if islands.number[b] >= 0 else a]
    if x == y:
        return x
    number, bit = x ^ y, 1
    while 2 * bit <= number:
        bit *= 2
    first = y if x & bit else x  # two parts are counted by that of them without the round's highest bit,
    place = (first & (bit - 1)) | ((first >> 1) & -bit)  # which is left out
    return sets_before(parts.depth[0], number) + place


@inner
def _list_contacts(body_of, islands, island, parts):
    """Fill `contact`, `contact_start` and `contact_end`; within a set contacts keep their order."""
    first, last, depth = islands.start[island], islands.start[island + 1], parts.depth[0]
    if depth == 0:
        parts.contact_start[0], parts.contact_end[0] = 0, last - first
        for i in range(last - first):
            parts.contact[i] = islands.order[first + i]
        return
    sets = sets_before(depth, 1 << depth)
    for k in range(sets):
        parts.contact_end[k] = 0
    number, last_a, last_b = np.int64(0), np.int64(-1), np.int64(-1)
    for i in range(first, last):
        c = islands.order[i]
        if body_of[c, 0] != last_a or body_of[c, 1] != last_b:
            number, last_a, last_b = _set_of(body_of, islands, c, parts), body_of[c, 0], body_of[c, 1]
        parts.set_of[i - first] = number
        parts.contact_end[number] += 1
    total = 0
    for k in range(sets):
        size = parts.contact_end[k]
        parts.contact_start[k] = parts.contact_end[k] = total
        total += size
    for i in range(first, last):
        k = parts.set_of[i - first]
        parts.contact[parts.contact_end[k]] = islands.order[i]
        parts.contact_end[k] += 1


@inner
def _list_members(body_of, islands, island, parts):
    """Fill `member`, `member_start` and `place`."""
    first, last = islands.body_start[island], islands.body_start[island + 1]
    start, count = parts.member_start, 1 << parts.depth[0]
    for k in range(count + 2):
        start[k] = 0
    for i in range(first, last):
        start[parts.part[islands.body[i]] + 2] += 1
    for k in range(count):
        start[k + 2] += start[k + 1]
    for i in range(first, last):
        body = islands.body[i]
        place = start[parts.part[body] + 1]
        parts.member[place], parts.place[body] = body, place
        start[parts.part[body] + 1] += 1
    total, last_a, last_b = last - first, np.int64(-1), np.int64(-1)
    for i in range(islands.start[island], islands.start[island + 1]):
        a, b = body_of[islands.order[i], 0], body_of[islands.order[i], 1]
        if a == last_a and b == last_b:
            continue
        last_a, last_b = a, b
        for body in (a, b):
            place = parts.place[body]
            if islands.number[body] < 0 and not (
                last - first <= place < total and parts.member[place] == body
            ):
                parts.member[total], parts.place[body] = body, total
                total += 1
    start[count], start[count + 1] = last - first, total


@inner
def divide_island(c, body_of, islands, island, parts):
    """Divide an island into as many parts as it is large enough for, if that has not been done.

    Args:
        c: Centres of mass [m], shape (bodies, 3).
        body_of: Bodies of each contact, shape (c, 2).
    """
    if parts.island[0] == island:
        return
    parts.island[0] = island
    _weigh(body_of, islands, island, parts)
    parts.depth[0] = 0
    size = (islands.start[island + 1] - islands.start[island]) // 2
    while size >= SMALLEST and parts.depth[0] < DEEPEST:
        _halve(c, islands, island, 1 << parts.depth[0], parts)
        parts.depth[0] += 1
        size //= 2
    _list_contacts(body_of, islands, island, parts)
    _list_members(body_of, islands, island, parts)
