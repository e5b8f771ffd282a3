"""Presses the add-on's buttons in Blender's window, looks at what the scene does, and takes pictures."""

import math
import sys
import time
from pathlib import Path

import bpy
from mathutils import Euler, Vector

sys.path.insert(0, str(Path(__file__).parent))
import harness

PICTURES = Path(sys.argv[-1])


def build_scene(rows: int) -> None:
    """Crates above a ground plane, on file."""
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    bpy.ops.mesh.primitive_plane_add(size=40)
    bpy.context.object.name = "ground"
    add_ground = bpy.context.object
    add_ground.topple.enabled, add_ground.topple.kind, add_ground.topple.shape = True, "STATIC", "PLANE"
    bpy.ops.mesh.primitive_cube_add(size=1, location=(0, 0, 0.5))
    crate = bpy.context.object
    mesh = crate.data
    crate.name = "crate"
    for i in range(1, rows * rows):
        x, y = i % rows, i // rows
        harness.add_body(f"crate {i}", mesh, (1.2 * x, 1.2 * y, 1.5 + 0.4 * math.sin(5 * i)), shape="BOX")
    bpy.context.scene.frame_end = 5000  # more than is baked before Esc is pressed
    bpy.ops.wm.save_as_mainfile(filepath=str(PICTURES / "shot.blend"))


def location(name: str, frame: int) -> tuple:
    bpy.context.scene.frame_set(frame)
    return tuple(bpy.data.objects[name].location)


def drag_velocity(crate: bpy.types.Object) -> harness.Script:
    """Give a body a velocity by its arrow's tip, seen from the front; undo takes it back."""
    from topple_extension.addon import velocity_gizmo

    view = harness.area("VIEW_3D").spaces[0].region_3d
    kept = view.view_rotation.copy()
    view.view_rotation = Euler((math.radians(90), 0, 0)).to_quaternion()
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = crate
    crate.topple.linear_velocity = (2, 0, 0)
    bpy.context.scene.topple.drag_velocity = True
    bpy.ops.ed.undo_push(message="before the drag")
    yield 1.0
    start = harness.pixel_of(velocity_gizmo.end_of_arrow(crate))
    goal = velocity_gizmo.start_of_arrow(crate) + Vector((-1.5, 0, 2))
    yield from harness.drag(start, harness.pixel_of(goal))
    harness.screenshot(PICTURES / "velocity.png")
    dragged = Vector(crate.topple.linear_velocity)
    pixel = view.view_distance / harness.region("WINDOW", "VIEW_3D").width  # about; a tip has several
    expected = Vector((-1.5, 0, 2)) / velocity_gizmo.SECONDS
    assert (dragged - expected).length < 4 * pixel / velocity_gizmo.SECONDS, (dragged, expected)
    bpy.ops.ed.undo()
    yield 0.5
    crate = bpy.data.objects["crate"]
    assert tuple(crate.topple.linear_velocity) == (2, 0, 0), crate.topple.linear_velocity[:]
    crate.topple.linear_velocity = (0, 0, 0)
    bpy.context.scene.topple.drag_velocity = False
    view = harness.area("VIEW_3D").spaces[0].region_3d
    view.view_rotation = kept
    yield 0.5


def make_note(scene: bpy.types.Scene) -> None:
    """Do something that undo can take back."""
    bpy.ops.ed.undo_push(message="before the note")
    scene["note"] = "to be taken back"
    bpy.ops.ed.undo_push(message="note")


