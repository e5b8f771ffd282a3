"""What a dynamic object's keyframes depend on besides the path of its body."""

from collections.abc import Sequence
from typing import NamedTuple

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from .. import core
from . import messages
from .keyframes import find_curve_holder
from .object_channels import KeyedObject
from .previous_animation import TRANSFORM_PATHS, state_before_bake
from .rigid_frames import multiply_quaternions
from .rotation_channels import rotation_path

DELTA_PATHS = ("delta_location", "delta_rotation_euler", "delta_rotation_quaternion")


def check_can_be_keyed(obj: bpy.types.Object) -> None:
    """Refuse objects that cannot have keyframes or would not follow them.

    Raises:
        SceneError: Names the object and the remedy.
    """
    if obj.library is not None:
        raise core.SceneError(messages.LINKED, body=obj.name_full)
    for constraint in obj.constraints:
        if not constraint.mute and constraint.influence > 0.0:
            raise core.SceneError(messages.constrained(constraint.name), body=obj.name)
    world = bpy.context.scene.rigidbody_world
    if obj.rigid_body is not None and obj.rigid_body.type == "ACTIVE" and world is not None and world.enabled:
        raise core.SceneError(messages.OWN_RIGID_BODY, body=obj.name)
    if obj.animation_data is None:
        return
    if any(driver.data_path in TRANSFORM_PATHS + DELTA_PATHS for driver in obj.animation_data.drivers):
        raise core.SceneError(messages.DRIVEN, body=obj.name)
    if any(track.is_solo for track in obj.animation_data.nla_tracks):
        raise core.SceneError(messages.SOLO_TRACK, body=obj.name)
    state = state_before_bake(obj)
    holder = find_curve_holder(state.action, state.slot_identifier) if state.action else None
    if holder and any(curve.data_path in DELTA_PATHS for curve in holder.fcurves):
        raise core.SceneError(messages.ANIMATED_DELTA, body=obj.name)


class Parenting(NamedTuple):
    """The last three fields of `KeyedObject`."""

    parent: np.ndarray | None
    carrier: str | None
    carrier_world: np.ndarray | None


NO_PARENT = Parenting(None, None, None)


def read_keyed_objects(
    objects: Sequence[bpy.types.Object], orientations: Sequence[np.ndarray], parentings: Sequence[Parenting]
) -> tuple[KeyedObject, ...]:
    """Read the transform channels of objects evaluated at the first frame.

    Args:
        objects: The evaluated objects.
        orientations: Of their bodies in the world, quaternions (w, x, y, z).
        parentings: What their parents do.
    """
    channel = _unit([_channel_rotation(obj) for obj in objects])
    delta = _unit([_delta_rotation(obj) for obj in objects])
    rotation = multiply_quaternions(delta, channel)
    return tuple(
        KeyedObject(
            obj.name,
            obj.rotation_mode,
            np.array(getattr(obj, rotation_path(obj.rotation_mode))),
            rotation[i],
            np.array(obj.delta_location),
            delta[i],
            orientations[i],
            *parentings[i],
        )
        for i, obj in enumerate(objects)
    )


def parent_space(obj: bpy.types.Object) -> Matrix:
    """Matrix from the space of an evaluated object's channels to the world.

    `matrix_local` is the world matrix as seen from the parent (object, bone or vertices), so the
    parent's matrix follows from both without repeating Blender's rules for each kind of parent.
    """
    return obj.matrix_world @ obj.matrix_local.inverted_safe() @ obj.matrix_parent_inverse


def _channel_rotation(obj: bpy.types.Object) -> Quaternion:
    if obj.rotation_mode == "QUATERNION":
        return obj.rotation_quaternion.normalized()
    if obj.rotation_mode == "AXIS_ANGLE":
        angle, *axis = obj.rotation_axis_angle
        return Quaternion(axis, angle)
    return obj.rotation_euler.to_quaternion()


def _delta_rotation(obj: bpy.types.Object) -> Quaternion:
    """Blender has no delta for axis and angle, and reads the Euler one in the object's order."""
    if obj.rotation_mode == "QUATERNION":
        return obj.delta_rotation_quaternion.normalized()
    if obj.rotation_mode == "AXIS_ANGLE":
        return Quaternion()
    delta = obj.delta_rotation_euler.copy()
    delta.order = obj.rotation_mode
    return delta.to_quaternion()


def _unit(quaternions: Sequence[Quaternion]) -> np.ndarray:
    """Quaternions (w, x, y, z) of unit length in double precision, shape (n, 4)."""
    values = np.array(quaternions, dtype=np.float64).reshape(-1, 4)
    return values / np.linalg.norm(values, axis=1, keepdims=True)
