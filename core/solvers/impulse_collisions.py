"""Colliding contact of the impulse solver: impacts found and resolved inside the step.

Within a step each body moves with its velocity plus the smooth acceleration of gravity and lasting
contacts. A contact that closes faster than the resting limit is a collision; it is resolved at its
own time t in the step, so that position and velocity at the end of the step are those of a body that
flew, bounced at t and flew on: an impulse at t moves positions by (h - t) times its velocity change.

Source: Bender & Schmitt 2006, section 3.1 (collisions before contacts; loop until no pair collides;
condition (2) on accumulated impulses); Mirtich 1996 (resting limit). Departs from it: collisions
are resolved at their time within the step instead of at its start; all collisions found in one round
are simultaneous (Baraff 1989, section 8), those they cause come in the next round. Collisions of one
round that have no moving body in common, not even through others, are solved apart.
"""

import math
from typing import NamedTuple

import numpy as np

from ..dynamics.body_state import DYNAMIC, KINEMATIC
from ..dynamics.contact_rows import add_pair_impulse, coulomb_step, in_frame, relative_velocity, to_world
from ..dynamics.islands import group_of
from ..jit import allocating_inner, allocating_kernel, inlined, inner
from ..math3 import vec3
from ..tables import table

# A stack passes a blow on by one layer a round. Bodies caught between others collide ever faster; what
# is left after these rounds is resolved with the lasting contacts, without bouncing.
MAX_ROUNDS = 30
MAX_SWEEPS = 60
# Sweeps end when none changes a velocity by more than this part of the resting limit; in a round of more than
# MANY contacts, by more than this part of what its group changed most, or after fewer sweeps: what is left
# still collides in the next round.
SETTLED, SETTLED_OF_MANY = 1e-3, 1e-4
MANY, SWEEPS_OF_MANY = 64, 12
# Where the sweeps of a round with animated bodies still change velocities by more than this part of what it
# changed most, something is squeezed: no impulse would do, and the lasting contacts hold it as they can.
SQUEEZED = 0.05
# The approach speed, in units of what gravity adds in one step, below which contact is resting.
REST_STEPS = 1.05


class Round(NamedTuple):
    """Collisions of one round of an island."""

    contact: np.ndarray  # (c,)
    resolved: np.ndarray  # (c,) contacts of the round before
    following: np.ndarray  # (c,) the next collision of the same group, -1 after the last
    group: np.ndarray  # (c,) the first collision of each group
    time: np.ndarray  # [s] (c,) within the step
    target: np.ndarray  # [m/s] (c, 3) aimed change of the frame's velocity: rest after smooth motion
    impulse: np.ndarray  # [N s] (c, 3) accumulated in this round


class CollisionScratch(NamedTuple):
    """Working space: motion of bodies through the step."""

    speed: np.ndarray  # [m/s] (n,) that no point of the body exceeds in the step before it collides
    velocity: np.ndarray  # (n, 6) velocity without the smooth acceleration
    offset: np.ndarray  # (n, 6) minus the sum of velocity changes times their time [m, rad]
    time: np.ndarray  # [s] (n,) time of the last collision of each body in this step
    touched: np.ndarray  # (n,) whether this round changed the body
    parent: np.ndarray  # (n,) the groups' union-find
    newest: np.ndarray  # (n,) last collision so far of the group that a body stands for, -1 where none
    examined: np.ndarray  # (c,) round in which the contact was last looked at


def empty_collisions(contact_capacity: int, velocity: np.ndarray, offset: np.ndarray) -> CollisionScratch:
    """Scratch for so many contacts; `velocity` and `offset` (n, 6) are others' between collisions."""
    n = len(velocity)
    return CollisionScratch(
        speed=np.zeros(n),
        velocity=velocity,
        offset=offset,
        time=np.zeros(n),
        touched=np.zeros(n, np.bool_),
        parent=np.zeros(n, np.int64),
        newest=np.zeros(n, np.int64),
        examined=table(contact_capacity, np.int8),
    )


