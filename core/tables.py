"""Tables that grow: what a grown one leaves goes back to the system, what nobody wrote to takes no room.

An allocator keeps most of that for later, in holes too small for the next larger table.
"""

import math
import mmap
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

LARGE = 1 << 16  # bytes from which an array has pages of its own
HUGE = 1 << 22  # and from which for huge pages, as numpy's own: fewer addresses to look up
PRIVATE: dict[str, Any] = {} if os.name == "nt" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}


def table(shape: int | tuple[int, ...], dtype: Any = float) -> np.ndarray:
    """Zeros, as `np.zeros` makes them."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return np.zeros(shape, dtype) if size < LARGE else _in_pages(shape, dtype, size)


def scratch_table(shape: int | tuple[int, ...], dtype: Any = float) -> np.ndarray:
    """Zeros of any number that `release` gives back."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return np.zeros(shape, dtype) if size == 0 else _in_pages(shape, dtype, size)


def _in_pages(shape: tuple[int, ...], dtype: Any, size: int) -> np.ndarray:
    """Zeros in memory pages of their own, for so many bytes."""
    pages = mmap.mmap(-1, size, **PRIVATE)
    if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype).reshape(shape)


def table_of(value: float, shape: int | tuple[int, ...], dtype: Any = float) -> np.ndarray:
    """The same of any value."""
    made = table(shape, dtype)
    made.fill(value)
    return made


def larger(capacity: int) -> int:
    """What a table with so much room is grown to."""
    return capacity + max(64, capacity // 8)


def is_short(capacity: int, used: int) -> bool:
    """Whether a table with so much room should grow before more is looked for."""
    return capacity - used < max(8, capacity // 16)


def release(tables: Iterable[Any]) -> None:
    """Give the pages of those among these that have some back to the system: they hold zeros again."""
    for pages in tables:
        while isinstance(pages, np.ndarray | memoryview):
            pages = pages.base if isinstance(pages, np.ndarray) else pages.obj
        if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)
