"""What a run or a check found: penetration, warnings, times. Plain values only."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Stage:
    """Adds the time of what it encloses to that of a named stage [s]."""

    def __init__(self, name: str, seconds: dict[str, float]) -> None:
        """Prepare to add to seconds[name]."""
        self._name, self._seconds = name, seconds

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        self._seconds[self._name] = self._seconds.get(self._name, 0.0) + time.perf_counter() - self._begin


@dataclass(kw_only=True)
class Report:
    """Findings of `simulate` or `verify`.

    Attributes:
        max_penetration: Deepest overlap of any two bodies [m]; 0 where nothing overlaps.
        worst_pair: Names of the two bodies that overlap deepest, None where nothing overlaps.
        worst_frame: Frame in which they do, 0 is the start; None where nothing overlaps.
        warnings: One sentence each, naming bodies and remedy.
        unresolved: What stayed above the tolerance, one dictionary each: from `simulate` steps with `time`
            [s], how many `islands`, the worst `residual` (impulse solver: [m]) and the `pair` it is at; from
            `verify` frames with `frame`, `pair` and `depth` [m].
        solves: What the systems of contact forces took, by the analytic solver: `systems`, `unsolved`,
            `worst_residual` of those solved (relative, natural map), and `wrong_guesses` where contact="lp".
        witness_survival: Part of the pair-steps that the pair's last witness answered (impulse solver).
        stage_seconds: Wall-clock seconds spent in each named stage.
        state_hash: Hash of all states; equal hashes mean equal bits. Empty until a trajectory exists.
    """

    max_penetration: float = 0.0
    worst_pair: tuple[str, str] | None = None
    worst_frame: int | None = None
    warnings: list[str] = field(default_factory=list)
    unresolved: list[dict[str, Any]] = field(default_factory=list)
    solves: dict[str, float] = field(default_factory=dict)
    witness_survival: float = 1.0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    state_hash: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Report":
        """Make the report that `to_dict` described."""
        pair = values.get("worst_pair")
        return cls(**{**values, "worst_pair": None if pair is None else tuple(pair)})


EventKind = Literal["begin", "persist", "end", "collision", "impact without collision"]
Triple = tuple[float, float, float]


class ContactEvent(NamedTuple):
    """Something that happened between two bodies at one moment.

    Attributes:
        time: When it did, for the impulse solver the end of its step [s].
        kind: "begin" or "end" of touching from the impulse solver, and "persist" where
            `ImpulseSolver.event_impulse` asks for it; "collision" from the analytic one, or
            "impact without collision": friction that no force can satisfy.
        body_a, body_b: Names of the bodies.
        impulse: Sum of the normal impulses [N s]; 0 at the end of touching and for sensors.
        point: Where they touch, world frame [m]: the contact of the largest impulse. Zero at the end of
            touching and for sensors; so are the next two.
        normal: There, unit, from b to a, world frame.
        speed: There, of a relative to b before the impulse [m/s].
    """

    time: float
    kind: EventKind
    body_a: str
    body_b: str
    impulse: float
    point: Triple = (0.0, 0.0, 0.0)
    normal: Triple = (0.0, 0.0, 0.0)
    speed: float = 0.0

    @classmethod
    def of_values(cls, values: Sequence[Any]) -> "ContactEvent":
        """From the values in their order, as JSON gives them back."""
        time, kind, a, b, impulse, point, normal, speed = values
        return cls(time, kind, a, b, impulse, tuple(point), tuple(normal), speed)


def event_table(events: Sequence[ContactEvent]) -> NDArray[np.void]:
    """Events as a structured array with their fields: `table[table["kind"] == "begin"]["impulse"]`."""
    name = f"U{max((len(name) for e in events for name in (e.kind, e.body_a, e.body_b)), default=1)}"
    fields = [
        ("time", "f8"), ("kind", name), ("body_a", name), ("body_b", name), ("impulse", "f8"),
        ("point", "f8", 3), ("normal", "f8", 3), ("speed", "f8"),
    ]  # fmt: skip
    return np.array(list(map(tuple, events)), dtype=fields)
