"""Rotations inside matrices that also scale, mirror and shear."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple_extension.addon import rigid_frames as frames

TURN = Rotation.from_rotvec([0.4, -1.1, 2.0]).as_matrix()


@pytest.mark.parametrize("scale", [(1, 1, 1), (0.1, 5, 2), (-1, 1, -2)])
def test_rotation_of_scaled_matrix_keeps_the_axes(scale):
    """R diag(s): the frame's axes are those of R, up to direction where the scale is negative."""
    rotation = frames.rotation_of(TURN @ np.diag(scale))
    np.testing.assert_allclose(np.abs(rotation.T @ TURN), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("scale", [(-1, 1, 1), (-1, -2, -0.5), (3, 1, 2)])
def test_frame_turns_with_the_matrix(scale):
    """A rigid rotation K of the object turns its frame by K, mirrored or not."""
    matrix = TURN @ np.diag(scale)
    turn = Rotation.from_rotvec([1.0, 0.5, -0.3])
    turned = frames.rotation_of(turn.as_matrix() @ matrix)
    np.testing.assert_allclose(turned, turn.as_matrix() @ frames.rotation_of(matrix), atol=1e-12)


def test_shear_gives_the_nearest_rotation():
    """Polar decomposition: M = R P with P symmetric, positive."""
    matrix = TURN @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.2], [0.0, 0.0, 2.0]])
    stretch = frames.rotation_of(matrix).T @ matrix
    np.testing.assert_allclose(stretch, stretch.T, atol=1e-12)
    assert np.linalg.eigvalsh(stretch).min() > 0.0


@pytest.mark.parametrize("scale", [(2, 3, 0.5), (-2, 3, 0.5), (-2, -3, 0.5), (-2, -3, -0.5)])
def test_stretch_is_exact_where_the_channels_explain_it(scale):
    matrix = np.eye(4)
    matrix[:3, :3] = (TURN @ np.diag(scale)).astype(np.float32)
    stretch = frames.stretch_of(matrix, np.array(scale))
    rotation = frames.rotation_of(matrix)
    np.testing.assert_array_equal(np.abs(stretch), np.diag(np.abs(scale)))
    np.testing.assert_allclose(rotation @ stretch, matrix[:3, :3], atol=1e-6)


def test_stretch_of_a_scaled_parent_comes_from_the_matrix():
    matrix = np.eye(4)
    matrix[:3, :3] = TURN @ np.diag([2.0, 2.0, 2.0])
    np.testing.assert_allclose(frames.stretch_of(matrix, np.ones(3)), 2.0 * np.eye(3), atol=1e-12)


def test_stacks_are_what_their_members_are():
    matrices = np.tile(np.eye(4), (3, 1, 1))
    for matrix, scale in zip(matrices, [(2, 3, 0.5), (-2, 3, 0.5), (1, 1, 1)], strict=True):
        matrix[:3, :3] = TURN @ np.diag(scale)
    scales = np.array([(2, 3, 0.5), (-2, 3, 0.5), (7, 7, 7)])  # the last is a parent's doing
    stretches, turns = frames.stretch_of(matrices, scales), frames.wxyz_of(matrices)
    for i in range(3):
        np.testing.assert_array_equal(stretches[i], frames.stretch_of(matrices[i], scales[i]))
        np.testing.assert_allclose(
            frames.rotation_from_wxyz(turns[i]).as_matrix() @ stretches[i], matrices[i, :3, :3], atol=1e-12
        )


def test_flat_axes():
    matrices = np.array([np.diag([1.0, 0.0, 1.0, 1.0]), np.diag([1e-6, 2e-6, 1e-6, 1.0]), np.zeros((4, 4))])
    np.testing.assert_array_equal(frames.flat_axes(matrices), [[0, 1, 0], [0, 0, 0], [1, 1, 1]])


def test_singular_and_even_stacks():
    even, flat, uneven = (np.diag([*scale, 1.0]) for scale in ((2, -2, 2), (1, 1, 0), (1, 1, 2)))
    assert frames.is_even(np.array([even, np.eye(4)]))
    assert not frames.is_even(np.array([even, uneven]))
    assert frames.is_singular(np.array([even, flat]))
    assert not frames.is_singular(np.array([even, uneven]))


def test_products_follow_scipy():
    left, right = Rotation.random(5, random_state=1), Rotation.random(random_state=2)
    product = frames.multiply_quaternions(frames.wxyz_from_rotation(left), frames.wxyz_from_rotation(right))
    np.testing.assert_allclose(
        frames.rotation_from_wxyz(product).as_matrix(), (left * right).as_matrix(), atol=1e-14
    )


def test_signs_are_continuous():
    angle = np.linspace(0.0, 20.0, 60)
    path = np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], axis=1)
    flipped = path * np.where(np.arange(60) % 3 == 0, -1.0, 1.0)[:, None]
    np.testing.assert_allclose(frames.continuous_signs(flipped), -path, atol=1e-15)
    np.testing.assert_allclose(frames.continuous_signs(flipped, start=path[0]), path, atol=1e-15)
