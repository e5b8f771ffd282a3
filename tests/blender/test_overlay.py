"""The report's buttons go where the finding is; a bake that is read back still knows its shapes."""

import bpy
import numpy as np
import pytest
from blender.objects import add_cube, add_mesh, make_body
from mathutils import Vector
from topple_extension.addon import (
    live_bakes,
    messages,
    overlay_labels,
    plot_icons,
    shape_preview,
    velocity_gizmo,
    watch,
)
from topple_extension.addon.operators.inspect import SEPARATOR
from topple_extension.addon.units import LengthUnit

METRE = LengthUnit(1.0)


def placed(obj):
    bpy.context.view_layer.update()
    return shape_preview.placed(obj, bpy.context.evaluated_depsgraph_get(), METRE)


def test_the_shape_is_known_before_any_bake():
    """Edges where the body is, its centre of mass and volume, and how many vertices the budget leaves."""
    cube = make_body(add_cube("cube", location=(3, 0, 1), scale=(2, 1, 1), offset=(0.5, 0, 0)))
    found = placed(cube)
    np.testing.assert_allclose(found.edges.min(axis=0), (2, -1, 0), atol=1e-6)
    np.testing.assert_allclose(found.edges.max(axis=0), (6, 1, 2), atol=1e-6)
    np.testing.assert_allclose(found.center, (4, 0, 1), atol=1e-6)
    assert found.shape.volume == pytest.approx(16.0)
    assert found.shape.notes == ("all 8 vertices",)
    cube.topple.use_vertex_budget, cube.topple.vertex_budget = True, 6
    (note,) = placed(cube).shape.notes
    assert note.startswith("6 of 8 vertices; the others lie up to ")
    cube.topple.use_center_of_mass, cube.topple.center_of_mass = True, (0.0, 0.0, 0.5)
    np.testing.assert_allclose(placed(cube).center, (3, 0, 1.5), atol=1e-6)
    cube.topple.shape = "BOX"
    assert placed(cube).shape.notes == (messages.NOT_A_BOX_CENTRE,)
    cube.data.clear_geometry()
    assert "faces" in placed(cube).shape.problem
    sheet = make_body(add_mesh("sheet", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], [(0, 1, 3, 2)]))
    assert "Solidify" in placed(sheet).shape.problem


def test_what_the_bake_does_not_show_is_shown_as_set_up():
    cube, other = make_body(add_cube("cube")), make_body(add_cube("other", location=(5, 0, 0)))
    bpy.context.view_layer.update()

    def shown():
        watch.forget()
        return shape_preview.to_show(bpy.context.scene, bpy.context.view_layer, [cube, other])

    assert shown() == [cube, other]
    bpy.ops.topple.bake(keyframes=False)
    assert shown() == []
    other.topple.shape = "SPHERE"
    assert shown() == [other]
    make_body(late := add_cube("late"))
    bpy.context.view_layer.update()
    assert shape_preview.to_show(bpy.context.scene, bpy.context.view_layer, [late]) == [late]


def test_a_velocity_is_dragged_by_its_arrow():
    cube = make_body(add_cube("cube", location=(1, 2, 3), offset=(2, 0, 0)))
    bpy.context.view_layer.update()
    assert velocity_gizmo.can_be_thrown(cube)
    assert not velocity_gizmo.has_velocity(cube)
    np.testing.assert_allclose(velocity_gizmo.end_of_arrow(cube), (3, 2, 3))
    velocity_gizmo.drag(cube, Vector((4, 2, 1)))
    step = velocity_gizmo.SECONDS
    np.testing.assert_allclose(cube.topple.linear_velocity, (1 / step, 0, -2 / step))
    line = velocity_gizmo.arrow(cube)[:2]
    np.testing.assert_allclose(line, [(3, 2, 3), (4, 2, 1)])
    for name, value in {"asleep": True, "use_release": True, "kind": "STATIC", "enabled": False}.items():
        before = getattr(cube.topple, name)
        setattr(cube.topple, name, value)
        assert not velocity_gizmo.can_be_thrown(cube), name
        setattr(cube.topple, name, before)


def test_the_energy_of_a_bake_is_plotted(tmp_path):
    make_body(add_cube("cube", location=(0, 0, 9)))
    bpy.ops.topple.bake(keyframes=False)
    bake = live_bakes.of_scene(bpy.context.scene)
    _, curves = plot_icons.energy(bake)
    mass, time = 8000.0, 1.0
    assert curves.kinetic[-1] == pytest.approx(0.5 * mass * (9.81 * time) ** 2, rel=1e-6)
    assert plot_icons.energy(bake)[1] is curves
    assert len(bpy.data.images) == 0


def test_warnings_stand_at_the_bodies():
    """Before the bake a shape that is none, then the depth of two cubes that overlap by 0.6 m."""
    cubes = [make_body(add_cube(name, location=(x, 0, 0))) for name, x in (("one", 0.0), ("other", 1.4))]
    sheet = make_body(add_mesh("sheet", [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)], location=(9, 8, 7)))
    bpy.context.view_layer.update()
    sheet.select_set(True)
    ((place, text),) = overlay_labels.labels(bpy.context)
    assert tuple(place) == (9, 8, 7)
    assert "not in one plane" in text
    bpy.data.objects.remove(sheet)
    for cube in cubes:
        cube.select_set(True)
    bpy.ops.topple.bake(keyframes=False)
    bpy.context.scene.frame_set(1)
    ((place, text),) = overlay_labels.labels(bpy.context)
    assert text == "overlap 60\u00a0cm"
    assert 0.4 < place.x < 1.0


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
