"""Energy over the frames of a bake, and a picture of it. Pure: no bpy."""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .. import core
from .bake_frames import BakedFrame
from .rigid_frames import rotation_from_wxyz

SIDE = 256  # pixels of the picture along each edge
THICKNESS = 3  # pixels of a curve
BACKGROUND, GRID = (0.09, 0.09, 0.09, 1.0), (0.2, 0.2, 0.2, 1.0)
GRID_LINES = 4
COLOURS = {
    "total": (0.9, 0.9, 0.9, 1.0),
    "kinetic": (1.0, 0.55, 0.15, 1.0),
    "potential": (0.3, 0.55, 1.0, 1.0),
}


class EnergyCurves(NamedTuple):
    """Energies of all bodies that forces can move, at each frame [J], each shape (frames,).

    Attributes:
        kinetic: Of motion and spin.
        potential: Of height and forces, above its least in the bake.
    """

    kinetic: np.ndarray
    potential: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Both."""
        return self.kinetic + self.potential


def energy_curves(frames: Sequence[BakedFrame], scene: core.Scene) -> EnergyCurves:
    """The curves of a bake.

    Equation: T = 1/2 m v.v + 1/2 w.I w with v of the centre of mass; the rest of the frame's energy is V.

    Args:
        frames: The frames so far.
        scene: What is solved; its bodies are in the order of the frames' arrays.
    """
    rows = np.array([i for i, body in enumerate(scene.bodies) if body.is_movable])
    mass = np.array([scene.bodies[i].mass for i in rows])
    inertia = np.stack([scene.bodies[i].inertia for i in rows])
    kinetic = np.empty(len(frames))
    for i, frame in enumerate(frames):
        velocity = frame.linear_velocity[rows]
        spin = rotation_from_wxyz(frame.orientation[rows]).apply(frame.angular_velocity[rows], inverse=True)
        kinetic[i] = 0.5 * (mass @ (velocity**2).sum(axis=1) + np.einsum("bi,bij,bj->", spin, inertia, spin))
    potential = np.array([frame.energy for frame in frames]) - kinetic
    return EnergyCurves(kinetic, potential - potential.min())


def picture(curves: EnergyCurves) -> np.ndarray:
    """The curves over the frames, from 0 J at the bottom to the most at the top, RGBA, shape (SIDE, SIDE, 4).

    Rows go from the bottom up, as Blender has them.
    """
    pixels = np.empty((SIDE, SIDE, 4), dtype=np.float32)
    pixels[:] = BACKGROUND
    for line in np.linspace(THICKNESS // 2, SIDE - 1 - THICKNESS // 2, GRID_LINES + 1).astype(int):
        pixels[line, :] = GRID
    top = float(curves.total.max()) or 1.0
    for name in ("potential", "kinetic", "total"):
        _draw_curve(pixels, getattr(curves, name) / top, COLOURS[name])
    return pixels


def _draw_curve(pixels: np.ndarray, heights: np.ndarray, colour: tuple[float, ...]) -> None:
    """Draw a curve whose values lie between 0 and 1; where it is steep, a column holds all that it passes."""
    margin = THICKNESS // 2
    place = np.linspace(0, len(heights) - 1, 2 * SIDE + 1)
    rows = margin + np.interp(place, np.arange(len(heights)), heights) * (SIDE - 1 - 2 * margin)
    for column in range(SIDE):
        passed = rows[2 * column : 2 * column + 3]
        low, high = round(float(passed.min())) - margin, round(float(passed.max())) + margin
        pixels[max(low, 0) : high + 1, column] = colour
