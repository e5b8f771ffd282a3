"""Broad phase: coherent sweep and prune on three axes, and the table of overlapping pairs.

Boxes are fattened so that a body at rest or in slow motion keeps its box for many steps. The
endpoints of all boxes stay sorted along each axis; when boxes change, insertion sort repairs the
order and pairs are added only where endpoints are exchanged: O(n + exchanges) per step.

Source: Baraff 1997, section 7.2 (bounding boxes, sort and sweep, insertion sort).
Departs from it: pairs live in fixed slots of a hash table, because the narrow phase keeps its
witness and impulses per pair; the full sweep runs once, and again only when the table has to grow.
"""

from typing import NamedTuple

import numpy as np

from ..calls import Calls
from ..geometry.shape_table import PLANE, Colliders, MeshTrees, ShapeTable
from ..jit import inlined, kernel
from ..sorted_keys import place_of
from ..tables import is_short, larger
from .mid_phase import STACK, update_mesh_pairs
from .pairs import (
    ADDED,
    COUNT,
    FREE,
    FREE_ROOMS,
    HIGH,
    ROOMS,
    STATUS_FULL,
    STATUS_OK,
    add_pair,
    empty_pairs,
    remove_pair,
    renumber_pairs,
    resized_pairs,
    with_more_rooms,
)

# Fattening, relative to the body's size: less costs sorting, more costs pairs that do not touch.
FAT_RELATIVE = 0.02
FAT_STEPS = 4.0  # and by the motion of so many steps, so that a flying body is not refitted each step
SPARSE = 0.5  # part of all slots of pairs that may be free
MIXED = 0.25  # and part of all pairs that may be new since they were put in order
SOME = larger(0)  # and slots, or pairs, of a small table


def _is_sparse(counter):
    """Whether many slots of pairs are free."""
    return counter[FREE] > SPARSE * counter[HIGH] + SOME


def _is_mixed(counter):
    """Whether many pairs came since they were put in order."""
    return counter[ADDED] > MIXED * counter[COUNT] + SOME


is_sparse, is_mixed = inlined(_is_sparse), inlined(_is_mixed)


class SortedBoxes(NamedTuple):
    """Fat boxes and their endpoints in order along each axis; an endpoint is 2 collider + (0 min, 1 max)."""

    low: np.ndarray  # [m] (n, 3)
    high: np.ndarray  # [m] (n, 3)
    endpoint: np.ndarray  # (3, 2 n)
    value: np.ndarray  # [m] (2 n,) scratch: where those along one axis are
    changed: np.ndarray  # (n,) refitted in this step


@inlined
def _may_collide(layers, mask, apart, owner, mobile, collider_a, collider_b):
    """Whether a pair can ever meet: two bodies, one that moves, layers that agree, not told to ignore it.

    `apart` holds pairs that ignore each other, sorted: lower body times the number of bodies plus higher.
    """
    a, b = owner[collider_a], owner[collider_b]
    if a == b or not (mobile[a] or mobile[b]):
        return False
    if place_of(apart, apart.shape[0], min(a, b) * layers.shape[0] + max(a, b)) >= 0:
        return False
    return (layers[a] & mask[b]) != 0 and (layers[b] & mask[a]) != 0


@inlined
def _overlap(boxes, a, b):
    for axis in range(3):
        if boxes.low[a, axis] > boxes.high[b, axis] or boxes.low[b, axis] > boxes.high[a, axis]:
            return False
    return True


@inlined
def _extent(colliders, shapes, c, R, collider, row):
    """(low, high) of a shape along a world axis [m]: what its turned box and the ball around it share."""
    i, s = colliders.body[collider], colliders.shape[collider]
    middle, half = c[i, row], 0.0
    for k in range(3):
        middle += R[i, 3 * row + k] * shapes.box_center[s, k]
        half += abs(R[i, 3 * row + k]) * shapes.box_half[s, k]
    return max(middle - half, c[i, row] - shapes.bound[s]), min(middle + half, c[i, row] + shapes.bound[s])


