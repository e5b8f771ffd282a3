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
        kernel: It takes places for a result and for an error, then arguments of a word at most each.

    The function added takes a frame's address. There lie the arguments, the place of an error and the result.
    It returns what the kernel does.
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
    taken = [load(k, part) for k, part in enumerate(parts)]
    places = place(len(parts) + 1, result), place(len(parts), error)
    builder.ret(builder.call(kernel, [*places, *taken], attrs=("noinline",)))
