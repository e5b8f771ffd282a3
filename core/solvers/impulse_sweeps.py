"""Gauss-Seidel on the contacts of one island, in the order of the island, part after part where it is large.

A sweep reads each contact once and uses little of it often, so what it needs lies packed, contact after
contact, with all that does not change from sweep to sweep computed before: a contact takes a third of the
time it takes from the rows of the step, which lie in the order of the pairs. What is packed is made for one
step and lasts no longer: it is more than all the rest that a contact needs.

The threads of a crew share the parts of an island (`island_parts`): whoever leads calls `sweep_island`, the
others `help_sweeps`.

Source: Bender & Schmitt 2006, section 3.2; the update of a contact is `coulomb_step` of
dynamics/contact_rows.py, which collisions use.
"""

import math
from typing import NamedTuple

import numpy as np

from ..crew import IDLE, TASK, is_over, piece_done, put_up, take_piece, wait_for_all
from ..dynamics.contact_rows import PUSH
from ..jit import inlined, inner, merged, pause
from ..math3 import vec3
from .impulse_contacts import bend, gap_rate
from .island_parts import LEAVES, NODES, IslandParts, divide_island, empty_parts

# Columns of a packed contact. Symbols as in contact_rows.py; g the compliance of the spring along the normal,
# s across it.
FRAME, ARM_A, ARM_B = 0, 9, 12
RATE = 15  # [m/s] least normal velocity
GIVE, INVERSE = 16, 17  # g, 1 / (K_nn + g)
K_T1, K_T2 = 18, 19  # what a normal impulse does to the slip
SPRING, ANCHOR_1, ANCHOR_2 = 20, 21, 22  # s, s times the impulse of the last step
STICK_11, STICK_12, STICK_22 = 23, 24, 25  # inverse of (K_tt + s)
SLIP_STEP = 26  # 1 / the larger eigenvalue of (K_tt + s)
STATIC, DYNAMIC = 27, 28  # coefficients of friction
K_N, K_T = 29, 30  # how far an impulse moves the contact in the step [m/(N s)]
WIDTH = 32
# Tasks on the board (typed: literals would compile what they are passed to once more for each), and what they
# have to know: see `_do_piece`.
SWEEP, PACK, PACK_GAPS, BEND = (np.int64(task) for task in range(4))
NO_PIECES = np.int64(0)
LEVEL, BETA, GOES_ON, WHOLE, STEP, PUSHED, LIMIT = 0, 1, 2, 3, 4, 5, 6

WHOLE_EVERY = 8
BENT = 0.1  # of the tolerance: error of a straight prediction above which arms are rotated
# Rounds: with the straight prediction only; and up to three more with arms that rotate.
STRAIGHT, ROUNDS = np.int64(1), np.int64(4)


class PackedContacts(NamedTuple):
    """Contacts and bodies of one island, in the order of its parts; impulses in the contact frame."""

    parts: IslandParts
    row: np.ndarray  # (c, WIDTH)
    body: np.ndarray  # (c, 2) members a, b
    impulse: np.ndarray  # [N s] (c, 3)
    step: np.ndarray  # [N s] (c, 3) what the last sweep added
    direction: np.ndarray  # [N s] (c, 3) of the conjugate gradients that speed up sweeps
    velocity: np.ndarray  # (members, 6)
    response: np.ndarray  # (members, 12) inverse mass by axis, inverse inertia
    live: np.ndarray  # (c,) per node, places of the contacts that are not at rest without an impulse
    live_count: np.ndarray  # (NODES,) how many
    found: np.ndarray  # (members, 6) velocities before the last sweep
    course: np.ndarray  # (members, 6) what the direction changes velocities by
    worst: np.ndarray  # [m] (NODES,) what the last sweep over each node of the tree returned
    size: np.ndarray  # [N m s] (NODES,)
    bent: np.ndarray  # (LEAVES,) whether each piece of BEND corrected a gap