@kernel
def fit_boxes(colliders, shapes, c, R, reach, boxes):
    """Refit the fat boxes that their body may leave within the step; returns how many changed.

    Args:
        reach: How far any point of each body may move in this step [m], shape (n,).
        boxes: Fat boxes; `low` and `high` are written where refitted, `changed` for all.
    """
    count = 0
    for collider in range(boxes.low.shape[0]):
        i, s = colliders.body[collider], colliders.shape[collider]
        boxes.changed[collider] = False
        if shapes.kind[s] == PLANE:
            continue
        fits = True
        slack = FAT_RELATIVE * shapes.bound[s] + FAT_STEPS * reach[i]
        for row in range(3):
            low, high = _extent(colliders, shapes, c, R, collider, row)
            width = boxes.high[collider, row] - boxes.low[collider, row]
            if low - reach[i] < boxes.low[collider, row] or high + reach[i] > boxes.high[collider, row]:
                fits = False
            elif width > high - low + 2.0 * reach[i] + 4.0 * slack:
                fits = False  # left over from faster motion: shrink, or it gathers idle pairs
        if fits:
            continue
        boxes.changed[collider] = True
        count += 1
        for row in range(3):
            low, high = _extent(colliders, shapes, c, R, collider, row)
            boxes.low[collider, row] = low - reach[i] - slack
            boxes.high[collider, row] = high + reach[i] + slack
    return count


@kernel
def update_pairs(layers, mask, apart, owner, mobile, boxes, pairs):
    """Sort the endpoints by insertion, add pairs where endpoints are exchanged, remove those now apart.

    Returns:
        STATUS_OK, or STATUS_FULL where the table must grow and `find_all_pairs` must run.
    """
    status, n, value = STATUS_OK, boxes.low.shape[0], boxes.value
    for slot in range(pairs.counter[HIGH]):
        a, b = np.int64(pairs.collider[slot, 0]), np.int64(pairs.collider[slot, 1])
        # What lies behind the boxes are triangles of meshes.
        if a >= 0 and b < n and (boxes.changed[a] or boxes.changed[b]) and not _overlap(boxes, a, b):
            remove_pair(pairs, a, b)
    for axis in range(3):
        order = boxes.endpoint[axis]
        for k in range(2 * n):
            collider = order[k] >> 1
            value[k] = boxes.high[collider, axis] if order[k] & 1 else boxes.low[collider, axis]
        for i in range(1, 2 * n):
            moving, at = np.int64(order[i]), value[i]
            k = i - 1
            while k >= 0 and value[k] > at:
                passed = np.int64(order[k])
                order[k + 1], value[k + 1] = passed, value[k]
                k -= 1
                if (moving & 1) < (passed & 1):  # a minimum moved below a maximum: together on this axis
                    a, b = min(moving >> 1, passed >> 1), max(moving >> 1, passed >> 1)
                    if _overlap(boxes, a, b) and _may_collide(layers, mask, apart, owner, mobile, a, b):
                        status = max(status, add_pair(pairs, a, b))
            order[k + 1], value[k + 1] = moving, at
    return status


@kernel
def find_all_pairs(layers, mask, apart, owner, mobile, boxes, active, pairs):
    """Add every overlapping pair by one sweep along the sorted first axis; `active` (n,) is scratch."""
    active_count = 0
    for endpoint in boxes.endpoint[0]:
        body = np.int64(endpoint) >> 1
        if endpoint & 1:
            for k in range(active_count):
                if active[k] == body:
                    active_count -= 1
                    active[k] = active[active_count]
                    break
            continue
        for k in range(active_count):
            a, b = min(body, active[k]), max(body, active[k])
            if _overlap(boxes, a, b) and _may_collide(layers, mask, apart, owner, mobile, a, b):
                if add_pair(pairs, a, b) == STATUS_FULL:
                    return STATUS_FULL
        active[active_count] = body
        active_count += 1
    return STATUS_OK


