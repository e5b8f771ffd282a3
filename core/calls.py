"""Kernels that are called again and again with mostly the same arguments.

On the way in from Python numba unpacks each array of each tuple, some 0.2 us for every one of the hundreds
that a step takes: in a small scene more than all arithmetic. `Calls` keeps them unpacked, in a frame of
64-bit words for each kernel; of a call's arguments only those are written that are other objects than those
of the last one. Machine code of a few lines for each kernel takes its arguments from there.
"""

import ctypes
import functools
import itertools
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.np.numpy_support import as_dtype

ENOUGH = 32  # calls after which a frame is worth its making (7 ms)
RESULT = 8  # words kept for a kernel's result
_NUMBERS = itertools.count()
NO_ERROR = (0, -2)  # with a result, or with none
CHECKS: bool = bool(numba.config.BOUNDSCHECK)  # pyright: ignore[reportAttributeAccessIssue]


class Calls:
    """Calls of kernels by one owner, which makes one at a time and keeps what they take in between."""

    def __init__(self) -> None:
        """Begin with none."""
        self._called: dict[Callable, int] = {}
        self._framed: dict[Callable, _FramedKernel] = {}

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Calls, ()  # a copy's kernels take the copy's arrays

    def __call__(self, kernel: Callable, *arguments: Any) -> Any:
        """The same as kernel(*arguments)."""
        framed = self._frame(kernel, arguments)
        if framed is None:
            return kernel(*arguments)
        framed.fill(arguments)
        return framed.run()

    def prepare(self, kernel: Callable, *arguments: Any) -> Callable[[], None]:
        """A call of the kernel for another thread to make, whatever this one calls in the meantime."""
        framed = self._frame(kernel, arguments)
        if framed is None:
            return functools.partial(kernel, *arguments)
        framed.fill(arguments)
        return framed.copy().run

    def _frame(self, kernel: Callable, arguments: tuple) -> "_FramedKernel | None":
        """The kernel's frame; None as long as it is none, or where it is no machine code or checks itself."""
        framed = self._framed.get(kernel)
        if framed is not None or CHECKS or not isinstance(kernel, Dispatcher):
            return framed
        count = self._called[kernel] = self._called.get(kernel, 0) + 1
        if count > ENOUGH:
            kinds = tuple(numba.typeof(value) for value in arguments)
            framed = self._framed[kernel] = _FramedKernel(_entry(kernel, kinds))
        return framed


class _Entry:
    """Where C enters a compiled kernel: with the address of a frame."""

    def __init__(self, name: str, kinds: tuple, result: Any, address: int) -> None:
        self.name, self.kinds, self.read = name, kinds, _reader(result)
        self.first = [0, *itertools.accumulate(map(_word_count, kinds))]
        self.run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)


class _FramedKernel:
    """A kernel and its arguments: see `_code` for where they lie."""

    def __init__(self, entry: _Entry) -> None:
        self._entry = entry
        self._words = np.zeros(entry.first[-1] + 1 + RESULT, np.int64)
        self._held: list[Any] = [self] * len(entry.kinds)  # the arguments that are written there
        self._look()

    def _look(self) -> None:
        self._integer, self._real = self._words.data, self._words.view(float).data
        self._address = self._words.ctypes.data

    def copy(self) -> "_FramedKernel":
        """One with the same arguments, and a frame of its own."""
        copied = object.__new__(_FramedKernel)
        copied._entry, copied._words, copied._held = self._entry, self._words.copy(), self._held.copy()
        copied._look()
        return copied

    def fill(self, arguments: tuple) -> None:
        """Write the arguments that are not there yet."""
        held, entry = self._held, self._entry
        if len(arguments) != len(held):
            raise TypeError(f"{entry.name} takes {len(held)} arguments, not {len(arguments)}")
        for k, value in enumerate(arguments):
            if value is not held[k]:
                self._write(entry.first[k], entry.kinds[k], value)
                held[k] = value

    def run(self) -> Any:
        """Call the kernel."""
        entry = self._entry
        status, end = entry.run(self._address), entry.first[-1]
        if status not in NO_ERROR:
            raise _error(entry.name, self._integer[end])
        return entry.read(self._integer, self._real, end + 1) if entry.read else None

    def _write(self, at: int, kind: Any, value: Any) -> int:
        """Write a value of this type in the order in which numba passes its parts; the place after it."""
        parts = _parts(kind)
        if parts is not None:
            for part, entry in zip(parts, value, strict=True):
                at = self._write(at, part, entry)
            return at
        if isinstance(kind, types.Array):
            if value.dtype.num != _dtype_number(kind.dtype) or not value.flags.c_contiguous:
                raise TypeError(f"{self._entry.name} takes {kind}, not {value.dtype} in another order")
            address = value.__array_interface__["data"][0]
            words = (0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)
            for k in range(5 + 2 * kind.ndim):
                self._integer[at + k] = words[k]
            return at + 5 + 2 * kind.ndim
        if isinstance(kind, types.Float):
            self._real[at] = value
        else:
            self._integer[at] = operator.index(value) if not isinstance(kind, types.Boolean) else bool(value)
        return at + 1


