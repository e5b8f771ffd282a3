"""Integrators of y' = f(t, y) behind one interface: the solver sees a vector, the model sees bodies.

`integrate(method, f, t, y, h)` returns y after the time h. Euler, midpoint and RK4 take one step of h;
"adaptive" halves RK4 steps until two halves and a whole agree, "dop853" is scipy's Dormand-Prince 8(5,3).

Source: Witkin, Baraff & Kass 1999, Differential Equation Basics (Euler, midpoint, RK4, step doubling);
Hairer, Norsett & Wanner 1993, section II.5 (DOP853).
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError

Array = NDArray[np.float64]
Derivative = Callable[[float, Array], Array]
IntegratorName = Literal["euler", "midpoint", "rk4", "adaptive", "dop853"]

SMALLEST_PART = 2.0**-30  # of a step that "adaptive" tries at least before it takes what it has


def integrate(
    method: IntegratorName, f: Derivative, t: float, y: Array, h: float,
    *, rtol: float = 1e-8, atol: float = 1e-10, shortest: float = 0.0,
) -> Array:  # fmt: skip
    """State after the time h [s].

    Args:
        f: Derivative f(t, y).
        rtol, atol: Error allowed in one step, by "adaptive" and "dop853".
        shortest: Step [s] that "adaptive" takes whatever its error is: where f jumps, as friction does, no
            step is short enough for an estimate that takes it to be smooth.

    Raises:
        SolverError: The method is not known.
    """
    if method not in get_args(IntegratorName):
        raise SolverError(f"integrator must be one of {', '.join(get_args(IntegratorName))}, not {method!r}")
    if h == 0.0:
        return y.copy()
    if method == "dop853":
        return _dop853(f, t, y, h, rtol, atol)
    if method == "adaptive":
        return _adaptive(f, t, y, h, rtol, atol, max(shortest, SMALLEST_PART * h))
    return {"euler": _euler, "midpoint": _midpoint, "rk4": _rk4}[method](f, t, y, h)


def _euler(f: Derivative, t: float, y: Array, h: float) -> Array:
    return y + h * f(t, y)


def _midpoint(f: Derivative, t: float, y: Array, h: float) -> Array:
    return y + h * f(t + 0.5 * h, y + 0.5 * h * f(t, y))


def _rk4(f: Derivative, t: float, y: Array, h: float) -> Array:
    k1 = f(t, y)
    k2 = f(t + 0.5 * h, y + 0.5 * h * k1)
    k3 = f(t + 0.5 * h, y + 0.5 * h * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def _adaptive(
    f: Derivative, t: float, y: Array, h: float, rtol: float, atol: float, shortest: float
) -> Array:
    """RK4 with step doubling: a whole step against two halves, their difference / 15 the error."""
    end, step = t + h, h
    while t < end:
        step = min(step, end - t)
        whole = _rk4(f, t, y, step)
        halves = _rk4(f, t + 0.5 * step, _rk4(f, t, y, 0.5 * step), 0.5 * step)
        allowed = atol + rtol * np.maximum(np.abs(y), np.abs(halves))
        error = float((np.abs(halves - whole) / 15.0 / allowed).max(initial=0.0))
        if error <= 1.0 or step <= shortest:
            last = step >= end - t
            t, y = (end if last else t + step), halves + (halves - whole) / 15.0
        step = max(step * min(4.0, max(0.2, 0.9 * max(error, 1e-10) ** -0.2)), shortest)
    return y


def _dop853(f: Derivative, t: float, y: Array, h: float, rtol: float, atol: float) -> Array:
    from scipy.integrate import DOP853

    solver = DOP853(f, t, y, t + h, first_step=h, rtol=rtol, atol=atol)
    while solver.status == "running":
        message = solver.step()
        if solver.status == "failed":
            raise SolverError(f"the integrator stopped at {solver.t:.6g} s: {message}")
    return solver.y
