"""Which bodies begin and cease to touch, found from the contacts of each step."""

import numpy as np

from ..collision.contact_set import ContactSet
from ..collision.pairs import HIGH, OVERLAPS_SENSOR, PairTable, larger
from ..dynamics.contact_rows import ContactRows
from ..jit import kernel
from ..report import ContactEvent, EventKind

KINDS: tuple[EventKind, ...] = ("begin", "persist", "end")
# An event: its kind's place in KINDS, its bodies as `EventLog._key` has them; impulse, point, normal, speed.
ROW = np.dtype([("time", "f8"), ("kind", "i8"), ("pair", "i8"), ("values", "f8", 8)])


@kernel
def list_touching(slot, separation, lasting, collision, count, tolerance, slot_out, impulse_out):
    """List the pairs of colliders that touch, and the sum of their normal impulses in this step [N s].

    Args:
        slot, separation: Of each contact: its pair, those of one pair next to each other, and distance [m].
        lasting, collision: Its impulses in the contact frame [N s], shape (c, 3).
        tolerance: Contacts no farther apart than this touch [m].

    Returns:
        Number of pairs.
    """
    listed = np.int64(0)
    for c in range(count):
        impulse = lasting[c, 0] + collision[c, 0]
        if impulse <= 0.0 and separation[c] > tolerance:
            continue
        if listed == 0 or slot_out[listed - 1] != slot[c]:
            slot_out[listed], impulse_out[listed] = slot[c], 0.0
            listed += 1
        impulse_out[listed - 1] += impulse
    return listed


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
        self._last = np.zeros((0, 2), np.int64)  # bodies of the touching contacts
        self._slots, self._impulses = np.zeros(0, np.int64), np.zeros(0)  # scratch
        self._before = np.zeros(0, np.int64)  # touching pairs: body a times the number of bodies plus body b

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
        if len(self._slots) < count:
            self._slots, self._impulses = np.zeros(larger(count), np.int64), np.zeros(larger(count))
        met = list_touching(
            contacts.slot, contacts.separation, rows.impulse, rows.collision, count, tolerance,
            self._slots, self._impulses,
        )  # fmt: skip
        slots, impulse = self._slots[:met], self._impulses[:met]
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
        self._note_contacts(time, now[noted], impulse[noted], known[noted], contacts, count, rows, tolerance,
                            place, velocity)  # fmt: skip
        ended = self._before[~_is_in(self._before, now)]
        self._append(time, np.full(len(ended), KINDS.index("end")), ended, np.zeros((len(ended), 8)))
        self._before = now

    def _note_contacts(
        self, time: float, pair: np.ndarray, impulse: np.ndarray, known: np.ndarray, contacts: ContactSet,
        count: int, rows: ContactRows, tolerance: float, place: np.ndarray, velocity: np.ndarray,
    ) -> None:  # fmt: skip
        """Note pairs that touch, each at its contact of the largest impulse; a sensor has none."""
        if len(pair) == 0:
            return
        normal_impulse = rows.impulse[:count, 0] + rows.collision[:count, 0]
        touches = np.flatnonzero((normal_impulse > 0.0) | (contacts.separation[:count] <= tolerance))
        touches = touches[np.argsort(-normal_impulse[touches], kind="stable")]
        met, first = np.unique(self._key(contacts.body[touches]), return_index=True)
        values = np.zeros((len(pair), 8))
        values[:, 0] = impulse
        at = _is_in(pair, met)
        chosen = touches[first[np.searchsorted(met, pair[at])]]
        values[at, 1:] = _at_contacts(contacts, chosen, place, velocity)
        kind = np.where(known, KINDS.index("persist"), KINDS.index("begin"))
        self._append(time, kind, pair, values)

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

    def _key(self, body: np.ndarray) -> np.ndarray:
        """One number for each pair of bodies (k, 2)."""
        return body.min(axis=1) * len(self.names) + body.max(axis=1)

    def memory(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the coming steps depend on, and what was noted."""
        return self._last, self._before, self._table()

    def recall(self, memory: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Take over what `memory` returned earlier."""
        self._last, self._before, rows = memory
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
