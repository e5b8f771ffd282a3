"""Which bodies begin and cease to touch, found from the contacts of each step."""

import math
from typing import NamedTuple

import numpy as np

from ..collision.pairs import HIGH, OVERLAPS_SENSOR
from ..crew import LEADER, ONLY, next_piece, piece_done, pieces_of, put_up, wait_for_all
from ..dynamics.contact_rows import first_of_pair
from ..jit import inlined, inner, kernel
from ..math3 import vec3
from ..report import ContactEvent, EventKind
from ..sorted_keys import drop_common, place_of, sort_keys
from ..tables import release, scratch_tables
from .impulse_progress import NOW

KINDS: tuple[EventKind, ...] = ("begin", "persist", "end")
BEGIN, PERSIST, END = range(3)
# An event: its place in KINDS; its pair, lower body times the number of bodies plus higher; impulse, point,
# normal, speed.
ROW = np.dtype([("time", "f8"), ("kind", "i8"), ("pair", "i8"), ("values", "f8", 8)])
RECENT = 512  # events that steps keep before they go to the log
CONTACTS_OF_PIECE = 512
NOTED, ENDED = 0, 1  # of EventScratch.count
NONE = np.int64(0)  # typed: a literal would compile what it is passed to once more


class EventScratch(NamedTuple):
    """What one step found, by the slots of pairs of colliders, or pair by pair of bodies."""

    impulse: np.ndarray  # [N s] (slots,) sum of the normal impulses of the step, where any touch
    strongest: np.ndarray  # (slots,) and the contact of the largest of them; -1 where one is a sensor
    now: np.ndarray  # (slots,) the pair of bodies that touch, as in ROW, -1 where none do
    changed: np.ndarray  # (slots,) slots in which others touch than before
    begun: np.ndarray  # (slots,) pairs that begin to touch, in ascending order
    ended: np.ndarray  # (slots,) and those that cease to
    again: np.ndarray  # (slots,) whether each of these touches, or touched, in another slot as well
    noted: np.ndarray  # (slots,) pairs of the events but those that end, in ascending order
    kind: np.ndarray  # (slots,) of these events
    contact: np.ndarray  # (slots,) the contact that stands for each of them; -1 where there is none
    values: np.ndarray  # (slots, 8) and the last columns of ROW
    count: np.ndarray  # (2,) how many are noted, how many ended


class RecentEvents(NamedTuple):
    """The events of the last steps, in the order in which they were found; columns as in ROW."""

    time: np.ndarray  # [s] (k,)
    kind: np.ndarray  # (k,)
    pair: np.ndarray  # (k,)
    values: np.ndarray  # (k, 8)
    count: np.ndarray  # (1,) how many there are


def recent_events(room: int) -> RecentEvents:
    """Room for so many."""
    return RecentEvents(
        np.zeros(room), np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros((room, 8)),
        count=np.zeros(1, np.int64),
    )  # fmt: skip


def event_scratch(slots: int) -> EventScratch:
    """Scratch for so many slots."""
    pairs, indices = ((slots,), np.int64), ((slots,), np.int32)
    return EventScratch(
        *scratch_tables(
            ((slots,), float), indices, pairs, indices, pairs, pairs, ((slots,), np.bool_), pairs, pairs,
            indices, ((slots, 8), float), ((2,), np.int64),
        )
    )  # fmt: skip


@inlined
def _impulse_at(lasting, collision, c):
    """Normal impulse of contact `c` in the step [N s]."""
    return lasting[c, 0] + collision[c, 0]


@inner
def _note_touching(contacts, lasting, collision, first, last, tolerance, body_count, now, found):
    """Note which pairs of colliders touch in some contacts, how hard, and where most."""
    largest = 0.0
    for c in range(first, last):
        impulse = _impulse_at(lasting, collision, c)
        if impulse <= 0.0 and contacts.separation[c] > tolerance:
            continue
        slot, a, b = contacts.slot[c], contacts.body[c, 0], contacts.body[c, 1]
        if now[slot] < 0:
            now[slot] = min(a, b) * body_count + max(a, b)
            found.impulse[slot], found.strongest[slot], largest = 0.0, c, impulse
        elif impulse > largest:
            found.strongest[slot], largest = c, impulse
        found.impulse[slot] += impulse


@inner
def _list_changed(owner, pairs, body_count, before, now, found):
    """List the slots in which others touch than before, and what did and does; returns three numbers."""
    changed, begun, ended = 0, NONE, NONE
    for slot in range(now.shape[0]):
        if pairs.point_count[slot] == OVERLAPS_SENSOR and pairs.collider[slot, 0] >= 0:  # not given up since
            a, b = owner[pairs.collider[slot, 0]], owner[pairs.collider[slot, 1]]
            now[slot] = min(a, b) * body_count + max(a, b)
            found.impulse[slot], found.strongest[slot] = 0.0, -1
        was = before[slot]
        if now[slot] == was:
            continue
        found.changed[changed] = slot
        changed += 1
        if now[slot] >= 0:
            found.begun[begun] = now[slot]
            begun += 1
        if was >= 0:
            found.ended[ended] = was
            ended += 1
    return changed, begun, ended


