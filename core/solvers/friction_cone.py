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

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..jit import kernel
from .lcp import Array

# How far A is moved from singular, in parts of its diagonal, in the proximal steps: much at first, as
# Newton's method goes astray along what a curved cone leaves undetermined; then less, where that is slow.
PROXIMAL = (1e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-8, 1e-9, 1e-9, 1e-9)
CLOSE = 1e-8  # for forces of a moment ago, which mostly are close enough to start from
GOOD_ENOUGH = 1e-12  # residual relative to b at which the search ends
ROUND_OFF, NEAR = 1e-13, 1e-10  # where Newton's method ends, and where it ends when it stops improving
ACCEPTED = 1e-9  # and the largest that counts as a solution
NEWTON_STEPS, SWEEPS = 40, 60


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
    problem, scale = _scaled_problem(A, b, friction, slip)
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
    problem, scale = _scaled_problem(A, b, friction, slip)
    x = f.ravel() / scale
    error = _evaluate(problem, x, problem.A @ x + problem.b)[1]
    return error / problem.load if problem.load > 0.0 else error


def _scaled_problem(A, b: Array, friction: Array, slip: Array | None) -> tuple[_Problem, Array]:
    """The problem, scaled so that contacts of bodies of very different masses count alike, and the scales."""
    m = len(b)
    scale = np.repeat(1.0 / np.sqrt(A.diagonal().reshape(m, 3).mean(axis=1)), 3)
    slip = np.zeros((m, 2)) if slip is None else slip
    scaled = b.ravel() * scale
    load = float(np.abs(scaled).max(initial=0.0))
    friction = np.ascontiguousarray(friction)
    return _Problem(_scaled(A, scale), scaled, friction, slip, np.asarray(slip.any(axis=1)), load), scale


def _scaled(A, scale: Array):
    if isinstance(A, np.ndarray):
        return A * scale[:, None] * scale
    from scipy.sparse import diags

    return (diags(scale) @ A @ diags(scale)).tocsr()


@kernel
def natural_map(f, w, friction, slip, slips, F_out):
    """F(f) = f - projection of f - w on what the conditions allow, rows of three as vectors (3 m,).

    Returns:
        The largest |F_i|, and F . F.
    """
    largest, merit = 0.0, 0.0
    for c in range(friction.shape[0]):
        i = 3 * c
        normal = max(f[i] - w[i], 0.0)
        limit = friction[c] * normal
        if slips[c]:
            t1, t2 = -limit * slip[c, 0], -limit * slip[c, 1]
        else:
            t1, t2 = f[i + 1] - w[i + 1], f[i + 2] - w[i + 2]
            size = math.sqrt(t1 * t1 + t2 * t2)
            if size > limit:
                t1, t2 = t1 * limit / size, t2 * limit / size
        F_out[i], F_out[i + 1], F_out[i + 2] = f[i] - normal, f[i + 1] - t1, f[i + 2] - t2
        for k in range(3):
            largest = max(largest, abs(F_out[i + k]))
            merit += F_out[i + k] * F_out[i + k]
    return largest, merit


@kernel
def projection_derivative(f, w, friction, slip, slips, P_out):
    """Derivative of the projection at f - w, vectors (3 m,), shape (m, 3, 3)."""
    for c in range(friction.shape[0]):
        P = P_out[c]
        for i in range(3):
            P[i, 0], P[i, 1], P[i, 2] = 0.0, 0.0, 0.0
        normal = f[3 * c] - w[3 * c]
        if normal <= 0.0:
            continue
        P[0, 0] = 1.0
        if slips[c]:
            P[1, 0], P[2, 0] = -friction[c] * slip[c, 0], -friction[c] * slip[c, 1]
            continue
        t1, t2 = f[3 * c + 1] - w[3 * c + 1], f[3 * c + 2] - w[3 * c + 2]
        size, limit = math.sqrt(t1 * t1 + t2 * t2), friction[c] * normal
        if size <= limit:  # sticks
            P[1, 1], P[2, 2] = 1.0, 1.0
            continue
        t1, t2, part = t1 / size, t2 / size, limit / size
        P[1, 0], P[2, 0] = friction[c] * t1, friction[c] * t2
        P[1, 1], P[2, 2] = part * (1.0 - t1 * t1), part * (1.0 - t2 * t2)
        P[1, 2], P[2, 1] = -part * t1 * t2, -part * t1 * t2


