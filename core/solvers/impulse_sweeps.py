"""Gauss-Seidel on the contacts of one island, in the order of the island, part after part where it is large.

What a sweep needs lies packed (`packed_rows`), contact after contact as they are swept: a contact takes a
third of the time it takes from the rows of the step, which lie in the order of the pairs. What is packed is
made for one step and lasts no longer: it is more than all the rest that a contact needs.

The threads of a crew share the parts of an island (`island_parts`): whoever leads calls `sweep_island`, the
others `help_sweeps`.

Source: Bender & Schmitt 2006, section 3.2.
"""

import math
from typing import NamedTuple

import numpy as np

from ..crew import LEADER, TASK, next_piece, piece_done, put_up, wait_for_all
from ..dynamics.contact_rows import PUSH, normal_compliance
from ..dynamics.packed_rows import (
    ANCHOR_1,
    ANCHOR_2,
    GIVE,
    INVERSE,
    K_N,
    K_T,
    RATE,
    WIDTH,
    friction_step,
    normal_step,
    pack_normal,
    pack_row,
    packed_velocity,
    world_impulse,
)
from ..jit import inlined, inner, merged
from ..lanes import LANES
from ..math3 import vec3
from ..tables import scratch_tables
from .contact_batches import (
    ContactBatches,
    clear_batch,
    close_batches,
    empty_batches,
    enter_contact,
    leave_out_small,
    room_before,
    sweep_batches,
)
from .impulse_contacts import bend, gap_rate
from .island_parts import SETS, IslandParts, divide_island, empty_parts, sets_before
from .quiet_contacts import MISSING, QuietContacts, empty_quiet, enter_quiet, fill_up, look_at_group, take_out
from .quiet_contacts import RATE as QUIET_RATE

# Tasks on the board (typed: literals would compile what they are passed to once more for each), and what they
# have to know: see `_do_piece`.
SWEEP, PACK, PACK_GAPS, BEND = (np.int64(task) for task in range(4))
ROUND, BETA, GOES_ON, WHOLE, STEP, PUSHED, LIMIT = 0, 1, 2, 3, 4, 5, 6

# Contacts of a set, if so few, are all swept from the beginning. Of others those without an impulse are
# looked at before the first sweeps and then each WHOLE_EVERY-th.
FEW, LOOKS_AT_FIRST, WHOLE_EVERY = 64, 2, 8
BENT = 0.1  # of the tolerance: error of a straight prediction above which arms are rotated
# Rounds: with the straight prediction only; and up to three more with arms that rotate.
STRAIGHT, ROUNDS = np.int64(1), np.int64(4)


class PackedContacts(NamedTuple):
    """Contacts and bodies of one island, in the order of its parts; impulses in the contact frame.

    Of each set contacts that have an impulse are in batches, and the rest of them, from its first place on,
    one by one; those that have none are apart.
    """

    parts: IslandParts
    batches: ContactBatches
    quiet: QuietContacts
    rest: np.ndarray  # (c,) contact indices
    rest_count: np.ndarray  # (SETS,) how many of each set
    packed_rest: np.ndarray  # (SETS,) and how many of these are packed
    row: np.ndarray  # (c, WIDTH)
    one: np.ndarray  # (SETS, WIDTH) the row of a contact on its way into a batch
    body: np.ndarray  # (c, 2) members a, b
    impulse: np.ndarray  # [N s] (c, 3)
    step: np.ndarray  # [N s] (c, 3) what the last sweep added
    direction: np.ndarray  # [N s] (c, 3) of the conjugate gradients that speed up sweeps
    velocity: np.ndarray  # (members + 1, 8) two of them for room; the last member is that of empty lanes
    response: np.ndarray  # (members + 1, 16) inverse mass by axis, inverse inertia, and room
    found: np.ndarray  # (members, 6) velocities before the last sweep
    course: np.ndarray  # (members, 6) what the direction changes velocities by
    worst: np.ndarray  # [m] (SETS,) what the last sweep over each set returned
    size: np.ndarray  # [N m s] (SETS,)
    bent: np.ndarray  # (SETS,) whether each piece of BEND corrected a gap


