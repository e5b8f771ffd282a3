"""Mid phase: from bodies near a mesh to the triangles near them.

The broad phase sees a mesh as one box. Here each body whose fat box overlaps it goes down the mesh's
tree of boxes, and gets a pair with every triangle that its box overlaps; pairs keep their slots, and
with them witnesses and impulses, until the boxes part.

Source: Gottschalk, Lin & Manocha 1996, section 4 (trees of boxes); boxes here are axis-aligned in the
frame of the mesh, so that a moving mesh keeps its tree.
"""

import numpy as np

from ..geometry.mesh import LEAF_SIZE
from ..jit import inlined, inner, kernel
from ..math3 import mat3, vec3
from .pairs import HIGH, STATUS_OK, add_pair, remove_pair

STACK = 64  # a tree of 2^60 leaves needs no more


@inner
def _box_in_mesh(boxes, other, c, R, mesh, slack, box):
    """The fat box of a collider in the frame of a mesh, grown by `slack` [m]; `box` (6,) is written."""
    rotation = mat3.load(R, mesh)
    low, high = vec3.load(boxes.low, other), vec3.load(boxes.high, other)
    half = vec3.scale(vec3.subtract(high, low), 0.5)
    middle = vec3.subtract(vec3.scale(vec3.add(high, low), 0.5), vec3.load(c, mesh))
    middle = mat3.transform_transposed(rotation, middle)
    for k in range(3):
        reach = abs(rotation[k]) * half[0] + abs(rotation[3 + k]) * half[1] + abs(rotation[6 + k]) * half[2]
        box[k], box[3 + k] = middle[k] - reach - slack, middle[k] + reach + slack


@inlined
def _boxes_overlap(one, other):
    return (
        one[0] <= other[3] and other[0] <= one[3]
        and one[1] <= other[4] and other[1] <= one[4]
        and one[2] <= other[5] and other[2] <= one[5]
    )  # fmt: skip


@inner
def _add_triangles(trees, mesh, other, box, pairs, stack):
    """Pair a collider with the triangles of a mesh that its box overlaps; returns a status."""
    status = STATUS_OK
    base = trees.node_start[mesh]
    nodes = trees.node_start[mesh + 1] - base
    first, count = trees.first[mesh], trees.first[mesh + 1] - trees.first[mesh]
    first_leaf = nodes // 2
    stack[0], depth = 0, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if not _boxes_overlap(trees.node[base + node], box):
            continue
        if node < first_leaf:
            stack[depth], stack[depth + 1] = 2 * node + 2, 2 * node + 1
            depth += 2
            continue
        begin = LEAF_SIZE * (node - first_leaf)
        for t in range(begin, min(begin + LEAF_SIZE, count)):
            if _boxes_overlap(trees.box[first + t], box):
                status = max(status, add_pair(pairs, other, trees.broad[0] + first + t))
    return status


@kernel
def update_mesh_pairs(owner, trees, boxes, c, R, reach, pairs, box, stack):
    """Bring the pairs of colliders with triangles up to date.

    Args:
        owner: Body of each collider.
        boxes: Fat boxes of the colliders of the broad phase.
        c, R, reach: Poses of the bodies, and how far they may move in the step [m].
        box, stack: Scratch, shapes (6,) and (STACK,).

    Returns:
        STATUS_OK, or STATUS_FULL where the table must grow and all pairs be found again.
    """
    broad = trees.broad[0]
    status = STATUS_OK
    for slot in range(pairs.counter[HIGH]):
        a, b = np.int64(pairs.collider[slot, 0]), np.int64(pairs.collider[slot, 1])
        if a >= 0 and b >= broad:
            mesh = owner[b]
            _box_in_mesh(boxes, a, c, R, mesh, reach[mesh], box)
            if not _boxes_overlap(trees.box[b - broad], box):
                remove_pair(pairs, a, b)
    for slot in range(pairs.counter[HIGH]):  # pairs added on the way are none of the broad phase's
        a, b = np.int64(pairs.collider[slot, 0]), np.int64(pairs.collider[slot, 1])
        if a < 0 or b >= broad:
            continue
        for m in range(trees.collider.shape[0]):
            if trees.collider[m] == a or trees.collider[m] == b:
                other, mesh = (b if trees.collider[m] == a else a), owner[trees.collider[m]]
                _box_in_mesh(boxes, other, c, R, mesh, reach[mesh], box)
                status = max(status, _add_triangles(trees, m, other, box, pairs, stack))
    return status
