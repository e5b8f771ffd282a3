"""The engines that are compared, one file each.

A peer's file has a class `World(scene, *, time_step, steps_per_frame, ...)` with `advance()`, the only part
that is timed, and `poses()`: positions [m] and quaternions (w, x, y, z) of all bodies in the scene's order.
Every engine gets the same shapes, masses, friction, restitution, gravity and step, no damping and no
sleeping; everything else stays at the defaults its users meet.
"""

import importlib
import importlib.util
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import topple


@dataclass(frozen=True)
class Peer:
    """One engine in one configuration."""

    title: str
    file: str  # module in this folder
    needs: str  # the package from PyPI that holds the engine
    options: dict[str, Any] = field(default_factory=dict)

    def is_installed(self) -> bool:
        """Whether the engine's package can be found (it is not imported)."""
        return importlib.util.find_spec(self.needs) is not None

    def load(self) -> Any:
        """Import the engine; returns the class `World`."""
        return importlib.import_module(f"peers.{self.file}").World


TOPPLE = "topple"
PEERS = {
    TOPPLE: Peer("Topple", "topple_impulse", "topple"),
    "rapier": Peer("Rapier", "rapier", "rapier3d"),
    "pybullet": Peer("PyBullet", "bullet", "pybullet"),
    "blender-box": Peer("Blender, boxes", "blender", "bpy", {"boxes": True}),
    "blender-hull": Peer("Blender, hulls", "blender", "bpy", {"boxes": False}),
}


def material_root(coefficient: float) -> float:
    """What engines that multiply the coefficients of a pair must be given to get Topple's geometric mean."""
    return math.sqrt(coefficient)


def check_comparable(scene: topple.Scene) -> None:
    """Refuse scenes that some engine cannot represent, rather than compare different things."""
    for body in scene.bodies:
        if not isinstance(body.shape, (topple.Box, topple.Sphere, topple.ConvexHull)):
            raise ValueError(f"{body.name}: benchmark scenes use boxes, spheres and hulls only")
        if np.any(body.linear_velocity) or np.any(body.angular_velocity):
            raise ValueError(f"{body.name}: benchmark scenes start at rest, Blender has no initial velocity")
        size = np.ptp(getattr(body.shape, "points", np.eye(3)), axis=0).max()
        if body.kind == "dynamic" and np.abs(body.center_of_mass).max() > 1e-9 * size:
            raise ValueError(f"{body.name}: its frame must sit at its centre of mass, Blender knows no other")
