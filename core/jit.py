"""The one importer of numba: compiler flags, and what is kept of compiled kernels."""

import functools
import hashlib
import operator
import platform
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding, ir
from numba import typeof  # noqa: F401 (for kernel_entry.py)
from numba.core import caching, cgutils, codegen, compiler, cpu, targetconfig, types
from numba.core import ir as numba_ir
from numba.core.dispatcher import Dispatcher  # noqa: F401
from numba.core.errors import TypingError
from numba.core.runtime import rtsys
from numba.extending import intrinsic, models, overload, register_model  # noqa: F401 (for lanes.py)
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype  # noqa: F401

from .frame_entry import frame_entry
from .kernel_folder import CACHE_FOLDER, source_hash

RUNS_AS_PYTHON: bool = bool(numba.config.DISABLE_JIT)  # pyright: ignore[reportAttributeAccessIssue]


@functools.cache
def _processor() -> str:
    """Hash of what numba compiles for: machines of several kinds may share a home folder."""
    kind = f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
    return hashlib.sha256(kind.encode()).hexdigest()[:8]


def is_compiled(part: str) -> bool:
    """Whether nothing of this part has to be compiled: it is in the cache, or runs as plain Python."""
    if RUNS_AS_PYTHON:
        return True
    return CACHE_FOLDER is not None and (CACHE_FOLDER / f"complete-{part}-{_processor()}").exists()


def mark_compiled(part: str) -> None:
    """Remember that every kernel of this part is in the cache."""
    if CACHE_FOLDER is not None:
        (CACHE_FOLDER / f"complete-{part}-{_processor()}").touch()


FLAGS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",  # division by zero gives inf as in numpy; kernels guard explicitly
    "no_cfunc_wrapper": True,  # nobody calls kernels from C; each wrapper would cost compile time
    "fastmath": False,  # reordered sums would differ between machines, and isnan would be False
}


class _Locator(caching._CacheLocator):
    """Where a kernel is kept: at its file's place in the core. The folder is that of these sources only."""

    def __init__(self, function: Callable, place: Path) -> None:
        self._folder = Path(str(CACHE_FOLDER)) / place.parent
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return source_hash()

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str) -> "_Locator":
        locator = cls(py_func, Path(py_file).relative_to(Path(__file__).parent))
        locator._folder.mkdir(exist_ok=True)
        return locator


class _Keeping(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]

    def reduce(self, cres: Any) -> Any:
        """Of kernels machine code and its names alone: what makes them part of others takes long to load."""
        library, *rest = super().reduce(cres)
        names: list[str] = []
        if isinstance(cres.library, _KernelLibrary):
            name, kind, (machine_code, _) = library
            library = name, kind, (machine_code, _NO_PARTS)
            names = [f.name for f in cres.library._final_module.functions if not f.is_declaration]
        return names, (library, *rest)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        names, compiled = payload
        target_context.codegen()._engine._defined_symbols.update(names)
        return super().rebuild(target_context, compiled)


_NO_PARTS: bytes = binding.parse_assembly("").as_bitcode()


class _Cache(caching.FunctionCache):
    _impl_class = _Keeping

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Without all that numba first gets ready to compile but its runtime, which kernels call."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _KernelLibrary(codegen.JITCodeLibrary):
    """Machine code of a kernel and all that it calls, which is its own.

    Numba leaves functions open to other callers, so each call hands over every word of every array: 200 for
    a table of shapes, which took a third of the time of some scenes. Of its own ones LLVM drops what they
    do not need.
    """

    def add_ir_module(self, ir_module: Any) -> None:
        if ir_module.name == "wrapper":  # numba's way in from Python; what it declares first is the kernel
            frame_entry(ir_module, ir_module.functions[0])
            for function in ir_module.functions:
                if not function.is_declaration:  # hundreds of words to hand over would take long to optimize
                    function.attributes.add("noinline")
                    function.attributes.add("optnone")
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == binding.Linkage.linkonce_odr:  # came from another library
                function.linkage = binding.Linkage.internal
        super()._optimize_final_module()


@contextmanager
def _indices_from_the_front() -> Iterator[None]:
    """A negative index counts from the end of no array: where indices are checked it is an error.

    Numba asks every index for its sign and adds the length to a negative one, so each call also hands over
    the length of each array: 5 to 10 % of the time of a scene. Numba itself is changed, under its lock.
    """

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, length: Any) -> Any:
        return context.cast(builder, index, kind, types.intp)

    counting = arrayobj.fix_integer_index
    arrayobj.fix_integer_index = as_it_is
    try:
        yield
    finally:
        arrayobj.fix_integer_index = counting