def packed_contacts(body_count: int, contact_capacity: int) -> PackedContacts:
    """Room for so many bodies and contacts; it is filled before it is read."""
    by_three, by_body = ((contact_capacity, 3), float), ((body_count, 6), float)
    velocity, response, impulse, step, found, course = scratch_tables(
        ((body_count + 1, LANES), float), ((body_count + 1, 2 * LANES), float), by_three, by_three,
        by_body, by_body,
    )  # fmt: skip
    row, direction, body, rest = scratch_tables(
        ((contact_capacity, WIDTH), float), by_three, ((contact_capacity, 2), np.int64),
        ((contact_capacity,), np.int64), sparse=True,
    )  # fmt: skip
    return PackedContacts(
        empty_parts(body_count, contact_capacity),
        empty_batches(body_count, contact_capacity),
        empty_quiet(contact_capacity),
        rest=rest,
        rest_count=np.zeros(SETS, np.int64),
        packed_rest=np.zeros(SETS, np.int64),
        row=row,
        one=np.zeros((SETS, WIDTH)),
        body=body,
        impulse=impulse,
        step=step,
        direction=direction,
        velocity=velocity,
        response=response,
        found=found,
        course=course,
        worst=np.zeros(SETS),
        size=np.zeros(SETS),
        bent=np.zeros(SETS, np.bool_),
    )


@inlined
def _pack_gap(rows, c, h, push, row):
    """What a change of the gap changes."""
    gap = rows.gap[c]
    pack_normal(rows.K_nn[c], normal_compliance(rows, c), gap_rate(gap, h, push), row)


@inner
def _pack_row(masses, contacts, rows, c, h, push, row):
    """Pack contact `c`."""
    s = PUSH * rows.compliance[c]
    pack_row(masses, contacts, rows, c, s, h, row)
    _pack_gap(rows, c, h, push, row)
    row[ANCHOR_1], row[ANCHOR_2] = s * rows.before[c, 1], s * rows.before[c, 2]


@inner
def _pack_active(masses, contacts, rows, number, begun, h, push, packed):
    """Close the batches of a set that were filled and pack their contacts, and those that found no place.

    Args:
        begun: How many batches of the set are packed already.
    """
    parts, batches, count = packed.parts, packed.batches, 1 << packed.parts.depth[0]
    first = parts.contact_start[number]
    close_batches(batches, number, parts.member_start[count])
    listed = first + packed.rest_count[number]
    left = leave_out_small(batches, number, begun, parts.member_start[count + 1], packed.rest, listed)
    row = packed.one[number]
    for i in range(batches.first[number] + begun, batches.first[number] + batches.count[number]):
        clear_batch(batches, i)
        for lane in range(batches.filled[i]):
            c = batches.contact[i, lane]
            _pack_row(masses, contacts, rows, c, h, push, row)
            for k in range(WIDTH):
                batches.row[i, k, lane] = row[k]
            for k in range(3):
                batches.impulse[i, k, lane] = rows.impulse[c, k]
    for i in range(first + packed.packed_rest[number], left):
        c = packed.rest[i]
        _pack_row(masses, contacts, rows, c, h, push, packed.row[i])
        for k in range(3):
            packed.impulse[i, k] = rows.impulse[c, k]
            packed.step[i, k], packed.direction[i, k] = 0.0, 0.0
        for side in range(2):
            packed.body[i, side] = parts.place[contacts.body[c, side]]
    packed.rest_count[number] = packed.packed_rest[number] = left - first


@inlined
def _enter(number, c, a, b, packed):
    """Enter contact `c` of members a and b into a batch of a set, or where there is none among the rest."""
    own = packed.parts.member_start[1 << packed.parts.depth[0]]
    if not enter_contact(packed.batches, number, c, a, b, own):
        packed.rest[packed.parts.contact_start[number] + packed.rest_count[number]] = c
        packed.rest_count[number] += 1


@inner
def _pack_set(masses, contacts, rows, number, h, push, packed):
    """Pack the contacts of a set, with the impulses they have now."""
    parts, batches, quiet = packed.parts, packed.batches, packed.quiet
    first, last = parts.contact_start[number], parts.contact_end[number]
    batches.first[number], batches.last[number] = room_before(first, number), room_before(last, number + 1)
    batches.count[number], quiet.count[number], quiet.first[number] = 0, 0, first // LANES + number
    packed.rest_count[number], packed.packed_rest[number] = 0, 0
    for i in range(first, last):
        c = parts.contact[i]
        a, b = parts.place[contacts.body[c, 0]], parts.place[contacts.body[c, 1]]
        if rows.impulse[c, 0] > 0.0 or last - first <= FEW:
            _enter(number, c, a, b, packed)
        else:
            enter_quiet(contacts, quiet, number, c, a, b, gap_rate(rows.gap[c], h, push))
    fill_up(quiet, number, parts.member_start[(1 << parts.depth[0]) + 1])
    _pack_active(masses, contacts, rows, number, np.int64(0), h, push, packed)


