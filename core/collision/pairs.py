"""The table of pairs of colliders that may touch: fixed slots, found through a hash table.

The narrow phase keeps a pair's witness, features and impulses in its slot, so a pair keeps its slot
for as long as it lasts.
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner, kernel

STATUS_OK, STATUS_FULL = 0, 1
HIGH, FREE, COUNT = 0, 1, 2  # indices into PairTable.counter
POINT_SIZE = 18  # numbers of a contact point: separation, carrier, normal, two arms, two cores, distance
OVERLAPS_SENSOR = -1  # in place of a number of contact points: the pair overlaps, but only reports it


class PairTable(NamedTuple):
    """Overlapping pairs in slots; a < b in the order of colliders. A slot keeps its number for life."""

    hash_slot: np.ndarray  # (power of two,) slot + 1, 0 where empty
    collider: np.ndarray  # (slots, 2), first -1 where the slot is free
    free: np.ndarray  # (slots,) stack of free slots
    counter: np.ndarray  # HIGH: slots ever used, FREE: entries of `free`, COUNT: pairs
    witness: np.ndarray  # (slots, 3) kind, feature of a, feature of b: see separating_plane.py
    axis: np.ndarray  # (slots, 3) last separating direction, from b to a, world axes
    point_count: np.ndarray  # (slots,) contact points of the last step, or OVERLAPS_SENSOR
    feature: np.ndarray  # (slots, 4) their feature ids
    arm: np.ndarray  # [m] (slots, 4, 3) where they were, from b's centre of mass, world axes
    impulse: np.ndarray  # [N s] (slots, 4, 3) impulse on a at each of them, world axes
    way: np.ndarray  # [m] (slots,) sum of the ways of both bodies when the pair was last looked at
    gap: np.ndarray  # [m] (slots,) without contact points: how far apart they were at least
    margin: np.ndarray  # [m] (slots,) up to which contact points were looked for
    point: np.ndarray  # (slots, 4, POINT_SIZE) the points then: see persistence.py
    allowance: np.ndarray  # [m] (slots,) overlap still forgiven: see narrow_phase.py
    stiffening: np.ndarray  # (slots,) how much stiffer than others its contacts are: see contact_rows.py


def empty_pairs(capacity: int) -> PairTable:
    """A pair table with room for `capacity` pairs."""
    hash_size = 1 << int(np.ceil(np.log2(max(4 * capacity, 16))))
    return PairTable(
        hash_slot=np.zeros(hash_size, np.int64),
        collider=np.full((capacity, 2), -1, np.int64),
        free=np.zeros(capacity, np.int64),
        counter=np.zeros(3, np.int64),
        witness=np.zeros((capacity, 3), np.int64),
        axis=np.zeros((capacity, 3)),
        point_count=np.zeros(capacity, np.int64),
        feature=np.zeros((capacity, 4), np.int64),
        arm=np.zeros((capacity, 4, 3)),
        impulse=np.zeros((capacity, 4, 3)),
        way=np.full(capacity, -np.inf),
        gap=np.zeros(capacity),
        margin=np.zeros(capacity),
        point=np.zeros((capacity, 4, POINT_SIZE)),
        allowance=np.zeros(capacity),
        stiffening=np.ones(capacity),
    )


def grown_pairs(pairs: PairTable, capacity: int) -> PairTable:
    """The same pairs in the same slots of a larger table."""
    larger = empty_pairs(capacity)
    for name, old in pairs._asdict().items():
        if name != "hash_slot":
            getattr(larger, name)[: len(old)] = old
    _rehash(larger)
    return larger


@inlined
def _hash(a, b, size):
    """Position where the search for a pair begins."""
    x = a * 73856093 ^ b * 19349663
    x = (x ^ (x >> 15)) * 2246822519
    return (x ^ (x >> 13)) & (size - 1)


@inner
def _find(pairs, a, b):
    """Position of a pair in the hash table, or of the empty place where it belongs."""
    size = pairs.hash_slot.shape[0]
    at = _hash(a, b, size)
    while True:  # ends: at least three quarters of the places are empty
        slot = pairs.hash_slot[at] - 1
        if slot < 0 or (pairs.collider[slot, 0] == a and pairs.collider[slot, 1] == b):
            return at
        at = (at + 1) & (size - 1)


@kernel
def _rehash(pairs):
    """Enter all live slots into an empty hash table."""
    for slot in range(pairs.counter[HIGH]):
        if pairs.collider[slot, 0] >= 0:
            pairs.hash_slot[_find(pairs, pairs.collider[slot, 0], pairs.collider[slot, 1])] = slot + 1


@inner
def add_pair(pairs, a, b):
    """Give a pair a slot unless it has one; STATUS_FULL where none is left."""
    at = _find(pairs, a, b)
    if pairs.hash_slot[at] != 0:
        return STATUS_OK
    if pairs.counter[FREE] > 0:
        pairs.counter[FREE] -= 1
        slot = pairs.free[pairs.counter[FREE]]
    elif pairs.counter[HIGH] < pairs.collider.shape[0]:
        slot = pairs.counter[HIGH]
        pairs.counter[HIGH] += 1
    else:
        return STATUS_FULL
    pairs.counter[COUNT] += 1
    pairs.hash_slot[at] = slot + 1
    pairs.collider[slot, 0], pairs.collider[slot, 1] = a, b
    pairs.witness[slot, 0] = 0
    pairs.axis[slot, 0], pairs.axis[slot, 1], pairs.axis[slot, 2] = 0.0, 0.0, 0.0
    pairs.point_count[slot] = 0
    pairs.way[slot] = -np.inf
    pairs.allowance[slot], pairs.stiffening[slot] = 0.0, 1.0
    return STATUS_OK


@inner
def remove_pair(pairs, a, b):
    """Free a pair's slot, if it has one, closing the gap in the hash table (Knuth 6.4, algorithm R)."""
    size = pairs.hash_slot.shape[0]
    at = _find(pairs, a, b)
    slot = pairs.hash_slot[at] - 1
    if slot < 0:
        return
    pairs.collider[slot, 0], pairs.collider[slot, 1] = -1, -1
    pairs.free[pairs.counter[FREE]] = slot
    pairs.counter[FREE] += 1
    pairs.counter[COUNT] -= 1
    gap = at
    pairs.hash_slot[gap] = 0
    while True:  # ends at the first empty place
        at = (at + 1) & (size - 1)
        moved = pairs.hash_slot[at] - 1
        if moved < 0:
            return
        home = _hash(pairs.collider[moved, 0], pairs.collider[moved, 1], size)
        if ((at - home) & (size - 1)) >= ((at - gap) & (size - 1)):
            pairs.hash_slot[gap] = moved + 1
            pairs.hash_slot[at] = 0
            gap = at
