"""Keyframes put every object where its body is, whatever its channels, parents and history."""

from itertools import pairwise

import bpy
import numpy as np
import pytest
from blender.objects import add_cube, add_empty, curves_of, key, make_body, set_parent, tumbling, world_path
from topple_extension.addon import previous_animation
from topple_extension.addon.bake_frames import BodyPaths
from topple_extension.addon.scene_reader import read_scene
from topple_extension.addon.trajectory_writer import write_trajectory

MODES = ["QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
FRAMES = range(1, 26)


def bake_tumbling() -> dict[str, np.ndarray]:
    """Write a made-up trajectory; return where each body's object must be, by frame."""
    reading = read_scene(bpy.context)
    trajectory, motions = tumbling(reading)
    bpy.context.view_layer.update()
    objects = {name: bpy.data.objects[name] for name in motions}
    starts = {name: world_path(obj, [reading.first_frame])[0] for name, obj in objects.items()}
    paths = BodyPaths(trajectory.names, trajectory.position, trajectory.orientation)
    write_trajectory(reading.keyed, paths, reading.unit, reading.first_frame)
    return {name: motions[name] @ starts[name] for name in motions}


def sampled(obj: bpy.types.Object, path: str) -> np.ndarray:
    """Values of a baked path at each frame, shape (frames, channels)."""
    curves = sorted((c for c in curves_of(obj) if c.data_path == path), key=lambda c: c.array_index)
    return np.array([[curve.evaluate(frame) for curve in curves] for frame in FRAMES])


@pytest.mark.parametrize("mode", MODES)
def test_every_rotation_mode(mode):
    cube = make_body(add_cube("cube", location=(1, 2, 3), scale=(1, 2, 0.5)))
    cube.rotation_euler = (0.4, -0.7, 5.0)
    cube.rotation_mode = mode
    expected = bake_tumbling()["cube"]
    np.testing.assert_allclose(world_path(cube, FRAMES), expected, atol=1e-5)


def test_keys_are_linear_and_their_handles_lie_on_the_lines():
    """A third of the way to the keys beside, of every object: also of those whose action began as a copy."""
    cubes = [make_body(add_cube(f"cube {i}", location=(3.0 * i, 0, 0))) for i in range(2)]
    bake_tumbling()
    for cube in cubes:
        for curve in curves_of(cube):
            points = curve.keyframe_points
            kinds = {(p.interpolation, p.handle_left_type, p.handle_right_type) for p in points}
            assert kinds == {("LINEAR", "VECTOR", "VECTOR")}
            for before, point in pairwise(points):
                way = point.co - before.co
                np.testing.assert_allclose(before.handle_right, before.co + way / 3, atol=1e-5)
                np.testing.assert_allclose(point.handle_left, point.co - way / 3, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_channels_never_jump(mode):
    """Between two frames the fastest body turns 0.7 rad; a jump would be half a turn or more.

    An Euler triple may move faster than the body near gimbal lock, where its angles are not defined.
    """
    cube = make_body(add_cube("cube"))
    cube.rotation_mode = mode
    bake_tumbling()
    path = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
        mode, "rotation_euler"
    )
    steps = np.abs(np.diff(sampled(cube, path), axis=0))
    assert steps.max() < (0.8 if mode in ("QUATERNION", "AXIS_ANGLE") else 2.5)


def test_keys_are_linear_and_complete():
    cube = make_body(add_cube("cube"))
    bake_tumbling()
    curves = curves_of(cube)
    assert sorted({curve.data_path for curve in curves}) == ["location", "rotation_euler"]
    for curve in curves:
        assert [point.co.x for point in curve.keyframe_points] == list(FRAMES)
        assert {point.interpolation for point in curve.keyframe_points} == {"LINEAR"}
        assert curve.group.name == "Object Transforms"


@pytest.mark.parametrize("mode", ["XYZ", "ZXY", "QUATERNION", "AXIS_ANGLE"])
def test_delta_transforms(mode):
    cube = make_body(add_cube("cube", location=(1, 0, 2), rotation_euler=(0.3, 0.2, 0.1)))
    cube.rotation_mode = mode
    cube.delta_location = (0.5, -1, 2)
    cube.delta_rotation_euler = (0.2, 0.4, -0.6)
    cube.delta_rotation_quaternion = (0.8, 0.6, 0, 0)
    cube.delta_scale = (1, 2, 1)
    expected = bake_tumbling()["cube"]
    np.testing.assert_allclose(world_path(cube, FRAMES), expected, atol=1e-5)


@pytest.mark.parametrize("mirror", [(-1, 1, 1), (-1, -1, 1), (-1, -2, -0.5)])
def test_mirrored_objects(mirror):
    cube = make_body(add_cube("cube", rotation_euler=(0.3, 0.2, 0.1), scale=mirror))
    expected = bake_tumbling()["cube"]
    np.testing.assert_allclose(world_path(cube, FRAMES), expected, atol=1e-5)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 2, 2), (-3, 3, 3)])
