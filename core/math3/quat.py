"""Unit quaternions (w, x, y, z) as tuples; q rotates body axes to world axes."""

import math

from ..jit import arithmetic

SMALL = 2.5e-3  # square of an angle [rad^2] below which series are as good as functions, and faster


@arithmetic
def load(rows, i):
    """Row `i` of an array of shape (n, 4) as a tuple."""
    return rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]


@arithmetic
def multiply(p, q):
    """Hamilton product p q: first q, then p."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@arithmetic
def conjugate(q):
    """The inverse rotation."""
    return q[0], -q[1], -q[2], -q[3]


@arithmetic
def normalize(q):
    """q scaled to unit length."""
    s = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] * s, q[1] * s, q[2] * s, q[3] * s


@arithmetic
def half_turn(angle2):
    """(cos(x), sin(x) / (2 x)) of half an angle x = angle / 2, for its square [rad^2]."""
    x2 = 0.25 * angle2
    if x2 < SMALL:  # by their series: the next terms are below round-off
        c = 1.0 - x2 / 2.0 * (1.0 - x2 / 12.0 * (1.0 - x2 / 30.0 * (1.0 - x2 / 56.0)))
        return c, 0.5 - x2 / 12.0 * (1.0 - x2 / 20.0 * (1.0 - x2 / 42.0 * (1.0 - x2 / 72.0)))
    x = math.sqrt(x2)
    return math.cos(x), 0.5 * math.sin(x) / x


@arithmetic
def exp(r):
    """Rotation by the vector r: axis r / |r|, angle |r| [rad]."""
    w, k = half_turn(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    return w, k * r[0], k * r[1], k * r[2]


@arithmetic
def log(q):
    """Rotation vector of q, angle in [0, pi]; the inverse of `exp`."""
    sign = 1.0 if q[0] >= 0.0 else -1.0
    s2 = q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    if s2 < SMALL:  # asin(s) / s by its series
        series = 3.0 / 40.0 + s2 * (5.0 / 112.0 + s2 * (35.0 / 1152.0 + s2 * (63.0 / 2816.0)))
        k = 2.0 * sign * (1.0 + s2 * (1.0 / 6.0 + s2 * series))
    else:
        s = math.sqrt(s2)
        k = 2.0 * sign * math.atan2(s, sign * q[0]) / s
    return k * q[1], k * q[2], k * q[3]


@arithmetic
def to_mat3(q):
    """Rotation matrix of q, row by row as a tuple of nine."""
    w, x, y, z = q
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@arithmetic
def rotate(q, v):
    """q v q*: the vector v in world axes."""
    w, x, y, z = q
    tx = 2.0 * (y * v[2] - z * v[1])
    ty = 2.0 * (z * v[0] - x * v[2])
    tz = 2.0 * (x * v[1] - y * v[0])
    return v[0] + w * tx + y * tz - z * ty, v[1] + w * ty + z * tx - x * tz, v[2] + w * tz + x * ty - y * tx
