"""Add, Remove, Bake, Clear Bake: what they do, and that they undo and redo cleanly."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from blender.objects import add_cube, add_empty, add_mesh, key, make_body, world_path
from topple_extension.addon.previous_animation import is_baked

FRAMES = range(1, 26)
SHEET = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]


def select(*objects: bpy.types.Object) -> None:
    bpy.context.view_layer.update()
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]


def drop_scene() -> bpy.types.Object:
    """A cube 3 m above the ground."""
    make_body(add_mesh("ground", SHEET, [(0, 1, 2, 3)]), kind="STATIC", shape="PLANE")
    return make_body(add_cube("cube", location=(0, 0, 4), rotation_euler=(0, 0, 0.3)))


def test_add_and_remove():
    cube, sheet, empty = add_cube("cube"), add_mesh("sheet", SHEET, [(0, 1, 2, 3)]), add_empty("empty")
    select(cube, sheet, empty)
    assert bpy.ops.topple.add_bodies(kind="STATIC") == {"FINISHED"}
    assert (cube.topple.enabled, cube.topple.kind, cube.topple.shape) == (True, "STATIC", "CONVEX_HULL")
    assert (sheet.topple.enabled, sheet.topple.shape) == (True, "PLANE")
    assert not empty.topple.enabled

    select(cube)
    assert bpy.ops.topple.remove_bodies() == {"FINISHED"}
    assert not cube.topple.enabled
    assert sheet.topple.enabled


def test_add_needs_an_object_with_a_surface():
    select(add_empty("empty"))
    assert not bpy.ops.topple.add_bodies.poll()
    assert not bpy.ops.topple.remove_bodies.poll()


def test_falling_cube():
    """z = z0 - g t²/2 until the cube, 1 m half wide, reaches the ground, where it lies flat."""
    cube = drop_scene()
    bpy.context.scene.frame_end = 61
    assert bpy.ops.topple.bake() == {"FINISHED"}
    path = world_path(cube, range(1, 62))
    time = np.arange(61) / 24
    falling = time < 0.75  # sqrt(2 * 3 m / g) = 0.78 s
    np.testing.assert_allclose(path[falling, 2, 3], 4 - 0.5 * 9.81 * time[falling] ** 2, atol=1e-5)
    assert path[-1, 2, 3] == pytest.approx(1.0, abs=2e-4)
    np.testing.assert_allclose(path[-1, 2, :3], (0, 0, 1), atol=1e-3)
    assert bpy.context.scene.frame_current == 61


def test_bake_is_the_same_at_any_unit_scale():
    """With the gravity Blender shows, the path in Blender units is that of scale 1."""
    cube = drop_scene()
    bpy.context.scene.unit_settings.scale_length = 0.01
    bpy.ops.topple.bake()
    path = world_path(cube, FRAMES)[:, 2, 3]
    np.testing.assert_allclose(path[:15], 4 - 0.5 * 9.81 * (np.arange(15) / 24) ** 2, atol=1e-5)


def no_animation(cube: bpy.types.Object) -> None:
    pass


def keyed(cube: bpy.types.Object) -> None:
    key(cube, "location", {1: (0, 0, 4), 25: (9, 9, 9)})
    key(cube, "rotation_euler", {1: (0, 0, 0.3), 25: (1, 1, 1)})


def keyed_with_scale(cube: bpy.types.Object) -> None:
    keyed(cube)
    key(cube, "scale", {1: (1, 1, 1), 25: (2, 2, 2)})


def nla_below_action(cube: bpy.types.Object) -> None:
    keyed(cube)
    animation = cube.animation_data
    track = animation.nla_tracks.new()
    track.strips.new("strip", 1, animation.action)
    animation.action = bpy.data.actions.new("above")
    key(cube, "location", {1: (1, 1, 5), 25: (3, 2, 1)})
    animation.action_blend_type = "ADD"
    animation.action_influence = 0.5
    animation.action_extrapolation = "NOTHING"


def nla_only(cube: bpy.types.Object) -> None:
    keyed(cube)
    animation = cube.animation_data
    track = animation.nla_tracks.new()
    track.strips.new("strip", 1, animation.action)
    animation.action = None


HISTORIES = [no_animation, keyed, keyed_with_scale, nla_below_action, nla_only]


def animation_of(obj: bpy.types.Object) -> tuple:
    animation = obj.animation_data
    if animation is None:
        return ("no animation data",)
    slot = getattr(animation, "action_slot", None)
    return (
        animation.action,
        slot.identifier if slot else "",
        animation.action_blend_type,
        animation.action_influence,
        animation.action_extrapolation,
        len(animation.nla_tracks),
    )


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("bakes", [1, 2])
def test_clear_gives_back_what_was_there(history: Callable, bakes):
    """Baking again in between loses nothing, and no action of a bake is left behind."""
    cube = drop_scene()
    history(cube)
    before, path, actions = animation_of(cube), world_path(cube, FRAMES), set(bpy.data.actions)
    for _ in range(bakes):
        assert bpy.ops.topple.bake() == {"FINISHED"}
        assert is_baked(cube)
        assert len(bpy.data.actions) == len(actions) + 1
        assert np.abs(world_path(cube, FRAMES) - path).max() > 0.5
    assert bpy.ops.topple.clear_bake() == {"FINISHED"}
    assert animation_of(cube) == before
    assert set(bpy.data.actions) == actions
    np.testing.assert_allclose(world_path(cube, FRAMES), path, atol=1e-6)
    assert not bpy.ops.topple.clear_bake.poll()


def test_bake_plays_above_nla():
    cube = drop_scene()
    nla_below_action(cube)
    start = world_path(cube, [1])[0]
    bpy.ops.topple.bake()
    path = world_path(cube, FRAMES)
    np.testing.assert_allclose(path[0], start, atol=1e-5)
    height = start[2, 3] - 0.5 * 9.81 * (np.arange(15) / 24) ** 2
    np.testing.assert_allclose(path[:15, 2, 3], height, atol=1e-5)


def test_bake_in_nla_tweak_mode():
    cube = drop_scene()
    nla_only(cube)
    strip_action = cube.animation_data.nla_tracks[0].strips[0].action
    cube.animation_data.nla_tracks[0].strips[0].select = True
    cube.animation_data.nla_tracks.active = cube.animation_data.nla_tracks[0]
    cube.animation_data.use_tweak_mode = True
    bpy.ops.topple.bake()
    assert cube.animation_data.action is not strip_action
    bpy.ops.topple.clear_bake()
    assert cube.animation_data.action is None
    assert cube.animation_data.nla_tracks[0].strips[0].action is strip_action


def test_baking_again_starts_from_the_original():
    """A later first frame takes the pose of the animation there, not that of the earlier bake."""
    cube = drop_scene()
    keyed(cube)
    original = world_path(cube, FRAMES)
    bpy.ops.topple.bake()
    bpy.context.scene.frame_start = 10
    bpy.ops.topple.bake()
    np.testing.assert_allclose(world_path(cube, [10])[0], original[9], atol=1e-5)


def test_previous_animation_survives_saving(tmp_path):
    cube = drop_scene()
    keyed(cube)
    path, action = world_path(cube, FRAMES), cube.animation_data.action.name
    bpy.ops.topple.bake()
    file = str(tmp_path / "baked.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    for _ in range(2):  # an action without users would be lost on the second saving
        bpy.ops.wm.open_mainfile(filepath=file)
        bpy.ops.wm.save_mainfile()
    bpy.ops.topple.clear_bake()
    cube = bpy.data.objects["cube"]
    assert cube.animation_data.action.name == action
    np.testing.assert_allclose(world_path(cube, FRAMES), path, atol=1e-6)


def test_an_action_put_in_the_place_of_a_bake_is_the_artists():
    cube = drop_scene()
    bpy.ops.topple.bake()
    mine = bpy.data.actions.new("mine")
    cube.animation_data.action = mine
    key(cube, "location", {1: (0, 0, 0), 25: (5, 5, 5)})
    bpy.ops.topple.clear_bake()
    assert cube.animation_data.action is mine
    bpy.ops.topple.bake()
    bpy.ops.topple.clear_bake()
    assert cube.animation_data.action is mine


def test_a_copy_of_a_baked_object_can_be_cleared_too():
    cube = drop_scene()
    bpy.ops.topple.bake()
    copy = cube.copy()
    bpy.context.collection.objects.link(copy)
    assert bpy.ops.topple.clear_bake() == {"FINISHED"}
    assert cube.animation_data is None
    assert copy.animation_data is None
    assert not bpy.data.actions


def test_one_undo_step():
    cube = drop_scene()
    keyed(cube)
    path = world_path(cube, FRAMES)
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.topple.bake("EXEC_DEFAULT", True)
    bpy.ops.ed.undo()
    cube = bpy.data.objects["cube"]
    assert not is_baked(cube)
    np.testing.assert_allclose(world_path(cube, FRAMES), path, atol=1e-6)
    bpy.ops.ed.redo()
    assert is_baked(bpy.data.objects["cube"])


def test_initial_velocity():
    cube = drop_scene()
    cube.topple.linear_velocity = (3, 0, 0)
    cube.topple.angular_velocity = (0, 0, 2)
    bpy.ops.topple.bake()
    path = world_path(cube, FRAMES)
    time = np.arange(15) / 24
    np.testing.assert_allclose(path[:15, 0, 3], 3 * time, atol=1e-5)
    np.testing.assert_allclose(np.arctan2(path[:15, 1, 0], path[:15, 0, 0]), 0.3 + 2 * time, atol=1e-4)


def test_animated_body_pushes():
    """A plate that rises, always more gently than the cube on it would fall, carries it along."""
    cube = make_body(add_cube("cube", location=(0, 0, 2.01)))
    plate = make_body(add_cube("plate", scale=(4, 4, 1)), kind="KINEMATIC")
    key(plate, "location", {1: (0, 0, 0), 25: (0, 0, 0.5)})
    bpy.ops.topple.bake()
    assert world_path(cube, [25])[0, 2, 3] == pytest.approx(2.5, abs=1e-3)
    assert not is_baked(plate)