@inner
def _drop_those_in(keys, count, others, again):
    """Drop from so many sorted keys those that are among the others; returns how many are left."""
    for i in range(count):
        again[i] = False
    for k in range(others.shape[0] if count > 0 else 0):
        i = place_of(keys, count, others[k])
        if i >= 0:
            again[i] = True
    left = 0
    for i in range(count):
        if not again[i]:
            keys[left] = keys[i]
            left += 1
    return left


@inner
def _list_noted(now, begun, all_touching, found):
    """List the pairs that may be noted: those that begin to touch, or all that touch; returns how many."""
    noted = NONE
    for k in range(now.shape[0] if all_touching else begun):
        pair = now[k] if all_touching else found.begun[k]
        if pair >= 0:
            found.noted[noted] = pair
            noted += 1
    return sort_keys(found.noted, noted) if all_touching else noted


@inner
def _sum_impulses(lasting, collision, now, noted, slots, all_touching, found):
    """Sum the impulses of the noted pairs over all of their slots, and find their strongest contacts."""
    for i in range(noted):
        found.contact[i] = -1
        for k in range(8):
            found.values[i, k] = 0.0
    for k in range(slots):
        slot = k if all_touching else found.changed[k]
        i = place_of(found.noted, noted, now[slot]) if now[slot] >= 0 else -1
        if i < 0:
            continue
        found.values[i, 0] += found.impulse[slot]
        c, chosen = np.int64(found.strongest[slot]), np.int64(found.contact[i])
        if c >= 0 and (
            chosen < 0 or _impulse_at(lasting, collision, c) > _impulse_at(lasting, collision, chosen)
        ):
            found.contact[i] = c


@inlined
def _surface_velocity(velocity, body, r):
    """Velocity of the point of a body at the arm r [m/s]."""
    v = velocity[body]
    return vec3.add((v[0], v[1], v[2]), vec3.cross((v[3], v[4], v[5]), r))


