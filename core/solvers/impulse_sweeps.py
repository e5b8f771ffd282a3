"""Gauss-Seidel on the contacts of one island, in the order of the island, part after part where it is large.

The threads of a crew share the parts of an island (`island_parts`): whoever leads calls `sweep_island`, the
others `help_sweeps`.

Source: Bender & Schmitt 2006, section 3.2.
"""

import math

import numpy as np

from ..crew import LEADER, TASK, next_piece, piece_done, put_up, wait_for_all
from ..dynamics.packed_rows import K_N, K_T, friction_step, normal_step, packed_velocity, world_impulse
from ..jit import inlined, inner, merged
from ..lanes import fill, load, store
from ..math3 import vec3
from .contact_batches import count_changing, mark_changing, sweep_batches
from .impulse_contacts import bend
from .island_parts import divide_island, sets_before
from .packed_contacts import (
    pack_bodies,
    pack_gaps,
    pack_set,
    unpack_impulses,
    unpack_velocities,
    wake_quiet,
)

# Tasks on the board (typed: literals would compile what they are passed to once more for each), and what they
# have to know: see `_do_piece`.
SWEEP, PACK, PACK_GAPS, BEND = (np.int64(task) for task in range(4))
ROUND, BETA, GOES_ON, WHOLE, STEP, PUSHED, LIMIT, LEAST = range(8)

# Contacts without an impulse are looked at before the first sweeps and then each WHOLE_EVERY-th.
LOOKS_AT_FIRST, WHOLE_EVERY = 2, 8
# Where at most SOME of the batches still change by this part of what sweeps end with, these alone are swept,
# as often or until they change by no more than LEFT of it.
CHANGING, SOME, LEFT = 0.4, 0.4, 0.6
# Where at most this part of the batches is not settled, a coarser end will do for these, in so many sweeps at
# a time: the worst of ten thousand contacts takes more sweeps than the worst of a thousand.
FEW, LONG = 0.005, 24
# Sweeps keep their direction until the squares of what one changes come to so many times the least since it
# was taken. What drifts, as the load of a contact that opens, changes by about as much in each of many
# sweeps, now more, now less: where the direction was lost as soon as one changed more than the last, that
# was in every other, and falling pyramids took 1.47 times the updates. With 4 heaps of rocks take 1.66 times.
GROWS = 2.0
BENT = 0.1  # of the tolerance: error of a straight prediction above which arms are rotated
# Rounds: with the straight prediction only; and up to three more with arms that rotate.
STRAIGHT, ROUNDS = np.int64(1), np.int64(4)


@inlined
def _push(packed, k, arm, p, sign):
    """Add M^-1 J' p to a member's velocity for the impulse sign * p at the arm."""
    v, m = packed.velocity[k], packed.response[k]
    t = vec3.cross(arm, p)
    v[0] += sign * (m[6] * p[0])
    v[1] += sign * (m[7] * p[1])
    v[2] += sign * (v[6] * p[2])
    v[3] += sign * (m[0] * t[0] + m[1] * t[1] + m[2] * t[2])
    v[4] += sign * (m[1] * t[0] + m[3] * t[1] + m[4] * t[2])
    v[5] += sign * (m[2] * t[0] + m[4] * t[1] + m[5] * t[2])


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
        for m in range(0 if goes_on else 3):
            packed.direction[i, m] = 0.0
        row = packed.row[i]
        a, b = packed.body[i, 0], packed.body[i, 1]
        u = packed_velocity(row, vec3.load_pair(packed.velocity[a]), vec3.load_pair(packed.velocity[b]))
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
def _go_on(packed, first, last, beta, goes_on, all_stirred):
    """Go on along the conjugate direction of the sweeps so far, and note the velocities before the next.

    Source: Silcowitz, Niebe & Erleben 2010, *A nonsmooth nonlinear conjugate gradient method for
    interactive contact force problems*, algorithm 2. The step of a sweep stands for the gradient, measured
    here by the velocities it changes. The paper forgets the direction (beta is 0) as soon as the gradient
    grows, this only once it grew as GROWS says; until then beta is at most 1.

    Args:
        first, last: Members.
        goes_on: Whether there was a sweep before, over the same contacts.
        all_stirred: Whether the contacts of all members are swept, not only those of `packed.stirred`.
    """
    zero, factor = fill(0.0), fill(beta)
    for k in range(first, last):
        if not (all_stirred or packed.stirred[k]):
            continue
        v = load(packed.velocity, k)
        if goes_on:
            d = factor * load(packed.course, k)
            store(packed.course, k, d + v - load(packed.found, k))
            v = v + d
            store(packed.velocity, k, v)
        else:
            store(packed.course, k, zero)
        store(packed.found, k, v)