@inner
def _wake_quiet(masses, contacts, rows, number, h, push, packed):
    """Pack those of a set's quiet contacts that close too fast."""
    quiet, begun, woken = packed.quiet, packed.batches.count[number], False
    for i in range(quiet.first[number], quiet.first[number] + quiet.count[number] // LANES):
        if not look_at_group(quiet, i, packed.velocity):
            continue
        for lane in range(LANES):
            if quiet.row[i, MISSING, lane] > 0.0:
                woken, a, b = True, quiet.body[i, 0, lane], quiet.body[i, 1, lane]
                _enter(number, take_out(quiet, i, lane), a, b, packed)
    if woken:
        _pack_active(masses, contacts, rows, number, begun, h, push, packed)


@inner
def _pack_gaps(rows, number, h, push, packed):
    """Pack anew what follows from the gaps of a set."""
    first, batches, quiet = packed.parts.contact_start[number], packed.batches, packed.quiet
    row = packed.one[number]
    for i in range(batches.first[number], batches.first[number] + batches.count[number]):
        for lane in range(batches.filled[i]):
            _pack_gap(rows, batches.contact[i, lane], h, push, row)
            for k in (RATE, GIVE, INVERSE):
                batches.row[i, k, lane] = row[k]
    for i in range(first, first + packed.rest_count[number]):
        _pack_gap(rows, packed.rest[i], h, push, packed.row[i])
    for i in range(quiet.first[number], quiet.first[number] + quiet.count[number] // LANES):
        for lane in range(LANES):
            if quiet.contact[i, lane] >= 0:
                quiet.row[i, QUIET_RATE, lane] = gap_rate(rows.gap[quiet.contact[i, lane]], h, push)


@inner
def _unpack_impulses(number, packed, impulse):
    """Take the impulses of a set's contacts back."""
    first, batches = packed.parts.contact_start[number], packed.batches
    for i in range(batches.first[number], batches.first[number] + batches.count[number]):
        for lane in range(batches.filled[i]):
            for k in range(3):
                impulse[batches.contact[i, lane], k] = batches.impulse[i, k, lane]
    for i in range(first, first + packed.rest_count[number]):
        for k in range(3):
            impulse[packed.rest[i], k] = packed.impulse[i, k]


@merged
def _pack_bodies(masses, velocity, packed):
    """Pack the members of an island."""
    parts = packed.parts
    count = parts.member_start[(1 << parts.depth[0]) + 1]
    packed.velocity[count], packed.response[count] = 0.0, 0.0
    for k in range(count):
        body = parts.member[k]
        for m in range(6):
            packed.velocity[k, m] = velocity[body, m]
            packed.course[k, m] = 0.0
        for m in range(3):
            packed.response[k, m] = masses.inv_mass[body, m]
        for m in range(9):
            packed.response[k, 3 + m] = masses.inv_I[body, m]


@merged
def _unpack_velocities(packed, velocity):
    """Take the velocities of an island's own bodies back."""
    parts = packed.parts
    for k in range(parts.member_start[1 << parts.depth[0]]):
        for m in range(6):
            velocity[parts.member[k], m] = packed.velocity[k, m]


@inlined
def _push(packed, k, arm, p, sign):
    """Add M^-1 J' p to a member's velocity for the impulse sign * p at the arm."""
    v, m = packed.velocity[k], packed.response[k]
    t = vec3.cross(arm, p)
    for i in range(3):
        v[i] += sign * (m[i] * p[i])
        v[3 + i] += sign * (m[3 + 3 * i] * t[0] + m[4 + 3 * i] * t[1] + m[5 + 3 * i] * t[2])


@merged
def _sweep_rest(packed, number, beta, goes_on):
    """One Gauss-Seidel pass over the contacts of a set that are in no batch; see `_sweep_set`."""
    worst, size, first = 0.0, 0.0, packed.parts.contact_start[number]
    own = packed.parts.member_start[1 << packed.parts.depth[0]]
    for i in range(first, first + packed.rest_count[number]):
        for m in range(3 if goes_on else 0):
            d = beta * packed.direction[i, m]
            packed.direction[i, m] = d + packed.step[i, m]
            packed.impulse[i, m] += d
        row = packed.row[i]
        a, b = packed.body[i, 0], packed.body[i, 1]
        u = packed_velocity(row, packed.velocity[a], packed.velocity[b])
        p0, p1, p2 = packed.impulse[i, 0], packed.impulse[i, 1], packed.impulse[i, 2]
        normal = normal_step(row, u, p0)
        packed.step[i, 0], packed.step[i, 1], packed.step[i, 2] = 0.0, 0.0, 0.0
        if normal == 0.0 and p0 == 0.0:
            continue
        d0 = normal - p0
        q1, q2 = friction_step(row, u, d0, p1, p2, normal)
        d1, d2 = q1 - p1, q2 - p2
        packed.impulse[i, 0], packed.impulse[i, 1], packed.impulse[i, 2] = normal, q1, q2
        packed.step[i, 0], packed.step[i, 1], packed.step[i, 2] = d0, d1, d2
        p = world_impulse(row, (d0, d1, d2))
        if a < own:  # the others move as they do; several threads read where they are
            _push(packed, a, (row[9], row[10], row[11]), p, 1.0)
        if b < own:
            _push(packed, b, (row[12], row[13], row[14]), p, -1.0)
        along, across = row[K_N] * abs(d0), row[K_T] * math.sqrt(d1 * d1 + d2 * d2)
        worst = max(worst, along, across)
        size += row[K_N] * (d0 * d0) + row[K_T] * (d1 * d1 + d2 * d2)
    return worst, size


@merged
def _go_on(packed, first, last, beta, goes_on):
    """Go on along the conjugate direction of the sweeps so far, and note the velocities before the next.

    Source: Silcowitz, Niebe & Erleben 2010, *A nonsmooth nonlinear conjugate gradient method for
    interactive contact force problems*, algorithm 2. The step of a sweep stands for the gradient, measured
    here by the velocities it changes; where it grew, beta is 0 and the direction is forgotten.

    Args:
        first, last: Members.
        goes_on: Whether there was a sweep before.
    """
    for k in range(first, last):
        for m in range(6):
            if goes_on:
                d = beta * packed.course[k, m]
                packed.course[k, m] = d + packed.velocity[k, m] - packed.found[k, m]
                packed.velocity[k, m] += d
            packed.found[k, m] = packed.velocity[k, m]


@merged
def _sweep_set(masses, contacts, rows, packed, number, piece, h, push, beta, goes_on, whole):
    """Sweep a set of a round, by the numbers of both; in the first, of parts, their bodies go on before.

    Written are the largest change of a contact [m] and the sum of all [N m s]: the first of the relative
    position at the end of the step, a contact's residual; the second of impulse squared over the mass it
    moves, times h.
    """
    parts = packed.parts
    if number == 0:
        _go_on(packed, parts.member_start[piece], parts.member_start[piece + 1], beta, goes_on)
    k, own = sets_before(parts.depth[0], number) + piece, parts.member_start[1 << parts.depth[0]]
    if whole:
        _wake_quiet(masses, contacts, rows, k, h, push, packed)
    worst, size = sweep_batches(packed.batches, k, own, packed.velocity, packed.response, beta, goes_on)
    worst_of_rest, size_of_rest = _sweep_rest(packed, k, beta, goes_on)
    packed.worst[k], packed.size[k] = max(worst, worst_of_rest), size + size_of_rest


@merged
def _do_piece(board, piece, masses, contacts, rows, gap, packed, velocity):
    """Do one piece of the task on the board: a set, of the round or of all."""
    task, number, parts = board.word[TASK], board.number, packed.parts
    h, push = number[STEP], number[PUSHED]
    if task == SWEEP:
        _sweep_set(
            masses, contacts, rows, packed, int(number[ROUND]), piece, h, push, number[BETA],
            number[GOES_ON] > 0.0, number[WHOLE] > 0.0,
        )  # fmt: skip
    elif task == PACK:
        k = sets_before(parts.depth[0], int(number[ROUND])) + piece
        _pack_set(masses, contacts, rows, k, h, push, packed)
    elif parts.contact_start[piece] == parts.contact_end[piece]:
        packed.bent[piece] = False  # it was not packed
    elif task == PACK_GAPS:
        _pack_gaps(rows, piece, h, push, packed)
    else:
        _unpack_impulses(piece, packed, rows.impulse)
        packed.bent[piece] = bend(
            masses, contacts, rows, parts.contact, parts.contact_start[piece], parts.contact_end[piece], h,
            number[LIMIT], velocity, gap,
        )  # fmt: skip


@inner
def _do_pieces(board, thread, masses, contacts, rows, gap, packed, velocity):
    """Do pieces of the task on the board until none is left, or comes."""
    piece = next_piece(board, thread)
    while piece >= 0:
        _do_piece(board, piece, masses, contacts, rows, gap, packed, velocity)
        piece_done(board)
        piece = next_piece(board, thread)


@inner
def _share(board, task, pieces, masses, contacts, rows, gap, packed, velocity):
    """Have all pieces of a task done."""
    put_up(board, task, pieces)
    _do_pieces(board, LEADER, masses, contacts, rows, gap, packed, velocity)
    wait_for_all(board, pieces)


@merged
def help_sweeps(board, thread, masses, contacts, rows, gap, packed, velocity):
    """Take part in the sweeps that the leader of the crew makes, as long as there is something to do."""
    _do_pieces(board, thread, masses, contacts, rows, gap, packed, velocity)


@inner
def _share_rounds(board, task, masses, contacts, rows, gap, packed, velocity):
    """Have a task done on all sets, round by round: sets of one round move no common body."""
    parts = packed.parts
    for k in range(1 << parts.depth[0]):
        first, last = sets_before(parts.depth[0], k), sets_before(parts.depth[0], k + 1)
        if k > 0 and parts.contact_start[first] == parts.contact_end[last - 1]:
            continue  # no two such parts touch
        board.number[ROUND] = k
        _share(board, task, last - first, masses, contacts, rows, gap, packed, velocity)


@merged
def _sweep(board, beta, goes_on, whole, masses, contacts, rows, gap, packed, velocity):
    """One Gauss-Seidel pass over an island, round by round; returns what one over a set does."""
    parts, number, worst, size = packed.parts, board.number, 0.0, 0.0
    number[BETA], number[GOES_ON], number[WHOLE] = beta, 1.0 if goes_on else 0.0, 1.0 if whole else 0.0
    _share_rounds(board, SWEEP, masses, contacts, rows, gap, packed, velocity)
    for k in range(sets_before(parts.depth[0], 1 << parts.depth[0])):
        if parts.contact_start[k] < parts.contact_end[k]:
            worst, size = max(worst, packed.worst[k]), size + packed.size[k]
    return worst, size


@merged
def _settle(board, settled, max_sweeps, masses, contacts, rows, gap, packed, velocity):
    """Sweep a packed island until it settles; (residual [m], sweeps).

    In a heap in motion most contacts have no impulse and get none: they are looked at before the first
    sweeps, each WHOLE_EVERY-th, and the last: without that nothing can tell that the island has settled.
    """
    last_size, beta, residual, done, whole = 0.0, 0.0, np.inf, 0, False
    while done < max_sweeps and (residual > settled or not whole):
        whole = (
            done <= LOOKS_AT_FIRST or done % WHOLE_EVERY == 0 or residual <= settled or done == max_sweeps - 1
        )
        residual, size = _sweep(board, beta, done > 0, whole, masses, contacts, rows, gap, packed, velocity)
        beta = size / last_size if size < last_size else 0.0
        last_size = size
        done += 1
    return residual, done


@inner
def sweep_island(
    masses, contacts, rows, islands, island, h, push, limit, rounds, settled, max_sweeps, gap, packed,
    velocity, board,
):  # fmt: skip
    """Sweep an island until it settles, then again with arms that rotate; (residual [m], sweeps).

    Args:
        push: Part of a penetration that is pushed apart: `PUSH`, or 0.
        limit: Error of a gap for the straight prediction [m] above which it is corrected.
        rounds: STRAIGHT or ROUNDS.
        settled: Largest change of a contact in a sweep to end with [m].
        gap: Gaps before arms rotate [m], shape (c,).
        velocity: Mean velocities (bodies, 6), brought up to date with `rows.impulse`.
    """
    residual, done, number = 0.0, 0, board.number
    divide_island(masses.c, contacts.body, islands, island, packed.parts)
    _pack_bodies(masses, velocity, packed)
    number[STEP], number[PUSHED], number[LIMIT] = h, push, limit
    sets = sets_before(packed.parts.depth[0], 1 << packed.parts.depth[0])
    _share_rounds(board, PACK, masses, contacts, rows, gap, packed, velocity)
    for k in range(rounds):
        if done == max_sweeps:
            break
        residual, more = _settle(
            board, settled, max_sweeps - done, masses, contacts, rows, gap, packed, velocity
        )
        done += more
        _unpack_velocities(packed, velocity)
        _share(board, BEND, sets, masses, contacts, rows, gap, packed, velocity)
        if k == rounds - 1 or not packed.bent[:sets].any():
            break
        _share(board, PACK_GAPS, sets, masses, contacts, rows, gap, packed, velocity)
    return residual, done
