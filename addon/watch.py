"""What the artist has changed since a bake, seen without evaluating the scene.

A bake keeps a digest of each thing it depends on; the panel compares them with today's. Looking at all bodies
takes a while, so it is done only after Blender has said that something changed, and seldom.
"""

from __future__ import annotations  # naming core's types must not load the solver

import time as clock
from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

import bpy
import numpy as np

from . import fingerprint, messages
from .keyframes import find_curve_holder
from .previous_animation import AnimationState, bake_track, state_before_bake
from .properties import BODY_SETTINGS, WORLD_SETTINGS
from .scene_reader import body_objects
from .slices import Steps, batches, completed

SHARE = 0.2  # part of the time that looking may take
PLAIN = {"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"}

_body_settings = attrgetter(*BODY_SETTINGS)

_dirty = True
_next_look = 0.0
_seen: dict[str, list[str]] = {}  # changes found by the last look, by the bake's key


def mark_dirty() -> None:
    """Look again at the next opportunity."""
    global _dirty
    _dirty = True


def changes_since(
    scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer, watched: dict[str, str]
) -> list[str]:
    """Names of what changed since a bake; from the last look, where that is recent enough."""
    global _dirty, _next_look
    key = scene.topple.cache_key
    if key not in _seen or (_dirty and clock.monotonic() > _next_look):
        begin = clock.monotonic()
        _seen[key] = fingerprint.changes(watched, watch(scene, view_layer))
        _dirty, end = False, clock.monotonic()
        _next_look = end + (end - begin) / SHARE
    return _seen[key]


def postpone(seconds: float) -> None:
    """Do not look for so long: the window's thread has other work to do bit by bit."""
    global _next_look
    _next_look = clock.monotonic() + seconds


def note_bake(key: str) -> None:
    """A bake has begun of what there is, so nothing has changed since."""
    _seen[key] = []
    mark_dirty()


def forget() -> None:
    """Drop what was seen."""
    _seen.clear()
    mark_dirty()


def watch(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> dict[str, str]:
    """A digest of everything a bake of this scene depends on, under a name for the artist."""
    return completed(watch_steps(scene, view_layer))


def watch_steps(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> Steps[dict[str, str]]:
    """The same bit by bit."""
    parts = {
        "the frame range": (scene.frame_start, scene.frame_end),
        "the frame rate": (scene.render.fps, scene.render.fps_base),
        "gravity": (scene.use_gravity, tuple(scene.gravity)),
        "the unit scale": (scene.unit_settings.system, scene.unit_settings.scale_length),
        "the solver's settings": [getattr(scene.topple, name) for name in WORLD_SETTINGS],
    }
    digests = {name: fingerprint.digest(value) for name, value in parts.items()}
    meshes: dict[int, str] = {}  # digests of what copies share
    for some in batches(body_objects(view_layer)):
        for obj in some:
            if not obj.hide_viewport:
                digests |= _parts_of(obj, digests, meshes)
        yield
    return digests


def _parts_of(obj: bpy.types.Object, known: Mapping[str, str], meshes: dict[int, str]) -> dict[str, str]:
    """Digests of what a bake depends on of a body, and of its parents that are not known yet."""
    parts = {
        messages.setup_of(obj.name): fingerprint.digest(_body_settings(obj.topple)),
        messages.mesh_of(obj.name): fingerprint.digest(_geometry(obj, meshes)),
    }
    ancestor: bpy.types.Object | None = obj
    while ancestor is not None and (name := messages.place_of(ancestor.name)) not in known:
        parts[name] = fingerprint.digest(_place(ancestor))
        ancestor = ancestor.parent
    return parts


def _place(obj: bpy.types.Object) -> list[Any]:
    """Where an object is by its channels or its animation, before any bake of ours."""
    before = state_before_bake(obj)
    animation = obj.animation_data
    animated = before.action is not None or (
        animation is not None
        and (len(animation.nla_tracks) > (bake_track(obj) is not None) or len(animation.drivers) > 0)
    )
    pose = (
        list(_curves(before))
        if animated
        else [before.location, getattr(before, _rotation_name(obj)), tuple(obj.scale)]
    )
    delta = [tuple(obj.delta_location), tuple(obj.delta_scale), tuple(obj.delta_rotation_euler)]
    parent = [obj.parent.name, obj.parent_bone, obj.matrix_parent_inverse] if obj.parent else []
    return [pose, delta, parent, len(obj.constraints)]


def _rotation_name(obj: bpy.types.Object) -> str:
    return {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
        obj.rotation_mode, "rotation_euler"
    )


def _curves(before: AnimationState) -> Iterator[Any]:
    """The keyframes of an action."""
    holder = find_curve_holder(before.action, before.slot_identifier) if before.action else None
    for curve in holder.fcurves if holder else ():
        points = np.empty(2 * len(curve.keyframe_points), dtype=np.float32)
        curve.keyframe_points.foreach_get("co", points)
        yield [curve.data_path, curve.array_index, points]


def _geometry(obj: bpy.types.Object, meshes: dict[int, str]) -> list[Any]:
    """The mesh and the settings of the modifiers."""
    modifiers = [[modifier.type, *_settings(modifier)] for modifier in obj.modifiers]
    data = obj.data
    if data is None:
        return [modifiers]
    pointer = data.as_pointer()
    if pointer not in meshes:
        meshes[pointer] = fingerprint.digest(_surface(data))
    return [modifiers, meshes[pointer]]


def _surface(data: Any) -> list[Any]:
    """Points and number of faces of a mesh, settings of anything else."""
    if not isinstance(data, bpy.types.Mesh):
        return [*_settings(data)]
    points = np.empty(3 * len(data.vertices), dtype=np.float32)
    data.vertices.foreach_get("co", points)
    return [points, len(data.polygons)]


def _settings(block: Any) -> Iterator[Any]:
    """Values of the plain properties of anything of Blender's."""
    for item in block.bl_rna.properties:
        if item.type in PLAIN and item.identifier not in (
            "name",
            "show_expanded",
            "is_active",
            "execution_time",
        ):
            yield item.identifier, getattr(block, item.identifier)