@merged
def _sweep_set(masses, contacts, rows, packed, number, piece, h, push, beta, goes_on, whole, least):
    """Sweep a set of a round, by the numbers of both; in the first, of parts, their bodies go on before.

    Written are the largest change of a contact [m] and the sum of all [N m s]: the first of the relative
    position at the end of the step, a contact's residual; the second of impulse squared over the mass it
    moves, times h.
    """
    parts = packed.parts
    if number == 0:
        _go_on(packed, parts.member_start[piece], parts.member_start[piece + 1], beta, goes_on, least == 0.0)
    k, own = sets_before(parts.depth[0], number) + piece, parts.member_start[1 << parts.depth[0]]
    if whole:
        wake_quiet(masses, contacts, rows, k, h, push, packed)
    worst, size = sweep_batches(
        packed.batches, k, own, packed.velocity, packed.response, beta, goes_on, least
    )
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
            number[GOES_ON] > 0.0, number[WHOLE] > 0.0, number[LEAST],
        )  # fmt: skip
    elif task == PACK:
        k = sets_before(parts.depth[0], int(number[ROUND])) + piece
        pack_set(masses, contacts, rows, k, h, push, packed)
    elif parts.contact_start[piece] == parts.contact_end[piece]:
        packed.bent[piece] = False  # it was not packed
    elif task == PACK_GAPS:
        pack_gaps(contacts, rows, piece, h, push, packed)
    else:
        unpack_impulses(piece, packed, rows.impulse)
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


@inlined
def _share(board, task, pieces, masses, contacts, rows, gap, packed, velocity):
    """Have all pieces of a task done."""
    put_up(board, task, pieces)
    _do_pieces(board, LEADER, masses, contacts, rows, gap, packed, velocity)
    wait_for_all(board, pieces)


@merged
def help_sweeps(board, thread, masses, contacts, rows, gap, packed, velocity):
    """Take part in the sweeps that the leader of the crew makes, as long as there is something to do."""
    _do_pieces(board, thread, masses, contacts, rows, gap, packed, velocity)


@inlined
def _is_idle(board, task, packed, number):
    """Whether nothing of a set takes part in a task."""
    if task == SWEEP and board.number[LEAST] > 0.0:
        return not packed.stirs[number]
    return packed.parts.contact_start[number] == packed.parts.contact_end[number]


@inlined
def _share_rounds(board, task, masses, contacts, rows, gap, packed, velocity):
    """Have a task done on all sets, round by round: sets of one round move no common body."""
    parts = packed.parts
    for k in range(1 << parts.depth[0]):
        first, last = sets_before(parts.depth[0], k), sets_before(parts.depth[0], k + 1)
        idle = k > 0  # the first makes bodies go on
        for number in range(first, last):
            idle = idle and _is_idle(board, task, packed, number)
        if idle:
            continue
        board.number[ROUND] = k
        _share(board, task, last - first, masses, contacts, rows, gap, packed, velocity)


@merged
def _sweep(board, beta, goes_on, whole, least, masses, contacts, rows, gap, packed, velocity):
    """One Gauss-Seidel pass over an island, round by round; returns what one over a set does."""
    parts, number, worst, size = packed.parts, board.number, 0.0, 0.0
    number[BETA], number[GOES_ON], number[WHOLE] = beta, 1.0 if goes_on else 0.0, 1.0 if whole else 0.0
    number[LEAST] = least
    _share_rounds(board, SWEEP, masses, contacts, rows, gap, packed, velocity)
    for k in range(sets_before(parts.depth[0], 1 << parts.depth[0])):
        if parts.contact_start[k] < parts.contact_end[k]:
            worst, size = max(worst, packed.worst[k]), size + packed.size[k]
    return worst, size


@inlined
def _rest_changing(packed, number, least):
    """How many contacts of a set that are in no batch changed by so much in their last update [m]."""
    count, first = 0, packed.parts.contact_start[number]
    for i in range(first, first + packed.rest_count[number]):
        row, d = packed.row[i], packed.step[i]
        along, across = row[K_N] * abs(d[0]), row[K_T] * math.sqrt(d[1] * d[1] + d[2] * d[2])
        count += max(along, across) >= least
    return count


