"""Ways into kernels with their arguments unpacked before: see calls.py."""

import ctypes
import functools
import itertools
import pickle
import struct
from collections.abc import Callable
from typing import Any

from .frame_entry import entry_name
from .jit import Dispatcher, Table, as_dtype, typeof, types

Packed = dict[tuple[int, int], bytes]  # the words of a value, by its id and that of its type
NO_ERROR = (0, -2)  # what numba's functions return: with a result, or with none


class Entry:
    """Where C enters a compiled kernel: with the address of a frame, words of 64 bits.

    There lie the arguments one after the other, as numba passes them, then the place of an error and
    the result.
    """

    def __init__(self, name: str, kinds: tuple, result: Any, address: int) -> None:
        """For a kernel of arguments and a result of these types; see `entry_of`."""
        self.name, self.kinds, self._read = name, kinds, _reader(result)
        self._packers = [_packer(kind) for kind in kinds]
        self.first = [0, *itertools.accumulate(map(_word_count, kinds))]
        self.size = self.first[-1] + 1 + _word_count(result)
        self.address = address
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)

    def pack(self, k: int, value: Any, packed: Packed) -> bytes:
        """The words of argument `k`.

        Args:
            packed: What was packed before of values that still are what they were.

        Raises:
            TypeError: The value is of another type.
        """
        try:
            return self._packers[k](value, packed)
        except (TypeError, struct.error) as error:
            raise TypeError(f"{self.name} takes {self.kinds[k]}, not {typeof(value)}") from error

    def run(self, address: int, integers: memoryview, reals: memoryview) -> Any:
        """Call the kernel with the arguments in the frame at this address; what it raises is raised."""
        if self._run(address) not in NO_ERROR:
            raise self.error(integers)
        return self.result(integers, reals)

    def result(self, integers: memoryview, reals: memoryview) -> Any:
        """What a call with the arguments in this frame returned."""
        return self._read(integers, reals, self.first[-1] + 1)

    def error(self, integers: memoryview) -> BaseException:
        """What a call with the arguments in this frame raised."""
        return _error(self.name, integers[self.first[-1]])


@functools.cache
def _entry_of(kernel: Any, kinds: tuple) -> Entry:
    """The way into a kernel for arguments of these types."""
    kernel.compile(kinds)
    compiled = kernel.overloads[kinds]
    address = compiled.library.get_pointer_to_function(entry_name(compiled.fndesc.llvm_func_name))
    if not address:
        raise TypeError(f"{kernel.__name__} is no kernel of jit.py")
    return Entry(kernel.__name__, kinds, compiled.signature.return_type, address)


def entry_of(kernel: Callable, arguments: tuple) -> Entry:
    """The way into a kernel for arguments like these."""
    compiled: Any = kernel
    # A kernel has one signature; to find the types of hundreds of arrays once more takes 1 ms.
    kinds = next(iter(compiled.overloads), None) or tuple(map(typeof, arguments))
    return _entry_of(kernel, kinds)


def is_compiled_kernel(function: Callable) -> bool:
    """Whether a function is a kernel that does not run as Python."""
    return isinstance(function, Dispatcher)


def _packer(kind: Any) -> Callable[[Any, Packed], bytes]:
    """What packs an argument of this type."""
    parts = _parts(kind)
    if parts is not None:
        packers = [_packer(part) for part in parts]

        def pack_tuple(value: Any, packed: Packed) -> bytes:
            return b"".join([pack(item, packed) for pack, item in zip(packers, value, strict=True)])

        return _once(kind, pack_tuple)
    if isinstance(kind, types.Array):
        number, ndim = as_dtype(kind.dtype).num, kind.ndim
        pack_words = struct.Struct(f"{_word_count(kind)}q").pack

        def pack_array(value: Any, packed: Packed) -> bytes:
            if not (value.dtype.num == number and value.ndim == ndim and value.flags.c_contiguous):
                raise TypeError(kind)
            address = value.__array_interface__["data"][0]
            # Neither owner nor parent: kernels count no references.
            return pack_words(0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)

        return _once(kind, pack_array)
    pack_number = struct.Struct("d" if isinstance(kind, types.Float) else "q").pack
    if isinstance(kind, types.Boolean):
        return lambda value, packed: pack_number(bool(value))
    return lambda value, packed: pack_number(value)


def _once(kind: Any, pack: Callable[[Any, Packed], bytes]) -> Callable[[Any, Packed], bytes]:
    """What packs a value of this type where that has not been done."""

    def pack_once(value: Any, packed: Packed) -> bytes:
        key = id(value), id(kind)
        words = packed.get(key)
        if words is None:
            words = packed[key] = pack(value, packed)
        return words

    return pack_once


def _reader(kind: Any) -> Callable[[Any, Any, int], Any]:
    """What reads a result of this type from a frame's integers and numbers, at a place."""
    parts = _parts(kind)
    if parts is not None and types.boolean not in parts:
        readers = [_reader(part) for part in parts]
        return lambda integers, reals, at: tuple(
            read(integers, reals, at + k) for k, read in enumerate(readers)
        )
    if isinstance(kind, types.Float) and kind == types.float64:
        return lambda integers, reals, at: reals[at]
    if kind == types.boolean:
        return lambda integers, reals, at: bool(integers[at] & 1)
    if kind == types.int64:
        return lambda integers, reals, at: integers[at]
    if kind == types.none:
        return lambda integers, reals, at: None
    raise TypeError(f"no kernel may return {kind}")


def _parts(kind: Any) -> list[Any] | None:
    """The types of a tuple's entries; None for what is no tuple."""
    if isinstance(kind, Table):
        return list(kind.columns.values())
    return list(kind) if isinstance(kind, types.BaseTuple) else None  # pyright: ignore[reportArgumentType]


def _word_count(kind: Any) -> int:
    if isinstance(kind, types.Array):
        return 5 + 2 * kind.ndim
    parts = _parts(kind)
    return 1 if parts is None else sum(map(_word_count, parts))


def _error(name: str, address: int) -> BaseException:
    """What a kernel raised: numba leaves its class and arguments, pickled."""
    fields = (ctypes.c_void_p * 2).from_address(address)
    size = fields[1] & 0xFFFFFFFF
    kind, arguments, _ = pickle.loads(ctypes.string_at(fields[0], size))
    return kind(*(arguments or (f"{name} has failed",)))
