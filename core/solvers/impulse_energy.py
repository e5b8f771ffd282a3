"""No step makes energy: what a step's impulses leave too fast is taken back, island by island.

An impulse p that has changed by d since the last step acts half a step too early with that change (see
`impulse_contacts`), so that positions are right at the end of the step and what swings is damped. With the
mean velocity w of the step, energy then changes by

    w . J'p  -  (v_end - v_start) . J'd / 2:

work of the contacts, none or negative, and an error of either sign. With (1 + s) d instead of d in the
velocities at the end, the error goes down to none at s = 1, which is the midpoint rule: exact, but undamped.
Of all s from 0 to 1 the smallest is taken at which an island has no more energy than at the start of the
step and the work of the animated bodies that touch it. Impulses stay in their friction cones; momentum is
kept.

What is left (arms that turn, springs that give way, motion cut short) is of a higher order. It is taken
from the impulses of the step's collisions, which momenta do not feel, and only what these do not pay for from
the speed of the island over the ground, or, where it touches none, over its own centre of mass. An
island that would rise by more than all its speed pays for ends its step early.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dynamics.body_state import DYNAMIC, KINEMATIC
from ..dynamics.contact_rows import to_world
from ..dynamics.islands import ISLANDS
from ..jit import inlined, inner, kernel
from ..math3 import mat3, vec3
from .impulse_contacts import turns_far

if TYPE_CHECKING:
    from .impulse import ImpulsePipeline

# Part of the collisions' impulses that may be taken back: without them bodies would go on into each other.
MOST_RETURNED = 0.1
PAID_CLIMB = 0.5  # part of the energy of motion that a step which ends early may spend on a rise


class EnergyScratch(NamedTuple):
    """Working space, by body or by contact."""

    start: np.ndarray  # [J] (bodies,) kinetic energy at the start of the step
    change: np.ndarray  # [N s, N m s] (bodies, 6) momentum that s = 1 would add
    extra: np.ndarray  # [N s] (c, 3) and impulse, world axes


@inlined
def _square(masses, body, p, L, q, M):
    """p . q / m + L . I^-1 M for momenta (p, L) and (q, M) of a body; of equal ones twice the energy."""
    m = masses.inv_mass[body]
    turned = mat3.transform(mat3.load(masses.inv_I, body), M)
    return m[0] * p[0] * q[0] + m[1] * p[1] * q[1] + m[2] * p[2] * q[2] + vec3.dot(L, turned)


@inlined
def _momentum(masses, state, body):
    """Linear momentum of a body; of axes that are locked none."""
    m, v = masses.inv_mass[body], state.v[body]
    return (
        v[0] / m[0] if m[0] > 0.0 else 0.0,
        v[1] / m[1] if m[1] > 0.0 else 0.0,
        v[2] / m[2] if m[2] > 0.0 else 0.0,
    )


@inlined
def kinetic_energy(masses, state, body):
    """Kinetic energy of one body [J]."""
    p, L = _momentum(masses, state, body), vec3.load(state.L, body)
    return 0.5 * _square(masses, body, p, L, p, L)


@inlined
def slow_down(masses, state, body, part):
    """Scale the velocities of one body."""
    for k in range(3):
        state.v[body, k] *= part
        state.L[body, k] *= part
    update_spin(masses, state, body)


@inlined
def update_spin(masses, state, body):
    """Angular velocity from angular momentum."""
    w = mat3.transform(mat3.load(masses.inv_I, body), vec3.load(state.L, body))
    state.w[body, 0], state.w[body, 1], state.w[body, 2] = w


@inner
def _work(kind, contacts, c, p, plan):
    """Work of the animated bodies at contact `c` by the impulse p on its body a [J]; whether they move."""
    work, moves = 0.0, False
    for side in range(2):
        body = contacts.body[c, side]
        if kind[body] != KINEMATIC:
            continue
        v = plan.mean[body]
        spin = vec3.cross((v[3], v[4], v[5]), vec3.load(contacts.arm[c], side))
        u = (v[0] + spin[0], v[1] + spin[1], v[2] + spin[2])
        moves = moves or vec3.dot(u, u) > 0.0
        work += (-1.0 if side == 0 else 1.0) * vec3.dot(p, u)
    return work, moves


@inlined
def _into_cone(p, limit):
    """An impulse in the contact frame, pressing, and its friction within `limit` times its normal part."""
    normal = max(p[0], 0.0)
    size, most = math.sqrt(p[1] * p[1] + p[2] * p[2]), limit * normal
    part = most / size if size > most else 1.0
    return normal, part * p[1], part * p[2]


@inner
def _sum_changes(masses, contacts, order, first, last, scratch):
    """Write what impulses at contacts add to the momentum of their bodies."""
    for i in range(first, last):
        c = order[i]
        for side in range(2):
            body = contacts.body[c, side]
            for k in range(6):
                scratch.change[body, k] = 0.0
    for i in range(first, last):
        c = order[i]
        extra = vec3.load(scratch.extra, c)
        for side in range(2):
            body, sign = contacts.body[c, side], 1.0 if side == 0 else -1.0
            torque = vec3.cross(vec3.load(contacts.arm[c], side), extra)
            for k in range(3):
                scratch.change[body, k] += sign * extra[k]
                if not masses.lock_angular[body, k]:
                    scratch.change[body, 3 + k] += sign * torque[k]


@inner
def _list_changes(masses, contacts, rows, order, first, last, h, plan, lasting, scratch):
    """Write what s = 1 would add, by contact and by body."""
    for i in range(first, last):
        c = order[i]
        a, b = contacts.body[c, 0], contacts.body[c, 1]
        p, before = vec3.load(rows.impulse, c), vec3.load(rows.before, c)
        wanted = _into_cone(vec3.add(p, vec3.subtract(p, before)), rows.friction[c, 0])
        extra = to_world(contacts, c, vec3.subtract(wanted, p))
        if not (lasting[a] and lasting[b]) or turns_far(masses, contacts, c, h, plan.start):
            extra = (0.0, 0.0, 0.0)
        for k in range(3):
            scratch.extra[c, k] = extra[k]
    _sum_changes(masses, contacts, order, first, last, scratch)


@inner
def _list_collisions(masses, contacts, rows, order, first, last, scratch):
    """Write what collisions added, with the other sign, by contact and by body."""
    for i in range(first, last):
        c = order[i]
        extra = to_world(contacts, c, vec3.scale(vec3.load(rows.collision, c), -1.0))
        for k in range(3):
            scratch.extra[c, k] = extra[k]
    _sum_changes(masses, contacts, order, first, last, scratch)


@inner
def _effect(kind, masses, state, contacts, islands, island, plan, scratch):
    """(slope, curve) of the energy of an island over the share of the changes that acts [J]."""
    slope, curve = 0.0, 0.0
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        d = scratch.change[body]
        dp, dL = (d[0], d[1], d[2]), (d[3], d[4], d[5])
        p, L = _momentum(masses, state, body), vec3.load(state.L, body)
        slope += _square(masses, body, p, L, dp, dL)
        curve += 0.5 * _square(masses, body, dp, dL, dp, dL)
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        slope -= _work(kind, contacts, c, vec3.load(scratch.extra, c), plan)[0]
    return slope, curve


@inlined
def _least_share(rise, slope, curve):
    """Smallest s in [0, 1] at which rise + slope s + curve s^2 is not positive, or else is least."""
    if slope >= 0.0:
        return 0.0
    square = slope * slope - 4.0 * curve * rise
    if square >= 0.0:
        return min(2.0 * rise / (math.sqrt(square) - slope), 1.0)
    return min(-0.5 * slope / curve, 1.0)


@inner
def _add_share(masses, state, islands, island, share, scratch):
    """Let the share s of the changes act."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        for m in range(3):
            state.v[body, m] += share * scratch.change[body, m] * masses.inv_mass[body, m]
            state.L[body, m] += share * scratch.change[body, 3 + m]
        update_spin(masses, state, body)


