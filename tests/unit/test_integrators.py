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


@pytest.mark.parametrize("h", [0.01, 1.0, 100.0])
def test_backward_euler_holds_what_is_stiff(h):
    """y' = -k (y - cos t) with k = 1e6: the answer is near cos t for any step; Euler's error grows by h k."""
    stiff = lambda t, y: -1e6 * (y - np.cos(t))  # noqa: E731
    y = integrate("backward_euler", stiff, 0.0, np.array([0.0]), h)
    assert y[0] == pytest.approx((1e6 * h * np.cos(h)) / (1.0 + 1e6 * h), rel=1e-9, abs=1e-9)
    assert abs(integrate("euler", stiff, 0.0, np.array([0.0]), h)[0]) > 1e3


def test_backward_euler_halves_a_step_without_solution():
    """y' = y^2 from 1 has the root (1 - sqrt(1 - 4 h)) / (2 h) for h < 1/4 only: h = .3 takes two halves."""
    y = integrate("backward_euler", lambda t, y: y * y, 0.0, np.array([1.0]), 0.3, rtol=1e-12, atol=1e-12)
    expected = 1.0
    for _ in range(2):
        expected = (1.0 - np.sqrt(1.0 - 4.0 * 0.15 * expected)) / (2.0 * 0.15)
    assert y[0] == pytest.approx(expected, rel=1e-10)


def test_backward_euler_without_any_solution():
    """A function that is never finite: an error that says when."""
    with pytest.raises(topple.SolverError, match=r"no solution at 0\.5 s"):
        integrate("backward_euler", lambda t, y: y * np.nan, 0.5, np.array([1.0]), 0.1)


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
