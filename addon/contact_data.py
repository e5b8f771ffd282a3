"""What touched what: contact events as tables, and where bodies hit hard. Pure: no bpy."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .bake_frames import BakedFrame

COLUMNS = (
    "time", "frame", "kind", "body_a", "body_b", "impulse",
    "x", "y", "z", "normal_x", "normal_y", "normal_z", "speed",
)  # fmt: skip


class Event(NamedTuple):
    """A contact event at a frame of Blender.

    Attributes:
        time: Since the start of the bake [s].
        frame: The frame number, with its fraction.
        kind: "begin", "end", "collision" or "impact without collision"; see `topple.ContactEvent`.
        body_a, body_b: Names.
        impulse: Sum of the normal impulses [N s].
        point, normal: Where they touch [m], and the unit normal there, from b to a; world axes.
        speed: There, relative [m/s].
    """

    time: float
    frame: float
    kind: str
    body_a: str
    body_b: str
    impulse: float
    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    speed: float


def events_of(found: Iterable[Sequence[Any]], first_frame: int, fps: float) -> list[Event]:
    """The events of a bake's report, with their frames."""
    return [Event(time, first_frame + time * fps, kind, *rest) for time, kind, *rest in found]


def as_csv(events: Iterable[Event]) -> bytes:
    """A table with a line of titles; SI units."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([*event[:6], *event.point, *event.normal, event.speed] for event in events)
    return text.getvalue().encode()


def as_json(events: Iterable[Event]) -> bytes:
    """A list of objects; SI units."""
    return (json.dumps([event._asdict() for event in events], indent=1) + "\n").encode()


def impacts(events: Iterable[Event], threshold: float) -> dict[int, Event]:
    """The hardest hit of each frame number, of those with at least so much impulse [N s]."""
    hardest: dict[int, Event] = {}
    for event in events:
        frame = round(event.frame)
        if (
            event.kind != "end"
            and event.impulse >= threshold
            and (frame not in hardest or event.impulse > hardest[frame].impulse)
        ):
            hardest[frame] = event
    return hardest


def speeds(frames: Sequence[BakedFrame]) -> np.ndarray:
    """Speed of each body's centre of mass at each frame [m/s], shape (frames, bodies)."""
    return np.stack([np.linalg.norm(frame.linear_velocity, axis=1) for frame in frames])


def impact_impulses(
    events: Iterable[Event], names: Sequence[str], first_frame: int, frames: int
) -> np.ndarray:
    """Impulse with which each body is hit at each frame [N s], shape (frames, bodies)."""
    index = {name: i for i, name in enumerate(names)}
    impulses = np.zeros((frames, len(names)))
    for event in events:
        frame = round(event.frame) - first_frame
        if event.kind == "end" or not 0 <= frame < frames:
            continue
        for name in (event.body_a, event.body_b):
            impulses[frame, index[name]] += event.impulse
    return impulses
