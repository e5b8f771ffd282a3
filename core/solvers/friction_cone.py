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

from .cone_newton import (
    NEAR,
    NEWTON_STEPS,
    ROUND_OFF,
    SHORTEST,
    natural_map,
    projection_derivative,
    scale_system,
    solve_newton,
    sweep_contacts,
)
from .lcp import Array

# How far A is moved from singular, in parts of its diagonal, in the proximal steps: much at first, as
# Newton's method goes astray along what a curved cone leaves undetermined; then less, where that is slow.
PROXIMAL = (1e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-8, 1e-9, 1e-9, 1e-9)
# For forces of a moment ago. A proximal step leaves a residual of its softness times the change of the
# forces, in loads, and finds what no contact determines to round-off over its softness: at the root of
# round-off, 1.5e-8, both are least for changes by a load. Changes by 1e-4 then are GOOD_ENOUGH at once.
CLOSE = 1e-8
GOOD_ENOUGH = 1e-12  # residual relative to b at which the search ends
# And the largest that counts as a solution. Where two bodies stick at several points, no forces satisfy all
# of them better than velocities agree with a rigid motion: to a step's error, 1e-9 m/s, times the turning.
ACCEPTED = 1e-8
STALE = 3  # proximal steps after which such a solution is not expected to become better
WRONG_PIECE = 1e-7  # from here on other contacts may stick, slip and carry than those found: sweeps may tell
ROUNDS = 3  # of sweeps
SWEEPS = np.int64(60)


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
    A, b: Array, friction: Array, *, slip: Array | None = None, slips: NDArray[np.bool_] | None = None,
    guess: Array | None = None,
) -> ConeSolution:  # fmt: skip
    """Solve the contacts of one island.

    Args:
        A: Shape (3 m, 3 m), an array or a sparse matrix, symmetric and positive semidefinite.
        b: Shape (m, 3).
        friction: Coefficients mu, shape (m,).
        slip: Directions of contacts that slip, in (t1, t2), zero for the others, shape (m, 2). Of unit
            length, or shorter where they spin as well.
        slips: Which contacts slip, if it is not those with a direction, shape (m,).
        guess: Forces to start from, shape (m, 3).

    Returns:
        The solution; its residual stays above `ACCEPTED` where none was found.
    """
    m = len(b)
    problem, scale = _scaled_problem(A, b, friction, slip, slips)
    if problem.load == 0.0:
        return ConeSolution(np.zeros((m, 3)), b.copy(), 0.0)
    f = np.zeros(3 * m) if guess is None else guess.ravel() / scale
    f, residual = _proximal_newton(problem, f)
    for _ in range(ROUNDS):
        if residual <= WRONG_PIECE:
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


def _scaled_problem(
    A, b: Array, friction: Array, slip: Array | None, slips: NDArray[np.bool_] | None = None
) -> tuple[_Problem, Array]:
    """The problem, scaled so that contacts of bodies of very different masses count alike, and the scales."""
    m = len(b)
    slip = np.zeros((m, 2)) if slip is None else np.ascontiguousarray(slip)
    slips = np.asarray(slip.any(axis=1)) if slips is None else slips
    friction = np.ascontiguousarray(friction)
    if isinstance(A, np.ndarray):
        scaled_A, scaled, scale = np.empty_like(A), np.empty(3 * m), np.empty(3 * m)
        load = scale_system(A, b, scaled_A, scaled, scale)
        return _Problem(scaled_A, scaled, friction, slip, slips, load), scale
    from scipy.sparse import diags

    scale = np.repeat(1.0 / np.sqrt(A.diagonal().reshape(m, 3).mean(axis=1)), 3)
    scaled = b.ravel() * scale
    load = float(np.abs(scaled).max(initial=0.0))
    scaled_A = (diags(scale) @ A @ diags(scale)).tocsr()
    return _Problem(scaled_A, scaled, friction, slip, slips, load), scale


def _evaluate(problem: _Problem, f: Array, w: Array) -> tuple[Array, float, float]:
    """F(f), its largest entry and F . F."""
    F = np.empty_like(f)
    return F, *natural_map(f, w, problem.friction, problem.slip, problem.slips, F)


def _residual(problem: _Problem, f: Array) -> float:
    return _evaluate(problem, f, problem.A @ f + problem.b)[1] / problem.load


def _proximal_newton(problem: _Problem, f: Array) -> tuple[Array, float]:
    """Proximal steps, each solved by Newton's method; returns the best f and its residual."""
    best, best_residual, stale = f, _residual(problem, f), 0
    for softness in (CLOSE, *PROXIMAL) if best_residual < 1.0 else PROXIMAL:
        f = _newton(problem, f, softness)
        residual = _residual(problem, f)
        stale = 0 if residual < 0.5 * best_residual else stale + 1
        if residual < best_residual:
            best, best_residual = f, residual
        if best_residual <= GOOD_ENOUGH or (best_residual <= ACCEPTED and stale >= STALE):
            break
    return best, best_residual


def _newton(problem: _Problem, anchor: Array, softness: float) -> Array:
    """Solve F = 0 for w = A f + b + softness (f - anchor), from the anchor on: `solve_newton` for any A."""
    if isinstance(problem.A, np.ndarray):
        n, f = len(anchor), anchor.copy()
        work, P, matrix = np.empty((8, n)), np.empty((n // 3, 3, 3)), np.empty((n, n))
        solve_newton(*problem, softness, work, P, matrix, f)
        return f
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
            if better or length < SHORTEST or size <= NEAR * problem.load:
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
    A, f = (problem.A if isinstance(problem.A, np.ndarray) else problem.A.toarray()), f.copy()
    sweep_contacts(A, problem.b, problem.friction, problem.slip, problem.slips, SWEEPS, f)
    return f
