"""Lists of integers in ascending order: made, compared and looked up in the tables of kernels."""

import numpy as np

from .jit import inlined, inner

TOP = np.int64(0)  # typed: a literal would compile what it is passed to once more


@inlined
def _sift_down(keys, root, count):
    """Let the key at `root` sink in a heap, the largest on top, below which all is in order."""
    key, child = keys[root], 2 * root + 1
    while child < count:
        if child + 1 < count and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[root] = keys[child]
        root, child = child, 2 * child + 1
    keys[root] = key


@inner
def sort_keys(keys, count):
    """Sort the first `count` keys, and drop all but one of those that are equal; returns how many are left.

    Source: Williams 1964, *Algorithm 232: heapsort*.
    """
    for root in range(count // 2 - 1, -1, -1):
        _sift_down(keys, root, count)
    for last in range(count - 1, 0, -1):
        keys[0], keys[last] = keys[last], keys[0]
        _sift_down(keys, TOP, last)
    left = 0
    for i in range(count):
        if left == 0 or keys[i] != keys[left - 1]:
            keys[left] = keys[i]
            left += 1
    return left


@inner
def drop_common(keys, count, others, other_count):
    """Drop from two sorted lists what is in both; returns how many are left of each."""
    i, j, left, others_left = 0, 0, 0, 0
    while i < count or j < other_count:
        if j == other_count or (i < count and keys[i] < others[j]):
            keys[left] = keys[i]
            i, left = i + 1, left + 1
        elif i == count or others[j] < keys[i]:
            others[others_left] = others[j]
            j, others_left = j + 1, others_left + 1
        else:
            i, j = i + 1, j + 1
    return left, others_left


@inlined
def place_of(keys, count, key):
    """Where a key is among the first `count`, which are sorted; -1 where it is not."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < count and keys[low] == key else -1
