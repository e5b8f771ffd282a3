"""Conjugate gradients for a symmetric matrix of 6 x 6 blocks, with its incomplete factor.

Source: Golub & Van Loan, *Matrix Computations*, 4th edition, algorithm 11.5.1.
"""

from ..jit import inner
from .block_cholesky import BLOCK, multiply, solve

MOST_STEPS = 100
# Part of the residual that is left, by the preconditioner: a hundredth saves Newton's method 3 steps of 67.
ACCURACY = 0.1


@inner
def _product(x, y):
    """Sum of x_ki y_ki."""
    total = 0.0
    for k in range(x.shape[0]):
        for i in range(BLOCK):
            total += x[k, i] * y[k, i]
    return total


@inner
def _copy(x, out):
    for k in range(x.shape[0]):
        for i in range(BLOCK):
            out[k, i] = x[k, i]


@inner
def conjugate_gradients(pattern, matrix, factor, b, work):
    """Solve A x = b in place to a part ACCURACY of b; b (n, 6) in the pattern's order.

    Args:
        matrix: Blocks of A, diagonal blocks whole.
        factor: Blocks of a factor of A, incomplete perhaps.
        work: Scratch (4, n, 6).
    """
    r, z, p, q = work[0], work[1], work[2], work[3]
    _copy(b, r)
    _copy(b, z)
    solve(pattern, factor, z)
    _copy(z, p)
    b[:, :] = 0.0
    size = _product(r, z)
    enough = ACCURACY * ACCURACY * size
    for _ in range(MOST_STEPS):
        if not size > enough:
            break
        multiply(pattern, matrix, p, q)
        length = size / _product(p, q)
        for k in range(b.shape[0]):
            for i in range(BLOCK):
                b[k, i] += length * p[k, i]
                r[k, i] -= length * q[k, i]
                z[k, i] = r[k, i]
        solve(pattern, factor, z)
        last, size = size, _product(r, z)
        for k in range(b.shape[0]):
            for i in range(BLOCK):
                p[k, i] = z[k, i] + size / last * p[k, i]
