"""One round of collisions of the impulse solver: all found at once, resolved group by group.

Collisions that have no moving body in common, not even through others, form groups, each solved apart: what
one moves no other reads, so several threads can share them.

Source: Baraff 1989, section 8 (simultaneous collisions); Bender & Schmitt 2006, section 3.1.
"""

import math
from typing import NamedTuple

import numpy as np

from ..dynamics.body_state import DYNAMIC, KINEMATIC
from ..dynamics.contact_rows import add_impulse
from ..dynamics.islands import group_of
from ..dynamics.packed_rows import (
    ANCHOR_1,
    ANCHOR_2,
    ARM_A,
    ARM_B,
    INVERSE,
    K_N,
    K_T,
    RATE,
    SMOOTH,
    friction_step,
    normal_step,
    packed_velocity,
    world_impulse,
)
from ..jit import inlined, inner
from ..math3 import mat3, vec3
from ..tables import scratch_tables
from .packed_contacts import PackedContacts

MAX_SWEEPS = 60
# In a round of more than MANY contacts sweeps end when none changes a velocity by more than this part of what
# its group changed most, or after fewer sweeps: what is left still collides in the next round.
MANY, SETTLED_OF_MANY, SWEEPS_OF_MANY = 64, 1e-4, 12
# Bodies meet flat where the least speed lacking at a contact is so large a part of the largest, and an even
# impulse changes as much as so large a part of what impulses at each contact alone would.
EVEN, EFFECT = 0.9, 0.1
# Of p . K p / 2: energy beyond which it is the law of restitution that makes it, not the end of the sweeps.
MADE = 1e-3


class Round(NamedTuple):
    """Collisions of one round of an island, group by group; impulses in the contact frame."""

    listed: np.ndarray  # (c,) contacts that collide, in the order in which they were found
    contact: np.ndarray  # (c,) the same, group by group
    group_start: np.ndarray  # (c + 1,) where each group begins there
    group: np.ndarray  # (c,) the group of each collision listed
    row: np.ndarray  # (c, WIDTH)
    body: np.ndarray  # (c, 2) a, b
    impulse: np.ndarray  # [N s] (c, 3) accumulated in this round
    approach: np.ndarray  # [m/s] (c, 3) velocity of a relative to b before, in the contact frame
    time: np.ndarray  # [s] (c,) within the step
    changed: np.ndarray  # (n,) bodies that it changed
    found: np.ndarray  # (2 c,) contacts that then collide, where those of each body begin
    found_count: np.ndarray  # (n,) how many, for each of the bodies changed
    collides: np.ndarray  # (c,) whether each contact collides at first
    hit: np.ndarray  # (c,) contacts that collide at first, where in the islands' order they stand
    smooth: np.ndarray  # [m/s] (c,) what the smooth acceleration adds to each contact's normal velocity


def empty_round(packed: PackedContacts) -> Round:
    """Room for the collisions of contacts whose room for sweeps this is: those come later in the step.

    It leaves alone how the island is divided that will be swept longest, which is known before.
    """
    contact_count, body_count = len(packed.row), len(packed.found) - 1
    found, bodies = packed.direction.reshape(-1).view(np.int32), packed.found.reshape(-1).view(np.int64)
    listed, group_start, time, smooth, collides = scratch_tables(
        ((contact_count,), np.int64), ((contact_count + 1,), np.int64),
        ((contact_count,), float), ((contact_count,), float), ((contact_count,), np.bool_),
    )  # fmt: skip
    return Round(
        listed=listed,
        contact=packed.rest,
        group_start=group_start,
        group=packed.direction.reshape(-1).view(np.int64)[2 * contact_count :],
        row=packed.row,
        body=packed.body,
        impulse=packed.impulse,
        approach=packed.step,
        time=time,
        changed=bodies[:body_count],
        found=found[: 2 * contact_count],
        found_count=bodies[body_count : 2 * body_count],
        collides=collides,
        hit=found[2 * contact_count : 3 * contact_count],
        smooth=smooth,
    )


@inner
def has_animated(kind, contacts, now, count):
    """Whether an animated body takes part in the round."""
    for i in range(count):
        c = now.listed[i]
        if kind[contacts.body[c, 0]] == KINEMATIC or kind[contacts.body[c, 1]] == KINEMATIC:
            return True
    return False


@inner
def _find_groups(kind, contacts, now, count, parent, group):
    """Find the group of each collision, and the size of each; returns how many groups there are."""
    for i in range(count):
        for side in range(2):
            body = contacts.body[now.listed[i], side]
            parent[body], group[body] = body, -1
    for i in range(count):
        a, b = contacts.body[now.listed[i], 0], contacts.body[now.listed[i], 1]
        if kind[a] == DYNAMIC and kind[b] == DYNAMIC:
            ra, rb = group_of(parent, a), group_of(parent, b)
            parent[max(ra, rb)] = min(ra, rb)
    groups = np.int64(0)
    for i in range(count):
        a, b = contacts.body[now.listed[i], 0], contacts.body[now.listed[i], 1]
        root = group_of(parent, a if kind[a] == DYNAMIC else b)
        if group[root] < 0:
            group[root] = groups
            groups += 1
            now.group_start[groups] = 0
        now.group[i] = group[root]
        now.group_start[now.group[i] + 1] += 1
    return groups