@inner
def _describe(contacts, c, place, velocity, values_out):
    """Where a contact is, how the surfaces lie there and how fast they met: columns from the second on."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    r_a, r_b = vec3.load(contacts.arm[c], 0), vec3.load(contacts.arm[c], 1)
    v_a, v_b = _surface_velocity(velocity, a, r_a), _surface_velocity(velocity, b, r_b)
    # The slower one has gone less far since they met.
    is_a = vec3.dot(v_a, v_a) <= vec3.dot(v_b, v_b)
    point = vec3.add(vec3.load(place, a if is_a else b), r_a if is_a else r_b)
    sign = 1.0 if a < b else -1.0  # events name the lower body first
    for k in range(3):
        values_out[1 + k] = point[k]
        values_out[4 + k] = sign * contacts.normal[c, k]
    values_out[7] = vec3.norm(vec3.subtract(v_a, v_b))


@inner
def _note_contacts(contacts, noted, begun, persisting, place, velocity, found):
    """Describe the noted pairs, but those that do not begin to touch and do not press; returns how many."""
    left = 0
    for i in range(noted):
        begins = place_of(found.begun, begun, found.noted[i]) >= 0
        if not (begins or found.values[i, 0] >= persisting):
            continue
        found.noted[left], found.kind[left] = found.noted[i], BEGIN if begins else PERSIST
        for k in range(8):
            found.values[left, k] = found.values[i, k]
        if found.contact[i] >= 0:
            _describe(contacts, np.int64(found.contact[i]), place, velocity, found.values[left])
        left += 1
    return left


@inner
def _compare(
    contacts, lasting, collision, owner, pairs, body_count, several, persisting, place, velocity, before, now,
    found,
):  # fmt: skip
    """List the events of a step by what touched before and touches now."""
    changed, begun, ended = _list_changed(owner, pairs, body_count, before, now, found)
    begun, ended = sort_keys(found.begun, begun), sort_keys(found.ended, ended)
    begun, ended = drop_common(found.begun, begun, found.ended, ended)
    if several:
        begun = _drop_those_in(found.begun, begun, before, found.again)
        ended = _drop_those_in(found.ended, ended, now, found.again)
    all_touching = persisting < math.inf
    noted = _list_noted(now, begun, all_touching, found)
    slots = now.shape[0] if all_touching else changed
    _sum_impulses(lasting, collision, now, noted, slots, all_touching, found)
    found.count[NOTED] = _note_contacts(contacts, noted, begun, persisting, place, velocity, found)
    found.count[ENDED] = ended
    for k in range(changed):
        before[found.changed[k]] = now[found.changed[k]]


@inner
def _keep(found, time, recent):
    """Add the events found in a step that ends at this time [s] to the recent ones, if there is room for all.

    Returns:
        For how many there is none.
    """
    noted, ended, first = found.count[NOTED], found.count[ENDED], recent.count[0]
    if first + noted + ended > recent.time.shape[0]:
        return noted + ended
    for i in range(noted + ended):
        k, begins_or_persists = first + i, i < noted
        recent.time[k] = time
        recent.kind[k] = found.kind[i] if begins_or_persists else END
        recent.pair[k] = found.noted[i] if begins_or_persists else found.ended[i - noted]
        for m in range(8):
            recent.values[k, m] = found.values[i, m] if begins_or_persists else 0.0
    recent.count[0] = first + noted + ended
    return NONE


@kernel
def list_events(
    contacts, lasting, collision, count, tolerance, owner, pairs, body_count, several, persisting, place,
    velocity, clock, h, touching, found, recent, board, thread,
):  # fmt: skip
    """List which bodies begin and cease to touch in a step.

    Args:
        contacts: A contact set; those of one pair of colliders are neighbours.
        lasting, collision: Impulses in the contact frame [N s], shape (c, 3).
        tolerance: Contacts no farther apart than this touch [m].
        owner: Body of each collider.
        several: Whether bodies have several colliders, so that several slots are of the same two bodies.
        persisting: Pairs that stay in touch are noted from this impulse on [N s], which may be infinite.
        place: Centres of mass [m], shape (n, 3).
        velocity: Before the impulses [m/s, rad/s], shape (n, 6).
        clock, h: When the step begins, by NOW, and how long it is [s].
        touching: Of each slot the pair of bodies that touched in the step before as in ROW, -1 where none
            did; more slots than are used. Brought up to date.
        found: Written.
        recent: The events are added, if there is room.
        board, thread: See `crew`: several threads share the contacts.

    Returns:
        Number of events for which there was none.
    """
    pieces = pieces_of(count, CONTACTS_OF_PIECE)
    before, now = touching[: pairs.counter[HIGH]], found.now[: pairs.counter[HIGH]]
    if thread == LEADER:
        now[:] = -1
        put_up(board, ONLY, pieces)
    piece = next_piece(board, thread)
    while piece >= 0:
        first = first_of_pair(contacts.slot, count * piece // pieces, count)
        last = first_of_pair(contacts.slot, count * (piece + 1) // pieces, count)
        _note_touching(contacts, lasting, collision, first, last, tolerance, body_count, now, found)
        piece_done(board)
        piece = next_piece(board, thread)
    if thread == LEADER:
        wait_for_all(board, pieces)
        _compare(
            contacts, lasting, collision, owner, pairs, body_count, several, persisting, place, velocity,
            before, now, found,
        )  # fmt: skip
        return _keep(found, clock[NOW] + h, recent)
    return NONE


class EventLog:
    """Compares the touching pairs of bodies of each step with those of the step before."""

    def __init__(self, names: list[str], owner: np.ndarray, persisting: float | None) -> None:
        """Make an empty log.

        Args:
            names: Of the bodies.
            owner: Body of each collider.
            persisting: Impulse [N s] in a step from which on pairs that stay in touch are noted, if at all.
        """
        self.names = names
        self.persisting = math.inf if persisting is None else persisting
        self.has_compounds = len(np.unique(owner)) < len(owner)
        self._rows = [np.zeros(0, ROW)]  # what was noted, one array after the other
        self.recent = recent_events(RECENT)  # and what came after these
        self.touching = np.zeros(0, np.int64)  # of each slot: the pair of bodies that touched, or -1
        self.found = event_scratch(0)

    def make_room(self, slots: int) -> None:
        """Make room for so many slots of pairs of colliders."""
        if len(self.found.now) < slots:
            self.found = event_scratch(slots)
        if len(self.touching) < slots:
            self.touching = np.append(self.touching, np.full(slots - len(self.touching), -1))

    def renumber(self, slots: np.ndarray) -> None:
        """Pairs moved to the first slots from these."""
        self.touching[: len(slots)], self.touching[len(slots) :] = self.touching[slots], -1

    def rest(self) -> None:
        """Give back the memory that lasts no longer than a step."""
        release(self.found)

    def append(self, time: float) -> None:
        """Append the events that were found and have no room among the recent ones, at this time [s]."""
        self._append_recent()
        found, noted, ended = self.found, int(self.found.count[NOTED]), int(self.found.count[ENDED])
        rows = np.zeros(noted + ended, ROW)
        rows["time"] = time
        rows["kind"][:noted], rows["kind"][noted:] = found.kind[:noted], END
        rows["pair"][:noted], rows["pair"][noted:] = found.noted[:noted], found.ended[:ended]
        rows["values"][:noted] = found.values[:noted]
        self._rows.append(rows)

    def _append_recent(self) -> None:
        """Append the recent events."""
        count = int(self.recent.count[0])
        rows = np.zeros(count, ROW)
        for name in ROW.names or ():
            rows[name] = getattr(self.recent, name)[:count]
        self._rows.append(rows)
        self.recent.count[0] = 0

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
        self._append_recent()
        self._rows = [np.concatenate(self._rows)]
        return self._rows[0]

    def memory(self) -> tuple[np.ndarray, np.ndarray]:
        """What the coming steps depend on, and what was noted."""
        return self.touching, self._table()

    def recall(self, memory: tuple[np.ndarray, np.ndarray]) -> None:
        """Take over what `memory` returned earlier."""
        self.touching, rows = memory
        self._rows, self.recent.count[0] = [rows], 0
