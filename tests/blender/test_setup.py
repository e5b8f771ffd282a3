"""Settings of bodies and what they do, materials, copying, Blender's own rigid bodies, Drop and Settle."""

import bpy
import numpy as np
import pytest
from blender.objects import add_cube, add_empty, add_mesh, curves_of, key, make_body, set_parent, world_path
from topple_extension.addon.scene_reader import read_scene

SHEET = [(-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)]


def select(*objects: bpy.types.Object) -> None:
    bpy.context.view_layer.update()
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]


def ground(**settings) -> bpy.types.Object:
    return make_body(add_mesh("ground", SHEET, [(0, 1, 2, 3)]), kind="STATIC", shape="PLANE", **settings)


def read_body(name: str):
    return next(body for body in read_scene(bpy.context).scene.bodies if body.name == name)


def test_settings_reach_the_solver():
    layers = [i in (0, 3) for i in range(20)]
    make_body(
        add_cube("cube", scale=(2, 1, 1), rotation_euler=(0, 0, 1)), use_friction_dynamic=True, friction=0.6,
        friction_dynamic=0.2, linear_damping=0.1, angular_damping=0.2, lock_linear=(True, False, False),
        lock_angular=(False, True, False), layers=layers, collides_with=[i == 2 for i in range(20)],
        sensor=True, use_center_of_mass=True, center_of_mass=(0.5, 0, 0.25),
    )  # fmt: skip
    body = read_body("cube")
    np.testing.assert_allclose([body.friction, body.friction_dynamic], (0.6, 0.2), rtol=1e-6)
    np.testing.assert_allclose([body.linear_damping, body.angular_damping], (0.1, 0.2), rtol=1e-6)
    assert (body.lock_linear, body.lock_angular) == ((True, False, False), (False, True, False))
    assert (body.layers, body.collides_with, body.sensor) == (9, 4, True)
    np.testing.assert_allclose(body.center_of_mass, (1.0, 0, 0.25), atol=1e-6)


def test_a_body_that_starts_asleep_has_no_velocity():
    cube = make_body(add_cube("cube"), linear_velocity=(1, 2, 3), angular_velocity=(0, 0, 1), asleep=True)
    body = read_body("cube")
    assert body.asleep
    assert not body.linear_velocity.any()
    assert not body.angular_velocity.any()
    cube.topple.asleep = False
    body = read_body("cube")
    assert not body.asleep
    np.testing.assert_array_equal(body.linear_velocity, (1, 2, 3))


def test_a_vertex_budget_reaches_the_solver():
    bpy.ops.mesh.primitive_uv_sphere_add(segments=24, ring_count=12, radius=1.0)
    ball = make_body(bpy.context.object, vertex_budget=30)
    assert len(read_body(ball.name).shape.hull.vertices) == 24 * 11 + 2
    ball.topple.use_vertex_budget = True
    assert len(read_body(ball.name).shape.hull.vertices) == 30


def test_bodies_of_different_layers_pass():
    ground(collides_with=[i == 1 for i in range(20)])
    cube = make_body(add_cube("cube", location=(0, 0, 1.5)))
    bpy.ops.topple.bake()
    assert world_path(cube, [25])[0, 2, 3] == pytest.approx(1.5 - 0.5 * 9.81, abs=1e-4)


def test_release_has_the_exact_velocity():
    """Carried along x at 4.8 m/s until frame 11, then free: x goes on, z falls."""
    cube = make_body(add_cube("cube", location=(0, 0, 5)), use_release=True, release_frame=11)
    key(cube, "location", {1: (0, 0, 5), 11: (2, 0, 5), 12: (9, 9, 9)})
    for curve_points in (c.keyframe_points for c in curves_of(cube)):
        for point in curve_points:
            point.interpolation = "LINEAR"
    bpy.ops.topple.bake()
    path = world_path(cube, range(1, 26))[:, :3, 3]
    time = np.arange(25) / 24
    np.testing.assert_allclose(path[:, 0], 4.8 * time, atol=2e-5)
    fallen = 0.5 * 9.81 * np.maximum(time - 10 / 24, 0.0) ** 2
    np.testing.assert_allclose(path[:, 2], 5 - fallen, atol=1e-4)


def test_materials_and_copies():
    first, second, other = (make_body(add_cube(name)) for name in ("first", "second", "other"))
    select(first, second)
    assert bpy.ops.topple.apply_material(material="STEEL") == {"FINISHED"}
    for body in (first.topple, second.topple):
        assert (body.mass_mode, body.density) == ("DENSITY", 7850.0)
    assert other.topple.density == 1000.0
    first.topple.layers[4] = True
    select(first, other)
    assert bpy.ops.topple.copy_to_selected() == {"FINISHED"}
    assert other.topple.density == 7850.0
    assert list(other.topple.layers) == list(first.topple.layers)


