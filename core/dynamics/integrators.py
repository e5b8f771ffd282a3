"""Integrators of y' = f(t, y) behind one interface: the solver sees a vector, the model sees bodies.

`integrate(method, f, t, y, h)` returns y after the time h, and in `pieces` y in between. Euler, midpoint
and RK4 take one step of h, backward Euler one if its equation can be solved, else two halves of it;
"adaptive" halves RK4 steps until two halves and a whole agree, "dop853" takes steps of Dormand and Prince
of order 8.

Source: Witkin, Baraff & Kass 1999, Differential Equation Basics (Euler, midpoint, RK4, step doubling,
implicit methods); Hairer, Norsett & Wanner 1993, sections II.6 and II.10 (DOP853 and its dense output).
"""

from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError

Array = NDArray[np.float64]
Derivative = Callable[[float, Array], Array]
Jacobian = Callable[[float, Array], Array]
Stop = Callable[[float, Array], bool]
Scale = Callable[[Array], Array]  # the error allowed in each number of a step that ends at y
Size = Callable[[Array], Array]  # how large each number of y counts for the relative error
IntegratorName = Literal["euler", "midpoint", "rk4", "backward_euler", "adaptive", "dop853"]


class Trial(NamedTuple):
    """A step of an integrator that chooses its steps."""

    end: Array
    error: float
    rate: Array | None  # the derivative at the end, if it is known
    at: Callable[[float], Array]  # y a time after the step's start


class Piece(NamedTuple):
    """A step that was taken."""

    start: float  # [s]
    end: float  # [s]
    at: Callable[[float], Array]  # y a time after its start
    rough: bool = False  # whether it was taken though its error is larger than allowed


SMALLEST_PART = 2.0**-30  # of a step that is tried at least before it is taken as it is
MOST_TRIALS = 10_000  # in a step: what asks for more does not end
# The next step is so much of the one whose error would be as large as allowed, and so many times as long as
# the last at most and at least; an error counts as so large at least.
SAFE, LONGER, SHORTER, LEAST_ERROR = 0.9, 4.0, 0.2, 1e-10

NEWTON_STEPS = 12  # of backward Euler; where so many are not enough, the step is halved
SOLVED = 1e-3  # of the error allowed in a step: how well its equation is solved
DIFFERENCE = 1e-6  # of a number, at least of 1: how far it is moved for a difference


def integrate(
    method: IntegratorName, f: Derivative, t: float, y: Array, h: float,
    *, rtol: float | Array = 1e-8, atol: float | Array = 1e-10, shortest: float = 0.0,
    jacobian: Jacobian | None = None, pieces: list[Piece] | None = None, stop: Stop | None = None,
    size: Size = np.abs,
) -> Array:  # fmt: skip
    """State after the time h [s], or where `stop` says so.

    Args:
        f: Derivative f(t, y).
        rtol, atol: Error allowed in one step, by "adaptive" and "dop853", and of the solution of the equation
            of backward Euler.
        shortest: Step [s] that these two take whatever its error is: where f jumps, as friction does, no
            step is short enough for an estimate that takes it to be smooth.
        jacobian: Derivative of f by y, (t, y) to shape (n, n), for backward Euler; by differences if there
            is none.
        pieces: Gets the steps taken. Within one, y is the method's own for a shorter step, but for "dop853",
            whose dense output of order 7 costs three calls of f for the first look and none for others.
        stop: Asked (t, y) after each step that was taken whatever its error is: whether to end there.
        size: What `rtol` is relative to; for the components of a vector its length, so that steps do not
            depend on the directions of the axes.

    Raises:
        SolverError: The method is not known, no part of the step has a solution by backward Euler, or f
            changes so fast that MOST_TRIALS are not enough.
    """
    if method not in get_args(IntegratorName):
        raise SolverError(f"integrator must be one of {', '.join(get_args(IntegratorName))}, not {method!r}")
    if h == 0.0:
        return y.copy()
    taken = [] if pieces is None else pieces
    if method in ADAPTIVE:
        shortest = max(shortest, SMALLEST_PART * h)
        return _controlled(*ADAPTIVE[method], f, t, y, h, rtol, atol, shortest, taken, stop, size)

    def at(part: float) -> Array:
        if method == "backward_euler":
            slope = jacobian or difference_jacobian(f)
            return _backward_euler(f, t, y, part, rtol, atol, slope, SMALLEST_PART * h)
        return {"euler": _euler, "midpoint": _midpoint, "rk4": _rk4}[method](f, t, y, part)

    taken.append(Piece(t, t + h, at))
    return at(h)


def _euler(f: Derivative, t: float, y: Array, h: float) -> Array:
    return y + h * f(t, y)


def _midpoint(f: Derivative, t: float, y: Array, h: float) -> Array:
    return y + h * f(t + 0.5 * h, y + 0.5 * h * f(t, y))


