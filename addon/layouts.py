"""Pieces that several panels are laid out of."""

import bpy

from . import messages

CHARACTER, EDGES = 6.0, 76.0  # width of a usual character, and of what is beside a note; pixels at scale 1
FEWEST = 12  # characters of a line, however narrow the region is


def draw_note(layout: bpy.types.UILayout, text: str) -> None:
    """A warning in a box of its own."""
    draw_lines(layout.box(), text, "ERROR")


def draw_lines(layout: bpy.types.UILayout, text: str, icon: str = "NONE", *, beside: int = 0) -> None:
    """A text, broken into lines that fit into the region, with room for so many characters beside it."""
    column = layout.column(align=True)
    rest = "NONE" if icon == "NONE" else "BLANK1"
    for i, line in enumerate(messages.wrapped(text, max(fitting_characters() - beside, FEWEST))):
        column.label(text=line, icon=rest if i else icon)


def fitting_characters() -> int:
    """How many characters of a note fit into a line of the region that is drawn."""
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
