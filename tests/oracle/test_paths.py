"""Poses on the paths of animated bodies beside scipy's interpolation of orientations."""

import numpy as np
import topple
from scipy.spatial.transform import Rotation, Slerp
from topple.dynamics.body_state import build_bodies, gravity_of, initial_state
from topple.dynamics.kinematic import KinematicPaths

MIDDLE = np.array([0.1, -0.2, 0.3])  # centre of mass in the frame of the bodies [m]


def random_motion(rng, samples):
    """Samples at uneven times, each turned by up to 3 rad against the one before."""
    times = np.cumsum(rng.uniform(0.01, 0.2, samples))
    turned = [Rotation.random(random_state=1)]
    for _ in times[1:]:
        axis = rng.normal(size=3)
        turned.append(Rotation.from_rotvec(3.0 * rng.random() * axis / np.linalg.norm(axis)) * turned[-1])
    orientations = np.array([r.as_quat()[[3, 0, 1, 2]] for r in turned])
    for k in range(1, samples):
        if orientations[k] @ orientations[k - 1] < 0.0:
            orientations[k] *= -1.0
    return topple.Motion(times, rng.normal(size=(samples, 3)), orientations)


def expected(motion, time):
    """Position and rotation of the body's frame: straight, and round one axis, between two samples."""
    time = np.clip(time, motion.times[0], motion.times[-1])
    position = [np.interp(time, motion.times, column) for column in motion.positions.T]
    rotations = Rotation.from_quat(motion.orientations[:, [1, 2, 3, 0]])
    turned = Slerp(motion.times, rotations)(time) if len(motion.times) > 1 else rotations[0]
    return np.array(position), turned


def follow(motions, release=None):
    """The paths of bodies with these motions, and their model and state."""
    bodies = [
        topple.Body(f"body_{k}", topple.Box((1, 2, 3)), kind="kinematic", motion=motion, mass=1.0,
                    center_of_mass=MIDDLE, release_time=release)
        for k, motion in enumerate(motions)
    ]  # fmt: skip
    scene = topple.Scene(bodies=bodies)
    model, _, _, _, order = build_bodies(scene)
    bodies = [bodies[i] for i in order]
    paths = KinematicPaths(bodies, model, gravity_of(scene, bodies))
    return paths, model, initial_state(scene, order, model), bodies


def turned_by(q):
    """Rotation of a quaternion (w, x, y, z)."""
    return Rotation.from_quat(q[[1, 2, 3, 0]])


def test_poses_are_those_of_scipy():
    """Before, between, at and after the samples, of paths of one to thirty."""
    rng = np.random.default_rng(2)
    paths, model, state, bodies = follow([random_motion(rng, samples) for samples in (1, 2, 3, 30)])
    worst = np.zeros(2)
    for time in (-1.0, *bodies[-1].motion.times, *rng.uniform(0.0, 4.0, 40)):
        paths.set_poses(state, time)
        for i, body in enumerate(bodies):
            position, turned = expected(body.motion, time)
            axes = turned_by(state.q[i]) * turned_by(model.q_OP[i]).inv()
            off = np.linalg.norm(state.c[i] - position - turned.apply(MIDDLE))
            worst = np.maximum(worst, [off, (axes * turned.inv()).magnitude()])
    assert worst[0] < 1e-13  # [m]
    assert worst[1] < 1e-13  # [rad]


def test_velocities_lead_along():
    """The velocity of a step takes a body where its path is at the step's end, by way and turn."""
    rng = np.random.default_rng(3)
    paths, _, state, bodies = follow([random_motion(rng, 20)])
    h, worst = 1 / 240, np.zeros(2)
    for time in np.arange(0.0, bodies[0].motion.times[-1], h):
        paths.set_poses(state, time)
        paths.set_velocities(state, time, h)
        c, turned = state.c[0] + h * state.v[0], Rotation.from_rotvec(h * state.w[0]) * turned_by(state.q[0])
        paths.set_poses(state, time + h)
        off = (turned_by(state.q[0]) * turned.inv()).magnitude()
        worst = np.maximum(worst, [np.linalg.norm(c - state.c[0]), off])
    assert worst[0] < 1e-13  # [m]
    assert worst[1] < 1e-13  # [rad]


def test_velocities_change_steadily_but_at_corners():
    """A path with a polynomial of time has its second derivative; one that sets off has no change there."""
    h, start = 0.01, 0.5
    times = np.arange(201) * h
    since = np.maximum(times - start, 0.0)
    curve, corner = times[:, None] ** 2 * (1.0, -2.0, 0.5), since[:, None] * (3.0, 0.0, 1.0)
    turned = Rotation.from_rotvec(times[:, None] ** 2 * (0.0, 0.0, 0.7)).as_quat()[:, [3, 0, 1, 2]]
    still = np.tile([1.0, 0.0, 0.0, 0.0], (len(times), 1))
    paths, _, state, _ = follow([topple.Motion(times, curve, turned), topple.Motion(times, corner, still)])
    for time in (0.0, h, start - h, start, start + h):
        change = np.full((2, 6), np.nan)
        paths.set_poses(state, time)
        paths.set_velocities(state, time, h, change)
        np.testing.assert_allclose(change[0, 3:], (0.0, 0.0, 1.4 * h), atol=1e-12)
        expected = 2.0 * h * np.array([1.0, -2.0, 0.5])
        # The centre of mass is beside the origin, which the path is of: it turns, too.
        turning = 2.0 * np.abs(MIDDLE).max() * h * (1.4 + (1.4 * (time + h)) ** 2)
        assert np.abs(change[0, :3] - expected).max() <= turning
        np.testing.assert_allclose(change[1], 0.0, atol=1e-12)


def test_goes_straight_on_from_its_release():
    """Until the end of the step a body moves as it did at its release, which lies within the step."""
    rng = np.random.default_rng(4)
    release = 0.7
    paths, _, state, _ = follow([random_motion(rng, 20)], release)
    v, w = paths.table.velocity[0, :3], paths.table.velocity[0, 3:]
    paths.set_poses(state, release)
    c, turned = state.c[0].copy(), turned_by(state.q[0])
    paths.set_poses(state, release + 0.01)
    off = turned_by(state.q[0]) * (Rotation.from_rotvec(0.01 * w) * turned).inv()
    assert np.linalg.norm(state.c[0] - c - 0.01 * v) < 1e-14
    assert off.magnitude() < 1e-14
    assert np.linalg.norm(v) > 0.1  # or this shows nothing
    assert paths.next_release == release
