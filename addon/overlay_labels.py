"""Warnings over the 3D View, at the bodies they concern: overlaps of a bake, shapes that cannot be used."""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Iterator
from typing import Any

import blf
import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

from . import live_bakes, messages, overlay_geometry
from .units import LengthUnit

FONT, SIZE = 0, 12.0  # of the text, in pixels at the usual scale of the interface
LINE = 38  # characters of a label's line
BESIDE = 10.0  # pixels from the place to its text
COLOUR = (1.0, 0.45, 0.35, 1.0)

_handle: Any = None


def add() -> None:
    """Have Blender call `draw` for every 3D View."""
    global _handle
    _handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_PIXEL")


def remove() -> None:
    """Take it back."""
    global _handle
    bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
    _handle = None


def draw() -> None:
    """Write each warning beside its place."""
    context = bpy.context
    if not context.scene.topple.show_overlay or not context.space_data.overlay.show_overlays:
        return
    scale = context.preferences.system.ui_scale
    blf.size(FONT, SIZE * scale)
    blf.color(FONT, *COLOUR)
    blf.enable(FONT, blf.SHADOW)
    blf.shadow(FONT, 3, 0.0, 0.0, 0.0, 0.9)
    for place, text in labels(context):
        pixel = location_3d_to_region_2d(context.region, context.region_data, place)
        if pixel is None:
            continue
        for line, part in enumerate(messages.wrapped(text, LINE)):
            blf.position(FONT, pixel.x + BESIDE * scale, pixel.y - 1.3 * line * SIZE * scale, 0.0)
            blf.draw(FONT, part)
    blf.disable(FONT, blf.SHADOW)


def labels(context: bpy.types.Context) -> Iterator[tuple[Vector, str]]:
    """Places in the scene, and what is wrong there."""
    scene = context.scene
    bake = live_bakes.of_scene(scene)
    if bake is not None and bake.frames and bake.header is not None:
        place = min(max(scene.frame_current - bake.first_frame, 0), len(bake.frames) - 1)
        frame = bake.frames[place]
        for contact in overlay_geometry.deepest_contacts(frame, scene.topple.tolerance):
            point = Vector(frame.contact_point[contact] / bake.unit.metres)
            yield point, messages.overlap(float(frame.contact_depth[contact]))
    yield from _unusable_shapes(context)


def _unusable_shapes(context: bpy.types.Context) -> Iterator[tuple[Vector, str]]:
    """The selected bodies that no bake shows yet and whose shape is none."""
    from . import shape_preview  # loads what builds hulls, for which Blender's start need not wait

    scene = context.scene
    unit = LengthUnit.of_scene(scene.unit_settings.system, scene.unit_settings.scale_length)
    shown = shape_preview.to_show(scene, context.view_layer, context.selected_objects)
    for obj in shown:
        problem = shape_preview.placed(obj, context.evaluated_depsgraph_get(), unit).shape.problem
        if problem:
            yield obj.matrix_world.translation, problem
