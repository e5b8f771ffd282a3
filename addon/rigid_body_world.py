"""From Blender's own rigid bodies to Topple's; what has no counterpart is told. Pure: no bpy."""

import math
from collections.abc import Mapping
from typing import Any

from . import messages

SHAPES = {
    "BOX": "BOX",
    "SPHERE": "SPHERE",
    "CAPSULE": "CAPSULE",
    "CYLINDER": "CYLINDER",
    "CONE": "CONE",
    "CONVEX_HULL": "CONVEX_HULL",
    "MESH": "MESH",
    "COMPOUND": "CONVEX_PARTS",
}


def converted(body: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Topple's settings for a built-in body.

    Args:
        body: Values of `Object.rigid_body` by their names there.

    Returns:
        Values of `Object.topple`, and a remark for each setting that has no counterpart.
    """
    moves = body["type"] == "ACTIVE" and body["enabled"] and not body["kinematic"]
    kind = "DYNAMIC" if moves else "KINEMATIC" if body["kinematic"] else "STATIC"
    shape = SHAPES[body["collision_shape"]]
    remarks = []
    if shape == "MESH" and kind == "DYNAMIC":
        shape = "CONVEX_PARTS"
        remarks.append(messages.ACTIVE_MESH)
    if body["type"] == "ACTIVE" and not body["enabled"]:
        remarks.append(messages.NOT_DYNAMIC)
    if body["use_margin"] and body["collision_margin"] > 0.0:
        remarks.append(messages.NO_MARGIN)
    if body["use_deform"]:
        remarks.append(messages.NO_DEFORMING)
    settings = {
        "enabled": True,
        "kind": kind,
        "shape": shape,
        "mass_mode": "MASS",
        "mass": body["mass"],
        "friction": body["friction"],
        "restitution": min(body["restitution"], 1.0),
        "linear_damping": decay_rate(body["linear_damping"]),
        "angular_damping": decay_rate(body["angular_damping"]),
        "asleep": bool(moves and body["use_deactivation"] and body["use_start_deactivated"]),
        "layers": tuple(body["collision_collections"]),
        "collides_with": tuple(body["collision_collections"]),
    }
    return settings, remarks


def decay_rate(damping: float) -> float:
    """Topple's damping [1/s] for the built-in one, the part of the speed that is lost in a second.

    Equation: Bullet scales velocities by (1 - d)^t, Topple by exp(-k t); so k = -ln(1 - d).
    """
    return -math.log1p(-min(damping, 0.999))
