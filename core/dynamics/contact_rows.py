"""Contact constraints: frames, effective masses and friction of the contact points of one step.

Symbols: n, t1, t2 contact frame (n from b to a); r_a, r_b arms from the centres of mass to the
contact; K the matrix that maps an impulse on a (and its opposite on b) to the change of relative
velocity at the contact, in the contact frame.
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner
from ..math3 import mat3, vec3
from ..tables import scratch_tables, table, table_of

# Part of its stretch that a contact's spring takes back in a step: one that takes it all back swings
# on undamped.
PUSH = 0.5
# A pair is made stiffer than its load asks for by HEADROOM, and softer by steps where it is SLACKENED times
# too stiff, unless it stood still: what rests would have to find its equilibrium anew at each of these steps.
HEADROOM, SLACKENED = 2.0, 16.0
# The stiffest spring, in units of its effective mass' inverse: it bears loads of 10^7 times that mass. The
# load of a body squeezed between animated ones has no bound.
STIFFEST = 1e-9
# Where axes are locked a body may answer no impulse along a normal, or by what round-off has left: by less
# than this part of what it would without locks.
LOCKED = 1e-6


class ContactRows(NamedTuple):
    """Rows of c contact points; impulses and velocities in the contact frame (n, t1, t2)."""

    K_nn: np.ndarray  # [1/kg] (c,) inverse effective mass along the normal
    friction: np.ndarray  # (c, 2) static, dynamic
    slips: np.ndarray  # (c,) whether dynamic friction is what acts: see impulse_slip.py
    impulse: np.ndarray  # [N s] (c, 3) impulse on a by lasting contact
    collision: np.ndarray  # [N s] (c, 3) impulse on a by collisions
    before: np.ndarray  # [N s] (c, 3) impulse of the last step, where the contact lasts
    acted: np.ndarray  # (c,) part of it that acts before a collision: see impulse_collisions.py
    compliance: np.ndarray  # [1/kg] (c,) of the contact's spring: 1 / (stiffness h^2)
    gap: np.ndarray  # [m] (c,) how far the contact may still close in this step
    kept: np.ndarray  # (c,) where impulses stay what they were: in islands that sleep, and others at rest
    slot: np.ndarray  # (c,) pair whose K_nn and coefficients the row holds; -1 where none
    place: np.ndarray  # (c,) and index among that pair's points
    look: np.ndarray  # (c,) at which these were found: see PairTable.looks


def empty_rows(capacity: int) -> ContactRows:
    """Rows with room for `capacity` contact points."""
    by_three, by_one = ((capacity, 3), float), ((capacity,), float)
    impulse, collision, before, acted, compliance, gap = scratch_tables(
        by_three, by_three, by_three, by_one, by_one, by_one
    )
    return ContactRows(
        K_nn=table(capacity),
        friction=table((capacity, 2)),
        slips=table(capacity, np.bool_),
        impulse=impulse,
        collision=collision,
        before=before,
        acted=acted,
        compliance=compliance,
        gap=gap,
        kept=table(capacity, np.bool_),
        slot=table_of(-1, capacity, np.int32),
        place=table(capacity, np.int8),
        look=table(capacity, np.int32),
    )


def grown_rows(rows: ContactRows, capacity: int) -> ContactRows:
    """The same rows with room for more."""
    grown = empty_rows(capacity)
    for old, new in zip(rows, grown, strict=True):
        new[: len(old)] = old
    return grown


@inlined
def combine(x, y, multiply):
    """Coefficient of a pair: the product, or the geometric mean (equal values give that value)."""
    product = x * y
    return product if multiply else np.sqrt(product)


@inlined
def _responses(masses, contacts, c, d):
    """(velocity, spin) that a unit impulse along d at contact `c` gives to a, and that it would give to b."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    turn_a, turn_b = (
        vec3.cross(vec3.load(contacts.arm[c], 0), d),
        vec3.cross(vec3.load(contacts.arm[c], 1), d),
    )
    m_a, m_b = vec3.load(masses.inv_mass, a), vec3.load(masses.inv_mass, b)
    return (
        ((m_a[0] * d[0], m_a[1] * d[1], m_a[2] * d[2]), mat3.transform(mat3.load(masses.inv_I, a), turn_a)),
        ((m_b[0] * d[0], m_b[1] * d[1], m_b[2] * d[2]), mat3.transform(mat3.load(masses.inv_I, b), turn_b)),
    )


