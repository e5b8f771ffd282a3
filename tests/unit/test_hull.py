"""Convex hulls: topology, merging, robustness, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from topple import ConvexHull, ShapeError
from topple.geometry.hull import Hull, box_hull, build_hull

ROTATION = Rotation.from_euler("xyz", (0.3, -1.1, 2.0)).as_matrix()
CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def cylinder(sides: int) -> np.ndarray:
    angle = np.arange(sides) * 2 * np.pi / sides
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(sides)], axis=1)
    return np.concatenate([ring + np.array([0, 0, z]) for z in (-1, 1)])


def grid(count: int) -> np.ndarray:
    line = np.linspace(-0.5, 0.5, count)
    return np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)


def sphere_points(count: int) -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def assert_valid(hull: Hull, points: np.ndarray, fraction: float = 5e-5) -> None:
    """Closed, convex, holds all points to a fraction of its size, arrays consistent."""
    size = np.ptp(points, axis=0).max()
    v, e, f = len(hull.vertices), len(hull.edges), len(hull.face_normal)
    assert v - e + f == 2
    assert (points @ hull.face_normal.T - hull.face_distance).max() <= fraction * size
    np.testing.assert_allclose(np.linalg.norm(hull.face_normal, axis=1), 1, atol=1e-14)
    directed = {}
    for face in range(f):
        loop = hull.face(face)
        corners = hull.vertices[loop]
        assert np.abs(corners @ hull.face_normal[face] - hull.face_distance[face]).max() <= fraction * size
        before, after = corners - np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0) - corners
        turn = np.cross(before, after) @ hull.face_normal[face]
        assert (turn >= -fraction * size * np.linalg.norm(after, axis=1)).all()
        for v0, v1 in zip(loop, np.roll(loop, -1), strict=True):
            assert (v0, v1) not in directed
            directed[v0, v1] = face
    assert len(directed) == 2 * e
    for v0, v1, left, right in hull.edges:
        assert v0 < v1
        assert directed[v0, v1] == left
        assert directed[v1, v0] == right
    for vertex in range(v):
        neighbors = hull.neighbor[hull.neighbor_offset[vertex] : hull.neighbor_offset[vertex + 1]]
        assert neighbors.tolist() == sorted(b for a, b in directed if a == vertex)
        assert len(neighbors) >= 3
    assert hull.vertices.tolist() == sorted(hull.vertices.tolist())


def test_cube_by_hand():
    hull = build_hull(CUBE)
    assert hull.vertices.tolist() == sorted(CUBE.tolist())
    assert sorted(hull.face_normal.tolist()) == sorted(
        (np.concatenate([np.eye(3), -np.eye(3)]) + 0.0).tolist()
    )
    assert (hull.face_distance == 0.5).all()
    assert len(hull.edges) == 12
    assert np.diff(hull.face_offset).tolist() == [4] * 6
    assert_valid(hull, CUBE)


def test_tetrahedron_with_doubles_and_inner_points():
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    inner = np.array([[0.1, 0.1, 0.1], [0.2, 0.2, 0.0], [0.5, 0, 0]])
    hull = build_hull(np.concatenate([corners, inner, corners]))
    assert (len(hull.vertices), len(hull.edges), len(hull.face_normal)) == (4, 6, 4)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_caps_of_a_cylinder_become_one_face_at_any_scale(scale):
    points = cylinder(64) @ ROTATION.T * scale
    hull = build_hull(points)
    assert (len(hull.vertices), len(hull.face_normal)) == (128, 66)
    assert sorted(np.diff(hull.face_offset))[-2:] == [64, 64]
    assert_valid(hull, points)


@pytest.mark.parametrize(
    "points",
    [
        (cylinder(64) @ ROTATION.T + (30, 5, 60)).astype(np.float32),
        cylinder(64) @ ROTATION.T * 1e-3 + 1e5,
    ],
    ids=["single precision, off its origin", "1 mm at 100 km"],
)
def test_rounded_coordinates_still_merge(points):
    hull = build_hull(points)
    assert (len(hull.vertices), len(hull.face_normal)) == (128, 66)
    assert_valid(hull, np.asarray(points, dtype=np.float64))


@pytest.mark.parametrize("noise", [0.0, 1e-8, 1e-7, 1e-6, 3e-6])
def test_noisy_grid_is_a_cube(noise):
    points = grid(9) @ ROTATION.T
    points += np.random.default_rng(1).normal(size=points.shape) * noise
    hull = build_hull(points)
    assert (len(hull.vertices), len(hull.face_normal)) == (8, 6)
    assert_valid(hull, points)


@pytest.mark.parametrize("noise", [1e-5, 3e-5, 1e-4, 1e-3])
def test_noise_at_the_merge_tolerance_still_gives_a_convex_solid(noise):
    for seed in range(5):
        points = grid(7) @ ROTATION.T
        points += np.random.default_rng(seed).normal(size=points.shape) * noise
        assert_valid(build_hull(points), points)


def test_smooth_body_keeps_its_points():
    points = sphere_points(300)
    hull = build_hull(points)
    assert len(hull.vertices) == 300
    assert_valid(hull, points)


def test_thin_plate_keeps_both_sides():
    points = CUBE * (1, 1, 1e-5) @ ROTATION.T
    hull = build_hull(points)
    assert (len(hull.vertices), len(hull.face_normal)) == (8, 6)


def test_result_does_not_depend_on_the_order_of_points():
    points = np.concatenate([sphere_points(60), cylinder(12)])
    one = build_hull(points)
    other = build_hull(np.random.default_rng(5).permutation(points))
    for name, array in vars(one).items():
        assert array.tobytes() == getattr(other, name).tobytes(), name


def test_vertices_are_given_points_to_the_bit():
    points = sphere_points(40) * 0.1 + 1 / 3
    given = {tuple(point) for point in points.tolist()}
    assert {tuple(vertex) for vertex in build_hull(points).vertices.tolist()} <= given


def test_box_hull_of_any_proportions():
    hull = box_hull((20, 20, 1e-9))
    assert (len(hull.vertices), len(hull.face_normal)) == (8, 6)
    assert sorted(hull.face_distance) == [5e-10, 5e-10, 10, 10, 10, 10]
    assert hull.vertices.max(axis=0).tolist() == [10, 10, 5e-10]


def test_arrays_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        build_hull(CUBE).vertices[0, 0] = 1


PLANE_POINTS = np.random.default_rng(2).normal(size=(30, 2)) @ ROTATION[:2]


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        (np.zeros((0, 3)), "0 points"),
        (CUBE[:3], "3 points"),
        (np.zeros((4, 2)), "shape"),
        (np.zeros(3), "shape"),
        (np.full((5, 3), np.nan), "not finite"),
        (np.where(CUBE > 0, np.inf, CUBE), "not finite"),
        (np.ones((10, 3)), "one place"),
        (np.zeros((10, 3)), "one place"),
        (np.outer(np.arange(9), (1, 2, 3)), "flat"),
        (PLANE_POINTS, "Solidify"),
        (PLANE_POINTS * 1e-6, "thickness"),
        (PLANE_POINTS * 1e6 + 1e6, "thickness"),
        (CUBE[[0, 1, 2, 3] * 3], "flat"),
        (CUBE * 1e-12 + 1e5, "one place"),
        (CUBE * (1, 1, 1e-8), "flat"),
    ],
)
def test_points_without_volume_are_refused_with_a_remedy(points, reason):
    with pytest.raises(ShapeError, match=reason):
        _ = ConvexHull(points).hull


def test_points_that_are_no_numbers():
    with pytest.raises(ShapeError, match="not numbers"):
        ConvexHull([["a", "b", "c"]] * 4)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=4, max_size=40),
    st.floats(-6, 6),
)
def test_small_integer_clouds(cloud, exponent):
    # Integer points are rich in coplanar, collinear and double points, the hard cases for hulls.
    points = np.array(cloud, dtype=float)
    solid = np.linalg.matrix_rank(points - points[0]) == 3
    points = points @ ROTATION.T * 10**exponent
    if solid:
        assert_valid(build_hull(points), points)
    else:
        with pytest.raises(ShapeError):
            build_hull(points)
