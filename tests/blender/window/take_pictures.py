"""Takes the manual's pictures: each panel, the options of Write Keyframes, the menu, and the overlay."""

import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import bpy
import numpy as np
from mathutils import Euler

sys.path.insert(0, str(Path(__file__).parent))
import harness

PICTURES = Path(sys.argv[-1])
SHOT = PICTURES / "window.png"
VIEW = 900, 480  # pixels of a picture of the 3D View
DARK = 0.13  # a menu is darker than what it covers
EDGE = 4  # pixels around what a picture of a panel shows
Box = tuple[int, int, int, int]  # x and y from the window's top left, width and height


def build_scene() -> None:
    """Crates, a ball thrown at them and a ramp, on file."""
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    bpy.ops.mesh.primitive_plane_add(size=40)
    ground = bpy.context.object
    ground.name = "ground"
    ground.topple.enabled, ground.topple.kind, ground.topple.shape = True, "STATIC", "PLANE"
    bpy.ops.mesh.primitive_cube_add(size=1)
    mesh = bpy.context.object.data
    bpy.data.objects.remove(bpy.context.object)
    for i in range(9):
        harness.add_body(f"crate {i}", mesh, (0, 1.1 * (i % 3) - 1.1, 0.5 + i // 3), shape="BOX")
    bpy.ops.mesh.primitive_uv_sphere_add(segments=24, ring_count=12, radius=0.6, location=(-4, 0, 1.2))
    ball = bpy.context.object
    ball.name = "ball"
    ball.topple.enabled, ball.topple.linear_velocity = True, (7, 0, 1)
    ball.topple.use_vertex_budget, ball.topple.vertex_budget = True, 32
    bpy.context.scene.frame_end = 60
    bpy.ops.wm.save_as_mainfile(filepath=str(PICTURES / "pictures.blend"))


def crop(name: str, box: Box) -> None:
    """A part of the window's picture as one of the manual's."""
    x, y, width, height = box
    subprocess.run(
        ["convert", str(SHOT), "-crop", f"{width}x{height}+{x}+{y}", "+repage", "+dither", "-colors",
         "128", "-strip", "-define", "png:compression-level=9", str(PICTURES / f"{name}.png")],
        check=True,
    )  # fmt: skip


def pixels_of_shot() -> np.ndarray:
    """The picture of the window, rows from the top, shape (height, width, 3)."""
    image = bpy.data.images.load(str(SHOT), check_existing=False)
    width, height = image.size
    pixels = np.empty(4 * width * height, dtype=np.float32)
    image.pixels.foreach_get(pixels)
    bpy.data.images.remove(image)
    return pixels.reshape(height, width, 4)[::-1, :, :3]


def trimmed(box: Box) -> Box:
    """The part of a region in which something is drawn, and a little more."""
    x, y, width, height = box
    inner = pixels_of_shot()[y + EDGE : y + height - EDGE, x + EDGE : x + width - EDGE]
    return around(np.abs(inner - inner[-1, width // 2]).max(axis=2) > 0.02, x, y)


def around(drawn: np.ndarray, x: int, y: int) -> Box:
    """The box of the pixels that are drawn, of a part whose first pixel is that far inside the window."""
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    left, top = x + int(columns[0]), y + int(rows[0])
    return left, top, int(np.ptp(columns)) + 2 * EDGE, int(np.ptp(rows)) + 2 * EDGE


def region_box(of: str, kind: str) -> Box:
    """A region of the window as `crop` takes it."""
    region, height = harness.region(kind, of), harness.window().height
    return region.x, height - region.y - region.height, region.width, region.height


def picture_of_view(name: str) -> harness.Script:
    """A picture of the middle of the 3D View."""
    yield 1.0
    harness.screenshot(SHOT)
    x, y, width, height = region_box("VIEW_3D", "WINDOW")
    wide, high = VIEW
    crop(name, (x + (width - wide) // 2, y + (height - high) // 2, wide, high))


def pictures_of_panels(panels: Sequence[type], of: str, kind: str, *, top: int, right: int) -> harness.Script:
    """One picture of each panel, for which the others are taken out of the window.

    Args:
        panels: Classes in the order in which Blender shows them.
        of: Kind of the area they are in.
        kind: Kind of the region.
        top: Pixels at the top of the region that are no part of a panel.
        right: The same at the right.
    """
    for panel in panels:
        kept = {panel.bl_idname, getattr(panel, "bl_parent_id", panel.bl_idname)}
        for other in panels:
            bpy.utils.unregister_class(other)
        for other in panels:
            if other.bl_idname in kept:
                bpy.utils.register_class(other)
        yield 0.5
        harness.area(of).tag_redraw()
        yield 0.7
        harness.screenshot(SHOT)
        x, y, width, height = region_box(of, kind)
        box = trimmed((x, y + top, width - right, height - top))
        crop(f"panel_{panel.bl_idname.removeprefix('TOPPLE_PT_')}", box)
        for other in panels:
            if other.bl_idname not in kept:
                bpy.utils.register_class(other)


def look_at(x: float, distance: float) -> None:
    """Turn the 3D View to the scene from the front and a little above."""
    view = harness.area("VIEW_3D").spaces[0].region_3d
    view.view_location, view.view_distance = (x, 0, 1.2), distance
    view.view_rotation = Euler((math.radians(75), 0, math.radians(-25))).to_quaternion()


def pictures_of_options() -> harness.Script:
    """The box with the options of Write Keyframes, and the menu Object > Topple."""
    yield from harness.press("topple.write_keyframes(")
    yield 1.0
    x, y, width, height = region_box("VIEW_3D", "HUD")
    yield from harness.click(x + width // 2, harness.window().height - y - height // 2)  # open it
    yield 1.0
    harness.screenshot(SHOT)
    crop("write_keyframes", region_box("VIEW_3D", "HUD"))
    bpy.ops.ed.undo()
    area = harness.area("VIEW_3D")
    harness.move_mouse(area.x + area.width // 3, area.y + area.height * 2 // 3)
    yield 1.0
    harness.screenshot(SHOT)
    before = pixels_of_shot()
    region = harness.region("WINDOW", "VIEW_3D")
    with bpy.context.temp_override(window=harness.window(), area=area, region=region):
        bpy.ops.wm.call_menu(name="TOPPLE_MT_object")
    yield 1.0
    harness.screenshot(SHOT)
    x, y, width, height = region_box("VIEW_3D", "WINDOW")
    seen = slice(y, y + height), slice(x, x + width)
    crop(
        "menu", around((pixels_of_shot()[seen] < DARK).all(axis=2) & (before[seen] > DARK).any(axis=2), x, y)
    )
    harness.press_key("ESC")
    yield 0.5


def script() -> harness.Script:
    from topple_extension.addon import live_bakes, panels, simulation_panels

    scene = bpy.context.scene
    PICTURES.mkdir(parents=True, exist_ok=True)
    build_scene()
    look_at(-2.0, 12.0)
    for area in harness.window().screen.areas:
        area.spaces[0].show_region_header = area.type == "PROPERTIES"
    view = harness.area("VIEW_3D").spaces[0]
    view.show_region_toolbar = view.show_region_tool_header = view.show_gizmo_navigate = False
    view.overlay.show_text = view.overlay.show_cursor = False

    # Before the bake: the ball's hull, centre of mass and velocity.
    settings = scene.topple
    settings.show_overlay = settings.overlay_velocities = settings.drag_velocity = True
    yield from picture_of_view("set_up")

    # Panels of a body: those of the ball, and the sidebar once there is a bake.
    harness.area("PROPERTIES").spaces[0].context = "PHYSICS"
    bpy.utils.unregister_class(bpy.types.PHYSICS_PT_add)
    yield from pictures_of_panels(panels.PANELS, "PROPERTIES", "WINDOW", top=38, right=0)  # the object's name
    bpy.ops.topple.bake("INVOKE_DEFAULT", keyframes=False, cache=True)
    yield from harness.until(lambda: live_bakes.running() is not None, 10, "the bake to begin")
    yield from harness.until(lambda: live_bakes.running() is None, 600, "the bake to end")
    settings.drag_velocity = settings.overlay_velocities = False
    scene.frame_set(22)
    bpy.ops.object.select_all(action="DESELECT")
    look_at(0.5, 9.0)
    yield from picture_of_view("overlay")
    yield from harness.show_sidebar()
    yield from pictures_of_options()
    yield from pictures_of_panels(simulation_panels.CLASSES, "VIEW_3D", "UI", top=0, right=24)


bpy.context.preferences.view.show_splash = False
bpy.context.preferences.system.use_region_overlap = False  # panels on a plain ground
harness.load_extension(open_panels=True)
harness.run(script)