def _rk4(f: Derivative, t: float, y: Array, h: float, k1: Array | None = None) -> Array:
    k1 = f(t, y) if k1 is None else k1
    k2 = f(t + 0.5 * h, y + 0.5 * h * k1)
    k3 = f(t + 0.5 * h, y + 0.5 * h * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def difference_jacobian(f: Derivative) -> Jacobian:
    """The derivative of f by y by central differences."""

    def jacobian(t: float, y: Array) -> Array:
        columns = []
        for k in range(len(y)):
            step = DIFFERENCE * max(1.0, abs(y[k]))
            moved = np.tile(y, (2, 1))
            moved[:, k] += [step, -step]
            columns.append((f(t, moved[0]) - f(t, moved[1])) / (2.0 * step))
        return np.column_stack(columns)

    return jacobian


def _backward_euler(
    f: Derivative, t: float, y: Array, h: float, rtol: float | Array, atol: float | Array, jacobian: Jacobian,
    shortest: float,
) -> Array:  # fmt: skip
    """Newton's method for x = y + h f(t + h, x)."""
    x = y.copy()
    for _ in range(NEWTON_STEPS):
        step = np.linalg.solve(np.eye(len(y)) - h * jacobian(t + h, x), y + h * f(t + h, x) - x)
        x = x + step
        if (np.abs(step) <= SOLVED * (atol + rtol * np.abs(x))).all():
            return x
        if not np.isfinite(x).all():
            break
    if h <= shortest:
        raise SolverError(
            f"backward Euler finds no solution at {t:.6g} s; use integrator='dop853' or mend the forces"
        )
    middle = _backward_euler(f, t, y, 0.5 * h, rtol, atol, jacobian, shortest)
    return _backward_euler(f, t + 0.5 * h, middle, 0.5 * h, rtol, atol, jacobian, shortest)


def _doubled(f: Derivative, t: float, y: Array, h: float, k1: Array, scale: Scale) -> Trial:
    """RK4: a whole step against two halves, their difference / 15 the error, which is taken off."""
    whole = _rk4(f, t, y, h, k1)
    middle = _rk4(f, t, y, 0.5 * h, k1)
    halves = _rk4(f, t + 0.5 * h, middle, 0.5 * h, f(t + 0.5 * h, middle))
    error = (halves - whole) / 15.0
    parts = error / scale(halves)
    size = float(np.sqrt(parts @ parts / max(len(y), 1)))
    return Trial(halves + error, size, None, lambda part: _doubled(f, t, y, part, k1, scale).end)


def _dormand_prince(f: Derivative, t: float, y: Array, h: float, k1: Array, scale: Scale) -> Trial:
    """Order 8, with the error by those of order 5 and 3 (Hairer, section II.10), by scipy's coefficients."""
    from scipy.integrate import DOP853 as table

    K = np.empty((table.n_stages + 1, len(y)))
    K[0] = k1
    for s in range(1, table.n_stages):
        K[s] = f(t + table.C[s] * h, y + h * (table.A[s, :s] @ K[:s]))
    new = y + h * (table.B @ K[:-1])
    K[-1] = f(t + h, new)
    allowed = scale(new)
    fifth, third = table.E5 @ K / allowed, table.E3 @ K / allowed
    square = float(fifth @ fifth)
    error = h * square / np.sqrt((square + 0.01 * float(third @ third)) * len(y)) if square > 0.0 else 0.0

    @cache
    def coefficients() -> Array:
        return _dense_coefficients(f, t, y, h, K, new)

    def at(part: float) -> Array:
        x, total = part / h, np.zeros_like(y)
        for i, row in enumerate(coefficients()[::-1]):
            total = (total + row) * (x if i % 2 == 0 else 1.0 - x)
        return y + total

    return Trial(new, error, K[-1], at)


def _dense_coefficients(f: Derivative, t: float, y: Array, h: float, K: Array, new: Array) -> Array:
    """Dense output of a step of DOP853 from its stages K: a polynomial of order 7, by three more stages."""
    from scipy.integrate import DOP853 as table

    stages = np.concatenate([K, np.empty((len(table.C_EXTRA), len(y)))])
    for s, (a, c) in enumerate(zip(table.A_EXTRA, table.C_EXTRA, strict=True), start=len(K)):
        stages[s] = f(t + c * h, y + h * (a[:s] @ stages[:s]))
    change, first, last = new - y, h * K[0], h * K[-1]
    return np.concatenate([[change, first - change, 2.0 * change - last - first], h * (table.D @ stages)])


def _controlled(
    trial: Callable[..., Trial], order: int, f: Derivative, t: float, y: Array, h: float,
    rtol: float | Array, atol: float | Array, shortest: float, pieces: list[Piece], stop: Stop | None,
    size: Size,
) -> Array:  # fmt: skip
    """Steps whose error, in parts of what is allowed, is at most 1, as long as that permits."""
    end, step, k1 = t + h, h, f(t, y)
    for _ in range(MOST_TRIALS):
        step = min(step, end - t)
        new, error, k_new, at = trial(
            f, t, y, step, k1, lambda new, y=y: atol + rtol * np.maximum(size(y), size(new))
        )
        if error <= 1.0 or step <= shortest:
            pieces.append(Piece(t, t + step, at, error > 1.0))
            if step >= end - t or (error > 1.0 and stop is not None and stop(t + step, new)):
                return new
            t, y = t + step, new
            k1 = f(t, y) if k_new is None else k_new
        change = SAFE * max(error, LEAST_ERROR) ** (-1.0 / order)
        step = max(step * min(LONGER, max(SHORTER, change)), shortest)
    raise SolverError(
        f"forces change too fast to be followed at {t:.6g} s; soften springs, or smooth functions of time"
    )


ADAPTIVE = {"adaptive": (_doubled, 5), "dop853": (_dormand_prince, 8)}  # and the order of their errors
