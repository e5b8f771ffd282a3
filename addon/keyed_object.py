"""What a dynamic object's keyframes depend on besides the path of its body."""

import bpy
import numpy as np
from mathutils import Matrix, Quaternion
from scipy.spatial.transform import Rotation

from .. import core
from . import messages
from .keyframes import find_curve_holder
from .object_channels import KeyedObject
from .previous_animation import TRANSFORM_PATHS, state_before_bake
from .rigid_frames import rotation_of
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


def read_keyed_object(
    obj: bpy.types.Object,
    world: np.ndarray,
    parent: np.ndarray | None,
    carrier: str | None,
    carrier_world: np.ndarray | None,
) -> KeyedObject:
    """Read the transform channels of an object evaluated at the first frame."""
    delta_rotation = _scipy_rotation(_delta_rotation(obj))
    return KeyedObject(
        name=obj.name,
        rotation_mode=obj.rotation_mode,
        rotation_start=np.array(getattr(obj, rotation_path(obj.rotation_mode))),
        rotation=delta_rotation * _scipy_rotation(_channel_rotation(obj)),
        delta_location=np.array(obj.delta_location),
        delta_rotation=delta_rotation,
        body_rotation=rotation_of(world),
        parent=parent,
        carrier=carrier,
        carrier_world=carrier_world,
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


def _scipy_rotation(quaternion: Quaternion) -> Rotation:
    w, x, y, z = quaternion
    return Rotation.from_quat((x, y, z, w))
