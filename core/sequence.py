"""Kernels called one after the other, without Python in between.

A kernel of a large scene goes through more memory than a processor keeps at hand, so what Python needs for
the next call has to be brought back first: that takes 25 us, where the call by itself takes 2.5 (measured).
With some twenty kernels in a step it was an eighth to a quarter of its time. `Sequence` keeps the arguments
of its kernels unpacked in frames (see calls.py) and goes from one to the next in machine code, `run_calls`.
A number that differs from run to run, or that one kernel finds for others, is copied from word to word
there; where Python has something to do, it halts.
"""

import itertools
import time
from collections.abc import Callable, Hashable, Iterator
from collections.abc import Sequence as SequenceOf
from typing import Any, NamedTuple

import numpy as np

from .calls import FramedKernel
from .crew import FAILED, IN, LEADER, OVER, UP, Board, Crew
from .intrinsics import call_address, clock, load_word, pause, store_word
from .jit import RUNS_AS_PYTHON, inlined, inner, kernel
from .kernel_entry import Packed, entry_of
from .report import Stage

ENOUGH = 32  # runs after which frames are worth their making (10 ms)
# After which calls Python has something to do.
NEVER, ALWAYS, NOT_ZERO, NEGATIVE = range(4)
# Columns of a sequence's table: addresses of the code, of the leader's frame alone and of that with the crew;
# the words of their results, and of the result that is a condition; when to halt, and the links.
CODE, FRAME, SHARED, RESULT, SHARED_RESULT, CONDITION, HALTS, FIRST_LINK, LAST_LINK, COLUMNS = range(10)
# The first words: the call to begin with; whether the crew has gathered, or was in what failed; the number
# that is given; how many passes are left, the one at hand included; the word with the number for the next;
# the call after which it halts in any case.
BEGIN, WITH_CREW, NUMBER, PASSES, NEXT_NUMBER, HALT, FIRST_FRAME = range(7)
PATIENCE = 300  # looks (some 10 us) for which the leader waits until the others have left the last kernel


class Given:
    """An argument that differs from run to run: the number given to it."""


class Result(NamedTuple):
    """An argument that is what an earlier kernel of the sequence has returned."""

    kernel: Callable


class KernelCall(NamedTuple):
    """A kernel, what it is called with, and what stage of a step it is part of."""

    stage: str
    kernel: Callable
    arguments: tuple
    own: SequenceOf[tuple] = ()  # more arguments, for each thread of the crew some of its own
    shared: bool | None = None  # whether the crew shares the work; None: the kernel takes no board
    halts: int = NEVER
    only_after: Callable | None = None  # an earlier kernel: this one is called where its result is not 0


class Runner:
    """Calls kernels for one owner, alone or with a crew, and adds up the time of each stage."""

    def __init__(self, crew: Crew) -> None:
        """Begin with no time spent."""
        self.crew = crew
        self.seconds: dict[str, float] = {}

    def stage(self, name: str) -> Stage:
        """Adds the time of what it encloses to that of a stage."""
        return Stage(name, self.seconds)

    def do(self, call: KernelCall) -> Any:
        """Make one call; returns what the kernel does."""
        with self.stage(call.stage):
            if call.shared is None:
                return call.kernel(*call.arguments)
            return self.crew.run(call.kernel, *call.arguments, own=call.own, alone=not call.shared)


def _value(argument: Any, results: dict[Callable, Any], given: float) -> Any:
    if isinstance(argument, Given):
        return given
    return results[argument.kernel] if isinstance(argument, Result) else argument


def _halts_in_python(when: int, result: Any) -> bool:
    return when == ALWAYS or (when == NOT_ZERO and result != 0) or (when == NEGATIVE and result < 0)


_halts = inlined(_halts_in_python)


@inner
def _call_in_all(code, mine, theirs, notice, address, board):
    """Call a kernel in all threads of a crew; whether one has failed. See `Crew.run`."""
    for number in range(1, address.shape[0]):
        address[number, 0], address[number, 1] = code, theirs[number]
    board[:] = 0
    store_word(notice, UP, 1)
    failed = call_address(code, mine) > 0
    store_word(notice, UP, 0)
    store_word(board, OVER, 1)
    for number in range(1, address.shape[0]):
        failed = failed or notice[IN * number] == FAILED
    return failed


