"""A second way into a compiled kernel, made along with it: it takes the arguments from a frame of words."""

from typing import Any

from llvmlite import ir

WORD = ir.IntType(64)


def entry_name(kernel: str) -> str:
    """What the way into a kernel of this name is called."""
    return f"enter.{kernel}"


def frame_entry(module: ir.Module, kernel: ir.Function) -> None:
    """Add the way into a kernel to a module.

    Args:
        kernel: It takes places for a result and for an error, then arguments: of a word at most each, or the
            address of a table.

    The function added takes a frame's address. There lie the arguments, tables whole, the place of an error
    and the result. It returns what the kernel does.
    """
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [WORD]), entry_name(kernel.name))
    builder = ir.IRBuilder(function.append_basic_block())
    frame = builder.inttoptr(function.args[0], WORD.as_pointer())

    def place(k: int, pointer: Any) -> Any:
        """The address of word `k`, as this kind of pointer."""
        return builder.bitcast(builder.gep(frame, [ir.Constant(WORD, k)]), pointer)

    def load(k: int, kind: Any) -> Any:
        if isinstance(kind, ir.IntType) and kind.width < 8:
            return builder.trunc(builder.load(place(k, ir.IntType(8).as_pointer())), kind)
        return builder.load(place(k, kind.as_pointer()))

    result, error, *parts = (argument.type for argument in kernel.args)  # two pointers come first
    taken, k = [], 0
    for part in parts:
        pointee = getattr(part, "pointee", None)
        is_table = isinstance(pointee, ir.LiteralStructType)
        taken.append(place(k, part) if is_table else load(k, part))
        k += _count_words(pointee) if is_table else 1
    places = place(k + 1, result), place(k, error)
    builder.ret(builder.call(kernel, [*places, *taken], attrs=("noinline",)))


def _count_words(kind: Any) -> int:
    """How many words what is of this type takes in a frame."""
    if isinstance(kind, ir.LiteralStructType):
        return sum(map(_count_words, kind.elements))
    return kind.count if isinstance(kind, ir.ArrayType) else 1
