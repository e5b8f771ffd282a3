"""Blender objects become bodies of the right size, place, material and motion, in SI units."""

import bpy
import numpy as np
import pytest
import topple
from blender.objects import (
    add_channel,
    add_cube,
    add_empty,
    add_mesh,
    interpolate,
    key,
    make_body,
    set_parent,
    world_path,
)
from scipy.spatial.transform import Rotation
from topple_extension.addon.scene_reader import SceneReading, read_scene


def read() -> SceneReading:
    return read_scene(bpy.context)


def read_body(name: str = "cube") -> topple.Body:
    return next(body for body in read().scene.bodies if body.name == name)


def world_vertices(body: topple.Body) -> np.ndarray:
    """The corners of a body's hull in the world, sorted."""
    w, x, y, z = body.orientation
    vertices = Rotation.from_quat((x, y, z, w)).apply(np.array(body.shape.hull.vertices)) + body.position
    return vertices[np.lexsort(np.round(vertices, 4).T)]


def mesh_in_world(obj: bpy.types.Object) -> np.ndarray:
    bpy.context.view_layer.update()
    vertices = np.array([obj.matrix_world @ vertex.co for vertex in obj.data.vertices])
    return vertices[np.lexsort(np.round(vertices, 4).T)]


@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 0.5, 3), (-1, 1, 1), (-2, -1, 0.3), (-1, -2, -3)])
def test_scale_goes_into_the_hull(scale):
    cube = make_body(add_cube("cube", location=(1, 2, 3), rotation_euler=(0.3, 1, -0.5), scale=scale))
    body = read_body()
    np.testing.assert_allclose(world_vertices(body), mesh_in_world(cube), atol=1e-5)
    np.testing.assert_allclose(body.position, (1, 2, 3))
    assert body.mass == pytest.approx(1000 * 8 * abs(np.prod(scale)), rel=1e-6)


@pytest.mark.parametrize("keep", [False, True])
def test_parents_that_shear(keep):
    parent = add_empty("parent", location=(1, 0, 0), rotation_euler=(0.4, 0.3, 0), scale=(1, 3, 0.5))
    cube = make_body(add_cube("cube", location=(0, 2, 1), rotation_euler=(0.3, 1, -0.5)))
    set_parent(cube, parent, keep=keep)
    np.testing.assert_allclose(world_vertices(read_body()), mesh_in_world(cube), atol=1e-5)


def test_shearing_parent_is_noted():
    parent = add_empty("parent", scale=(1, 3, 0.5))
    set_parent(make_body(add_cube("cube")), parent)
    assert any("body 'cube'" in note and "unevenly" in note for note in read().notes)


def test_centre_of_mass_is_that_of_the_solid():
    make_body(add_cube("cube", offset=(0, 0, 1), scale=(1, 1, 2)))
    body = read_body()
    np.testing.assert_allclose(body.position, (0, 0, 0))
    np.testing.assert_allclose(body.center_of_mass, (0, 0, 2), atol=1e-9)


def test_modifiers_count():
    cube = make_body(add_cube("cube"), density=1.0)
    array = cube.modifiers.new("array", "ARRAY")
    array.count = 3
    array.relative_offset_displace = (1, 0, 0)
    assert read_body().mass == pytest.approx(24.0, rel=1e-6)


def test_unit_scale():
    """A cube stored 200 units wide in a scene of centimetres is 2 m wide."""
    scene = bpy.context.scene
    scene.unit_settings.scale_length = 0.01
    scene.gravity = (0, 0, -981)  # shown as -9.81 m/s²
    make_body(add_cube("cube", location=(0, 0, 500), scale=(100, 100, 100)), linear_velocity=(0, 0, 300))
    reading = read()
    body = reading.scene.bodies[0]
    np.testing.assert_allclose(reading.scene.gravity, (0, 0, -9.81), rtol=1e-6)
    np.testing.assert_allclose(body.position, (0, 0, 5), rtol=1e-6)
    np.testing.assert_allclose(body.linear_velocity, (0, 0, 3), rtol=1e-6)
    assert body.mass == pytest.approx(8000, rel=1e-5)


def test_gravity_can_be_off():
    bpy.context.scene.use_gravity = False
    make_body(add_cube("cube"))
    np.testing.assert_array_equal(read().scene.gravity, 0)


