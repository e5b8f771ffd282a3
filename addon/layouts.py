"""Pieces that several panels are laid out of."""

import bpy

from . import messages

LINE = 38  # characters of a note that fit into a sidebar of usual width


def draw_note(layout: bpy.types.UILayout, text: str) -> None:
    """A warning in a box of its own."""
    draw_lines(layout.box(), text, "ERROR")


def draw_lines(layout: bpy.types.UILayout, text: str, icon: str = "NONE", width: int = LINE) -> None:
    """A text, broken into lines that fit."""
    column = layout.column(align=True)
    rest = "NONE" if icon == "NONE" else "BLANK1"
    for i, line in enumerate(messages.wrapped(text, width)):
        column.label(text=line, icon=rest if i else icon)


def draw_switched(
    layout: bpy.types.UILayout, data: bpy.types.PropertyGroup, switch: str, value: str, *, heading: str
) -> None:
    """A value with a check box before it that says whether it counts."""
    row = layout.column(heading=heading).row(align=True)
    row.prop(data, switch, text="")
    row = row.row(align=True)
    row.active = getattr(data, switch)
    row.prop(data, value, text="")
