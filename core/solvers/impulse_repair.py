"""Positions put right: penetration that a step left beyond the tolerance is taken out of the poses.

The contact solve tests penetration on the points it knows; a body that was hit within the step may
have met others it could not know. Their overlap is projected out of the positions, before the step's
result is seen, and what a body gains by being lifted, turned and moved against applied forces is taken
from its speed: no energy is added.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dynamics.body_state import DYNAMIC, KINEMATIC
from ..dynamics.contact_rows import LOCKED, add_pair_impulse, relative_velocity
from ..dynamics.motion import update_derived
from ..jit import inner, kernel
from ..math3 import mat3, quat, vec3
from ..tables import scratch_tables
from .impulse_energy import kinetic_energy, slow_down
from .impulse_progress import BEYOND, MOST, WORST

if TYPE_CHECKING:
    from .impulse import ImpulsePipeline

DEEP, LEFT = 0.7, 0.25  # what is deeper than this part of the tolerance is repaired, and so much is left
REPAIR_ROUNDS = 60
# What is squeezed cannot be repaired: rounds that took no such part end it, fewer where there is no room.
REPAIRED, IDLE_ROUNDS, IDLE_WITHOUT_ROOM = 0.95, 6, 1
SWEEPS = 1000  # a light body pinched under a heavy one takes hundreds; it ends when none is left
# Where there is no room for all the worst stays as deep as it is: so many that took no such part end it, too.
STUCK, PATIENCE = 0.998, 50
BLOCK = 64  # contacts of which one flag tells whether a sweep passes them by


class PastContacts(NamedTuple):
    """Contacts that were deep in earlier rounds of one step's repair; they count until its end.

    Two faces that lie on each other nearly flat touch in up to eight points, four of which stand for them. To
    push out one that was found may press in another, which is found in its place in the next round, and so on
    by turns: neither must be forgotten.
    """

    body: np.ndarray  # (k, 2) a, b
    point: np.ndarray  # [m] (k, 2, 3) of a and b from their centres of mass, body axes
    normal: np.ndarray  # (k, 3)
    slot: np.ndarray  # (k,) pair
    count: np.ndarray  # (1,) how many there are


def past_contacts(capacity: int) -> PastContacts:
    """Room for so many."""
    body, point, normal, slot = scratch_tables(
        ((capacity, 2), np.int64), ((capacity, 2, 3), float), ((capacity, 3), float),
        ((capacity,), np.int32), sparse=True,
    )  # fmt: skip
    return PastContacts(body, point, normal, slot, count=np.zeros(1, np.int64))


@inner
def _write_past(state, contacts, slots, count, past):
    """Write past contacts behind so many others, where they are now, as far as there is room.

    Returns:
        How many contacts there then are.
    """
    last = min(count + past.count[0], slots.shape[0])
    for c in range(count, last):
        k = c - count
        normal, apart = vec3.load(past.normal, k), (0.0, 0.0, 0.0)
        for side in range(2):
            body = past.body[k, side]
            arm = mat3.transform(mat3.load(state.R, body), vec3.load(past.point[k], side))
            place = vec3.add(vec3.load(state.c, body), arm)
            apart = place if side == 0 else vec3.subtract(apart, place)
            contacts.body[c, side] = body
            for m in range(3):
                contacts.arm[c, side, m] = arm[m]
        for m in range(3):
            contacts.normal[c, m] = normal[m]
        slots[c], contacts.separation[c] = past.slot[k], vec3.dot(apart, normal)
        contacts.look[c] = -1  # or one of the pair's own might be taken to be written there already
    return last


@inner
def _note_deep(state, contacts, slots, count, allowance, limit, past):
    """Note those of so many contacts that are deeper than `limit` [m], as far as there is room."""
    for c in range(count):
        if not -contacts.separation[c] - allowance[slots[c]] > limit:
            continue
        k = past.count[0]
        if k == past.slot.shape[0]:
            return
        for side in range(2):
            body = past.body[k, side] = contacts.body[c, side]
            point = mat3.transform_transposed(mat3.load(state.R, body), vec3.load(contacts.arm[c], side))
            for m in range(3):
                past.point[k, side, m] = point[m]
        for m in range(3):
            past.normal[k, m] = contacts.normal[c, m]
        past.slot[k] = slots[c]
        past.count[0] = k + 1


@kernel
def add_past(state, contacts, slots, count, allowance, limit, past):
    """Add the contacts that were deep in earlier rounds to those found now, and note the deep ones of these.

    Args:
        slots, allowance: Pair of each contact, and the overlap forgiven to each pair [m].
        count: How many were found.
        limit: What is deeper is noted [m].

    Returns:
        How many contacts there then are.
    """
    last = _write_past(state, contacts, slots, count, past)
    _note_deep(state, contacts, slots, count, allowance, limit, past)
    return last


@inner
def _normal_response(masses, contacts, c, n):
    """n' K n of contact `c` [1/kg], without what locked axes leave to round-off."""
    total = 0.0
    for side in range(2):
        body = contacts.body[c, side]
        r = (contacts.arm[c, side, 0], contacts.arm[c, side, 1], contacts.arm[c, side, 2])
        m = masses.inv_mass[body]
        rn, before = vec3.cross(r, n), total
        total += m[0] * n[0] * n[0] + m[1] * n[1] * n[1] + m[2] * n[2] * n[2]
        total += vec3.dot(rn, mat3.transform(mat3.load(masses.inv_I, body), rn))
        if not (total - before) * masses.mass[body] > LOCKED:
            total = before
    return total