@inner
def _others_are_out(notice, threads):
    """Whether all threads have left the last kernel: one that was held up may be in for long."""
    for number in range(1, threads):
        looks = 0
        while load_word(notice, IN * number) != 0:
            if looks == PATIENCE:
                return False
            pause()
            looks += 1
    return True


@kernel
def run_calls(table, link, theirs, word, ticks, notice, address, alone, shared):
    """Call the kernels of a sequence from word[BEGIN] on, and all again while the last returns 0.

    Args:
        table: A row for each call.
        link: Of which words copies go where before a call, shape (links, 2).
        theirs: Addresses of the other threads' frames, shape (calls, threads).
        word: The words of all frames; of passes no more are made than word[PASSES].
        ticks: Time that each call took: added to.
        notice, address: See `Crew`.
        alone, shared: The words of its boards.

    Returns:
        Number of the call after which Python has something to do, or of calls in all; if one failed -1 less
        its number.
    """
    gathered, k = word[WITH_CREW] > 0, word[BEGIN]
    while k < table.shape[0]:
        call = table[k]
        if call[CONDITION] > 0 and word[call[CONDITION]] == 0:
            word[call[RESULT]] = 0
        else:
            start = clock()
            for i in range(call[FIRST_LINK], call[LAST_LINK]):
                word[link[i, 1]] = word[link[i, 0]]
            shares = call[SHARED] > 0 and gathered and _others_are_out(notice, address.shape[0])
            if shares:
                failed = _call_in_all(call[CODE], call[SHARED], theirs[k], notice, address, shared)
                word[call[RESULT]] = word[call[SHARED_RESULT]]
            else:
                alone[:] = 0
                failed = call_address(call[CODE], call[FRAME]) > 0
            ticks[k] += clock() - start
            if failed:
                word[WITH_CREW] = shares
                return -1 - k
            if k == word[HALT] or _halts(call[HALTS], word[call[RESULT]]):
                return k
        k += 1
        if k == table.shape[0] and word[PASSES] > 1 and word[call[RESULT]] == 0:
            word[NUMBER] = word[word[NEXT_NUMBER]]
            word[PASSES] -= 1
            k = 0
    return k


def call_nothing(crew: Crew) -> None:
    """Compile `run_calls`."""
    none, word = np.zeros((0, COLUMNS), np.int64), np.zeros(FIRST_FRAME, np.int64)
    run_calls(none, none, none, word, word, crew.notice, crew.address, word, word)


