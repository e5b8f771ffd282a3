"""Eight numbers at a time: each operation against numpy's on the same eight, to the bit."""

import numpy as np
from topple.jit import kernel
from topple.lanes import (
    LANES,
    SINGLE,
    absolute,
    any_of,
    choose,
    cross,
    dot,
    fill,
    gather,
    larger,
    largest,
    load,
    root,
    scatter,
    store,
    total,
)


@kernel
def operate(table, out):
    """Write the result of each operation on rows 0 and 1; returns what makes one number of eight."""
    x, y = load(table, 0), load(table, 1)
    results = (x + y, x - y, x * y, x / y, choose(x > y, x, y), root(absolute(x)), fill(3.0), larger(x, y))
    for k in range(8):
        store(out, k, results[k])
    a, b = (x, y, x + y), (y, x - y, x)
    store(out, 8, dot(a, b))
    for k in range(3):
        store(out, 9 + k, cross(a, b)[k])
    return largest(x), total(x), any_of(x > fill(1e9)), any_of(x > y)


@kernel
def move_rows(table, rows, count, out):
    """Write eight rows to the same rows of another table, those below `count`."""
    scatter(out, rows, count, gather(table, rows))


def test_operations_are_those_of_eight_numbers():
    table = np.random.default_rng(3).normal(size=(2, LANES)).astype(SINGLE)
    out = np.zeros((12, LANES), SINGLE)
    x, y = table
    found = operate(table, out)
    most = np.maximum(x, y)
    expected = [x + y, x - y, x * y, x / y, most, np.sqrt(abs(x)), np.full(LANES, 3.0, SINGLE), most]
    np.testing.assert_array_equal(out[:8], expected)
    a, b = (x, y, x + y), (y, x - y, x)
    np.testing.assert_array_equal(out[8], a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
    np.testing.assert_allclose(out[9:], np.cross(a, b, axis=0), rtol=1e-6, atol=1e-6)
    assert found == (x.max(), sum(x.tolist()), False, True)


def test_rows_become_columns_and_back():
    table = np.arange(10.0 * LANES, dtype=SINGLE).reshape(10, LANES)
    rows = np.array([3, 1, 4, 9, 5, 2, 6, 0], np.int32)
    out, expected = np.zeros_like(table), np.zeros_like(table)
    expected[rows[rows < 5]] = table[rows[rows < 5]]
    move_rows(table, rows, 5, out)
    np.testing.assert_array_equal(out, expected)