@inner
def _slow_island_down(masses, state, islands, island, grounded, excess):
    """Take the energy `excess` [J] from an island's speed over the ground, or over its centre of mass.

    Returns:
        How much it was [J].
    """
    mass, energy = 0.0, 0.0
    px, py, pz = 0.0, 0.0, 0.0
    first, last = islands.body_start[island], islands.body_start[island + 1]
    for k in range(first, last):
        body = islands.body[k]
        p = _momentum(masses, state, body)
        px, py, pz, mass = px + p[0], py + p[1], pz + p[2], mass + masses.mass[body]
        energy += kinetic_energy(masses, state, body)
    common = (0.0, 0.0, 0.0) if grounded else (px / mass, py / mass, pz / mass)
    energy -= 0.5 * mass * vec3.dot(common, common)
    if energy <= 0.0:
        return 0.0
    part = math.sqrt(max(1.0 - excess / energy, 0.0))
    for k in range(first, last):
        body = islands.body[k]
        for m in range(3):
            if masses.inv_mass[body, m] > 0.0:
                state.v[body, m] = common[m] + part * (state.v[body, m] - common[m])
            state.L[body, m] *= part
        update_spin(masses, state, body)
    return min(excess, energy)


@inner
def _take_back(
    kind, masses, state, contacts, rows, islands, island, plan, grounded, collides, excess, scratch
):
    """Take the energy `excess` [J] from an island, first from its collisions' impulses; what is left."""
    left, first, last = excess, islands.start[island], islands.start[island + 1]
    if left > 0.0 and collides:
        _list_collisions(masses, contacts, rows, islands.order, first, last, scratch)
        slope, curve = _effect(kind, masses, state, contacts, islands, island, plan, scratch)
        share = _least_share(left, slope, curve)
        if share <= MOST_RETURNED:
            _add_share(masses, state, islands, island, share, scratch)
            left += share * (slope + share * curve)
    if left > 0.0:
        left -= _slow_island_down(masses, state, islands, island, grounded, left)
    return left


