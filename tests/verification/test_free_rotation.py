"""Bodies that spin freely: Euler's equations I w' + w x I w = 0."""

from functools import cache

import numpy as np
import pytest
import scenes
import topple
from scipy.spatial.transform import Rotation


@cache
def spin(moments, angular_velocity, seconds, fps=240):
    """Rotations, angular velocities in body axes [rad/s] and times [s] of a free body, one step a frame."""
    scene = scenes.spinning_body(moments, angular_velocity)
    solver = topple.ImpulseSolver(time_step=1 / fps)
    trajectory = topple.simulate(scene, seconds=seconds, fps=fps, solver=solver)
    rotation = Rotation.from_quat(trajectory.orientation[:, 0], scalar_first=True)
    return rotation, rotation.inv().apply(trajectory.angular_velocity[:, 0].copy()), trajectory.times


def zero_crossings(times, values):
    """Times at which a sampled signal changes sign, linear between samples.

    The signal has no curvature where it crosses zero, so the error is of third order in the sampling.
    """
    before = np.flatnonzero(np.signbit(values[:-1]) != np.signbit(values[1:]))
    fraction = values[before] / (values[before] - values[before + 1])
    return times[before] + fraction * (times[before + 1] - times[before])


def test_conservation_over_90_seconds(figure):
    """L = R I R^T w is constant to round-off and E = w . I w / 2 to 1e-6, also while the top tumbles.

    Source: Goldstein, Classical Mechanics, 5.6 (Poinsot). The state holds L itself, so its error is that
    of turning it into w and back: 1e-13 relative.
    """
    moments = (1.0, 10.0, 11.0)
    rotation, w_B, _ = spin(moments, (0.0, 2.0, 1e-4), 90.0)
    L = rotation.apply(np.array(moments) * w_B)
    figure("angular momentum, relative", np.abs(L - L[0]).max() / np.linalg.norm(L[0]), 1e-13)
    energy = 0.5 * np.sum(np.array(moments) * w_B**2, axis=1)
    figure("energy, relative", np.abs(energy / energy[0] - 1.0).max(), 1e-6)


@pytest.mark.parametrize(
    ("moments", "angular_velocity", "interval"),
    [
        pytest.param((1.0, 10.0, 11.0), (0.0, 2.0, 1e-4), 12.370398, id="flipping"),
        pytest.param((1.0, 2.0, 3.0), (0.01, 1.0, 0.01), 19.552867, id="asymmetric"),
    ],
)
def test_flip_interval(moments, angular_velocity, interval, figure):
    """A body spun about its middle axis flips every half period 2 K(k^2) / n of Jacobi's solution.

    Source: Landau & Lifshitz, Mechanics, section 37: w2 ~ sn(n t); intervals confirmed by integrating
    Euler's equations to 1e-12. A relative error of the energy of 1e-6 would shift them by about 1e-5.
    """
    _, w_B, times = spin(moments, angular_velocity, 90.0)
    intervals = np.diff(zero_crossings(times, w_B[:, 1]))
    assert len(intervals) >= 3
    figure("interval between flips", np.abs(intervals - interval).max(), 1e-4, "s")


@pytest.mark.parametrize("fps", [24, 240])
def test_axisymmetric_body(fps, figure):
    """A symmetric top precesses about L at |L| / I1 and spins about its axis at w3 (1 - I3 / I1).

    q(t) = exp(L t / I1) exp(z w3 (1 - I3 / I1) t) q(0), with q(0) = 1.
    Source: Kane, Likins & Levinson 1983, Spacecraft Dynamics, 3.1. Must hold to 1e-5 rad
    after 60 s, whatever the step.
    """
    transverse, axial = 2.0, 3.0
    w = np.array([0.7, 0.2, 4.0])
    rotation, _, times = spin((transverse, transverse, axial), tuple(w), 60.0, fps)
    L = np.array([transverse, transverse, axial]) * w
    precession = Rotation.from_rotvec(times[:, None] * L / transverse)
    own_spin = Rotation.from_rotvec(times[:, None] * np.array([0.0, 0.0, w[2] * (1.0 - axial / transverse)]))
    error = (rotation.inv() * (precession * own_spin)).magnitude()
    figure("orientation after 60 s", error.max(), 1e-5, "rad")


@pytest.mark.parametrize("step", [1 / 60, 1 / 240])
def test_locked_axis_keeps_energy_and_momentum(step, figure):
    """A box that cannot turn about x tumbles: L_y, L_z and w . I w / 2 stay, as the lock does no work."""
    body = topple.Body(
        "box", topple.Box((1.5, 0.75, 0.2)), lock_angular=(True, False, False),
        orientation=(0.8, 0.1, 0.5, -0.3), angular_velocity=(0, 9, 4),
    )  # fmt: skip
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[body])
    trajectory = topple.simulate(scene, seconds=10.0, solver=topple.ImpulseSolver(time_step=step))
    w, turned = (
        trajectory.angular_velocity[:, 0],
        Rotation.from_quat(trajectory.orientation[:, 0], scalar_first=True).as_matrix(),
    )
    inertia = turned @ body.inertia @ turned.transpose(0, 2, 1)
    momentum = np.einsum("fij,fj->fi", inertia, w)
    energy = 0.5 * np.einsum("fi,fi->f", momentum, w)
    figure("turning about the locked axis", np.abs(w[:, 0]).max(), 0.0, "rad/s")
    figure("energy, relative", np.ptp(energy) / energy[0], 1e-6)
    figure("L_y, L_z, relative", np.abs(momentum[:, 1:] / momentum[0, 1:] - 1.0).max(), 1e-12)