class _KernelCompiler(compiler.Compiler):
    def compile_extra(self, func: Callable) -> Any:
        library = _KernelLibrary(self.state.targetctx.codegen(), func.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        with _indices_from_the_front():
            return super().compile_extra(func)


def _compile(function: Callable, *, python_calls: bool = False, **more: Any) -> Callable:
    """Only what Python calls is kept on disk: the rest is part of its callers, and costs time to keep."""
    more["no_cpython_wrapper"] = not python_calls
    compiled: Any = numba.njit(**FLAGS, **more)(function)
    is_ours = Path(function.__code__.co_filename).is_relative_to(Path(__file__).parent)
    if python_calls and is_ours and CACHE_FOLDER is not None and not RUNS_AS_PYTHON:
        compiled._cache = _Cache(function)
    return compiled


def kernel(function: Callable) -> Callable:
    """Compile a function of scalars, tuples and arrays that allocates no array and that Python calls.

    Only Python: what other kernels call as well is an `inner` of its own.
    Without numba's reference counts: taking a struct of thirty arrays as an argument would count
    each of them up and down, about 250 ns a call.
    """
    return _compile(function, python_calls=True, _nrt=False, pipeline_class=_KernelCompiler)


def inner(function: Callable) -> Callable:
    """The same for a function that only kernels call: a way in from Python would cost compile time."""
    return _compile(function, _nrt=False)


def not_inlined(function: Callable) -> Callable:
    """The same for a large one that rarely runs: all else that `inlined` ones call becomes a part of them."""
    return _compile(function, _nrt=False, forceinline=False)


def inlined(function: Callable) -> Callable:
    """The same for a small function, compiled into each of its callers."""
    return _compile(function, _nrt=False, forceinline=True)


_ARITHMETIC: list[Any] = []


def arithmetic(function: Callable) -> Callable:
    """The same for arithmetic on tuples, which Python may call, too."""
    _ARITHMETIC.append(_compile(function, python_calls=True, _nrt=False, forceinline=True))
    return _ARITHMETIC[-1]


def allocating_inner(function: Callable) -> Callable:
    """The same for a function that makes arrays, once per call and never in its loops."""
    return _compile(function, _nrt=True)


def merged(function: Callable) -> Callable:
    """The same for a stage of one kernel, which becomes a part of it before anything is compiled.

    A chain of large functions is otherwise compiled once more at each of its links.
    """
    return _compile(function, _nrt=False, inline="always")


def compile_kernels_only() -> None:
    """Have numba make machine code of kernels only, not of each function that is a part of them as well.

    Nor a way in from Python for arithmetic, which only kernels call here. It would optimize and translate
    every such function for itself, then again within each kernel: a fifth of the time. Numba itself is
    changed: this is for a process that compiles and does nothing else.
    """
    for function in () if RUNS_AS_PYTHON else _ARITHMETIC:
        function.targetoptions["no_cpython_wrapper"] = True
        function._cache = caching.NullCache()  # what is kept on disk would lack it
    library: Any = codegen.CPUCodeLibrary
    context: Any = cpu.CPUContext
    get_executable, make_function = context.get_executable, cpu._dynfunc.make_function
    optimize, finish = library._optimize_final_module, library._finalize_final_module
    parts: weakref.WeakSet[Any] = weakref.WeakSet()

    def get_executable_of_kernel(self: Any, code: Any, function: Any, environment: Any) -> Any:
        is_kernel = any(f.name == function.llvm_cpython_wrapper_name for f in code._final_module.functions)
        if is_kernel or code._finalized:  # or it comes from the disk
            return get_executable(self, code, function, environment)
        parts.add(code)
        code._ensure_finalized()
        name = function.qualname.split(".")[-1]
        return make_function(function.lookup_module(), name, "", 0, environment, (code,))

    def optimize_kernel(self: Any) -> None:
        if self not in parts:
            optimize(self)

    def finish_kernel(self: Any) -> None:
        if self not in parts:
            finish(self)
        self._finalized = True

    context.get_executable = get_executable_of_kernel
    library._optimize_final_module, library._finalize_final_module = optimize_kernel, finish_kernel
    _shorten_ways_of_numba()


def _shorten_ways_of_numba() -> None:
    """Spare what numba does again and again: a sixth of the time."""
    config: Any = targetconfig.TargetConfig
    context: Any = cpu.CPUContext

    @functools.cache
    def defaults(kind: Any) -> dict[str, Any]:
        return {name: option.default for name, option in kind.options.items()}

    # For each call that it finds a type for numba compares its flags: option by option, each a property.
    config.values = lambda self: defaults(type(self)) | self._values
    config.__hash__ = lambda self: hash(type(self))  # numba's is that of the options' names

    # Before each function it looks for what has been registered: of this core all is when it is imported.
    context.refresh = functools.cache(context.refresh)

    _find_each_operation_once()
    instruction: Any = numba_ir.Inst
    instruction._rec_list_vars = _list_variables


def _find_each_operation_once() -> None:
    """Numba tries all operations of a name for each call, and writes down why each is not the one."""
    function: Any = types.functions.BaseFunction
    find, found = function.get_call_type, {}

    def find_once(self: Any, context: Any, arguments: tuple, keywords: dict[str, Any]) -> Any:
        key = self, arguments, *keywords.items()
        signature = found.get(key)
        if signature is None:
            signature = found[key] = find(self, context, arguments, keywords)
        return signature

    function.get_call_type = find_once


_HOLD_NO_VARIABLE = {numba_ir.Loc, str, int, bool, type(None)}


def _list_variables(self: Any, value: Any) -> list[Any]:
    """The variables in what a statement consists of: numba's own, which is called a million times, faster."""
    listed: list[Any] = []
    for item in value.values() if isinstance(value, dict) else value:
        kind = type(item)
        if kind is numba_ir.Var:
            listed.append(item)
        elif kind in _HOLD_NO_VARIABLE:
            continue
        elif isinstance(item, numba_ir.Inst):
            listed += item.list_vars()
        elif kind in (list, tuple, dict):
            listed += _list_variables(self, item)
    return listed


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
        raise TypingError("blocks must lie in one piece")
    return types.void(a, b, out), generate


def _subtract_product_in_python(a: Any, b: Any, out: Any) -> None:
    out -= a @ b


subtract_product = _either(_subtract_product_in_python, _subtract_product)  # out -= a b, (6, 6) each
