"""The turn of a body in a step, free or under a torque, against Euler's equations to round-off."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from topple.dynamics.body_state import _axis_order
from topple.dynamics.free_rotation import (
    SERIES_LIMIT,
    TURN_OF_PART,
    free_spin,
    spin_under_torque,
)
from topple.jit import kernel
from topple.math3 import mat3, quat, vec3

H = 1.0 / 240.0


@kernel
def spin_of(q, L, inertia, inv_inertia, axis_order, h, found_out):
    """Write the mean angular velocity of a free body."""
    r = quat.to_mat3(quat.load(q, 0))
    momentum = vec3.load(L, 0)
    own = mat3.transform_transposed(r, momentum)
    own = own[0] * inv_inertia[0], own[1] * inv_inertia[1], own[2] * inv_inertia[2]
    w = mat3.transform(r, own)
    found_out[0], found_out[1], found_out[2] = free_spin(
        quat.load(q, 0), r, momentum, w, inertia, inv_inertia, axis_order, h
    )


@kernel
def spin_of_driven(q, L, change, w, inv_inertia, axis_order, h, found_out):
    """Write the mean angular velocity of a body under a torque."""
    found_out[0], found_out[1], found_out[2] = spin_under_torque(
        quat.load(q, 0), vec3.load(L, 0), vec3.load(change, 0), vec3.load(w, 0), inv_inertia, axis_order, h
    )


def turn_by_integration(start, L, moments, seconds, change=0.0):
    """Rotation vector from one orientation to that after so long, w = R I^-1 R^T L, L changing steadily."""

    def rate(t, q):
        rotation = Rotation.from_quat(q, scalar_first=True)
        own = rotation.inv().apply(L + change * t / seconds) / moments
        return 0.5 * np.array([-q[1:] @ own, *(q[0] * own + np.cross(q[1:], own))])

    found = solve_ivp(
        rate, (0.0, seconds), start, "DOP853", rtol=1e-13, atol=1e-15, max_step=seconds / 8.0
    ).y[:, -1]
    return (
        Rotation.from_quat(found, scalar_first=True) * Rotation.from_quat(start, scalar_first=True).inv()
    ).as_rotvec()


def tumbling(rng, least, angle):
    """A body at random that turns by an angle in a step: its orientation, moments, w and L."""
    part = rng.uniform(least, 1.0, 3)
    moments = part.sum() - part
    q, w = rng.normal(size=4), rng.normal(size=3)
    q /= np.linalg.norm(q)
    w *= angle / (H * np.linalg.norm(w))
    rotation = Rotation.from_quat(q, scalar_first=True)
    return q, moments, w, rotation.apply(moments * rotation.inv().apply(w))


@pytest.mark.parametrize("angle", [1e-5, 1e-3, 0.01, 0.999 * SERIES_LIMIT, 0.1, 0.5])
def test_mean_spin_of_a_free_body(angle):
    """What the series leaves is round-off; longer turns are to the error of Suzuki's composition."""
    rng = np.random.default_rng(7)
    for _ in range(10):
        (q, moments, w, L), found = tumbling(rng, 0.05, angle), np.zeros(3)
        spin_of(q[None], L[None], moments, 1.0 / moments, _axis_order(moments).astype(np.int8), H, found)
        exact = turn_by_integration(q, L, moments, H)
        limit = 2e-14 if angle < SERIES_LIMIT else 1e-8
        assert np.linalg.norm(H * found - exact) < limit
        if angle >= 1e-3:  # a turn about w would have been this far off
            assert np.linalg.norm(H * w - exact) > 100.0 * limit


@pytest.mark.parametrize("angle", [0.02, 0.22, 1.02])
def test_mean_spin_under_a_torque(angle):
    """Radau's two kicks in each of n parts are off by (|I^-1 [L]| h)^2 / (108 n^3) of what the torque does.

    By far more it is, taken for linear as of a body that does not spin.
    """
    parts = 1 + int(angle / TURN_OF_PART)
    rng = np.random.default_rng(8)
    for _ in range(10):
        (q, moments, w, L), change = tumbling(rng, 0.3, angle), rng.normal(size=3)
        rotation, found = Rotation.from_quat(q, scalar_first=True), np.zeros(3)
        change *= 0.02 * np.linalg.norm(L) / np.linalg.norm(change)
        order = _axis_order(moments).astype(np.int8)
        spin_of_driven(q[None], L[None], change[None], w[None], 1.0 / moments, order, H, found)
        exact, free = turn_by_integration(q, L, moments, H, change), turn_by_integration(q, L, moments, H)
        done = np.linalg.norm(exact - free)
        off = np.linalg.norm(H * found - exact)
        assert off < (moments.max() / moments.min() * angle) ** 2 / (108.0 * parts**3) * done
        linear = 0.5 * H * rotation.apply(rotation.inv().apply(change) / moments)
        assert np.linalg.norm(free + linear - exact) > 20.0 * off
