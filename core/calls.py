"""Kernels that are called again and again with mostly the same arguments.

On the way in from Python numba unpacks each array of each tuple, some 0.2 us for every one of the hundreds
that a step takes: in a small scene more than all arithmetic. `Calls` keeps them unpacked, in a frame of
64-bit words for each kernel; of a call's arguments only those are written that are other objects than those
of the last one. Machine code of a few lines for each kernel (`kernel_entry.Entry`) takes its arguments from
there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .kernel_entry import Entry, Packed, entry_of, is_compiled_kernel

WORD = 8  # bytes
ENOUGH = 32  # calls after which a frame is worth its making (0.6 ms)


class Calls:
    """Calls of kernels by one owner, which makes one at a time and keeps what they take in between."""

    def __init__(self) -> None:
        """Begin with none."""
        self._called: dict[Callable, int] = {}
        self._framed: dict[Callable, FramedKernel] = {}

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Calls, ()  # a copy's kernels take the copy's arrays

    def __call__(self, kernel: Callable, *arguments: Any) -> Any:
        """The same as kernel(*arguments)."""
        if kernel in self._framed or self._is_worth_a_frame(kernel):
            return self.frame(kernel, *arguments).run()
        return kernel(*arguments)

    def frame(self, kernel: Callable, *arguments: Any) -> "FramedKernel":
        """The frame of a compiled kernel, with these arguments in it."""
        framed = self._framed.get(kernel)
        if framed is None:
            framed = self._framed[kernel] = FramedKernel(entry_of(kernel, arguments))
        framed.fill(arguments)
        return framed

    def forget(self) -> None:
        """Let go of all arguments."""
        self._called.clear()
        self._framed.clear()

    def error(self, kernel: Callable) -> BaseException:
        """What the last call of a kernel by its frame raised."""
        return self._framed[kernel].error()

    def _is_worth_a_frame(self, kernel: Callable) -> bool:
        """Whether a kernel, not one that runs as Python, has been called often enough."""
        self._called[kernel] = self._called.get(kernel, 0) + 1
        return self._called[kernel] > ENOUGH and is_compiled_kernel(kernel)


class FramedKernel:
    """A kernel and the frame of its arguments."""

    def __init__(self, entry: Entry, words: np.ndarray | None = None) -> None:
        """Empty; in these words, `entry.size` many, or in some of its own."""
        self._entry = entry
        self._words = np.zeros(entry.size, np.int64) if words is None else words
        # The arguments that are written there; none is this.
        self._held: list[Any] = [self] * len(entry.kinds)
        self._integers, self._reals = self._words.data, self._words.view(float).data
        self._bytes = self._integers.cast("B")
        self.code, self.address = entry.address, self._words.ctypes.data

    def fill(self, arguments: tuple, packed: Packed | None = None) -> None:
        """Write the arguments that are not there yet; see `Entry.pack` for `packed`."""
        held, first = self._held, self._entry.first
        packed = {} if packed is None else packed
        if len(arguments) != len(held):
            raise TypeError(f"{self._entry.name} takes {len(held)} arguments, not {len(arguments)}")
        for k, value in enumerate(arguments):
            if value is not held[k]:
                self._bytes[WORD * first[k] : WORD * first[k + 1]] = self._entry.pack(k, value, packed)
                held[k] = value

    def forget(self) -> None:
        """Let go of the arguments."""
        self._held = [self] * len(self._held)

    def run(self) -> Any:
        """Call the kernel."""
        return self._entry.run(self.address, self._integers, self._reals)

    def place(self, k: int) -> int:
        """Of which word on argument `k` lies."""
        return self._entry.first[k]

    @property
    def result_place(self) -> int:
        """Of which word on the result lies."""
        return self._entry.first[-1] + 1

    def result(self) -> Any:
        """What the last call returned."""
        return self._entry.result(self._integers, self._reals)

    def error(self) -> BaseException:
        """What the last call raised."""
        return self._entry.error(self._integers)
