"""Work of the window's own thread, done in slices so that the window stays alive. Pure: no bpy."""

import time as clock
from collections.abc import Generator, Iterator, Sequence
from typing import Generic, TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")
# Pauses now and then; what it returns is the result.
Steps = Generator[None, None, Result]
BATCH = 200  # things that are dealt with at once


def completed(steps: Steps[Result]) -> Result:
    """Do the work at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """A sequence in parts that take a fraction of a slice."""
    return (items[i : i + BATCH] for i in range(0, len(items), BATCH))


class Slices(Generic[Result]):
    """Work of which a bit is done whenever `advance` is called.

    Attributes:
        result: What came out; None until all is done.
    """

    def __init__(self, steps: Steps[Result]) -> None:
        self.result: Result | None = None
        self._steps = steps

    def advance(self, seconds: float) -> bool:
        """Take a step, and more until so much time is over [s] or all is done; returns whether it is."""
        end = clock.monotonic() + seconds
        while True:
            try:
                next(self._steps)
            except StopIteration as stop:
                self.result = stop.value
                return True
            if clock.monotonic() >= end:
                return False

    def close(self) -> None:
        """Give the work up; it leaves all as it was."""
        self._steps.close()
