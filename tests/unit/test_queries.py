"""Queries against values worked out by hand."""

import math

import numpy as np
import pytest
import topple

HERE = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
STILL = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


def at(x, y, z, turn=(1.0, 0.0, 0.0, 0.0)):
    return (x, y, z), turn


def test_contacts_of_two_boxes_are_the_corners_of_their_common_face():
    """Unit cubes, one on the other and shifted by .25: the region is .75 wide, at z = .5."""
    region = topple.contacts(
        topple.Box((1, 1, 1)), at(0.25, 0, 1.0), topple.Box((1, 1, 1)), HERE, margin=1e-6
    )
    np.testing.assert_allclose(region.separation, 0.0, atol=1e-12)
    corners = sorted((round(x, 9), round(y, 9), round(z, 9)) for x, y, z in region.point_a)
    assert corners == [(-0.25, -0.5, 0.5), (-0.25, 0.5, 0.5), (0.5, -0.5, 0.5), (0.5, 0.5, 0.5)]


def test_closest_points_of_a_compound_are_those_of_its_nearest_part():
    """A dumbbell of spheres of radius .5 at x = -2 and 2: the plane x < -4 is 1.5 from the left one."""
    dumbbell = topple.Compound([(topple.Sphere(0.5), (x, 0, 0), (1, 0, 0, 0)) for x in (-2, 2)])
    found = topple.closest_points(dumbbell, HERE, topple.Plane((1, 0, 0), -4.0), HERE)
    assert found.separation == pytest.approx(1.5, abs=1e-12)
    np.testing.assert_allclose(found.point_a, [-2.5, 0, 0], atol=1e-12)


def test_two_planes_are_refused():
    plane = topple.Plane((0, 0, 1), 0)
    with pytest.raises(topple.SolverError, match="both shapes are planes"):
        topple.closest_points(plane, HERE, plane, HERE)


def test_bad_pose_is_refused():
    with pytest.raises(topple.SolverError, match="position of pose_a"):
        topple.closest_points(topple.Sphere(1), ((0, 0, math.nan), (1, 0, 0, 0)), topple.Sphere(1), HERE)


def test_time_of_impact_of_a_falling_ball():
    """From z = 3 at 2 m/s a ball of radius .5 meets the floor after 1.25 s; in 1 s it does not."""
    arguments = (topple.Sphere(0.5), at(0, 0, 3.0), ((0, 0, -2.0), (0, 0, 0)))
    floor = (topple.Plane((0, 0, 1), 0.0), HERE, STILL)
    time = topple.time_of_impact(*arguments, *floor, 2.0)
    assert time is not None
    assert 1.25 - 1e-8 < time <= 1.25
    assert topple.time_of_impact(*arguments, *floor, 1.0) is None
    assert topple.time_of_impact(topple.Sphere(0.5), at(0, 0, 3.0), STILL, *floor, 9.0) is None


def test_time_of_impact_of_a_turning_rod():
    """A capsule of half length 1 turns about x at 1 rad/s, its middle .8 over the floor, from level.

    Its lower end is at .8 - sin t - r: with r = .1 it touches when sin t = .7.
    """
    turn = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # z to -y: the rod lies along y
    rod = topple.Capsule(0.1, 2.0)
    floor = (topple.Plane((0, 0, 1), 0.0), HERE, STILL)
    time = topple.time_of_impact(rod, at(0, 0, 0.8, turn), ((0, 0, 0), (1.0, 0, 0)), *floor, 2.0)
    assert time is not None
    assert math.asin(0.7) - 1e-6 < time <= math.asin(0.7) + 1e-12


def scene_of(shape, **settings):
    return topple.Scene(bodies=[topple.Body("target", shape, kind="static", **settings)])


@pytest.mark.parametrize(
    ("shape", "distance", "normal"),
    [
        (topple.Sphere(1.0), 4.0 + 1.0 - math.sqrt(1.0 - 0.25), (-math.sqrt(0.75), 0.5, 0.0)),
        (topple.Box((2, 2, 2)), 4.0, (-1, 0, 0)),
        (topple.Cylinder(1.0, 2.0), 4.0 + 1.0 - math.sqrt(0.75), (-math.sqrt(0.75), 0.5, 0.0)),
        (topple.Capsule(1.0, 2.0), 4.0 + 1.0 - math.sqrt(0.75), (-math.sqrt(0.75), 0.5, 0.0)),
        (topple.Plane((-1, 0, 0), 2.0), 3.0, (-1, 0, 0)),
    ],
    ids=["sphere", "box", "cylinder", "capsule", "plane"],
)
def test_ray_cast(shape, distance, normal):
    """A ray along x from (-5, .5, 0) meets a round body of radius 1 at x = -sqrt(1 - .25)."""
    hit = topple.ray_cast(scene_of(shape), (-5.0, 0.5, 0.0), (2.0, 0.0, 0.0))
    assert hit is not None
    assert hit.body == "target"
    assert hit.distance == pytest.approx(distance, abs=1e-7)
    np.testing.assert_allclose(hit.normal, normal, atol=1e-4)  # round cores that all but touch: 1e-4 rad