class Sequence:
    """Kernels that one owner calls one after the other, again and again."""

    def __init__(self, runner: Runner) -> None:
        """Begin with none."""
        self._runner, self._runs, self.passes = runner, 0, 0
        self.key: Any = None  # of the last run
        self._calls: list[KernelCall] = []
        self._results: dict[Callable, Any] = {}
        self._frames: _Frames | None = None
        self._is_framed = self._again = False

    def __reduce__(self) -> tuple[type, tuple[Runner]]:
        return Sequence, (self._runner,)  # a copy's kernels take the copy's arrays

    def run(
        self,
        key: Callable[[], Hashable],
        calls: Callable[[], list[KernelCall]],
        given: float,
        most: int = 1,
        next_given: Callable | None = None,
        halt: Callable | None = None,
    ) -> Iterator[Callable]:
        """Call them; yields each kernel after which it halts.

        Where all have been called and the last has returned 0 they are called again, in another pass, but not
        if it halted, nor by Python. `passes` counts these.

        Args:
            key: Tells whether the arguments are those of the last run: the same key, the same objects.
            calls: What to call: the same kernels each time.
            given: What `Given` stands for; always of one type.
            most: How many passes to make at most.
            next_given: The kernel whose result is what `Given` stands for in the next of them.
            halt: The kernel after which it halts in any case, if it is among them.
        """
        self._runs += 1
        self._is_framed = not RUNS_AS_PYTHON and self._runs > ENOUGH
        self._take(key, calls)
        self._begin(given, most, next_given, halt)
        k = 0
        while k < len(self._calls):
            k = self._go_on(k, given, halt)
            if k < len(self._calls):
                self._again = False
                yield self._calls[k].kernel
                self._take(key, calls)
                k += not self._again

    def _begin(self, given: float, most: int, next_given: Callable | None, halt: Callable | None) -> None:
        """Get ready for so many passes."""
        self.passes = 1
        if not self._is_framed:
            return
        if self._frames is None:
            self._runner.crew.forget()
            self._frames = _Frames(self._runner, self._calls, self._results, given)
        self._frames.begin(given, most, next_given, halt)

    def call_again(self) -> None:
        """Have the kernel after which it has halted called once more."""
        self._again = True

    def forget(self) -> None:
        """Let go of the arguments of the last run."""
        self.key, self._calls = None, []
        if self._frames is not None:
            self._frames.forget()

    def result(self, kernel: Callable) -> Any:
        """What a kernel returned in the last run."""
        if self._is_framed and self._frames is not None:
            return self._frames.result(kernel)
        return self._results[kernel]

    def add_times(self) -> None:
        """Add what was spent in machine code to the stages' times."""
        if self._frames is not None:
            self._frames.add_times(self._runner.seconds)

    def _take(self, key: Callable[[], Hashable], calls: Callable[[], list[KernelCall]]) -> None:
        """Take the arguments, where others have come."""
        now = key()
        if now != self.key:
            self.key, self._calls = now, calls()
            if self._frames is not None:
                self._frames.fill(self._calls)

    def _go_on_in_python(self, first: int, given: float, halt: Callable | None) -> int:
        """Make the calls from one on; returns after which Python has something to do, or their number."""
        results = self._results
        for k, call in enumerate(self._calls[first:], first):
            if call.only_after is not None and not results[call.only_after]:
                results[call.kernel] = 0
                continue
            arguments = tuple(_value(argument, results, given) for argument in call.arguments)
            results[call.kernel] = self._runner.do(call._replace(arguments=arguments))
            if call.kernel is halt or _halts_in_python(call.halts, results[call.kernel]):
                return k
        return len(self._calls)

    def _go_on(self, first: int, given: float, halt: Callable | None) -> int:
        """The same in machine code, where it has its frames."""
        if not self._is_framed or self._frames is None:
            return self._go_on_in_python(first, given, halt)
        last, self.passes = self._frames.run(first)
        return last


