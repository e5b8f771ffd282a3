"""Eight numbers at a time: what kernels compute with as with one number; numba would take them one by one.

The numbers have single precision: eight of them fit a register, and half the memory has to be read. Every
operation is the IEEE one on each of the eight, none is fused or reordered: the results are those of eight
scalars, to the bit, on every processor. Where kernels run as Python, lanes are an array of eight.

    x = load(table, 3)                      # the eight numbers of row 3
    store(table, 4, choose(x > fill(0.0), root(x), x))
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .jit import RUNS_AS_PYTHON, cgutils, inlined, intrinsic, ir, models, overload, register_model, types

LANES = 8
SINGLE = np.float32  # of tables that lanes are loaded from and stored to
_NUMBERS, _TRUTHS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(ir.IntType(1), LANES)
_INDEX = ir.IntType(64)


class _Lanes(types.Type):
    """Numba's type of eight numbers."""


class _Mask(types.Type):
    """Numba's type of eight truth values."""


_lanes, _mask = _Lanes("lanes"), _Mask("mask")


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _NUMBERS)


@register_model(_Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _TRUTHS)


# What kernels that run as Python call. ----------------------------------------------------------------------


def _load(table: Any, row: int) -> Any:
    return table[row].copy()


def _store(table: Any, row: int, x: Any) -> None:
    table[row] = x


def _fill(x: float) -> Any:
    return np.full(LANES, x, SINGLE)


def _gather(table: Any, rows: Any) -> Any:
    return tuple(table[rows].T)


def _total(x: Any) -> float:
    return sum(x.tolist())


def _scatter(table: Any, rows: Any, count: int, columns: Any) -> None:
    for lane, row in enumerate(rows):
        if row < count:
            table[row] = [column[lane] for column in columns]


# What is compiled instead. ----------------------------------------------------------------------------------


def _by_lane(result: Any, count: int, build: Callable) -> Callable:
    """An operation on so many lanes, each apart."""
    arguments = (_lanes,) * count if result is _lanes or count == 2 else (_mask,)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return build(builder, *values)

    if len(arguments) == 1:
        return intrinsic(lambda typing_context, x: (result(*arguments), generate))
    return intrinsic(lambda typing_context, x, y: (result(*arguments), generate))


def _call(name: str) -> Callable:
    """An operation of LLVM's own."""

    def build(builder: Any, x: Any) -> Any:
        kind = ir.FunctionType(_NUMBERS, [_NUMBERS])
        return builder.call(
            cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f32"), [x]
        )

    return build


def _define(operation: Any, compiled: Any) -> None:
    """Have an operator of Python mean the compiled operation where both sides are lanes."""

    @overload(operation)
    def choose_operation(x, y):  # numba compares the names with those of what is chosen
        return (lambda x, y: compiled(x, y)) if x is _lanes and y is _lanes else None


_define(operator.add, _by_lane(_lanes, 2, lambda builder, x, y: builder.fadd(x, y)))
_define(operator.sub, _by_lane(_lanes, 2, lambda builder, x, y: builder.fsub(x, y)))
_define(operator.mul, _by_lane(_lanes, 2, lambda builder, x, y: builder.fmul(x, y)))
_define(operator.truediv, _by_lane(_lanes, 2, lambda builder, x, y: builder.fdiv(x, y)))
_define(operator.gt, _by_lane(_mask, 2, lambda builder, x, y: builder.fcmp_ordered(">", x, y)))


def _row(context: Any, builder: Any, kind: Any, table: Any, row: Any) -> Any:
    """Where the eight numbers of a table's row are; that its rows follow each other numba does not know."""
    if kind.layout != "C":
        raise TypeError("lanes are those of tables whose rows follow each other")
    data = context.make_array(kind)(context, builder, table).data
    return builder.gep(builder.bitcast(data, _NUMBERS.as_pointer()), [row])


def _load_compiled(typing_context, table, row):
    def generate(context, builder, signature, values):
        return builder.load(_row(context, builder, signature.args[0], *values), align=4)

    return _lanes(table, types.int64), generate


def _store_compiled(typing_context, table, row, x):
    def generate(context, builder, signature, values):
        builder.store(values[2], _row(context, builder, signature.args[0], *values[:2]), align=4)
        return context.get_dummy_value()

    return types.void(table, types.int64, _lanes), generate


def _shuffled(builder: Any, x: Any, y: Any, order: list[int]) -> Any:
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), LANES), order))


def _fill_compiled(typing_context, x):
    def generate(context, builder, signature, values):
        none = ir.Constant(_NUMBERS, ir.Undefined)
        first = builder.insert_element(
            none, builder.fptrunc(values[0], ir.FloatType()), ir.Constant(ir.IntType(32), 0)
        )
        return _shuffled(builder, first, none, [0] * LANES)

    return _lanes(types.float64), generate