def packed_contacts(body_count: int, contact_capacity: int) -> PackedContacts:
    """Room for so many bodies and contacts; it is filled before it is read."""
    return PackedContacts(
        empty_parts(body_count, contact_capacity),
        np.empty((contact_capacity, WIDTH)),
        np.empty((contact_capacity, 2), np.int64),
        *(np.empty((contact_capacity, 3)) for _ in range(3)),
        velocity=np.empty((body_count, 6)),
        response=np.empty((body_count, 12)),
        live=np.empty(contact_capacity, np.int64),
        live_count=np.zeros(NODES, np.int64),
        found=np.empty((body_count, 6)),
        course=np.empty((body_count, 6)),
        worst=np.zeros(NODES),
        size=np.zeros(NODES),
        bent=np.zeros(LEAVES, np.bool_),
    )


@inner
def _pack_gap(rows, c, h, push, row):
    """What a change of the gap changes."""
    gap = rows.gap[c]
    row[RATE] = gap_rate(gap, h, push)
    row[GIVE] = rows.compliance[c] * (PUSH if gap < 0.0 else 1.0)
    row[INVERSE] = 1.0 / (rows.K[c, 0] + row[GIVE])


@inner
def _pack_contact(contacts, rows, i, h, push, packed):
    """Pack the contact at place i, with the impulse it has now."""
    c = packed.parts.contact[i]
    row, K = packed.row[i], rows.K[c]
    for k in range(9):
        row[FRAME + k] = rows.frame[c, k]
    for k in range(3):
        row[ARM_A + k], row[ARM_B + k] = contacts.arm[c, 0, k], contacts.arm[c, 1, k]
        packed.impulse[i, k] = rows.impulse[c, k]
        packed.direction[i, k] = 0.0
    for side in range(2):
        packed.body[i, side] = packed.parts.place[contacts.body[c, side]]
    _pack_gap(rows, c, h, push, row)
    s = PUSH * rows.compliance[c]
    k11, k12, k22 = K[3] + s, K[4], K[5] + s
    det = k11 * k22 - k12 * k12
    row[K_T1], row[K_T2] = K[1], K[2]
    row[SPRING], row[ANCHOR_1], row[ANCHOR_2] = s, s * rows.before[c, 1], s * rows.before[c, 2]
    row[STICK_11], row[STICK_12], row[STICK_22] = k22 / det, -k12 / det, k11 / det
    row[SLIP_STEP] = 2.0 / (k11 + k22 + math.sqrt((k11 - k22) ** 2 + 4.0 * k12 * k12))
    row[STATIC], row[DYNAMIC] = rows.friction[c, 0], rows.friction[c, 1]
    row[K_N], row[K_T] = h * K[0], h * max(K[3], K[5])


@merged
def _pack_bodies(masses, velocity, packed):
    """Pack the members of an island."""
    parts = packed.parts
    for k in range(parts.member_start[(1 << parts.depth[0]) + 1]):
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
def _slip_stopped(row, p1, p2, u1, u2, normal):
    """Friction after the slip (u1, u2): what stops it within the static cone, else on the dynamic one."""
    q1, q2 = p1 - (row[STICK_11] * u1 + row[STICK_12] * u2), p2 - (row[STICK_12] * u1 + row[STICK_22] * u2)
    limit = row[STATIC] * normal
    if q1 * q1 + q2 * q2 <= limit * limit:
        return q1, q2
    limit = row[DYNAMIC] * normal
    q1, q2 = p1 - row[SLIP_STEP] * u1, p2 - row[SLIP_STEP] * u2
    square = q1 * q1 + q2 * q2
    if square <= limit * limit:
        return q1, q2
    shorter = limit / math.sqrt(square)
    return q1 * shorter, q2 * shorter


@inlined
def _push(packed, k, arm, p, sign):
    """Add M^-1 J' p to a member's velocity for the impulse sign * p at the arm."""
    v, m = packed.velocity[k], packed.response[k]
    t = vec3.cross(arm, p)
    for i in range(3):
        v[i] += sign * (m[i] * p[i])
        v[3 + i] += sign * (m[3 + 3 * i] * t[0] + m[4 + 3 * i] * t[1] + m[5 + 3 * i] * t[2])


