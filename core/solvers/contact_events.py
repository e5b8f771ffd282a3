"""Which bodies begin and cease to touch, found from the contacts of each step."""

from typing import Literal

import numpy as np

from ..collision.contact_set import ContactSet
from ..collision.pairs import HIGH, OVERLAPS_SENSOR, PairTable
from ..report import ContactEvent


class EventLog:
    """Compares the touching pairs of bodies of each step with those of the step before."""

    def __init__(self, names: list[str], owner: np.ndarray, senses: bool) -> None:
        """`names`: of the bodies; `owner`: body of each collider; `senses`: whether one is a sensor."""
        self.names, self.owner, self.senses = names, owner, senses
        self.events: list[ContactEvent] = []
        self._last = np.zeros((0, 2), np.int64)  # bodies of the touching contacts
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
        slots = contacts.slot[:count][touches]
        if self.senses:
            sensing = np.flatnonzero(pairs.point_count[: pairs.counter[HIGH]] == OVERLAPS_SENSOR)
            slots = np.concatenate([slots, sensing])
        body = self.owner[pairs.collider[slots]]
        if np.array_equal(body, self._last):
            return
        self._last = body
        key = np.minimum(body[:, 0], body[:, 1]) * len(self.names) + np.maximum(body[:, 0], body[:, 1])
        now = np.unique(key)
        begun = np.setdiff1d(now, self._before, assume_unique=True)
        ended = np.setdiff1d(self._before, now, assume_unique=True)
        self._before = now
        impulse = normal_impulse[touches]
        for pair in begun:
            own = np.flatnonzero(key[: len(impulse)] == pair)  # sensors have none
            self._add(time, "begin", int(pair), float(impulse[own].sum()))
        for pair in ended:
            self._add(time, "end", int(pair), 0.0)

    def _add(self, time: float, kind: Literal["begin", "end"], pair: int, impulse: float) -> None:
        a, b = divmod(pair, len(self.names))
        self.events.append(ContactEvent(time, kind, self.names[a], self.names[b], impulse))

    def memory(self) -> tuple[np.ndarray, np.ndarray, list[ContactEvent]]:
        """What the coming steps depend on."""
        return self._last, self._before, self.events

    def recall(self, memory: tuple[np.ndarray, np.ndarray, list[ContactEvent]]) -> None:
        """Take over what `memory` returned earlier."""
        self._last, self._before, self.events = memory
