"""Pieces that several panels are laid out of."""

import bpy

from . import messages

CHARACTER, EDGES = 6.0, 40.0  # width of a usual character, and of what is beside a text; pixels at scale 1
ICON, BOX = 4, 3  # characters that fit into the place of an icon, and of a box's edges
FEWEST = 12  # characters of a line, however narrow the region is


def draw_note(layout: bpy.types.UILayout, text: str) -> None:
    """A warning in a box of its own."""
    draw_lines(layout.box(), text, "ERROR", beside=BOX)


def draw_lines(layout: bpy.types.UILayout, text: str, icon: str = "NONE", *, beside: int = 0) -> None:
    """A text, broken into lines that fit into the region, with room for so many characters beside it."""
    column = layout.column(align=True)
    rest, taken = ("NONE", beside) if icon == "NONE" else ("BLANK1", beside + ICON)
    for i, line in enumerate(messages.wrapped(text, max(fitting_characters() - taken, FEWEST))):
        column.label(text=line, icon=rest if i else icon)


def fitting_characters() -> int:
    """How many characters of a text fit into a line of the region that is drawn."""
    width = bpy.context.region.width / bpy.context.preferences.system.ui_scale
    return int((width - EDGES) / CHARACTER)


def draw_switched(
    layout: bpy.types.UILayout, data: bpy.types.PropertyGroup, switch: str, value: str, *, heading: str
) -> None:
    """A value with a check box before it that says whether it counts."""
    row = layout.column(heading=heading).row(align=True)
    row.prop(data, switch, text="")
    row = row.row(align=True)
    row.active = getattr(data, switch)
    row.prop(data, value, text="")