def test_ray_takes_the_first_body_and_misses_what_is_beside_it():
    scene = topple.Scene(bodies=[
        topple.Body("far", topple.Box((1, 1, 1)), kind="static", position=(9, 0, 0)),
        topple.Body("near", topple.Box((1, 1, 1)), kind="static", position=(4, 0, 0)),
    ])  # fmt: skip
    hit = topple.ray_cast(scene, (0, 0, 0), (1, 0, 0))
    assert hit is not None
    assert (hit.body, round(hit.distance, 7)) == ("near", 3.5)
    assert topple.ray_cast(scene, (0, 0, 2), (1, 0, 0)) is None
    with pytest.raises(topple.SolverError, match="direction of a ray is zero"):
        topple.ray_cast(scene, (0, 0, 0), (0, 0, 0))


TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
OUTWARD = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


def test_mesh_as_either_shape():
    """A ball 0.3 over the slanted face of a tetrahedron, centre at (1 + 0.8 sqrt(3)) / 3 (1, 1, 1)."""
    mesh, ball = topple.Mesh(TETRAHEDRON, OUTWARD), topple.Sphere(0.5)
    place = np.ones(3) * (1 + 0.8 * np.sqrt(3)) / 3
    found = topple.closest_points(ball, (place, HERE[1]), mesh, ((0, 0, 0), HERE[1]))
    assert found.separation == pytest.approx(0.3, abs=1e-12)
    np.testing.assert_allclose(found.normal, np.ones(3) / np.sqrt(3), atol=1e-9)
    np.testing.assert_allclose(found.point_b, np.ones(3) / 3, atol=1e-9)
    turned = topple.closest_points(mesh, ((0, 0, 0), HERE[1]), ball, (place, HERE[1]))
    assert turned.separation == pytest.approx(0.3, abs=1e-12)
    np.testing.assert_allclose(turned.point_a, found.point_b, atol=1e-9)
    np.testing.assert_allclose(turned.normal, -found.normal, atol=1e-9)
    region = topple.contacts(ball, (place, HERE[1]), mesh, ((0, 0, 0), HERE[1]), margin=0.4)
    np.testing.assert_allclose(region.separation, [0.3], atol=1e-12)
    assert len(topple.contacts(ball, (place, HERE[1]), mesh, ((0, 0, 0), HERE[1])).separation) == 0


def test_ray_meets_a_mesh():
    """From outside on its slanted face; from within it leaves a closed mesh unseen, an open one not."""
    for two_sided, distance in ((None, None), (True, 1 / np.sqrt(3) - 0.2 * np.sqrt(3))):
        mesh = topple.Mesh(TETRAHEDRON, OUTWARD, two_sided=two_sided)
        scene = topple.Scene(bodies=[topple.Body("rock", mesh, kind="static", position=(1, 2, 3))])
        hit = topple.ray_cast(scene, np.array([1, 2, 3]) + 2.0, (-1, -1, -1))
        assert hit is not None
        assert hit.distance == pytest.approx(2 * np.sqrt(3) - 1 / np.sqrt(3), abs=1e-12)
        np.testing.assert_allclose(hit.normal, np.ones(3) / np.sqrt(3), atol=1e-12)
        inside = topple.ray_cast(scene, np.array([1, 2, 3]) + 0.2, (1, 1, 1))
        assert (inside is None) if distance is None else inside.distance == pytest.approx(distance)


def test_two_meshes_are_refused():
    mesh = topple.Mesh(TETRAHEDRON, OUTWARD)
    with pytest.raises(topple.SolverError, match="meshes"):
        topple.closest_points(mesh, ((0, 0, 0), HERE[1]), mesh, ((3, 0, 0), HERE[1]))


def test_points_on_a_cylinder():
    """A sphere of almost no size on a cylinder's side touches it, however small it is beside it."""
    cylinder, here = topple.Cylinder(0.5, 2.0), ((0, 0, 0), (1, 0, 0, 0))
    for angle in np.linspace(0.0, 6.0, 200):
        point = (0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.3 * np.sin(7.0 * angle))
        found = topple.closest_points(cylinder, here, topple.Sphere(1e-9), (point, (1, 0, 0, 0)))
        assert abs(found.separation) < 1e-8
