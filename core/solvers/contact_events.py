"""Which bodies begin and cease to touch, found from the contacts of each step."""

import numpy as np

from ..collision.contact_set import ContactSet
from ..collision.pairs import HIGH, OVERLAPS_SENSOR, PairTable
from ..dynamics.contact_rows import ContactRows
from ..jit import kernel
from ..report import ContactEvent, EventKind
from ..tables import larger

KINDS: tuple[EventKind, ...] = ("begin", "persist", "end")
# An event: its place in KINDS; its pair, lower body times the number of bodies plus higher; impulse, point,
# normal, speed.
ROW = np.dtype([("time", "f8"), ("kind", "i8"), ("pair", "i8"), ("values", "f8", 8)])


@kernel
def list_touching(
    slot,
    body,
    separation,
    lasting,
    collision,
    count,
    tolerance,
    body_count,
    key_out,
    impulse_out,
    contact_out,
):
    """Note of every pair of colliders whether it touches, how hard, and where most.

    Args:
        slot, body, separation: Of each contact: its pair (those of one are neighbours), bodies, distance [m].
        lasting, collision: Its impulses in the contact frame [N s], shape (c, 3).
        tolerance: Contacts no farther apart than this touch [m].
        key_out: Of each slot: its pair of bodies as in ROW, -1 where they do not touch.
        impulse_out: Sum of its normal impulses in this step [N s], where they do.
        contact_out: And the contact of the largest of them.
    """
    key_out[:] = -1
    largest = 0.0
    for c in range(count):
        impulse = lasting[c, 0] + collision[c, 0]
        if impulse <= 0.0 and separation[c] > tolerance:
            continue
        pair, a, b = slot[c], body[c, 0], body[c, 1]
        if key_out[pair] < 0:
            key_out[pair] = min(a, b) * body_count + max(a, b)
            impulse_out[pair], contact_out[pair], largest = 0.0, c, impulse
        elif impulse > largest:
            contact_out[pair], largest = c, impulse
        impulse_out[pair] += impulse


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
        self._rows = [np.zeros(0, ROW)]  # what was noted, one array after the other
        self._last = np.zeros(0, np.int64)  # of each slot: the pair of bodies that touched, or -1
        self._impulse, self._contact = np.zeros(0), np.zeros(0, np.int64)  # scratch: see `list_touching`

    def note(
        self, contacts: ContactSet, count: int, rows: ContactRows, pairs: PairTable,
        tolerance: float, time: float, place: np.ndarray, velocity: np.ndarray,
    ) -> None:  # fmt: skip
        """Note what a step changed.

        Args:
            contacts, count, rows: Contacts that the step was solved for, and their impulses.
            tolerance: Contacts no farther apart than this touch [m].
            time: End of the step [s].
            place: Centres of mass [m], shape (n, 3).
            velocity: Before the impulses [m/s, rad/s], shape (n, 6).
        """
        now = self._touching(contacts, count, rows, pairs, tolerance)
        before = np.full(len(now), -1)
        before[: len(self._last)] = self._last
        self._last = now
        changed = np.flatnonzero(now != before)
        if self.persisting is None and len(changed) == 0:
            return
        begun, ended = _only_in(now, before, changed), _only_in(before, now, changed)
        # A pair that begins to touch did so in none of its slots: a compound has several.
        noted = changed[_is_in(now[changed], begun)] if self.persisting is None else np.flatnonzero(now >= 0)
        self._note_contacts(time, now, noted, begun, contacts, rows, place, velocity)
        self._append(time, np.full(len(ended), KINDS.index("end")), ended, np.zeros((len(ended), 8)))

    def _touching(
        self, contacts: ContactSet, count: int, rows: ContactRows, pairs: PairTable, tolerance: float
    ) -> np.ndarray:
        """The pair of bodies of each slot, as in ROW, where they touch; else -1."""
        used = pairs.counter[HIGH]
        if len(self._impulse) < used:
            self._impulse, self._contact = np.zeros(larger(used)), np.zeros(larger(used), np.int64)
        now = np.empty(used, np.int64)
        list_touching(
            contacts.slot, contacts.body, contacts.separation, rows.impulse, rows.collision, count, tolerance,
            len(self.names), now, self._impulse, self._contact,
        )  # fmt: skip
        if self.senses:
            sensing = np.flatnonzero(pairs.point_count[:used] == OVERLAPS_SENSOR)
            body = self.owner[pairs.collider[sensing]]
            now[sensing] = body.min(axis=1) * len(self.names) + body.max(axis=1)
            self._impulse[sensing], self._contact[sensing] = 0.0, -1
        return now

    def _note_contacts(
        self, time: float, now: np.ndarray, slots: np.ndarray, begun: np.ndarray, contacts: ContactSet,
        rows: ContactRows, place: np.ndarray, velocity: np.ndarray,
    ) -> None:  # fmt: skip
        """Note the pairs of bodies in these slots, each at its contact of the largest impulse, if it has one.

        Args:
            now: Pair of bodies of each slot.
            begun: Pairs that did not touch before; of others those whose impulse is large enough are noted.
        """
        if len(slots) == 0:
            return
        slots = slots[np.argsort(now[slots], kind="stable")]
        pair, impulse = _sums(now[slots], self._impulse[slots])
        chosen = self._contact[slots]
        strength = np.where(chosen >= 0, rows.impulse[chosen, 0] + rows.collision[chosen, 0], -np.inf)
        chosen = chosen[np.lexsort((-strength, now[slots]))][np.searchsorted(now[slots], pair)]
        known = ~_is_in(pair, begun)
        if self.persisting is not None:
            noted = ~known | (impulse >= self.persisting)
            pair, impulse, chosen, known = pair[noted], impulse[noted], chosen[noted], known[noted]
        values = np.zeros((len(pair), 8))
        values[:, 0] = impulse
        at = chosen >= 0
        values[at, 1:] = _at_contacts(contacts, chosen[at], place, velocity)
        self._append(time, np.where(known, KINDS.index("persist"), KINDS.index("begin")), pair, values)

    def _append(self, time: float, kind: np.ndarray, pair: np.ndarray, values: np.ndarray) -> None:
        """Append events with these impulses, points, normals and speeds, shape (k, 8)."""
        if len(pair):
            rows = np.empty(len(pair), ROW)
            rows["time"], rows["kind"], rows["pair"], rows["values"] = time, kind, pair, values
            self._rows.append(rows)

    @property
    def events(self) -> list[ContactEvent]:
        """All that was noted."""
        events, count = [], len(self.names)
        for time, kind, pair, (impulse, *point_and_normal, speed) in self._table().tolist():
            a, b = divmod(pair, count)
            x, y, z, *normal = point_and_normal
            events.append(
                ContactEvent(
                    time, KINDS[kind], self.names[a], self.names[b], impulse, (x, y, z), tuple(normal), speed
                )
            )
        return events

    def _table(self) -> np.ndarray:
        """All rows in one array."""
        self._rows = [np.concatenate(self._rows)]
        return self._rows[0]

    def memory(self) -> tuple[np.ndarray, np.ndarray]:
        """What the coming steps depend on, and what was noted."""
        return self._last, self._table()

    def recall(self, memory: tuple[np.ndarray, np.ndarray]) -> None:
        """Take over what `memory` returned earlier."""
        self._last, rows = memory
        self._rows = [rows]