@inner
def group_collisions(kind, contacts, now, count, parent, group):
    """Sort the collisions listed into groups; those with animated bodies are one, as they may be squeezed.

    Args:
        count: How many collisions.
        parent, group: Scratch (bodies,).

    Returns:
        The number of groups.
    """
    groups = np.int64(1)
    if has_animated(kind, contacts, now, count):
        now.group_start[1] = count
        for i in range(count):
            now.group[i] = 0
    else:
        groups = _find_groups(kind, contacts, now, count, parent, group)
    now.group_start[0] = 0
    for g in range(groups):
        now.group_start[g + 1] += now.group_start[g]
    for i in range(count):
        place = now.group_start[now.group[i]]
        now.contact[place] = now.listed[i]
        now.group_start[now.group[i]] = place + 1
    for g in range(groups - 1, 0, -1):
        now.group_start[g] = now.group_start[g - 1]
    now.group_start[0] = 0
    return groups


@inlined
def push(kind, masses, now, i, p, factor, velocity):
    """Add factor M^-1 J' p to the velocities of what collides, for the impulse p in the contact frame."""
    row, a, b = now.row[i], now.body[i, 0], now.body[i, 1]
    p = world_impulse(row, p)
    if kind[a] == DYNAMIC:  # others move as they do; several threads read how
        add_impulse(masses, a, (row[ARM_A], row[ARM_A + 1], row[ARM_A + 2]), p, 1.0, factor, velocity)
    if kind[b] == DYNAMIC:
        add_impulse(masses, b, (row[ARM_B], row[ARM_B + 1], row[ARM_B + 2]), p, -1.0, factor, velocity)


@inlined
def _response(kind, masses, body, force, turn):
    """What an impulse and its moment change in the velocity where they act, each weighed by its own."""
    if kind[body] != DYNAMIC:  # others move as they do
        return 0.0
    m = masses.inv_mass[body]
    spin = mat3.transform(mat3.load(masses.inv_I, body), turn)
    return m[0] * force[0] ** 2 + m[1] * force[1] ** 2 + m[2] * force[2] ** 2 + vec3.dot(turn, spin)


@inner
def _begin_pair(kind, masses, now, first, last, velocity):
    """Begin with the same normal impulse at all collisions of a pair, where its bodies meet flat."""
    a, b = now.body[first, 0], now.body[first, 1]
    va, vb = vec3.load_pair(velocity[a]), vec3.load_pair(velocity[b])
    least, most, lacking, alone = np.inf, 0.0, 0.0, 0.0
    force, turn_a, turn_b = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(first, last):
        row = now.row[i]
        if row[INVERSE] == 0.0:  # no impulse changes anything
            return
        n = (row[0], row[1], row[2])
        here = row[RATE] - vec3.dot(n, packed_velocity(row, va, vb))
        least, most, lacking, alone = min(least, here), max(most, here), lacking + here, alone + row[K_N]
        force = vec3.add(force, n)
        turn_a = vec3.add(turn_a, vec3.cross((row[ARM_A], row[ARM_A + 1], row[ARM_A + 2]), n))
        turn_b = vec3.add(turn_b, vec3.cross((row[ARM_B], row[ARM_B + 1], row[ARM_B + 2]), n))
    response = _response(kind, masses, a, force, turn_a) + _response(kind, masses, b, force, turn_b)
    if least < EVEN * most or response <= EFFECT * alone:
        return
    for i in range(first, last):
        now.impulse[i, 0] = lacking / response
        push(kind, masses, now, i, (now.impulse[i, 0], 0.0, 0.0), 1.0, velocity)


@inlined
def is_same_pair(body_of, i, k):
    """Whether two rows of a table (c, 2) name the same bodies."""
    return body_of[i, 0] == body_of[k, 0] and body_of[i, 1] == body_of[k, 1]


@inner
def begin_pairs(kind, masses, now, first, last, velocity):
    """Begin with even impulses at each pair of a group: what falls flat on a face needs no others."""
    while first < last:
        end = first + 1
        while end < last and is_same_pair(now.body, end, first):
            end += 1
        if end > first + 1:
            _begin_pair(kind, masses, now, first, end, velocity)
        first = end


