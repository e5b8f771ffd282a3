"""Sparse Cholesky factor of a symmetric matrix of 6 x 6 blocks, one block row per body.

The graph of an island decides the order (least degree first) and where the factor fills in. The
elimination graph is kept as a plain table of n x n, which is simple and, for the islands it is used
on (up to a thousand bodies), cheaper than the numbers it saves. Where the factor would fill in too far, it is
left incomplete: no block where the matrix has none. It is then a preconditioner (see conjugate_gradients.py).

Source: George & Liu 1981, *Computer Solution of Large Sparse Positive Definite Systems* (minimum
degree, elimination graph); Golub & Van Loan, sections 4.2 (Cholesky) and 11.5.8 (incomplete).
"""

import math
from typing import NamedTuple

import numpy as np

from ..intrinsics import BLOCK, subtract_product
from ..jit import allocating_inner, inlined, inner


class Pattern(NamedTuple):
    """Where the factor of n block rows has blocks; rows and columns in elimination order."""

    rank: np.ndarray  # (n,) place of each body in the order
    start: np.ndarray  # (n + 1,) where each column's blocks below the diagonal begin in `row`
    row: np.ndarray  # block rows below the diagonal, column by column, ascending


@allocating_inner
def analyze(linked):
    """Order the rows by least degree and find the blocks of the factor.

    Args:
        linked: Which bodies share a contact, shape (n, n), bool, symmetric. Overwritten.
    """
    n = linked.shape[0]
    rank = np.full(n, -1, np.int64)
    order = np.empty(n, np.int64)
    degree = np.zeros(n, np.int64)
    below_count = np.zeros(n, np.int64)
    for i in range(n):
        linked[i, i] = False
        degree[i] = linked[i].sum()
    neighbors = np.empty(n, np.int64)
    for k in range(n):
        best = -1
        for i in range(n):
            if rank[i] < 0 and (best < 0 or degree[i] < degree[best]):
                best = i
        rank[best], order[k] = k, best
        count = 0
        for i in range(n):
            if linked[best, i] and rank[i] < 0:
                neighbors[count] = i
                count += 1
        below_count[k] = count
        for x in range(count):
            i = neighbors[x]
            degree[i] -= 1
            for y in range(x):
                j = neighbors[y]
                if not linked[i, j]:
                    linked[i, j] = linked[j, i] = True
                    degree[i] += 1
                    degree[j] += 1
    start = np.zeros(n + 1, np.int64)
    for k in range(n):
        start[k + 1] = start[k] + below_count[k]
    row = np.empty(start[n], np.int64)
    for k in range(n):
        at = start[k]
        for r in range(k + 1, n):
            if linked[order[k], order[r]]:
                row[at] = r
                at += 1
    return Pattern(rank, start, row)


@allocating_inner
def without_fill(n, links, count):
    """The pattern of a matrix itself, its rows in their order.

    Args:
        n: Number of block rows.
        links: Pairs of rows that share a block, shape (count, 2), in any order and number; later ones are
            scratch.
    """
    start = np.zeros(n + 1, np.int64)
    for i in range(count):
        start[min(links[i, 0], links[i, 1]) + 1] += 1
    for k in range(n):
        start[k + 1] += start[k]
    row, filled = np.empty(count, np.int64), start[:n].copy()
    for i in range(count):
        column, r = min(links[i, 0], links[i, 1]), max(links[i, 0], links[i, 1])
        at = filled[column]
        while at > start[column] and row[at - 1] > r:  # columns are short: sorted as they are filled
            row[at] = row[at - 1]
            at -= 1
        row[at] = r
        filled[column] += 1
    kept = np.int64(0)
    for k in range(n):
        first, last = start[k], start[k + 1]
        start[k] = kept
        for at in range(first, last):
            if at == first or row[at] != row[at - 1]:
                row[kept] = row[at]
                kept += 1
    start[n] = kept
    return Pattern(np.arange(n), start, row[:kept].copy())


@inner
def block_index(pattern, row, column):
    """Index of the block (row, column), row >= column, in elimination order; -1 where there is none."""
    if row == column:
        return row
    for at in range(pattern.start[column], pattern.start[column + 1]):
        if pattern.row[at] == row:
            return pattern.rank.shape[0] + at
    return np.int64(-1)


@inner
def products(pattern):
    """Products of two blocks that the factor takes."""
    count = 0
    for k in range(pattern.rank.shape[0]):
        below = pattern.start[k + 1] - pattern.start[k]
        count += below * (below + 1) // 2
    return count


@inner
def _factor_diagonal(a):
    """Cholesky factor of one block in place, 1 / d for its diagonal; False where it is not positive."""
    for j in range(BLOCK):
        d = a[j, j]
        for k in range(j):
            d -= a[j, k] * a[j, k]
        if not d > 0.0:
            return False
        a[j, j] = 1.0 / math.sqrt(d)
        for i in range(j + 1, BLOCK):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s * a[j, j]
    return True


