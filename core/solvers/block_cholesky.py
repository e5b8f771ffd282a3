"""Sparse Cholesky factor of a symmetric matrix of 6 x 6 blocks, one block row per body.

The graph of an island decides the order (least degree first) and where the factor fills in. The
elimination graph is kept as a plain table of n x n, which is simple and, for the islands it is used
on (up to a few thousand bodies), cheaper than the numbers it saves.

Source: George & Liu 1981, *Computer Solution of Large Sparse Positive Definite Systems* (minimum
degree, elimination graph); Golub & Van Loan, section 4.2 (Cholesky).
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import allocating_inner, inner

BLOCK = 6


class Pattern(NamedTuple):
    """Where the factor of n block rows has blocks; rows and columns in elimination order."""

    rank: np.ndarray  # (n,) place of each body in the order
    place: np.ndarray  # (n, n) index of block (row, column), row >= column; -1 where it is zero
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
    place = np.full((n, n), -1, np.int64)
    for k in range(n):
        place[k, k] = k
        at = start[k]
        for r in range(k + 1, n):
            if linked[order[k], order[r]]:
                row[at] = r
                place[r, k] = n + at
                at += 1
    return Pattern(rank, place, start, row)


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
    """Cholesky factor of one block in place (lower triangle); False where it is not positive."""
    for j in range(BLOCK):
        d = a[j, j]
        for k in range(j):
            d -= a[j, k] * a[j, k]
        if not d > 0.0:
            return False
        d = math.sqrt(d)
        a[j, j] = d
        for i in range(j + 1, BLOCK):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / d
    return True


@inner
def factor(pattern, blocks):
    """Replace the blocks of a matrix by those of its Cholesky factor.

    Args:
        blocks: Shape (n + fill, 6, 6): n diagonal blocks (lower triangle), then the columns' blocks
            below the diagonal in the order of `pattern.row`. Written.

    Returns:
        False where the matrix is not positive definite.
    """
    n = pattern.rank.shape[0]
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
                    b[i, j] = s / diagonal[j, j]
        for x in range(first, last):
            lx = blocks[n + x]
            for y in range(first, x + 1):
                ly = blocks[n + y]
                target = blocks[pattern.place[pattern.row[x], pattern.row[y]]]
                for i in range(BLOCK):
                    for j in range(BLOCK):
                        s = 0.0
                        for m in range(BLOCK):
                            s += lx[i, m] * ly[j, m]
                        target[i, j] -= s
    return True


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
            b[k, i] = s / d[i, i]
        for at in range(pattern.start[k], pattern.start[k + 1]):
            low, r = blocks[n + at], pattern.row[at]
            for i in range(BLOCK):
                for j in range(BLOCK):
                    b[r, i] -= low[i, j] * b[k, j]
    for k in range(n - 1, -1, -1):
        d = blocks[k]
        for at in range(pattern.start[k], pattern.start[k + 1]):
            low, r = blocks[n + at], pattern.row[at]
            for j in range(BLOCK):
                for i in range(BLOCK):
                    b[k, j] -= low[i, j] * b[r, i]
        for i in range(BLOCK - 1, -1, -1):
            s = b[k, i]
            for j in range(i + 1, BLOCK):
                s -= d[j, i] * b[k, j]
            b[k, i] = s / d[i, i]
