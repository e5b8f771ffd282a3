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
        slots, impulse = _sums(contacts.slot[:count][touches], normal_impulse[touches])
        if self.senses:
            sensing = np.flatnonzero(pairs.point_count[: pairs.counter[HIGH]] == OVERLAPS_SENSOR)
            slots = np.concatenate([slots, sensing])
            impulse = np.concatenate([impulse, np.zeros(len(sensing))])
        body = self.owner[pairs.collider[slots]]
        if np.array_equal(body, self._last):
            return
        self._last = body
        key = np.minimum(body[:, 0], body[:, 1]) * len(self.names) + np.maximum(body[:, 0], body[:, 1])
        order = np.argsort(key, kind="stable")  # a compound has several pairs
        now, impulse = _sums(key[order], impulse[order])
        for k in np.flatnonzero(~_is_in(now, self._before)):
            self._add(time, "begin", int(now[k]), float(impulse[k]))
        for k in np.flatnonzero(~_is_in(self._before, now)):
            self._add(time, "end", int(self._before[k]), 0.0)
        self._before = now

    def _add(self, time: float, kind: Literal["begin", "end"], pair: int, impulse: float) -> None:
        a, b = divmod(pair, len(self.names))
        self.events.append(ContactEvent(time, kind, self.names[a], self.names[b], impulse))

    def memory(self) -> tuple[np.ndarray, np.ndarray, list[ContactEvent]]:
        """What the coming steps depend on."""
        return self._last, self._before, self.events

    def recall(self, memory: tuple[np.ndarray, np.ndarray, list[ContactEvent]]) -> None:
        """Take over what `memory` returned earlier."""
        self._last, self._before, self.events = memory


def _sums(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each key once and the sum of its values; equal keys stand next to each other."""
    if len(keys) == 0:
        return keys, values
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(values, first)


def _is_in(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the keys are among the others; both in ascending order, each once."""
    if len(others) == 0:
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    return others[place] == keys
