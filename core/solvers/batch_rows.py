"""The rows of a batch of contacts, computed eight at a time: `pack_row` of packed_rows.py, to the bit.

Symbols as in contact_rows.py.

Source: Bender & Schmitt 2006, section 3.1 (the matrix K).
"""

from ..dynamics.contact_rows import PUSH, friction_of
from ..dynamics.packed_rows import (
    ANCHOR_1,
    ANCHOR_2,
    ARM_A,
    ARM_B,
    DYNAMIC,
    FRAME,
    GIVE,
    INVERSE,
    K_N,
    K_T,
    K_T1,
    K_T2,
    RATE,
    SLIP_STEP,
    SPRING,
    STATIC,
    STICK_11,
    STICK_12,
    STICK_22,
)
from ..jit import inlined, inner
from ..lanes import LANES, choose, cross, dot, fill, gather, larger, load, root, store


@inner
def enter_lane(contacts, rows, c, u, normal_spring, row, lane):
    """Write what the row of a batch (WIDTH, LANES) takes over from contact `c` into its lane.

    Args:
        u: Velocity of a relative to b before the sweeps [m/s]; `complete_rows` finds it where t1 will be.
        normal_spring: What `pack_normal` packed of it, in a row of its own.
    """
    for k in range(3):
        row[FRAME + k, lane], row[FRAME + 3 + k, lane] = contacts.normal[c, k], u[k]
        row[ARM_A + k, lane], row[ARM_B + k, lane] = contacts.arm[c, 0, k], contacts.arm[c, 1, k]
    for k in (RATE, GIVE, INVERSE):
        row[k, lane] = normal_spring[k]
    s = PUSH * rows.compliance[c]
    row[SPRING, lane] = s
    row[ANCHOR_1, lane] = s * rows.before[c, 1]
    row[ANCHOR_2, lane] = s * rows.before[c, 2]
    row[STATIC, lane] = row[DYNAMIC, lane] = friction_of(rows, c)


@inlined
def _response(m, n, d, turn):
    """(velocity, spin) that impulses along d give to bodies of this inverse mass and inertia (m, then n)."""
    return (m[0] * d[0], m[1] * d[1], m[2] * d[2]), (
        m[3] * turn[0] + m[4] * turn[1] + m[5] * turn[2],
        m[6] * turn[0] + m[7] * turn[1] + n[0] * turn[2],
        n[1] * turn[0] + n[2] * turn[1] + n[3] * turn[2],
    )


@inlined
def _along(response, e, turn):
    """How fast the bodies move along e at the contacts, where they turn about `turn` = r x e."""
    return dot(response[0], e) + dot(response[1], turn)


@inlined
def _tangents(n):
    """`vec3.tangents` in eight lanes."""
    one = fill(1.0)
    sign = choose(fill(0.0) > n[2], fill(-1.0), one)
    a = fill(-1.0) / (sign + n[2])
    b = n[0] * n[1] * a
    return (one + sign * n[0] * n[0] * a, sign * b, (fill(0.0) - sign) * n[0]), (
        b,
        sign + n[1] * n[1] * a,
        fill(0.0) - n[1],
    )


@inner
def complete_rows(row, body, response, unit):
    """Compute what follows from what `enter_lane` wrote; empty lanes stay zero.

    Args:
        row: Of a batch, shape (WIDTH, LANES).
        body: Members of its contacts, shape (2, LANES).
        response: Of the members, shape (members, 16): see `PackedContacts`.
        unit: Of K_N and K_T: see `pack_row`.
    """
    n = load(row, FRAME), load(row, FRAME + 1), load(row, FRAME + 2)
    t, s = _tangents(n)
    u = load(row, FRAME + 3), load(row, FRAME + 4), load(row, FRAME + 5)
    store(row, ANCHOR_1, load(row, ANCHOR_1) - dot(t, u))
    store(row, ANCHOR_2, load(row, ANCHOR_2) - dot(s, u))
    arm_a = load(row, ARM_A), load(row, ARM_A + 1), load(row, ARM_A + 2)
    arm_b = load(row, ARM_B), load(row, ARM_B + 1), load(row, ARM_B + 2)
    m_a, i_a = gather(response, body[0], 0), gather(response, body[0], LANES)
    m_b, i_b = gather(response, body[1], 0), gather(response, body[1], LANES)
    turn_an, turn_at, turn_as = cross(arm_a, n), cross(arm_a, t), cross(arm_a, s)
    turn_bn, turn_bt, turn_bs = cross(arm_b, n), cross(arm_b, t), cross(arm_b, s)
    by_an, by_bn = _response(m_a, i_a, n, turn_an), _response(m_b, i_b, n, turn_bn)
    by_at, by_bt = _response(m_a, i_a, t, turn_at), _response(m_b, i_b, t, turn_bt)
    by_as, by_bs = _response(m_a, i_a, s, turn_as), _response(m_b, i_b, s, turn_bs)
    K_tt = _along(by_at, t, turn_at) + _along(by_bt, t, turn_bt)
    K_ss = _along(by_as, s, turn_as) + _along(by_bs, s, turn_bs)
    spring, zero, one = load(row, SPRING), fill(0.0), fill(1.0)
    there = spring > zero
    k11, k22 = choose(there, K_tt + spring, one), choose(there, K_ss + spring, one)
    k12 = _along(by_at, s, turn_as) + _along(by_bt, s, turn_bs)
    det = k11 * k22 - k12 * k12
    for k in range(3):
        store(row, FRAME + 3 + k, choose(there, t[k], zero))
        store(row, FRAME + 6 + k, choose(there, s[k], zero))
    store(row, K_T1, _along(by_an, t, turn_at) + _along(by_bn, t, turn_bt))
    store(row, K_T2, _along(by_an, s, turn_as) + _along(by_bn, s, turn_bs))
    store(row, STICK_11, choose(there, k22 / det, zero))
    store(row, STICK_12, choose(there, (zero - k12) / det, zero))
    store(row, STICK_22, choose(there, k11 / det, zero))
    across = root((k11 - k22) * (k11 - k22) + fill(4.0) * k12 * k12)
    store(row, SLIP_STEP, choose(there, fill(2.0) / (k11 + k22 + across), zero))
    store(row, K_N, fill(unit) * (_along(by_an, n, turn_an) + _along(by_bn, n, turn_bn)))
    store(row, K_T, fill(unit) * larger(K_tt, K_ss))
