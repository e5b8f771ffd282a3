"""Which bodies begin and cease to touch, found from the contacts of each step."""

import numpy as np

from ..collision.contact_set import ContactSet
from ..collision.pairs import HIGH, OVERLAPS_SENSOR, PairTable
from ..report import ContactEvent, EventKind


class EventLog:
    """Compares the touching pairs of bodies of each step with those of the step before."""

    def __init__(self, names: list[str], owner: np.ndarray, senses: bool, persisting: float | None) -> None:
        """Make an empty log.

        Args:
            names: Of the bodies.
            owner: Body of each collider.
            senses: Whether one is a sensor.
            persisting: Impulse [N s] in a step from which on pairs that stay in touch are noted, if at all.
        """
        self.names, self.owner, self.senses, self.persisting = names, owner, senses, persisting
        self.events: list[ContactEvent] = []
        self._last = np.zeros((0, 2), np.int64)  # bodies of the touching contacts
        self._before = np.zeros(0, np.int64)  # touching pairs: body a times the number of bodies plus body b

    def note(
        self, contacts: ContactSet, count: int, normal_impulse: np.ndarray, pairs: PairTable,
        tolerance: float, time: float, place: np.ndarray, velocity: np.ndarray,
    ) -> None:  # fmt: skip
        """Note what a step changed.

        Args:
            contacts, count: Contacts that the step was solved for.
            normal_impulse: Of each of them in this step [N s], shape (count,).
            tolerance: Contacts no farther apart than this touch [m].
            time: End of the step [s].
            place: Centres of mass [m], shape (n, 3).
            velocity: Before the impulses [m/s, rad/s], shape (n, 6).
        """
        touches = np.flatnonzero((normal_impulse > 0.0) | (contacts.separation[:count] <= tolerance))
        slots, impulse = _sums(contacts.slot[touches], normal_impulse[touches])
        if self.senses:
            sensing = np.flatnonzero(pairs.point_count[: pairs.counter[HIGH]] == OVERLAPS_SENSOR)
            slots = np.concatenate([slots, sensing])
            impulse = np.concatenate([impulse, np.zeros(len(sensing))])
        body = self.owner[pairs.collider[slots]]
        if self.persisting is None and np.array_equal(body, self._last):
            return
        self._last = body
        key = self._key(body)
        order = np.argsort(key, kind="stable")  # a compound has several pairs
        now, impulse = _sums(key[order], impulse[order])
        known = _is_in(now, self._before)
        noted = ~known
        if self.persisting is not None:
            noted |= impulse >= self.persisting
        if noted.any():
            contact = self._key(contacts.body[touches])
            for k in np.flatnonzero(noted):
                mine = touches[contact == now[k]]
                kind = "persist" if known[k] else "begin"
                event = self._event(time, kind, int(now[k]), float(impulse[k]))
                if len(mine) > 0:  # else one is a sensor
                    c = mine[np.argmax(normal_impulse[mine])]
                    event = _at_contact(event, contacts, c, place, velocity)
                self.events.append(event)
        for k in np.flatnonzero(~_is_in(self._before, now)):
            self.events.append(self._event(time, "end", int(self._before[k]), 0.0))
        self._before = now

    def _key(self, body: np.ndarray) -> np.ndarray:
        """One number for each pair of bodies (k, 2)."""
        return body.min(axis=1) * len(self.names) + body.max(axis=1)

    def _event(self, time: float, kind: EventKind, pair: int, impulse: float) -> ContactEvent:
        a, b = divmod(pair, len(self.names))
        return ContactEvent(time, kind, self.names[a], self.names[b], impulse)

    def memory(self) -> tuple[np.ndarray, np.ndarray, list[ContactEvent]]:
        """What the coming steps depend on."""
        return self._last, self._before, self.events

    def recall(self, memory: tuple[np.ndarray, np.ndarray, list[ContactEvent]]) -> None:
        """Take over what `memory` returned earlier."""
        self._last, self._before, self.events = memory


def _at_contact(
    event: ContactEvent, contacts: ContactSet, c: int, place: np.ndarray, velocity: np.ndarray
) -> ContactEvent:
    """The event with where it happened, how the surfaces lie and how fast they met."""
    (a, b), arm = contacts.body[c], contacts.arm[c]
    sign = 1.0 if a < b else -1.0  # events name the lower body first
    surface = velocity[[a, b], :3] + np.cross(velocity[[a, b], 3:], arm)
    slower = int(np.argmin((surface * surface).sum(axis=1)))  # it has gone less far since they met
    point = place[(a, b)[slower]] + arm[slower]
    return event._replace(
        point=tuple(point.tolist()),
        normal=tuple((sign * contacts.normal[c]).tolist()),
        speed=float(np.linalg.norm(surface[0] - surface[1])),
    )


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
