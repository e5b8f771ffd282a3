"""Fewer keyframes: between those that are kept, linear curves stay within a tolerance. Pure: no bpy."""

from collections.abc import Callable

import numpy as np

# The largest error that linear curves from one frame to another make between them, at each frame between.
Error = Callable[[np.ndarray, np.ndarray], np.ndarray]


def kept_keys(values: np.ndarray, frames: np.ndarray, error: Error, tolerance: float) -> np.ndarray:
    """Indices of the keys to keep, the first and the last among them.

    The method of Ramer (1972) and Douglas and Peucker (1973): a stretch is split at its worst frame until
    linear interpolation errs by no more than the tolerance at any frame.

    Args:
        values: Channel values, shape (frames, channels).
        frames: Frame numbers, increasing, shape (frames,).
        error: Error of interpolated values, shape (k, channels), against the true ones, as shape (k,).
        tolerance: Largest error allowed, in the unit of `error`.
    """
    kept, stretches = {0, len(values) - 1}, [(0, len(values) - 1)]
    while stretches:
        a, b = stretches.pop()
        if b - a < 2:
            continue
        part = (frames[a + 1 : b] - frames[a]) / (frames[b] - frames[a])
        line = values[a] + part[:, None] * (values[b] - values[a])
        errors = error(line, values[a + 1 : b])
        worst = int(errors.argmax())
        if errors[worst] > tolerance:
            middle = a + 1 + worst
            kept.add(middle)
            stretches += [(a, middle), (middle, b)]
    return np.array(sorted(kept))


def distance(values: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Distances of points, shape (k,)."""
    return np.linalg.norm(values - true, axis=1)


def quaternion_angle(values: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Angles between rotations; the interpolated quaternions are made unit, as Blender does [rad]."""
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    chord = np.minimum(np.linalg.norm(unit - true, axis=1), np.linalg.norm(unit + true, axis=1))
    return 4.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))


def axis_angle_angle(values: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Angles between rotations given by angle and axis [rad]."""
    return quaternion_angle(_quaternions(values), _quaternions(true))


def euler_bound(values: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Bounds of the angles between rotations given by Euler angles [rad].

    Turns of three axes in a row differ by no more than the sum of what each differs by.
    """
    return np.abs(values - true).sum(axis=1)


ROTATION_ERROR: dict[str, Error] = {
    "rotation_quaternion": quaternion_angle,
    "rotation_axis_angle": axis_angle_angle,
    "rotation_euler": euler_bound,
}


def _quaternions(axis_angles: np.ndarray) -> np.ndarray:
    half, axis = 0.5 * axis_angles[:, :1], axis_angles[:, 1:]
    length = np.linalg.norm(axis, axis=1, keepdims=True)
    return np.concatenate([np.cos(half), np.sin(half) * axis / np.where(length > 0, length, 1.0)], axis=1)
