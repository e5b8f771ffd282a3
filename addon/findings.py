"""What a bake found, as lines to read and places to go to. Pure: no bpy."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import messages
from .bake_frames import BakedFrame

MOST = 5  # unresolved steps that are listed one by one
SHOWN = 1e-9  # overlaps below are those of rounding [m]


class Finding(NamedTuple):
    """One line of the report.

    Attributes:
        text: What was found.
        frame: Frame to go to, None where it belongs to no frame.
        bodies: Bodies to select there.
        bad: Whether it is a warning.
    """

    text: str
    frame: int | None = None
    bodies: tuple[str, ...] = ()
    bad: bool = False


def findings(
    frames: Sequence[BakedFrame], names: Sequence[str], first_frame: int, fps: float, report: dict[str, Any],
    tolerance: float,
) -> list[Finding]:  # fmt: skip
    """The lines of the report panel.

    Args:
        frames: The frames so far.
        names: Bodies in the order of the frames' arrays.
        first_frame: Frame number of the start.
        fps: Frames per second.
        report: `topple.Report` as plain values; empty while the bake runs.
        tolerance: Overlap that the solver may leave [m].
    """
    found = [_deepest(frames, names, first_frame, tolerance)]
    start, end = frames[0].energy, frames[-1].energy
    found.append(Finding(f"Energy {messages.energy(start)} at the start, {messages.energy(end)} at the end"))
    stages = report.get("stage_seconds", {})
    if stages:
        slowest = max(stages, key=lambda name: stages[name])
        share = 100 * stages[slowest] / sum(stages.values())
        found.append(
            Finding(f"Slowest stage: {slowest}, {share:.0f} % of {sum(stages.values()):.3g}{messages.SPACE}s")
        )
    unresolved = report.get("unresolved", [])
    if unresolved:
        found.append(Finding(f"{len(unresolved)} steps above the tolerance", bad=True))
        for step in unresolved[:MOST]:
            frame = first_frame + round(step["time"] * fps)
            a, b = step["pair"]
            text = f"  '{a}' and '{b}' at {step['time']:.3f}{messages.SPACE}s"
            found.append(Finding(text, frame, _named(text, names), bad=True))
    found += [
        Finding(text, first_frame, _named(text, names), bad=True) for text in report.get("warnings", [])
    ]
    return found


def _deepest(
    frames: Sequence[BakedFrame], names: Sequence[str], first_frame: int, tolerance: float
) -> Finding:
    depth = frames[-1].deepest
    if depth <= SHOWN:
        return Finding("No overlap")
    place = next(i for i, frame in enumerate(frames) if frame.deepest >= depth)
    frame = frames[place]
    pair: list[str] = []
    if len(frame.contact_depth):
        one, other = frame.contact_body[int(np.argmax(frame.contact_depth))].tolist()
        pair = [names[int(one)], names[int(other)]]
    return Finding(
        f"Deepest overlap {messages.length(depth)}", first_frame + place, tuple(pair), depth > tolerance
    )


def _named(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Bodies that a sentence names between quotes."""
    quoted = set(text.split("'")[1::2])
    return tuple(name for name in names if name in quoted)