def _choose_compiled(typing_context, where, x, y):
    def generate(context, builder, signature, values):
        return builder.select(*values)

    return _lanes(_mask, _lanes, _lanes), generate


def _any_compiled(typing_context, where):
    def generate(context, builder, signature, values):
        bits = builder.bitcast(values[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(_mask), generate


def _total_compiled(typing_context, x):
    """Adds in double precision, from the first to the last."""

    def generate(context, builder, signature, values):
        wide = builder.fpext(values[0], ir.VectorType(ir.DoubleType(), LANES))
        numbers = (builder.extract_element(wide, ir.Constant(ir.IntType(32), k)) for k in range(LANES))
        return functools.reduce(builder.fadd, numbers)

    return types.float64(_lanes), generate


def _largest_compiled(typing_context, x):
    """Compares halves, then quarters, then two: no more than eight numbers at a time wait for each other."""

    def generate(context, builder, signature, values):
        most = values[0]
        for width in (4, 2, 1):
            other = _shuffled(builder, most, most, [k ^ width for k in range(LANES)])
            most = builder.select(builder.fcmp_ordered(">", most, other), most, other)
        first = builder.extract_element(most, ir.Constant(ir.IntType(32), 0))
        return builder.fpext(first, ir.DoubleType())

    return types.float64(_lanes), generate


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Eight rows of eight as columns: pairs of neighbours change places, then twos, then fours."""
    for width in (1, 2, 4):
        low = [k // width % 2 * LANES + k - k // width % 2 * width for k in range(LANES)]
        next_rows = list(rows)
        for i in range(LANES):
            if i // width % 2 == 0:
                x, y = rows[i], rows[i + width]
                next_rows[i] = _shuffled(builder, x, y, low)
                next_rows[i + width] = _shuffled(builder, x, y, [k + width for k in low])
        rows = next_rows
    return rows


def _rows_of(context: Any, builder: Any, kinds: Any, table: Any, rows: Any) -> list[tuple]:
    """The number of each of eight rows, and where it is."""
    view = context.make_array(kinds[1])(context, builder, rows)
    places = (builder.gep(view.data, [ir.Constant(_INDEX, k)]) for k in range(LANES))
    numbers = (builder.sext(builder.load(place), _INDEX) for place in places)
    return [(number, _row(context, builder, kinds[0], table, number)) for number in numbers]


def _gather_compiled(typing_context, table, rows):
    def generate(context, builder, signature, values):
        places = _rows_of(context, builder, signature.args, *values)
        columns = _transposed(builder, [builder.load(place, align=4) for _, place in places])
        return context.make_tuple(builder, signature.return_type, columns)

    return types.UniTuple(_lanes, LANES)(table, rows), generate


def _scatter_compiled(typing_context, table, rows, count, columns):
    def generate(context, builder, signature, values):
        places = _rows_of(context, builder, signature.args, *values[:2])
        lines = _transposed(builder, cgutils.unpack_tuple(builder, values[3]))
        for (row, place), line in zip(places, lines, strict=True):
            with builder.if_then(builder.icmp_signed("<", row, values[2])):
                builder.store(line, place, align=4)
        return context.get_dummy_value()

    return types.void(table, rows, types.int64, types.UniTuple(_lanes, LANES)), generate


def _either(in_python: Callable, compiled: Callable) -> Callable:
    return in_python if RUNS_AS_PYTHON else compiled


# The eight numbers table[row], of a table (rows, 8); and table[row] = x.
load = _either(_load, intrinsic(_load_compiled))
store = _either(_store, intrinsic(_store_compiled))
fill = _either(_fill, intrinsic(_fill_compiled))  # the same number eight times, rounded
choose = _either(np.where, intrinsic(_choose_compiled))  # x where the mask is true, else y
any_of = _either(np.any, intrinsic(_any_compiled))  # whether a mask is true anywhere
largest = _either(np.max, intrinsic(_largest_compiled))
total = _either(_total, intrinsic(_total_compiled))
root = _either(np.sqrt, _by_lane(_lanes, 1, _call("sqrt")))
absolute = _either(np.abs, _by_lane(_lanes, 1, _call("fabs")))
# The eight columns of table[rows], of a table (rows, 8), for eight rows in an array; and back again, but for
# rows from `count` on.
gather = _either(_gather, intrinsic(_gather_compiled))
scatter = _either(_scatter, intrinsic(_scatter_compiled))


@inlined
def larger(x, y):
    """The larger of two, lane by lane."""
    return choose(x > y, x, y)


@inlined
def dot(a, b):
    """Product of two vectors (3) of lanes."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    """Vector product of two vectors (3) of lanes."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
