"""Arms in the mean over a step against quadrature, and the chord that their velocities make."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple.jit import kernel
from topple.math3 import vec3
from topple.solvers.impulse_arms import MOST_TURN, _mean_beyond


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
