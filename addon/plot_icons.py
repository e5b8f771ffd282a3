"""Pictures of curves as icons, which is how a panel shows a picture that no file of the artist's holds."""

from __future__ import annotations  # naming core's types must not load the solver

from typing import Any

import bpy
import bpy.utils.previews

from . import energy_plot
from .live_bakes import LiveBake

# Icons of Blender's in the colours of the curves.
LEGEND = {"total": "SNAP_FACE", "kinetic": "COLORSET_02_VEC", "potential": "COLORSET_04_VEC"}

_icons: Any = None  # Blender's collection of previews
_shown: dict[str, tuple[int, energy_plot.EnergyCurves]] = {}  # by the bake's key, with the frames drawn


def add() -> None:
    """Make the collection."""
    global _icons
    _icons = bpy.utils.previews.new()


def remove() -> None:
    """Give it back."""
    global _icons
    bpy.utils.previews.remove(_icons)
    _icons = None
    _shown.clear()


def energy(bake: LiveBake) -> tuple[int, energy_plot.EnergyCurves] | None:
    """The icon and the curves of a bake's energy; None where what was solved is lost."""
    scene = bake.solved_scene()
    if scene is None:
        return None
    name = f"{bake.key} {id(bake)}"
    if name not in _shown or _shown[name][0] != len(bake.frames):
        _icons.clear()
        _shown.clear()  # one plot at a time: a picture takes memory
        curves = energy_plot.energy_curves(bake.frames, scene)
        icon = _icons.new(name)
        icon.image_size = (energy_plot.SIDE, energy_plot.SIDE)
        icon.image_pixels_float.foreach_set(energy_plot.picture(curves).ravel())
        _shown[name] = len(bake.frames), curves
    return _icons[name].icon_id, _shown[name][1]
