"""The one importer of numba: compiler flags, the type of tables, and what is kept of compiled kernels."""

import functools
import hashlib
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding, ir
from numba import typeof  # noqa: F401 (for kernel_entry.py)
from numba.core import (  # noqa: F401
    boxing,
    caching,
    cgutils,
    codegen,
    compiler,
    cpu,
    errors,
    ir_utils,
    targetconfig,
    types,
    untyped_passes,
)
from numba.core import ir as numba_ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.dispatcher import Dispatcher  # noqa: F401
from numba.core.runtime import rtsys
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (  # noqa: F401 (for lanes.py and intrinsics.py, too)
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype

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


# Tables: named tuples that hold arrays. Functions hand on their address. ------------------------------------

# Numba takes tuples apart into all their words at each call, 200 for a table of shapes: half of what it wrote
# for LLVM did no more than that, and with it kernels took 37 s to compile instead of 28.


class Table(types.Type):
    """Type of a named tuple of this core that holds arrays. Kernels make none, they take them from Python.

    In memory lie the words of its columns one after the other, each as in the frame of `kernel_entry.Entry`.
    """

    def __init__(self, as_tuple: Any) -> None:
        """For what numba has as a tuple of this type."""
        self.as_tuple = as_tuple
        self.columns: dict[str, Any] = dict(zip(as_tuple.fields, as_tuple, strict=True))
        for name, kind in self.columns.items():
            if isinstance(kind, types.Number) and as_dtype(kind).itemsize != 8:
                raise TypeError(f"{as_tuple.instance_class.__name__}.{name} is {kind}: give it 64 bits")
        # Names of functions are made of those of their arguments' types: all columns would make them long.
        of_columns = hashlib.sha256(as_tuple.name.encode()).hexdigest()[:12]
        super().__init__(f"{as_tuple.instance_class.__name__}.{of_columns}")


_type_of_tuple: Any = typeof_impl.dispatch(tuple)


@typeof_impl.register(tuple)
def _type_of_table(value: tuple, context: Any) -> Any:
    kind: Any = _type_of_tuple(value, context)
    if not (isinstance(kind, types.BaseNamedTuple) and type(value).__module__.startswith(f"{__package__}.")):
        return kind
    columns: Any = kind
    return Table(kind) if any(isinstance(column, types.Array | Table) for column in columns) else kind


@register_model(Table)
class _TableModel(models.PrimitiveModel):
    """The address of its words."""

    def __init__(self, manager: Any, table: Table) -> None:
        self.columns = {name: manager.lookup(kind) for name, kind in table.columns.items()}
        self.words = ir.LiteralStructType(list(map(_in_memory, self.columns.values())))
        super().__init__(manager, table, self.words.as_pointer())

    def from_argument(self, builder: Any, value: Any) -> Any:
        value.add_attribute("noalias")  # nobody writes to a table while a kernel has it
        return value


def _in_memory(column: Any) -> Any:
    if isinstance(column, _TableModel):
        return column.words
    return ir.IntType(64) if isinstance(column, models.BooleanModel) else column.get_value_type()


@infer_getattr
class _TypesOfColumns(AttributeTemplate):
    key = Table

    def generic_resolve(self, table: Table, name: str) -> Any:
        return table.columns.get(name)


@lower_getattr_generic(Table)
def _read_column(context: Any, builder: Any, kind: Table, table: Any, name: str) -> Any:
    """A column; of a table within a table it is the address."""
    place = cgutils.gep_inbounds(builder, table, 0, list(kind.columns).index(name))
    column = context.data_model_manager[kind.columns[name]]
    if isinstance(column, _TableModel):
        return place
    value = builder.load(place)
    return cgutils.is_not_null(builder, value) if isinstance(column, models.BooleanModel) else value


@unbox(Table)
def _unbox_table(kind: Table, value: Any, c: Any) -> NativeValue:
    """What a call from Python hands over: it lives as long as the call."""
    native = boxing.unbox_tuple(kind.as_tuple, value, c)
    model = c.context.data_model_manager[kind]
    table = cgutils.alloca_once(c.builder, model.words)
    for k, column in enumerate(model.columns.values()):
        words = c.builder.extract_value(native.value, k)
        if isinstance(column, _TableModel):
            words = c.builder.load(words)
        elif isinstance(column, models.BooleanModel):
            words = c.builder.zext(words, ir.IntType(64))
        c.builder.store(words, cgutils.gep_inbounds(c.builder, table, 0, k))
    return NativeValue(table, is_error=native.is_error, cleanup=native.cleanup)


@register_pass(mutates_CFG=False, analysis_only=False)
class _ReadColumnsFirst(FunctionPass):
    """Read each column of a function's tables once, where the function begins.

    Read where they are used, in loops too, they take 3 % of the time of a scene more.
    """

    _name = "read_columns_first"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        code, begin = state.func_ir, state.func_ir.blocks[min(state.func_ir.blocks)]
        statements = [s for block in code.blocks.values() for s in block.find_insts(numba_ir.Assign)]
        paths = [_path_of(code, state.args, s.value)[0] for s in statements]
        arguments = [s for s in begin.find_insts(numba_ir.Assign) if isinstance(s.value, numba_ir.Arg)]
        known: dict[tuple, Any] = {(s.value.index,): s.target for s in arguments}
        first_reads = []
        for path in sorted({path for path in paths if len(path) > 1}, key=lambda path: (len(path), path)):
            known[path] = begin.scope.redefine("column", begin.loc)
            value = numba_ir.Expr.getattr(known[path[:-1]], path[-1], begin.loc)
            code._definitions[known[path].name].append(value)
            first_reads.append(numba_ir.Assign(value, known[path], begin.loc))
        for statement, path in zip(statements, paths, strict=True):
            if len(path) > 1:
                statement.value = known[path]
        after = max(map(begin.body.index, arguments), default=-1) + 1
        begin.body[after:after] = first_reads
        return bool(first_reads)


def _path_of(code: Any, kinds: tuple, value: Any) -> tuple[tuple, Any]:
    """From which argument a table or a column comes, by which names, and its type; nothing for all else."""
    if isinstance(value, numba_ir.Var):
        value = ir_utils.guard(ir_utils.get_definition, code, value)  # None where there are several
    if isinstance(value, numba_ir.Arg) and isinstance(kinds[value.index], Table):
        return (value.index,), kinds[value.index]
    if isinstance(value, numba_ir.Expr) and value.op == "getattr":
        path, kind = _path_of(code, kinds, value.value)
        if isinstance(kind, Table) and value.attr in kind.columns:
            return (*path, value.attr), kind.columns[value.attr]
    return (), None


# Compilers and decorators ----------------------------------------------------------------------------------


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


class _Compiler(compiler.Compiler):
    """Numba's, but for reading the columns of tables first: see there."""

    def define_pipelines(self) -> list[Any]:
        (pipeline,) = super().define_pipelines()
        pipeline.add_pass_after(_ReadColumnsFirst, untyped_passes.ReconstructSSA)
        pipeline.finalize()
        return [pipeline]


class _KernelCompiler(_Compiler):
    def compile_extra(self, func: Callable) -> Any:
        library = _KernelLibrary(self.state.targetctx.codegen(), func.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        with _indices_from_the_front():
            return super().compile_extra(func)


def _compile(function: Callable, *, python_calls: bool = False, **more: Any) -> Callable:
    """Only what Python calls is kept on disk: the rest is part of its callers, and costs time to keep."""
    more["no_cpython_wrapper"] = not python_calls
    more.setdefault("pipeline_class", _Compiler)
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