def _at_contacts(
    contacts: ContactSet, chosen: np.ndarray, place: np.ndarray, velocity: np.ndarray
) -> np.ndarray:
    """Where contacts are, how the surfaces lie there and how fast they met: shape (k, 7)."""
    body, arm = contacts.body[chosen], contacts.arm[chosen]
    sign = np.where(body[:, 0] < body[:, 1], 1.0, -1.0)  # events name the lower body first
    surface = velocity[body, :3] + np.cross(velocity[body, 3:], arm)
    slower = (surface * surface).sum(axis=2).argmin(axis=1)  # it has gone less far since they met
    k = np.arange(len(chosen))
    point = place[body[k, slower]] + arm[k, slower]
    speed = np.linalg.norm(surface[:, 0] - surface[:, 1], axis=1)
    return np.column_stack([point, sign[:, None] * contacts.normal[chosen], speed])


def _only_in(table: np.ndarray, other: np.ndarray, changed: np.ndarray) -> np.ndarray:
    """Pairs of a table that another has in no slot, in ascending order; they differ in slots `changed`."""
    keys = np.unique(table[changed])
    keys = keys[np.searchsorted(keys, 0) :]
    there = other[other >= 0]
    return keys[~_is_in(keys, np.unique(there[_is_in(there, keys)]))]


def _sums(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each key once and the sum of its values; equal keys stand next to each other."""
    if len(keys) == 0:
        return keys, values
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(values, first)


def _is_in(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the keys are among the others, which are in ascending order, each once."""
    if len(others) == 0:
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    return others[place] == keys
