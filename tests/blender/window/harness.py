"""Runs a script of steps in Blender's window: it presses what a mouse can press and waits for what happens.

    scripts/test_window [FOLDER FOR THE PICTURES]

A script is a generator: each `yield` gives Blender's event loop so many seconds. A failed assertion ends
Blender with exit code 1.
"""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))
import checkout

Script = Generator[float, None, Any]


def load_extension(*, open_panels: bool) -> None:
    """The checkout as the package that Blender makes of an extension, registered; its panels open."""
    extension = checkout.load_extension()
    if open_panels:
        from topple_extension.addon import panels, simulation_panels

        for panel in (*panels.CLASSES, *simulation_panels.CLASSES):
            if "DEFAULT_CLOSED" in getattr(panel, "bl_options", ()):
                panel.bl_options = set()
    extension.register()


def run(script: Callable[[], Script]) -> None:
    """Step through a script from Blender's event loop; end Blender with its outcome."""
    steps = script()

    def advance() -> float | None:
        outcome: int | None = 1  # whatever goes wrong, the process must end with a failure
        try:
            pause = next(steps)
            outcome = None
            return pause
        except StopIteration:
            outcome = 0
        finally:
            if outcome == 1:
                traceback.print_exc()
            if outcome is not None:
                print("WINDOW TEST FAILED" if outcome else "WINDOW TEST PASSED", flush=True)
                quit_blender(outcome)
        return None

    bpy.app.timers.register(advance, first_interval=1.0)


def quit_blender(code: int) -> None:
    """End the process at once; Blender's own way would ask about unsaved changes."""
    sys.stdout.flush()
    os._exit(code)


def window() -> bpy.types.Window:
    return bpy.context.window_manager.windows[0]


def area(kind: str) -> bpy.types.Area:
    return next(area for area in window().screen.areas if area.type == kind)


def region(kind: str, of: str) -> bpy.types.Region:
    return next(region for region in area(of).regions if region.type == kind)


def add_body(name: str, mesh: bpy.types.Mesh, place: tuple, **settings) -> bpy.types.Object:
    """An object with a Topple body of these settings."""
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(obj)
    obj.location = place
    for key, value in {"enabled": True, **settings}.items():
        setattr(obj.topple, key, value)
    return obj


def show_sidebar() -> Script:
    """Open the 3D View's sidebar at Topple's tab."""
    view = area("VIEW_3D")
    view.spaces[0].show_region_ui = True
    yield 0.5
    region("UI", "VIEW_3D").active_panel_category = "Topple"
    yield 0.5


def screenshot(path: Path) -> None:
    """The whole screen as a picture, by ImageMagick: Blender's own screenshot is black under Xvfb."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["import", "-window", "root", str(path)], check=True)


def move_mouse(x: int, y: int) -> None:
    window().event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)


def press_key(key: str, *, ctrl: bool = False) -> None:
    window().event_simulate(type=key, value="PRESS", ctrl=ctrl)
    window().event_simulate(type=key, value="RELEASE", ctrl=ctrl)


def click(x: int, y: int) -> Script:
    """Press and release the left button there."""
    move_mouse(x, y)
    yield 0.1
    window().event_simulate(type="LEFTMOUSE", value="PRESS", x=x, y=y)
    yield 0.1
    window().event_simulate(type="LEFTMOUSE", value="RELEASE", x=x, y=y)
    yield 0.1


def drag(start: tuple[int, int], end: tuple[int, int], steps: int = 8) -> Script:
    """Press the left button at one place of the window, move the mouse to another, and let it go."""
    for turn in (1, 0):  # what lies under the mouse is found when it moves
        move_mouse(start[0] - turn, start[1])
        yield 0.3
    window().event_simulate(type="LEFTMOUSE", value="PRESS", x=start[0], y=start[1])
    yield 0.1
    for step in range(1, steps + 1):
        move_mouse(*(a + (b - a) * step // steps for a, b in zip(start, end, strict=True)))
        yield 0.1
    window().event_simulate(type="LEFTMOUSE", value="RELEASE", x=end[0], y=end[1])
    yield 0.3


def pixel_of(place: Vector) -> tuple[int, int]:
    """Where a place of the scene is drawn in the window."""
    space = region("WINDOW", "VIEW_3D")
    x, y = location_3d_to_region_2d(space, area("VIEW_3D").spaces[0].region_3d, place)
    return space.x + round(x), space.y + round(y)


def command_under_mouse() -> str:
    """The Python command of the button that the mouse is over; empty where there is none."""
    if not bpy.ops.ui.copy_python_command_button.poll():
        return ""
    bpy.ops.ui.copy_python_command_button()
    return bpy.context.window_manager.clipboard


def property_under_mouse() -> str:
    """The data path of the value that the mouse is over; empty where there is none."""
    if not bpy.ops.ui.copy_data_path_button.poll():
        return ""
    bpy.ops.ui.copy_data_path_button()
    return bpy.context.window_manager.clipboard


def point_at(wanted: str, what: Callable[[], str], of: str, kind: str) -> Script:
    """Move the mouse over a region until what is under it has this text; returns where that is."""
    space = region(kind, of)
    for column in (6, 3, 9, 10):  # the last is for small buttons beside a text
        x = space.x + column * space.width // 12
        for y in range(space.y + space.height - 6, space.y, -9):
            move_mouse(x, y)
            yield 0.02
            with bpy.context.temp_override(window=window(), area=area(of), region=space):
                if wanted in what():
                    return x, y
    raise AssertionError(f"nothing with {wanted} in the {kind} region of {of}")


def press(command: str, of: str = "VIEW_3D", kind: str = "UI") -> Script:
    """Feel with the mouse for the button whose Python command has this text, and press it."""
    x, y = yield from point_at(command, command_under_mouse, of, kind)
    yield from click(x, y)


def copy_value_to_selected(path: str, of: str, kind: str) -> Script:
    """Feel with the mouse for a value, and choose Copy to Selected from what its menu offers."""
    yield from point_at(path, property_under_mouse, of, kind)
    with bpy.context.temp_override(window=window(), area=area(of), region=region(kind, of)):
        assert bpy.ops.ui.copy_to_selected_button(all=False) == {"FINISHED"}


def until(condition: Callable[[], bool], seconds: float, what: str) -> Script:
    """Wait for something to become true."""
    waited = 0.0
    while not condition():
        assert waited < seconds, f"waited {seconds} s in vain for {what}"
        yield 0.1
        waited += 0.1
