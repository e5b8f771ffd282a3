"""Rotation channels of every mode: the right rotation, without jumps."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple_extension.addon.rigid_frames import rotation_from_wxyz, wxyz_from_rotation
from topple_extension.addon.rotation_channels import rotation_channels, rotation_path

FRAMES = 200
ORDERS = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
AXES = np.array([[0.0, 0.0, 1.0], [0.3, 0.9, -0.2]])


def spins() -> np.ndarray:
    """Two objects that turn four times about fixed axes, signs at random, shape (FRAMES, 2, 4)."""
    angle = np.linspace(0.0, 8.0 * np.pi, FRAMES)
    unit = AXES / np.linalg.norm(AXES, axis=1, keepdims=True)
    turns = [wxyz_from_rotation(Rotation.from_rotvec(angle[:, None] * axis)) for axis in unit]
    signs = np.random.default_rng(3).choice([-1.0, 1.0], size=(FRAMES, 2, 1))
    return np.stack(turns, axis=1) * signs


def matrices(channels: np.ndarray, mode: str) -> np.ndarray:
    """Rotation matrices by the definition of each mode, shape (frames, objects, 3, 3)."""
    flat = channels.reshape(-1, channels.shape[-1])
    if mode == "QUATERNION":
        turns = rotation_from_wxyz(flat)
    elif mode == "AXIS_ANGLE":
        turns = Rotation.from_rotvec(flat[:, :1] * flat[:, 1:])
    else:
        about = [Rotation.from_rotvec(flat[:, [i]] * np.eye(3)[i]) for i in map("XYZ".index, mode)]
        turns = about[2] * about[1] * about[0]
    return turns.as_matrix().reshape(*channels.shape[:2], 3, 3)


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", *ORDERS])
def test_channels_give_the_rotation(mode):
    quaternions = spins()
    start = np.zeros((2, 4 if mode in ("QUATERNION", "AXIS_ANGLE") else 3))
    channels = rotation_channels(quaternions, mode, start)
    np.testing.assert_allclose(matrices(channels, mode), matrices(quaternions, "QUATERNION"), atol=1e-7)


def test_axis_and_angle_count_turns():
    """A steady spin is a straight line of the angle about one axis, past half a turn and a whole one."""
    start = np.concatenate([np.zeros((2, 1)), AXES], axis=1)
    channels = rotation_channels(spins(), "AXIS_ANGLE", start)
    np.testing.assert_allclose(
        channels[:, :, 0], np.linspace(0.0, 8.0 * np.pi, FRAMES)[:, None] * [1, 1], atol=1e-6
    )
    assert np.abs(np.diff(channels[:, :, 1:], axis=0)).max() < 1e-6


def test_euler_angles_count_turns():
    """A spin about z alone turns the z angle alone."""
    channels = rotation_channels(spins()[:, :1], "XYZ", np.zeros((1, 3)))
    np.testing.assert_allclose(channels[:, 0, 2], np.linspace(0.0, 8.0 * np.pi, FRAMES), atol=1e-6)
    np.testing.assert_allclose(channels[:, 0, :2], 0.0, atol=1e-6)


def test_the_first_frame_continues_the_channels_before():
    """An object turned by 370 degrees keeps the whole turn."""
    quarter = wxyz_from_rotation(Rotation.from_euler("z", 10.0, degrees=True))[None, None]
    start = np.radians([[0.0, 0.0, 370.0]])
    np.testing.assert_allclose(rotation_channels(quarter, "XYZ", start)[0], start, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_gimbal_lock_keeps_the_rotation(order):
    middle = np.full(5, np.pi / 2)
    locked = Rotation.from_euler(order.lower(), np.stack([np.linspace(0, 1, 5), middle, np.zeros(5)], axis=1))
    quaternions = wxyz_from_rotation(locked)[:, None]
    channels = rotation_channels(quaternions, order, np.zeros((1, 3)))
    np.testing.assert_allclose(matrices(channels, order), matrices(quaternions, "QUATERNION"), atol=1e-6)


def test_paths():
    assert rotation_path("QUATERNION") == "rotation_quaternion"
    assert rotation_path("AXIS_ANGLE") == "rotation_axis_angle"
    assert rotation_path("ZXY") == "rotation_euler"
