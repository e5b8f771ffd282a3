"""A dynamic tree of boxes, the other broad phase, to be compared with sweep and prune.

Leaves are the same fat boxes. One that has changed is taken out and put back where it enlarges the surface of
the boxes above it least; the tree is balanced by rotations on the way up. Then it is asked what the changed
boxes overlap, and the pairs that no longer do so are removed from the same pair table.

Source: Catto 2019, *Dynamic Bounding Volume Hierarchies* (as in Box2D: greedy
descent, rotations).
"""

from typing import NamedTuple

import numpy as np
from topple.collision.pairs import COUNT, HIGH, STATUS_FULL, add_pair, remove_pair
from topple.jit import inner, kernel

NOTHING = -1
ROOT, FREE = 0, 1  # indices into BoxTree.state
STACK_SIZE = 256


class BoxTree(NamedTuple):
    """Nodes 0 to n - 1 are the leaves, in the order of the boxes; the others are made as needed."""

    low: np.ndarray  # [m] (2 n, 3)
    high: np.ndarray  # [m] (2 n, 3)
    parent: np.ndarray  # (2 n,)
    child: np.ndarray  # (2 n, 2) NOTHING for leaves
    height: np.ndarray  # (2 n,) 0 for leaves
    state: np.ndarray  # root, first free node; free nodes are linked by `parent`
    changed: np.ndarray  # (n,) leaves whose boxes are new
    stack: np.ndarray  # (STACK_SIZE,)


def empty_tree(n: int) -> BoxTree:
    """A tree with room for n boxes."""
    parent = np.full(2 * n, NOTHING)
    parent[n : 2 * n - 1] = np.arange(n + 1, 2 * n)
    return BoxTree(
        low=np.zeros((2 * n, 3)),
        high=np.zeros((2 * n, 3)),
        parent=parent,
        child=np.full((2 * n, 2), NOTHING),
        height=np.zeros(2 * n, np.int64),
        state=np.array([NOTHING, n]),
        changed=np.zeros(n, np.bool_),
        stack=np.zeros(STACK_SIZE, np.int64),
    )


@inner
def _joined_area(tree, i, j):
    """Half the surface of the box around two nodes."""
    x = max(tree.high[i, 0], tree.high[j, 0]) - min(tree.low[i, 0], tree.low[j, 0])
    y = max(tree.high[i, 1], tree.high[j, 1]) - min(tree.low[i, 1], tree.low[j, 1])
    z = max(tree.high[i, 2], tree.high[j, 2]) - min(tree.low[i, 2], tree.low[j, 2])
    return x * y + y * z + z * x


@inner
def _fit(tree, i):
    """Box and height of an inner node from its children."""
    a, b = tree.child[i, 0], tree.child[i, 1]
    for k in range(3):
        tree.low[i, k] = min(tree.low[a, k], tree.low[b, k])
        tree.high[i, k] = max(tree.high[a, k], tree.high[b, k])
    tree.height[i] = 1 + max(tree.height[a], tree.height[b])


@inner
def _replace_child(tree, parent, old, new):
    tree.parent[new] = parent
    if parent == NOTHING:
        tree.state[ROOT] = new
    else:
        tree.child[parent, 0 if tree.child[parent, 0] == old else 1] = new


@inner
def _balance(tree, i):
    """Turn the higher child of a node up over it where the children differ by two; returns the upper node."""
    if tree.height[i] < 2:
        return i
    a, b = tree.child[i, 0], tree.child[i, 1]
    difference = tree.height[b] - tree.height[a]
    if -2 < difference < 2:
        return i
    up, side = (b, 1) if difference > 0 else (a, 0)
    p, q = tree.child[up, 0], tree.child[up, 1]
    stays, goes = (p, q) if tree.height[p] > tree.height[q] else (q, p)
    _replace_child(tree, tree.parent[i], i, up)
    tree.child[up, 0], tree.child[up, 1] = i, stays
    tree.parent[i] = up
    tree.child[i, side] = goes
    tree.parent[goes] = i
    _fit(tree, i)
    _fit(tree, up)
    return up


