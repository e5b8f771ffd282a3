"""Machine code, made by LLVM, through which a compiled kernel takes its arguments from a frame of words."""

import functools
import itertools
from typing import Any

from llvmlite import binding, ir

WORD = 8  # bytes
_NUMBERS = itertools.count()


def frame_entry(kernel: int, kernel_type: Any) -> int:
    """Make the function through which to call a kernel.

    Args:
        kernel: Its address.
        kernel_type: Its type: places for a result and for an error, then arguments of a word at most each.

    Returns:
        Address of a function of a frame's address. There lie the arguments, the place of an error and
        the result. It returns what the kernel does. The caller holds numba's lock.
    """
    module = binding.parse_assembly(_code(kernel, kernel_type))
    function = module.get_function("enter")
    function.name = f"enter_{next(_NUMBERS)}"
    engine = _engine()
    engine.add_module(module)
    engine.finalize_object()
    return engine.get_function_address(function.name)


def _code(kernel: int, kernel_type: Any) -> str:
    """The function as text: LLVM reads it faster than llvmlite builds it."""
    result, error, *parts = kernel_type.args
    lines, passed = [], []

    def place(k: int, kind: Any) -> str:
        """The address of word `k`, for what is of this type there."""
        pointer = _name_of_pointer(kind)
        lines.append(f"%a{k} = add i64 %frame, {WORD * k}\n%p{k} = inttoptr i64 %a{k} to {pointer}")
        return f"{pointer} %p{k}"

    for k, part in enumerate(parts):
        kept = ir.IntType(8) if isinstance(part, ir.IntType) and part.width < 8 else part
        lines.append(f"%v{k} = load {kept}, {place(k, kept)}")
        if kept is not part:
            lines.append(f"%t{k} = trunc i8 %v{k} to {part}")
        passed.append(f"{part} %{'v' if kept is part else 't'}{k}")
    passed = [place(len(parts) + 1, result.pointee), place(len(parts), error.pointee), *passed]
    lines.append(f"%kernel = inttoptr i64 {kernel} to {_name_of_pointer(kernel_type)}")
    lines.append(f"%status = call i32 %kernel({', '.join(passed)})\nret i32 %status")
    body = "\n".join(lines)
    return f'target triple = "{binding.get_process_triple()}"\ndefine i32 @enter(i64 %frame) {{\n{body}\n}}'


@functools.cache
def _name_of_pointer(kind: Any) -> str:
    return str(kind.as_pointer())


@functools.cache
def _engine() -> Any:
    """The owner of all these functions: one of its own for each would take a megabyte."""
    machine = binding.Target.from_default_triple().create_target_machine(opt=0, jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
