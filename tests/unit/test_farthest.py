"""The farthest row of a table: four at a time, the answer is that of one after the other, to the bit."""

import numpy as np
import pytest
from topple.geometry.farthest import farthest
from topple.jit import kernel


@kernel
def farthest_row(table, first, last, d):
    """As `farthest`, for Python."""
    return farthest(table, first, last, d)


def one_after_the_other(table, first, last, d):
    """The first of the farthest rows, and its product."""
    best, most = first, -np.inf
    for k in range(first, last):
        product = table[k, 0] * d[0] + table[k, 1] * d[1] + table[k, 2] * d[2]
        if product > most:
            best, most = k, product
    return best, most


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 8, 9, 23, 40])
def test_finds_what_a_plain_loop_finds(count):
    random = np.random.default_rng(count)
    for first in range(5):
        table = random.normal(size=(first + count, 3))
        table[:first] *= 100.0  # rows before the first do not count
        d = random.normal(size=3)
        last = np.int64(first + count)
        found = farthest_row(table, np.int64(first), last, tuple(d))
        assert found == one_after_the_other(table, first, last, d)


@pytest.mark.parametrize("count", [4, 6, 8, 13])
def test_of_equal_rows_the_first_is_taken(count):
    for others in range(1, 2**count, 7):
        z = np.array([float(others >> k & 1) for k in range(count)])
        table = np.stack([np.arange(count, dtype=float), np.ones(count), z], axis=1)
        row, most = farthest_row(table, np.int64(0), np.int64(count), (0.0, 0.0, 1.0))
        assert (row, most) == (z.argmax(), 1.0)
