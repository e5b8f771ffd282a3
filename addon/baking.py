"""A bake from end to end: read the scene, solve it, show it or write its keyframes."""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Callable
from dataclasses import dataclass

import bpy

from .. import core
from . import messages
from .live_bakes import LiveBake
from .trajectory_writer import EVERY_FRAME, KeyChoice, write_trajectory


@dataclass(frozen=True)
class BakeSummary:
    """What a finished bake has to say."""

    bodies: int
    frames: int
    max_penetration: float
    warnings: tuple[str, ...]


def bake_now(bake: LiveBake, progress: Callable[[str, int, int], None]) -> None:
    """Do the work of a bake in a plain loop.

    Raises:
        SolverError: The work failed; says what to change.
    """
    assert bake.job is not None
    bake.job.run(progress)
    if bake.job.state == "failed":
        raise core.SolverError(bake.job.error)


def write_keyframes(
    context: bpy.types.Context,
    bake: LiveBake,
    choice: KeyChoice = EVERY_FRAME,
    *,
    selected_only: bool = False,
    nla: bool = False,
) -> int:
    """Write what there is of a bake into keyframes; returns the number of objects."""
    objects = bake.objects()
    if selected_only:
        objects = {name: obj for name, obj in objects.items() if obj.select_get()}
    write_trajectory(bake.keyed, bake.paths(), bake.unit, bake.first_frame, objects, choice, nla=nla)
    context.view_layer.update()
    return len(objects)


def summary(bake: LiveBake) -> BakeSummary:
    """What a bake that has ended has to say."""
    notes = bake.job.notes if bake.job is not None else []
    outcome = bake.outcome
    objects = bake.objects()
    missing = [target.name for target in bake.keyed if target.name not in objects]
    return BakeSummary(
        bodies=len(bake.keyed),
        frames=max(len(bake.frames) - 1, 0),
        max_penetration=bake.frames[-1].deepest if bake.frames else 0.0,
        warnings=(
            *notes,
            *outcome.get("notes", ()),
            *outcome.get("report", {}).get("warnings", ()),
            *([messages.objects_gone(missing)] if missing else []),
        ),
    )
