"""Kernels one after the other do what they do when each is called by itself."""

import copy
import time
from functools import partial

import numpy as np
import pytest
from topple import sequence
from topple.crew import (
    DONE,
    LEADER,
    NEVER_DONE,
    ONLY,
    Crew,
    load_word,
    next_piece,
    pause,
    piece_done,
    put_up,
    take_piece,
    wait_for_all,
)
from topple.jit import RUNS_AS_PYTHON, kernel
from topple.sequence import ALWAYS, NEGATIVE, NEVER, NOT_ZERO, Given, KernelCall, Result, Runner, Sequence

PIECES = np.int64(8)


@kernel
def fill(numbers, value):
    """Write a number everywhere; returns how many there are."""
    numbers[:] = value
    return numbers.shape[0]


@kernel
def add(numbers, count, most):
    """Add one to so many; returns by how many there are too many."""
    for k in range(count):
        numbers[k] += 1.0
    return max(count - most, 0)


@kernel
def take(left):
    """One less is left; returns a negative number while any is."""
    left[0] -= 1
    return -left[0]


@kernel
def count_on(number, made):
    """One more pass is made, of which the number is noted; returns the number of the next."""
    made[0] += 1
    made[1] = number
    return number + 1


@kernel
def is_past(number, last):
    """Whether a number is past the last."""
    return np.int64(number > last)


@kernel
def refuse(count):
    """Raise for so many."""
    if count > 2:
        raise ValueError("too many")
    return count


@kernel
def weigh(numbers):
    """The sum and the largest."""
    total, most = 0.0, numbers[0]
    for number in numbers:
        total, most = total + number, max(most, number)
    return total, most


@kernel
def count_pieces(out, board, thread):
    """Divide a task; each piece is noted by who does it."""
    if thread == LEADER:
        put_up(board, ONLY, PIECES)
    piece = next_piece(board, thread)
    while piece >= 0:
        out[piece] += 1
        piece_done(board)
        piece = next_piece(board, thread)
    total = np.int64(0)
    if thread == LEADER:
        wait_for_all(board, PIECES)
        for count in out:
            total += count
    return total


@kernel
def fail_in_others(out, board, thread):
    """Raise in every thread but the leader's, which waits for that a while."""
    if thread != LEADER:
        raise ArithmeticError("it failed")
    put_up(board, ONLY, PIECES)
    patience = 3_000_000
    while load_word(board.word, DONE) < NEVER_DONE and patience > 0:
        pause()
        patience -= 1
    while take_piece(board, thread) >= 0:  # where none has come the machine has other things to do
        piece_done(board)
    wait_for_all(board, PIECES)
    out[0] += 1
    return np.int64(0)


@pytest.fixture(params=["called by Python", *([] if RUNS_AS_PYTHON else ["in machine code"])])
def runs(request, monkeypatch):
    """A sequence, and how it runs."""
    if request.param == "in machine code":
        monkeypatch.setattr(sequence, "ENOUGH", 1)
    return Sequence(Runner(Crew(1)))


def run_twice(made, calls, given, key=lambda: 0):
    """Run a sequence twice; returns where the second run halts."""
    assert made is not None
    list(made.run(key, calls, given))
    return [kernel.__name__ for kernel in made.run(key, calls, given)]


def test_what_one_finds_another_takes(runs):
    numbers = np.zeros(5)

    def calls():
        return [
            KernelCall("a", fill, (numbers, Given())),
            KernelCall("b", add, (numbers, Result(fill), 9)),
            KernelCall("b", weigh, (numbers,)),
        ]

    for given in (1.0, 2.5, -3.0):
        assert run_twice(runs, calls, given) == []
        assert numbers.tolist() == [given + 1.0] * 5
        assert runs.result(weigh) == (5.0 * (given + 1.0), given + 1.0)
        assert runs.result(fill) == 5


@pytest.mark.parametrize("most", [3, 5])
def test_halts_where_there_is_something_to_do(runs, most):
    numbers = np.zeros(5)

    def calls():
        return [
            KernelCall("a", fill, (numbers, 0.0), halts=ALWAYS),
            KernelCall("a", add, (numbers, Given(), most), halts=NOT_ZERO),
            KernelCall("a", weigh, (numbers,), only_after=add),
            KernelCall("a", refuse, (2,), only_after=add),
        ]

    assert run_twice(runs, calls, 5) == (["fill", "add"] if most < 5 else ["fill"])
    assert numbers.sum() == 5.0
    assert runs.result(refuse) == (2 if most < 5 else 0)


def test_halts_where_it_is_told_to(runs):
    numbers = np.zeros(5)

    def calls():
        return [KernelCall("a", fill, (numbers, 1.0)), KernelCall("a", add, (numbers, 5, 5))]

    for halt in (fill, weigh, None, fill):
        found = []
        for kernel_found in runs.run(lambda: 0, calls, 0, halt=halt):
            found.append(kernel_found)
            assert numbers.tolist() == [1.0] * 5
        assert found == ([fill] if halt is fill else [])
        assert numbers.tolist() == [2.0] * 5


