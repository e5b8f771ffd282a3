"""A bake from end to end: read the scene, solve it, write the keyframes."""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Callable
from dataclasses import dataclass

import bpy

from .. import core
from .scene_reader import SceneReading, read_scene
from .trajectory_writer import write_trajectory


@dataclass(frozen=True)
class BakeSummary:
    """What a finished bake has to say."""

    bodies: int
    frames: int
    max_penetration: float
    warnings: tuple[str, ...]


def bake_scene(context: bpy.types.Context, progress: Callable[[str, int, int], None]) -> BakeSummary:
    """Bake the Topple bodies of the context's view layer into keyframes.

    Raises:
        ToppleError: Says what to change; the scene is as it was.
    """
    reading = read_scene(context)
    trajectory = core.simulate(
        reading.scene,
        frames=reading.frames,
        fps=reading.fps,
        solver=_solver(context.scene.topple),
        progress=progress,
    )
    write_trajectory(reading.keyed, trajectory, reading.unit, reading.first_frame)
    context.view_layer.update()
    return _summary(reading, trajectory)


def _solver(settings: bpy.types.PropertyGroup) -> core.ImpulseSolver | core.AnalyticSolver:
    if settings.solver == "analytic":
        return core.AnalyticSolver()
    return core.ImpulseSolver(time_step=1.0 / settings.steps_per_second, tolerance=settings.tolerance)


def _summary(reading: SceneReading, trajectory: core.Trajectory) -> BakeSummary:
    return BakeSummary(
        bodies=len(reading.keyed),
        frames=reading.frames,
        max_penetration=trajectory.report.max_penetration,
        warnings=(*reading.notes, *trajectory.report.warnings),
    )