@allocating_inner
def _empty_round(count):
    """Room for so many collisions."""
    return Round(
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.empty(count),
        np.empty((count, 3)),
        np.empty((count, 3)),
    )


@inlined
def _fastest_point(v, radius):
    """Speed that no point of a body within `radius` of its centre of mass exceeds [m/s]."""
    spin = vec3.norm((v[3], v[4], v[5]))
    return vec3.norm((v[0], v[1], v[2])) + (radius * spin if spin > 0.0 else 0.0)


@inlined
def _normal_speeds(plan, contacts, c, scratch):
    """Normal velocity of contact `c` without the smooth acceleration, and what that adds in a step [m/s]."""
    n = vec3.load(contacts.normal, c)
    velocity = vec3.dot(n, relative_velocity(scratch.velocity, contacts, c))
    return velocity, vec3.dot(n, relative_velocity(plan.change, contacts, c))


@inlined
def _closes(velocity, change, rest_speed):
    """Whether a contact of these normal speeds closes at some time in the step faster than a resting one."""
    return velocity + min(change, 0.0) < -rest_speed


@inlined
def _is_fast(contacts, c, rest_speed, scratch):
    """Whether the bodies of contact `c` are fast enough to collide there before any other has."""
    return scratch.speed[contacts.body[c, 0]] + scratch.speed[contacts.body[c, 1]] >= rest_speed


@inner
def _impact(contacts, rows, c, velocity, acceleration, h, rest_speed, scratch):
    """(time, normal velocity) of the collision of contact `c`, which closes; time -1 where none.

    The gap follows s + J offset + J v t + J a t^2 / 2 with the normal velocity J v and acceleration J a.
    """
    earliest = max(scratch.time[contacts.body[c, 0]], scratch.time[contacts.body[c, 1]])
    n = vec3.load(contacts.normal, c)
    gap = rows.gap[c] + vec3.dot(n, relative_velocity(scratch.offset, contacts, c))
    now = gap + (velocity + 0.5 * acceleration * earliest) * earliest
    if now <= 0.0:  # in touch already
        speed = velocity + acceleration * earliest
        return (earliest if speed < -rest_speed else -1.0), speed
    discriminant = velocity * velocity - 2.0 * acceleration * gap
    if discriminant <= rest_speed * rest_speed:
        return -1.0, 0.0
    closing = math.sqrt(discriminant)
    time = 2.0 * gap / (closing - velocity)
    if time < earliest or time > h or closing - velocity <= 0.0:
        return -1.0, 0.0
    return time, -closing


@inner
def _list_contact(plan, contacts, rows, c, h, rest_speed, scratch, now, listed):
    """Add contact `c` to the round if it collides; returns the new number of contacts listed."""
    velocity, change = _normal_speeds(plan, contacts, c, scratch)
    if not _closes(velocity, change, rest_speed):
        return listed
    time, speed = _impact(contacts, rows, c, velocity, change / h, h, rest_speed, scratch)
    if time < 0.0:
        return listed
    smooth = in_frame(rows, c, relative_velocity(plan.change, contacts, c))
    now.contact[listed] = c
    now.time[listed] = time
    now.target[listed, 0] = -rows.restitution[c] * speed - smooth[0] * time / h
    now.target[listed, 1] = -smooth[1] * time / h
    now.target[listed, 2] = -smooth[2] * time / h
    for k in range(3):
        now.impulse[listed, k] = 0.0
    return listed + 1


@inner
def _group_collisions(kind, contacts, now, count, scratch):
    """Link the collisions that bodies which move have in common; returns the number of groups."""
    for i in range(count):
        for side in range(2):
            body = contacts.body[now.contact[i], side]
            scratch.parent[body], scratch.newest[body] = body, -1
    for i in range(count):
        a, b = contacts.body[now.contact[i], 0], contacts.body[now.contact[i], 1]
        if kind[a] == DYNAMIC and kind[b] == DYNAMIC:
            ra, rb = group_of(scratch.parent, a), group_of(scratch.parent, b)
            scratch.parent[max(ra, rb)] = min(ra, rb)
    groups = np.int64(0)
    for i in range(count):
        a, b = contacts.body[now.contact[i], 0], contacts.body[now.contact[i], 1]
        root = group_of(scratch.parent, a if kind[a] == DYNAMIC else b)
        if scratch.newest[root] < 0:
            now.group[groups] = i
            groups += 1
        else:
            now.following[scratch.newest[root]] = i
        scratch.newest[root], now.following[i] = i, -1
    return groups


