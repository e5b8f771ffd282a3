"""Arms and normals in the mean over a step against quadrature and half turns, and the chord they make."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple.collision.contact_set import contact_geometry, empty_contacts
from topple.dynamics.contact_rows import _turned_on
from topple.jit import kernel
from topple.math3 import vec3
from topple.solvers.impulse_arms import MOST_TURN, _carried, _mean_beyond


@kernel
def mean_beyond(vectors, out):
    out[0], out[1], out[2] = _mean_beyond(vec3.load(vectors, 0), vec3.load(vectors, 1))


@pytest.mark.parametrize("turn", [1e-12, 1e-5, 1e-2, MOST_TURN])
@pytest.mark.parametrize("seed", range(3))
def test_mean_arm(turn, seed):
    """The mean of exp([w] t) r; w x it is the chord (exp [w] - 1) r."""
    rng = np.random.default_rng(seed)
    w, r = rng.normal(size=(2, 3))
    w *= turn / np.linalg.norm(w)
    beyond = np.zeros(3)
    mean_beyond(np.array([w, r]), beyond)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    quadrature = sum(
        0.5 * weight * (Rotation.from_rotvec(0.5 * (node + 1.0) * w).apply(r) - r)
        for node, weight in zip(nodes, weights, strict=True)
    )
    np.testing.assert_allclose(beyond, quadrature, atol=1e-15)
    chord = Rotation.from_rotvec(w).apply(r) - r
    np.testing.assert_allclose(np.cross(w, r + beyond), chord, atol=1e-15)


@kernel
def turn_normal(n, w, contacts, impulse, out):
    """Write the normal that turns by w in the mean, and an impulse along the last one turned on with it."""
    mean = _carried(vec3.load(n, 0), vec3.load(w, 0))
    contacts.normal[0, 0], contacts.normal[0, 1], contacts.normal[0, 2] = mean
    out[0], out[1], out[2] = _turned_on(contacts, 0, vec3.load(impulse, 0))


@pytest.mark.parametrize("turn", [1e-12, 1e-5, 1e-2, MOST_TURN])
def test_mean_normal(turn):
    """Half way to where the body takes it; an impulse along the mean of the last step is along this one."""
    rng = np.random.default_rng(0)
    n, w = rng.normal(size=(2, 3))
    n /= np.linalg.norm(n)
    w -= n * (w @ n)
    w *= turn / np.linalg.norm(w)
    contacts = contact_geometry(empty_contacts(1))
    contacts.normal_at_start[0] = n
    half, impulse = Rotation.from_rotvec(0.5 * w), np.zeros(3)
    turn_normal(n[None], w[None], contacts, 7.0 * half.inv().apply(n)[None], impulse)
    np.testing.assert_allclose(contacts.normal[0], half.apply(n), atol=1e-15 + turn**3 / 24)
    np.testing.assert_allclose(impulse, 7.0 * half.apply(n), atol=1e-14 + 7.0 * turn**3 / 6)
