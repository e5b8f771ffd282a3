"""Where the path of an animated body is to be looked at between two frames. Pure: no bpy."""

import numpy as np
from scipy.spatial.transform import Rotation

from .rigid_frames import rotation_of

MOST_BETWEEN = 16  # parts in which a frame is divided at most
# [rad] A body that turns farther from one frame to the next may have turned the other way round.
FASTEST_TURN = 1.0


def parts_of_a_frame(steps_per_second: float, fps: float) -> int:
    """In how many parts a frame is divided where a path is curved: one for each step of the solver."""
    return max(1, min(round(steps_per_second / fps), MOST_BETWEEN))


def curved_frames(path: np.ndarray, radius: float, tolerance: float) -> np.ndarray:
    """From which frames to the next a body leaves the way straight from pose to pose at even speed.

    A path that speeds up by a leaves it by a / 8 of the time squared; a is told by three frames.

    Args:
        path: World matrices at every frame, shape (frames + 1, 4, 4).
        radius: How far the body reaches from its origin.
        tolerance: By how much any point of it may leave that way, in the same unit.

    Returns:
        Shape (frames,).
    """
    rotations = Rotation.from_matrix(rotation_of(path))
    ways, turns = np.diff(path[:, :3, 3], axis=0), (rotations[1:] * rotations[:-1].inv()).as_rotvec()
    bends = np.zeros(len(path))
    bends[1:-1] = _lengths(np.diff(ways, axis=0)) + radius * _lengths(np.diff(turns, axis=0))
    off = np.maximum(bends[:-1], bends[1:]) / 8.0
    return (off > tolerance) | (_lengths(turns) > FASTEST_TURN)


def _lengths(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=-1)
