"""F-curves in bulk, the same way on every Blender.

Blender 4.2 keeps F-curves in the action itself; from 4.4 an action has slots, and each slot's
curves lie in a channelbag; 5.0 removed the old access. Both holders have `.fcurves` and `.groups`,
so only finding the holder differs.
"""

from typing import Any

import bpy
import numpy as np

GROUP = "Object Transforms"  # the name Blender gives the group of these channels
# Values in the file format, as foreach_set wants them:
LINEAR = 1  # interpolation
VECTOR = 2  # handles that lie on the lines, so other interpolations begin as what is seen; quick to update


def has_slots(action: bpy.types.Action) -> bool:
    """Whether this Blender's actions have slots (4.4 and later)."""
    return hasattr(action, "slots")


def find_curve_holder(action: bpy.types.Action, slot_identifier: str) -> Any | None:
    """The holder of a slot's F-curves, or None when the slot has none yet."""
    if not has_slots(action):
        return action
    slot = action.slots.get(slot_identifier)
    if slot is None:
        return None
    for layer in action.layers:
        for strip in layer.strips:
            holder = strip.channelbag(slot)
            if holder is not None:
                return holder
    return None


def assign_with_curve_holder(obj: bpy.types.Object, action: bpy.types.Action, slot_identifier: str) -> Any:
    """Assign an action (and its slot, made where missing) to an object; return the curve holder."""
    animation = obj.animation_data_create()
    animation.action = action
    if not has_slots(action):
        return action
    slot = action.slots.get(slot_identifier) or action.slots.new(obj.id_type, obj.name)
    animation.action_slot = slot
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)


def write_curves(holder: Any, path: str, frames: np.ndarray, values: np.ndarray) -> None:
    """Write one linear F-curve per channel.

    Args:
        holder: From `assign_with_curve_holder`; its curves of this path, if any, have as many keyframes.
        path: RNA path, for example "location".
        frames: Frame numbers, shape (frames,).
        values: Channel values, shape (frames, channels).
    """
    points = np.empty((len(frames), 2), dtype=np.float32)
    points[:, 0] = frames
    for channel in range(values.shape[1]):
        points[:, 1] = values[:, channel]
        curve = holder.fcurves.find(path, index=channel) or _new_curve(holder, path, channel, len(frames))
        curve.keyframe_points.foreach_set("co", points.ravel())
        curve.update()


def _new_curve(holder: Any, path: str, channel: int, count: int) -> bpy.types.FCurve:
    """A curve with so many linear keyframes, which lie anywhere."""
    curve = holder.fcurves.new(path, index=channel)
    curve.group = holder.groups.get(GROUP) or holder.groups.new(GROUP)
    curve.keyframe_points.add(count)
    kinds = {"interpolation": LINEAR, "handle_left_type": VECTOR, "handle_right_type": VECTOR}
    for name, value in kinds.items():
        curve.keyframe_points.foreach_set(name, np.full(count, value, dtype=np.int32))
    return curve
