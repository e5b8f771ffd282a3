"""Kernels called through frames do what they do when called as they are."""

import copy
import os
from typing import NamedTuple

import numpy as np
import pytest
from topple import calls
from topple.calls import Calls
from topple.intrinsics import call_address
from topple.jit import RUNS_AS_PYTHON, kernel
from topple.kernel_entry import NO_ERROR

framed = pytest.mark.skipif(RUNS_AS_PYTHON, reason="Python has no frames for kernels")


class Table(NamedTuple):
    number: np.ndarray
    flag: np.ndarray


def table(*numbers):
    return Table(np.array([numbers], float), np.ones(len(numbers), bool))


@kernel
def weigh(table, factor, count, twice):
    """A number of every kind from arguments of every kind."""
    total = 0.0
    for k in range(count):
        total += factor * table.number[0, k] if table.flag[k] else 0.0
    table.number[0, 0] += 1.0
    return 2.0 * total if twice else total, count + 1


@kernel
def write(array, value):
    array[0] = value


@kernel
def is_large(value):
    return value > 10.0


@kernel
def refuse(count):
    if count > 2:
        raise ValueError("too many")
    return count


@pytest.fixture
def call():
    """Calls whose frames are made at the first."""
    made, enough = Calls(), calls.ENOUGH
    calls.ENOUGH = 0
    yield made
    calls.ENOUGH = enough


def test_results_are_those_of_the_kernel(call):
    first, second = table(1.0, 2.0, 4.0), table(8.0, 16.0)
    for arguments in (
        (first, 0.5, 3, False), (first, 0.5, 3, False), (first, 0.25, 2, True), (second, 0.25, 2, True),
        (second, 1, 1, False), (first, -1.0, 3, False),
    ):  # fmt: skip
        same = copy.deepcopy(arguments)
        assert call(weigh, *arguments) == weigh(*same)
        assert (arguments[0].number == same[0].number).all()
    assert call(is_large, 11.0) is True
    assert call(is_large, 9.0) is False
    array = np.zeros(2)
    assert call(write, array, 3.0) is None
    assert array[0] == 3.0


@kernel
def enter(code, frame):
    return call_address(code, frame)


@framed
def test_another_kernel_enters_by_address(call):
    """As other threads do."""
    array = np.zeros(1)
    framed = call.frame(write, array, 1.0)
    assert enter(framed.code, framed.address) in NO_ERROR
    assert array[0] == 1.0
    framed = call.frame(refuse, 3)
    assert enter(framed.code, framed.address) not in NO_ERROR
    error = call.error(refuse)
    assert isinstance(error, ValueError)
    assert str(error) == "too many"


def test_what_a_kernel_raises_is_raised(call):
    assert call(refuse, 2) == 2
    with pytest.raises(ValueError, match="too many"):
        call(refuse, 3)
    assert call(refuse, 1) == 1


@pytest.mark.skipif(os.environ.get("NUMBA_BOUNDSCHECK") != "1", reason="bounds are not checked in this mode")
def test_bounds_are_checked(call):
    with pytest.raises(IndexError):
        call(write, np.zeros(0), 1.0)


@framed
def test_arrays_of_another_type_are_refused(call):
    call(write, np.zeros(4), 1.0)
    for array in (np.zeros(4, np.float32), np.zeros(8)[::2], np.zeros((2, 2))):
        with pytest.raises(TypeError, match="write takes"):
            call(write, array, 1.0)
    with pytest.raises(TypeError, match="takes 2 arguments, not 1"):
        call(write, np.zeros(4))


@framed
def test_frames_are_made_for_what_is_called_often():
    made = Calls()
    for count in range(calls.ENOUGH + 3):
        assert (weigh in made._framed) == (count > calls.ENOUGH)
        made(weigh, table(1.0), 1.0, 1, False)
    copied = copy.deepcopy(made)
    assert not copied._framed  # its owner's copy has arrays of its own
