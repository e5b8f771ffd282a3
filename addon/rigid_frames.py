"""Rigid frames inside 4x4 matrices that also scale, mirror and shear. Pure: no bpy."""

import numpy as np
from scipy.spatial.transform import Rotation

ZERO_SCALE = 1e-9  # column length relative to the longest, below which an axis counts as flattened
SINGLE_PRECISION = 1e-6  # error of a matrix product in single precision, relative, a few digits wide
EVEN_SCALE = 1e-4  # relative spread of the scales up to which a matrix turns without shearing


def rotation_of(matrices: np.ndarray) -> np.ndarray:
    """Rotation matrices nearest to linear maps (polar decomposition), of mirrored maps to their negative.

    Args:
        matrices: Linear or affine maps, shape (..., 3, 3) or (..., 4, 4), not singular.

    Returns:
        Rotations in the order of the stack, shape (..., 3, 3). For a map that scales and turns without
        shearing this is its rotation; for a mirrored one a rotation that turns with it in the same way.
    """
    linear = np.asarray(matrices, dtype=np.float64)[..., :3, :3]
    sign = np.sign(np.linalg.det(linear))[..., None, None]
    u, _, vt = np.linalg.svd(sign * linear)
    return u @ vt


def stretch_of(matrices: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """What matrices do besides turning and moving, in the axes of `rotation_of`, shape (..., 3, 3).

    Blender's matrices have single precision. Where the object's scale channels explain the stretch
    they are taken instead: they are exact, so that copies of an object differ in nothing but pose.

    Args:
        matrices: World matrices, shape (..., 4, 4).
        scales: Scale channels with delta, shape (..., 3).
    """
    linear, scales = matrices[..., :3, :3], np.abs(scales)
    stretch = np.swapaxes(rotation_of(matrices), -1, -2) @ linear
    exact = np.sign(np.linalg.det(linear))[..., None, None] * scales[..., None] * np.eye(3)
    error = np.abs(stretch - exact).max(axis=(-2, -1))
    explained = error <= SINGLE_PRECISION * scales.max(axis=-1)
    return np.where(explained[..., None, None], exact, stretch)


def flat_axes(matrices: np.ndarray) -> np.ndarray:
    """Which axes 4x4 matrices flatten, shape (..., 3)."""
    lengths = np.linalg.norm(matrices[..., :3, :3], axis=-2)
    return lengths <= ZERO_SCALE * lengths.max(axis=-1, keepdims=True)


def is_singular(matrices: np.ndarray) -> bool:
    """Whether any map of a stack, shape (n, 4, 4), has no inverse."""
    scales = np.linalg.svd(matrices[:, :3, :3], compute_uv=False)
    return bool((scales[:, -1] <= ZERO_SCALE * scales[:, 0]).any())


def is_even(matrices: np.ndarray) -> bool:
    """Whether every map of a stack, shape (n, 4, 4), scales all directions alike."""
    scales = np.linalg.svd(matrices[:, :3, :3], compute_uv=False)
    return bool((scales[:, 0] <= (1.0 + EVEN_SCALE) * scales[:, -1]).all())


def wxyz_of(matrices: np.ndarray) -> np.ndarray:
    """Quaternions (w, x, y, z) of `rotation_of`, shape (..., 4)."""
    rotations = rotation_of(matrices)
    return wxyz_from_rotation(Rotation.from_matrix(rotations.reshape(-1, 3, 3))).reshape(
        *rotations.shape[:-2], 4
    )


def conjugate(quaternions: np.ndarray) -> np.ndarray:
    """The inverses of unit quaternions (w, x, y, z)."""
    return quaternions * (1.0, -1.0, -1.0, -1.0)


def rotation_from_wxyz(quaternions: np.ndarray) -> Rotation:
    """Rotations from quaternions (w, x, y, z), shape (4,) or (n, 4)."""
    return Rotation.from_quat(np.asarray(quaternions)[..., [1, 2, 3, 0]])


def wxyz_from_rotation(rotations: Rotation) -> np.ndarray:
    """Quaternions (w, x, y, z), shape (4,) or (n, 4)."""
    return rotations.as_quat()[..., [3, 0, 1, 2]]


def multiply_quaternions(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Products left * right (right is applied first) of quaternions (w, x, y, z), broadcast."""
    aw, ax, ay, az = np.moveaxis(left, -1, 0)
    bw, bx, by, bz = np.moveaxis(right, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def continuous_signs(quaternions: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """The same rotations with signs chosen so that no quaternion jumps to its negative.

    Args:
        quaternions: Shape (frames, ..., 4).
        start: Quaternions the first frame continues, shape (..., 4); by default the first itself.
    """
    before = quaternions[0] if start is None else start
    previous = np.concatenate([before[None], quaternions[:-1]])
    flips = np.where((quaternions * previous).sum(axis=-1) < 0.0, -1.0, 1.0)
    return quaternions * np.cumprod(flips, axis=0)[..., None]
