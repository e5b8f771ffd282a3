"""Contacts of a set in batches of eight, no two of which move a common body: swept eight at a time.

Batches are filled in the order of the contacts, some WINDOW of them at a time, so what comes first is still
swept first. What finds no place, as most contacts of one body that all others touch, is left to be swept one
by one.

Source: Bender & Schmitt 2006, section 3.2, for the update of a contact; see packed_rows.py for its terms.
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner, merged
from ..lanes import (
    LANES,
    SINGLE,
    absolute,
    any_of,
    choose,
    cross,
    dot,
    fill,
    gather,
    larger,
    largest,
    load,
    root,
    scatter,
    store,
    total,
)
from ..tables import scratch_tables
from .batch_rows import (
    ANCHOR_1,
    ANCHOR_2,
    ARM_A,
    ARM_B,
    BATCH_WIDTH,
    FRICTION,
    GIVE,
    INVERSE,
    K_N,
    K_T,
    K_T1,
    K_T2,
    NORMAL,
    RATE,
    SLIP_STEP,
    SPRING,
    STICK_11,
    STICK_12,
    STICK_22,
    tangents,
)
from .island_parts import SETS, SMALLEST

WINDOW = 24  # batches that are filled at a time
FEWEST = 4  # contacts of a batch: fewer are swept as fast one by one


class ContactBatches(NamedTuple):
    """Contacts of one island, eight to a batch, lane by lane; impulses in the contact frame."""

    first: np.ndarray  # (SETS,) where the room of each set begins
    last: np.ndarray  # (SETS,) where it ends
    count: np.ndarray  # (SETS,) batches of each set
    contact: np.ndarray  # (b, LANES) contact indices, -1 in an empty lane
    filled: np.ndarray  # (b,) lanes that are not
    body: np.ndarray  # (b, 2, LANES) members a, b
    row: np.ndarray  # (b, BATCH_WIDTH, LANES)
    impulse: np.ndarray  # [N s] (b, 3, LANES)
    step: np.ndarray  # [N s] (b, 3, LANES) what the last sweep added
    direction: np.ndarray  # [N s] (b, 3, LANES) of the conjugate gradients that speed up sweeps
    change: np.ndarray  # [m] (b,) largest change of a contact in the last sweep over all
    open: np.ndarray  # (SETS, WINDOW) batches being filled, -1 where there is none
    busy: np.ndarray  # (members,) in which of them each own body is, a bit each; zero between groupings


def empty_batches(body_count: int, contact_capacity: int) -> ContactBatches:
    """Room for so many bodies and contacts, a quarter of it for lanes that stay empty."""
    sets = SETS if contact_capacity >= 2 * SMALLEST else 1
    count = _room_before(contact_capacity, sets)
    by_three = ((count, 3, LANES), SINGLE)
    row, impulse, step, direction, body, contact, filled, busy, change = scratch_tables(
        ((count, BATCH_WIDTH, LANES), SINGLE), by_three, by_three, by_three,
        ((count, 2, LANES), np.int32), ((count, LANES), np.int64), ((count,), np.int64),
        ((body_count,), np.int64), ((count,), float), sparse=True,
    )  # fmt: skip
    return ContactBatches(
        first=np.zeros(SETS, np.int64),
        last=np.zeros(SETS, np.int64),
        count=np.zeros(SETS, np.int64),
        contact=contact,
        filled=filled,
        body=body,
        row=row,
        impulse=impulse,
        step=step,
        direction=direction,
        change=change,
        open=np.full((SETS, WINDOW), -1),
        busy=busy,
    )


def _room_before(contacts, sets):
    """Batches for so many contacts of so many sets."""
    return (contacts + contacts // 4) // LANES + sets


room_before = inlined(_room_before)


@inlined
def _close(batches, number, w, own):
    """Fill no more into the batch at a place of the window."""
    i = batches.open[number, w]
    for lane in range(batches.filled[i]):
        for side in range(2):
            member = batches.body[i, side, lane]
            if member < own:
                batches.busy[member] &= ~(np.int64(1) << w)
    batches.open[number, w] = -1


@inlined
def _find_place(batches, number, taken, own):
    """The place in the window of the first batch that has room and none of the bodies that `taken` tells of.

    A new batch is opened where there is none; -1 where there is no room for one.
    """
    free = np.int64(-1)  # typed: a literal would compile what it is passed to once more
    for w in range(WINDOW):
        if batches.open[number, w] < 0:
            free = w if free < 0 else free
        elif not taken >> w & 1:
            return w
    new = batches.first[number] + batches.count[number]
    if new == batches.last[number]:
        return np.int64(-1)
    if free < 0:  # the batch that was opened first has waited longest
        free = np.int64(WINDOW - 1)
        for w in range(WINDOW):
            free = w if batches.open[number, w] < batches.open[number, free] else free
        _close(batches, number, free, own)
    batches.open[number, free], batches.filled[new] = new, 0
    batches.count[number] += 1
    return free


@inner
def enter_contact(batches, number, c, a, b, own):
    """Enter contact `c` of members a and b into a batch of a set; whether it found a place.

    Args:
        own: How many members are the island's own: others move as they do, and may be in all lanes.
    """
    taken = (batches.busy[a] if a < own else 0) | (batches.busy[b] if b < own else 0)
    w = _find_place(batches, number, taken, own)
    if w < 0:
        return False
    i = batches.open[number, w]
    lane = batches.filled[i]
    batches.contact[i, lane], batches.body[i, 0, lane], batches.body[i, 1, lane] = c, a, b
    batches.filled[i] = lane + 1
    if a < own:
        batches.busy[a] |= np.int64(1) << w
    if b < own:
        batches.busy[b] |= np.int64(1) << w
    if lane + 1 == LANES:
        _close(batches, number, w, own)
    return True


@inner
def close_batches(batches, number, own):
    """Fill no more into any batch of a set."""
    for w in range(WINDOW):
        if batches.open[number, w] >= 0:
            _close(batches, number, w, own)


@inner
def leave_out_small(batches, number, begun, empty, rest, rest_count):
    """Move contacts of batches with fewer than FEWEST into `rest`, from entry `rest_count` on.

    Args:
        begun: How many batches of the set were complete before.
        empty: The member that stands in empty lanes.

    Returns:
        Where `rest` then ends.
    """
    first, kept, listed = batches.first[number], begun, rest_count
    for i in range(first + begun, first + batches.count[number]):
        if batches.filled[i] < FEWEST:
            for lane in range(batches.filled[i]):
                rest[listed] = batches.contact[i, lane]
                listed += 1
            continue
        k = first + kept
        kept += 1
        batches.filled[k] = batches.filled[i]
        for lane in range(LANES):
            there = lane < batches.filled[k]
            batches.contact[k, lane] = batches.contact[i, lane] if there else -1
            for side in range(2):
                batches.body[k, side, lane] = batches.body[i, side, lane] if there else empty
    batches.count[number] = kept
    return listed


@inner
def clear_batch(batches, i):
    """Fill a batch with zeros, which are what an empty lane holds."""
    zero = fill(0.0)
    for k in range(BATCH_WIDTH):
        store(batches.row[i], k, zero)
    for k in range(3):
        store(batches.impulse[i], k, zero)
        store(batches.step[i], k, zero)
        store(batches.direction[i], k, zero)


@inlined
def _go_on(batches, i, beta):
    """Go on along the direction of the last sweeps."""
    for k in range(3):
        d = beta * load(batches.direction[i], k)
        store(batches.direction[i], k, d + load(batches.step[i], k))
        store(batches.impulse[i], k, load(batches.impulse[i], k) + d)


@inlined
def _friction_step(row, u1, u2, change, p1, p2, normal):
    """Friction impulses after one step: `friction_step` of packed_rows.py in eight lanes."""
    spring = load(row, SPRING)
    u1 = u1 + load(row, K_T1) * change + (spring * p1 - load(row, ANCHOR_1))
    u2 = u2 + load(row, K_T2) * change + (spring * p2 - load(row, ANCHOR_2))
    s12, slip_step = load(row, STICK_12), load(row, SLIP_STEP)
    q1, q2 = p1 - (load(row, STICK_11) * u1 + s12 * u2), p2 - (s12 * u1 + load(row, STICK_22) * u2)
    limit = load(row, FRICTION) * normal
    slips = q1 * q1 + q2 * q2 > limit * limit
    r1, r2 = p1 - slip_step * u1, p2 - slip_step * u2
    square = r1 * r1 + r2 * r2
    shorter = choose(square > limit * limit, limit / root(square), fill(1.0))
    return choose(slips, r1 * shorter, q1), choose(slips, r2 * shorter, q2)


@inlined
def _push(members, own, arm, p, sign, v, velocity, response):
    """Add M^-1 J' p to the velocities v of one side's members, for the impulses sign * p at the arms."""
    t = cross(arm, p)
    i11, i12, i13, i22, i23, i33, m_x, m_y = gather(response, members)
    v0, v1, v2 = v[0] + sign * (m_x * p[0]), v[1] + sign * (m_y * p[1]), v[2] + sign * (v[6] * p[2])
    w0 = v[3] + sign * (i11 * t[0] + i12 * t[1] + i13 * t[2])
    w1 = v[4] + sign * (i12 * t[0] + i22 * t[1] + i23 * t[2])
    w2 = v[5] + sign * (i13 * t[0] + i23 * t[1] + i33 * t[2])
    scatter(velocity, members, own, (v0, v1, v2, w0, w1, w2, v[6], v[7]))


@merged
def sweep_batches(batches, number, own, velocity, response, beta, goes_on, least):
    """One Gauss-Seidel pass over the batches of a set, by its number, or over those that still change.

    Args:
        own: How many members are the island's own.
        velocity, response: Of members, shape (members, 8): see `PackedContacts`.
        beta, goes_on: How far to go on along the direction of the last sweeps, and whether there were any.
        least: Only batches are swept that changed by so much in the last sweep over all [m]; 0: all.

    Returns:
        (largest change of a contact [m], sum of all [N m s]): see `_sweep_set` in impulse_sweeps.py.
    """
    zero, one, factor = fill(0.0), fill(1.0), fill(beta)
    worst, size, first = zero, zero, batches.first[number]
    for i in range(first, first + batches.count[number]):
        if least > 0.0 and batches.change[i] < least:
            continue
        row, impulse, step = batches.row[i], batches.impulse[i], batches.step[i]
        if goes_on:
            _go_on(batches, i, factor)
        else:
            for m in range(3):
                store(batches.direction[i], m, zero)
        p0, p1, p2 = load(impulse, 0), load(impulse, 1), load(impulse, 2)
        va, vb = gather(velocity, batches.body[i, 0]), gather(velocity, batches.body[i, 1])
        arm_a = load(row, ARM_A), load(row, ARM_A + 1), load(row, ARM_A + 2)
        arm_b = load(row, ARM_B), load(row, ARM_B + 1), load(row, ARM_B + 2)
        turn_a, turn_b = cross((va[3], va[4], va[5]), arm_a), cross((vb[3], vb[4], vb[5]), arm_b)
        u = (
            va[0] - vb[0] + (turn_a[0] - turn_b[0]),
            va[1] - vb[1] + (turn_a[1] - turn_b[1]),
            va[2] - vb[2] + (turn_a[2] - turn_b[2]),
        )
        n = load(row, NORMAL), load(row, NORMAL + 1), load(row, NORMAL + 2)
        q0 = larger(p0 + (load(row, RATE) - dot(n, u) - load(row, GIVE) * p0) * load(row, INVERSE), zero)
        if not (any_of(q0 > zero) or any_of(absolute(p0) > zero)):
            for m in range(3):
                store(step, m, zero)
            if least == 0.0:
                batches.change[i] = 0.0
            continue
        t1, t2 = tangents(n)
        d0 = q0 - p0
        q1, q2 = _friction_step(row, dot(t1, u), dot(t2, u), d0, p1, p2, q0)
        d1, d2 = q1 - p1, q2 - p2
        store(impulse, 0, q0)
        store(impulse, 1, q1)
        store(impulse, 2, q2)
        store(step, 0, d0)
        store(step, 1, d1)
        store(step, 2, d2)
        p = (
            n[0] * d0 + t1[0] * d1 + t2[0] * d2,
            n[1] * d0 + t1[1] * d1 + t2[1] * d2,
            n[2] * d0 + t1[2] * d1 + t2[2] * d2,
        )
        _push(batches.body[i, 0], own, arm_a, p, one, va, velocity, response)
        _push(batches.body[i, 1], own, arm_b, p, zero - one, vb, velocity, response)
        across = d1 * d1 + d2 * d2
        k_n, k_t = load(row, K_N), load(row, K_T)
        change = larger(k_n * absolute(d0), k_t * root(across))
        if least == 0.0:
            batches.change[i] = largest(change)
        worst = larger(worst, change)
        size = size + (k_n * (d0 * d0) + k_t * across)
    return largest(worst), total(size)


@inner
def mark_changing(batches, number, least, marked_out):
    """Mark the members of those batches of a set that changed by so much in the last sweep over all [m].

    Returns:
        Whether there are any.
    """
    first, any_changes = batches.first[number], False
    for i in range(first, first + batches.count[number]):
        if batches.change[i] >= least:
            for side in range(2):
                for lane in range(LANES):
                    marked_out[batches.body[i, side, lane]] = True
            any_changes = True
    return any_changes


@inner
def count_changing(batches, number, least):
    """How many batches of a set changed by at least so much in the last sweep over all [m]."""
    count, first = 0, batches.first[number]
    for i in range(first, first + batches.count[number]):
        count += batches.change[i] >= least
    return count
