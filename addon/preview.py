"""A bake shown without keyframes: at each frame the objects are put where the cache has them.

An object in a preview has its own animation put away as for a bake (`previous_animation`), so nothing moves
it but this. It is done before Blender evaluates the frame, so that a render shows it, too; between frames,
as motion blur asks for, poses are interpolated.
"""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Iterable

import bpy
import numpy as np

from .live_bakes import LiveBake
from .previous_animation import begin_preview, is_previewed, remove_unused
from .rigid_frames import continuous_signs
from .rotation_channels import rotation_channels, rotation_path


def begin(bake: LiveBake) -> None:
    """Put the objects' own animation away, where it is not already."""
    earlier = [begin_preview(obj) for obj in bake.objects().values()]
    remove_unused(action for action in earlier if action is not None)


def show(scene: bpy.types.Scene, bake: LiveBake) -> None:
    """Put all objects of a preview where they are at the scene's frame."""
    if not bake.frames or bake.channels is None:
        return
    objects = {name: obj for name, obj in bake.objects().items() if is_previewed(obj)}
    if not objects:
        return
    rows = [i for i, target in enumerate(bake.keyed) if target.name in objects]
    location, rotation = _at(bake, scene.frame_current_final - bake.first_frame)
    shown = [objects[bake.keyed[i].name] for i in rows]
    for obj, place in zip(shown, location[rows].tolist(), strict=True):
        obj.location = place
    _turn(shown, [bake.keyed[i].rotation_start for i in rows], rotation[rows])


def _at(bake: LiveBake, time: float) -> tuple[np.ndarray, np.ndarray]:
    """Locations and rotations of all objects at a time in frames; held before the start and after the end."""
    time = min(max(time, 0.0), len(bake.frames) - 1.0)
    first = int(time)
    frames = bake.frames[first : first + 2 if time > first else first + 1]
    position = np.stack([frame.position for frame in frames])
    orientation = np.stack([frame.orientation for frame in frames])
    assert bake.channels is not None
    location, rotation = bake.channels.at(position, orientation, first)
    if len(frames) == 1:
        return location[0], rotation[0]
    part, rotation = time - first, continuous_signs(rotation)
    turned = (1.0 - part) * rotation[0] + part * rotation[1]
    turned /= np.linalg.norm(turned, axis=-1, keepdims=True)
    return (1.0 - part) * location[0] + part * location[1], turned


def _turn(objects: Iterable[bpy.types.Object], starts: list[np.ndarray], rotation: np.ndarray) -> None:
    """Set the rotation channels that each object uses now."""
    members: dict[str, list[int]] = {}
    objects = list(objects)
    for i, obj in enumerate(objects):
        members.setdefault(obj.rotation_mode, []).append(i)
    for mode, indices in members.items():
        path = rotation_path(mode)
        width = 3 if path == "rotation_euler" else 4
        start = np.array([starts[i] if len(starts[i]) == width else np.eye(width)[0] for i in indices])
        channels = rotation_channels(rotation[None, indices], mode, start)[0]
        for i, values in zip(indices, channels.tolist(), strict=True):
            setattr(objects[i], path, values)
