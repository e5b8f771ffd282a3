"""The small algebra of `math3` against NumPy and scipy's `Rotation`, on random and on special input."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple.math3 import mat3, quat, vec3

ROUND_OFF = 1e-14  # a few operations on numbers of order one
SMALLEST = [0.0, 1e-300, 1e-160, 1e-20, 1e-9, 0.9e-4, 1.1e-4, 1e-3]  # around and below the Taylor limits


def random_vectors(count: int, seed: int) -> list[tuple[float, float, float]]:
    return [tuple(row) for row in np.random.default_rng(seed).normal(size=(count, 3)).tolist()]


def random_quaternions(count: int, seed: int) -> list[tuple[float, float, float, float]]:
    return [scalar_first(r) for r in Rotation.random(count, random_state=seed)]


def scalar_first(rotation: Rotation) -> tuple[float, float, float, float]:
    x, y, z, w = rotation.as_quat().tolist()
    return w, x, y, z


def scipy_rotation(q: tuple[float, float, float, float]) -> Rotation:
    return Rotation.from_quat([q[1], q[2], q[3], q[0]])


@pytest.mark.parametrize(("a", "b"), list(zip(random_vectors(5, 1), random_vectors(5, 2), strict=True)))
def test_vectors(a, b):
    np.testing.assert_array_equal(vec3.add(a, b), np.add(a, b))
    np.testing.assert_array_equal(vec3.subtract(a, b), np.subtract(a, b))
    np.testing.assert_array_equal(vec3.scale(a, 0.3), np.multiply(a, 0.3))
    np.testing.assert_allclose(vec3.cross(a, b), np.cross(a, b), atol=ROUND_OFF)
    assert vec3.dot(a, b) == pytest.approx(np.dot(a, b), abs=ROUND_OFF)
    assert vec3.norm(a) == pytest.approx(np.linalg.norm(a), rel=ROUND_OFF)


AXES = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1e-9, 0.0, -1.0)]


@pytest.mark.parametrize("normal", AXES + random_vectors(5, 3))
def test_tangents(normal):
    """(n, t1, t2) is a rotation matrix: orthonormal, right-handed."""
    n = np.array(normal) / np.linalg.norm(normal)
    frame = np.array([n, *vec3.tangents(tuple(n.tolist()))])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=ROUND_OFF)
    assert np.linalg.det(frame) == pytest.approx(1.0, abs=ROUND_OFF)


@pytest.mark.parametrize(
    ("p", "q"), list(zip(random_quaternions(5, 4), random_quaternions(5, 5), strict=True))
)
def test_products_of_rotations(p, q):
    """p q turns first by q, then by p; the conjugate turns back."""
    product = scipy_rotation(quat.multiply(p, q)).as_matrix()
    np.testing.assert_allclose(product, (scipy_rotation(p) * scipy_rotation(q)).as_matrix(), atol=ROUND_OFF)
    np.testing.assert_allclose(quat.multiply(p, quat.conjugate(p)), (1.0, 0.0, 0.0, 0.0), atol=ROUND_OFF)
    relative = mat3.transposed_times(quat.to_mat3(p), quat.to_mat3(q))
    expected = (scipy_rotation(p).inv() * scipy_rotation(q)).as_matrix()
    np.testing.assert_allclose(np.reshape(relative, (3, 3)), expected, atol=ROUND_OFF)


@pytest.mark.parametrize(("q", "v"), list(zip(random_quaternions(5, 6), random_vectors(5, 7), strict=True)))
def test_rotated_vectors(q, v):
    """The quaternion, its matrix and scipy agree on body to world, and the transpose on the way back."""
    matrix = quat.to_mat3(q)
    expected = scipy_rotation(q).apply(v)
    np.testing.assert_allclose(np.reshape(matrix, (3, 3)), scipy_rotation(q).as_matrix(), atol=ROUND_OFF)
    np.testing.assert_allclose(quat.rotate(q, v), expected, atol=ROUND_OFF)
    np.testing.assert_allclose(mat3.transform(matrix, v), expected, atol=ROUND_OFF)
    np.testing.assert_allclose(mat3.transform_transposed(matrix, tuple(expected.tolist())), v, atol=ROUND_OFF)


@pytest.mark.parametrize("axis", random_vectors(2, 8))
@pytest.mark.parametrize("angle", [*SMALLEST, 1.0, 3.0, np.pi - 1e-9])
def test_rotation_vectors(axis, angle):
    """`exp` is scipy's `from_rotvec`, and `log` its inverse, with no loss at small angles."""
    vector = angle * np.array(axis) / np.linalg.norm(axis)
    q = quat.exp(tuple(vector.tolist()))
    np.testing.assert_allclose(q, scalar_first(Rotation.from_rotvec(vector)), rtol=ROUND_OFF, atol=1e-16)
    np.testing.assert_allclose(quat.log(q), vector, rtol=1e-13, atol=1e-300)
    opposite = tuple(-x for x in q)  # the same rotation
    np.testing.assert_allclose(quat.log(opposite), vector, rtol=1e-13, atol=1e-300)


def test_normalize():
    q = quat.normalize((3.0, 0.0, -4.0, 0.0))
    np.testing.assert_allclose(q, (0.6, 0.0, -0.8, 0.0), rtol=ROUND_OFF)


@pytest.mark.parametrize("q", random_quaternions(3, 9))
def test_diagonal_in_world_axes(q):
    """R diag(d) R' is symmetric and has d as its eigenvalues."""
    d = (0.5, 1.0, 3.0)
    r = scipy_rotation(q).as_matrix()
    turned = np.reshape(mat3.rotate_diagonal(quat.to_mat3(q), d), (3, 3))
    np.testing.assert_allclose(turned, r @ np.diag(d) @ r.T, atol=ROUND_OFF)
    np.testing.assert_array_equal(turned, turned.T)


@pytest.mark.parametrize("q", random_quaternions(3, 10))
def test_inverse_of_symmetric(q):
    """Right to a million times the round-off, where moments of inertia differ by a factor of a million."""
    matrix = mat3.rotate_diagonal(quat.to_mat3(q), (1e-6, 0.5, 1.0))
    inverse = np.reshape(mat3.inverse_of_symmetric(matrix), (3, 3))
    np.testing.assert_allclose(inverse @ np.reshape(matrix, (3, 3)), np.eye(3), atol=1e6 * ROUND_OFF)
    np.testing.assert_array_equal(inverse, inverse.T)
