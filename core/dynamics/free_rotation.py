"""Rotation of bodies on which no torque acts, or one that lasts.

Symbols: q orientation of the principal frame P in the world W, R the same as a matrix, L angular momentum
about the centre of mass (world axes), I principal moments, w angular velocity. Where no torque acts L stays
what it is; only q changes.
"""

import math

from ..jit import inlined, inner
from ..math3 import mat3, quat, vec3

# Turn in a step [rad] up to which a series is taken: it leaves 1.1e-5 of the seventh power, here round-off.
SERIES_LIMIT = 0.03
# Strang's step leaves an error of about (w h)^3 per step; below this it is round-off over a bake,
# above it Suzuki's fourth-order composition is taken.
STRANG_LIMIT = 1e-10
MAX_PARTS = 100  # of a step; a body that turns more than ten radians in one is beyond accuracy anyway
TURN_OF_PART = 0.1  # [rad] of the parts of a step in which a torque acts by two kicks
SUZUKI = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))  # Suzuki 1990, eq. 15: five Strang steps of order 4


@inlined
def _product(ratio, u, v):
    """The product of Euler's equations: that of an angular velocity with itself is its rate."""
    return ratio[0] * u[1] * v[2], ratio[1] * u[2] * v[0], ratio[2] * u[0] * v[1]


@inlined
def _both_products(ratio, u, v):
    """That of u and v, and of v and u."""
    return vec3.add(_product(ratio, u, v), _product(ratio, v, u))


@inlined
def _weighted(u, a, v, b):
    """a u + b v."""
    return vec3.add(vec3.scale(u, a), vec3.scale(v, b))


@inner
def _turn_by_series(w, inertia, inv_inertia):
    """Rotation vector of a short turn that takes the time 1 and begins with the angular velocity w.

    All in principal axes. With the Taylor series w + w1 t + w2 t^2 + ... of Euler's equations the rotation
    vector T follows from T' = w + 1/2 T x w + 1/12 T x (T x w) - ...; its series is summed up to t^6.

    Source: Iserles, Munthe-Kaas, Norsett & Zanna 2000, *Lie-group methods*, for the equation of T; the sign
    of its second term is that of axes which turn with the body. The series itself was derived here.
    Verified by: tests/oracle/test_free_rotation.py
    """
    ratio = (
        (inertia[1] - inertia[2]) * inv_inertia[0],
        (inertia[2] - inertia[0]) * inv_inertia[1],
        (inertia[0] - inertia[1]) * inv_inertia[2],
    )
    w1 = _product(ratio, w, w)
    w2 = vec3.scale(_both_products(ratio, w, w1), 1.0 / 2.0)
    w3 = vec3.scale(vec3.add(_both_products(ratio, w, w2), _product(ratio, w1, w1)), 1.0 / 3.0)
    w4 = vec3.scale(vec3.add(_both_products(ratio, w, w3), _both_products(ratio, w1, w2)), 1.0 / 4.0)
    w5 = vec3.add(_both_products(ratio, w, w4), _both_products(ratio, w1, w3))
    w5 = vec3.scale(vec3.add(w5, _product(ratio, w2, w2)), 1.0 / 5.0)
    c01, c02, c03 = vec3.cross(w, w1), vec3.cross(w, w2), vec3.cross(w, w3)
    c001, c002, c101 = vec3.cross(w, c01), vec3.cross(w, c02), vec3.cross(w1, c01)
    t3, t4 = _weighted(w2, 1.0, c01, 1.0 / 4.0), _weighted(w3, 1.0, c02, 1.0 / 3.0)
    inner_5 = vec3.add(vec3.scale(w3, 3.0 / 8.0), _weighted(c02, 1.0 / 72.0, c001, -1.0 / 144.0))
    t5 = vec3.add(vec3.cross(w, inner_5), vec3.cross(w1, _weighted(w2, 1.0 / 12.0, c01, -1.0 / 48.0)))
    inner_6 = vec3.add(
        _weighted(w4, 2.0 / 5.0, c03, 1.0 / 40.0), _weighted(c002, -1.0 / 120.0, c101, -1.0 / 120.0)
    )
    t6 = vec3.add(vec3.cross(w, inner_6), vec3.cross(w1, _weighted(w3, 1.0 / 8.0, c02, -1.0 / 120.0)))
    t6 = _weighted(t6, 1.0, vec3.cross(w2, c01), -1.0 / 30.0)
    # From the smallest on, for the sake of round-off.
    turn = _weighted(vec3.add(w4, t5), 1.0 / 5.0, vec3.add(w5, t6), 1.0 / 6.0)
    turn = vec3.add(_weighted(t3, 1.0 / 3.0, t4, 1.0 / 4.0), turn)
    return vec3.add(w, _weighted(w1, 1.0 / 2.0, turn, 1.0))


@inlined
def _rotation_about(axis, angle):
    """Quaternion of a rotation about principal axis 0, 1 or 2."""
    w, k = quat.half_turn(angle * angle)
    s = k * angle
    return (
        w,
        s if axis == 0 else 0.0,
        s if axis == 1 else 0.0,
        s if axis == 2 else 0.0,
    )


