"""From a trajectory to keyframes: location and rotation of each dynamic object, scale left alone.

All values are computed first; then one action per object is made and filled in bulk. An object
keeps the other channels of the action it had (scale, visibility, custom properties), as a copy.
"""

from __future__ import annotations  # naming core's types must not load the solver

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import bpy
import numpy as np

from .bake_frames import BodyPaths
from .key_reduction import ROTATION_ERROR, distance, kept_keys
from .keyframes import write_curves
from .object_channels import KeyedObject, ObjectChannels
from .previous_animation import (
    animates_more,
    assign_action_without_place,
    assign_copy,
    bake_of,
    push_down,
    remove_bake_track,
    remove_unused,
    state_before_bake,
    store_state,
)
from .rotation_channels import rotation_channels, rotation_path
from .units import LengthUnit


@dataclass(frozen=True, kw_only=True)
class KeyChoice:
    """Which frames get keyframes.

    Attributes:
        step: Every so many frames; the first and the last always do.
        simplify: Leave out keys that linear curves do not need.
        metres: Error of places this may make at a frame [m].
        radians: Error of rotations this may make at a frame [rad].
    """

    step: int = 1
    simplify: bool = False
    metres: float = 1e-3
    radians: float = math.radians(0.5)


EVERY_FRAME = KeyChoice()
BLOCK = 16  # frames that are worked on at once: all of them do not fit into the processor's cache
Layout = tuple[tuple[str, int], ...]  # RNA paths of the curves of an action, and how many keyframes each has


@dataclass(frozen=True)
class ObjectKeys:
    """Channel values of one object at every frame."""

    location: np.ndarray
    rotation: np.ndarray
    rotation_path: str


def write_trajectory(
    keyed: Iterable[KeyedObject],
    paths: BodyPaths,
    unit: LengthUnit,
    first_frame: int,
    objects: Mapping[str, bpy.types.Object] | None = None,
    choice: KeyChoice = EVERY_FRAME,
    *,
    nla: bool = False,
) -> None:
    """Key the objects along their bodies' paths.

    Args:
        keyed: The dynamic objects, as the scene reader found them.
        objects: Those to key, by the names they were read with; by default all, by their names.
        choice: Which frames get keyframes.
        paths: Of bodies with the names of the objects; may be shorter than the scene's range.
        unit: Length unit of the scene.
        first_frame: Frame of the trajectory's start.
        nla: Put the keyframes into an NLA track; else they are the object's action.
    """
    keys, frames = object_keys(tuple(keyed), paths, unit), len(paths.position)
    taken = np.unique([*range(0, frames, choice.step), frames - 1])
    if objects is None:
        objects = {name: bpy.data.objects[name] for name in keys}
    earlier_bakes = []
    patterns: dict[Layout, bpy.types.Action] = {}
    for name, obj in objects.items():
        curves = _chosen_keys(keys[name], taken, choice, unit)
        earlier_bakes.append(_write_object(obj, curves, first_frame, patterns))
        if nla:
            push_down(obj, first_frame)
    remove_unused(bake for bake in earlier_bakes if bake is not None)


def object_keys(keyed: tuple[KeyedObject, ...], paths: BodyPaths, unit: LengthUnit) -> dict[str, ObjectKeys]:
    """Channel values of all objects; nothing of Blender is touched."""
    channels = ObjectChannels(keyed, paths.names, unit)
    blocks = [
        channels.at(paths.position[first : first + BLOCK], paths.orientation[first : first + BLOCK], first)
        for first in range(0, len(paths.position), BLOCK)
    ]
    location, rotation = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return _by_rotation_mode(keyed, location, rotation)


def _by_rotation_mode(
    keyed: tuple[KeyedObject, ...], location: np.ndarray, rotation: np.ndarray
) -> dict[str, ObjectKeys]:
    """Turn quaternions into the channels of each object's mode, all objects of a mode at once."""
    keys = {}
    for mode in {target.rotation_mode for target in keyed}:
        members = [i for i, target in enumerate(keyed) if target.rotation_mode == mode]
        start = np.stack([keyed[i].rotation_start for i in members])
        channels = rotation_channels(rotation[:, members], mode, start)
        for column, i in enumerate(members):
            keys[keyed[i].name] = ObjectKeys(location[:, i], channels[:, column], rotation_path(mode))
    return keys


def _chosen_keys(
    keys: ObjectKeys, taken: np.ndarray, choice: KeyChoice, unit: LengthUnit
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """RNA path, frames after the start, and values of the keyframes of an object."""
    curves = []
    for path, values, error, tolerance in (
        ("location", keys.location, distance, choice.metres / unit.metres),
        (keys.rotation_path, keys.rotation, ROTATION_ERROR[keys.rotation_path], choice.radians),
    ):
        values, kept = values[taken], np.arange(len(taken))
        if choice.simplify:
            kept = kept_keys(values, taken.astype(float), error, tolerance)
        curves.append((path, taken[kept], values[kept]))
    return curves


def _write_object(
    obj: bpy.types.Object,
    curves: list[tuple[str, np.ndarray, np.ndarray]],
    first_frame: int,
    patterns: dict[Layout, bpy.types.Action],
) -> bpy.types.Action | None:
    """Give an object its baked action, keep what it had before; return the bake this one replaces.

    Args:
        obj: The object.
        curves: From `_chosen_keys`.
        first_frame: Frame of the trajectory's start.
        patterns: Actions that have curves for the place alone, of objects before: a copy is made sooner.
    """
    if obj.animation_data and obj.animation_data.use_tweak_mode:
        obj.animation_data.use_tweak_mode = False  # else the bake would go into an NLA strip
    before = state_before_bake(obj)
    earlier_bake = bake_of(obj)
    remove_bake_track(obj)

    layout = tuple((path, len(frames)) for path, frames, _ in curves)
    if layout in patterns and not animates_more(before):
        holder = assign_copy(obj, patterns[layout])
    else:
        holder = assign_action_without_place(obj, before)
    for path, frames, values in curves:
        write_curves(holder, path, first_frame + frames, values)

    animation = obj.animation_data
    if not animates_more(before):
        patterns.setdefault(layout, animation.action)
    animation.use_nla = before.use_nla
    animation.action_blend_type = "REPLACE"
    animation.action_extrapolation = "HOLD"
    animation.action_influence = 1.0
    store_state(obj, before)
    return earlier_bake
