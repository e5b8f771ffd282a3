"""Draws what a bake knows over the 3D View: shapes, contacts, forces, velocities, sleep and overlaps."""

from __future__ import annotations  # naming core's types must not load the solver

from typing import Any

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from . import live_bakes, overlay_geometry
from .overlay_geometry import BodyOutlines, Lines

COLOURS = {
    "moving": (1.0, 0.62, 0.15, 0.9),
    "resting": (0.35, 0.6, 1.0, 0.6),
    "fixed": (0.6, 0.6, 0.6, 0.35),
    "deep": (1.0, 0.1, 0.1, 1.0),
    "points": (1.0, 1.0, 1.0, 1.0),
    "normals": (0.9, 0.9, 0.2, 0.9),
    "forces": (0.2, 1.0, 0.35, 1.0),
    "velocities": (0.9, 0.35, 1.0, 0.9),
}
POINT_SIZE, LINE_WIDTH = 5.0, 1.6

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
    bake = live_bakes.of_scene(context.scene)
    if bake is None or not bake.frames or bake.header is None:
        return
    place = min(max(context.scene.frame_current - bake.first_frame, 0), len(bake.frames) - 1)
    frame, metres = bake.frames[place], bake.unit.metres
    outlines = _outlines_of(bake)
    dynamic = np.isin(np.array(bake.names), bake.header.dynamic)
    size = overlay_geometry.usual_size(outlines, dynamic) if outlines else 1.0
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("NONE" if settings.overlay_in_front else "LESS_EQUAL")
    gpu.state.line_width_set(LINE_WIDTH)
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
    gpu.state.line_width_set(1.0)
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("NONE")


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
    batch_for_shader(shader, kind, {"pos": points.astype(np.float32)}).draw(shader)
