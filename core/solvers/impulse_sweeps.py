"""Gauss-Seidel on the contacts of one island, in the order of the island.

A sweep reads each contact once and uses little of it often, so what it needs lies packed, contact after
contact, with all that does not change from sweep to sweep computed before: a contact takes a third of the
time it takes from the rows of the step, which lie in the order of the pairs. What is packed is made for the
sweeps of an island and lasts no longer: it is more than all the rest that a contact needs.

Source: Bender & Schmitt 2006, section 3.2; the update of a contact is `coulomb_step` of
dynamics/contact_rows.py, which collisions use.
"""

import math
from typing import NamedTuple

import numpy as np

from ..dynamics.contact_rows import PUSH
from ..jit import allocating_inner, inlined, inner
from ..math3 import vec3
from .impulse_contacts import bend, gap_rate

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


class PackedContacts(NamedTuple):
    """Contacts and bodies of one island, in its order; impulses in the contact frame."""

    row: np.ndarray  # (c, WIDTH)
    body: np.ndarray  # (c, 2) a, b
    impulse: np.ndarray  # [N s] (c, 3)
    step: np.ndarray  # [N s] (c, 3) what the last sweep added
    direction: np.ndarray  # [N s] (c, 3) of the conjugate gradients that speed up sweeps
    found: np.ndarray  # (b, 6) velocities before the last sweep
    course: np.ndarray  # (b, 6) what the direction changes velocities by


@allocating_inner
def _room_for(islands, island):
    """Room for the contacts and bodies of an island."""
    count = islands.start[island + 1] - islands.start[island]
    bodies = islands.body_start[island + 1] - islands.body_start[island]
    impulses, velocities = np.zeros((3, count, 3)), np.zeros((2, bodies, 6))
    return PackedContacts(
        np.empty((count, WIDTH)), np.empty((count, 2), np.int64), impulses[0], impulses[1], impulses[2],
        velocities[0], velocities[1],
    )  # fmt: skip


@inner
def _pack_gap(rows, c, h, push, row):
    """What a change of the gap changes."""
    gap = rows.gap[c]
    row[RATE] = gap_rate(gap, h, push)
    row[GIVE] = rows.compliance[c] * (PUSH if gap < 0.0 else 1.0)
    row[INVERSE] = 1.0 / (rows.K[c, 0] + row[GIVE])


@inner
def pack_island(contacts, rows, islands, island, h, push, packed):
    """Pack the contacts of an island, with the impulses they have now."""
    first = islands.start[island]
    for i in range(islands.start[island + 1] - first):
        c = islands.order[first + i]
        row, K = packed.row[i], rows.K[c]
        for k in range(9):
            row[FRAME + k] = rows.frame[c, k]
        for k in range(3):
            row[ARM_A + k], row[ARM_B + k] = contacts.arm[c, 0, k], contacts.arm[c, 1, k]
            packed.impulse[i, k] = rows.impulse[c, k]
        for side in range(2):
            packed.body[i, side] = contacts.body[c, side]
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


@inner
def _pack_gaps(rows, islands, island, h, push, packed):
    """Pack the gaps of an island anew."""
    first = islands.start[island]
    for i in range(islands.start[island + 1] - first):
        _pack_gap(rows, islands.order[first + i], h, push, packed.row[i])


@inner
def unpack_impulses(rows, islands, island, packed):
    """Take an island's impulses back into the rows."""
    first = islands.start[island]
    for i in range(islands.start[island + 1] - first):
        for k in range(3):
            rows.impulse[islands.order[first + i], k] = packed.impulse[i, k]


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
def _push(masses, body, arm, p, sign, velocity):
    """Add M^-1 J' p to one row of `velocity` for the impulse sign * p at the arm."""
    v, m, inverse = velocity[body], masses.inv_mass[body], masses.inv_I[body]
    t = vec3.cross(arm, p)
    for k in range(3):
        v[k] += sign * (m[k] * p[k])
        v[3 + k] += sign * (inverse[3 * k] * t[0] + inverse[3 * k + 1] * t[1] + inverse[3 * k + 2] * t[2])


