"""Threads that share the work of a kernel: one leads, and others take pieces of it where they come in time.

A stage whose work is large has its kernel called in every thread at once, by `Crew.run` or within a sequence
(see sequence.py), with the same arguments, a board and a number. Number 0 leads: it puts up tasks on the
board, each divided into pieces, takes pieces like all the others, and waits until the last is done before it
goes on. The others take pieces until the leader has finished. The leader takes the last pieces and the
others the first ones, so that most pieces are done by the same thread each time, in whose cache they are
still. No piece writes what another one of its task reads or writes, and no sum depends on the number of
threads, so the result is the same whoever takes which, and with any number of them; and since nobody waits
for a thread that takes no piece, one that comes late or not at all, because the machine has other things to
do, costs nothing.

From stage to stage the others wait in a kernel (`attend`), so that none needs Python's lock to begin or to
end: the leader writes where the machine code is and where its arguments are, then on a notice that something
is up. Where nothing has been for a while their threads end, and are made anew with the next work.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .calls import Calls
from .intrinsics import add_to_word, call_address, load_word, pause, store_word
from .jit import RUNS_AS_PYTHON, inlined, inner, kernel, merged

MOST_THREADS = 4  # more have not been measured
LEADER = np.int64(0)  # typed: a literal would compile what it is passed to once more
# Words of a board, on cache lines of their own but for KEPT, which the leader alone reads. LEFT has the first
# of the pieces left in its lower half, and the one after the last in its upper half.
LEFT, DONE, OVER, TASK, KEPT, WORDS = 0, 16, 32, 48, 49, 64
HALF = np.int64(32)  # bits
LOWER_HALF = (1 << 32) - 1
NUMBERS, MOST_PIECES = 16, 64
ONLY = np.int64(0)  # the task of a kernel that has but one
FIRST, SECOND = np.int64(0), np.int64(1)  # those of one that has several
# Looks in vain (some 10 ms; the serial work of a step takes 1 ms, seldom 5) after which a thread ends; or,
# where something is up, leaves its board for a while: so long [s], and twice as long each time up to the
# second.
IDLE, REST, LONGEST_REST = 300_000, 1e-4, 2e-3
NEVER_DONE = 1 << 40  # more pieces than any task has: a thread has failed, with one in hand perhaps
UP, IN, FAILED = 0, 16, 2  # words of a notice: whether something is up, each thread's; and of one that failed


class Board(NamedTuple):
    """What the threads of a crew tell each other while they are in a kernel."""

    word: np.ndarray  # (WORDS,) pieces left to take, pieces done, whether all is over, task, a piece kept
    number: np.ndarray  # (NUMBERS,) what the task at hand has to know, by its kernel
    tally: np.ndarray  # (MOST_PIECES, 16) what its pieces have counted


def new_board() -> Board:
    """A board with nothing on it."""
    return Board(np.zeros(WORDS, np.int64), np.zeros(NUMBERS), np.zeros((MOST_PIECES, 16), np.int64))


def alone() -> tuple[Board, np.int64]:
    """The last arguments of a kernel that one thread calls, without a crew."""
    return new_board(), LEADER


@inlined
def pieces_of(count, size):
    """In how many pieces of about this size so many things are divided."""
    return min(max(count // size, 1), MOST_PIECES)


@inlined
def put_up(board, task, pieces):
    """Begin a task of so many pieces; `board.number` has been written."""
    board.word[TASK] = task
    store_word(board.word, DONE, 0)
    if pieces == 1:  # the leader keeps it: it need not wait for another thread
        board.word[KEPT] = 1
    else:
        store_word(board.word, LEFT, pieces << HALF)


@inlined
def take_piece(board, thread):
    """The number of a piece that is this thread's to do now; negative where none is left."""
    if thread == LEADER and board.word[KEPT] > 0:
        board.word[KEPT] = 0
        return np.int64(0)
    left = load_word(board.word, LEFT)
    if left >> HALF <= left & LOWER_HALF:
        return np.int64(-1)
    left = add_to_word(board.word, LEFT, -(np.int64(1) << HALF) if thread == LEADER else np.int64(1))
    end, first = left >> HALF, left & LOWER_HALF
    if end <= first:  # another thread took the last
        return np.int64(-1)
    return end - 1 if thread == LEADER else first