@inner
def _strang_step(q, L, rate_1, axis_1, inv_2, rate_3, axis_3, h):
    """One second-order step of the torque-free equations; exact where rate_1 = 0."""
    for half in range(2):
        momentum = quat.rotate(quat.conjugate(q), L)
        q = quat.multiply(q, _rotation_about(axis_1, 0.5 * h * rate_1 * momentum[axis_1]))
        if half == 0:
            momentum = quat.rotate(quat.conjugate(q), L)
            spin = _rotation_about(axis_3, h * rate_3 * momentum[axis_3])
            precession = quat.exp(vec3.scale(L, h * inv_2))
            q = quat.multiply(precession, quat.multiply(q, spin))
    return q


@inner
def rotate_free(q, L, w, inv_inertia, axis_order, h):
    """Orientation after the time h of torque-free rotation; L is constant.

    The kinetic energy is split as L^2 / (2 I2) + (1/I3 - 1/I2) L3^2 / 2 (a symmetric top: solved in
    closed form, Kane 1983) and (1/I1 - 1/I2) L1^2 / 2 (a rotation about axis 1); the two closest
    moments are taken as I1 and I2. Strang's composition of the two flows is symplectic and keeps L
    to round-off; where its error would show, Suzuki's composition raises it to fourth order.

    Source: McLachlan & Zanna 2005, *The discrete Moser-Veselov algorithm for the free rigid body,
    revisited*, section 6 (splittings); Suzuki 1990, eq. 15.
    Verified by: tests/verification/test_free_rotation.py
    """
    axis_1, axis_2, axis_3 = axis_order[0], axis_order[1], axis_order[2]
    inv_2 = inv_inertia[axis_2]
    rate_1 = inv_inertia[axis_1] - inv_2
    rate_3 = inv_inertia[axis_3] - inv_2
    angle = vec3.norm(w) * abs(h)
    if abs(rate_1) <= 1e-14 * inv_2 and abs(rate_3) <= 1e-14 * inv_2:
        return quat.normalize(quat.multiply(quat.exp(vec3.scale(L, h * inv_2)), q))
    asymmetry = abs(rate_1) / inv_2
    if asymmetry * angle * angle * angle < STRANG_LIMIT:
        return quat.normalize(_strang_step(q, L, rate_1, axis_1, inv_2, rate_3, axis_3, h))
    # Long steps of a fast body are divided, so that accuracy does not hang on the step.
    count = min(1 + int(angle / 0.1), MAX_PARTS)
    dt = h / count
    for _ in range(count):
        for stage in range(5):
            part = 1.0 - 4.0 * SUZUKI if stage == 2 else SUZUKI
            q = _strang_step(q, L, rate_1, axis_1, inv_2, rate_3, axis_3, part * dt)
    return quat.normalize(q)


@inner
def mean_spin(q, q_end, w, h):
    """Constant angular velocity that turns q into q_end in the time h, whole turns as in w."""
    r = quat.log(quat.multiply(q_end, quat.conjugate(q)))
    angle = vec3.norm(r)
    if angle > 0.0:
        turns = round((vec3.dot(w, r) / angle * h - angle) / (2.0 * math.pi))
        r = vec3.scale(r, 1.0 + 2.0 * math.pi * turns / angle)
    return vec3.scale(r, 1.0 / h)


@inner
def free_spin(q, r, L, w, inertia, inv_inertia, axis_order, h):
    """Mean angular velocity over the time h [s] of a body that no torque acts on [rad/s], world axes.

    Args:
        q, r: Its orientation, and the same as a matrix.
        L, w: Angular momentum [kg m^2/s], and the angular velocity of it [rad/s], world axes.
        inertia, inv_inertia: Principal moments [kg m^2] and their inverses.
        axis_order: Principal axes, the two of closest moments first.
    """
    if inv_inertia[0] == inv_inertia[1] and inv_inertia[0] == inv_inertia[2]:
        return vec3.scale(L, inv_inertia[0])
    turn = vec3.scale(w, h)
    if vec3.dot(turn, turn) <= SERIES_LIMIT * SERIES_LIMIT:
        own = _turn_by_series(mat3.transform_transposed(r, turn), inertia, inv_inertia)
        return vec3.scale(mat3.transform(r, own), 1.0 / h)
    return mean_spin(q, rotate_free(q, L, w, inv_inertia, axis_order, h), w, h)


@inner
def spin_under_torque(q, L, change, w, inv_inertia, axis_order, h):
    """Mean angular velocity over the time h [s] of a body whose angular momentum a torque changes steadily.

    A top that leans on its tip does not fall: its momentum follows the torque, and the body its momentum.

    Args:
        q: Its orientation.
        L, w: Angular momentum [kg m^2/s], and the angular velocity of it [rad/s], world axes.
        change: By what L changes in that time [kg m^2/s].
        inv_inertia, axis_order: See `rotate_free`.

    Source: kicks at the nodes of Radau's quadrature, 1/3 and 1, exact to the second degree, and free rotation
    between them; derived here.
    Verified by: tests/oracle/test_free_rotation.py
    """
    count = min(1 + int(vec3.norm(w) * h / TURN_OF_PART), MAX_PARTS)
    part, kick, end = h / count, vec3.scale(change, 1.0 / count), q
    for _ in range(count):
        end = rotate_free(end, L, w, inv_inertia, axis_order, part / 3.0)
        L = vec3.add(L, vec3.scale(kick, 0.75))
        end = rotate_free(end, L, w, inv_inertia, axis_order, 2.0 * part / 3.0)
        L = vec3.add(L, vec3.scale(kick, 0.25))
    return mean_spin(q, end, w, h)