class _Frames:
    """The frames of each kernel of a sequence: the leader's alone, its with the crew, the other threads'."""

    def __init__(
        self, runner: Runner, calls: list[KernelCall], results: dict[Callable, Any], given: float
    ) -> None:
        """Make them, with these arguments in them.

        Args:
            results, given: Of the last run; they have the types of those to come.
        """
        self._runner, self._given = runner, given
        self._results = dict.fromkeys((call.kernel for call in calls), 0) | results
        threads = runner.crew.threads
        entries = [
            entry_of(call.kernel, self._arguments(call, LEADER, runner.crew.alone_board)) for call in calls
        ]
        sizes = np.repeat([entry.size for entry in entries], 1 + threads)
        first = np.cumsum([FIRST_FRAME, *sizes])
        self._word = np.zeros(first[-1], np.int64)
        self._integers: Any = self._word.data
        self._reals: Any = self._word.view(float).data
        self._first = first[:-1].reshape(len(calls), 1 + threads)
        self._framed = [
            [FramedKernel(entry, self._word[at : at + entry.size]) for at in starts]
            for entry, starts in zip(entries, self._first.tolist(), strict=True)
        ]
        self._row = {call.kernel: k for k, call in enumerate(calls)}
        self._stages = [call.stage for call in calls]
        self._ticks, self._seconds, self._most = np.zeros(len(calls), np.int64), 0.0, 1
        self.shared: list[Callable] = []  # kernels whose work the crew shares
        self._run: Any = None
        runner.crew.hold(self)
        self.fill(calls)

    def fill(self, calls: list[KernelCall]) -> None:
        """Write the arguments that are not there yet."""
        crew, links, packed = self._runner.crew, [(0, 0)], Packed()
        crew.wait_for_late()
        table = np.zeros((len(calls), COLUMNS), np.int64)
        theirs = np.zeros((len(calls), crew.threads), np.int64)
        for k, call in enumerate(calls):
            mine, row = self._framed[k], table[k]
            row[CODE], row[FRAME], row[HALTS] = mine[0].code, mine[0].address, call.halts
            row[RESULT] = self._result_word(call.kernel)
            row[CONDITION] = 0 if call.only_after is None else self._result_word(call.only_after)
            row[SHARED] = mine[1].address if call.shared else 0
            row[SHARED_RESULT] = self._first[k, 1] + mine[1].result_place
            row[FIRST_LINK] = len(links)
            links += self._fill(k, 0, call, LEADER, crew.alone_board, packed)
            for number in range(crew.threads if call.shared else 0):
                links += self._fill(k, 1 + number, call, np.int64(number), crew.shared_board, packed)
                theirs[k, number] = mine[1 + number].address
            row[LAST_LINK] = len(links)
        self.shared = [call.kernel for call in calls if call.shared]
        arguments = (
            table, np.array(links, np.int64), theirs, self._word, self._ticks, crew.notice, crew.address,
            crew.alone_board.word, crew.shared_board.word,
        )  # fmt: skip
        if self._run is None:
            self._run = FramedKernel(entry_of(run_calls, arguments))
        self._run.fill(arguments)

    def forget(self) -> None:
        """Let go of all arguments."""
        self._runner.crew.wait_for_late()
        for framed in itertools.chain(*self._framed):
            framed.forget()

    def _fill(
        self, k: int, column: int, call: KernelCall, number: np.int64, board: Board, packed: Packed
    ) -> list[tuple]:
        """Write one frame's arguments; returns which words go where before a call."""
        framed, first = self._framed[k][column], int(self._first[k, column])
        framed.fill(self._arguments(call, number, board), packed)
        return [
            (self._source(argument), first + framed.place(j))
            for j, argument in enumerate(call.arguments)
            if isinstance(argument, Given | Result)
        ]

    def _arguments(self, call: KernelCall, number: np.int64, board: Board) -> tuple:
        """What a thread calls a kernel with."""
        arguments = tuple(_value(argument, self._results, self._given) for argument in call.arguments)
        if call.shared is None:
            return arguments
        return (*arguments, *(call.own[int(number)] if call.own else ()), board, number)

    def _source(self, argument: Given | Result) -> int:
        if isinstance(argument, Given):
            return NUMBER
        return self._result_word(argument.kernel)

    def _result_word(self, kernel: Callable) -> int:
        k = self._row[kernel]
        return int(self._first[k, 0]) + self._framed[k][0].result_place

    def begin(self, given: float, most: int, next_given: Callable | None, halt: Callable | None) -> None:
        """Get ready for so many passes; see `Sequence.run`."""
        integers, self._most = self._integers, most
        (self._reals if isinstance(given, float) else integers)[NUMBER] = given
        integers[PASSES] = most
        if most > 1 and next_given is not None:
            integers[NEXT_NUMBER] = self._result_word(next_given)
        integers[HALT] = -1 if halt is None else self._row.get(halt, -1)

    def run(self, first: int) -> tuple[int, int]:
        """Make the calls from one on.

        Returns:
            After which Python has something to do, or their number; and how many passes have begun.
        """
        integers = self._integers
        integers[BEGIN] = first
        integers[WITH_CREW] = bool(self.shared) and self._runner.crew.gather(self.error)
        begin = time.perf_counter()
        last = self._run.run()
        self._seconds += time.perf_counter() - begin
        if last < 0:
            self._runner.crew.raise_errors()
            raise self._framed[-1 - last][integers[WITH_CREW]].error()
        self._most -= integers[PASSES] - 1
        integers[PASSES] = 1  # where it halts no other follows
        return last, self._most

    def result(self, kernel: Callable) -> Any:
        """What a kernel returned in the last run."""
        return self._framed[self._row[kernel]][0].result()

    def error(self, number: int) -> BaseException:
        """What a thread raised in the kernel that it was last told to call."""
        theirs = (framed[1 + number] for framed in self._framed)
        return next(f for f in theirs if f.address == self._runner.crew.address[number, 1]).error()

    def add_times(self, seconds: dict[str, float]) -> None:
        """Add what was spent since the last time to the stages' times."""
        whole = float(self._ticks.sum())
        for stage, ticks in zip(self._stages, self._ticks.tolist(), strict=True):
            seconds[stage] = seconds.get(stage, 0.0) + (self._seconds * ticks / whole if whole else 0.0)
        self._ticks[:], self._seconds = 0, 0.0
