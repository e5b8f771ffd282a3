"""Contact rows packed for Gauss-Seidel, and the update of one contact by it.

A sweep comes to a contact again and again and needs little of it each time, so that lies packed in one row,
with all that does not change from sweep to sweep computed before.

Symbols as in contact_rows.py; g the compliance of the contact's spring along the normal, s across it.

Source: Bender & Schmitt 2006, section 3.2.
"""

import math

from ..jit import inlined, inner
from ..math3 import vec3
from .contact_rows import contact_frame, contact_matrix

# Columns of a row.
FRAME, ARM_A, ARM_B = 0, 9, 12
RATE = 15  # [m/s] least normal velocity
GIVE, INVERSE = 16, 17  # g, 1 / (K_nn + g)
K_T1, K_T2 = 18, 19  # what a normal impulse does to the slip
SPRING, ANCHOR_1, ANCHOR_2 = 20, 21, 22  # s, and the slip [m/s] that is none: of the spring, or aimed at
STICK_11, STICK_12, STICK_22 = 23, 24, 25  # inverse of (K_tt + s)
SLIP_STEP = 26  # 1 / the larger eigenvalue of (K_tt + s)
STATIC, DYNAMIC = 27, 28  # coefficients of friction
K_N, K_T = 29, 30  # by how much an impulse changes the contact: in whose units, the caller decides
SMOOTH = 31  # [m/s] what smooth motion has added to the normal velocity when it collides
WIDTH = 32
SINGULAR = 1e-12  # of the trace squared: a determinant that is none but for round-off


@inlined
def _inverse(k11, k12, k22):
    """Inverse of a symmetric matrix (11, 12, 22), that of no negative eigenvalue, or else its pseudoinverse.

    What locked axes let no impulse change is singular: there the least impulse is as good as any.
    """
    det, trace = k11 * k22 - k12 * k12, k11 + k22
    if det > SINGULAR * trace * trace:
        return k22 / det, -k12 / det, k11 / det
    if trace > 0.0:
        return k11 / (trace * trace), k12 / (trace * trace), k22 / (trace * trace)
    return 0.0, 0.0, 0.0


@inner
def pack_row(masses, contacts, c, s, unit, row):
    """Pack contact `c`, but for its spring along the normal, the anchor and friction.

    Args:
        s: Compliance of its spring across the normal [1/kg].
        unit: Of K_N and K_T: 1 for velocities, the step for ways.
    """
    K = contact_matrix(masses, contacts, c)
    frame = contact_frame(contacts, c)
    for k in range(9):
        row[FRAME + k] = frame[k]
    for k in range(3):
        row[ARM_A + k], row[ARM_B + k] = contacts.arm[c, 0, k], contacts.arm[c, 1, k]
    k11, k12, k22 = K[3] + s, K[4], K[5] + s
    row[K_T1], row[K_T2] = K[1], K[2]
    row[SPRING] = s
    row[STICK_11], row[STICK_12], row[STICK_22] = _inverse(k11, k12, k22)
    largest = 0.5 * (k11 + k22 + math.sqrt((k11 - k22) ** 2 + 4.0 * k12 * k12))
    row[SLIP_STEP] = 1.0 / largest if largest > 0.0 else 0.0
    row[K_N], row[K_T] = unit * K[0], unit * max(K[3], K[5])


@inlined
def pack_normal(K_nn, g, rate, row):
    """Pack the spring along the normal, and the least normal velocity [m/s]."""
    row[RATE], row[GIVE], row[INVERSE] = rate, g, 1.0 / (K_nn + g)


@inlined
def pack_friction(static, dynamic, row):
    """Pack the coefficients of friction."""
    row[STATIC], row[DYNAMIC] = static, dynamic


@inlined
def packed_velocity(row, va, vb):
    """Velocity of a relative to b at the contact, world axes, for theirs: linear and angular, as tuples."""
    turn_a = vec3.cross(va[1], (row[9], row[10], row[11]))
    turn_b = vec3.cross(vb[1], (row[12], row[13], row[14]))
    return vec3.add(vec3.subtract(va[0], vb[0]), vec3.subtract(turn_a, turn_b))


@inlined
def normal_step(row, u, p):
    """Normal impulse after one step: u_n + g p_n >= rate, p_n >= 0, one of them an equality.

    Condition (2) and eq. 3 of Bender & Schmitt 2006, on the accumulated impulse.

    Args:
        u: Relative velocity, world axes [m/s].
        p: Normal impulse before [N s].
    """
    normal_speed = row[0] * u[0] + row[1] * u[1] + row[2] * u[2]
    return max(0.0, p + (row[RATE] - normal_speed - row[GIVE] * p) * row[INVERSE])


@inlined
def friction_step(row, u, change, p1, p2, normal):
    """Friction impulse after one step: what stops the slip within the static cone, else on the dynamic one.

    The slip is u_t + s p_t - anchor: a spring anchored where the contact sticks, so a constant load leaves no
    slip at all and nothing creeps. Beyond the static cone it is the projection on the dynamic one of a step
    against the slip, whose fixed point opposes the slip exactly (isotropic, no pyramid).

    Args:
        u: Relative velocity, world axes [m/s].
        change: Of the normal impulse in this step [N s].
        p1, p2: Friction impulse before [N s].
        normal: Normal impulse after [N s].
    """
    if row[STATIC] == 0.0:
        return 0.0, 0.0
    u1 = row[3] * u[0] + row[4] * u[1] + row[5] * u[2]
    u2 = row[6] * u[0] + row[7] * u[1] + row[8] * u[2]
    u1 = u1 + row[K_T1] * change + (row[SPRING] * p1 - row[ANCHOR_1])
    u2 = u2 + row[K_T2] * change + (row[SPRING] * p2 - row[ANCHOR_2])
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
def world_impulse(row, p):
    """An impulse of the contact's frame in world axes."""
    return (
        row[0] * p[0] + row[3] * p[1] + row[6] * p[2],
        row[1] * p[0] + row[4] * p[1] + row[7] * p[2],
        row[2] * p[0] + row[5] * p[1] + row[8] * p[2],
    )
