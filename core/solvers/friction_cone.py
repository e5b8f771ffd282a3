"""Contact with Coulomb friction: normal and tangential forces of one island at once.

For contacts with rows (n, t1, t2), relative accelerations (or velocities) w = A f + b and coefficient mu:

    0 <= f_n, w_n >= 0, f_n w_n = 0         (the three conditions of Baraff 1997, section 9)
    |f_t| <= mu f_n                         where the contact sticks; f_t = -mu f_n w_t / |w_t| if w_t != 0
    f_t = -mu f_n d                         where it slips already, in the direction d

The second line says that a contact which begins to slip is opposed exactly: the cone is round, not a
pyramid. All of it is one equation F(f) = 0 with projections in it, which Newton's method for such
functions solves (Alart & Curnier 1991). Where many forces do, the proximal point method of `lcp.py`
picks one. Baraff's papers of 1989 and 1997 have no friction; this is Coulomb's law at the level of
accelerations as in Baraff 1991, *Coping with friction*, but with the round cone.

Limits: with friction there may be no forces at all (Painleve 1895: a rod that slides on its tip) or
several. Then the residual stays large and the caller takes an impulse instead.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .lcp import Array

# How far A is moved from singular, in parts of its diagonal, in the proximal steps: much at first, as
# Newton's method goes astray along what a curved cone leaves undetermined; then less, where that is slow.
PROXIMAL = (1e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-8, 1e-9, 1e-9, 1e-9)
GOOD_ENOUGH = 1e-12  # residual relative to b at which the search ends
ROUND_OFF, NEAR = 1e-13, 1e-10  # where Newton's method ends, and where it ends when it stops improving
ACCEPTED = 1e-9  # and the largest that counts as a solution
NEWTON_STEPS, SWEEPS = 40, 60
LARGE = 3 * 100  # rows from which sparse factors are taken


class ConeSolution(NamedTuple):
    """What `solve_cone` found."""

    f: Array  # (m, 3) forces or impulses in the contact frames
    w: Array  # (m, 3) A f + b
    residual: float  # relative to the largest |b|


class _Problem(NamedTuple):
    A: Array  # scaled: the mean of each contact's three diagonal entries is 1
    b: Array
    friction: Array
    slip: Array  # (m, 2) directions, zero where the contact sticks
    slips: NDArray[np.bool_]
    load: float


def solve_cone(
    A, b: Array, friction: Array, *, slip: Array | None = None, guess: Array | None = None
) -> ConeSolution:
    """Solve the contacts of one island.

    Args:
        A: Shape (3 m, 3 m), an array or a sparse matrix, symmetric and positive semidefinite.
        b: Shape (m, 3).
        friction: Coefficients mu, shape (m,).
        slip: Unit directions of contacts that slip, in (t1, t2), zero for the others, shape (m, 2).
        guess: Forces to start from, shape (m, 3).

    Returns:
        The solution; its residual stays above `ACCEPTED` where none was found.
    """
    m = len(b)
    diagonal = A.diagonal().reshape(m, 3).mean(axis=1)
    scale = np.repeat(1.0 / np.sqrt(diagonal), 3)
    slip = np.zeros((m, 2)) if slip is None else slip
    scaled = b.ravel() * scale
    problem = _Problem(
        _scaled(A, scale),
        scaled,
        friction,
        slip,
        np.asarray(slip.any(axis=1)),
        float(np.abs(scaled).max(initial=0.0)),
    )
    if problem.load == 0.0:
        return ConeSolution(np.zeros((m, 3)), b.copy(), 0.0)
    f = np.zeros(3 * m) if guess is None else guess.ravel() / scale
    f, residual = _proximal_newton(problem, f)
    for _ in range(3):
        if residual <= ACCEPTED:
            break
        f, residual = _proximal_newton(problem, _sweep(problem, f))
    solution = f * scale
    return ConeSolution(solution.reshape(m, 3), (A @ solution).reshape(m, 3) + b, residual)


def cone_residual(A, b: Array, friction: Array, f: Array, slip: Array | None = None) -> float:
    """Residual of the conditions above at forces f (m, 3), relative to the largest |b|."""
    m = len(b)
    scale = np.repeat(1.0 / np.sqrt(A.diagonal().reshape(m, 3).mean(axis=1)), 3)
    slip = np.zeros((m, 2)) if slip is None else slip
    scaled = b.ravel() * scale
    load = float(np.abs(scaled).max(initial=0.0))
    problem = _Problem(_scaled(A, scale), scaled, friction, slip, np.asarray(slip.any(axis=1)), load)
    x = f.ravel() / scale
    error = np.abs(_natural_map(problem, x, problem.A @ x + scaled)).max(initial=0.0)
    return float(error / load) if load > 0.0 else float(error)


def _scaled(A, scale: Array):
    if isinstance(A, np.ndarray):
        return A * scale[:, None] * scale
    from scipy.sparse import diags

    return (diags(scale) @ A @ diags(scale)).tocsr()


def _natural_map(problem: _Problem, f: Array, w: Array) -> Array:
    """F(f) = f - projection of f - w on what the conditions allow."""
    y = (f - w).reshape(-1, 3)
    x = f.reshape(-1, 3)
    normal = np.maximum(y[:, 0], 0.0)
    limit = problem.friction * normal
    size = np.sqrt(y[:, 1] ** 2 + y[:, 2] ** 2)
    inside = np.minimum(1.0, limit / np.maximum(size, 1e-300))
    tangential = np.where(problem.slips[:, None], -limit[:, None] * problem.slip, y[:, 1:] * inside[:, None])
    return np.column_stack([x[:, 0] - normal, x[:, 1:] - tangential]).ravel()


def _proximal_newton(problem: _Problem, f: Array) -> tuple[Array, float]:
    """Proximal steps, each solved by Newton's method; returns the best f and its residual."""
    A, b, load = problem.A, problem.b, problem.load
    best, best_residual = f, float(np.abs(_natural_map(problem, f, A @ f + b)).max()) / load
    for softness in PROXIMAL:
        f = _newton(problem, f, f, softness)
        residual = float(np.abs(_natural_map(problem, f, A @ f + b)).max()) / load
        if residual < best_residual:
            best, best_residual = f, residual
        if best_residual <= GOOD_ENOUGH:
            break
    return best, best_residual


