"""Which bodies begin and cease to touch, found from the contacts of each step."""

from typing import Literal

import numpy as np

from ..collision.contact_set import ContactSet
from ..collision.pairs import HIGH, OVERLAPS_SENSOR, PairTable
from ..report import ContactEvent


class EventLog:
    """Compares the touching pairs of bodies of each step with those of the step before."""

    def __init__(self, names: list[str], owner: np.ndarray) -> None:
        """`names`: of the bodies; `owner`: body of each collider."""
        self.names, self.owner = names, owner
        self.events: list[ContactEvent] = []
        self._before = np.zeros(0, np.int64)  # touching pairs: body a times the number of bodies plus body b

    def note(
        self, contacts: ContactSet, count: int, normal_impulse: np.ndarray, pairs: PairTable,
        tolerance: float, time: float,
    ) -> None:  # fmt: skip
        """Note what a step changed.

        Args:
            contacts, count: Contacts that the step was solved for.
            normal_impulse: Of each of them in this step [N s], shape (count,).
            tolerance: Contacts no farther apart than this touch [m].
            time: End of the step [s].
        """
        touches = (normal_impulse > 0.0) | (contacts.separation[:count] <= tolerance)
        body = contacts.body[:count][touches]
        slots = np.flatnonzero(pairs.point_count[: pairs.counter[HIGH]] == OVERLAPS_SENSOR)
        sensed = self.owner[pairs.collider[slots]]
        n = len(self.names)
        key = np.minimum(body[:, 0], body[:, 1]) * n + np.maximum(body[:, 0], body[:, 1])
        sensed_key = sensed.min(axis=1, initial=n) * n + sensed.max(axis=1, initial=0)
        now = np.unique(np.concatenate([key, sensed_key]))
        if len(now) == len(self._before) and (now == self._before).all():
            return
        begun = np.setdiff1d(now, self._before, assume_unique=True)
        ended = np.setdiff1d(self._before, now, assume_unique=True)
        self._before = now
        impulse = normal_impulse[touches]
        for pair in begun:
            self._add(time, "begin", int(pair), float(impulse[key == pair].sum()))
        for pair in ended:
            self._add(time, "end", int(pair), 0.0)

    def _add(self, time: float, kind: Literal["begin", "end"], pair: int, impulse: float) -> None:
        a, b = divmod(pair, len(self.names))
        self.events.append(ContactEvent(time, kind, self.names[a], self.names[b], impulse))

    def memory(self) -> tuple[np.ndarray, list[ContactEvent]]:
        """What the coming steps depend on."""
        return self._before, self.events

    def recall(self, memory: tuple[np.ndarray, list[ContactEvent]]) -> None:
        """Take over what `memory` returned earlier."""
        self._before, self.events = memory
