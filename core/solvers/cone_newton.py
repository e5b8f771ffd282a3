"""Newton's method for contacts with Coulomb friction, as kernels: see `friction_cone.py` for the equations.

For islands of few contacts, where calls from Python would cost more than the arithmetic.
"""

import math

import numpy as np

from ..jit import inner, kernel

ROUND_OFF, NEAR = 1e-13, 1e-10  # where Newton's method ends, and where it ends when it stops improving
NEWTON_STEPS = 40
SHORTEST = 1e-3  # part of a Newton step that is tried at least


@kernel
def scale_system(A, b, A_out, b_out, scale_out):
    """Scale A and b so that the mean of each contact's three diagonal entries is 1.

    Args:
        A, b: Shapes (3 m, 3 m) and (m, 3).
        A_out, b_out, scale_out: Shapes (3 m, 3 m), (3 m,), (3 m,).

    Returns:
        The largest |b_out|.
    """
    load = 0.0
    for c in range(b.shape[0]):
        i = 3 * c
        scale = 1.0 / math.sqrt((A[i, i] + A[i + 1, i + 1] + A[i + 2, i + 2]) / 3.0)
        for k in range(3):
            scale_out[i + k], b_out[i + k] = scale, b[c, k] * scale
            load = max(load, abs(b_out[i + k]))
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A_out[i, j] = A[i, j] * scale_out[i] * scale_out[j]
    return load


@inner
def _natural_map(f, w, friction, slip, slips, F_out):
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


@inner
def _projection_derivative(f, w, friction, slip, slips, P_out):
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
def natural_map(f, w, friction, slip, slips, F_out):
    """`_natural_map` for Python."""
    return _natural_map(f, w, friction, slip, slips, F_out)


@kernel
def projection_derivative(f, w, friction, slip, slips, P_out):
    """`_projection_derivative` for Python."""
    _projection_derivative(f, w, friction, slip, slips, P_out)


@inner
def _write_matrix(A, P, softness, matrix_out):
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


@inner
def _solve_linear(matrix, x):
    """Solve matrix x = x in place by elimination with row pivots; False where the matrix is singular."""
    n = x.shape[0]
    for k in range(n):
        pivot, largest = k, abs(matrix[k, k])
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > largest:
                pivot, largest = i, abs(matrix[i, k])
        if not largest > 0.0:
            return False
        if pivot != k:
            for j in range(k, n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
            x[k], x[pivot] = x[pivot], x[k]
        row = matrix[k]
        for i in range(k + 1, n):
            factor = matrix[i, k] / row[k]
            if factor != 0.0:
                other = matrix[i]
                for j in range(k + 1, n):
                    other[j] -= factor * row[j]
                x[i] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, n):
            total -= matrix[k, j] * x[j]
        x[k] = total / matrix[k, k]
        if not abs(x[k]) < np.inf:
            return False
    return True


@inner
def _write_rates(A, shifted, softness, f, w_out):
    """w = A f + shifted + softness f."""
    for i in range(f.shape[0]):
        total = shifted[i] + softness * f[i]
        for j in range(f.shape[0]):
            total += A[i, j] * f[j]
        w_out[i] = total


@kernel
def solve_newton(A, b, friction, slip, slips, load, softness, work, P, matrix, f_out):
    """Solve F = 0 for w = A f + b + softness (f - anchor), from the anchor on, with shortened steps.

    Args:
        A, b: Scaled, shapes (3 m, 3 m) and (3 m,).
        friction, slip, slips, load: As in `friction_cone.py`.
        softness: Of the proximal step.
        work, P, matrix: Scratch, shapes (8, 3 m), (m, 3, 3), (3 m, 3 m).
        f_out: The anchor, then the solution, shape (3 m,).
    """
    n = b.shape[0]
    shifted, f, w, F = work[0], work[1], work[2], work[3]
    step, trial, w_trial, F_trial = work[4], work[5], work[6], work[7]
    for i in range(n):
        f[i], shifted[i] = f_out[i], b[i] - softness * f_out[i]
    _write_rates(A, shifted, softness, f, w)
    size, merit = _natural_map(f, w, friction, slip, slips, F)
    for _ in range(NEWTON_STEPS):
        if size <= ROUND_OFF * load:
            break
        _projection_derivative(f, w, friction, slip, slips, P)
        _write_matrix(A, P, softness, matrix)
        for i in range(n):
            step[i] = -F[i]
        if not _solve_linear(matrix, step):
            break
        length = 1.0
        while True:
            for i in range(n):
                trial[i] = f[i] + length * step[i]
            _write_rates(A, shifted, softness, trial, w_trial)
            size_trial, merit_trial = _natural_map(trial, w_trial, friction, slip, slips, F_trial)
            better = merit_trial < merit * (1.0 - 1e-4 * length)
            if better or length < SHORTEST or size <= NEAR * load:
                break
            length *= 0.5
        if not better and size <= NEAR * load:
            break  # round-off: no step makes it better
        for i in range(n):
            f[i], w[i], F[i] = trial[i], w_trial[i], F_trial[i]
        size, merit = size_trial, merit_trial
    for i in range(n):
        f_out[i] = f[i]


@kernel
def sweep_contacts(A, b, friction, slip, slips, sweeps, f_out):
    """Solve contact by contact, again and again: each as if the others' forces were known.

    The tangential force goes by a gradient step: w_t over the larger eigenvalue of its block of A.

    Args:
        A, b: Scaled, shapes (3 m, 3 m) and (3 m,).
        f_out: Where to start, then the forces, shape (3 m,).
    """
    n = b.shape[0]
    for _ in range(sweeps):
        for c in range(friction.shape[0]):
            i = 3 * c
            w0, w1, w2 = b[i], b[i + 1], b[i + 2]
            for j in range(n):
                w0, w1, w2 = w0 + A[i, j] * f_out[j], w1 + A[i + 1, j] * f_out[j], w2 + A[i + 2, j] * f_out[j]
            normal = max(0.0, f_out[i] - w0 / A[i, i])
            limit = friction[c] * normal
            if slips[c]:
                t1, t2 = -limit * slip[c, 0], -limit * slip[c, 1]
            else:
                p, q, r = A[i + 1, i + 1], A[i + 2, i + 2], A[i + 1, i + 2]
                largest = 0.5 * (p + q) + math.sqrt(0.25 * (p - q) * (p - q) + r * r)
                more = normal - f_out[i]
                t1 = f_out[i + 1] - (w1 + A[i + 1, i] * more) / largest
                t2 = f_out[i + 2] - (w2 + A[i + 2, i] * more) / largest
                size = math.sqrt(t1 * t1 + t2 * t2)
                if size > limit:
                    t1, t2 = t1 * limit / size, t2 * limit / size
            f_out[i], f_out[i + 1], f_out[i + 2] = normal, t1, t2
