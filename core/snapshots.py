"""Snapshots of a simulation on disk: nested values, arrays apart from their structure, no pickle."""

import io
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import SceneError
from .kernel_folder import source_hash
from .report import ContactEvent

_HEAD = struct.Struct("<IQ")  # checksum of all that follows it, number of words
_CHECKSUM = 4  # bytes
_WORD = np.dtype("<u8")
_PLAIN = (bool, int, float, str, type(None))
_GROUPS = {"list": list, "tuple": tuple, "set": set}


def pack(snapshot: dict[str, Any]) -> bytes:
    """The bytes of a snapshot: a structure in JSON and the arrays it numbers, one after the other.

    Most of a snapshot is room that is not in use, so of all this only the words that are not zero are kept.

    Raises:
        TypeError: The snapshot holds something that is neither plain, nor an array, nor a group of these.
    """
    arrays: list[np.ndarray] = []
    tree = _describe(snapshot, arrays)
    header = {"sources": source_hash(), "arrays": len(arrays), "tree": tree}
    buffer = io.BytesIO()
    for array in (np.array(json.dumps(header)), *arrays):
        np.save(buffer, array, allow_pickle=False)
    buffer.write(bytes(-buffer.tell() % _WORD.itemsize))
    words = np.frombuffer(buffer.getbuffer(), _WORD)
    used = words != 0
    packed = bytearray(_HEAD.pack(0, len(words)) + np.packbits(used).tobytes() + words[used].tobytes())
    struct.pack_into("<I", packed, 0, zlib.crc32(memoryview(packed)[_CHECKSUM:]))
    return bytes(packed)


def unpack(content: bytes, like: dict[str, Any]) -> dict[str, Any]:
    """The snapshot that `pack` wrote.

    Args:
        content: The bytes.
        like: A snapshot of the same simulation, of any time: it has the types of the tuples with names.

    Raises:
        SceneError: These are no bytes of a whole snapshot by this very version of the solver.
    """
    checksum, count = _HEAD.unpack(content[: _HEAD.size].ljust(_HEAD.size))
    if len(content) < _HEAD.size or checksum != zlib.crc32(memoryview(content)[_CHECKSUM:]):
        raise SceneError("the snapshot is not whole; start again")
    flags = np.frombuffer(content, np.uint8, -(-count // 8), _HEAD.size)
    words = np.zeros(count, _WORD)
    words[np.unpackbits(flags, count=count) > 0] = np.frombuffer(
        content, _WORD, offset=_HEAD.size + len(flags)
    )
    buffer = io.BytesIO(words.tobytes())
    header = json.loads(str(np.load(buffer, allow_pickle=False)))
    if header["sources"] != source_hash():
        raise SceneError("the snapshot was made by another version of Topple; start again")
    arrays = [np.load(buffer, allow_pickle=False) for _ in range(header["arrays"])]
    types: dict[str, type] = {}
    _collect_types(like, types)
    return _rebuild(header["tree"], arrays, types)


def _describe(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        return {"plain": value}
    if isinstance(value, dict):
        return {"dict": [[_describe(k, arrays), _describe(v, arrays)] for k, v in value.items()]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"named": type(value).__name__, "items": [_describe(item, arrays) for item in value]}
    if type(value) is list and value and isinstance(value[0], ContactEvent):
        return {"events": value}  # many, of plain values: JSON keeps them as they are
    for name, group in _GROUPS.items():
        if type(value) is group:
            items = sorted(value) if group is set else value
            return {name: [_describe(item, arrays) for item in items]}
    raise TypeError(f"a snapshot cannot keep a {type(value).__name__}")


def _rebuild(node: Any, arrays: Sequence[np.ndarray], types: dict[str, type]) -> Any:
    if "array" in node:
        return arrays[node["array"]]
    if "plain" in node:
        return node["plain"]
    if "dict" in node:
        return {_rebuild(k, arrays, types): _rebuild(v, arrays, types) for k, v in node["dict"]}
    if "events" in node:
        return [ContactEvent.of_values(event) for event in node["events"]]
    if "named" in node:
        return types[node["named"]](*(_rebuild(item, arrays, types) for item in node["items"]))
    (name, items), *_ = node.items()
    return _GROUPS[name](_rebuild(item, arrays, types) for item in items)


def _collect_types(value: Any, types: dict[str, type]) -> None:
    """Note the class of every tuple with names inside a value."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        types[type(value).__name__] = type(value)
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for item in value:
            _collect_types(item, types)