def _reader(kind: Any) -> Callable[[Any, Any, int], Any] | None:
    """What reads a result of this type from a frame's integers and numbers; None where there is none."""
    parts = _parts(kind)
    if parts is not None and types.boolean not in parts:
        readers = [_reader(part) for part in parts]
        return lambda integer, real, at: tuple(
            read(integer, real, at + k) for k, read in enumerate(readers) if read
        )
    if isinstance(kind, types.Float):
        return lambda integer, real, at: real[at]
    if isinstance(kind, types.Boolean):
        return lambda integer, real, at: bool(integer[at] & 1)
    if kind == types.int64:
        return lambda integer, real, at: integer[at]
    if kind == types.none:
        return None
    raise TypeError(f"no kernel may return {kind}")


def _parts(kind: Any) -> list[Any] | None:
    """The types of a tuple's entries; None for what is no tuple."""
    return list(kind) if isinstance(kind, types.BaseTuple) else None  # pyright: ignore[reportArgumentType]


def _word_count(kind: Any) -> int:
    if isinstance(kind, types.Array):
        return 5 + 2 * kind.ndim
    parts = _parts(kind)
    return 1 if parts is None else sum(map(_word_count, parts))


@functools.cache
def _dtype_number(kind: Any) -> int:
    return as_dtype(kind).num


def _error(name: str, address: int) -> BaseException:
    """What a kernel raised: numba leaves its class and arguments, pickled."""
    fields = (ctypes.c_void_p * 2).from_address(address)
    size = fields[1] & 0xFFFFFFFF
    kind, arguments, _ = pickle.loads(ctypes.string_at(fields[0], size))
    return kind(*(arguments or (f"{name} has failed",)))


@functools.cache
def _entry(kernel: Any, kinds: tuple) -> _Entry:
    """Make the way into a kernel for arguments of these types."""
    kernel.compile(kinds)
    compiled = kernel.overloads[kinds]
    with global_compiler_lock:
        address = _machine_code(_code(compiled, kinds))
    return _Entry(kernel.__name__, kinds, compiled.signature.return_type, address)


def _code(compiled: Any, kinds: tuple) -> str:
    """Code that calls a kernel with what the frame holds: arguments, place of an error, result."""
    convention = compiled.target_context.call_conv
    kernel_type = convention.get_function_type(compiled.fndesc.restype, compiled.fndesc.argtypes)
    result, error, *parts = kernel_type.args
    count = sum(map(_word_count, kinds))
    if len(parts) != count:
        raise TypeError(f"{compiled.fndesc.qualname} takes {len(parts)} words, not {count}")
    lines = []

    def place(k: int, kind: Any) -> str:
        """The address of word `k`, for what is of this type there."""
        pointer = _name_of_pointer(kind)
        lines.append(f"%a{k} = add i64 %frame, {8 * k}\n%p{k} = inttoptr i64 %a{k} to {pointer}")
        return f"{pointer} %p{k}"

    passed = []
    for k, part in enumerate(parts):
        kept = ir.IntType(8) if isinstance(part, ir.IntType) and part.width < 8 else part
        lines.append(f"%v{k} = load {kept}, {place(k, kept)}")
        if kept is not part:
            lines.append(f"%t{k} = trunc i8 %v{k} to {part}")
        passed.append(f"{part} %{'v' if kept is part else 't'}{k}")
    passed = [place(count + 1, result.pointee), place(count, error.pointee), *passed]
    address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    lines.append(f"%kernel = inttoptr i64 {address} to {_name_of_pointer(kernel_type)}")
    lines.append(f"%status = call i32 %kernel({', '.join(passed)})\nret i32 %status")
    body = "\n".join(lines)
    return f'target triple = "{binding.get_process_triple()}"\ndefine i32 @enter(i64 %frame) {{\n{body}\n}}'


@functools.cache
def _name_of_pointer(kind: Any) -> str:
    return str(kind.as_pointer())


@functools.cache
def _engine() -> Any:
    """The owner of all ways in: one of its own for each would take a megabyte."""
    machine = binding.Target.from_default_triple().create_target_machine(opt=0, jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def _machine_code(code: str) -> int:
    """Address of the function `enter` of this code."""
    module = binding.parse_assembly(code)
    function = module.get_function("enter")
    function.name = f"enter_{next(_NUMBERS)}"
    engine = _engine()
    engine.add_module(module)
    engine.finalize_object()
    return engine.get_function_address(function.name)