@kernel
def newton_matrix(A, P, softness, matrix_out):
    """dF = I - P (I - A - softness I), shape (3 m, 3 m), for the blocks P, shape (m, 3, 3)."""
    n = A.shape[0]
    for c in range(P.shape[0]):
        for i in range(3):
            row = matrix_out[3 * c + i]
            p0, p1, p2 = P[c, i, 0], P[c, i, 1], P[c, i, 2]
            for j in range(n):
                row[j] = p0 * A[3 * c, j] + p1 * A[3 * c + 1, j] + p2 * A[3 * c + 2, j]
            for k in range(3):
                row[3 * c + k] += (softness - 1.0) * P[c, i, k]
            row[3 * c + i] += 1.0


def _evaluate(problem: _Problem, f: Array, w: Array) -> tuple[Array, float, float]:
    """F(f), its largest entry and F . F."""
    F = np.empty_like(f)
    return F, *natural_map(f, w, problem.friction, problem.slip, problem.slips, F)


def _residual(problem: _Problem, f: Array) -> float:
    return _evaluate(problem, f, problem.A @ f + problem.b)[1] / problem.load


def _proximal_newton(problem: _Problem, f: Array) -> tuple[Array, float]:
    """Proximal steps, each solved by Newton's method; returns the best f and its residual."""
    best, best_residual = f, _residual(problem, f)
    for softness in (CLOSE, *PROXIMAL) if best_residual < 1.0 else PROXIMAL:
        f = _newton(problem, f, softness)
        residual = _residual(problem, f)
        if residual < best_residual:
            best, best_residual = f, residual
        if best_residual <= GOOD_ENOUGH:
            break
    return best, best_residual


def _newton(problem: _Problem, anchor: Array, softness: float) -> Array:
    """Solve F = 0 for w = A f + b + softness (f - anchor), from the anchor on."""
    shifted = problem.b - softness * anchor
    f, w = anchor, problem.A @ anchor + problem.b
    F, size, merit = _evaluate(problem, f, w)
    for _ in range(NEWTON_STEPS):
        if size <= ROUND_OFF * problem.load:
            break
        step = _newton_step(problem, f, w, F, softness)
        if step is None:
            break
        length = 1.0
        while True:
            trial = f + length * step
            w_trial = problem.A @ trial + (shifted + softness * trial)
            F_trial, size_trial, merit_trial = _evaluate(problem, trial, w_trial)
            better = merit_trial < merit * (1.0 - 1e-4 * length)
            if better or length < 1e-3 or size <= NEAR * problem.load:
                break
            length *= 0.5
        if not better and size <= NEAR * problem.load:
            break  # round-off: no step makes it better
        f, w, F, size, merit = trial, w_trial, F_trial, size_trial, merit_trial
    return f


def _newton_step(problem: _Problem, f: Array, w: Array, F: Array, softness: float) -> Array | None:
    """Solve dF step = -F; None where dF is singular."""
    A, m = problem.A, len(problem.friction)
    P = np.empty((m, 3, 3))
    projection_derivative(f, w, problem.friction, problem.slip, problem.slips, P)
    if isinstance(A, np.ndarray):
        from scipy.linalg.lapack import dgesv  # pyright: ignore[reportAttributeAccessIssue]

        matrix = np.empty((3 * m, 3 * m))
        newton_matrix(A, P, softness, matrix)
        _, _, step, singular = dgesv(matrix, -F)
        return None if singular or not np.isfinite(step).all() else step
    from scipy.sparse import bsr_matrix, identity
    from scipy.sparse.linalg import splu

    blocks = bsr_matrix((P, np.arange(m), np.arange(m + 1)), shape=(3 * m, 3 * m)).tocsr()
    one = identity(3 * m, format="csr")
    matrix = (one - blocks + blocks @ (A + softness * one)).tocsc()
    try:
        step = splu(matrix).solve(-F)
    except RuntimeError:  # exactly singular
        return None
    return step if np.isfinite(step).all() else None


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
