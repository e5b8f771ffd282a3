"""Mass properties against closed forms, and principal axes."""

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation
from topple import Box, ConvexHull, ShapeError, Sphere
from topple.geometry.mass_properties import principal_axes

ROTATION = Rotation.from_euler("xyz", (0.3, -1.1, 2.0)).as_matrix()


def test_sphere():
    # V = 4/3 pi r^3, I = 2/5 m r^2
    solid = Sphere(2).mass_properties
    assert solid.volume == pytest.approx(4 / 3 * np.pi * 8)
    np.testing.assert_allclose(solid.inertia, 0.4 * solid.volume * 4 * np.eye(3))


def test_box():
    # I_xx = m (y^2 + z^2) / 12
    solid = Box((1, 2, 3)).mass_properties
    assert solid.volume == pytest.approx(6)
    np.testing.assert_allclose(solid.inertia, np.diag([6.5, 5.0, 2.5]))


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_turned_and_shifted_box_as_a_hull(offset):
    box = Box((1, 2, 3))
    points = box.hull.vertices @ ROTATION.T + offset
    solid = ConvexHull(points).mass_properties
    assert solid.volume == pytest.approx(6, rel=1e-11)
    np.testing.assert_allclose(solid.center_of_mass, [offset] * 3, rtol=1e-12, atol=1e-12)
    expected = ROTATION @ box.mass_properties.inertia @ ROTATION.T
    np.testing.assert_allclose(solid.inertia, expected, rtol=1e-10, atol=1e-10)


def test_tetrahedron():
    # Corner tetrahedron of edge 1: V = 1/6, centre 1/4, I_xx = 2 * (1/60) - V * 2/16, I_xy = 1/480
    solid = ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]).mass_properties
    assert solid.volume == pytest.approx(1 / 6)
    np.testing.assert_allclose(solid.center_of_mass, [0.25] * 3)
    moment, product = 2 / 60 - 2 / 96, 1 / 96 - 1 / 120
    expected = np.full((3, 3), product) + (moment - product) * np.eye(3)
    np.testing.assert_allclose(solid.inertia, expected, rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_inertia_grows_with_the_fifth_power_of_size(scale):
    points = np.random.default_rng(4).normal(size=(30, 3))
    one, other = ConvexHull(points).mass_properties, ConvexHull(points * scale).mass_properties
    np.testing.assert_allclose(other.inertia, one.inertia * scale**5, rtol=1e-10)


def test_sizes_beyond_double_precision_are_refused():
    with pytest.raises(ShapeError, match="double precision"):
        _ = Sphere(1e-80).mass_properties


@pytest.mark.parametrize("scale", [1e-18, 1.0, 1e18])
def test_principal_axes_diagonalise_at_any_scale(scale):
    rng = np.random.default_rng(0)
    for rotation in Rotation.random(50, random_state=2).as_matrix():
        moments = rng.uniform(1, 2, 3)
        inertia = rotation @ np.diag(moments) @ rotation.T * scale
        found, axes = principal_axes(inertia)
        np.testing.assert_allclose(np.sort(found), np.sort(moments * scale), rtol=1e-11)
        np.testing.assert_allclose(axes @ np.diag(found) @ axes.T, inertia, atol=1e-11 * scale)
        np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-14)
        assert np.linalg.det(axes) == pytest.approx(1)


def test_principal_axes_of_symmetric_bodies_are_their_own():
    cube = ConvexHull(Box((1, 1, 1)).hull.vertices).mass_properties
    for inertia in (Box((3, 1, 2)).mass_properties.inertia, Sphere(1).mass_properties.inertia, cube.inertia):
        assert (principal_axes(inertia)[1] == np.eye(3)).all()


def test_principal_axes_turn_as_little_as_possible():
    # A box turned by 0.3 rad about z: the axes turn with it, no order or sign changes.
    turn = Rotation.from_euler("z", 0.3).as_matrix()
    _, axes = principal_axes(turn @ np.diag([1.0, 2.0, 3.0]) @ turn.T)
    np.testing.assert_allclose(axes, turn, atol=1e-15)


@pytest.mark.parametrize(
    ("shape", "profile"),
    [
        (topple.Cylinder(0.4, 1.1), lambda z: np.full_like(z, 0.4)),
        (topple.Cone(0.4, 1.1), lambda z: 0.4 * (0.55 - z) / 1.1),
        (
            topple.Capsule(0.4, 0.6),
            lambda z: np.sqrt(np.maximum(0.4**2 - np.maximum(np.abs(z) - 0.3, 0.0) ** 2, 0.0)),
        ),
    ],
    ids=["cylinder", "cone", "capsule"],
)
def test_bodies_of_revolution(shape, profile):
    """A stack of thin discs: dV = pi r^2 dz, dI_zz = r^2 / 2 dV, dI_xx = (r^2 / 4 + z^2) dV."""
    half = 0.5 * shape.height + (shape.radius if isinstance(shape, topple.Capsule) else 0.0)
    count = 200_000
    z = (np.arange(count) + 0.5) / count * 2 * half - half
    dz, r = 2 * half / count, profile(z)
    volume = np.sum(np.pi * r**2) * dz
    middle = np.sum(np.pi * r**2 * z) * dz / volume
    spin = np.sum(0.5 * np.pi * r**4) * dz
    across = 0.5 * spin + np.sum(np.pi * r**2 * (z - middle) ** 2) * dz
    found = shape.mass_properties
    assert found.volume == pytest.approx(volume, rel=1e-8)
    np.testing.assert_allclose(found.center_of_mass, [0, 0, middle], atol=1e-9)
    np.testing.assert_allclose(found.inertia, np.diag([across, across, spin]), rtol=1e-8)