def test_animated_parent(keep, scale):
    """The body flies free of its parent: the keys undo what the parent does."""
    parent = add_empty("parent", scale=scale, rotation_euler=(0.5, 0, 1))
    cube = make_body(add_cube("cube", location=(1, 2, 3), rotation_euler=(0.1, 0.2, 0.3), scale=(1, 2, 1)))
    set_parent(cube, parent, keep=keep)
    key(parent, "location", {1: (0, 0, 0), 25: (4, -2, 1)})
    key(parent, "rotation_euler", {1: (0.5, 0, 1), 25: (2, 3, -1)})
    expected = bake_tumbling()["cube"]
    np.testing.assert_allclose(world_path(cube, FRAMES), expected, atol=2e-5)


def test_bone_parent():
    armature = bpy.data.objects.new("rig", bpy.data.armatures.new("rig"))
    bpy.context.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("bone")
    bone.tail = (0, 1, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    cube = make_body(add_cube("cube", location=(1, 0, 0)))
    cube.parent, cube.parent_type, cube.parent_bone = armature, "BONE", "bone"
    pose = armature.pose.bones["bone"]
    pose.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.2), (25, 2.0)):
        pose.rotation_euler.x = angle
        pose.keyframe_insert("rotation_euler", frame=frame)
    expected = bake_tumbling()["cube"]
    np.testing.assert_allclose(world_path(cube, FRAMES), expected, atol=2e-5)


def test_dynamic_child_of_dynamic_parent():
    """The child's keys are in the space of a parent that itself moves by its bake, through an empty."""
    parent = make_body(add_cube("parent", location=(0, 0, 1), rotation_euler=(0.4, 0.1, 0), scale=(2, 2, 2)))
    between = add_empty("between", location=(1, 1, 0))
    child = make_body(add_cube("child", location=(3, 0, 0), rotation_euler=(0, 0.5, 0)))
    set_parent(between, parent)
    set_parent(child, between)
    key(parent, "location", {1: (0, 0, 1), 20: (5, 0, 0)})  # replaced by the bake
    expected = bake_tumbling()
    np.testing.assert_allclose(world_path(parent, FRAMES), expected["parent"], atol=2e-5)
    np.testing.assert_allclose(world_path(child, FRAMES), expected["child"], atol=2e-5)


def test_unit_scale():
    bpy.context.scene.unit_settings.scale_length = 0.01
    cube = make_body(add_cube("cube", location=(100, 200, 300)))
    expected = bake_tumbling()["cube"]
    np.testing.assert_allclose(world_path(cube, FRAMES), expected, rtol=1e-6, atol=1e-3)


def test_scale_and_other_channels_are_left_alone():
    cube = make_body(add_cube("cube"))
    key(cube, "location", {1: (0, 0, 0), 25: (9, 9, 9)})
    key(cube, "scale", {1: (1, 1, 1), 25: (2, 3, 4)})
    key(cube, "hide_render", {1: False, 12: True})
    bake_tumbling()
    bpy.context.scene.frame_set(25)
    np.testing.assert_allclose(cube.scale, (2, 3, 4), rtol=1e-6)
    assert cube.hide_render
    paths = [curve.data_path for curve in curves_of(cube)]
    assert (paths.count("location"), paths.count("scale"), paths.count("hide_render")) == (3, 3, 1)


def test_nothing_to_clear_on_an_object_never_baked():
    assert not previous_animation.is_baked(add_cube("cube"))