class BroadPhase:
    """Pairs of colliders whose boxes overlap, kept up to date from step to step."""

    def __init__(
        self,
        model,
        shapes: ShapeTable,
        colliders: Colliders,
        trees: MeshTrees,
        state,
        mobile: np.ndarray,
        apart: np.ndarray,
    ) -> None:
        """Sort nothing yet.

        Args:
            mobile: Bodies that move by forces now or later in the run, shape (bodies,).
            apart: Pairs that ignore each other; see `_may_collide`.
        """
        n = int(trees.broad[0])
        self.shapes, self.colliders, self.trees = shapes, colliders, trees
        self._call = Calls()
        self._meshes = colliders.body[trees.collider]
        self._scratch = np.zeros(6), np.zeros(STACK, np.int64)
        self.who = (model.layers, model.collides_with, apart, colliders.body, mobile)  # may collide with whom
        self.boxes = SortedBoxes(
            np.full((n, 3), np.inf), np.full((n, 3), -np.inf), np.zeros((3, 2 * n), np.int32),
            np.zeros(2 * n), np.zeros(n, np.bool_),
        )  # fmt: skip
        self._bound_planes(state)
        self.pairs = empty_pairs(larger(2 * n), larger(0))  # a body in a heap has some four pairs
        self.is_sorted = False

    def _bound_planes(self, state) -> None:
        """Planes fill space; where one is level with an axis, its box ends at its surface."""
        broad = self.colliders.shape[: len(self.boxes.low)]
        for i in np.flatnonzero(self.shapes.kind[broad] == PLANE):
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
        changed = self._call(fit_boxes, self.colliders, self.shapes, state.c, state.R, reach, self.boxes)
        status = STATUS_OK
        if not self.is_sorted:
            self._sort()
            status = self._find_all_pairs()
        elif changed:
            self.grow_in_time()
            status = self._call(update_pairs, *self.who, self.boxes, self.pairs)
        self.finish_update(status, bool(changed), state, reach)

    def finish_update(self, status: int, changed: bool, state, reach: np.ndarray) -> None:
        """Find pairs of triangles, where boxes have changed; and all pairs, where some found no room."""
        if changed or reach[self._meshes].any():
            status = max(status, self._update_mesh_pairs(state, reach))
        while status == STATUS_FULL:
            status = self.grow(state, reach)

    @property
    def has_meshes(self) -> bool:
        """Whether bodies are meshes, whose triangles have pairs of their own."""
        return len(self._meshes) > 0

    @property
    def is_short(self) -> bool:
        """Whether there is little room for more pairs, or for the contact points of more."""
        return self._has_few_slots or self._has_few_rooms

    @property
    def _has_few_slots(self) -> bool:
        counter = self.pairs.counter.tolist()
        return is_short(len(self.pairs.collider), counter[HIGH] - counter[FREE])

    @property
    def _has_few_rooms(self) -> bool:
        counter = self.pairs.counter.tolist()
        return is_short(len(self.pairs.point), counter[ROOMS] - counter[FREE_ROOMS])

    def grow_in_time(self) -> None:
        """Make room for more pairs before there is none left: all must be looked for again, then."""
        if self._has_few_slots:
            self.pairs = resized_pairs(self.pairs, larger(len(self.pairs.collider)))

    @property
    def is_out_of_order(self) -> bool:
        """Whether many pairs came or went since they were put in order."""
        counter = self.pairs.counter.tolist()
        return _is_sparse(counter) or _is_mixed(counter)

    def put_in_order(self) -> np.ndarray | None:
        """Move the pairs to the first slots, in the order of their bodies, where many came or went.

        Returns:
            The slots they had, if so.
        """
        if not self.is_out_of_order:
            return None
        high, sparse = self.pairs.counter[HIGH], _is_sparse(self.pairs.counter)
        slots = np.flatnonzero(self.pairs.collider[:high, 0] >= 0)
        a, b = self.pairs.collider[slots].T
        slots = slots[np.lexsort((b, a))]
        renumber_pairs(self.pairs, slots)
        if sparse:
            self.pairs = resized_pairs(self.pairs, larger(len(slots)))
        return slots

    def grow(self, state, reach: np.ndarray) -> int:
        """Make room for more pairs and look for those that found none; returns a status."""
        self.pairs = resized_pairs(self.pairs, larger(len(self.pairs.collider)))
        status = self._find_all_pairs()
        return max(status, self._update_mesh_pairs(state, reach))

    def _find_all_pairs(self) -> int:
        active = np.empty(len(self.boxes.low), np.int64)
        return find_all_pairs(*self.who, self.boxes, active, self.pairs)

    def grow_rooms(self) -> bool:
        """Make room for the contact points of more pairs where there is little; whether there was."""
        short = self._has_few_rooms
        if short:
            self.pairs = with_more_rooms(self.pairs, larger(len(self.pairs.point)))
        return short

    def _update_mesh_pairs(self, state, reach: np.ndarray) -> int:
        if len(self._meshes) == 0:
            return STATUS_OK
        return self._call(
            update_mesh_pairs,
            self.colliders.body,
            self.trees,
            self.boxes,
            state.c,
            state.R,
            reach,
            self.pairs,
            *self._scratch,
        )

    def _sort(self) -> None:
        both = np.stack([self.boxes.low, self.boxes.high], axis=1).reshape(-1, 3)
        for axis in range(3):
            self.boxes.endpoint[axis] = np.argsort(both[:, axis], kind="stable")
        self.is_sorted = True
