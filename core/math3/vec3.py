"""Vectors of three as tuples (x, y, z)."""

import math

import numpy as np

from ..jit import arithmetic


@arithmetic
def load(rows, i):
    """Row `i` of an array of shape (n, 3) as a tuple."""
    return rows[i, 0], rows[i, 1], rows[i, 2]


@arithmetic
def load_pair(row):
    """The first six numbers of a row as two tuples, of double precision whatever the row's."""
    one, two, three = np.float64(row[0]), np.float64(row[1]), np.float64(row[2])
    return (one, two, three), (np.float64(row[3]), np.float64(row[4]), np.float64(row[5]))


@arithmetic
def add(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@arithmetic
def subtract(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@arithmetic
def scale(a, factor):
    """factor * a."""
    return a[0] * factor, a[1] * factor, a[2] * factor


@arithmetic
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@arithmetic
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@arithmetic
def norm(a):
    """Length of a."""
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@arithmetic
def tangents(n):
    """Two unit vectors that complete the unit vector n to a right-handed frame (n, t1, t2).

    Source: Duff et al. 2017, *Building an Orthonormal Basis, Revisited*, listing 3 (no branch on
    nearly parallel axes, so no jump except where n_z changes sign).
    """
    sign = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    return (1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]), (b, sign + n[1] * n[1] * a, -n[1])