def _newton(problem: _Problem, f: Array, anchor: Array, softness: float) -> Array:
    """Solve F = 0 for w = A f + b + softness (f - anchor)."""

    def evaluate(x: Array) -> tuple[Array, Array]:
        w = problem.A @ x + problem.b + softness * (x - anchor)
        return w, _natural_map(problem, x, w)

    w, F = evaluate(f)
    for _ in range(NEWTON_STEPS):
        size = float(np.abs(F).max())
        if size <= ROUND_OFF * problem.load:
            break
        step = _newton_step(problem, f, w, F, softness)
        if step is None:
            break
        length, merit = 1.0, float(F @ F)
        while True:
            trial = f + length * step
            w_trial, F_trial = evaluate(trial)
            better = float(F_trial @ F_trial) < merit * (1.0 - 1e-4 * length)
            if better or length < 1e-3 or size <= NEAR * problem.load:
                break
            length *= 0.5
        if not better and size <= NEAR * problem.load:
            break  # round-off: no step makes it better
        f, w, F = trial, w_trial, F_trial
    return f


def _newton_step(problem: _Problem, f: Array, w: Array, F: Array, softness: float) -> Array | None:
    """Solve dF step = -F with dF = I - P' (I - A - softness I), P' the derivative of the projection."""
    m = len(problem.friction)
    P = _projection_derivative(problem, (f - w).reshape(m, 3))
    if isinstance(problem.A, np.ndarray):
        B = problem.A + softness * np.eye(3 * m)
        PB = np.einsum("mij,mjk->mik", P, B.reshape(m, 3, 3 * m)).reshape(3 * m, 3 * m)
        for i in range(3):
            for j in range(3):
                PB[np.arange(i, 3 * m, 3), np.arange(j, 3 * m, 3)] += (i == j) - P[:, i, j]
        try:
            step = np.linalg.solve(PB, -F)
        except np.linalg.LinAlgError:
            return None
        return step if np.isfinite(step).all() else None
    from scipy.sparse import bsr_matrix, identity
    from scipy.sparse.linalg import splu

    blocks = bsr_matrix((P, np.arange(m), np.arange(m + 1)), shape=(3 * m, 3 * m)).tocsr()
    one = identity(3 * m, format="csr")
    matrix = (one - blocks + blocks @ (problem.A + softness * one)).tocsc()
    try:
        step = splu(matrix).solve(-F)
    except RuntimeError:  # exactly singular
        return None
    return step if np.isfinite(step).all() else None


def _projection_derivative(problem: _Problem, y: Array) -> Array:
    """Derivative of the projection at y (m, 3), shape (m, 3, 3)."""
    m = len(y)
    P = np.zeros((m, 3, 3))
    active = y[:, 0] > 0.0
    P[active, 0, 0] = 1.0
    slipping = active & problem.slips
    P[slipping, 1:, 0] = -problem.friction[slipping, None] * problem.slip[slipping]
    size = np.sqrt(y[:, 1] ** 2 + y[:, 2] ** 2)
    limit = problem.friction * y[:, 0]
    sticking = active & ~problem.slips & (size <= limit)
    P[sticking, 1, 1] = P[sticking, 2, 2] = 1.0
    begins = np.flatnonzero(active & ~problem.slips & (size > limit))
    along = y[begins, 1:] / size[begins, None]
    P[begins, 1:, 0] = problem.friction[begins, None] * along
    turn = np.eye(2) - along[:, :, None] * along[:, None, :]
    P[begins, 1:, 1:] = (limit[begins] / size[begins])[:, None, None] * turn
    return P


def _sweep(problem: _Problem, f: Array) -> Array:
    """Sweeps over the contacts one by one, which bring Newton's method close enough to converge."""
    A = problem.A if isinstance(problem.A, np.ndarray) else problem.A.toarray()
    m = len(problem.friction)
    f = f.copy()
    for _ in range(SWEEPS):
        for c in range(m):
            rows = slice(3 * c, 3 * c + 3)
            w = A[rows] @ f + problem.b[rows]
            block = A[rows, rows]
            normal = max(0.0, f[3 * c] - w[0] / block[0, 0])
            limit = problem.friction[c] * normal
            if problem.slips[c]:
                tangential = -limit * problem.slip[c]
            else:
                w_t = w[1:] + block[1:, 0] * (normal - f[3 * c])
                tangential = f[rows][1:] - w_t / np.linalg.eigvalsh(block[1:, 1:])[-1]
                size = float(np.hypot(*tangential))
                if size > limit:
                    tangential *= limit / size
            f[rows] = [normal, *tangential]
    return f