def test_frames_and_rate():
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 10, 34
    scene.render.fps, scene.render.fps_base = 30, 1.001
    make_body(add_cube("cube"))
    reading = read()
    assert (reading.first_frame, reading.frames) == (10, 24)
    assert reading.fps == pytest.approx(29.97003)


def test_settings():
    make_body(
        add_cube("cube"),
        mass_mode="MASS",
        mass=3.0,
        friction=0.25,
        restitution=0.75,
        angular_velocity=(1, 2, 3),
    )
    body = read_body()
    assert (body.kind, body.mass, body.friction, body.restitution) == ("dynamic", 3.0, 0.25, 0.75)
    np.testing.assert_array_equal(body.angular_velocity, (1, 2, 3))


@pytest.mark.parametrize(
    ("choice", "shape"),
    [("CONVEX_HULL", topple.ConvexHull), ("BOX", topple.Box), ("PLANE", topple.Plane)],
)
def test_shapes(choice, shape):
    make_body(add_cube("cube"))
    make_body(add_cube("other", location=(0, 0, -5)), kind="STATIC", shape=choice)
    assert isinstance(read_body("other").shape, shape)


def test_convex_parts_keep_hollows(tmp_path, monkeypatch):
    """The faces with eight corners are concave, so this also sees Blender's triangles."""
    pytest.importorskip("coacd")
    monkeypatch.setenv("TOPPLE_CACHE_DIR", str(tmp_path))
    make_body(add_channel("channel", scale=(1, 1, 2)), shape="CONVEX_PARTS", density=1.0)
    body = read_body("channel")
    assert isinstance(body.shape, topple.Compound)
    assert body.mass == pytest.approx(16 - 4, rel=0.01)
    assert len(body.shape.parts) == 3


def test_mesh_keeps_its_hollow():
    """A die that falls into the channel lies on its bottom, z = 0; on the hull it would lie on top, z = 1."""
    make_body(add_channel("channel"), shape="MESH", kind="STATIC")
    make_body(add_cube("die", scale=(0.2, 0.2, 0.2), location=(0.1, 0.2, 0.5)), shape="BOX")
    reading = read()
    channel = next(body for body in reading.scene.bodies if body.name == "channel")
    assert isinstance(channel.shape, topple.Mesh)
    assert channel.shape.surface.is_closed
    die = next(i for i, body in enumerate(reading.scene.bodies) if body.name == "die")
    trajectory = topple.simulate(reading.scene, seconds=1.0)
    assert trajectory.position[-1, die, 2] == pytest.approx(
        reading.scene.bodies[die].shape.size[2] / 2, abs=1e-5
    )


def test_fallback_shape_is_noted():
    make_body(add_cube("cube", offset=(1, 0, 0)), shape="BOX")
    reading = read()
    assert isinstance(reading.scene.bodies[0].shape, topple.ConvexHull)
    assert any("body 'cube'" in note for note in reading.notes)


def test_copies_share_one_shape():
    first = make_body(add_cube("cube", rotation_euler=(0.1, 0.2, 0.3), scale=(0.7, 0.3, 0.2)))
    second = bpy.data.objects.new("copy", first.data)
    bpy.context.collection.objects.link(second)
    second.scale, second.rotation_euler = first.scale, (2, 1, 0.5)
    make_body(second)
    assert read_body("cube").shape.__class__ is topple.ConvexHull
    one, other = read().scene.bodies
    assert one.shape is other.shape


def test_animated_body_follows_its_world_path():
    make_body(add_cube("cube"))
    parent = add_empty("parent", scale=(2, 2, 2))
    paddle = make_body(add_cube("paddle", location=(5, 0, 0)), kind="KINEMATIC")
    set_parent(paddle, parent)
    key(parent, "rotation_euler", {1: (0, 0, 0), 25: (0, 0, 4)})
    body = read_body("paddle")
    expected = world_path(paddle, np.arange(10, 251) / 10)  # between frames, too, for it is on a circle
    np.testing.assert_allclose(body.motion.times, np.arange(241) / 240)
    np.testing.assert_allclose(body.motion.positions, expected[:, :3, 3], atol=1e-5)
    w, x, y, z = np.array(body.motion.orientations).T
    turns = Rotation.from_quat(np.stack([x, y, z, w], axis=1)).as_matrix()
    np.testing.assert_allclose(turns * 2, expected[:, :3, :3], atol=1e-5)
    assert (np.sum(body.motion.orientations[1:] * body.motion.orientations[:-1], axis=1) > 0).all()


