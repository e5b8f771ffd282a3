"""Where animated bodies are looked at between frames: by how much paths leave the straight way there."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple_extension.addon.path_sampling import MOST_BETWEEN, curved_frames, parts_of_a_frame

FRAMES = np.arange(11)


def path_of(positions, rotations):
    path = np.tile(np.eye(4), (len(FRAMES), 1, 1))
    path[:, :3, :3], path[:, :3, 3] = rotations.as_matrix(), positions
    return path


def about_z(angles):
    return Rotation.from_rotvec(np.asarray(angles)[:, None] * (0.0, 0.0, 1.0))


@pytest.mark.parametrize("off", [0.9, 1.1])
def test_what_speeds_up(off):
    """A parabola leaves its chord by an eighth of its acceleration: half way, over the chord of its ends."""
    acceleration = 0.8 * off  # a frame squared
    positions = 0.5 * acceleration * FRAMES[:, None] ** 2 * (0.6, 0.0, 0.8)
    middle = 0.5 * acceleration * (FRAMES[:-1] + 0.5) ** 2
    chord = 0.25 * acceleration * (FRAMES[:-1] ** 2 + FRAMES[1:] ** 2)
    np.testing.assert_allclose(chord - middle, 0.1 * off)
    assert (curved_frames(path_of(positions, about_z(0.0 * FRAMES)), 1.0, 0.1) == (off > 1.0)).all()


def test_what_turns():
    """About itself evenly a body goes from pose to pose; about another point, or ever faster, it does not."""
    even, faster = about_z(0.5 * FRAMES), about_z(0.02 * FRAMES**2)
    still, circle = np.zeros((len(FRAMES), 3)), 3.0 * even.apply((1.0, 0.0, 0.0))
    assert not curved_frames(path_of(still, even), 1.0, 1e-4).any()
    assert curved_frames(path_of(circle, even), 1.0, 1e-4).all()
    assert curved_frames(path_of(still, faster), 1.0, 1e-4).all()
    assert not curved_frames(path_of(still, faster), 1e-3, 1e-4).any()
    assert curved_frames(path_of(still, about_z(1.2 * FRAMES)), 1e-3, 1e-4).all()


def test_only_where_it_is_curved():
    positions = np.maximum(FRAMES - 5.0, 0.0)[:, None] * (1.0, 0.0, 0.0)
    found = curved_frames(path_of(positions, about_z(0.0 * FRAMES)), 1.0, 1e-4)
    assert found.tolist() == [False] * 4 + [True] * 2 + [False] * 4


def test_parts_are_steps():
    assert [parts_of_a_frame(240, 24), parts_of_a_frame(24, 24), parts_of_a_frame(10, 24)] == [10, 1, 1]
    assert parts_of_a_frame(1e5, 24) == MOST_BETWEEN
