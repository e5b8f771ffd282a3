"""The bound on the error holds at every frame, as Blender's linear curves interpolate."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple_extension.addon import key_reduction
from topple_extension.addon.rotation_channels import rotation_channels, rotation_path

FRAMES = np.arange(1.0, 101.0)


def tumbling() -> np.ndarray:
    """A body that falls and tumbles, then lies still; quaternions (w, x, y, z), shape (frames, 4)."""
    time = np.minimum(FRAMES / 24, 2.5)
    turns = Rotation.from_rotvec(time[:, None] * np.array([2.0, 1.0, 3.0]) + np.sin(3 * time)[:, None])
    return turns.as_quat()[:, [3, 0, 1, 2]]


def interpolated(values, kept):
    return np.stack([np.interp(FRAMES, FRAMES[kept], column[kept]) for column in values.T], axis=1)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-2, 0.5])
def test_locations(tolerance):
    time = np.minimum(FRAMES / 24, 2.5)
    values = np.stack([time, np.sin(time), -4.9 * time**2], axis=1)
    kept = key_reduction.kept_keys(values, FRAMES, key_reduction.distance, tolerance)
    assert np.linalg.norm(interpolated(values, kept) - values, axis=1).max() <= tolerance
    assert len(kept) < 70  # the last 40 frames lie still


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "XYZ", "ZYX"])
@pytest.mark.parametrize("degrees", [0.1, 2.0])
def test_rotations(mode, degrees):
    path = rotation_path(mode)
    start = np.zeros((1, 3 if path == "rotation_euler" else 4))
    values = rotation_channels(tumbling()[:, None], mode, start)[:, 0]
    error = key_reduction.ROTATION_ERROR[path]
    kept = key_reduction.kept_keys(values, FRAMES, error, np.radians(degrees))
    drawn = interpolated(values, kept)
    if mode == "QUATERNION":
        turns = Rotation.from_quat(drawn[:, [1, 2, 3, 0]])
    elif mode == "AXIS_ANGLE":
        axis = drawn[:, 1:] / np.linalg.norm(drawn[:, 1:], axis=1, keepdims=True)
        turns = Rotation.from_rotvec(drawn[:, :1] * axis)
    else:
        order = ["XYZ".index(axis) for axis in mode]
        turns = Rotation.from_euler(mode.lower(), drawn[:, order])
    true = Rotation.from_quat(tumbling()[:, [1, 2, 3, 0]])
    assert np.degrees((turns.inv() * true).magnitude()).max() <= degrees * (1 + 1e-9)
    assert len(kept) < len(FRAMES)


def test_no_tolerance_keeps_what_is_not_straight():
    values = np.array([[0.0], [1.0], [2.0], [2.0], [2.0], [5.0]])
    kept = key_reduction.kept_keys(values, np.arange(6.0), key_reduction.distance, 0.0)
    assert kept.tolist() == [0, 2, 4, 5]
