"""Threads that share the work of a kernel: one leads, and others take pieces of it where they come in time.

A stage whose work is large calls its kernel through `Crew.run`, which calls it in every thread at once, with
the same arguments, a board and a number. Number 0 leads: it puts up tasks on the board, each divided into
pieces in a way that depends on the work alone, takes pieces like all the others, and waits until the last is
done before it goes on. The others take pieces until the leader has finished. No piece writes what another
one of its task reads or writes, so the result is the same whoever takes which, and with any number of
threads; and since nobody waits for a thread that takes no piece, one that comes late or not at all, because
the machine has other things to do, costs nothing.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from .calls import Calls
from .jit import RUNS_AS_PYTHON, add_to_word, inlined, inner, load_word, pause, store_word

MOST_THREADS = 4  # more have not been measured
LEADER = np.int64(0)  # typed: a literal would compile what it is passed to once more
# Words of a board, each on cache lines of its own.
LEFT, DONE, OVER, TASK, WORDS = 0, 16, 32, 48, 64
NUMBERS, MOST_PIECES = 16, 64
ONLY = np.int64(0)  # the task of a kernel that has but one
IDLE = 20_000  # looks at a board in vain (some 0.7 ms) after which a thread leaves it for a while
REST, LONGEST_REST = 1e-4, 2e-3  # [s] that it then sleeps, and twice as long each time up to
NEVER_DONE = 1 << 40  # more pieces than any task has: a thread has failed, with one in hand perhaps


class Board(NamedTuple):
    """What the threads of a crew tell each other while they are in a kernel."""

    word: np.ndarray  # (WORDS,) pieces left to take, pieces done, whether all is over, task at hand
    number: np.ndarray  # (NUMBERS,) what the task at hand has to know, by its kernel
    tally: np.ndarray  # (MOST_PIECES, 16) what its pieces have counted


def new_board() -> Board:
    """A board with nothing on it."""
    return Board(np.zeros(WORDS, np.int64), np.zeros(NUMBERS), np.zeros((MOST_PIECES, 16), np.int64))


def alone() -> tuple[Board, np.int64]:
    """The last arguments of a kernel that one thread calls, without a crew."""
    return new_board(), LEADER


@inlined
def put_up(board, task, pieces):
    """Begin a task of so many pieces; `board.number` has been written."""
    board.word[TASK] = task
    store_word(board.word, DONE, 0)
    store_word(board.word, LEFT, pieces)


@inlined
def take_piece(board):
    """The number of a piece that is this thread's to do now; negative where none is left."""
    if load_word(board.word, LEFT) <= 0:
        return np.int64(-1)
    return add_to_word(board.word, LEFT, -1) - 1


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
    piece, idle = take_piece(board), 0
    while piece < 0 and thread != LEADER and idle < IDLE and not is_over(board):
        pause()
        piece, idle = take_piece(board), idle + 1
    return piece


class Crew:
    """So many threads, the caller's among them; the others begin with the first work for them."""

    def __init__(self, threads: int | None) -> None:
        """Ask for so many threads; None for as many as this process may use."""
        if threads is None:
            threads = min(usable_processors(), MOST_THREADS)
        self.threads = 1 if RUNS_AS_PYTHON else threads
        self._calls = [Calls() for _ in range(self.threads)]
        self._board = new_board()  # of a leader alone; others may come late, and need one for each run
        self._pool: ThreadPoolExecutor | None = None  # its threads end when nobody refers to it any more

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
        mine = (*arguments, *own[0]) if own else arguments
        if alone or self.threads == 1:
            for words in self._board:
                words.fill(0)
            return self._calls[LEADER](kernel, *mine, self._board, LEADER)
        board = new_board()
        errors: list[BaseException] = []
        for number in range(1, self.threads):
            theirs = (*arguments, *own[number]) if own else arguments
            part = self._calls[number].prepare(kernel, *theirs, board, number)
            self._ask(part, board, errors)
        try:
            result = self._calls[LEADER](kernel, *mine, board, LEADER)
        finally:
            board.word[OVER] = 1
            if errors:  # what the leader raised, if it did, only says that there are some
                raise errors[0]
        return result

    def _ask(self, part: Callable[[], Any], board: Board, errors: list[BaseException]) -> None:
        """Ask another thread to take part."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="Topple")
        with suppress(RuntimeError):  # Python ends, and takes no more work: the leader does it all
            self._pool.submit(_take_part, part, board, errors)


def _take_part(part: Callable[[], Any], board: Board, errors: list[BaseException]) -> None:
    """What the other threads do: call the kernel, which returns where there is nothing to do for a while."""
    rest = REST
    try:
        while not board.word[OVER]:
            part()
            if not board.word[OVER]:
                time.sleep(rest)
                rest = min(2.0 * rest, LONGEST_REST)
    except BaseException as error:  # noqa: BLE001 - the leader raises it
        errors.append(error)
        board.word[DONE] = NEVER_DONE  # or the leader would wait for a piece for ever


def usable_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
