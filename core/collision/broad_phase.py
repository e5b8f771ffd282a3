"""Broad phase: coherent sweep and prune on three axes, and the table of overlapping pairs.

Boxes are fattened so that a body at rest or in slow motion keeps its box for many steps. The
endpoints of all boxes stay sorted along each axis; when boxes change, insertion sort repairs the
order and the overlap table changes only where endpoints are exchanged: O(n + exchanges) per step.

Source: Baraff 1997, section 7.2 (bounding boxes, sort and sweep, insertion sort).
Departs from it: pairs live in fixed slots of a hash table, because the narrow phase keeps its
witness and impulses per pair; the full sweep runs once, and again only when the table has to grow.
"""

from typing import NamedTuple

import numpy as np

from ..geometry.shape_table import PLANE, Colliders, ShapeTable
from ..jit import allocating_kernel, inlined, inner, kernel

STATUS_OK, STATUS_FULL = 0, 1
HIGH, FREE, COUNT = 0, 1, 2  # indices into PairTable.counter

# Fattening, relative to the body's size: less costs sorting, more costs pairs that do not touch.
FAT_RELATIVE = 0.02
FAT_STEPS = 4.0  # and by the motion of so many steps, so that a flying body is not refitted each step


class PairTable(NamedTuple):
    """Overlapping pairs in slots; a < b in the order of colliders. A slot keeps its number for life."""

    hash_slot: np.ndarray  # (power of two,) slot + 1, 0 where empty
    collider: np.ndarray  # (slots, 2), first -1 where the slot is free
    free: np.ndarray  # (slots,) stack of free slots
    counter: np.ndarray  # HIGH: slots ever used, FREE: entries of `free`, COUNT: pairs
    witness: np.ndarray  # (slots, 3) kind, feature of a, feature of b: see separating_plane.py
    axis: np.ndarray  # (slots, 3) last separating direction, from b to a, world axes
    point_count: np.ndarray  # (slots,) contact points of the last step
    feature: np.ndarray  # (slots, 4) their feature ids
    arm: np.ndarray  # [m] (slots, 4, 3) where they were, from b's centre of mass, world axes
    impulse: np.ndarray  # [N s] (slots, 4, 3) impulse on a at each of them, world axes
    allowance: np.ndarray  # [m] (slots,) overlap still forgiven: see narrow_phase.py


class SortedBoxes(NamedTuple):
    """Fat boxes and their endpoints in order along each axis; an endpoint is 2 collider + (0 min, 1 max)."""

    low: np.ndarray  # [m] (n, 3)
    high: np.ndarray  # [m] (n, 3)
    endpoint: np.ndarray  # (3, 2 n)


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
        allowance=np.zeros(capacity),
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
def _add_pair(pairs, a, b):
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
    pairs.allowance[slot] = 0.0
    return STATUS_OK


@inner
def _remove_pair(pairs, a, b):
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


@inlined
def _may_collide(layers, mask, owner, mobile, collider_a, collider_b):
    """Whether a pair can ever exchange an impulse: two bodies, one that moves, and the layers agree."""
    a, b = owner[collider_a], owner[collider_b]
    if a == b or not (mobile[a] or mobile[b]):
        return False
    return (layers[a] & mask[b]) != 0 and (layers[b] & mask[a]) != 0


@inlined
def _overlap(boxes, a, b):
    for axis in range(3):
        if boxes.low[a, axis] > boxes.high[b, axis] or boxes.low[b, axis] > boxes.high[a, axis]:
            return False
    return True


@kernel
def fit_boxes(colliders, shapes, c, R, reach, boxes):
    """Refit the fat boxes that their body may leave within the step; returns how many changed.

    Args:
        reach: How far any point of each body may move in this step [m], shape (n,).
        boxes: Fat boxes; `low` and `high` are written where refitted.
    """
    changed = 0
    for collider in range(colliders.body.shape[0]):
        i, s = colliders.body[collider], colliders.shape[collider]
        if shapes.kind[s] == PLANE:
            continue
        fits = True
        slack = FAT_RELATIVE * shapes.bound[s] + FAT_STEPS * reach[i]
        for row in range(3):
            middle, half = c[i, row], reach[i]
            for k in range(3):
                middle += R[i, 3 * row + k] * shapes.box_center[s, k]
                half += abs(R[i, 3 * row + k]) * shapes.box_half[s, k]
            if middle - half < boxes.low[collider, row] or middle + half > boxes.high[collider, row]:
                fits = False
            elif boxes.high[collider, row] - boxes.low[collider, row] > 2.0 * half + 4.0 * slack:
                fits = False  # left over from faster motion: shrink, or it gathers idle pairs
        if fits:
            continue
        changed += 1
        for row in range(3):
            middle, half = c[i, row], reach[i] + slack
            for k in range(3):
                middle += R[i, 3 * row + k] * shapes.box_center[s, k]
                half += abs(R[i, 3 * row + k]) * shapes.box_half[s, k]
            boxes.low[collider, row] = middle - half
            boxes.high[collider, row] = middle + half
    return changed


