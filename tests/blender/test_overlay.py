"""The report's buttons go where the finding is; a bake that is read back still knows its shapes."""

import bpy
from blender.objects import add_cube, make_body
from topple_extension.addon import live_bakes
from topple_extension.addon.operators.inspect import SEPARATOR


def test_go_to_a_finding(tmp_path):
    """Two cubes that overlap at the start: the warning leads to the first frame and selects both."""
    cubes = [make_body(add_cube(name, location=(x, 0, 0))) for name, x in (("one", 0.0), ("other", 1.4))]
    far = make_body(add_cube("far", location=(9, 0, 0)))
    bpy.ops.topple.bake(keyframes=False)
    bpy.context.scene.frame_set(20)
    found = live_bakes.of_scene(bpy.context.scene).findings(1e-4)
    (warning,) = [finding for finding in found if "at the start" in finding.text and finding.bodies]
    far.select_set(True)
    cubes[0].name = "renamed"
    bpy.ops.topple.go_to(frame=warning.frame, bodies=SEPARATOR.join(warning.bodies))
    assert bpy.context.scene.frame_current == 1
    assert {obj.name for obj in bpy.context.selected_objects} == {"renamed", "other"}


def test_a_bake_read_back_knows_its_shapes(tmp_path):
    make_body(add_cube("cube", location=(0, 0, 3)), shape="BOX")
    file = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.topple.bake(keyframes=False, cache=True)
    solved = live_bakes.of_scene(bpy.context.scene).solved_scene()
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=file)
    again = live_bakes.of_scene(bpy.context.scene).solved_scene()
    assert again is not solved
    assert [body.to_dict() for body in again.bodies] == [body.to_dict() for body in solved.bodies]