@inner
def _refit_up(tree, i):
    while i != NOTHING:
        i = _balance(tree, i)
        _fit(tree, i)
        i = tree.parent[i]


@inner
def _insert(tree, leaf):
    """Put a leaf beside the node where it costs the least surface."""
    at = tree.state[ROOT]
    if at == NOTHING:
        tree.state[ROOT] = leaf
        tree.parent[leaf] = NOTHING
        return
    while tree.child[at, 0] != NOTHING:
        area, joined = _joined_area(tree, at, at), _joined_area(tree, at, leaf)
        here, pushed = 2.0 * joined, 2.0 * (joined - area)
        best, best_cost = at, here
        for side in range(2):
            c = tree.child[at, side]
            cost = _joined_area(tree, c, leaf) + pushed
            if tree.child[c, 0] != NOTHING:
                cost -= _joined_area(tree, c, c)
            if cost < best_cost:
                best, best_cost = c, cost
        if best == at:
            break
        at = best
    node = tree.state[FREE]
    tree.state[FREE] = tree.parent[node]
    _replace_child(tree, tree.parent[at], at, node)
    tree.child[node, 0], tree.child[node, 1] = at, leaf
    tree.parent[at], tree.parent[leaf] = node, node
    _refit_up(tree, node)


@inner
def _remove(tree, leaf):
    node = tree.parent[leaf]
    if node == NOTHING:
        tree.state[ROOT] = NOTHING
        return
    other = tree.child[node, 1] if tree.child[node, 0] == leaf else tree.child[node, 0]
    _replace_child(tree, tree.parent[node], node, other)
    above = tree.parent[node]
    tree.parent[node] = tree.state[FREE]
    tree.state[FREE] = node
    _refit_up(tree, above)


@inner
def _apart(tree, i, j):
    for k in range(3):  # noqa: SIM110 - numba knows no any() of a generator
        if tree.low[i, k] > tree.high[j, k] or tree.low[j, k] > tree.high[i, k]:
            return True
    return False


@kernel
def update_tree(boxes, tree, pairs, first):
    """Bring the tree and the pairs up to date with the fat boxes; returns the number of pairs, -1 if full.

    Args:
        first: Whether no leaf is in the tree yet.
    """
    n = boxes.low.shape[0]
    for leaf in range(n):
        changed = first
        for k in range(3):
            changed = changed or boxes.low[leaf, k] != tree.low[leaf, k]
            changed = changed or boxes.high[leaf, k] != tree.high[leaf, k]
        tree.changed[leaf] = changed
        if changed:
            if not first:
                _remove(tree, leaf)
            for k in range(3):
                tree.low[leaf, k], tree.high[leaf, k] = boxes.low[leaf, k], boxes.high[leaf, k]
            _insert(tree, leaf)
    for slot in range(pairs.counter[HIGH]):
        a, b = pairs.collider[slot, 0], pairs.collider[slot, 1]
        if a >= 0 and (tree.changed[a] or tree.changed[b]) and _apart(tree, a, b):
            remove_pair(pairs, a, b)
    for leaf in range(n):
        if tree.changed[leaf] and not _add_overlaps(tree, leaf, pairs):
            return -1
    return pairs.counter[COUNT]


@inner
def _add_overlaps(tree, leaf, pairs):
    """Add the pairs of a leaf with all that it overlaps; returns whether there was room."""
    tree.stack[0], count = tree.state[ROOT], 1
    while count > 0:
        count -= 1
        i = tree.stack[count]
        if _apart(tree, i, leaf):
            continue
        if tree.child[i, 0] != NOTHING:
            tree.stack[count], tree.stack[count + 1] = tree.child[i, 0], tree.child[i, 1]
            count += 2
        elif i != leaf and add_pair(pairs, min(i, leaf), max(i, leaf)) == STATUS_FULL:
            return False
    return True