@merged
def _sweep_contacts(packed, node, beta, goes_on, whole):
    """One Gauss-Seidel pass over the contacts of a node of the tree.

    Args:
        beta, goes_on: See `_go_on`, whose part for the contacts is done where each is come to.
        whole: Over all of them, and note which are live; otherwise only over those that were.

    Returns:
        (largest change of a contact [m], sum of all [N m s]): the first of the relative position at the end
        of the step, a contact's residual; the second of impulse squared over the mass it moves, times h.
    """
    worst, size, kept = 0.0, 0.0, 0
    first, last = packed.parts.contact_start[node], packed.parts.contact_end[node]
    own = packed.parts.member_start[1 << packed.parts.depth[0]]
    for k in range(last - first if whole else packed.live_count[node]):
        i = first + k if whole else packed.live[first + k]
        if goes_on:
            for m in range(3):
                d = beta * packed.direction[i, m]
                packed.direction[i, m] = d + packed.step[i, m]
                packed.impulse[i, m] += d
        row = packed.row[i]
        a, b = packed.body[i, 0], packed.body[i, 1]
        va, vb = packed.velocity[a], packed.velocity[b]
        arm_a, arm_b = (row[9], row[10], row[11]), (row[12], row[13], row[14])
        turn_a = vec3.cross((va[3], va[4], va[5]), arm_a)
        turn_b = vec3.cross((vb[3], vb[4], vb[5]), arm_b)
        x = va[0] - vb[0] + (turn_a[0] - turn_b[0])
        y = va[1] - vb[1] + (turn_a[1] - turn_b[1])
        z = va[2] - vb[2] + (turn_a[2] - turn_b[2])
        p0, p1, p2 = packed.impulse[i, 0], packed.impulse[i, 1], packed.impulse[i, 2]
        u0 = row[0] * x + row[1] * y + row[2] * z
        normal = max(0.0, p0 + (row[RATE] - u0 - row[GIVE] * p0) * row[INVERSE])
        packed.step[i, 0], packed.step[i, 1], packed.step[i, 2] = 0.0, 0.0, 0.0
        packed.live[first + kept] = i  # in place: no farther than what is read
        if normal == 0.0 and p0 == 0.0:
            d = packed.direction[i]
            kept += 0 if d[0] == 0.0 and d[1] == 0.0 and d[2] == 0.0 else 1
            continue
        kept += 1
        d0, q1, q2 = normal - p0, 0.0, 0.0
        if row[STATIC] > 0.0:
            u1 = row[3] * x + row[4] * y + row[5] * z + row[K_T1] * d0 + (row[SPRING] * p1 - row[ANCHOR_1])
            u2 = row[6] * x + row[7] * y + row[8] * z + row[K_T2] * d0 + (row[SPRING] * p2 - row[ANCHOR_2])
            q1, q2 = _slip_stopped(row, p1, p2, u1, u2, normal)
        d1, d2 = q1 - p1, q2 - p2
        packed.impulse[i, 0], packed.impulse[i, 1], packed.impulse[i, 2] = normal, q1, q2
        packed.step[i, 0], packed.step[i, 1], packed.step[i, 2] = d0, d1, d2
        p = (
            row[0] * d0 + row[3] * d1 + row[6] * d2,
            row[1] * d0 + row[4] * d1 + row[7] * d2,
            row[2] * d0 + row[5] * d1 + row[8] * d2,
        )
        if a < own:  # the others move as they do; several threads read where they are
            _push(packed, a, arm_a, p, 1.0)
        if b < own:
            _push(packed, b, arm_b, p, -1.0)
        along, across = row[K_N] * abs(d0), row[K_T] * math.sqrt(d1 * d1 + d2 * d2)
        worst = max(worst, along, across)
        size += row[K_N] * (d0 * d0) + row[K_T] * (d1 * d1 + d2 * d2)
    packed.live_count[node] = kept
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
def _sweep_node(packed, level, piece, beta, goes_on, whole):
    """Sweep one node of the tree; a leaf's bodies go on first."""
    parts = packed.parts
    node = (1 << level) - 1 + piece
    if level == parts.depth[0]:
        _go_on(packed, parts.member_start[piece], parts.member_start[piece + 1], beta, goes_on)
    packed.worst[node], packed.size[node] = _sweep_contacts(packed, node, beta, goes_on, whole)


