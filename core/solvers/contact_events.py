"""Which bodies begin and cease to touch, found from the contacts of each step."""

import numpy as np

from ..calls import Calls
from ..collision.contact_set import ContactSet
from ..collision.pairs import HIGH, OVERLAPS_SENSOR, PairTable
from ..dynamics.contact_rows import ContactRows
from ..jit import inlined, kernel
from ..math3 import vec3
from ..report import ContactEvent, EventKind
from ..tables import larger, release, scratch_tables

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
    before,
    key_out,
    impulse_out,
    contact_out,
):
    """Note of every pair of colliders whether it touches, how hard, and where most.

    Args:
        slot, body, separation: Of each contact: its pair (those of one are neighbours), bodies, distance [m].
        lasting, collision: Its impulses in the contact frame [N s], shape (c, 3).
        tolerance: Contacts no farther apart than this touch [m].
        before: What was written to `key_out` in the step before; there may be more slots now.
        key_out: Of each slot: its pair of bodies as in ROW, -1 where they do not touch.
        impulse_out: Sum of its normal impulses in this step [N s], where they do.
        contact_out: And the contact of the largest of them.

    Returns:
        Whether others touch than before.
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
    for pair in range(key_out.shape[0]):
        if key_out[pair] != (before[pair] if pair < before.shape[0] else -1):
            return True
    return False


@kernel
def describe_contacts(body_of, arm, normal, chosen, place, velocity, values_out):
    """Where contacts are, how the surfaces lie there and how fast they met: seven columns from the second on.

    Args:
        body_of, arm, normal: Of each contact.
        chosen: Contacts to describe, negative where there is none.
        place, velocity: See `EventLog.note`.
    """
    for i in range(chosen.shape[0]):
        c = chosen[i]
        if c < 0:
            continue
        a, b = body_of[c, 0], body_of[c, 1]
        r_a, r_b = vec3.load(arm[c], 0), vec3.load(arm[c], 1)
        v_a = _surface_velocity(velocity, a, r_a)
        v_b = _surface_velocity(velocity, b, r_b)
        # The slower one has gone less far since they met.
        is_a = vec3.dot(v_a, v_a) <= vec3.dot(v_b, v_b)
        point = vec3.add(vec3.load(place, a if is_a else b), r_a if is_a else r_b)
        sign = 1.0 if a < b else -1.0  # events name the lower body first
        for k in range(3):
            values_out[i, 1 + k] = point[k]
            values_out[i, 4 + k] = sign * normal[c, k]
        values_out[i, 7] = vec3.norm(vec3.subtract(v_a, v_b))


@inlined
def _surface_velocity(velocity, body, r):
    """Velocity of the point of a body at the arm r [m/s]."""
    v = velocity[body]
    return vec3.add((v[0], v[1], v[2]), vec3.cross((v[3], v[4], v[5]), r))


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
        self._call = Calls()
        self.has_compounds = len(np.unique(owner)) < len(owner)
        self._rows = [np.zeros(0, ROW)]  # what was noted, one array after the other
        self._last = np.zeros(0, np.int64)  # of each slot: the pair of bodies that touched, or -1
        self._make_room(0)

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
        last = self._last
        self._last = now = np.empty(pairs.counter[HIGH], np.int64)
        if not self._list_touching(contacts, count, rows, pairs, tolerance, last) and self.persisting is None:
            return
        before = np.full(len(now), -1)
        before[: len(last)] = last
        changed = np.flatnonzero(now != before)
        # A pair that begins to touch did so in none of its slots: a compound has several. Others have one,
        # which may be another slot now, and then both have changed.
        where = slice(None) if self.has_compounds else changed
        begun = _only_in(now[changed], before[where])
        ended = _only_in(before[changed], now[where])
        noted = changed[_is_in(now[changed], begun)] if self.persisting is None else np.flatnonzero(now >= 0)
        self._note_contacts(time, now, noted, begun, contacts, rows, place, velocity)
        self._append(time, np.full(len(ended), KINDS.index("end")), ended, np.zeros((len(ended), 8)))

    def _list_touching(
        self, contacts: ContactSet, count: int, rows: ContactRows, pairs: PairTable, tolerance: float,
        last: np.ndarray,
    ) -> bool:  # fmt: skip
        """Note each slot's pair of bodies, as in ROW, where they touch, else -1; whether any may differ."""
        now, used = self._last, len(self._last)
        if len(self._impulse) < used:
            self._make_room(larger(used))
        changed = self._call(
            list_touching,
            contacts.slot, contacts.body, contacts.separation, rows.impulse, rows.collision, count, tolerance,
            len(self.names), last, now, self._impulse, self._contact,
        )  # fmt: skip
        if self.senses:
            sensing = np.flatnonzero(pairs.point_count[:used] == OVERLAPS_SENSOR)
            body = self.owner[pairs.collider[sensing]]
            now[sensing] = body.min(axis=1) * len(self.names) + body.max(axis=1)
            self._impulse[sensing], self._contact[sensing] = 0.0, -1
        return changed or self.senses

    def _make_room(self, slots: int) -> None:
        """Scratch for what `list_touching` writes of so many slots."""
        self._impulse, self._contact = scratch_tables(((slots,), float), ((slots,), np.int32))

    def renumber(self, slots: np.ndarray) -> None:
        """Pairs moved to the first slots from these."""
        self._last = self._last[slots]

    def rest(self) -> None:
        """Give back the memory that lasts no longer than a step."""
        release([self._impulse])

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
        describe_contacts(contacts.body, contacts.arm, contacts.normal, chosen, place, velocity, values)
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


def _only_in(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Pairs of bodies that are among the keys and not among the others, in ascending order."""
    keys = np.unique(keys)
    keys = keys[np.searchsorted(keys, 0) :]
    return keys[~_is_in(keys, np.sort(others[_is_in(others, keys)]))]


def _sums(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each key once and the sum of its values; equal keys stand next to each other."""
    if len(keys) == 0:
        return keys, values
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(values, first)


def _is_in(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the keys are among the others, which are in ascending order."""
    if len(others) == 0:
        return np.zeros(len(keys), bool)
    place = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    return others[place] == keys
