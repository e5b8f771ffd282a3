"""The row of a table of vectors that lies farthest along a direction, looked for four rows at a time.

Row after row each comparison would wait for the one before. The products are those of scalars, to the bit,
and of equal ones the first is taken: the answer is that of a plain loop.
"""

from typing import Any

import numpy as np

from ..jit import RUNS_AS_PYTHON, inner, intrinsic, ir, types

FOUR = 4
_WORD = ir.IntType(64)
_NUMBERS, _ROWS = ir.VectorType(ir.DoubleType(), FOUR), ir.VectorType(_WORD, FOUR)
_ORDER = (0, 3, 2, 1)  # in which four rows of three lie in the registers: as the first coordinates come


def _farthest_of_many(table: Any, first: int, last: int, x: float, y: float, z: float) -> tuple[int, float]:
    rows = table[first:last]
    product = rows[:, 0] * x + rows[:, 1] * y + rows[:, 2] * z
    return first + int(product.argmax()), float(product.max())


def _shuffled(builder: Any, x: Any, y: Any, order: tuple[int, ...]) -> Any:
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), FOUR), list(order)))


def _filled(builder: Any, number: Any, kind: Any) -> Any:
    none = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(none, number, ir.Constant(ir.IntType(32), 0))
    return _shuffled(builder, first, none, (0, 0, 0, 0))


def _columns(builder: Any, place: Any) -> list[Any]:
    """The three columns of the four rows that begin at a place, their rows in the order _ORDER."""
    whole = builder.bitcast(place, _NUMBERS.as_pointer())
    p, q, r = (builder.load(builder.gep(whole, [_WORD(k)]), align=8) for k in range(3))
    # x0 y0 z0 x1 | y1 z1 x2 y2 | z2 x3 y3 z3: taken from each what is in its place, then turned.
    x = _shuffled(builder, _shuffled(builder, p, q, (0, 1, 6, 3)), r, (0, 5, 2, 3))
    y = _shuffled(builder, _shuffled(builder, p, q, (4, 1, 2, 7)), r, (0, 1, 6, 3))
    z = _shuffled(builder, _shuffled(builder, p, q, (0, 5, 2, 3)), r, (4, 1, 2, 7))
    return [x, _shuffled(builder, y, y, (1, 2, 3, 0)), _shuffled(builder, z, z, (2, 3, 0, 1))]


def _products(builder: Any, data: Any, row: Any, direction: list[Any]) -> list[Any]:
    """Of the four rows from `row` on their products with the direction, and which rows these are."""
    x, y, z = _columns(builder, builder.gep(data, [builder.mul(row, _WORD(3))]))
    product = builder.fadd(builder.fmul(x, direction[0]), builder.fmul(y, direction[1]))
    product = builder.fadd(product, builder.fmul(z, direction[2]))
    return [product, builder.add(_filled(builder, row, _ROWS), ir.Constant(_ROWS, list(_ORDER)))]


def _farthest_of_four(builder: Any, product: Any, row: Any) -> list[Any]:
    """The row that is farthest and its product; of equal ones the first."""
    for order in ((2, 3, 0, 1), (1, 0, 3, 2)):
        other, its_row = _shuffled(builder, product, product, order), _shuffled(builder, row, row, order)
        is_equal = builder.fcmp_ordered("==", other, product)
        is_before = builder.and_(is_equal, builder.icmp_signed("<", its_row, row))
        is_better = builder.or_(builder.fcmp_ordered(">", other, product), is_before)
        product = builder.select(is_better, other, product)
        row = builder.select(is_better, its_row, row)
    zero = ir.Constant(ir.IntType(32), 0)
    return [builder.extract_element(row, zero), builder.extract_element(product, zero)]


def _farthest_compiled(typing_context, table, first, last, x, y, z):
    """Keeps in each of four lanes the farthest so far; the last four rows may overlap those before."""

    def generate(context, builder, signature, values):
        table, first, last, *direction = values
        data = context.make_array(signature.args[0])(context, builder, table).data
        direction = [_filled(builder, number, _NUMBERS) for number in direction]
        begin = _products(builder, data, first, direction)
        second, end = builder.add(first, _WORD(FOUR)), builder.sub(last, _WORD(FOUR))
        before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_signed("<", first, end), loop, after)

        builder.position_at_end(loop)
        so_far = [builder.phi(kind) for kind in (_WORD, _NUMBERS, _ROWS)]
        row, most, at = so_far
        start = builder.select(builder.icmp_signed("<", row, end), row, end)
        product, rows = _products(builder, data, start, direction)
        is_farther = builder.fcmp_ordered(">", product, most)
        chosen = [builder.select(is_farther, product, most), builder.select(is_farther, rows, at)]
        for phi, value in zip(so_far, [second, *begin], strict=True):
            phi.add_incoming(value, before)
        for phi, value in zip(so_far, [builder.add(row, _WORD(FOUR)), *chosen], strict=True):
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", start, end), loop, after)

        builder.position_at_end(after)
        result = [builder.phi(kind) for kind in (_NUMBERS, _ROWS)]
        for phi, one_block, more in zip(result, begin, chosen, strict=True):
            phi.add_incoming(one_block, before)
            phi.add_incoming(more, loop)
        return context.make_tuple(builder, signature.return_type, _farthest_of_four(builder, *result))

    if not (isinstance(table, types.Array) and table.layout == "C" and table.dtype == types.float64):
        raise TypeError("only in a table of double precision whose rows follow each other")
    number, row = types.float64, types.int64
    return types.Tuple((row, number))(table, row, row, number, number, number), generate


# (row, product) of the farthest of the rows `first` to `last` of a table (rows, 3); these are four or more.
_farthest_of_fours: Any = _farthest_of_many if RUNS_AS_PYTHON else intrinsic(_farthest_compiled)


@inner
def farthest(table, first, last, d):
    """The farthest row along a direction.

    Args:
        table: Vectors, shape (rows, 3).
        first, last: Rows that are looked at, but for `last` itself; at least one.
        d: The direction, of any length.

    Returns:
        (row, product with d); of equal ones the first.
    """
    if last - first >= FOUR:
        return _farthest_of_fours(table, first, last, d[0], d[1], d[2])
    row, most = first, -np.inf
    for k in range(first, last):
        product = table[k, 0] * d[0] + table[k, 1] * d[1] + table[k, 2] * d[2]
        if product > most:
            row, most = k, product
    return row, most
