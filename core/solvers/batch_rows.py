"""The rows of a batch of contacts, computed eight at a time: `pack_row` of packed_rows.py, to the bit.

Symbols as in contact_rows.py.

Source: Bender & Schmitt 2006, section 3.1 (the matrix K).
"""

from ..dynamics.contact_rows import PUSH, friction_of
from ..dynamics.packed_rows import GIVE as GIVE_OF_ONE
from ..dynamics.packed_rows import INVERSE as INVERSE_OF_ONE
from ..dynamics.packed_rows import RATE as RATE_OF_ONE
from ..jit import inlined, inner
from ..lanes import choose, cross, dot, fill, gather, larger, load, root, store

# Rows of a batch: the columns of packed_rows.py but for the tangents, which follow from the normal in less
# time than it takes to read them, and with one coefficient of friction.
NORMAL, ARM_A, ARM_B = 0, 3, 6
RATE, GIVE, INVERSE = 9, 10, 11
K_T1, K_T2 = 12, 13
SPRING, ANCHOR_1, ANCHOR_2 = 14, 15, 16
STICK_11, STICK_12, STICK_22 = 17, 18, 19
SLIP_STEP, FRICTION = 20, 21
K_N, K_T = 22, 23
BATCH_WIDTH = 24


@inlined
def tangents(n):
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


@inlined
def enter_spring(normal_spring, row, lane):
    """Write the spring along the normal into a lane, as `pack_normal` packed it in a row of its own."""
    row[RATE, lane], row[GIVE, lane] = normal_spring[RATE_OF_ONE], normal_spring[GIVE_OF_ONE]
    row[INVERSE, lane] = normal_spring[INVERSE_OF_ONE]


@inner
def enter_lane(contacts, rows, c, u, normal_spring, row, lane):
    """Write what the row of a batch (BATCH_WIDTH, LANES) takes over from contact `c` into its lane.

    Args:
        u: Velocity of a relative to b before the sweeps [m/s], where STICK_11 to STICK_22 will be.
        normal_spring: What `pack_normal` packed of it, in a row of its own.
    """
    for k in range(3):
        row[NORMAL + k, lane], row[STICK_11 + k, lane] = contacts.normal[c, k], u[k]
        row[ARM_A + k, lane], row[ARM_B + k, lane] = contacts.arm[c, 0, k], contacts.arm[c, 1, k]
    enter_spring(normal_spring, row, lane)
    s = PUSH * rows.compliance[c]
    row[SPRING, lane] = s
    row[ANCHOR_1, lane] = s * rows.before[c, 1]
    row[ANCHOR_2, lane] = s * rows.before[c, 2]
    row[FRICTION, lane] = friction_of(rows, c)


@inlined
def _response(m, m_z, d, turn):
    """(velocity, spin) that impulses along d give to bodies of this response: see `PackedContacts`."""
    return (m[6] * d[0], m[7] * d[1], m_z * d[2]), (
        m[0] * turn[0] + m[1] * turn[1] + m[2] * turn[2],
        m[1] * turn[0] + m[3] * turn[1] + m[4] * turn[2],
        m[2] * turn[0] + m[4] * turn[1] + m[5] * turn[2],
    )


@inlined
def _along(response, e, turn):
    """How fast the bodies move along e at the contacts, where they turn about `turn` = r x e."""
    return dot(response[0], e) + dot(response[1], turn)


@inner
def complete_rows(row, body, velocity, response, unit):
    """Compute what follows from what `enter_lane` wrote; empty lanes stay zero.

    Args:
        row: Of a batch, shape (BATCH_WIDTH, LANES).
        body: Members of its contacts, shape (2, LANES).
        velocity, response: Of the members, shape (members, 8): see `PackedContacts`.
        unit: Of K_N and K_T: see `pack_row`.
    """
    n = load(row, NORMAL), load(row, NORMAL + 1), load(row, NORMAL + 2)
    t, s = tangents(n)
    u = load(row, STICK_11), load(row, STICK_11 + 1), load(row, STICK_11 + 2)
    store(row, ANCHOR_1, load(row, ANCHOR_1) - dot(t, u))
    store(row, ANCHOR_2, load(row, ANCHOR_2) - dot(s, u))
    arm_a = load(row, ARM_A), load(row, ARM_A + 1), load(row, ARM_A + 2)
    arm_b = load(row, ARM_B), load(row, ARM_B + 1), load(row, ARM_B + 2)
    m_a, z_a = gather(response, body[0]), gather(velocity, body[0])[6]
    m_b, z_b = gather(response, body[1]), gather(velocity, body[1])[6]
    turn_an, turn_at, turn_as = cross(arm_a, n), cross(arm_a, t), cross(arm_a, s)
    turn_bn, turn_bt, turn_bs = cross(arm_b, n), cross(arm_b, t), cross(arm_b, s)
    by_an, by_bn = _response(m_a, z_a, n, turn_an), _response(m_b, z_b, n, turn_bn)
    by_at, by_bt = _response(m_a, z_a, t, turn_at), _response(m_b, z_b, t, turn_bt)
    by_as, by_bs = _response(m_a, z_a, s, turn_as), _response(m_b, z_b, s, turn_bs)
    K_tt = _along(by_at, t, turn_at) + _along(by_bt, t, turn_bt)
    K_ss = _along(by_as, s, turn_as) + _along(by_bs, s, turn_bs)
    spring, zero, one = load(row, SPRING), fill(0.0), fill(1.0)
    there = spring > zero
    k11, k22 = choose(there, K_tt + spring, one), choose(there, K_ss + spring, one)
    k12 = _along(by_at, s, turn_as) + _along(by_bt, s, turn_bs)
    det = k11 * k22 - k12 * k12
    store(row, K_T1, _along(by_an, t, turn_at) + _along(by_bn, t, turn_bt))
    store(row, K_T2, _along(by_an, s, turn_as) + _along(by_bn, s, turn_bs))
    store(row, STICK_11, choose(there, k22 / det, zero))
    store(row, STICK_12, choose(there, (zero - k12) / det, zero))
    store(row, STICK_22, choose(there, k11 / det, zero))
    across = root((k11 - k22) * (k11 - k22) + fill(4.0) * k12 * k12)
    store(row, SLIP_STEP, choose(there, fill(2.0) / (k11 + k22 + across), zero))
    store(row, K_N, fill(unit) * (_along(by_an, n, turn_an) + _along(by_bn, n, turn_bn)))
    store(row, K_T, fill(unit) * larger(K_tt, K_ss))