@inlined
def _along(responses, contacts, c, e):
    """How fast the bodies then part along e at the contact, b being pushed the other way."""
    (v_a, w_a), (v_b, w_b) = responses
    turn_a, turn_b = (
        vec3.cross(vec3.load(contacts.arm[c], 0), e),
        vec3.cross(vec3.load(contacts.arm[c], 1), e),
    )
    return (vec3.dot(v_a, e) + vec3.dot(w_a, turn_a)) + (vec3.dot(v_b, e) + vec3.dot(w_b, turn_b))


@inlined
def _own_answer(masses, i, velocity, spin, n, turn):
    """How fast a body gives way along n where a unit impulse gives it this velocity and spin; 0 if locked."""
    answer = vec3.dot(velocity, n) + vec3.dot(spin, turn)
    return answer if answer * masses.mass[i] > LOCKED else 0.0


@inlined
def normal_answer(masses, contacts, c):
    """The first entry of `contact_matrix`, without what locked axes leave to round-off; 0 if that is all."""
    n, a, b = vec3.load(contacts.normal, c), contacts.body[c, 0], contacts.body[c, 1]
    by_a, by_b = _responses(masses, contacts, c, n)
    turn_a, turn_b = (
        vec3.cross(vec3.load(contacts.arm[c], 0), n),
        vec3.cross(vec3.load(contacts.arm[c], 1), n),
    )
    of_a = _own_answer(masses, a, by_a[0], by_a[1], n, turn_a)
    return of_a + _own_answer(masses, b, by_b[0], by_b[1], n, turn_b)


@inlined
def normal_response(masses, contacts, c):
    """K_nn of contact `c`; where no impulse changes anything a small one that stands for it."""
    answer = normal_answer(masses, contacts, c)
    if answer > 0.0:
        return answer
    m_a, m_b = masses.mass[contacts.body[c, 0]], masses.mass[contacts.body[c, 1]]
    return LOCKED * ((1.0 / m_a if m_a > 0.0 else 0.0) + (1.0 / m_b if m_b > 0.0 else 0.0))


@inner
def contact_matrix(masses, contacts, c):
    """K of contact `c` [1/kg]: nn, n t1, n t2, t1 t1, t1 t2, t2 t2.

    Source: Bender & Schmitt 2006, section 3.1: K = K_aa + K_bb, K_xx = 1/m - [r] I^-1 [r].
    """
    n = vec3.load(contacts.normal, c)
    t1, t2 = vec3.tangents(n)
    by_n = _responses(masses, contacts, c, n)
    by_1, by_2 = _responses(masses, contacts, c, t1), _responses(masses, contacts, c, t2)
    return (
        _along(by_n, contacts, c, n),
        _along(by_n, contacts, c, t1),
        _along(by_n, contacts, c, t2),
        _along(by_1, contacts, c, t1),
        _along(by_1, contacts, c, t2),
        _along(by_2, contacts, c, t2),
    )


@inlined
def _stood_still(velocity, a, b):
    """Whether two bodies of these velocities (n, 6) do not move."""
    for k in range(6):
        if velocity[a, k] != 0.0 or velocity[b, k] != 0.0:
            return False
    return True


@inner
def soften(body, slots, first, end, softness, sink, last_mean, stiffening, rows):
    """Compliance of some pairs' contacts: soft, but under a heavy load so stiff that they sink in by little.

    A pair keeps its stiffness while the load is within bounds: springs that followed every change of their
    load would have no length at rest to come back to, and swing for ever.

    Args:
        body, slots: Bodies and pair of each contact; from `first` to `end` whole pairs.
        softness: Compliance of a contact in units of its K_nn.
        sink: How far a contact may sink in under the load of the last step, per step [m/s].
        last_mean: Mean velocities in the last step, shape (bodies, 6).
        stiffening: See `PairTable`; brought up to date.
    """
    most = softness / sink
    while first < end:
        slot, last, need = slots[first], first, 0.0
        while last < end and slots[last] == slot:
            need = max(need, rows.K_nn[last] * rows.impulse[last, 0])
            last += 1
        need *= most
        if rows.kept[first]:
            first = last
            continue
        if need > stiffening[slot]:
            stiffening[slot] = min(HEADROOM * need, softness / STIFFEST)
        elif (
            need > 0.0
            and SLACKENED * need < stiffening[slot]
            and not _stood_still(last_mean, body[first, 0], body[first, 1])
        ):
            stiffening[slot] = max(1.0, 0.5 * stiffening[slot])
        soft = softness / stiffening[slot]
        for c in range(first, last):
            rows.compliance[c] = soft * rows.K_nn[c]
        first = last