def test_rigid_bodies_are_taken_over_and_left_alone():
    cube, floor = add_cube("cube", location=(0, 0, 4)), add_mesh("floor", SHEET, [(0, 1, 2, 3)])
    select(cube)
    bpy.ops.rigidbody.object_add(type="ACTIVE")
    cube.rigid_body.mass, cube.rigid_body.restitution = 3.0, 0.25
    select(floor)
    bpy.ops.rigidbody.object_add(type="PASSIVE")
    floor.rigid_body.collision_shape = "MESH"
    assert bpy.ops.topple.use_rigid_bodies() == {"FINISHED"}
    assert (cube.topple.kind, cube.topple.mass, cube.topple.restitution) == ("DYNAMIC", 3.0, 0.25)
    assert (floor.topple.kind, floor.topple.shape) == ("STATIC", "MESH")
    assert cube.rigid_body.mass == 3.0
    assert bpy.context.scene.topple.combine == "multiply"
    assert not bpy.context.scene.rigidbody_world.enabled
    bpy.context.scene.frame_end = 60
    assert bpy.ops.topple.bake() == {"FINISHED"}
    assert world_path(cube, [60])[0, 2, 3] == pytest.approx(1.0, abs=1e-2)


def test_drop_and_settle():
    """Two crates, one a child of the other, come to lie on a table that is no body; nothing else moves."""
    table = add_cube("table", scale=(5, 5, 0.5))
    lower = add_cube("lower", location=(0, 0, 3), rotation_euler=(0, 0, 0.4))
    upper = add_cube("upper", location=(0.1, 0, 6))
    lamp = add_empty("lamp", location=(0, 0, 1))
    set_parent(upper, lower, keep=True)
    upper.rotation_mode = "QUATERNION"
    places = {obj.name: obj.matrix_world.copy() for obj in (table, lamp)}
    select(lower, upper)
    assert bpy.ops.topple.settle(seconds=10) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert lower.matrix_world.translation.z == pytest.approx(1.5, abs=1e-3)
    assert upper.matrix_world.translation.z == pytest.approx(3.5, abs=2e-3)
    for name, place in places.items():
        assert bpy.data.objects[name].matrix_world == place
    assert not lower.topple.enabled
    assert lower.animation_data is None


def test_settle_undoes_in_one_step():
    add_cube("table", scale=(5, 5, 0.5))
    crate = add_cube("crate", location=(0, 0, 3))
    select(crate)
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.topple.settle("EXEC_DEFAULT", True)
    assert bpy.data.objects["crate"].location.z < 2
    bpy.ops.ed.undo()
    assert bpy.data.objects["crate"].location.z == 3


def test_settle_has_a_time_limit_and_refuses_animated_objects():
    crate = add_cube("crate", location=(0, 0, 50))
    select(crate)
    assert bpy.ops.topple.settle(seconds=1.0) == {"FINISHED"}
    assert crate.location.z == pytest.approx(50 - 0.5 * 9.81, abs=1e-4)
    key(crate, "location", {1: (0, 0, 3), 9: (0, 0, 4)})
    with pytest.raises(RuntimeError, match="body 'crate': it is animated"):
        bpy.ops.topple.settle()


def test_keys_of_every_fourth_frame_and_of_the_selected():
    ground()
    cube, other = (make_body(add_cube(name, location=(x, 0, 3))) for name, x in (("cube", 0), ("other", 5)))
    bpy.ops.topple.bake(keyframes=False)
    expected = world_path(cube, range(1, 26))
    select(cube)
    bpy.ops.topple.write_keyframes(step=4, selected_only=True)
    frames = {tuple(point.co.x for point in curve.keyframe_points) for curve in curves_of(cube)}
    assert frames == {(1, 5, 9, 13, 17, 21, 25)}
    np.testing.assert_allclose(world_path(cube, [9])[0], expected[8], atol=1e-5)
    assert other.animation_data is None or other.animation_data.action is None


@pytest.mark.parametrize("mode", ["XYZ", "QUATERNION"])
def test_simplified_keys_stay_within_the_tolerance(mode):
    ground(restitution=0.5)
    cube = make_body(add_cube("cube", location=(0, 0, 3), rotation_euler=(0.5, 0.4, 0)), restitution=0.5)
    cube.rotation_mode = mode
    bpy.context.scene.frame_end = 120
    bpy.ops.topple.bake(keyframes=False)
    expected = world_path(cube, range(1, 121))
    bpy.ops.topple.write_keyframes(simplify=True, metres=0.01, radians=np.radians(1))
    path = world_path(cube, range(1, 121))
    assert np.linalg.norm(path[:, :3, 3] - expected[:, :3, 3], axis=1).max() < 0.01 + 1e-5
    turned = np.einsum("fij,fik->fjk", path[:, :3, :3], expected[:, :3, :3])
    cosine = np.clip((np.trace(turned, axis1=1, axis2=2) - 1) / 2, -1, 1)
    assert np.degrees(np.arccos(cosine)).max() < 1.0 + 0.05
    assert max(len(curve.keyframe_points) for curve in curves_of(cube)) < 90