@inner
def sweep(masses, packed, count, velocity):
    """One Gauss-Seidel pass over an island.

    Returns:
        (largest change of a contact [m], sum of all [N m s]): the first of the relative position at the end
        of the step, a contact's residual; the second of impulse squared over the mass it moves, times h.
    """
    worst, size = 0.0, 0.0
    for i in range(count):
        row = packed.row[i]
        a, b = packed.body[i, 0], packed.body[i, 1]
        va, vb = velocity[a], velocity[b]
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
        if normal == 0.0 and p0 == 0.0:
            continue
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
        _push(masses, a, arm_a, p, 1.0, velocity)
        _push(masses, b, arm_b, p, -1.0, velocity)
        along, across = row[K_N] * abs(d0), row[K_T] * math.sqrt(d1 * d1 + d2 * d2)
        worst = max(worst, along, across)
        size += row[K_N] * (d0 * d0) + row[K_T] * (d1 * d1 + d2 * d2)
    return worst, size


@inner
def _keep_velocities(islands, island, velocity, packed):
    first = islands.body_start[island]
    for i in range(packed.found.shape[0]):
        for m in range(6):
            packed.found[i, m] = velocity[islands.body[first + i], m]


@inner
def _go_on(islands, island, beta, velocity, packed):
    """Go on along the conjugate direction of the sweeps so far.

    Source: Silcowitz, Niebe & Erleben 2010, *A nonsmooth nonlinear conjugate gradient method for
    interactive contact force problems*, algorithm 2. The step of a sweep stands for the gradient, measured
    here by the velocities it changes; where it grew, beta is 0 and the direction is forgotten.
    """
    for i in range(islands.start[island + 1] - islands.start[island]):
        for m in range(3):
            d = beta * packed.direction[i, m]
            packed.direction[i, m] = d + packed.step[i, m]
            packed.impulse[i, m] += d
    first = islands.body_start[island]
    for i in range(packed.found.shape[0]):
        body = islands.body[first + i]
        for m in range(6):
            d = beta * packed.course[i, m]
            packed.course[i, m] = d + velocity[body, m] - packed.found[i, m]
            velocity[body, m] += d


@inner
def _settle(masses, islands, island, settled, max_sweeps, velocity, packed):
    """Sweep a packed island until it settles; (residual [m], sweeps)."""
    count = islands.start[island + 1] - islands.start[island]
    last_size, residual = 0.0, 0.0
    for done in range(1, max_sweeps + 1):
        _keep_velocities(islands, island, velocity, packed)
        residual, size = sweep(masses, packed, count, velocity)
        if residual <= settled:
            return residual, done
        if done < max_sweeps:
            _go_on(islands, island, size / last_size if size < last_size else 0.0, velocity, packed)
            last_size = size
    return residual, max_sweeps


@allocating_inner
def sweep_island(masses, contacts, rows, islands, island, h, tolerance, settled, max_sweeps, gap, velocity):
    """Sweep an island until it settles, then again with arms that rotate; (residual [m], sweeps).

    Args:
        settled: Largest change of a contact in a sweep to end with [m].
        gap: Gaps before arms rotate [m], shape (c,).
        velocity: Mean velocities (bodies, 6), brought up to date with `rows.impulse`.
    """
    first, last = islands.start[island], islands.start[island + 1]
    residual, done = 0.0, 0
    packed = _room_for(islands, island)
    pack_island(contacts, rows, islands, island, h, PUSH, packed)
    for _ in range(4):  # straight prediction, then up to three with rotating arms
        if done == max_sweeps:
            break
        residual, more = _settle(masses, islands, island, settled, max_sweeps - done, velocity, packed)
        done += more
        unpack_impulses(rows, islands, island, packed)
        if not bend(masses, contacts, rows, islands.order, first, last, h, 0.1 * tolerance, velocity, gap):
            break
        _pack_gaps(rows, islands, island, h, PUSH, packed)
    return residual, done


@allocating_inner
def sweep_without_push(masses, contacts, rows, islands, island, h, settled, max_sweeps, velocity):
    """The same without what pushes penetrations apart, along straight lines."""
    packed = _room_for(islands, island)
    pack_island(contacts, rows, islands, island, h, 0.0, packed)
    _settle(masses, islands, island, settled, max_sweeps, velocity, packed)
    unpack_impulses(rows, islands, island, packed)
