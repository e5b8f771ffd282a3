"""The table of pairs of colliders that may touch: fixed slots, found through a hash table.

The narrow phase keeps a pair's witness in its slot, so a pair keeps its slot for as long as it lasts, or
until many have come and gone: then all pairs are put in the order of their bodies, so that what is read
together lies together. Most pairs only come near each other: the few that have contact points keep these in
a room of their own.
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner, kernel
from ..tables import table, table_of

STATUS_OK, STATUS_FULL = 0, 1
HIGH, FREE, COUNT, ROOMS, FREE_ROOMS, ADDED = range(6)  # indices into PairTable.counter
POINT_SIZE = 10  # numbers of a contact point: normal, two cores, what the separation is beyond theirs
# In place of a number of contact points: the pair overlaps, but only reports it; it has some and no room.
OVERLAPS_SENSOR, NEEDS_ROOM = -1, -2


class PairTable(NamedTuple):
    """Overlapping pairs in slots; a < b in the order of colliders. A pair keeps its slot through a step."""

    hash_slot: np.ndarray  # (power of two,) slot + 1, 0 where empty
    collider: np.ndarray  # (slots, 2), first -1 where the slot is free
    free: np.ndarray  # (slots,) stack of free slots
    counter: np.ndarray  # HIGH: slots ever used, FREE: entries of `free`, COUNT: pairs; of rooms alike;
    # ADDED: pairs that came since all were put in order
    witness: np.ndarray  # (slots, 3) kind, feature of a, feature of b: see separating_plane.py; where the
    # search was for vertices and rims the pairs of these that decide, below 0: see refinement.py
    axis: np.ndarray  # (slots, 3) last separating direction, from b to a, world axes
    point_count: np.ndarray  # (slots,) contact points of the last step, or OVERLAPS_SENSOR
    looks: np.ndarray  # (slots,) how often the pairs in this slot were looked at so far
    way: np.ndarray  # [m] (slots,) sum of the ways of both bodies when the pair was last looked at
    margin: np.ndarray  # [m] (slots,) up to which points were looked for then
    gap: np.ndarray  # [m] (slots,) of pairs without points: least distance of the two then
    allowance: np.ndarray  # [m] (slots,) overlap still forgiven: see narrow_phase.py
    carrier: np.ndarray  # (slots,) whose rotation turns the normals of its points: CARRIED_BY_...
    meets: np.ndarray  # (slots,) after which part of a step the two are as its points have them
    stiffening: np.ndarray  # (slots,) how much stiffer than others its contacts are: see contact_rows.py
    slips: np.ndarray  # (slots,) whether its bodies slipped on each other in the last step
    room: np.ndarray  # (slots,) where the contact points are, -1 where there are none
    free_room: np.ndarray  # (rooms,) stack of free rooms
    feature: np.ndarray  # (rooms, 4) feature ids of the contact points
    point: np.ndarray  # (rooms, 4, POINT_SIZE) the points when last looked at: see persistence.py
    impulse: np.ndarray  # [N s] (rooms, 4, 3) impulse on a at each of them, world axes


def _empty_hash(capacity: int) -> np.ndarray:
    """The table through which so many pairs are found."""
    return table(1 << int(np.ceil(np.log2(max(2 * capacity, 16)))), np.int32)


def _slot_columns(capacity: int) -> dict[str, np.ndarray]:
    """What there is of each pair."""
    return {
        "collider": table_of(-1, (capacity, 2), np.int32),
        "free": table(capacity, np.int32),
        "witness": table((capacity, 3), np.int32),
        "axis": table((capacity, 3)),
        "point_count": table(capacity, np.int8),
        "looks": table(capacity, np.int32),
        "way": table_of(-np.inf, capacity),
        "margin": table(capacity),
        "gap": table(capacity),
        "allowance": table(capacity),
        "carrier": table(capacity, np.int8),
        "meets": table(capacity, np.float32),
        "stiffening": table_of(1.0, capacity),
        "slips": table(capacity, np.bool_),
        "room": table_of(-1, capacity, np.int32),
    }


def _room_columns(rooms: int) -> dict[str, np.ndarray]:
    """What there is of each pair with contact points, beyond that."""
    return {
        "free_room": table(rooms, np.int32),
        "feature": table((rooms, 4), np.int64),
        "point": table((rooms, 4, POINT_SIZE)),
        "impulse": table((rooms, 4, 3)),
    }


def empty_pairs(capacity: int, rooms: int) -> PairTable:
    """A pair table for `capacity` pairs, so many of which may have contact points."""
    return PairTable(
        hash_slot=_empty_hash(capacity),
        counter=np.zeros(6, np.int64),
        **_slot_columns(capacity),
        **_room_columns(rooms),
    )


def resized_pairs(pairs: PairTable, capacity: int) -> PairTable:
    """The same pairs in the same slots of a larger or smaller table."""
    resized = _with_columns(pairs, _slot_columns(capacity))._replace(hash_slot=_empty_hash(capacity))
    _rehash(resized)
    return resized


def with_more_rooms(pairs: PairTable, rooms: int) -> PairTable:
    """The same pairs with room for the contact points of more of them."""
    return _with_columns(pairs, _room_columns(rooms))


def _with_columns(pairs: PairTable, columns: dict[str, np.ndarray]) -> PairTable:
    """The same pairs with some columns made longer or shorter."""
    for name, column in columns.items():
        kept = min(len(column), len(getattr(pairs, name)))
        column[:kept] = getattr(pairs, name)[:kept]
    return pairs._replace(**columns)


def renumber_pairs(pairs: PairTable, slots: np.ndarray) -> None:
    """Move the pairs of these slots, which are all there are, to the first, in this order; rooms alike."""
    high, count = int(pairs.counter[HIGH]), len(slots)
    rooms = pairs.room[slots]
    rooms = rooms[rooms >= 0]
    for name, column in pairs._asdict().items():
        if name in ("feature", "point", "impulse"):
            column[: len(rooms)] = column[rooms]
        elif name not in ("hash_slot", "free", "free_room", "counter"):
            column[:count] = column[slots]
    pairs.collider[count:high], pairs.room[count:high] = -1, -1
    pairs.room[:count][pairs.room[:count] >= 0] = np.arange(len(rooms))
    pairs.counter[[HIGH, FREE, ROOMS, FREE_ROOMS, ADDED]] = count, 0, len(rooms), 0, 0
    pairs.hash_slot[:] = 0
    _rehash(pairs)


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
    while True:  # ends: at least half of the places are empty
        slot = pairs.hash_slot[at] - 1
        if slot < 0 or (pairs.collider[slot, 0] == a and pairs.collider[slot, 1] == b):
            return at
        at = (at + 1) & (size - 1)


@kernel
def _rehash(pairs):
    """Enter all live slots into an empty hash table."""
    for slot in range(pairs.counter[HIGH]):
        if pairs.collider[slot, 0] >= 0:
            a, b = np.int64(pairs.collider[slot, 0]), np.int64(pairs.collider[slot, 1])
            pairs.hash_slot[_find(pairs, a, b)] = slot + 1


@inlined
def lacks_room(pairs, slot):
    """Whether a pair would find no room for contact points."""
    full = pairs.counter[FREE_ROOMS] == 0 and pairs.counter[ROOMS] == pairs.free_room.shape[0]
    return full and pairs.room[slot] < 0


@inlined
def take_room(pairs, slot):
    """Give a pair a room for its contact points unless it has one; there must be one left."""
    if pairs.room[slot] >= 0:
        return
    if pairs.counter[FREE_ROOMS] > 0:
        pairs.counter[FREE_ROOMS] -= 1
        pairs.room[slot] = pairs.free_room[pairs.counter[FREE_ROOMS]]
    else:
        pairs.room[slot] = pairs.counter[ROOMS]
        pairs.counter[ROOMS] += 1


@inlined
def leave_room(pairs, slot):
    """Free a pair's room, if it has one."""
    if pairs.room[slot] >= 0:
        pairs.free_room[pairs.counter[FREE_ROOMS]] = pairs.room[slot]
        pairs.counter[FREE_ROOMS] += 1
        pairs.room[slot] = -1


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
    pairs.counter[ADDED] += 1
    pairs.hash_slot[at] = slot + 1
    pairs.collider[slot, 0], pairs.collider[slot, 1] = a, b
    pairs.witness[slot, 0] = 0
    pairs.axis[slot, 0], pairs.axis[slot, 1], pairs.axis[slot, 2] = 0.0, 0.0, 0.0
    pairs.point_count[slot] = 0
    pairs.way[slot] = -np.inf
    pairs.allowance[slot], pairs.stiffening[slot], pairs.slips[slot] = 0.0, 1.0, False
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
    leave_room(pairs, slot)
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
        home = _hash(np.int64(pairs.collider[moved, 0]), np.int64(pairs.collider[moved, 1]), size)
        if ((at - home) & (size - 1)) >= ((at - gap) & (size - 1)):
            pairs.hash_slot[gap] = moved + 1
            pairs.hash_slot[at] = 0
            gap = at
