"""Which bodies begin and cease to touch, found from the contacts of each step."""

from typing import NamedTuple

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
BEGIN, PERSIST, END = range(3)
# An event: its place in KINDS; its pair, lower body times the number of bodies plus higher; impulse, point,
# normal, speed.
ROW = np.dtype([("time", "f8"), ("kind", "i8"), ("pair", "i8"), ("values", "f8", 8)])


@kernel
def list_touching(
    contacts, lasting, collision, count, tolerance, owner, pairs, body_count, before, touching, changed_out,
    was_out,
):  # fmt: skip
    """Note of every pair of colliders whether it touches, how hard, and where most.

    Args:
        contacts: A contact set; those of one pair are neighbours.
        lasting, collision: Impulses in the contact frame [N s], shape (c, 3).
        tolerance: Contacts no farther apart than this touch [m].
        owner: Body of each collider.
        before: What was written to `touching.pair` in the step before; there may be more slots now.
        touching: Written.
        changed_out: Written: slots in which others touch than before, shape (slots,).
        was_out: And what touched in these before.

    Returns:
        How many slots these are.
    """
    pair, impulse_sum, strongest = touching.pair, touching.impulse, touching.contact
    pair[:] = -1
    largest, changed = 0.0, 0
    for c in range(count):
        impulse = lasting[c, 0] + collision[c, 0]
        if impulse <= 0.0 and contacts.separation[c] > tolerance:
            continue
        slot, a, b = contacts.slot[c], contacts.body[c, 0], contacts.body[c, 1]
        if pair[slot] < 0:
            pair[slot] = min(a, b) * body_count + max(a, b)
            impulse_sum[slot], strongest[slot], largest = 0.0, c, impulse
        elif impulse > largest:
            strongest[slot], largest = c, impulse
        impulse_sum[slot] += impulse
    for slot in range(pair.shape[0]):
        if pairs.point_count[slot] == OVERLAPS_SENSOR:
            a, b = owner[pairs.collider[slot, 0]], owner[pairs.collider[slot, 1]]
            pair[slot] = min(a, b) * body_count + max(a, b)
            impulse_sum[slot], strongest[slot] = 0.0, -1
        was = before[slot] if slot < before.shape[0] else -1
        if pair[slot] != was:
            changed_out[changed], was_out[changed] = slot, was
            changed += 1
    return changed


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


class Touching(NamedTuple):
    """What touches now, by the slots of pairs of colliders."""

    pair: np.ndarray  # (slots,) pair of bodies as in ROW, -1 where they do not touch
    impulse: np.ndarray  # [N s] (slots,) sum of the normal impulses of the step, where they do
    contact: np.ndarray  # (slots,) and the contact of the largest of them; -1 where one is a sensor


class EventLog:
    """Compares the touching pairs of bodies of each step with those of the step before."""

    def __init__(self, names: list[str], owner: np.ndarray, persisting: float | None) -> None:
        """Make an empty log.

        Args:
            names: Of the bodies.
            owner: Body of each collider.
            persisting: Impulse [N s] in a step from which on pairs that stay in touch are noted, if at all.
        """
        self.names, self.owner, self.persisting = names, owner, persisting
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
        used, before = int(pairs.counter[HIGH]), self._last
        if len(self._impulse) < used:
            self._make_room(larger(used))
        self._last = now = np.empty(used, np.int64)
        touching = Touching(now, self._impulse, self._contact)
        count = self._call(
            list_touching,
            contacts, rows.impulse, rows.collision, count, tolerance, self.owner, pairs, len(self.names),
            before, touching, self._changed, self._was,
        )  # fmt: skip
        if count == 0 and self.persisting is None:
            return
        changed, new, old = self._changed[:count], now[self._changed[:count]], self._was[:count]
        begun, ended = _only_in(new, old), _only_in(old, new)
        if self.has_compounds:  # of which several slots may touch, now or before
            begun, ended = begun[~_is_among(begun, before)], ended[~_is_among(ended, now)]
        noted = changed[_is_in(new, begun)] if self.persisting is None else np.flatnonzero(now >= 0)
        self._note_contacts(time, touching, noted, begun, contacts, rows, place, velocity)
        self._append(time, END, ended, np.zeros((len(ended), 8)))

    def _make_room(self, slots: int) -> None:
        """Scratch for what `list_touching` writes of so many slots."""
        self._impulse, self._was, self._contact, self._changed = scratch_tables(
            ((slots,), float), ((slots,), np.int64), ((slots,), np.int32), ((slots,), np.int32)
        )

    def renumber(self, slots: np.ndarray) -> None:
        """Pairs moved to the first slots from these."""
        self._last = self._last[slots]

    def rest(self) -> None:
        """Give back the memory that lasts no longer than a step."""
        release([self._impulse])

    def _note_contacts(
        self, time: float, touching: Touching, slots: np.ndarray, begun: np.ndarray, contacts: ContactSet,
        rows: ContactRows, place: np.ndarray, velocity: np.ndarray,
    ) -> None:  # fmt: skip
        """Note the pairs of bodies in these slots, each at its contact of the largest impulse, if it has one.

        Args:
            begun: Pairs that did not touch before; of others those whose impulse is large enough are noted.
        """
        if len(slots) == 0:
            return
        slots = slots[np.argsort(touching.pair[slots], kind="stable")]
        pair, impulse, chosen = touching.pair[slots], touching.impulse[slots], touching.contact[slots]
        if self.has_compounds:
            pair, impulse, chosen = _by_pair(pair, impulse, chosen, rows)
        kind = np.where(_is_in(pair, begun), BEGIN, PERSIST)
        if self.persisting is not None:
            noted = (kind == BEGIN) | (impulse >= self.persisting)
            pair, impulse, chosen, kind = pair[noted], impulse[noted], chosen[noted], kind[noted]
        values = np.zeros((len(pair), 8))
        values[:, 0] = impulse
        describe_contacts(contacts.body, contacts.arm, contacts.normal, chosen, place, velocity, values)
        self._append(time, kind, pair, values)

    def _append(self, time: float, kind: np.ndarray | int, pair: np.ndarray, values: np.ndarray) -> None:
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
    """Pairs of bodies that are among the keys and not among the others, each once, in ascending order."""
    return np.array(sorted(set(keys.tolist()).difference(others.tolist(), [-1])), np.int64)


def _by_pair(
    pair: np.ndarray, impulse: np.ndarray, contact: np.ndarray, rows: ContactRows
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each pair once, in ascending order as given, the sum of its impulses, its contact of the largest."""
    strength = np.where(contact >= 0, rows.impulse[contact, 0] + rows.collision[contact, 0], -np.inf)
    first = np.flatnonzero(_differs(pair))
    return pair[first], np.add.reduceat(impulse, first), contact[np.lexsort((-strength, pair))][first]


def _is_among(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the keys, which are in ascending order, are among many others."""
    return _is_in(keys, np.sort(others[_is_in(others, keys)]))


def _differs(keys: np.ndarray) -> np.ndarray:
    """Which of the keys are not the same as the one before."""
    differs = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=differs[1:])
    return differs


def _is_in(keys: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the keys are among the others, which are in ascending order."""
    if len(others) == 0:
        return np.zeros(len(keys), bool)
    place = others.searchsorted(keys)
    place[place == len(others)] = 0
    return others[place] == keys
