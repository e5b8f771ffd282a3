"""The turn in a step of a body that cannot turn about some axes, against an integration of its equations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from topple.dynamics.locked_rotation import locked_spin, locked_velocity
from topple.jit import kernel
from topple.math3 import quat, vec3

MOMENTS = np.array([1.0, 10.0, 11.0])


@kernel
def spin_of(q, L, inertia, lock, h, found_out):
    """Write the mean angular velocity over a step, and that at its start."""
    w = locked_velocity(quat.load(q, 0), vec3.load(L, 0), inertia, lock)
    spin = locked_spin(quat.load(q, 0), vec3.load(L, 0), w, inertia, lock, h)
    for k in range(3):
        found_out[0, k], found_out[1, k] = spin[k], w[k]


def velocity(rotation, L, free):
    """w with w_f = (I_ff)^-1 L_f on the free axes f, and none on the others."""
    matrix = rotation.as_matrix()
    inertia = matrix @ np.diag(MOMENTS) @ matrix.T
    w = np.zeros(3)
    w[free] = np.linalg.solve(inertia[np.ix_(free, free)], L[free])
    return w


def turn_by_integration(start, L, free, seconds):
    """Rotation vector from one orientation to that after so long."""

    def rate(_, q):
        w = velocity(Rotation.from_quat(q, scalar_first=True), L, free)
        return 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(w, q[1:]))])

    found = solve_ivp(
        rate, (0.0, seconds), start.as_quat(scalar_first=True), method="DOP853", rtol=1e-13, atol=1e-14
    )
    return (Rotation.from_quat(found.y[:, -1], scalar_first=True) * start.inv()).as_rotvec()


def error(start, L, lock, h):
    """Of the turn in a step [rad]; the velocity at its start is checked, too."""
    free = np.flatnonzero(~lock)
    found = np.zeros((2, 3))
    spin_of(start.as_quat(scalar_first=True)[None], L[None], MOMENTS, lock, h, found)
    assert np.allclose(found[1], velocity(start, L, free), rtol=1e-13, atol=1e-13)
    return np.linalg.norm(h * found[0] - turn_by_integration(start, L, free, h))


def spinning(seed, lock, speed):
    """An orientation, and an angular momentum with which the body turns so fast [rad/s]."""
    rng = np.random.default_rng(seed)
    start, L = Rotation.random(random_state=rng), rng.normal(size=3)
    return start, L * speed / np.linalg.norm(velocity(start, L, np.flatnonzero(~lock)))


@pytest.mark.parametrize("axis", range(3))
def test_one_locked_axis(axis):
    """The method is of order four: in a step half as long its error is 2^-5 of it."""
    lock = np.arange(3) == axis
    for seed in range(5):
        start, L = spinning(seed, lock, 5.0)
        whole, half = error(start, L, lock, 1 / 60), error(start, L, lock, 1 / 120)
        assert abs(np.log2(whole / half) - 5.0) < 0.6
        start, L = spinning(seed, lock, 50.0)  # .8 rad in nine parts, whose errors add up
        assert error(start, L, lock, 1 / 60) < 1e-5


@pytest.mark.parametrize("axis", range(3))
def test_two_locked_axes(axis):
    """What is left is a steady rotation."""
    lock = np.arange(3) != axis
    for speed in (0.5, 50.0):
        assert error(*spinning(axis, lock, speed), lock, 1 / 60) < 1e-12
