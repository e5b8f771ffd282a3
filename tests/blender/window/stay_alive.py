"""Bakes a thousand bodies in Blender's window and looks how long it ever stands still.

The window is small and its 3D View plain, since without a graphics card drawing takes longer than all else.
"""

import math
import sys
import time
from itertools import pairwise
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parent))
import harness

FOLDER = Path(sys.argv[-1])
SIDE = 10  # crates along each edge of a cube of them
FRAMES = 24
LONGEST = 0.25  # seconds between two ticks of a bake's timer


def build_scene() -> None:
    """A thousand crates, each apart from the others, that fall onto a ground plane and each other."""
    bpy.ops.object.select_all(action="SELECT")
    bpy.ops.object.delete()
    bpy.ops.mesh.primitive_plane_add(size=100)
    ground = bpy.context.object.topple
    ground.enabled, ground.kind, ground.shape = True, "STATIC", "PLANE"
    bpy.ops.mesh.primitive_cube_add(size=1)
    mesh = bpy.context.object.data
    bpy.ops.object.delete()
    for i in range(SIDE**3):
        x, y, z = i % SIDE, i // SIDE % SIDE, i // SIDE**2
        obj = bpy.data.objects.new(f"crate {i}", mesh)
        bpy.context.collection.objects.link(obj)
        obj.location = (1.5 * x, 1.5 * y, 0.9 + 1.7 * z + 0.2 * math.sin(5 * i))
        obj.rotation_euler = (0.1 * math.sin(3 * i), 0.1 * math.sin(7 * i), 0.0)
        obj.topple.enabled, obj.topple.shape = True, "BOX" if i % 2 else "CONVEX_HULL"
    bpy.context.scene.frame_end = FRAMES
    bpy.ops.wm.save_as_mainfile(filepath=str(FOLDER / "crates.blend"))


def make_view_plain() -> None:
    bpy.context.preferences.system.viewport_aa = "OFF"
    view = harness.area("VIEW_3D").spaces[0]
    view.shading.type = "WIREFRAME"
    view.overlay.show_overlays = False
    view.show_region_ui = True


def note_ticks(ticks: list[tuple[float, str]]) -> None:
    """Have the bake's operator note when its timer fires, and at which stage it is then."""
    from topple_extension.addon import live_bakes
    from topple_extension.addon.operators.bake import Bake

    modal = Bake.modal

    def noting(operator, context, event):
        bake = live_bakes.running()
        if event.type == "TIMER":
            ticks.append((time.monotonic(), bake.job.state if bake is not None else "reading"))
        return modal(operator, context, event)

    Bake.modal = noting


def seconds_to_show_a_frame() -> float:
    """How long Blender takes to evaluate and draw the bodies where they were not before, without a bake."""
    begin = time.monotonic()
    bpy.context.scene.frame_set(FRAMES // 2)
    with bpy.context.temp_override(window=harness.window(), area=harness.area("VIEW_3D")):
        bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)
    return time.monotonic() - begin


def bake(ticks: list[tuple[float, str]], *, shown: bool) -> harness.Script:
    from topple_extension.addon import live_bakes

    bpy.context.scene.topple.follow = shown
    ticks[:] = [(time.monotonic(), "reading")]
    with bpy.context.temp_override(window=harness.window(), area=harness.area("VIEW_3D")):
        bpy.ops.topple.bake("INVOKE_DEFAULT", keyframes=False, cache=True)
    yield from harness.until(lambda: live_bakes.running() is not None, 10, "the bake to begin")
    yield from harness.until(lambda: live_bakes.running() is None, 600, "the bake to end")
    ticks.append((time.monotonic(), "done"))
    assert live_bakes.of_scene(bpy.context.scene).job.state == "finished"


def longest_pauses(ticks: list[tuple[float, str]]) -> dict[str, float]:
    """Longest time between two ticks by the stage in which it began [s]."""
    longest: dict[str, float] = {}
    for (before, stage), (now, _) in pairwise(ticks):
        longest[stage] = max(longest.get(stage, 0.0), now - before)
    return longest


def script() -> harness.Script:
    ticks: list[tuple[float, str]] = []
    note_ticks(ticks)
    build_scene()
    make_view_plain()
    yield 0.5
    harness.region("UI", "VIEW_3D").active_panel_category = "Topple"
    yield 2.0
    too_long = []
    for shown in (False, True):
        print(f"longest of it that is drawing, without a bake: {seconds_to_show_a_frame():.3f} s", flush=True)
        yield from bake(ticks, shown=shown)
        pauses = longest_pauses(ticks)
        figures = ", ".join(f"{stage} {pause:.3f} s" for stage, pause in pauses.items())
        print(
            f"longest pauses with {SIDE**3} bodies, {'shown' if shown else 'not shown'}: {figures}",
            flush=True,
        )
        pauses.pop("compile", None)  # on a machine's first bake
        too_long += [stage for stage, pause in pauses.items() if pause > LONGEST]
        yield 1.0
    assert not too_long, f"the timer fired later than after {LONGEST} s while: {', '.join(too_long)}"


bpy.context.preferences.view.show_splash = False
harness.load_extension(open_panels=True)
harness.run(script)