@inlined
def _value(boxes, axis, endpoint):
    body = endpoint >> 1
    return boxes.high[body, axis] if endpoint & 1 else boxes.low[body, axis]


@kernel
def update_pairs(layers, mask, owner, mobile, boxes, pairs):
    """Sort the endpoints by insertion and change the overlap table at each exchange.

    Returns:
        STATUS_OK, or STATUS_FULL where the table must grow and `find_all_pairs` must run.
    """
    status = STATUS_OK
    for axis in range(3):
        order = boxes.endpoint[axis]
        for i in range(1, order.shape[0]):
            moving = order[i]
            value = _value(boxes, axis, moving)
            k = i - 1
            while k >= 0 and _value(boxes, axis, order[k]) > value:
                passed = order[k]
                order[k + 1] = passed
                k -= 1
                if (moving & 1) == (passed & 1):
                    continue
                a, b = min(moving >> 1, passed >> 1), max(moving >> 1, passed >> 1)
                if moving & 1:  # a maximum moved below a minimum: apart on this axis
                    _remove_pair(pairs, a, b)
                elif _overlap(boxes, a, b) and _may_collide(layers, mask, owner, mobile, a, b):
                    status = max(status, _add_pair(pairs, a, b))
            order[k + 1] = moving
    return status


@allocating_kernel
def find_all_pairs(layers, mask, owner, mobile, boxes, pairs):
    """Add every overlapping pair by one sweep along the sorted first axis."""
    n = boxes.low.shape[0]
    active = np.empty(n, np.int64)
    active_count = 0
    for endpoint in boxes.endpoint[0]:
        body = endpoint >> 1
        if endpoint & 1:
            for k in range(active_count):
                if active[k] == body:
                    active_count -= 1
                    active[k] = active[active_count]
                    break
            continue
        for k in range(active_count):
            a, b = min(body, active[k]), max(body, active[k])
            if _overlap(boxes, a, b) and _may_collide(layers, mask, owner, mobile, a, b):
                if _add_pair(pairs, a, b) == STATUS_FULL:
                    return STATUS_FULL
        active[active_count] = body
        active_count += 1
    return STATUS_OK


class BroadPhase:
    """Pairs of colliders whose boxes overlap, kept up to date from step to step."""

    def __init__(self, model, shapes: ShapeTable, colliders: Colliders, state, mobile: np.ndarray) -> None:
        """`mobile` (bodies,) bool: those that move by forces now or later in the run."""
        n = len(colliders.body)
        self.shapes, self.colliders = shapes, colliders
        self.who = (model.layers, model.collides_with, colliders.body, mobile)  # may collide with whom
        self.boxes = SortedBoxes(
            np.full((n, 3), np.inf), np.full((n, 3), -np.inf), np.zeros((3, 2 * n), np.int64)
        )
        self._bound_planes(state)
        self.pairs = empty_pairs(max(64, 8 * n))
        self._sorted = False

    def _bound_planes(self, state) -> None:
        """Planes fill space; where one is level with an axis, its box ends at its surface."""
        for i in np.flatnonzero(self.shapes.kind[self.colliders.shape] == PLANE):
            face = self.shapes.face_start[self.colliders.shape[i]]
            body = self.colliders.body[i]
            normal = state.R[body].reshape(3, 3) @ self.shapes.face_normal[face]
            self.boxes.low[i], self.boxes.high[i] = -np.inf, np.inf
            for axis in range(3):
                if abs(normal[axis]) == 1.0:
                    surface = self.shapes.face_distance[face] * normal[axis] + state.c[body, axis]
                    (self.boxes.high if normal[axis] > 0 else self.boxes.low)[i, axis] = surface

    def update(self, state, reach: np.ndarray) -> None:
        """Refit boxes for the coming step and bring `pairs` up to date."""
        changed = fit_boxes(self.colliders, self.shapes, state.c, state.R, reach, self.boxes)
        if not self._sorted:
            self._sort()
            status = find_all_pairs(*self.who, self.boxes, self.pairs)
        elif changed:
            status = update_pairs(*self.who, self.boxes, self.pairs)
        else:
            return
        while status == STATUS_FULL:
            status = self.grow()

    def grow(self) -> int:
        """Double the room for pairs and look for those that found none; returns a status."""
        self.pairs = grown_pairs(self.pairs, 2 * len(self.pairs.collider))
        return find_all_pairs(*self.who, self.boxes, self.pairs)

    def _sort(self) -> None:
        both = np.stack([self.boxes.low, self.boxes.high], axis=1).reshape(-1, 3)
        for axis in range(3):
            self.boxes.endpoint[axis] = np.argsort(both[:, axis], kind="stable")
        self._sorted = True