def test_between_frames_only_fast_curves_are_looked_at():
    """A wheel that spins about itself and a slide at even speed are straight from frame to frame."""
    make_body(add_cube("cube"))
    wheel, slide, swing = (
        make_body(add_cube(name), kind="KINEMATIC") for name in ("wheel", "slide", "swing")
    )
    key(wheel, "rotation_euler", {1: (0, 0, 0), 25: (0, 0, 12)})
    key(slide, "location", {1: (0, 0, 0), 25: (0, 24, 0)})
    key(swing, "location", {1: (0, 0, 0), 7: (2, 0, 0)})
    for obj, how in ((wheel, "LINEAR"), (slide, "LINEAR"), (swing, "BEZIER")):
        interpolate(obj, how)
    motions = {body.name: body.motion for body in read().scene.bodies if body.motion is not None}
    np.testing.assert_allclose(motions["wheel"].times, np.arange(25) / 24)
    np.testing.assert_allclose(motions["slide"].times, np.arange(25) / 24)
    frames = 1 + np.concatenate([np.arange(70) / 10, np.arange(7, 25)])  # it stands still from frame 7 on
    np.testing.assert_allclose(motions["swing"].times, (frames - 1) / 24)
    expected = world_path(swing, frames)[:, 0, 3]
    np.testing.assert_allclose(motions["swing"].positions[:, 0], expected, atol=1e-5)
    straight = np.interp(frames, range(1, 26), world_path(swing, range(1, 26))[:, 0, 3])
    assert np.abs(straight - expected).max() > 0.01


def test_between_frames_nothing_is_looked_at_after_the_release():
    ball = make_body(add_cube("cube"), use_release=True, release_frame=5)
    key(ball, "location", {1: (0, 0, 0), 13: (2, 0, 0), 25: (0, 0, 0)})
    times = read_body().motion.times * 24
    np.testing.assert_allclose(times, np.concatenate([np.arange(40) / 10, np.arange(4, 25)]))


def test_a_step_of_a_frame_has_nothing_between():
    bpy.context.scene.topple.steps_per_second = 24
    make_body(add_cube("cube"))
    paddle = make_body(add_cube("paddle"), kind="KINEMATIC")
    key(paddle, "location", {1: (0, 0, 0), 3: (2, 0, 0), 5: (0, 0, 0)})
    np.testing.assert_allclose(read_body("paddle").motion.times, np.arange(25) / 24)


def test_start_is_the_first_frame_whatever_the_current_one():
    cube = make_body(add_cube("cube"))
    key(cube, "location", {1: (0, 0, 0), 25: (0, 0, 24)})
    bpy.context.scene.frame_start = 6
    bpy.context.scene.frame_set(20, subframe=0.5)
    np.testing.assert_allclose(read_body().position, world_path(cube, [6])[0, :3, 3], atol=1e-6)
    bpy.context.scene.frame_set(20, subframe=0.5)
    read()
    assert (bpy.context.scene.frame_current, bpy.context.scene.frame_subframe) == (20, 0.5)


def test_curves_and_texts_are_read():
    curve = bpy.data.curves.new("text", "FONT")
    curve.body, curve.extrude = "T", 0.2
    text = bpy.data.objects.new("text", curve)
    bpy.context.collection.objects.link(text)
    make_body(text)
    assert np.ptp(read_body("text").shape.points[:, 2]) == pytest.approx(0.4, rel=1e-5)


def test_hidden_objects_take_part_and_disabled_ones_are_noted():
    hidden, disabled = make_body(add_cube("hidden")), make_body(add_cube("disabled"))
    bpy.context.view_layer.update()
    hidden.hide_set(True)
    disabled.hide_viewport = True
    reading = read()
    assert [body.name for body in reading.scene.bodies] == ["hidden"]
    assert any("body 'disabled'" in note for note in reading.notes)


def test_loose_mesh_parts_belong_to_the_hull():
    make_body(
        add_mesh("cube", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 1, 2), (0, 1, 3)]), density=6.0
    )
    assert read_body().mass == pytest.approx(1.0, rel=1e-6)