@inner
def _lift(masses, islands, island, plan, gravity, h):
    """By how much a step raises the energy of place of an island [J], less the work of applied forces."""
    lift = 0.0
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        mass, mean = masses.mass[body], plan.mean[body]
        v = mean[0], mean[1], mean[2]
        lift -= h * mass * vec3.dot(vec3.load(gravity, body), v)
        if plan.drive.shape[0] > 0:
            drive = plan.drive[body]
            lift -= mass * vec3.dot((drive[6], drive[7], drive[8]), v)
            lift -= vec3.dot((drive[9], drive[10], drive[11]), (mean[3], mean[4], mean[5]))
    return lift


@inner
def _has_help(kind, contacts, slot, allowance, forgives, islands, island, plan):
    """Whether an animated body that moves touches an island, or an overlap in it is being parted."""
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        if forgives and allowance[slot[c]] > 0.0:
            return True
        if _work(kind, contacts, c, (0.0, 0.0, 0.0), plan)[1]:
            return True
    return False


@kernel
def end_spent_climbs(
    kind, masses, state, contacts, slot, allowance, forgives, islands, island_count, plan, gravity, h, sink,
    at_rest,
):  # fmt: skip
    """End the step early for islands that would rise by more than their speed pays for.

    Contacts that turn far in a step can ask for it. Such an island stops where PAID_CLIMB of its speed is
    spent; the rest pays for what position repair may raise there. What its springs give back is allowed for.

    Args:
        sink: How far a spring may give, per step [m/s].
        at_rest: Bodies held at rest or about to be, shape (n,).
    """
    for island in range(island_count):
        first, last = islands.body_start[island], islands.body_start[island + 1]
        if islands.asleep[island] or at_rest[islands.body[first]]:
            continue
        lift = _lift(masses, islands, island, plan, gravity, h)
        if lift <= 0.0:
            continue
        paid = 0.0
        for k in range(first, last):
            body = islands.body[k]
            paid += kinetic_energy(masses, state, body)
            paid += h * sink * masses.mass[body] * vec3.norm(vec3.load(gravity, body))
        if lift <= paid or _has_help(kind, contacts, slot, allowance, forgives, islands, island, plan):
            continue
        for k in range(first, last):
            for m in range(6):
                plan.mean[islands.body[k], m] *= PAID_CLIMB * paid / lift


@kernel
def hold_energy(
    kind, masses, state, contacts, impulse, slot, allowance, forgives, rows, islands, island_count, plan,
    gravity, h, lasting, held, scratch,
):  # fmt: skip
    """Take back the energy that the step has made; called when bodies have moved.

    Islands that sleep or are held have none, those with an overlap that is being parted are let have it.

    Args:
        impulse: Of each contact, for the next step; what is added to the bodies is added here [N s].
        slot, allowance: Pair of each contact, and the overlap forgiven to each pair [m].
        forgives: Whether any overlap is forgiven.
        lasting: Whether the impulses of the last step acted on a body all through this one, shape (n,).
        held: Bodies held at rest, shape (n,).
        scratch: `start` is read.
    """
    any_moved, none = False, np.bool_(False)  # typed: a literal would compile what it is passed to once more
    for i in range(kind.shape[0]):
        any_moved = any_moved or kind[i] == KINEMATIC
    for island in range(island_count):
        first, last = islands.start[island], islands.start[island + 1]
        body_first, body_last = islands.body_start[island], islands.body_start[island + 1]
        if islands.asleep[island] or held[islands.body[body_first]]:
            continue
        rise = _lift(masses, islands, island, plan, gravity, h)
        for k in range(body_first, body_last):
            body = islands.body[k]
            rise += kinetic_energy(masses, state, body) - scratch.start[body]
        if rise <= 0.0 and not any_moved:  # who could add to it
            continue
        parted, carried, grounded, collides = none, none, none, none
        for i in range(first, last):
            c = islands.order[i]
            parted = parted or (forgives and allowance[slot[c]] > 0.0)
            collides = collides or rows.collision[c, 0] > 0.0
            if kind[contacts.body[c, 0]] == DYNAMIC and kind[contacts.body[c, 1]] == DYNAMIC:
                continue
            grounded = True
            p = vec3.add(vec3.load(rows.impulse, c), vec3.load(rows.collision, c))
            work, moves = _work(kind, contacts, c, to_world(contacts, c, p), plan)
            rise -= work
            carried = carried or moves
        if rise <= 0.0 or parted:
            continue
        _list_changes(masses, contacts, rows, islands.order, first, last, h, plan, lasting, scratch)
        slope, curve = _effect(kind, masses, state, contacts, islands, island, plan, scratch)
        share = _least_share(rise, slope, curve)
        _add_share(masses, state, islands, island, share, scratch)
        for i in range(first, last):
            c = islands.order[i]
            for m in range(3):
                impulse[c, m] += share * scratch.extra[c, m]
        left = rise + share * (slope + share * curve)
        if not carried:
            _take_back(
                kind, masses, state, contacts, rows, islands, island, plan, grounded, collides, left, scratch
            )