@merged
def _do_piece(board, piece, masses, contacts, rows, gap, packed, velocity):
    """Do one piece of the task on the board: a node of its level, or a range of contacts."""
    task, number, parts = board.word[TASK], board.number, packed.parts
    if task == SWEEP:
        goes_on, whole = number[GOES_ON] > 0.0, number[WHOLE] > 0.0
        _sweep_node(packed, int(number[LEVEL]), piece, number[BETA], goes_on, whole)
        return
    h, count, pieces = number[STEP], parts.contact_end[0], 1 << parts.depth[0]
    first, last = count * piece // pieces, count * (piece + 1) // pieces
    if task == PACK:
        for i in range(first, last):
            _pack_contact(contacts, rows, i, h, number[PUSHED], packed)
    elif task == PACK_GAPS:
        for i in range(first, last):
            _pack_gap(rows, parts.contact[i], h, number[PUSHED], packed.row[i])
    else:
        for i in range(first, last):
            for k in range(3):
                rows.impulse[parts.contact[i], k] = packed.impulse[i, k]
        packed.bent[piece] = bend(
            masses, contacts, rows, parts.contact, first, last, h, number[LIMIT], velocity, gap
        )


@inner
def _share(board, task, pieces, masses, contacts, rows, gap, packed, velocity):
    """Have all pieces of a task done; of none, do pieces of the leader's task. Whether any was done."""
    any_done = False
    if pieces > 0:
        put_up(board, task, pieces)
    piece = take_piece(board)
    while piece >= 0:
        any_done = True
        _do_piece(board, piece, masses, contacts, rows, gap, packed, velocity)
        piece_done(board)
        piece = take_piece(board)
    if pieces > 0:
        wait_for_all(board, pieces)
    return any_done


@merged
def help_sweeps(board, masses, contacts, rows, gap, packed, velocity):
    """Take part in the sweeps that the leader of the crew makes, as long as there is something to do."""
    idle = 0
    while idle < IDLE and not is_over(board):
        any_done = _share(board, SWEEP, NO_PIECES, masses, contacts, rows, gap, packed, velocity)
        idle = 0 if any_done else idle + 1
        pause()


@merged
def _sweep(board, beta, goes_on, whole, masses, contacts, rows, gap, packed, velocity):
    """One Gauss-Seidel pass over an island, from the leaves up; returns what one over contacts does."""
    depth, number = packed.parts.depth[0], board.number
    number[BETA], number[GOES_ON], number[WHOLE] = beta, 1.0 if goes_on else 0.0, 1.0 if whole else 0.0
    for level in range(depth, -1, -1):
        number[LEVEL] = level
        _share(board, SWEEP, 1 << level, masses, contacts, rows, gap, packed, velocity)
    worst, size = 0.0, 0.0
    for node in range((2 << depth) - 1):
        worst, size = max(worst, packed.worst[node]), size + packed.size[node]
    return worst, size


@merged
def _settle(board, settled, max_sweeps, masses, contacts, rows, gap, packed, velocity):
    """Sweep a packed island until it settles; (residual [m], sweeps).

    In a heap in motion most contacts have no impulse and get none: they are looked at in the first sweep, in
    each WHOLE_EVERY-th, and in the last, which alone can tell that the island has settled.
    """
    last_size, beta, residual, done, whole = 0.0, 0.0, np.inf, 0, False
    while done < max_sweeps and (residual > settled or not whole):
        whole = done % WHOLE_EVERY == 0 or residual <= settled or done == max_sweeps - 1
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
    pieces = 1 << packed.parts.depth[0]
    _share(board, PACK, pieces, masses, contacts, rows, gap, packed, velocity)
    for k in range(rounds):
        if done == max_sweeps:
            break
        residual, more = _settle(
            board, settled, max_sweeps - done, masses, contacts, rows, gap, packed, velocity
        )
        done += more
        _unpack_velocities(packed, velocity)
        _share(board, BEND, pieces, masses, contacts, rows, gap, packed, velocity)
        if k == rounds - 1 or not packed.bent[:pieces].any():
            break
        _share(board, PACK_GAPS, pieces, masses, contacts, rows, gap, packed, velocity)
    return residual, done
