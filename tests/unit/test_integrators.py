"""Integrators: their order, and their agreement."""

import numpy as np
import pytest
import topple
from topple.dynamics.integrators import integrate


def pendulum(t, y):
    """y = (angle, rate) of a driven pendulum: smooth and nonlinear."""
    return np.array([y[1], -9.81 * np.sin(y[0]) + 0.3 * np.cos(2.0 * t)])


START = np.array([1.0, 0.2])


def after(method, seconds, steps, **settings):
    y, h = START, seconds / steps
    for k in range(steps):
        y = integrate(method, pendulum, k * h, y, h, **settings)
    return y


@pytest.mark.parametrize(
    ("method", "order", "steps"), [("euler", 1, 2000), ("midpoint", 2, 200), ("rk4", 4, 50)]
)
def test_order(method, order, steps):
    """Halving the step divides the error by 2^p: p within .1 (Witkin, Baraff & Kass 1999)."""
    exact = after("dop853", 1.0, 1, rtol=1e-13, atol=1e-14)
    errors = [np.linalg.norm(after(method, 1.0, n) - exact) for n in (steps, 2 * steps)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_step_doubling_keeps_its_tolerance(rtol):
    """The error after a second is of the order of the tolerance, and follows it."""
    exact = after("dop853", 1.0, 1, rtol=1e-13, atol=1e-14)
    error = np.linalg.norm(after("adaptive", 1.0, 1, rtol=rtol, atol=rtol) - exact)
    assert 1e-4 * rtol < error < 20 * rtol


def test_a_jump_does_not_stop_step_doubling():
    """With `shortest` a right side that jumps costs a bounded number of calls."""
    calls = []

    def jump(t, y):
        calls.append(t)
        return np.array([1.0 if t > 0.3123 else 0.0])

    y = integrate("adaptive", jump, 0.0, np.zeros(1), 1.0, rtol=1e-12, atol=1e-12, shortest=1e-2)
    assert y[0] == pytest.approx(1.0 - 0.3123, abs=1e-2)
    assert len(calls) < 1000


def test_unknown_method():
    with pytest.raises(topple.SolverError, match="integrator must be one of"):
        integrate("leapfrog", pendulum, 0.0, START, 0.1)
