"""What the overlay draws lies where the bodies and contacts are."""

from dataclasses import replace

import numpy as np
import pytest
import topple
from addon_host.bakes import request, silent
from topple_extension.addon import overlay_geometry as geometry
from topple_extension.addon.bake_job import BakeJob

SHAPES = {
    "sphere": topple.Sphere(0.5),
    "box": topple.Box((1.0, 2.0, 3.0)),
    "capsule": topple.Capsule(0.5, 1.0),
    "cylinder": topple.Cylinder(0.5, 2.0),
    "cone": topple.Cone(0.5, 2.0),
    "hull": topple.ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_edges_lie_on_the_surface(name):
    """Ends and middles of edges are as near to the surface as a circle of straight lines can be."""
    edges = geometry.shape_edges(SHAPES[name])
    sagitta = 0.5 * (1 - np.cos(np.pi / geometry.CIRCLE))
    pairs = edges.reshape(-1, 2, 3)
    for point in (*edges, *pairs.mean(axis=1)):
        result = topple.closest_points(
            SHAPES[name], ((0, 0, 0), (1, 0, 0, 0)), topple.Sphere(1e-9), (point, (1, 0, 0, 0))
        )
        assert abs(result.separation) < sagitta + 1e-6


def crate_at_rest():
    scene = topple.Scene(bodies=[topple.Body("ground", topple.Plane((0, 0, 1), 0), kind="static")])
    scene.add(topple.Body("crate", topple.Box((1, 1, 1)), mass=3.0, position=(2, 0, 0.5)))
    job = BakeJob(request(4, scene))
    job.run(silent)
    return scene, job.frames[-1]


def test_outlines_follow_the_body():
    scene, frame = crate_at_rest()
    outlines = geometry.BodyOutlines(scene, metres=0.01)
    lines = outlines.at(frame, np.array([True, True]))
    assert lines.ends.shape == (24, 3)
    np.testing.assert_allclose(lines.ends.min(axis=0), (150, -50, 0), atol=0.1)
    np.testing.assert_allclose(lines.ends.max(axis=0), (250, 50, 100), atol=0.1)
    assert geometry.usual_size(outlines, np.array([False, True])) == pytest.approx(1.0)
    assert outlines.at(frame, np.array([True, False])).ends.shape == (0, 3)


def test_forces_and_normals_point_up_from_the_ground():
    _, frame = crate_at_rest()
    for lines in (geometry.contact_forces(frame, 1.0, 1.0), geometry.contact_normals(frame, 1.0, 1.0)):
        starts, ends = lines.ends[0::2], lines.ends[1::2]
        assert len(starts) == len(frame.contact_point) >= 3
        np.testing.assert_allclose(starts[:, 2], 0.0, atol=1e-3)
        ways = np.abs(ends - starts)
        assert (ways[:, 2] > 10 * ways[:, :2].max(axis=1)).all()
    longest = np.linalg.norm(
        geometry.contact_forces(frame, 1.0, 2.0).ends[1::2] - frame.contact_point, axis=1
    )
    assert longest.max() == pytest.approx(2.0 * geometry.FORCE_LENGTH)


@pytest.mark.parametrize("end", [(3.0, 4.0, 2.0), (0.0, 0.0, -7.0)])
def test_an_arrow_has_its_head_at_its_end(end):
    start, end = np.array((1.0, 2.0, 3.0)), np.array(end)
    line, *strokes = geometry.arrow(start, end).reshape(-1, 2, 3)
    np.testing.assert_array_equal(line, (start, end))
    length = np.linalg.norm(end - start)
    for tip, back in strokes:
        np.testing.assert_array_equal(tip, end)
        along = (end - back) @ (end - start) / length
        assert along == pytest.approx(geometry.HEAD_LENGTH * length)
        aside = np.linalg.norm(back - end + along * (end - start) / length)
        assert aside == pytest.approx(geometry.HEAD_WIDTH * length)
    np.testing.assert_allclose(np.mean(strokes, axis=0)[1], end - geometry.HEAD_LENGTH * (end - start))


def test_velocities_and_deep_contacts():
    scene = topple.Scene(
        bodies=[topple.Body("ball", topple.Sphere(1.0), linear_velocity=(3, 0, 0))], gravity=(0, 0, 0)
    )
    job = BakeJob(request(1, scene))
    job.run(silent)
    start, end = geometry.velocities(job.frames[0], 1.0).ends
    np.testing.assert_allclose(end - start, (3 * geometry.VELOCITY_SECONDS, 0, 0))
    _, frame = crate_at_rest()
    assert not geometry.deep_bodies(frame, 1e-3).any()
    assert geometry.deep_bodies(frame, -1.0).all()


def test_the_deepest_contact_of_each_pair_is_labelled():
    _, frame = crate_at_rest()
    depth = np.array([0.1, 0.3, 0.2, 0.05, 0.4])
    body = np.array([[0, 1], [1, 0], [2, 1], [2, 1], [3, 4]], dtype=np.int32)
    frame = replace(frame, contact_body=body, contact_depth=depth)
    np.testing.assert_array_equal(geometry.deepest_contacts(frame, 0.15), [4, 1, 2])
    assert len(geometry.deepest_contacts(frame, 0.5)) == 0