@inner
def _note_stirred(packed, least):
    """Note what is swept, and whose contacts, where only batches are that changed by so much last [m]."""
    parts = packed.parts
    packed.stirred[:] = False
    for k in range(sets_before(parts.depth[0], 1 << parts.depth[0])):
        packed.stirs[k], packed.worst[k], packed.size[k] = False, 0.0, 0.0
        if parts.contact_start[k] < parts.contact_end[k]:
            any_changes = mark_changing(packed.batches, k, least, packed.stirred)
            packed.stirs[k] = any_changes or packed.rest_count[k] > 0
            for i in range(parts.contact_start[k], parts.contact_start[k] + packed.rest_count[k]):
                packed.stirred[packed.body[i, 0]] = packed.stirred[packed.body[i, 1]] = True


@inner
def _share_changing(packed, least):
    """The part of batches, and contacts in none, that changed by so much in the last sweep over all [m]."""
    parts, batches, changing, count = packed.parts, packed.batches, 0, 0
    for k in range(sets_before(parts.depth[0], 1 << parts.depth[0])):
        if parts.contact_start[k] < parts.contact_end[k]:
            changing += count_changing(batches, k, least) + _rest_changing(packed, k, least)
            count += batches.count[k] + packed.rest_count[k]
    return changing / max(count, 1)


@merged
def _settle(board, settled, enough, most, max_sweeps, masses, contacts, rows, gap, packed, velocity):
    """Sweep a packed island until it settles; (residual [m], sweeps). See `sweep_island`.

    In a heap in motion most contacts have no impulse and get none: they are looked at before the first
    sweeps, each WHOLE_EVERY-th, and the last: without that nothing can tell that the island has settled.
    What is left after some sweeps is left in few places: between two sweeps over all only what still changes
    there is swept, with conjugate directions of its own.
    """
    residual, size, last_size, least_size = np.inf, 0.0, 0.0, 0.0
    least, done, since, whole = 0.0, 0, 0, False
    end, every = settled, WHOLE_EVERY
    while done < max_sweeps and (residual > end or not whole):
        before, near = least, LEFT * end if least > 0.0 else end
        last = done + 1 == most or done + 1 == max_sweeps
        whole = done <= LOOKS_AT_FIRST or since == every or last or residual <= near
        if whole:
            least, since = 0.0, 0
        elif since == 0 and _share_changing(packed, CHANGING * end) <= SOME:
            least = CHANGING * end
            _note_stirred(packed, least)
        since += 0 if whole else 1
        goes_on = done > 0 and least == before
        keeps_course = goes_on and size < GROWS * least_size
        beta = min(size / last_size, 1.0) if keeps_course else 0.0
        last_size = size if goes_on else 0.0
        least_size = min(least_size, size) if keeps_course else last_size
        residual, size = _sweep(
            board, beta, goes_on, whole, least, masses, contacts, rows, gap, packed, velocity
        )
        if whole:
            will_do = done + 1 >= most or _share_changing(packed, settled) <= FEW
            end, every = (enough, LONG) if will_do else (settled, WHOLE_EVERY)
        done += 1
    return residual, done


@inner
def sweep_island(
    masses, contacts, rows, islands, island, h, push, limit, rounds, settled, enough, most, max_sweeps, gap,
    packed, velocity, board,
):  # fmt: skip
    """Sweep an island until it settles, then again with arms that rotate; (residual [m], sweeps).

    Args:
        push: Part of a penetration that is pushed apart: `PUSH`, or 0.
        limit: Error of a gap for the straight prediction [m] above which it is corrected.
        rounds: STRAIGHT or ROUNDS.
        settled: Largest change of a contact in a sweep to end with [m], but for those of FEW batches,
        enough: which end with this, as all do once
        most: sweeps are made,
        max_sweeps: of which there are no more than this.
        gap: Gaps before arms rotate [m], shape (c,).
        velocity: Mean velocities (bodies, 6), brought up to date with `rows.impulse`.
    """
    residual, done, number = 0.0, 0, board.number
    divide_island(masses.c, contacts.body, islands, island, packed.parts)
    pack_bodies(masses, velocity, packed)
    number[STEP], number[PUSHED], number[LIMIT] = h, push, limit
    sets = sets_before(packed.parts.depth[0], 1 << packed.parts.depth[0])
    _share_rounds(board, PACK, masses, contacts, rows, gap, packed, velocity)
    for k in range(rounds):
        if done == max_sweeps:
            break
        residual, more = _settle(
            board, settled, enough, most - done, max_sweeps - done, masses, contacts, rows, gap, packed,
            velocity,
        )  # fmt: skip
        done += more
        unpack_velocities(packed, velocity)
        _share(board, BEND, sets, masses, contacts, rows, gap, packed, velocity)
        if k == rounds - 1 or not packed.bent[:sets].any():
            break
        _share(board, PACK_GAPS, sets, masses, contacts, rows, gap, packed, velocity)
    return residual, done
