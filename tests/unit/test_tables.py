"""Tables: zeros of any size, which belong to this process alone."""

import multiprocessing
import sys

import numpy as np
import pytest
from topple.tables import HUGE, LARGE, is_short, larger, release, scratch_tables, table, table_of


@pytest.mark.parametrize("count", [0, 3, LARGE // 8, HUGE // 8 + 1])
def test_is_zero_and_can_be_written(count):
    made = table((count, 3), np.float64)
    assert made.shape == (count, 3)
    assert made.dtype == np.float64
    assert made.flags.carray  # in C's order, aligned, writeable
    assert not made.any()
    made += 1.0
    assert made.sum() == 3 * count


@pytest.mark.parametrize("count", [3, LARGE])
def test_of_a_value(count):
    assert (table_of(-1, count, np.int32) == -1).all()
    assert np.isneginf(table_of(-np.inf, count)).all()


def fill(made):
    made[:] = 1


def test_what_a_child_writes_is_its_own():
    """A process that was forked shares the pages, not what is written to them."""
    made = table(LARGE, np.int64)
    child = multiprocessing.Process(target=fill, args=(made,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert not made.any()


@pytest.mark.parametrize("capacity", [0, 10, 1000, 40_000, 1_000_000])
def test_a_grown_table_is_not_short(capacity):
    assert is_short(capacity, capacity)
    assert not is_short(larger(capacity), capacity)


@pytest.mark.parametrize("count", [0, 3, HUGE // 8 + 1])
def test_scratch_is_given_back(count):
    """All of it at once, and nothing else."""
    kept = table(LARGE)
    kept[:] = 1.0
    numbers, marks = scratch_tables(((count, 3), float), ((count + 1,), np.int8))
    assert numbers.shape == (count, 3)
    assert marks.shape == (count + 1,)
    for made, dtype in ((numbers, np.float64), (marks, np.int8)):
        assert made.dtype == dtype
        assert made.flags.carray
        assert made.ctypes.data % 64 == 0
        made += 1
    assert numbers.sum() == 3 * count
    assert marks.sum() == count + 1
    release([kept, marks])
    assert kept.all()
    if sys.platform == "linux":
        assert not numbers.any()
        assert not marks.any()
    marks += 1
    numbers += 1.0
    assert numbers.sum() == 3 * count