@inlined
def _turned_on(contacts, c, p):
    """An impulse of the last step turned as the normal has turned since, from its mean then to that now.

    That is twice as far as from the beginning of this step: two reflections, by both normals.
    """
    n, mean = vec3.load(contacts.normal_at_start, c), vec3.load(contacts.normal, c)
    if n[0] == mean[0] and n[1] == mean[1] and n[2] == mean[2]:
        return p
    p = vec3.subtract(p, vec3.scale(n, 2.0 * vec3.dot(n, p)))
    return vec3.subtract(p, vec3.scale(mean, 2.0 * vec3.dot(mean, p)))


@inner
def fill_rows(friction, masses, contacts, slots, places, first, last, pairs, multiply, rows):
    """Fill the rows of some contact points, but for their springs: with their impulses of the last step.

    Args:
        friction: Of the bodies, shape (n, 2).
        slots, places: Pair of each contact, and its index among the pair's points.
    """
    for c in range(first, last):
        slot, place = slots[c], places[c]
        rows.slips[c] = pairs.slips[slot]
        last_impulse = vec3.load(pairs.impulse[pairs.room[slot]], place)
        if rows.kept[c]:
            rows.impulse[c, 0] = max(vec3.dot(vec3.load(contacts.normal, c), last_impulse), 0.0)
            rows.collision[c, 0], rows.acted[c], rows.gap[c] = 0.0, 0.0, 0.0
            continue
        # A point that is carried on has moved by too little to change what its row holds.
        if not (rows.slot[c] == slot and rows.place[c] == place and rows.look[c] == pairs.looks[slot]):
            a, b = contacts.body[c, 0], contacts.body[c, 1]
            rows.slot[c], rows.place[c], rows.look[c] = slot, place, pairs.looks[slot]
            rows.K_nn[c] = normal_response(masses, contacts, c)
            for k in range(2):
                rows.friction[c, k] = combine(friction[a, k], friction[b, k], multiply)
        p = in_frame(contacts, c, _turned_on(contacts, c, last_impulse))
        rows.impulse[c, 0], rows.impulse[c, 1], rows.impulse[c, 2] = max(p[0], 0.0), p[1], p[2]
        for k in range(3):
            rows.before[c, k] = rows.impulse[c, k]
        rows.acted[c], rows.gap[c] = 0.0, contacts.separation[c] + pairs.allowance[slot]
        for k in range(3):
            rows.collision[c, k] = 0.0


@inlined
def friction_of(rows, c):
    """The coefficient of friction that acts at contact `c`."""
    return rows.friction[c, 1] if rows.slips[c] else rows.friction[c, 0]


@inlined
def first_of_pair(slot, c, count):
    """The first contact from `c` on that begins a pair's."""
    while 0 < c < count and slot[c] == slot[c - 1]:
        c += 1
    return c


@inlined
def relative_velocity(velocity, contacts, c):
    """Velocity of a relative to b at contact `c`, world axes, for velocities (n, 6)."""
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    ra, rb = contacts.arm[c, 0], contacts.arm[c, 1]
    va, vb = velocity[a], velocity[b]
    return (
        va[0] + va[4] * ra[2] - va[5] * ra[1] - vb[0] - vb[4] * rb[2] + vb[5] * rb[1],
        va[1] + va[5] * ra[0] - va[3] * ra[2] - vb[1] - vb[5] * rb[0] + vb[3] * rb[2],
        va[2] + va[3] * ra[1] - va[4] * ra[0] - vb[2] - vb[3] * rb[1] + vb[4] * rb[0],
    )


@inlined
def normal_velocity(velocity, contacts, c):
    """Its part along the normal, negative where the bodies close in."""
    return vec3.dot(vec3.load(contacts.normal, c), relative_velocity(velocity, contacts, c))