@inner
def _resolve_group(masses, contacts, rows, now, first, many, settled, velocity):
    """Gauss-Seidel over the collisions of one group until velocities settle to `settled` [m/s].

    Returns what it changed most, and what its last sweep changed [m/s].

    Args:
        first: The first collision of the group.
        many: Whether the round has so many collisions that a rougher end will do.
    """
    largest, largest_change = 0.0, 0.0
    for _ in range(SWEEPS_OF_MANY if many else MAX_SWEEPS):
        largest_change = 0.0
        i = first
        while i >= 0:
            c = now.contact[i]
            target = vec3.load(now.target, i)
            u = in_frame(rows, c, relative_velocity(velocity, contacts, c))
            u = (u[0], u[1] - target[1], u[2] - target[2])
            old = vec3.load(now.impulse, i)
            new = coulomb_step(rows, c, u, old, old, 0.0, 0.0, target[0])
            change = vec3.subtract(new, old)
            size = max(
                abs(change[0]) * rows.K[c, 0], abs(change[1]) * rows.K[c, 3], abs(change[2]) * rows.K[c, 5]
            )
            if size > 0.0:
                now.impulse[i, 0], now.impulse[i, 1], now.impulse[i, 2] = new
                add_pair_impulse(masses, contacts, c, to_world(rows, c, change), 1.0, velocity)
                largest_change = max(largest_change, size)
            i = now.following[i]
        largest = max(largest, largest_change)
        if largest_change <= (max(settled, SETTLED_OF_MANY * largest) if many else settled):
            break
    return largest, largest_change


@inner
def _has_animated(kind, contacts, now, count):
    """Whether an animated body takes part in the round."""
    for i in range(count):
        c = now.contact[i]
        if kind[contacts.body[c, 0]] == KINEMATIC or kind[contacts.body[c, 1]] == KINEMATIC:
            return True
    return False


@inner
def _take_back(masses, contacts, rows, now, count, velocity):
    """Undo the impulses of the round."""
    for i in range(count):
        c = now.contact[i]
        p = to_world(rows, c, vec3.load(now.impulse, i))
        add_pair_impulse(masses, contacts, c, p, -1.0, velocity)
        for k in range(3):
            now.impulse[i, k] = 0.0


@inner
def _resolve_round(kind, masses, contacts, rows, now, count, settled, scratch):
    """Resolve the collisions of one round; one with animated bodies as a whole, as it may be squeezed."""
    if not _has_animated(kind, contacts, now, count):
        for k in range(_group_collisions(kind, contacts, now, count, scratch)):
            _resolve_group(masses, contacts, rows, now, now.group[k], count > MANY, settled, scratch.velocity)
        return
    for i in range(count):
        now.following[i] = i + 1 if i + 1 < count else -1
    largest, left = _resolve_group(
        masses, contacts, rows, now, np.int64(0), count > MANY, settled, scratch.velocity
    )
    if left > max(settled, SQUEEZED * largest):
        _take_back(masses, contacts, rows, now, count, scratch.velocity)


@inner
def _close_round(kind, masses, contacts, rows, now, count, scratch):
    """Add the round's impulses to the contacts' and to the offsets, and mark the bodies that changed."""
    for i in range(count):
        c = now.contact[i]
        p = to_world(rows, c, vec3.load(now.impulse, i))
        add_pair_impulse(masses, contacts, c, p, -now.time[i], scratch.offset)
        for k in range(3):
            rows.collision[c, k] += now.impulse[i, k]
        if now.impulse[i, 0] > 0.0:
            for side in range(2):
                body = contacts.body[c, side]
                if kind[body] == DYNAMIC:
                    scratch.touched[body] = True
                    scratch.time[body] = max(scratch.time[body], now.time[i])


