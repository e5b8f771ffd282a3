"""Draws what a bake knows over the 3D View: shapes, contacts, forces, velocities, sleep and overlaps."""

from __future__ import annotations  # naming core's types must not load the solver

from typing import Any

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from . import live_bakes, overlay_geometry, velocity_gizmo
from .overlay_geometry import BodyOutlines, Lines
from .units import LengthUnit

COLOURS = {
    "moving": (1.0, 0.62, 0.15, 0.9),
    "resting": (0.35, 0.6, 1.0, 0.6),
    "fixed": (0.6, 0.6, 0.6, 0.35),
    "deep": (1.0, 0.1, 0.1, 1.0),
    "points": (1.0, 1.0, 1.0, 1.0),
    "normals": (0.9, 0.9, 0.2, 0.9),
    "forces": (0.2, 1.0, 0.35, 1.0),
    "velocities": (0.9, 0.35, 1.0, 0.9),
    "set up": (1.0, 0.85, 0.45, 0.9),
    "centre": (1.0, 0.3, 0.6, 1.0),
}
POINT_SIZE, LINE_WIDTH = 5.0, 1.6
CENTRE_SIZE = 8.0

_handle: Any = None
_outlines: dict[str, tuple[int, BodyOutlines]] = {}  # by the bake's key, with the scene they are of


def add() -> None:
    """Have Blender call `draw` for every 3D View."""
    global _handle
    _handle = bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", "POST_VIEW")


def remove() -> None:
    """Take it back."""
    global _handle
    bpy.types.SpaceView3D.draw_handler_remove(_handle, "WINDOW")
    _handle = None
    _outlines.clear()


def draw() -> None:
    """Draw the overlay of the scene's bake at the current frame."""
    context = bpy.context
    settings = context.scene.topple
    if not settings.show_overlay or not context.space_data.overlay.show_overlays:
        return
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("NONE" if settings.overlay_in_front else "LESS_EQUAL")
    gpu.state.line_width_set(LINE_WIDTH)
    bake = live_bakes.of_scene(context.scene)
    if bake is not None and bake.frames and bake.header is not None:
        _draw_bake(context, bake)
    _draw_set_up(context)
    gpu.state.line_width_set(1.0)
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("NONE")


def _draw_bake(context: bpy.types.Context, bake: live_bakes.LiveBake) -> None:
    """Draw what the bake has at the current frame."""
    assert bake.header is not None
    settings = context.scene.topple
    place = min(max(context.scene.frame_current - bake.first_frame, 0), len(bake.frames) - 1)
    frame, metres = bake.frames[place], bake.unit.metres
    outlines = _outlines_of(bake)
    dynamic = np.isin(np.array(bake.names), bake.header.dynamic)
    size = overlay_geometry.usual_size(outlines, dynamic) if outlines else 1.0
    if settings.overlay_shapes and outlines:
        deep = overlay_geometry.deep_bodies(frame, settings.tolerance)
        for name, chosen in {
            "fixed": ~dynamic & ~deep,
            "resting": dynamic & ~frame.moving & ~deep,
            "moving": dynamic & frame.moving & ~deep,
            "deep": deep,
        }.items():
            _draw_lines(outlines.at(frame, chosen), name)
    if settings.overlay_contacts:
        _draw_lines(overlay_geometry.contact_normals(frame, metres, size), "normals")
        gpu.state.point_size_set(POINT_SIZE)
        _draw("POINTS", frame.contact_point / metres, "points")
    if settings.overlay_forces:
        _draw_lines(overlay_geometry.contact_forces(frame, metres, size), "forces")
    if settings.overlay_velocities:
        _draw_lines(overlay_geometry.velocities(frame, metres), "velocities")


def _draw_set_up(context: bpy.types.Context) -> None:
    """Draw the selected bodies that no bake shows yet: shape, centre of mass, velocity at the first frame."""
    from . import shape_preview  # loads what builds hulls, for which Blender's start need not wait

    settings, units = context.scene.topple, context.scene.unit_settings
    shown = shape_preview.to_show(context.scene, context.view_layer, context.selected_objects)
    if not shown:
        return
    unit = LengthUnit.of_scene(units.system, units.scale_length)
    depsgraph = context.evaluated_depsgraph_get()
    previews = [shape_preview.placed(obj, depsgraph, unit) for obj in shown]
    if settings.overlay_shapes:
        _draw("LINES", unit.from_si(np.concatenate([preview.edges for preview in previews])), "set up")
        centers = [preview.center for preview in previews if preview.center is not None]
        gpu.state.point_size_set(CENTRE_SIZE)
        _draw("POINTS", unit.from_si(np.array(centers).reshape(-1, 3)), "centre")
    if settings.overlay_velocities:
        arrows = [velocity_gizmo.arrow(obj) for obj in shown if velocity_gizmo.has_velocity(obj)]
        _draw("LINES", np.concatenate([*arrows, shape_preview.NO_EDGES]), "velocities")


def _outlines_of(bake: live_bakes.LiveBake) -> BodyOutlines | None:
    """Outlines of a bake's shapes; of one that was read back, those of its scene file."""
    scene = bake.solved_scene()
    if scene is None:
        return None
    known = _outlines.get(bake.key)
    if known is None or known[0] != id(scene):
        _outlines[bake.key] = known = id(scene), BodyOutlines(scene, bake.unit.metres)
    return known[1]


def _draw_lines(lines: Lines, colour: str) -> None:
    _draw("LINES", lines.ends, colour)


def _draw(kind: str, points: np.ndarray, colour: str) -> None:
    if not len(points):
        return
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    shader.bind()
    shader.uniform_float("color", COLOURS[colour])
    pos = np.ascontiguousarray(points, dtype=np.float32)  # Blender reads other orders of rows wrongly
    batch_for_shader(shader, kind, {"pos": pos}).draw(shader)