@inlined
def piece_done(board):
    """Say that the piece taken last is done."""
    add_to_word(board.word, DONE, 1)


@inner
def wait_for_all(board, pieces):
    """Wait until all pieces of the task are done; raises where one never will be."""
    while load_word(board.word, DONE) < pieces:
        pause()
    if load_word(board.word, DONE) >= NEVER_DONE:
        raise RuntimeError("another thread has failed")


@inlined
def is_over(board):
    """Whether the leader has finished."""
    return load_word(board.word, OVER) != 0


@inner
def next_piece(board, thread):
    """A piece to do now, or a negative number: the leader then waits until all are done, the others return.

    That is where none is left, for the others none has come for a while, or all is over.
    """
    piece, idle = take_piece(board, thread), 0
    while piece < 0 and thread != LEADER and idle < IDLE and not is_over(board):
        pause()
        piece, idle = take_piece(board, thread), idle + 1
    return piece


@merged
def next_piece_in_turn(board, thread, pieces):
    """The same where tasks follow each other, from FIRST on, which is up: the leader puts up the others.

    Args:
        pieces: How many each has, a tuple.
    """
    piece = next_piece(board, thread)
    while piece < 0 and thread == LEADER:
        task = board.word[TASK] + 1
        wait_for_all(board, pieces[task - 1])
        if task == len(pieces):
            break
        put_up(board, task, pieces[task])
        piece = next_piece(board, thread)
    return piece


@kernel
def tell(word, index, value):
    """Write a word of a notice; who reads it finds all that was written before."""
    store_word(word, index, value)


@kernel
def attend(notice, address, board, thread):
    """Take part in what is up, time and again, until nothing has been for a while.

    Args:
        notice, address: See `Crew`.
        board: The words of its board.

    Returns:
        Whether something is up, which had nothing to do for a while.
    """
    idle = 0
    while idle < IDLE:
        if load_word(notice, UP) == 0:
            pause()
            idle += 1
            continue
        store_word(
            notice, IN * thread, 1
        )  # before the second look: now the leader leaves it up, or sees this
        failed, up = False, load_word(notice, UP) != 0
        if up:
            failed, idle = call_address(address[thread, 0], address[thread, 1]) > 0, 0
        if failed:
            store_word(notice, IN * thread, FAILED)
            store_word(board, DONE, NEVER_DONE)  # or the leader would wait for a piece for ever
            return False
        store_word(notice, IN * thread, 0)
        if up and not load_word(board, OVER):
            return True
    return False


