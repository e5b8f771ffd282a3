"""Linear complementarity with a positive semidefinite matrix: A f + b >= 0, f >= 0, f . (A f + b) = 0.

This is the system of resting contact forces (Baraff 1997, eqs. 9-14 to 9-16) and of simultaneous
impulses (Baraff 1989, section 8). Rows may also be equalities (A f + b = 0, f of any sign), as joints
and held contacts want. Contact points of rigid bodies are often overdetermined (a table with four
legs), which makes A singular: the proximal point method solves a few systems with A + eps I, which
has one solution, and ends at an exact solution of the singular one.

Each of these systems is solved by block principal pivoting between f and w = A f + b: all contacts that
have the wrong sign change sides at once. Where that does not bring their number down, contacts are taken one
at a time, which is certain to end.

Source: Baraff 1994, section 4 (pivoting between f and a, one contact at a time); Judice & Pires 1994, *A
block principal pivoting algorithm for large-scale strictly monotone LCPs*; Rockafellar 1976 (proximal point).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SOFTNESS = 1e-8  # of the diagonal: how far A is moved from singular in each proximal step
PROXIMAL_STEPS = 20
ACCURACY = 1e-13  # of the largest entry of b: sign errors below it are round-off
GOOD_ENOUGH = 1e-12  # natural-map residual relative to b at which the proximal steps end
PATIENCE = 6  # block steps that may pass without progress before contacts are taken one at a time
SPARSE_FROM = 260  # rows: from here on the factor of a sparse matrix beats that of a dense one


class LcpSolution(NamedTuple):
    """What `solve_lcp` found."""

    f: Array  # (m,) forces or impulses
    w: Array  # (m,) A f + b
    residual: float  # natural-map residual, relative to the largest |b|
    pivots: int  # contacts that changed sides


def part_of(A, rows: NDArray[np.int64]):
    """Some rows and columns of an array or sparse matrix."""
    return A[np.ix_(rows, rows)] if isinstance(A, np.ndarray) else A[rows][:, rows].tocsc()


def natural_residual(A, b: Array, f: Array, free: NDArray[np.bool_] | None = None) -> float:
    """Largest violation of the three conditions, relative to the largest |b|; 0 for a solution.

    Equation: max over i of |min(a_ii f_i, w_i)| for inequalities and |w_i| for equalities, w = A f + b.
    """
    if len(b) == 0:
        return 0.0
    w = A @ f + b
    error = np.minimum(A.diagonal() * f, w)
    if free is not None:
        error = np.where(free, w, error)
    scale = float(np.abs(b).max())
    return float(np.abs(error).max()) / scale if scale > 0.0 else float(np.abs(error).max())


def solve_lcp(
    A, b: Array, *, free: NDArray[np.bool_] | None = None, guess: Array | None = None
) -> LcpSolution:
    """Solve an LCP with a symmetric positive semidefinite matrix, with equality rows.

    Args:
        A: Shape (m, m), an array or a sparse matrix; its diagonal is positive.
        b: Shape (m,).
        free: Rows that are equalities, shape (m,).
        guess: A solution to start from, shape (m,), such as that of a moment ago.

    Returns:
        The solution; its `residual` says how well it holds. It stays large where the system has none.
    """
    m = len(b)
    if m == 0:
        return LcpSolution(np.zeros(0), np.zeros(0), 0.0, 0)
    bound = np.zeros(m, bool) if free is None else free
    # Rows scaled to a unit diagonal: bodies of very different masses then count alike.
    scale = 1.0 / np.sqrt(np.maximum(A.diagonal(), 1e-300))
    scaled = _scaled(A, scale)
    c = scale * b
    f = np.zeros(m) if guess is None else guess / scale
    active = bound | (np.ones(m, bool) if guess is None else guess > 0.0)
    best, best_residual, pivots = f, np.inf, 0
    for _ in range(PROXIMAL_STEPS):
        f, active, flips = _pivot(scaled, c - SOFTNESS * f, active, bound, f)
        pivots += flips
        residual = natural_residual(scaled, c, f, bound)
        if residual < best_residual:
            best, best_residual = f, residual
        if best_residual <= GOOD_ENOUGH:
            break
    solution = best * scale
    return LcpSolution(solution, A @ solution + b, natural_residual(A, b, solution, bound), pivots)


def _scaled(A, scale: Array):
    if isinstance(A, np.ndarray):
        return A * scale[:, None] * scale
    from scipy.sparse import diags

    return (diags(scale) @ A @ diags(scale)).tocsc()


def _pivot(A, b: Array, active: NDArray[np.bool_], bound: NDArray[np.bool_], last: Array):
    """Block principal pivoting for A + SOFTNESS I; returns f, the active rows, and how many were moved."""
    active = active.copy()
    tolerance = ACCURACY * max(float(np.abs(b).max()), 1e-300)
    least, patience, flips = len(b) + 1, PATIENCE, 0
    while True:
        f = _solve_rows(A, active, b)
        w = A @ f + SOFTNESS * f + b
        wrong = np.where(active, f < -tolerance, w < -tolerance) & ~bound
        count = int(wrong.sum())
        if count == 0:
            return np.where(bound, f, np.maximum(f, 0.0)), active, flips
        if count < least:
            least, patience = count, PATIENCE
        elif patience > 0:
            patience -= 1
        else:
            return _one_at_a_time(A, b, bound, last, tolerance, flips)
        flips += count
        active ^= wrong


def _one_at_a_time(A, b: Array, bound: NDArray[np.bool_], last: Array, tolerance: float, flips: int):
    """The same contact by contact: the one that approaches fastest gets a force, those at zero lose theirs.

    Each step lowers f . A f / 2 + b . f, so that none comes back and the end is certain; it takes as many
    factorisations as contacts change sides. Source: Baraff 1994, section 4.1; Lawson & Hanson 1974, ch. 23.
    """
    f = np.where(bound, last, np.maximum(last, 0.0))
    active = bound | (f > 0.0)
    for _ in range(10 * len(b) + 50):
        while True:
            target = _solve_rows(A, active, b)
            crossing = np.flatnonzero(active & ~bound & (target < 0.0))
            if len(crossing) == 0:
                break
            ratio = f[crossing] / (f[crossing] - target[crossing])
            step = float(ratio.min())
            f = f + step * (target - f)
            gone = crossing[ratio <= step]
            f[gone], active[gone] = 0.0, False
            flips += len(gone)
        f = target
        w = np.where(active, np.inf, A @ f + SOFTNESS * f + b)
        worst = int(w.argmin())
        if w[worst] >= -tolerance:
            break
        active[worst] = True
        flips += 1
    return f, active, flips


def _solve_rows(A, active: NDArray[np.bool_], b: Array) -> Array:
    """Solve (A + SOFTNESS I) x + b = 0 for the active rows, x = 0 for the others."""
    rows, x = np.flatnonzero(active), np.zeros(len(b))
    x[rows] = _solve_part(A, rows, -b[rows])
    return x


def _solve_part(A, rows: NDArray[np.int64], right: Array) -> Array:
    if len(rows) == 0:
        return np.zeros(0)
    if isinstance(A, np.ndarray):
        from scipy.linalg.lapack import dposv  # pyright: ignore[reportAttributeAccessIssue]

        part = A[np.ix_(rows, rows)]
        part.flat[:: len(rows) + 1] += SOFTNESS
        _, x, failed = dposv(part, right)
        return np.asarray(x if failed == 0 else np.linalg.lstsq(part, right, rcond=None)[0], np.float64)
    from scipy.sparse import identity
    from scipy.sparse.linalg import splu

    part = A[rows][:, rows] + SOFTNESS * identity(len(rows))
    # Symmetric and positive definite: the diagonal is a safe pivot, the order of the graph saves fill.
    return splu(part.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
                options={"SymmetricMode": True}).solve(right)  # fmt: skip


def solve_by_linear_programs(A, b: Array, *, free: NDArray[np.bool_] | None = None) -> tuple[Array, int]:
    """The heuristic of Baraff 1989, section 6, with HiGHS: linear programs that guess vanishing contacts.

    First no contact is taken to vanish (A f + b = 0, f >= 0). Where that has no solution, the least sum
    of forces with A f + b >= 0, f >= 0 is found, and contacts with A f + b > 0 there are guessed to
    vanish. Where that guess is wrong too, the forces of least sum are returned, as in section 6.5.

    Returns:
        Forces, shape (m,), and the number of wrong guesses: 0, 1 or 2.

    Source: Baraff 1989, sections 6.1 to 6.5, in the signs of 1997 (A f + b >= 0).
    """
    from scipy.optimize import linprog

    m = len(b)
    if m == 0:
        return np.zeros(0), 0
    bound = np.zeros(m, bool) if free is None else free
    dense = A if isinstance(A, np.ndarray) else A.toarray()
    scale = 1.0 / np.sqrt(np.maximum(dense.diagonal(), 1e-300))
    load = float(np.abs(scale * b).max())
    if load == 0.0:
        return np.zeros(m), 0
    M, c = dense * scale[:, None] * scale, scale * b / load
    cost = np.where(bound, 0.0, scale)
    limits = [(None, None) if equal else (0.0, None) for equal in bound]

    def program(equal: NDArray[np.bool_], vanishing: NDArray[np.bool_]):
        box = [(0.0, 0.0) if v else limit for v, limit in zip(vanishing, limits, strict=True)]
        rest = ~equal
        return linprog(
            cost, A_ub=-M[rest] if rest.any() else None, b_ub=c[rest] if rest.any() else None,
            A_eq=M[equal] if equal.any() else None, b_eq=-c[equal] if equal.any() else None,
            bounds=box, method="highs",
        )  # fmt: skip

    nothing = np.zeros(m, bool)
    guess = program(np.ones(m, bool), nothing)
    if guess.status == 0:
        return guess.x * scale * load, 0
    least = program(bound, nothing)
    if least.status != 0:
        return np.full(m, np.nan), 2
    vanishing = (M @ least.x + c > 1e-9) & ~bound
    guess = program(~vanishing, vanishing)
    if guess.status == 0:
        return guess.x * scale * load, 1
    return least.x * scale * load, 2
