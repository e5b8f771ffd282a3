"""Blender units and SI units. Pure: no bpy.

Blender keeps lengths, velocities and accelerations (gravity among them) in Blender units and
multiplies them by the scene's unit scale where it shows them. Topple computes with the values
shown: with a unit scale of 0.01, a gravity stored as -9.81 is shown, and simulated, as
-0.0981 m/s²; set -9.81 m/s² in the scene to fall as on Earth. The paths in Blender units are then
those Blender's own rigid bodies follow, which compute with the stored values.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LengthUnit:
    """The length of one Blender unit; velocities and accelerations convert by the same factor."""

    metres: float

    @classmethod
    def of_scene(cls, system: str, scale_length: float) -> "LengthUnit":
        """Unit of a scene with these unit settings; Blender ignores the scale in the system NONE."""
        return cls(1.0 if system == "NONE" else float(scale_length))

    def to_si(self, values: np.ndarray) -> np.ndarray:
        """Blender units to m, m/s or m/s²."""
        return np.asarray(values, dtype=np.float64) * self.metres

    def from_si(self, values: np.ndarray) -> np.ndarray:
        """Metres, m/s or m/s² to Blender units."""
        return np.asarray(values, dtype=np.float64) / self.metres