class Crew:
    """So many threads, the caller's among them; the others begin with the first work for them."""

    def __init__(self, threads: int | None) -> None:
        """Ask for so many threads; None for as many as this process may use."""
        if threads is None:
            threads = min(usable_processors(), MOST_THREADS)
        self.threads = 1 if RUNS_AS_PYTHON else threads
        self._calls = [Calls() for _ in range(self.threads)]
        self.alone_board, self.shared_board = new_board(), new_board()
        self.board = self.alone_board  # of the last run
        # Whether something is up; for each thread but the leader whether it is in: on lines of their own.
        self.notice = np.zeros(IN * self.threads, np.int64)
        self.address = np.zeros((self.threads, 2), np.int64)  # of the machine code, of each one's arguments
        self._error_of: Callable[[int], BaseException] | None = None  # what each one's raised
        self._others: dict[int, threading.Thread] = {}
        self._held: list[Any] = []  # what else they may take from

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return Crew, (self.threads,)  # a copy has threads of its own

    def run(self, kernel: Callable, *arguments: Any, own: Sequence[tuple] = (), alone: bool = False) -> Any:
        """Call kernel(*arguments, *own[number], board, number) in all threads; returns what the leader does.

        Args:
            own: More arguments, for each thread some of its own.
            alone: The work is not worth dividing: the leader is called only.

        Raises:
            Exception: Whatever one of the threads raised; what the kernel writes is then not whole.
        """
        shared = not (alone or self.threads == 1) and self._may_share(kernel, arguments, own)
        self.board = self.shared_board if shared else self.alone_board
        if not shared:
            self.alone_board.word[:] = 0
        mine = (*arguments, *own[0]) if own else arguments
        try:
            if shared:
                self._call_others()
            return kernel(*mine, self.board, LEADER)
        finally:
            if shared:
                tell(self.notice, UP, 0)
                tell(self.shared_board.word, OVER, 1)
                self.raise_errors()

    def _may_share(self, kernel: Callable, arguments: tuple, own: Sequence[tuple]) -> bool:
        """Whether the other threads may take part; what they will call is then written down."""
        self.raise_errors()
        # One that was held up may be in still; and while Python ends it waits for the others to end.
        if self.notice[IN::IN].any() or not threading.main_thread().is_alive():
            return False
        self.shared_board.word[:] = 0
        self._error_of = lambda number: self._calls[number].error(kernel)
        for number in range(1, self.threads):
            theirs = (*arguments, *own[number]) if own else arguments
            framed = self._calls[number].frame(kernel, *theirs, self.shared_board, number)
            self.address[number] = framed.code, framed.address
        return True

    def _call_others(self) -> None:
        """Say that something is up, then make the threads that are not there: they find it at once."""
        tell(self.notice, UP, 1)
        self._begin_others()

    def _begin_others(self) -> None:
        for number in range(1, self.threads):
            if number not in self._others or not self._others[number].is_alive():
                self._begin(number)

    def gather(self, error_of: Callable[[int], BaseException]) -> bool:
        """Have the other threads attend to what a kernel will put up (see `sequence`); whether they may.

        Args:
            error_of: What a thread raised there.
        """
        self.raise_errors()
        if self.threads == 1 or not threading.main_thread().is_alive():
            return False
        self._error_of = error_of
        self._begin_others()
        return True

    def hold(self, what: Any) -> None:
        """Keep what other threads may take from for as long as they live."""
        self._held.append(what)

    def forget(self) -> None:
        """Let go of what kernels were last called with by `run`."""
        self.wait_for_late()
        for calls in self._calls:
            calls.forget()

    def wait_for_late(self) -> None:
        """Wait until no thread is in a kernel still: what they take from is about to change."""
        while (self.notice[IN::IN] == 1).any():
            time.sleep(0.0)

    def _begin(self, number: int) -> None:
        own = self._calls[number], self._held
        what_it_takes = self.notice, self.address, self.shared_board.word, number, own
        self._others[number] = threading.Thread(
            target=_take_part, args=what_it_takes, name=f"Topple_{number}"
        )
        with suppress(RuntimeError):  # there are too many: the leader does it all
            self._others[number].start()

    def raise_errors(self) -> None:
        """Raise what another thread did; what the leader raised, if anything, only says that one did."""
        for number in range(1, self.threads):
            if self._error_of is not None and self.notice[IN * number] == FAILED:
                self.notice[IN * number] = 0
                raise self._error_of(number)


def _take_part(notice: np.ndarray, address: np.ndarray, board: np.ndarray, number: int, own: tuple) -> None:
    """What the other threads do, until nothing has been up for a while.

    Args:
        own: What they take from, held while it may be read: a crew may be gone before one that comes late.
    """
    rest = REST
    while attend(notice, address, board, number):
        time.sleep(rest)
        rest = min(2.0 * rest, LONGEST_REST)


def usable_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