@inner
def _next_round(plan, contacts, rows, now, count, number, h, rest_speed, graph, scratch):
    """List the collisions that the last round, of this number, caused: contacts of bodies it changed."""
    for i in range(count):
        now.resolved[i] = now.contact[i]
    listed = np.int64(0)
    for i in range(count):
        for side in range(2):
            body = contacts.body[now.resolved[i], side]
            if not scratch.touched[body]:
                continue
            scratch.touched[body] = False
            for k in range(graph.contact_start[body], graph.contact_start[body + 1]):
                c = np.int64(graph.contact_of_body[k])
                if scratch.examined[c] != number:
                    scratch.examined[c] = number
                    listed = _list_contact(plan, contacts, rows, c, h, rest_speed, scratch, now, listed)
    return listed


@allocating_inner
def _resolve_island(kind, masses, plan, contacts, rows, order, first, last, h, rest_speed, graph, scratch):
    """Resolve the collisions of one island, round by round; returns their number."""
    room = last - first
    while first < last:
        if _is_fast(contacts, order[first], rest_speed, scratch):
            velocity, change = _normal_speeds(plan, contacts, order[first], scratch)
            if _closes(velocity, change, rest_speed):
                break
        first += 1
    if first == last:
        return np.int64(0)
    now = _empty_round(room)
    listed = np.int64(0)
    for i in range(first, last):
        if _is_fast(contacts, order[i], rest_speed, scratch):
            listed = _list_contact(plan, contacts, rows, order[i], h, rest_speed, scratch, now, listed)
    total = np.int64(0)
    for number in range(1, MAX_ROUNDS + 1):
        if listed == 0:
            break
        total += listed
        _resolve_round(kind, masses, contacts, rows, now, listed, SETTLED * rest_speed, scratch)
        _close_round(kind, masses, contacts, rows, now, listed, scratch)
        listed = _next_round(plan, contacts, rows, now, listed, number, h, rest_speed, graph, scratch)
    return total


@allocating_kernel
def resolve_collisions(
    kind, bound, masses, plan, contacts, rows, islands, island_count, h, gravity_speed, graph, scratch
):
    """Resolve all collisions of the step; `plan.mean` and `plan.end_minus_mean` take them in.

    Args:
        bound: Radius of each body about its centre of mass [m], shape (n,).
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        graph: `contact_of_body` must be filled.

    Returns:
        Number of collisions resolved.
    """
    n, rest_speed, fastest = plan.start.shape[0], REST_STEPS * gravity_speed, 0.0
    for i in range(n):
        scratch.speed[i] = _fastest_point(plan.start[i], bound[i]) + _fastest_point(plan.change[i], bound[i])
        fastest = max(fastest, scratch.speed[i])
    if 2.0 * fastest < rest_speed:
        return np.int64(0)
    scratch.examined[:] = 0
    for i in range(n):
        scratch.time[i] = 0.0
        scratch.touched[i] = False
        for k in range(6):
            scratch.velocity[i, k] = plan.start[i, k]
            scratch.offset[i, k] = 0.0
    total = np.int64(0)
    for island in range(island_count):
        if islands.asleep[island]:
            continue
        first, last = islands.start[island], islands.start[island + 1]
        resolved = _resolve_island(
            kind, masses, plan, contacts, rows, islands.order, first, last, h, rest_speed,
            graph, scratch,
        )  # fmt: skip
        total += resolved
        if resolved == 0:
            continue
        for i in range(islands.body_start[island], islands.body_start[island + 1]):
            body = islands.body[i]
            for k in range(6):
                late = scratch.offset[body, k] / h
                plan.mean[body, k] += scratch.velocity[body, k] - plan.start[body, k] + late
                plan.end_minus_mean[body, k] -= late
    return total