def test_calls_again_until_it_is_done(runs):
    left, numbers, calls_made = np.array([5]), np.zeros(2), []

    def calls():
        return [KernelCall("a", take, (left,), halts=NEGATIVE), KernelCall("a", add, (numbers, 2, 2))]

    for first in (5, 3):
        left[0] = first
        for kernel_found in runs.run(lambda: 0, calls, 0):
            calls_made.append(kernel_found)
            runs.call_again()
        assert left[0] == 0
    assert len(calls_made) == 4 + 2
    assert numbers.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("most", "last", "halts", "made"),
    [(3, 9, NEVER, 3), (10, 5, NEVER, 5), (1, 9, NEVER, 1), (10, 9, ALWAYS, 1)],
    ids=["as many as may be", "until the last says no", "one", "no more after a halt"],
)
def test_passes_follow_each_other(monkeypatch, most, last, halts, made):
    monkeypatch.setattr(sequence, "ENOUGH", 1)
    passes, counted = Sequence(Runner(Crew(1))), np.zeros(2, np.int64)
    made = 1 if RUNS_AS_PYTHON else made

    def calls():
        return [
            KernelCall("a", count_on, (Given(), counted), halts=halts),
            KernelCall("a", is_past, (Result(count_on), last)),
        ]

    list(passes.run(lambda: 0, calls, 7, most, count_on))
    assert passes.passes == 1  # called by Python
    assert counted.tolist() == [1, 7]
    for _ in range(2):
        counted[:] = 0
        list(passes.run(lambda: 0, calls, 1, most, count_on))
        assert counted.tolist() == [made, made]
        assert passes.passes == made
        assert passes.result(count_on) == made + 1


def test_takes_others_when_told(runs):
    tables = [np.zeros(2), np.zeros(3)]
    number = 0

    def calls():
        return [KernelCall("a", fill, (tables[number], Given()), halts=ALWAYS)]

    for number in (0, 0, 0, 1, 0, 1):
        list(runs.run(partial(int, number), calls, float(number + 5)))
    assert [table.tolist() for table in tables] == [[5.0] * 2, [6.0] * 3]
    assert runs.result(fill) == 3


def test_errors_are_raised_and_leave_it_usable(runs):
    def calls():
        return [KernelCall("a", refuse, (Given(),))]

    run_twice(runs, calls, 1)
    with pytest.raises(ValueError, match="too many"):
        list(runs.run(lambda: 0, calls, 3))
    list(runs.run(lambda: 0, calls, 2))
    assert runs.result(refuse) == 2


def test_times_of_stages_add_up(runs):
    numbers, seconds = np.zeros(1_000_000), runs._runner.seconds

    def calls():
        return [KernelCall("long", fill, (numbers, 1.0)), KernelCall("short", refuse, (1,))]

    run_twice(runs, calls, 0)  # which compiles
    runs.add_times()
    seconds.clear()
    begin = time.perf_counter()
    run_twice(runs, calls, 0)
    whole = time.perf_counter() - begin
    runs.add_times()
    assert whole > seconds["long"] + seconds["short"]
    assert seconds["long"] > seconds["short"] > 0.0
    before = dict(seconds)
    runs.add_times()
    assert seconds == before


@pytest.mark.skipif(RUNS_AS_PYTHON, reason="one thread in this mode")
def test_the_crew_shares_what_is_marked(monkeypatch):
    monkeypatch.setattr(sequence, "ENOUGH", 1)
    made, out = Sequence(Runner(Crew(3))), np.zeros(PIECES, np.int64)

    def calls():
        return [
            KernelCall("a", count_pieces, (out,), shared=True),
            KernelCall("a", weigh, (np.ones(3),)),
        ]

    for count in range(1, 200):
        list(made.run(lambda: 0, calls, 0))
        assert out.tolist() == [count] * PIECES
        assert made.result(count_pieces) == count * PIECES


@pytest.mark.skipif(RUNS_AS_PYTHON, reason="one thread in this mode")
def test_what_another_thread_raises_is_raised(monkeypatch):
    monkeypatch.setattr(sequence, "ENOUGH", 0)
    made, out = Sequence(Runner(Crew(2))), np.zeros(1, np.int64)

    def calls():
        return [KernelCall("a", fail_in_others, (out,), shared=True)]

    def run_until_it_comes():
        for _ in range(50):
            list(made.run(lambda: 0, calls, 0))

    with pytest.raises(ArithmeticError, match="it failed"):
        run_until_it_comes()
    assert out[0] < 50


def test_copies_have_frames_of_their_own(runs):
    numbers = np.zeros(2)
    run_twice(runs, lambda: [KernelCall("a", fill, (numbers, 1.0))], 0)
    copied = copy.deepcopy(runs)
    others = np.zeros(3)
    run_twice(copied, lambda: [KernelCall("a", fill, (others, 2.0))], 0)
    assert numbers.tolist() == [1.0, 1.0]
    assert others.tolist() == [2.0, 2.0, 2.0]
