"""Rotations as Blender keys them in each rotation mode, without jumps between frames. Pure: no bpy.

All functions work on many objects at once: the loops run over frames alone.
"""

import warnings

import numpy as np

from .rigid_frames import continuous_signs, rotation_from_wxyz

HALF_TURN = np.pi
NO_TURN = 1e-9  # sine of half an angle below which the axis is kept from the frame before


def rotation_path(mode: str) -> str:
    """RNA path of the channels that `rotation_mode` uses."""
    return {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
        mode, "rotation_euler"
    )


def rotation_channels(quaternions: np.ndarray, mode: str, start: np.ndarray) -> np.ndarray:
    """Channel values for each frame and object.

    Args:
        quaternions: Rotations (w, x, y, z), shape (frames, objects, 4).
        mode: Blender's `rotation_mode`: QUATERNION, AXIS_ANGLE or an Euler order such as XYZ.
        start: Channel values the first frame continues, shape (objects, 3 or 4).

    Returns:
        Channels of `rotation_path(mode)`, shape (frames, objects, 3 or 4), angles in radians.
    """
    if mode == "QUATERNION":
        return continuous_signs(quaternions, start)
    if mode == "AXIS_ANGLE":
        return _axis_angles(quaternions, start)
    return _eulers(quaternions, mode, start)


def _axis_angles(quaternions: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Angle and axis; the axis never flips and the angle may pass half a turn and zero."""
    result = np.empty_like(quaternions)
    angle, axis = start[:, 0], _unit_or(start[:, 1:], np.array([0.0, 0.0, 1.0]))
    for frame, quaternion in enumerate(quaternions):
        sine = np.linalg.norm(quaternion[:, 1:], axis=-1)
        new_axis = np.where((sine > NO_TURN)[:, None], _unit_or(quaternion[:, 1:], axis), axis)
        flip = np.where((new_axis * axis).sum(axis=-1) < 0.0, -1.0, 1.0)
        axis = new_axis * flip[:, None]
        angle = _near(2.0 * np.arctan2(sine, quaternion[:, 0]) * flip, angle)
        result[frame, :, 0] = angle
        result[frame, :, 1:] = axis
    return result


def _eulers(quaternions: np.ndarray, order: str, start: np.ndarray) -> np.ndarray:
    """Euler angles, of the two triples of each rotation always the one nearer the frame before."""
    places, middle = np.argsort(list(order)), "XYZ".index(order[1])
    result, previous = np.empty((*quaternions.shape[:2], 3)), start
    with warnings.catch_warnings():
        # At gimbal lock one of the angles is free; scipy sets it to zero and warns.
        warnings.filterwarnings("ignore", message="Gimbal lock")
        for frame, quaternion in enumerate(quaternions):
            # Blender applies the axes of the name in order about fixed axes: scipy's lower case.
            one = rotation_from_wxyz(quaternion).as_euler(order.lower())[:, places]
            other = one + HALF_TURN
            other[:, middle] = HALF_TURN - one[:, middle]
            near_one, near_other = _near(one, previous), _near(other, previous)
            distance_one = np.abs(near_one - previous).sum(axis=-1)
            distance_other = np.abs(near_other - previous).sum(axis=-1)
            previous = np.where((distance_one <= distance_other)[:, None], near_one, near_other)
            result[frame] = previous
    return result


def _near(angles: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """The same angles, whole turns added, as near as possible to the previous ones."""
    turn = 2.0 * HALF_TURN
    return angles - turn * np.round((angles - previous) / turn)


def _unit_or(vectors: np.ndarray, fallback: np.ndarray) -> np.ndarray:
    """Unit vectors, the fallback where a vector is zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(length > 0.0, vectors / np.where(length > 0.0, length, 1.0), fallback)
