"""Order of the integrators."""

import numpy as np
import pytest
from topple.dynamics.integrators import integrate


@pytest.mark.parametrize(
    ("method", "order", "steps"),
    [
        ("euler", 1, 20000),
        ("backward_euler", 1, 20000),
        ("midpoint", 2, 1000),
        ("rk4", 4, 160),
        ("adaptive", 5, 160),
        ("dop853", 8, 20),
    ],
)
def test_order(method, order, steps, figure):
    """Analytic: halving the step divides the error of an oscillator by 2^p, p within .1.

    y'' = -y over 10 s against (cos t, -sin t). Integrators that choose their step are allowed any error, so
    that they take the one that is asked; "adaptive" takes its error off (Witkin, Baraff & Kass 1999): 5.
    """
    allowed = 1e-10 if method == "backward_euler" else np.inf  # of its equation's solution
    errors = []
    for n in (steps, 2 * steps):
        y, h = np.array([1.0, 0.0]), 10.0 / n
        for k in range(n):
            y = integrate(method, lambda t, y: np.array([y[1], -y[0]]), k * h, y, h, atol=allowed)
        errors.append(np.linalg.norm(y - [np.cos(10.0), -np.sin(10.0)]))
    figure(f"{method}: order, less {order}", np.log2(errors[0] / errors[1]) - order, 0.1)
