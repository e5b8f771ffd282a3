"""Rotation of bodies that cannot turn about some of the world's axes.

The lock's torque has no part along the free axes f, nor does it do work: L_f stays what it is, and so does
the energy. The free axes see the block of the inertia that belongs to them, w_f = (I_ff)^-1 L_f. About a
single free axis that is a steady rotation; about two it is not, as I_ff changes with the orientation.

Symbols: q orientation of the principal frame P in the world W, L angular momentum about the centre of mass
(world axes), I inertia (world axes), w angular velocity.
"""

from ..jit import inlined, inner
from ..math3 import mat3, quat, vec3
from .free_rotation import MAX_PARTS, TURN_OF_PART, mean_spin


@inner
def restricted_inverse(inverse, inertia, lock_x, lock_y, lock_z):
    """Inverse inertia of a body whose rotation about some world axes is locked.

    The free axes see the block of the inertia (not of its inverse) that belongs to them.
    """
    if not (lock_x or lock_y or lock_z):
        return inverse
    if (lock_x and lock_y) or (lock_y and lock_z) or (lock_x and lock_z):
        xx = 0.0 if lock_x else 1.0 / inertia[0]
        yy = 0.0 if lock_y else 1.0 / inertia[4]
        zz = 0.0 if lock_z else 1.0 / inertia[8]
        return xx, 0.0, 0.0, 0.0, yy, 0.0, 0.0, 0.0, zz
    if lock_x:
        d = inertia[4] * inertia[8] - inertia[5] * inertia[5]
        return 0.0, 0.0, 0.0, 0.0, inertia[8] / d, -inertia[5] / d, 0.0, -inertia[5] / d, inertia[4] / d
    if lock_y:
        d = inertia[0] * inertia[8] - inertia[2] * inertia[2]
        return inertia[8] / d, 0.0, -inertia[2] / d, 0.0, 0.0, 0.0, -inertia[2] / d, 0.0, inertia[0] / d
    d = inertia[0] * inertia[4] - inertia[1] * inertia[1]
    return inertia[4] / d, -inertia[1] / d, 0.0, -inertia[1] / d, inertia[0] / d, 0.0, 0.0, 0.0, 0.0


@inlined
def is_locked(lock):
    """Whether any of the axes is."""
    return lock[0] or lock[1] or lock[2]


@inner
def locked_velocity(q, L, inertia, lock):
    """Angular velocity of a body with locked axes that stands at q [rad/s]; see `locked_spin`."""
    around = mat3.rotate_diagonal(quat.to_mat3(q), (inertia[0], inertia[1], inertia[2]))
    return mat3.transform(restricted_inverse(around, around, lock[0], lock[1], lock[2]), L)


@inner
def _rate(turn, q, L, inertia, lock):
    """How fast the rotation vector `turn` changes after which the body stands at exp(turn) q.

    It is not w, about which the body turns then, as rotations do not add up:
    turn' = w - turn x w / 2 + turn x (turn x w) / 12 - ...
    """
    w = locked_velocity(quat.multiply(quat.exp(turn), q), L, inertia, lock)
    once = vec3.cross(turn, w)
    twice = vec3.cross(turn, once)
    return vec3.add(vec3.subtract(w, vec3.scale(once, 0.5)), vec3.scale(twice, 1.0 / 12.0))


@inner
def locked_spin(q, L, w, inertia, lock, h):
    """Mean angular velocity over the time h [s] of a body with locked axes [rad/s], world axes.

    Args:
        q: Its orientation.
        L, w: Angular momentum [kg m^2/s], and the angular velocity of it [rad/s], world axes.
        inertia: Principal moments [kg m^2].
        lock: Which world axes are locked: one or two.

    Source: Munthe-Kaas 1998, *Runge-Kutta methods on Lie groups* (of order four: the classical method for the
    rotation vector of each part of the step).
    Verified by: tests/oracle/test_locked_rotation.py
    """
    if (lock[0] and lock[1]) or (lock[1] and lock[2]) or (lock[0] and lock[2]):
        return w
    count = min(1 + int(vec3.norm(w) * h / TURN_OF_PART), MAX_PARTS)
    part, end, still = h / count, q, (0.0, 0.0, 0.0)
    for _ in range(count):
        k1 = _rate(still, end, L, inertia, lock)
        k2 = _rate(vec3.scale(k1, 0.5 * part), end, L, inertia, lock)
        k3 = _rate(vec3.scale(k2, 0.5 * part), end, L, inertia, lock)
        k4 = _rate(vec3.scale(k3, part), end, L, inertia, lock)
        total = vec3.add(vec3.add(k1, k4), vec3.scale(vec3.add(k2, k3), 2.0))
        end = quat.normalize(quat.multiply(quat.exp(vec3.scale(total, part / 6.0)), end))
    return mean_spin(q, end, w, h)