@kernel
def deepest(kind, body, separation, slot, count, allowance, depth_out):
    """Find the largest penetration of bodies that forces move, beyond what is forgiven, and in all [m]."""
    beyond, worst = 0.0, 0.0
    for c in range(count):
        if kind[body[c, 0]] != DYNAMIC and kind[body[c, 1]] != DYNAMIC:
            continue
        beyond = max(beyond, -separation[c] - allowance[slot[c]])
        worst = max(worst, -separation[c])
    depth_out[BEYOND], depth_out[WORST] = beyond, worst


class RepairScratch(NamedTuple):
    """Working space of one round of repair."""

    contact_start: np.ndarray  # (bodies + 2,) where each body's contacts begin in `contact_of_body`
    contact_of_body: np.ndarray  # (2 c,)
    due: np.ndarray  # (c,) contacts to look at
    block_due: np.ndarray  # (c // BLOCK + 1,) whether there are such in each block of them


def repair_scratch(body_count: int, contact_capacity: int) -> RepairScratch:
    """Scratch for so many bodies and contacts; it is filled before it is read."""
    return RepairScratch(
        *scratch_tables(
            ((body_count + 2,), np.int64), ((2 * contact_capacity,), np.int32),
            ((contact_capacity,), np.bool_), ((contact_capacity // BLOCK + 1,), np.bool_), sparse=True,
        )
    )  # fmt: skip


@inner
def _list_contacts_of_bodies(body_of, count, start, contact_of_body):
    """List for each body its contacts in ascending order.

    Args:
        start: Written: where those of each body begin, shape (bodies + 2,).
        contact_of_body: Written, shape (2 count,) or more.
    """
    n = start.shape[0] - 2
    start[:] = 0
    for c in range(count):
        start[body_of[c, 0] + 2] += 1
        start[body_of[c, 1] + 2] += 1
    for i in range(n):
        start[i + 2] += start[i + 1]
    for c in range(count):
        for side in range(2):
            body = body_of[c, side]
            contact_of_body[start[body + 1]] = c
            start[body + 1] += 1


@inner
def _mark(scratch, body):
    """Note that the contacts of a body that was moved are to be looked at."""
    for k in range(scratch.contact_start[body], scratch.contact_start[body + 1]):
        c = scratch.contact_of_body[k]
        scratch.due[c], scratch.block_due[c // BLOCK] = True, True


@inner
def _displace(kind, masses, contacts, slot, count, allowance, limit, with_animated, scratch, displacement):
    """Displacements that leave no known contact deeper than `limit` [m]; whether there are such.

    Args:
        with_animated: Whether contacts with animated bodies count.
        scratch: The contacts of each body are listed.
    """
    due, block_due, blocks = scratch.due, scratch.block_due, count // BLOCK + 1
    displacement[:, :] = 0.0
    block_due[:] = False
    for c in range(count):
        due[c] = -contacts.separation[c] - allowance[slot[c]] > limit
        if due[c]:
            block_due[c // BLOCK] = True
    least, idle = np.inf, 0
    for _ in range(SWEEPS):
        moved, worst = False, 0.0
        for block in range(blocks):
            if not block_due[block]:
                continue
            block_due[block] = False
            for c in range(BLOCK * block, min(BLOCK * (block + 1), count)):
                if not due[c]:
                    continue
                due[c] = False
                a, b = contacts.body[c, 0], contacts.body[c, 1]
                n = vec3.load(contacts.normal, c)
                depth = -contacts.separation[c] - allowance[slot[c]]
                depth -= vec3.dot(n, relative_velocity(displacement, contacts, c))
                if depth <= limit or not (with_animated or (kind[a] != KINEMATIC and kind[b] != KINEMATIC)):
                    continue
                response = _normal_response(masses, contacts, c, n)
                if response > 0.0:
                    moved, worst = True, max(worst, depth)
                    push = vec3.scale(n, (depth - 0.5 * limit) / response)
                    add_pair_impulse(masses, contacts, c, push, 1.0, displacement)
                    for side in range(2):
                        if kind[contacts.body[c, side]] == DYNAMIC:
                            _mark(scratch, contacts.body[c, side])
        if not moved:
            return True
        idle = 0 if worst < STUCK * least else idle + 1
        if idle > PATIENCE:
            return False
        least = worst if idle == 0 else least
    return False


@kernel
def project_positions(
    model, state, masses, contacts, slot, count, allowance, limit, gravity, pull, plan, scratch, displacement
):
    """Move bodies until no known contact is deeper than `limit` [m]; none gets faster.

    Nonlinear Gauss-Seidel on displacements, weighted by mass (Guendelman et al. 2003 use the same
    projection); arms are taken as straight, so the caller detects again and repeats. Where animated bodies
    leave others no room, there is no such place, and the overlap with the animated ones is left as it is.

    Args:
        slot, allowance: Pair of each contact, and the overlap forgiven to each pair [m].
        count: Of the contacts, past ones included.
        gravity: Of each body [m/s^2], shape (n, 3).
        pull: Applied force and torque on each body [N, N m], shape (n, 6), or (0, 6) where there are none.
        plan: Of the coming step; bodies that were moved, and no others, are due to be planned anew.
        displacement: Scratch (n, 6) [m, rad].

    Returns:
        Whether there is room for all.
    """
    kind = model.kind
    _list_contacts_of_bodies(contacts.body, count, scratch.contact_start, scratch.contact_of_body)
    has_room = True
    for with_animated in (True, False):
        if _displace(
            kind, masses, contacts, slot, count, allowance, limit, with_animated, scratch, displacement
        ):
            break
        has_room = False
    for i in range(state.c.shape[0]):
        d = displacement[i]
        plan.due[i] = model.kind[i] == DYNAMIC and d.any()
        if not plan.due[i]:
            continue
        before = kinetic_energy(masses, state, i)
        lift = -masses.mass[i] * vec3.dot(vec3.load(gravity, i), (d[0], d[1], d[2]))
        for k in range(6 if pull.shape[0] > 0 else 0):
            lift -= pull[i, k] * d[k]
        for k in range(3):
            state.c[i, k] += d[k]
        q = quat.normalize(quat.multiply(quat.exp((d[3], d[4], d[5])), quat.load(state.q, i)))
        state.q[i, 0], state.q[i, 1], state.q[i, 2], state.q[i, 3] = q
        update_derived(model, state, i)
        after = kinetic_energy(masses, state, i)
        if after + lift > before:
            slow_down(masses, state, i, math.sqrt(max(before - lift, 0.0) / after) if after > 0.0 else 0.0)
    return has_room


def repair_positions(pipeline: "ImpulsePipeline", h: float) -> None:
    """Project out what a step left too deep, and note what cannot be; the coming step is h [s] long."""
    p = pipeline
    least, idle, most_idle = math.inf, 0, IDLE_ROUNDS
    p.past.count[:] = 0
    for _ in range(REPAIR_ROUNDS):
        beyond = float(p.depth[BEYOND])
        idle = 0 if beyond < REPAIRED * least else idle + 1
        if beyond <= DEEP * p.tolerance or idle > most_idle:
            break
        least = min(least, beyond)
        most_idle = most_idle if p.move_apart(h) else IDLE_WITHOUT_ROOM
    p.depth[MOST] = max(p.depth[MOST], p.depth[WORST])
    if p.depth[BEYOND] > p.tolerance:
        allowance = p.broad_phase.pairs.allowance
        p.pressed.note(p.model.kind, p.contacts, p.contact_count, allowance, p.tolerance, p.time)
