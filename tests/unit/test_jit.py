"""What is peculiar to kernels as they are compiled here."""

import os
from typing import NamedTuple

import numpy as np
import pytest
import topple
from topple import calls
from topple.jit import RUNS_AS_PYTHON, Table, inner, kernel, typeof


@kernel
def entry(array, index):
    return array[index]


@pytest.mark.skipif(RUNS_AS_PYTHON, reason="Python counts from the end")
def test_a_negative_index_counts_from_no_end():
    array = np.arange(5)[2:]
    if os.environ.get("NUMBA_BOUNDSCHECK") == "1":
        with pytest.raises(IndexError):
            entry(array, -1)
    else:
        assert entry(array, -1) == 1


class Inside(NamedTuple):
    number: np.ndarray
    is_counted: bool


class Outside(NamedTuple):
    number: np.ndarray
    factor: float
    inside: Inside
    pair: tuple[np.ndarray, np.ndarray]


# Only those of the core are handed on by address.
Inside.__module__ = Outside.__module__ = f"{topple.__name__}.of_this_test"


def outside(number, factor, is_counted):
    inside = Inside(np.array([10.0 * number]), is_counted)
    return Outside(np.array([number]), factor, inside, (np.array([0.5]), np.zeros((2, 2))))


@inner
def weigh(table, first):
    return first.number[0] + (table.inside.number[0] if table.inside.is_counted else 0.0)


@kernel
def weigh_each_in_turn(first, second, count):
    """Tables of two arguments, one of them by a name that changes in the loop, and columns written to."""
    total, chosen = 0.0, first
    for k in range(count):
        part = chosen.inside
        total = total * chosen.factor + weigh(chosen, first) + part.number[0] + chosen.pair[0][0]
        chosen.number[0] += 1.0
        chosen = second if k % 2 == 0 else first
        second.pair[1][1, 1] = total
    return total


@pytest.mark.parametrize("is_counted", [True, False])
def test_tables_are_what_they_are_in_python(is_counted, monkeypatch):
    monkeypatch.setattr(calls, "ENOUGH", 0)  # frames are made at the first call

    def tables():
        return outside(1.0, 0.5, is_counted), outside(3.0, 0.25, not is_counted)

    expected = getattr(weigh_each_in_turn, "py_func", weigh_each_in_turn)
    in_python = expected.__globals__ | {"weigh": getattr(weigh, "py_func", weigh)}
    plain = type(expected)(expected.__code__, in_python)(*tables(), 5)
    for call in (weigh_each_in_turn, lambda *arguments: calls.Calls()(weigh_each_in_turn, *arguments)):
        first, second = tables()
        assert call(first, second, 5) == plain
        assert (first.number[0], second.number[0], second.pair[1][1, 1]) == (4.0, 5.0, plain)


def test_only_tables_of_the_core_are_handed_on_by_address():
    assert isinstance(typeof(outside(1.0, 0.5, True)), Table)
    assert not isinstance(typeof((np.zeros(1), 0.5)), Table)
    with pytest.raises(TypeError, match=r"Outside\.factor is float32: give it 64 bits"):
        typeof(outside(1.0, np.float32(0.5), True))
    assert typeof(outside(1.0, 0.5, True)) == typeof(outside(2.0, 0.25, False))