@inner
def resolve_group(kind, masses, now, first, last, many, settled, velocity):
    """Gauss-Seidel over the collisions of one group until velocities settle to `settled` [m/s].

    Returns what it changed most, and what its last sweep changed [m/s].

    Args:
        many: Whether the round has so many collisions that a rougher end will do.
    """
    largest, change = 0.0, 0.0
    for _ in range(SWEEPS_OF_MANY if many else MAX_SWEEPS):
        change = 0.0
        for i in range(first, last):
            row, p, a, b = now.row[i], now.impulse[i], now.body[i, 0], now.body[i, 1]
            u = packed_velocity(row, vec3.load_pair(velocity[a]), vec3.load_pair(velocity[b]))
            normal = normal_step(row, u, p[0])
            d0 = normal - p[0]
            q1, q2 = friction_step(row, u, d0, p[1], p[2], normal)
            d1, d2 = q1 - p[1], q2 - p[2]
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0:
                p[0], p[1], p[2] = normal, q1, q2
                push(kind, masses, now, i, (d0, d1, d2), 1.0, velocity)
                change = max(change, row[K_N] * abs(d0), row[K_T] * math.sqrt(d1 * d1 + d2 * d2))
        largest = max(largest, change)
        if change <= (max(settled, SETTLED_OF_MANY * largest) if many else settled):
            break
    return largest, change


@inlined
def _part_without_energy(none, slope, curvature):
    """The largest part s <= 1 with none + slope s + curvature s^2 <= 0, where that is positive at 1."""
    if none >= 0.0:
        return 0.0
    root = math.sqrt(slope * slope - 4.0 * curvature * none)
    # Of the two forms of the root the one without a difference of nearly equal numbers.
    return -2.0 * none / (slope + root) if slope >= 0.0 else (root - slope) / (2.0 * curvature)


@inlined
def _velocity_then(now, i, velocity):
    """Velocity of a relative to b at collision `i` when it happens, in the contact frame [m/s]."""
    row = now.row[i]
    va, vb = vec3.load_pair(velocity[now.body[i, 0]]), vec3.load_pair(velocity[now.body[i, 1]])
    u = packed_velocity(row, va, vb)
    return (
        row[0] * u[0] + row[1] * u[1] + row[2] * u[2] + row[SMOOTH],
        row[3] * u[0] + row[4] * u[1] + row[5] * u[2] - row[ANCHOR_1],
        row[6] * u[0] + row[7] * u[1] + row[8] * u[2] - row[ANCHOR_2],
    )


@inner
def _energy_made(now, first, last, velocity):
    """Energy that the impulses p of a group make [J], p . (u_before + u_after) / 2, and p . K p / 2 in it."""
    gain, quadratic = 0.0, 0.0
    for i in range(first, last):
        p, before = vec3.load(now.impulse, i), vec3.load(now.approach, i)
        after = _velocity_then(now, i, velocity)
        gain += 0.5 * vec3.dot(p, vec3.add(before, after))
        quadratic += 0.5 * vec3.dot(p, vec3.subtract(after, before))
    return gain, quadratic


@inner
def lower_restitution(kind, masses, rows, now, first, last, many, settled, velocity):
    """Let a group bounce less, by the same part everywhere, if it would make energy: until it makes none.

    Newton's law of restitution makes some where friction turns the slip back. Between the impulses without
    any bounce and those of the whole one, energy is a quadratic polynomial of the part.

    Source: as in `analytic_impacts.py` (Kane & Levinson 1985 on the energy), which searches for the part.

    Args:
        many, settled: See `resolve_group`.
    """
    whole, quadratic = _energy_made(now, first, last, velocity)
    if whole <= MADE * quadratic:
        return
    for i in range(first, last):
        c = now.contact[i]
        for k in range(3):
            rows.impulse[c, k] = now.impulse[i, k]
        now.row[i, RATE] = -now.row[i, SMOOTH]
    resolve_group(kind, masses, now, first, last, many, settled, velocity)
    none, _ = _energy_made(now, first, last, velocity)
    slope = 0.0
    for i in range(first, last):
        bounce = vec3.subtract(vec3.load(rows.impulse, now.contact[i]), vec3.load(now.impulse, i))
        slope += vec3.dot(bounce, _velocity_then(now, i, velocity))
    part = _part_without_energy(none, slope, whole - none - slope)
    for i in range(first, last):
        c = now.contact[i]
        more = vec3.scale(vec3.subtract(vec3.load(rows.impulse, c), vec3.load(now.impulse, i)), part)
        push(kind, masses, now, i, more, 1.0, velocity)
        for k in range(3):
            now.impulse[i, k] += more[k]
            rows.impulse[c, k] = rows.before[c, k]


@inner
def hold_group_energy(kind, masses, now, first, last, velocity):
    """Shorten all impulses of a group by the part with which they make no energy, if they make any.

    Sweeps end near what they look for only. Momenta are kept.
    """
    gain, quadratic = _energy_made(now, first, last, velocity)
    if not 0.0 < gain < quadratic:
        return
    part = 1.0 - gain / quadratic
    for i in range(first, last):
        p = vec3.load(now.impulse, i)
        push(kind, masses, now, i, p, part - 1.0, velocity)
        now.impulse[i, 0], now.impulse[i, 1], now.impulse[i, 2] = vec3.scale(p, part)


@inner
def take_back(kind, masses, now, first, last, velocity):
    """Undo the impulses of a group."""
    for i in range(first, last):
        push(kind, masses, now, i, vec3.load(now.impulse, i), -1.0, velocity)
        for k in range(3):
            now.impulse[i, k] = 0.0