def take_back(scene: bpy.types.Scene) -> harness.Script:
    """Press Ctrl Z while a bake runs."""
    from topple_extension.addon import live_bakes

    assert "note" in scene
    view = harness.region("WINDOW", "VIEW_3D")
    harness.move_mouse(view.x + view.width // 3, view.y + view.height // 3)
    yield 0.3
    assert live_bakes.running() is not None
    harness.press_key("Z", ctrl=True)
    yield from harness.until(lambda: "note" not in bpy.context.scene, 10, "Ctrl Z")


def script() -> harness.Script:
    from topple_extension.addon import live_bakes, watch

    PICTURES.mkdir(parents=True, exist_ok=True)
    build_scene(7)
    yield from harness.show_sidebar()
    harness.screenshot(PICTURES / "sidebar.png")

    # Add: the active crate is not a body yet.
    bpy.context.view_layer.objects.active = bpy.data.objects["crate"]
    bpy.data.objects["crate"].select_set(True)
    x, y = yield from harness.point_at("topple.remove_bodies(", harness.command_under_mouse, "VIEW_3D", "UI")
    yield from harness.click(x, y + 20)  # the menu above it has no command of its own
    yield 0.5
    harness.screenshot(PICTURES / "add.png")
    harness.press_key("D")  # of Dynamic
    yield 0.5
    assert bpy.data.objects["crate"].topple.enabled
    assert bpy.data.objects["crate"].topple.kind == "DYNAMIC"

    yield from drag_velocity(bpy.data.objects["crate"])
    scene = bpy.context.scene
    make_note(scene)

    # Bake, cancel with Esc, look at what is kept.
    yield from harness.press("topple.bake(")
    yield from harness.until(lambda: live_bakes.running() is not None, 10, "the bake to begin")
    yield from harness.until(lambda: live_bakes.running().job.state == "simulate", 600, "compiling")
    yield from harness.until(lambda: live_bakes.running().job.done >= 10, 60, "ten frames")
    harness.screenshot(PICTURES / "baking.png")
    yield from take_back(scene)
    scene = bpy.context.scene
    before = live_bakes.running().job.done
    yield from harness.until(lambda: live_bakes.running().job.done > before + 5, 60, "the bake to go on")
    assert live_bakes.of_scene(scene) is live_bakes.running()
    harness.screenshot(PICTURES / "undone.png")
    harness.press_key("ESC")
    yield from harness.until(lambda: live_bakes.running() is None, 20, "the bake to end")
    bake = live_bakes.of_scene(scene)
    kept = len(bake.frames)
    assert bake.job.state == "cancelled", bake.job.state
    assert 10 <= kept < 5000, kept
    assert bake.store.folder.parent.name == "shot.topple"
    yield 0.5
    harness.screenshot(PICTURES / "cancelled.png")

    # Resume; meanwhile the timer keeps ticking, and Ctrl Z takes back what was done before.
    last_frame = scene.frame_end = kept + 400
    scene.topple.follow = False
    make_note(scene)
    yield from harness.press("resume='LAST'")
    yield from harness.until(lambda: live_bakes.of_scene(scene) is not bake, 10, "the bake to go on")
    yield from take_back(scene)
    pauses, last = [], time.monotonic()
    while live_bakes.running() is not None:
        yield 0.01
        pauses.append(time.monotonic() - last)
        last = time.monotonic()
    scene = bpy.context.scene  # undo has made another one of it
    bake = live_bakes.of_scene(scene)
    assert bake.job.state == "finished", bake.job.error
    assert len(bake.frames) == last_frame
    print(f"longest pause of the window during the bake: {max(pauses):.3f} s")
    yield 0.5
    end = location("crate 8", last_frame)
    assert abs(end[2] - 0.5) < 0.6, end
    harness.screenshot(PICTURES / "baked.png")

    # The report: its button goes to the frame of the deepest overlap and selects the bodies.
    deepest = bake.findings(scene.topple.tolerance)[0]
    yield from harness.press("topple.go_to(")
    yield 0.5
    assert scene.frame_current == deepest.frame
    assert {obj.name for obj in bpy.context.selected_objects} == set(deepest.bodies) != set()
    harness.screenshot(PICTURES / "report.png")

    # The overlay.
    scene.frame_set(30)
    scene.topple.show_overlay = True
    yield 1.0
    harness.screenshot(PICTURES / "overlay.png")
    scene.topple.show_overlay = False

    # Out of date as soon as something changes, and not any more when it is changed back.
    bpy.data.objects["crate 8"].topple.friction = 0.9
    yield 1.0
    harness.area("VIEW_3D").tag_redraw()
    yield 0.5
    harness.screenshot(PICTURES / "out_of_date.png")
    assert watch.changes_since(scene, bpy.context.view_layer, bake.watched) == ["the set-up of 'crate 8'"]
    bpy.data.objects["crate 8"].topple.friction = 0.5

    # Keyframes, and back.
    yield from harness.press("topple.write_keyframes(")
    yield 0.5
    assert bpy.data.objects["crate 8"].animation_data.action is not None
    assert max(abs(a - b) for a, b in zip(location("crate 8", last_frame), end, strict=True)) < 1e-5
    harness.screenshot(PICTURES / "keyframes.png")
    folder = bake.store.folder
    yield from harness.press("topple.clear_bake(")
    yield 0.5
    assert bpy.data.objects["crate 8"].animation_data is None
    assert not folder.exists()
    assert abs(location("crate 8", 50)[2] - (1.5 + 0.4 * math.sin(40))) < 1e-5
    harness.screenshot(PICTURES / "cleared.png")

    # The other way to cancel.
    scene.frame_end = 5000
    yield from harness.press("topple.bake(")
    yield from harness.until(lambda: live_bakes.running() is not None, 10, "the bake to begin")
    yield from harness.until(lambda: live_bakes.running().job.done >= 10, 60, "ten frames")
    yield from harness.press("topple.cancel_bake(")
    yield from harness.until(lambda: live_bakes.running() is None, 20, "the bake to end")
    assert live_bakes.of_scene(scene).job.state == "cancelled"
    yield from harness.press("topple.clear_bake(")
    yield 0.5

    # Drop and Settle: the crates fall onto the ground and stay there.
    scene.frame_set(1)
    for obj in scene.objects:
        obj.select_set(obj.name.startswith("crate"))
    yield from harness.press("topple.settle(")
    yield from harness.until(
        lambda: bpy.data.objects["crate 8"].location.z < 1.2, 120, "the crates to settle"
    )
    yield 1.0
    harness.screenshot(PICTURES / "settled.png")
    assert all(
        abs(obj.location.z - 0.5) < 0.01 or obj.location.z > 0.5 for obj in bpy.context.selected_objects
    )
    assert bpy.data.objects["crate 8"].animation_data is None

    # The panels of a body, in the Physics tab.
    bpy.context.view_layer.objects.active = bpy.data.objects["crate"]
    harness.area("PROPERTIES").spaces[0].context = "PHYSICS"
    yield 1.5
    harness.screenshot(PICTURES / "physics_tab.png")

    # One value of many bodies at once, in Blender's own way.
    bpy.context.object.topple.friction = 0.25
    yield from harness.copy_value_to_selected("topple.friction", "PROPERTIES", "WINDOW")
    assert len(bpy.context.selected_objects) == 49
    assert all(obj.topple.friction == 0.25 for obj in bpy.context.selected_objects)
    assert bpy.data.objects["ground"].topple.friction == 0.5


bpy.context.preferences.view.show_splash = False
harness.load_extension(open_panels=True)
harness.run(script)