@inner
def _is_in_play(islands, island, driven):
    """Whether applied forces act on any body of an island."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        if driven[islands.body[k]]:
            return True
    return False


@inlined
def _energy_gained(masses, state, plan, gravity, h, i, scratch):
    """By how much the step has raised the energy of a body, of motion and of place [J]."""
    v = plan.mean[i]
    lift = -h * masses.mass[i] * vec3.dot(vec3.load(gravity, i), (v[0], v[1], v[2]))
    return kinetic_energy(masses, state, i) - scratch.start[i] + lift


@kernel
def take_back_gain(
    kind, masses, state, contacts, slot, allowance, forgives, rows, islands, island_count, plan, gravity, h,
    driven, stored, scratch,
):  # fmt: skip
    """Take back the energy that bodies have gained which touch others under applied forces.

    Balanced are all bodies in play at once: springs carry energy from one island to another. Where others add
    to it, as animated bodies do and overlaps that are being parted, it stays.

    Args:
        slot, allowance: Pair of each contact, and the overlap forgiven to each pair [m].
        forgives: Whether any overlap is forgiven.
        driven: Bodies that applied forces act on, shape (n,).
        stored: Energy that these forces have stored in the step [J].
        scratch: `start` is read.
    """
    gain = stored
    for i in range(kind.shape[0]):
        if driven[i] and kind[i] == DYNAMIC and islands.number[i] < 0:
            gain += _energy_gained(masses, state, plan, gravity, h, i, scratch)
    for island in range(island_count):
        if _is_in_play(islands, island, driven):
            if _has_help(kind, contacts, slot, allowance, forgives, islands, island, plan):
                return
            for k in range(islands.body_start[island], islands.body_start[island + 1]):
                gain += _energy_gained(masses, state, plan, gravity, h, islands.body[k], scratch)
    for island in range(island_count):
        if gain <= 0.0:
            break
        grounded, collides = np.bool_(False), np.bool_(False)
        for i in range(islands.start[island], islands.start[island + 1]):
            c = islands.order[i]
            collides = collides or rows.collision[c, 0] > 0.0
            a, b = contacts.body[c, 0], contacts.body[c, 1]
            grounded = grounded or kind[a] != DYNAMIC or kind[b] != DYNAMIC
        if _is_in_play(islands, island, driven):
            gain = _take_back(
                kind, masses, state, contacts, rows, islands, island, plan, grounded, collides, gain, scratch
            )


def balance_forces(pipeline: "ImpulsePipeline", h: float) -> None:
    """See that what touches others under applied forces has gained no energy in the step of h [s] just made.

    `hold_energy` knows the work of these forces as it was planned. What collides goes another way, or what is
    let go by a contact, and what is made up for (see `impulse_forces`) is right to second order only.
    """
    p = pipeline
    hit = p.geometry.body[: p.contact_count][p.rows.collision[: p.contact_count, 0] > 0.0]
    if not (p.drive.is_bent or p.drive.driven[hit].any()) or not p.drive.only_stores(p.time, h, p.plan):
        return
    take_back_gain(
        p.model.kind, p.masses, p.state, p.geometry, p.contacts.slot, p.broad_phase.pairs.allowance,
        p.forgives, p.rows, p.islands, p.graph.built[ISLANDS], p.plan, p.gravity, h, p.drive.driven,
        p.drive.stored(p.state, p.plan, h), p.energy,
    )  # fmt: skip