@inlined
def contact_frame(contacts, c):
    """n, t1, t2 of contact `c` in world axes: nine numbers."""
    n = vec3.load(contacts.normal, c)
    t1, t2 = vec3.tangents(n)
    return n[0], n[1], n[2], t1[0], t1[1], t1[2], t2[0], t2[1], t2[2]


@inlined
def in_frame(contacts, c, v):
    """A world vector in the contact frame (n, t1, t2)."""
    return mat3.transform(contact_frame(contacts, c), v)


@inlined
def to_world(contacts, c, p):
    """A vector of the contact frame in world axes."""
    return mat3.transform_transposed(contact_frame(contacts, c), p)


@inlined
def add_impulse(masses, body, r, p, sign, factor, velocity):
    """Add factor M^-1 J' p to one row of `velocity` (n, 6), for the impulse sign * p at the arm r."""
    s = sign * factor
    m = masses.inv_mass[body]
    v = velocity[body]
    v[0] += s * m[0] * p[0]
    v[1] += s * m[1] * p[1]
    v[2] += s * m[2] * p[2]
    tx = s * (r[1] * p[2] - r[2] * p[1])
    ty = s * (r[2] * p[0] - r[0] * p[2])
    tz = s * (r[0] * p[1] - r[1] * p[0])
    inverse = masses.inv_I[body]
    v[3] += inverse[0] * tx + inverse[1] * ty + inverse[2] * tz
    v[4] += inverse[3] * tx + inverse[4] * ty + inverse[5] * tz
    v[5] += inverse[6] * tx + inverse[7] * ty + inverse[8] * tz


@inlined
def add_pair_impulse(masses, contacts, c, p, factor, velocity):
    """The same for both bodies of contact `c`: p on a, -p on b."""
    add_impulse(masses, contacts.body[c, 0], contacts.arm[c, 0], p, 1.0, factor, velocity)
    add_impulse(masses, contacts.body[c, 1], contacts.arm[c, 1], p, -1.0, factor, velocity)


@inner
def sum_momenta(contacts, rows, first, last, push, momentum):
    """Write the momenta that impulses at some contacts give to all bodies, (n, 6): `push` (c, 3) on a.

    One contact after the other, as they lie in memory: from the bodies it would be half as fast.
    """
    momentum[:, :] = 0.0
    for c in range(first, last):
        if rows.kept[c]:
            continue
        a, b, p = contacts.body[c, 0], contacts.body[c, 1], vec3.load(push, c)
        t_a, t_b = vec3.cross(vec3.load(contacts.arm[c], 0), p), vec3.cross(vec3.load(contacts.arm[c], 1), p)
        for k in range(3):
            momentum[a, k] += p[k]
            momentum[a, 3 + k] += t_a[k]
            momentum[b, k] -= p[k]
            momentum[b, 3 + k] -= t_b[k]


@inlined
def add_parts(momentum, parts, i):
    """Add what the other parts of the contacts give to body `i` to the first: `momentum` is a tuple."""
    for part in range(1, parts):
        for k in range(6):
            momentum[0][i, k] += momentum[part][i, k]


@inlined
def sticking_impulse(rows, c, u, stiffness):
    """Friction impulse of contact `c` at the relative velocity u if it sticks, by its spring's stiffness."""
    return (
        rows.before[c, 1] - u[1] * stiffness,
        rows.before[c, 2] - u[2] * stiffness,
    )


@inlined
def normal_compliance(rows, c):
    """Compliance along the normal: where the contact penetrates, for the part that is taken back."""
    return rows.compliance[c] * (PUSH if rows.gap[c] < 0.0 else 1.0)


@inlined
def stiffnesses(rows, c):
    """Inverse compliance [kg] of a contact's spring across the normal, and along it."""
    across = 1.0 / (PUSH * rows.compliance[c])
    return across, across if rows.gap[c] < 0.0 else PUSH * across


@inner
def join_impulses(rows, first, last):
    """Add to the impulses found at some contacts those that acted before collisions."""
    for c in range(first, last):
        if rows.acted[c] > 0.0:
            for k in range(3):
                whole = rows.before[c, k] / (1.0 - rows.acted[c])
                rows.impulse[c, k] += rows.acted[c] * whole
                rows.before[c, k] = whole
            rows.acted[c] = 0.0
