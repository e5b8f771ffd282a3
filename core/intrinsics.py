"""Operations that numba lacks: what threads share, a processor's clock, and products of blocks."""

import functools
import operator
import platform
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir

from .jit import RUNS_AS_PYTHON, cgutils, errors, intrinsic, types

# What threads share: words of arrays of 64-bit integers, read and written one after the other by all. ------


def _pointer(context, builder, array_type, array, index):
    """Where an entry of an array lies."""
    view = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, view, [index])


def _load_word(typing_context, array, index):
    """The number there now, and all that was written before it was."""

    def generate(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(array, types.intp), generate


def _store_word(typing_context, array, index, value):
    """Write a number; who reads it there finds all that was written before."""

    def generate(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        builder.store_atomic(arguments[2], place, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


def _add_to_word(typing_context, array, index, value):
    """Add a number to the one there, which is returned."""

    def generate(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.atomic_rmw("add", place, arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


def _pause(typing_context):
    """Tell the processor that this thread only waits, where it can be told."""

    def generate(context, builder, signature, arguments):
        if platform.machine() in ("x86_64", "AMD64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


IS_ARM = platform.machine() in ("arm64", "ARM64", "aarch64")
if IS_ARM:
    binding.initialize_native_asmparser()  # LLVM has no operation that reads its clock


def _clock(typing_context):
    """Ticks of the processor's clock, where kernels can read it; elsewhere 0."""

    def generate(context, builder, signature, arguments):
        ticks = ir.FunctionType(ir.IntType(64), [])
        if platform.machine() in ("x86_64", "AMD64"):
            counter = cgutils.get_or_insert_function(builder.module, ticks, "llvm.readcyclecounter")
            return builder.call(counter, [])
        if IS_ARM:
            return builder.call(ir.InlineAsm(ticks, "mrs $0, cntvct_el0", "=r", side_effect=True), [])
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(), generate


def _call_address(typing_context, code, frame):
    """Call what `Entry.address` is of, with the address of a frame; its status."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(64)])
        status = builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [arguments[1]])
        return builder.sext(status, ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


def _add_in_python(array: Any, index: int, value: int) -> int:
    array[index] += value
    return array[index] - value


def _either(in_python: Callable, compiled: Callable) -> Callable:
    """What kernels call: where they run as Python there is but one thread."""
    return in_python if RUNS_AS_PYTHON else intrinsic(compiled)


load_word = _either(operator.getitem, _load_word)
store_word = _either(operator.setitem, _store_word)
add_to_word = _either(_add_in_python, _add_to_word)
pause = _either(lambda: None, _pause)
clock = _either(lambda: 0, _clock)
call_address: Callable = intrinsic(_call_address)  # kernels that run as Python have no address


# Blocks: numba leaves loops over so few numbers to one number at a time. -----------------------------------

BLOCK = 6


def _subtract_product(typing_context, a, b, out):
    """For arrays that lie in one piece; a row of the result is computed in two vectors."""
    number, index = ir.DoubleType(), ir.IntType(64)

    def generate(context, builder, signature, arguments):
        arrays = zip(signature.args, arguments, strict=True)
        data = [context.make_array(kind)(context, builder, array).data for kind, array in arrays]

        def place(array, i, j, kind):
            entry = builder.gep(data[array], [ir.Constant(index, BLOCK * i + j)])
            return builder.bitcast(entry, kind.as_pointer())

        def filled(value, kind):
            none, zeros = ir.Constant(kind, ir.Undefined), ir.VectorType(ir.IntType(32), kind.count)
            vector = builder.insert_element(none, value, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(vector, none, ir.Constant(zeros, [0] * kind.count))

        for first, width in ((0, 4), (4, 2)):
            kind = ir.VectorType(number, width)
            rows = [builder.load(place(1, m, first, kind), align=8) for m in range(BLOCK)]
            for i in range(BLOCK):
                entries = (filled(builder.load(place(0, i, m, number)), kind) for m in range(BLOCK))
                terms = map(builder.fmul, entries, rows)
                total = functools.reduce(builder.fadd, terms)
                row = place(2, i, first, kind)
                builder.store(builder.fsub(builder.load(row, align=8), total), row, align=8)
        return context.get_dummy_value()

    if any(array.layout != "C" for array in (a, b, out)):
        raise errors.TypingError("blocks must lie in one piece")
    return types.void(a, b, out), generate


def _subtract_product_in_python(a: Any, b: Any, out: Any) -> None:
    out -= a @ b


subtract_product = _either(_subtract_product_in_python, _subtract_product)  # out -= a b, (6, 6) each
