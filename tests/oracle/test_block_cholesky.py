"""The sparse block factor against NumPy's dense solution."""

import numpy as np
import pytest
from numba import njit
from topple.jit import kernel
from topple.solvers import block_cholesky
from topple.solvers import conjugate_gradients as gradients
from topple.solvers.block_cholesky import BLOCK


@njit
def analyze(linked):
    return block_cholesky.analyze(linked)


@njit
def without_fill(n, links, count):
    return block_cholesky.without_fill(n, links, count)


@kernel
def block_index(pattern, row, column):
    return block_cholesky.block_index(pattern, row, column)


@njit
def factor(pattern, blocks):
    return block_cholesky.factor(pattern, blocks)


@kernel
def solve(pattern, blocks, x):
    block_cholesky.solve(pattern, blocks, x)


@kernel
def multiply(pattern, blocks, x, out):
    block_cholesky.multiply(pattern, blocks, x, out)


@kernel
def conjugate_gradients(pattern, matrix, factor, b, work):
    gradients.conjugate_gradients(pattern, matrix, factor, b, work)


def chain(n: int) -> set[tuple[int, int]]:
    return {(i, i + 1) for i in range(n - 1)}


def grid(width: int, height: int) -> set[tuple[int, int]]:
    links = {(r * width + k, r * width + k + 1) for r in range(height) for k in range(width - 1)}
    return links | {(r * width + k, (r + 1) * width + k) for r in range(height - 1) for k in range(width)}


def star(n: int) -> set[tuple[int, int]]:
    return {(0, i) for i in range(1, n)}


def full(n: int) -> set[tuple[int, int]]:
    return {(i, j) for i in range(n) for j in range(i)}


def definite_matrix(n: int, links: set[tuple[int, int]]) -> np.ndarray:
    """A random positive definite matrix with blocks at the links and on the diagonal."""
    rng = np.random.default_rng(n)
    matrix = np.zeros((n, BLOCK, n, BLOCK))
    for i, j in links:
        block = rng.normal(size=(BLOCK, BLOCK))
        matrix[i, :, j], matrix[j, :, i] = block, block.T
    flat = matrix.reshape(n * BLOCK, n * BLOCK)
    return flat + np.diag(np.abs(flat).sum(axis=1) + 1.0)


def blocks_of(dense: np.ndarray, pattern: block_cholesky.Pattern) -> np.ndarray:
    """The blocks of a matrix at the places of a pattern."""
    n = len(pattern.rank)
    blocks = np.zeros((n + len(pattern.row), BLOCK, BLOCK))
    by_body = dense.reshape(n, BLOCK, n, BLOCK)
    for i in range(n):
        for j in range(n):
            row, column = pattern.rank[i], pattern.rank[j]
            if row >= column and (index := block_index(pattern, row, column)) >= 0:
                blocks[index] = by_body[i, :, j]
    return blocks


GRAPHS = pytest.mark.parametrize(
    ("n", "links"),
    [(1, set()), (2, set()), (7, chain(7)), (20, grid(5, 4)), (9, star(9)), (6, full(6))],
    ids=["one", "apart", "chain", "grid", "star", "full"],
)


@GRAPHS
def test_solves_like_numpy(n, links):
    """L L' x = b; the residual of a Cholesky solution is a few round-offs of |A| |x|."""
    dense = definite_matrix(n, links)
    linked = np.zeros((n, n), bool)
    for i, j in links:
        linked[i, j] = linked[j, i] = True
    pattern = analyze(linked.copy())
    blocks = blocks_of(dense, pattern)
    assert factor(pattern, blocks)
    right = np.random.default_rng(0).normal(size=(n, BLOCK))
    solution = np.empty_like(right)
    solution[pattern.rank] = right
    solve(pattern, blocks, solution)
    np.testing.assert_allclose(dense @ solution[pattern.rank].ravel(), right.ravel(), atol=1e-12)


@GRAPHS
def test_conjugate_gradients_solve_like_numpy(n, links):
    """With the incomplete factor, to a part ACCURACY of the error in the norm of the preconditioner.

    Links are given twice over and in both directions, as contacts give them.
    """
    dense = definite_matrix(n, links)
    pairs = np.array([pair for i, j in sorted(links) for pair in ((i, j), (j, i))] + [(0, 0)], np.int64)
    pattern = without_fill(n, pairs, len(pairs) - 1)
    assert len(pattern.row) == len(links)
    matrix = blocks_of(dense, pattern)
    incomplete = matrix.copy()
    assert factor(pattern, incomplete)
    right = np.random.default_rng(0).normal(size=(n, BLOCK))
    product = np.empty_like(right)
    multiply(pattern, matrix, right, product)
    np.testing.assert_allclose(product.ravel(), dense @ right.ravel(), atol=1e-12)
    solution = right.copy()
    conjugate_gradients(pattern, matrix, incomplete, solution, np.empty((4, n, BLOCK)))
    left = right - (dense @ solution.ravel()).reshape(n, BLOCK)
    norms = []
    for residual in (left, right):
        turned = residual.copy()
        solve(pattern, incomplete, turned)
        norms.append(np.sqrt((residual * turned).sum()))
    assert norms[0] <= 1.01 * gradients.ACCURACY * norms[1]


def test_chain_fills_nothing():
    """Least degree eliminates a chain from its ends: one block below the diagonal per link."""
    n = 12
    linked = np.zeros((n, n), bool)
    for i, j in chain(n):
        linked[i, j] = linked[j, i] = True
    assert len(analyze(linked).row) == n - 1


def test_says_when_not_positive():
    pattern = analyze(np.zeros((1, 1), bool))
    assert not factor(pattern, -np.eye(BLOCK)[None].copy())
