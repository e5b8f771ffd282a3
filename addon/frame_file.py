"""The frames of a bake in one file, appended as they come. Pure: no bpy.

A frame that is not all there at the end of the file was being written when the bake was killed: it is not
read, and the next one takes its place. A file for each frame would take several times as long to write.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .bake_frames import BakedFrame

_HEAD = np.dtype([("checksum", "<u4"), ("size_checksum", "<u4"), ("bodies", "<u4"), ("contacts", "<u4")])
_CHECKSUM, _SIZES = 4, slice(8, 16)  # bytes: the checksum is of all that comes after it


def append_frame(path: Path, frame: BakedFrame) -> None:
    """Write a frame to the end of a file, which is made where there is none.

    Raises:
        OSError: The disk refuses; a part of the frame may be there.
    """
    bodies, contacts = len(frame.position), len(frame.contact_body)
    record = np.zeros(1, _record(bodies, contacts))
    record["bodies"], record["contacts"] = bodies, contacts
    record["size_checksum"] = zlib.crc32(record.view(np.uint8)[_SIZES])
    for name in BakedFrame.__annotations__:
        record[name] = getattr(frame, name)
    record["checksum"] = zlib.crc32(record.view(np.uint8)[_CHECKSUM:])
    with path.open("ab") as file:
        file.write(record)


def read_frames(path: Path) -> list[BakedFrame]:
    """All whole frames of a file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is damaged.
    """
    content, frames = path.read_bytes(), []
    for start, record in _records(content):
        checked = memoryview(content)[start + _CHECKSUM : start + record.dtype.itemsize]
        if record["checksum"] != zlib.crc32(checked):
            raise ValueError(f"the checksum of frame {len(frames)} does not fit")
        frames.append(BakedFrame(**{name: record[name] for name in BakedFrame.__annotations__}))
    return frames


def cut_frames(path: Path, count: int) -> None:
    """Take away what a file has after so many frames.

    Raises:
        OSError: The disk refuses.
        ValueError: It is damaged.
    """
    ends = [0, *(start + record.dtype.itemsize for start, record in _records(path.read_bytes()))]
    with path.open("r+b") as file:
        file.truncate(ends[min(count, len(ends) - 1)])


def _records(content: bytes) -> Iterator[tuple[int, np.void]]:
    """First byte and content of each whole frame.

    Raises:
        ValueError: The sizes of a frame are damaged.
    """
    start = 0
    while start + _HEAD.itemsize <= len(content):
        head = np.frombuffer(content, _HEAD, 1, start)[0]
        if head["size_checksum"] != zlib.crc32(content[start + _SIZES.start : start + _SIZES.stop]):
            raise ValueError("the checksum of a frame's sizes does not fit")
        kind = _record(int(head["bodies"]), int(head["contacts"]))
        if start + kind.itemsize > len(content):
            return
        yield start, np.frombuffer(content, kind, 1, start)[0]
        start += kind.itemsize


def _record(bodies: int, contacts: int) -> np.dtype:
    """The layout of a frame: its head, and the arrays of `BakedFrame`."""
    return np.dtype(
        [
            *_HEAD.descr,
            ("figures", "<f8", (3,)),
            ("position", "<f8", (bodies, 3)),
            ("orientation", "<f8", (bodies, 4)),
            ("linear_velocity", "<f8", (bodies, 3)),
            ("angular_velocity", "<f8", (bodies, 3)),
            ("contact_body", "<i4", (contacts, 2)),
            ("contact_point", "<f4", (contacts, 3)),
            ("contact_normal", "<f4", (contacts, 3)),
            ("contact_force", "<f4", (contacts, 3)),
            ("contact_depth", "<f4", (contacts,)),
        ]
    )
