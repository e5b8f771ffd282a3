"""Tables that grow: what a grown one leaves goes back to the system, what nobody wrote to takes no room.

An allocator keeps most of that for later, in holes too small for the next larger table.
"""

import itertools
import math
import mmap
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

LARGE = 1 << 16  # bytes from which an array has pages of its own
HUGE = 1 << 22  # and from which for huge pages, as numpy's own: fewer addresses to look up
CACHE_LINE = 64  # bytes
PRIVATE: dict[str, Any] = {} if os.name == "nt" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}


class ScratchPages(mmap.mmap):
    """Pages that hold nothing of use from one `release` to the next."""


def table(shape: int | tuple[int, ...], dtype: Any = float) -> np.ndarray:
    """Zeros, as `np.zeros` makes them."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE:
        return np.zeros(shape, dtype)
    return np.frombuffer(_pages(mmap.mmap, size), dtype).reshape(shape)


def scratch_tables(*wanted: tuple[tuple[int, ...], Any], sparse: bool = False) -> list[np.ndarray]:
    """Zeros of these shapes and types, one after the other in pages that `release` gives back.

    Args:
        sparse: Most of the room stays untouched, in many places: huge pages would take it all.
    """
    sizes = [math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in wanted]
    starts = [0, *itertools.accumulate(-(-size // CACHE_LINE) * CACHE_LINE for size in sizes)]
    pages = np.frombuffer(_pages(ScratchPages, max(starts[-1], 1), not sparse), np.uint8)
    return [
        pages[start : start + size].view(dtype).reshape(shape)
        for start, size, (shape, dtype) in zip(starts, sizes, wanted, strict=False)
    ]


def _pages(kind: type[mmap.mmap], size: int, huge: bool = True) -> mmap.mmap:
    """Memory pages with room for so many bytes, all of them zero."""
    pages = kind(-1, size, **PRIVATE)
    if huge and size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


def table_of(value: float, shape: int | tuple[int, ...], dtype: Any = float) -> np.ndarray:
    """The same of any value."""
    made = table(shape, dtype)
    made.fill(value)
    return made


def larger(capacity: int) -> int:
    """What a table with so much room is grown to: a large one by a smaller part."""
    return capacity + max(64, min(capacity // 4, 8192), capacity // 8)


def is_short(capacity: int, used: int) -> bool:
    """Whether a table with so much room should grow before more is looked for."""
    return capacity - used < max(8, capacity // 16)


def release(*tables: Iterable[Any]) -> None:
    """Give the pages of the scratch tables among these back to the system: they hold zeros again."""
    given = set()
    for pages in itertools.chain(*tables):
        while isinstance(pages, np.ndarray | memoryview):
            pages = pages.base if isinstance(pages, np.ndarray) else pages.obj
        if isinstance(pages, ScratchPages) and hasattr(mmap, "MADV_DONTNEED") and id(pages) not in given:
            given.add(id(pages))
            pages.madvise(mmap.MADV_DONTNEED)
