"""From a trajectory to keyframes: location and rotation of each dynamic object, scale left alone.

All values are computed first; then one action per object is made and filled in bulk. An object
keeps the other channels of the action it had (scale, visibility, custom properties), as a copy.
"""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Iterable
from dataclasses import dataclass

import bpy
import numpy as np

from .. import core
from .keyed_object import TRANSFORM_PATHS, KeyedObject
from .keyframes import assign_with_curve_holder, find_curve_holder, write_curves
from .previous_animation import (
    BAKE_MARK,
    AnimationState,
    bake_of,
    remove_unused,
    state_before_bake,
    store_state,
)
from .rigid_frames import multiply_quaternions, rotation_from_wxyz, rotation_of, wxyz_from_rotation
from .rotation_channels import rotation_channels, rotation_path
from .units import LengthUnit


@dataclass(frozen=True)
class ObjectKeys:
    """Channel values of one object at every frame."""

    location: np.ndarray
    rotation: np.ndarray
    rotation_path: str


def write_trajectory(
    keyed: Iterable[KeyedObject], trajectory: core.Trajectory, unit: LengthUnit, first_frame: int
) -> None:
    """Key the objects along their bodies' paths.

    Args:
        keyed: The dynamic objects, as the scene reader found them.
        trajectory: Holds a body of the name of each object; may be shorter than the scene's range.
        unit: Length unit of the scene.
        first_frame: Frame of the trajectory's start.
    """
    keys = object_keys(tuple(keyed), trajectory, unit)
    frames = first_frame + np.arange(len(trajectory.times))
    earlier_bakes = [_write_object(bpy.data.objects[name], keys[name], frames) for name in keys]
    remove_unused(bake for bake in earlier_bakes if bake is not None)


def object_keys(
    keyed: tuple[KeyedObject, ...], trajectory: core.Trajectory, unit: LengthUnit
) -> dict[str, ObjectKeys]:
    """Channel values of all objects; nothing of Blender is touched."""
    index = {name: i for i, name in enumerate(trajectory.names)}
    columns = [index[target.name] for target in keyed]
    position = unit.from_si(trajectory.position[:, columns])
    orientation = trajectory.orientation[:, columns]
    path = {target.name: (position[:, i], orientation[:, i]) for i, target in enumerate(keyed)}

    location = position.copy()
    # A rotation channel is before * orientation * after: `before` takes out the turn of the parent
    # space and the delta, `after` is the fixed turn from the body frame to the object's rotation.
    before, after = np.empty_like(orientation), np.empty((len(keyed), 4))
    for i, target in enumerate(keyed):
        before_turn = target.delta_rotation.inv()
        after_turn = target.body_rotation.inv() * target.rotation
        if target.parent is not None:
            parent = _parent_path(target, path)
            turn = rotation_of(parent)
            location[:, i] = _inverse_transform(parent, position[:, i])
            before_turn = before_turn * turn.inv()
            after_turn = target.body_rotation.inv() * turn[0] * target.rotation
        location[:, i] -= target.delta_location
        before[:, i] = wxyz_from_rotation(before_turn)
        after[i] = wxyz_from_rotation(after_turn)
    rotation = multiply_quaternions(multiply_quaternions(before, orientation), after)
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


def _parent_path(target: KeyedObject, path: dict[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Parent space at each frame; with a dynamic carrier, moved as the carrier's bake moves it."""
    assert target.parent is not None
    if target.carrier is None or target.carrier_world is None:
        position, _ = path[target.name]
        return target.parent[: len(position)]
    position, orientation = path[target.carrier]
    parent, sampled = target.parent[: len(position)], target.carrier_world[: len(position)]
    turn = (rotation_from_wxyz(orientation) * rotation_of(sampled).inv()).as_matrix()
    moved = parent.copy()
    moved[:, :3, :3] = turn @ parent[:, :3, :3]
    moved[:, :3, 3] = position + _transform(turn, parent[:, :3, 3] - sampled[:, :3, 3])
    return moved


def _transform(linear: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Apply a stack of 3x3 matrices to a stack of vectors."""
    return np.einsum("fij,fj->fi", linear, vectors)


def _inverse_transform(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    """World points in the spaces of a stack of 4x4 matrices."""
    return _transform(np.linalg.inv(matrices[:, :3, :3]), points - matrices[:, :3, 3])


def _write_object(obj: bpy.types.Object, keys: ObjectKeys, frames: np.ndarray) -> bpy.types.Action | None:
    """Give an object its baked action, keep what it had before; return the bake this one replaces."""
    if obj.animation_data and obj.animation_data.use_tweak_mode:
        obj.animation_data.use_tweak_mode = False  # else the bake would go into an NLA strip
    before = state_before_bake(obj)
    earlier_bake = bake_of(obj)

    action = _new_action(before)
    action.name = f"{obj.name} Topple Bake"
    action[BAKE_MARK] = True
    holder = assign_with_curve_holder(obj, action, before.slot_identifier)
    for curve in [curve for curve in holder.fcurves if curve.data_path in TRANSFORM_PATHS]:
        holder.fcurves.remove(curve)
    write_curves(holder, "location", frames, keys.location)
    write_curves(holder, keys.rotation_path, frames, keys.rotation)

    animation = obj.animation_data
    animation.action_blend_type = "REPLACE"
    animation.action_extrapolation = "HOLD"
    animation.action_influence = 1.0
    store_state(obj, before)
    return earlier_bake


def _new_action(before: AnimationState) -> bpy.types.Action:
    """An empty action, or a copy of the previous one where it animates more than the place."""
    if before.action is not None:
        holder = find_curve_holder(before.action, before.slot_identifier)
        if holder and any(curve.data_path not in TRANSFORM_PATHS for curve in holder.fcurves):
            return before.action.copy()  # pyright: ignore[reportReturnType]  (never None)
    return bpy.data.actions.new("Topple Bake")
