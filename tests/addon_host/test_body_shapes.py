"""Collision shapes from vertices and a stretch."""

import numpy as np
import pytest
import topple
from topple_extension.addon import messages
from topple_extension.addon.body_shapes import collision_shape
from topple_extension.addon.hull_budget import fewer_vertices

CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
UP = np.array([0.0, 0.0, 1.0])
SHEAR = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def ball(radius: float = 1.0) -> np.ndarray:
    points = np.random.default_rng(1).normal(size=(2000, 3))
    points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
    return np.concatenate([points, -points, radius * np.eye(3), -radius * np.eye(3)])


def test_box_takes_scale_mirror_and_unit():
    shape, remark = collision_shape("BOX", CUBE, np.diag([1.0, -2.0, 3.0]), 0.01)
    assert isinstance(shape, topple.Box)
    np.testing.assert_allclose(shape.size, [0.02, 0.04, 0.06])
    assert remark is None


@pytest.mark.parametrize(
    ("vertices", "stretch"), [(CUBE + UP, np.eye(3)), (CUBE, SHEAR)], ids=["offset", "sheared"]
)
def test_box_off_the_origin_or_sheared_is_the_hull_of_its_corners(vertices, stretch):
    shape, remark = collision_shape("BOX", vertices, stretch, 1.0)
    assert isinstance(shape, topple.ConvexHull)
    assert remark == messages.NOT_A_BOX_CENTRE
    expected = sorted(map(tuple, vertices @ stretch.T))
    np.testing.assert_allclose(sorted(map(tuple, shape.points)), expected)


def test_box_bounds_a_mesh_that_is_no_box():
    shape, _ = collision_shape("BOX", ball(2.0), np.eye(3), 1.0)
    np.testing.assert_allclose(shape.size, [4.0, 4.0, 4.0])


def test_a_budget_limits_the_hull():
    """What is kept are vertices of the whole hull; what is left out lies no farther outside than is said."""
    points = ball()
    whole = collision_shape("CONVEX_HULL", points, np.eye(3), 1.0)[0].hull.vertices
    errors = []
    for budget in (4, 12, 40):
        shape, remark = collision_shape("CONVEX_HULL", points, np.eye(3), 1.0, vertex_budget=budget)
        hull = shape.hull
        assert (len(hull.vertices), remark) == (budget, None)
        assert {*map(tuple, hull.vertices)} <= {*map(tuple, whole)}
        kept = fewer_vertices(points, budget)
        assert (len(kept.points), kept.total) == (budget, len(whole))
        outside = (whole @ hull.face_normal.T - hull.face_distance).max()
        assert kept.error == pytest.approx(outside, rel=1e-9)
        errors.append(outside)
    assert errors[0] > errors[1] > errors[2]
    # No 40 points leave less of a unit ball than 76 even triangles, with circumcircles of 0.356; taking the
    # farthest point each time leaves circles at most twice as wide (Gonzalez 1985).
    assert 1 - np.cos(0.356) <= errors[2] <= 1 - np.cos(2 * 0.356)


def test_a_budget_does_not_depend_on_the_order_and_keeps_small_hulls():
    points = ball()
    shuffled = np.random.default_rng(5).permutation(points)
    np.testing.assert_array_equal(fewer_vertices(points, 20).points, fewer_vertices(shuffled, 20).points)
    cube = fewer_vertices(CUBE, 8)
    assert (len(cube.points), cube.total, cube.error) == (8, 8, 0.0)
    with pytest.raises(topple.ShapeError, match="flat"):
        fewer_vertices(CUBE * (1, 1, 0), 4)


def test_sphere():
    shape, remark = collision_shape("SPHERE", ball(), 3.0 * np.eye(3), 0.5)
    assert isinstance(shape, topple.Sphere)
    assert shape.radius == pytest.approx(1.5)
    assert remark is None


