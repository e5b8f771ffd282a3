"""Distance and depth of every pair of shapes against a search over all directions.

The separation of two convex shapes is the largest gap between their support planes over all
directions: the distance where they are apart, minus the depth where they overlap. The search of
`topple.verification` shares no code with the collision kernels.
"""

import itertools

import numpy as np
import pytest
import topple
from scenes.shapes import random_orientation, random_shape
from scipy.spatial.transform import Rotation
from topple.queries import _Pair
from topple.verification_solids import PlacedSolids, Solid, smallest_overlap

SHAPES = ["sphere", "box", "capsule", "cylinder", "cone", "hull", "plate"]
AT_HOME = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
PAIRS = list(itertools.combinations_with_replacement(SHAPES, 2))


def placed(shapes, poses):
    positions = np.array([position for position, _ in poses])
    rotations = np.array([Rotation.from_quat(q, scalar_first=True).as_matrix() for _, q in poses])
    frame = PlacedSolids([Solid.of(shape) for shape in shapes], positions, rotations, {})
    return frame.solid(0), frame.solid(1)


def outside(solid, point) -> float:
    """How far a point lies beyond the support planes of a solid [m]."""
    directions = np.random.default_rng(0).normal(size=(300, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return float((directions @ point - solid.heights(directions)).max())


def random_pose(rng: np.random.Generator, spread: float):
    direction = rng.normal(size=3)
    direction *= rng.uniform(0.0, spread) / np.linalg.norm(direction)
    return direction, random_orientation(rng)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_separation(one, other):
    """To 1e-6 of the size, apart and overlapping, and the points and the normal belong to it."""
    rng = np.random.default_rng(SHAPES.index(one) * 10 + SHAPES.index(other))
    for _ in range(12):
        shapes = random_shape(one, rng), random_shape(other, rng)
        poses = random_pose(rng, 0.1), random_pose(rng, 1.6)
        found = topple.closest_points(shapes[0], poses[0], shapes[1], poses[1])
        a, b = placed(shapes, poses)
        assert found.separation == pytest.approx(-smallest_overlap(a, b)[0], abs=1e-6)
        assert outside(a, found.point_a) < 1e-6
        assert outside(b, found.point_b) < 1e-6
        np.testing.assert_allclose(np.linalg.norm(found.normal), 1.0, atol=1e-12)
        np.testing.assert_allclose(found.point_a - found.point_b, found.separation * found.normal, atol=1e-12)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_swapped_shapes_give_the_same(one, other):
    """Swapping a and b turns the normal around and leaves the separation."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        a, b = random_shape(one, rng), random_shape(other, rng)
        pose_a, pose_b = random_pose(rng, 0.1), random_pose(rng, 1.5)
        found = topple.closest_points(a, pose_a, b, pose_b)
        swapped = topple.closest_points(b, pose_b, a, pose_a)
        assert swapped.separation == pytest.approx(found.separation, abs=2e-9)
        if found.separation > 1e-3:  # where they overlap the deepest direction need not be unique
            np.testing.assert_allclose(swapped.normal, -found.normal, atol=1e-4)


def test_a_pair_again_after_a_jump():
    """What decided before the jump decides after it only where it still does: two edges cut deep do not."""
    rng = np.random.default_rng(7)
    cut = 0
    for _ in range(20):
        shapes = random_shape("box", rng), random_shape("box", rng)
        pair = _Pair(*shapes)
        for _ in range(10):
            poses = random_pose(rng, 0.1), random_pose(rng, 1.6)
            found = pair.closest(*poses)
            assert found.separation == pytest.approx(
                topple.closest_points(shapes[0], poses[0], shapes[1], poses[1]).separation, abs=1e-6
            )
            # On along the last normal, into each other.
            jump = found.separation + 0.1
            poses = (poses[0][0] - jump * found.normal, poses[0][1]), poses[1]
            again = topple.closest_points(shapes[0], poses[0], shapes[1], poses[1]).separation
            assert pair.closest(*poses).separation == pytest.approx(again, abs=1e-6)
            cut += again > -0.1 + 1e-3
    assert cut > 10  # of which another plane decides


@pytest.mark.parametrize(
    "shape", [topple.Cylinder(0.2, 0.6), topple.Capsule(0.2, 0.6)], ids=["cylinder", "capsule"]
)
@pytest.mark.parametrize("turned", [False, True])
def test_lies_along_an_edge(shape, turned):
    """A round side along the edge of a box touches it with both ends, however little it leans to a side."""
    lying = Rotation.from_euler("x", -90 if turned else 90, degrees=True).as_quat(scalar_first=True)
    for lean in (1e-6, 1e-4, 1e-2, 0.1, 0.3, 0.5, 0.8, 1.2):
        place = 0.2 * np.array([-np.sin(lean), 0.0, np.cos(lean)])
        box = topple.Box((2.0, 4.0, 1.0)), (np.array([1.0, 0.1, -0.5]), AT_HOME[1])
        region = topple.contacts(shape, (place, lying), *box, margin=1e-4)
        assert len(region.separation) == 2, lean
        np.testing.assert_allclose(region.separation, 0.0, atol=1e-9)
        np.testing.assert_allclose(np.sort(region.point_b[:, 1]), [-0.3, 0.3], atol=1e-9)
        swapped = topple.contacts(*box, shape, (place, lying), margin=1e-4)
        np.testing.assert_allclose(np.sort(swapped.point_a[:, 1]), [-0.3, 0.3], atol=1e-9)


def as_triangle(corners):
    """A single triangle with both of its sides, for the search and for the kernels."""
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    normal /= np.linalg.norm(normal)
    faces = np.stack([normal, -normal])
    solid = Solid(
        corners, faces, faces @ corners[0], np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    )
    return solid, topple.Mesh(corners, [[0, 1, 2]], two_sided=True)


@pytest.mark.parametrize("kind", SHAPES)
def test_triangle(kind):
    """The same of a surface."""
    rng = np.random.default_rng(SHAPES.index(kind))
    triangle, sheet = as_triangle(np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.0]]))
    for _ in range(10):
        shape, pose = random_shape(kind, rng), random_pose(rng, 1.2)
        found = topple.closest_points(shape, pose, sheet, AT_HOME)
        a, _ = placed((shape, shape), (pose, pose))
        assert found.separation == pytest.approx(-smallest_overlap(a, triangle)[0], abs=1e-6)


def test_tip_over_the_border_of_a_triangle():
    """A body that hangs over the border by its tip, as over a ridge, most of it below: not deep in it."""
    rng = np.random.default_rng(5)
    triangle, sheet = as_triangle(np.array([[0.0, 1.0, 0.0], [-2.0, 0.0, 0.0], [0.0, -1.0, 0.0]]))
    for _ in range(20):
        tip = np.array([rng.uniform(-0.05, -0.02), 0.0, rng.uniform(0.001, 0.004)])
        down = rng.uniform(0.2, 1.0, 12) * np.arctan(-tip[2] / tip[0])  # it comes by above the border
        far = np.stack([np.cos(down), rng.uniform(-0.2, 0.2, 12), -np.sin(down)], axis=1)
        wedge = topple.ConvexHull(np.concatenate([[tip], tip + far * rng.uniform(0.6, 1.0, (12, 1))]))
        found = topple.closest_points(wedge, AT_HOME, sheet, AT_HOME)
        a, _ = placed((wedge, wedge), (AT_HOME, AT_HOME))
        assert found.separation == pytest.approx(-smallest_overlap(a, triangle)[0], abs=1e-6)
        assert found.separation > 0.0


@pytest.mark.parametrize("kind", SHAPES)
def test_plane(kind):
    """The lowest point of a shape over a plane, by the support function of the independent check."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        shape, pose = random_shape(kind, rng), random_pose(rng, 2.0)
        plane = topple.Plane((0.0, 0.6, 0.8), 0.3)
        found = topple.closest_points(shape, pose, plane, ((0, 0, 0), (1, 0, 0, 0)))
        rotation = Rotation.from_quat(pose[1], scalar_first=True).as_matrix()
        solid = PlacedSolids([Solid.of(shape)], pose[0][None], rotation[None], {}).solid(0)
        lowest = -solid.heights(-plane.normal[None])[0]
        assert found.separation == pytest.approx(lowest - 0.3, abs=1e-12)
        np.testing.assert_allclose(found.normal, plane.normal, atol=1e-15)


@pytest.mark.parametrize("tilt", [0.0, 1e-9, 1e-7, 1e-6])
def test_line_along_a_disc(tilt):
    """A cylinder that lies on another's disc and juts out over its rim is closest where both are."""
    rng = np.random.default_rng(6)
    shape = topple.Cylinder(0.12, 0.3)
    for _ in range(6):
        turn = Rotation.from_euler("z", rng.uniform(0, 6)) * Rotation.from_euler("y", np.pi / 2 + tilt)
        lying = np.append(rng.uniform(-0.05, 0.05, 2), 0.27 + 1e-6), turn.as_quat(scalar_first=True)
        standing = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        found = topple.closest_points(shape, lying, shape, standing)
        a, b = placed([shape, shape], [lying, standing])
        assert outside(a, found.point_a) < 1e-6
        assert outside(b, found.point_b) < 1e-6
        assert found.separation == pytest.approx(1e-6, abs=0.3 * tilt + 1e-8)