@allocating_inner
def factor(pattern, blocks):
    """Replace the blocks of a matrix by those of its Cholesky factor, as far as the pattern has them.

    Args:
        blocks: Shape (n + fill, 6, 6): n diagonal blocks (lower triangle), then the columns' blocks
            below the diagonal in the order of `pattern.row`. Written; the factor's diagonal as 1 / d, by
            which a solution is multiplied.

    Returns:
        False where the matrix is not positive definite.
    """
    n = pattern.rank.shape[0]
    transposed = np.empty((BLOCK, BLOCK))
    for k in range(n):
        diagonal = blocks[k]
        if not _factor_diagonal(diagonal):
            return False
        first, last = pattern.start[k], pattern.start[k + 1]
        for at in range(first, last):  # L_rk = A_rk L_kk^-T
            b = blocks[n + at]
            for i in range(BLOCK):
                for j in range(BLOCK):
                    s = b[i, j]
                    for m in range(j):
                        s -= b[i, m] * diagonal[j, m]
                    b[i, j] = s * diagonal[j, j]
        for y in range(first, last):  # A_xy -= L_xk L_yk^T for the rows x, y of the column, x >= y
            for i in range(BLOCK):
                for j in range(BLOCK):
                    transposed[j, i] = blocks[n + y, i, j]
            column = pattern.row[y]
            subtract_product(blocks[n + y], transposed, blocks[column])
            at, end = pattern.start[column], pattern.start[column + 1]
            for x in range(y + 1, last):
                while at < end and pattern.row[at] < pattern.row[x]:
                    at += 1
                if at < end and pattern.row[at] == pattern.row[x]:
                    subtract_product(blocks[n + x], transposed, blocks[n + at])
    return True


@inlined
def _row(x, k):
    """Row k of x (n, 6), in registers: read once, whatever is written meanwhile."""
    return x[k, 0], x[k, 1], x[k, 2], x[k, 3], x[k, 4], x[k, 5]


@inner
def multiply(pattern, blocks, x, out):
    """out = A x for the blocks of a matrix whose diagonal blocks are whole; x and out (n, 6)."""
    n = pattern.rank.shape[0]
    for k in range(n):
        a, v = blocks[k], _row(x, k)
        for i in range(BLOCK):
            out[k, i] = (
                a[i, 0] * v[0] + a[i, 1] * v[1] + a[i, 2] * v[2]
                + a[i, 3] * v[3] + a[i, 4] * v[4] + a[i, 5] * v[5]
            )  # fmt: skip
    for k in range(n):
        v = _row(x, k)
        for at in range(pattern.start[k], pattern.start[k + 1]):
            a, r = blocks[n + at], pattern.row[at]
            u = _row(x, r)
            for j in range(BLOCK):
                out[k, j] = (
                    out[k, j] + a[0, j] * u[0] + a[1, j] * u[1] + a[2, j] * u[2]
                    + a[3, j] * u[3] + a[4, j] * u[4] + a[5, j] * u[5]
                )  # fmt: skip
            for i in range(BLOCK):
                out[r, i] += (
                    a[i, 0] * v[0] + a[i, 1] * v[1] + a[i, 2] * v[2]
                    + a[i, 3] * v[3] + a[i, 4] * v[4] + a[i, 5] * v[5]
                )  # fmt: skip


@inner
def solve(pattern, blocks, b):
    """Solve L L' x = b in place; b (n, 6) in elimination order."""
    n = pattern.rank.shape[0]
    for k in range(n):
        d = blocks[k]
        for i in range(BLOCK):
            s = b[k, i]
            for j in range(i):
                s -= d[i, j] * b[k, j]
            b[k, i] = s * d[i, i]
        v = _row(b, k)
        for at in range(pattern.start[k], pattern.start[k + 1]):
            a, r = blocks[n + at], pattern.row[at]
            for i in range(BLOCK):
                b[r, i] = (
                    b[r, i] - a[i, 0] * v[0] - a[i, 1] * v[1] - a[i, 2] * v[2]
                    - a[i, 3] * v[3] - a[i, 4] * v[4] - a[i, 5] * v[5]
                )  # fmt: skip
    for k in range(n - 1, -1, -1):
        d = blocks[k]
        for at in range(pattern.start[k], pattern.start[k + 1]):
            a = blocks[n + at]
            u = _row(b, pattern.row[at])
            for j in range(BLOCK):
                b[k, j] = (
                    b[k, j] - a[0, j] * u[0] - a[1, j] * u[1] - a[2, j] * u[2]
                    - a[3, j] * u[3] - a[4, j] * u[4] - a[5, j] * u[5]
                )  # fmt: skip
        for i in range(BLOCK - 1, -1, -1):
            s = b[k, i]
            for j in range(i + 1, BLOCK):
                s -= d[j, i] * b[k, j]
            b[k, i] = s * d[i, i]
