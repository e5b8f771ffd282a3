"""The turn of a body that is struck within a step, against Euler's equations integrated before and after."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple.dynamics.body_state import _axis_order
from topple.dynamics.free_rotation import spin_after_blows
from topple.jit import kernel
from topple.math3 import quat, vec3

from .test_free_rotation import H, turn_by_integration


@kernel
def spin_of_struck(q, L, w, change, time, inertia, inv_inertia, axis_order, h, found_out):
    """Write the mean angular velocity of a body that a blow strikes at a time."""
    w, orientation = vec3.load(w, 0), quat.load(q, 0)
    found_out[0], found_out[1], found_out[2] = spin_after_blows(
        orientation, quat.to_mat3(orientation), vec3.load(L, 0), w, vec3.load(change, 0), time,
        vec3.scale(w, time), inertia, inv_inertia, axis_order, h,
    )  # fmt: skip


@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("angle", [0.02, 0.3])
def test_mean_spin_after_a_blow(angle, part):
    """Free rotation up to the blow, then from it on: to the errors of both."""
    rng = np.random.default_rng(9)
    for _ in range(10):
        share = rng.uniform(0.2, 1.0, 3)
        moments = share.sum() - share
        q, w, change = rng.normal(size=4), rng.normal(size=3), rng.normal(size=3)
        q /= np.linalg.norm(q)
        w *= angle / (H * np.linalg.norm(w))
        start, found = Rotation.from_quat(q, scalar_first=True), np.zeros(3)
        L = start.apply(moments * start.inv().apply(w))
        change *= 0.5 * np.linalg.norm(L) / np.linalg.norm(change)
        spin_of_struck(
            q[None], L[None], w[None], change[None], part * H, moments, 1.0 / moments, _axis_order(moments),
            H, found,
        )  # fmt: skip
        then = start
        for begin, end, momentum in ((0.0, part, L), (part, 1.0, L + change)):
            if end > begin:
                now = then.as_quat(scalar_first=True)
                then = (
                    Rotation.from_rotvec(turn_by_integration(now, momentum, moments, (end - begin) * H))
                    * then
                )
        off = np.linalg.norm(H * found - (then * start.inv()).as_rotvec())
        assert off < 1e-8
        straight = H * (w + (1.0 - part) * start.apply(start.inv().apply(change) / moments))
        assert np.linalg.norm(H * found - straight) > 100.0 * off