def test_ellipsoid_is_no_sphere():
    """Blender's sphere of a ball flattened to half its height rests at 0.5; the hull rests at 0.25."""
    shape, remark = collision_shape("SPHERE", ball(), np.diag([0.5, 0.5, 0.25]), 1.0)
    assert isinstance(shape, topple.ConvexHull)
    assert shape.hull.vertices[:, 2].min() == pytest.approx(-0.25)
    assert remark == messages.NOT_ROUND


def test_sphere_off_the_origin_is_a_hull():
    shape, remark = collision_shape("SPHERE", ball() + UP, np.eye(3), 1.0)
    assert isinstance(shape, topple.ConvexHull)
    assert remark == messages.NOT_A_SPHERE_CENTRE


@pytest.mark.parametrize(
    ("stretch", "normal"),
    [(np.eye(3), (0, 0, 1)), (-np.eye(3), (0, 0, -1)), (np.diag([1.0, 5.0, 0.2]), (0, 0, 1))],
)
def test_plane_looks_along_local_z(stretch, normal):
    shape, _ = collision_shape("PLANE", CUBE, stretch, 1.0)
    assert isinstance(shape, topple.Plane)
    np.testing.assert_allclose(shape.normal, normal, atol=1e-15)
    assert shape.offset == 0.0


def test_hull_takes_shear():
    shape, _ = collision_shape("CONVEX_HULL", CUBE, SHEAR, 1.0)
    np.testing.assert_allclose(shape.points, CUBE @ SHEAR.T)


def test_convex_parts_take_scale_mirror_and_unit(monkeypatch):
    """Vertices come in the body's frame in metres, triangles as they are."""
    given = []
    monkeypatch.setattr(topple, "decompose", lambda *mesh: given.extend(mesh) or "parts")
    triangles = np.array([(0, 1, 2), (1, 2, 3)])
    assert collision_shape("CONVEX_PARTS", CUBE, np.diag([1.0, -2.0, 3.0]), 0.01, triangles) == (
        "parts",
        None,
    )
    np.testing.assert_allclose(given[0], CUBE * (0.01, -0.02, 0.03))
    assert given[1] is triangles


def test_mesh_keeps_its_faces_outward_under_a_mirror():
    triangles = np.array([(0, 2, 1)])
    for stretch, expected in ((np.eye(3), [0, 2, 1]), (np.diag([1.0, -2.0, 3.0]), [1, 2, 0])):
        shape, remark = collision_shape("MESH", CUBE, stretch, 1.0, triangles)
        assert isinstance(shape, topple.Mesh)
        np.testing.assert_array_equal(shape.triangles[0], expected)
        np.testing.assert_allclose(shape.vertices, CUBE @ stretch.T)
        assert remark is None


def prism(radius: float, height: float, sides: int = 16) -> np.ndarray:
    """Two rings of vertices about the origin, along z."""
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return np.array([(x, y, z) for z in (-height / 2, height / 2) for x, y in ring])


@pytest.mark.parametrize(
    ("choice", "kind", "height"),
    [("CYLINDER", "Cylinder", 3.0), ("CONE", "Cone", 3.0), ("CAPSULE", "Capsule", 1.0)],
)
def test_round_shapes_take_the_bounds(choice, kind, height):
    shape, remark = collision_shape(choice, prism(0.5, 1.5), 2.0 * np.eye(3), 1.0)
    assert type(shape).__name__ == kind
    assert (shape.radius, shape.height) == pytest.approx((1.0, height))
    assert remark is None


@pytest.mark.parametrize(
    ("choice", "vertices", "stretch", "expected"),
    [
        ("CYLINDER", prism(0.5, 1.5), np.diag([1.0, 0.5, 1.0]), messages.NOT_ROUND_ABOUT_Z),
        ("CONE", prism(0.5, 1.5) + UP, np.eye(3), messages.NOT_CENTRED_ABOUT_Z),
        ("CAPSULE", prism(0.5, 0.9), np.eye(3), messages.TOO_SHORT_FOR_CAPSULE),
    ],
)
def test_round_shapes_that_do_not_fit(choice, vertices, stretch, expected):
    shape, remark = collision_shape(choice, vertices, stretch, 1.0)
    assert type(shape).__name__ == "ConvexHull"
    assert remark == expected
