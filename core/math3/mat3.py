"""3 x 3 matrices as tuples of nine, row by row."""

from ..jit import arithmetic


@arithmetic
def load(rows, i):
    """Matrix `i` of an array of shape (n, 9) as a tuple."""
    m = rows[i]
    return m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]


@arithmetic
def transform(m, v):
    """m v."""
    return (
        m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
        m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
        m[6] * v[0] + m[7] * v[1] + m[8] * v[2],
    )


@arithmetic
def transform_transposed(m, v):
    """m' v: for a rotation, the vector v from world axes to body axes."""
    return (
        m[0] * v[0] + m[3] * v[1] + m[6] * v[2],
        m[1] * v[0] + m[4] * v[1] + m[7] * v[2],
        m[2] * v[0] + m[5] * v[1] + m[8] * v[2],
    )


@arithmetic
def transposed_times(a, b):
    """a' b: for rotations, the orientation of b seen from a."""
    return (
        a[0] * b[0] + a[3] * b[3] + a[6] * b[6],
        a[0] * b[1] + a[3] * b[4] + a[6] * b[7],
        a[0] * b[2] + a[3] * b[5] + a[6] * b[8],
        a[1] * b[0] + a[4] * b[3] + a[7] * b[6],
        a[1] * b[1] + a[4] * b[4] + a[7] * b[7],
        a[1] * b[2] + a[4] * b[5] + a[7] * b[8],
        a[2] * b[0] + a[5] * b[3] + a[8] * b[6],
        a[2] * b[1] + a[5] * b[4] + a[8] * b[7],
        a[2] * b[2] + a[5] * b[5] + a[8] * b[8],
    )


@arithmetic
def inverse_of_symmetric(m):
    """Inverse of a symmetric matrix that has one."""
    xx, xy, xz = m[4] * m[8] - m[5] * m[5], m[5] * m[2] - m[1] * m[8], m[1] * m[5] - m[4] * m[2]
    yy, yz, zz = m[0] * m[8] - m[2] * m[2], m[1] * m[2] - m[0] * m[5], m[0] * m[4] - m[1] * m[1]
    d = 1.0 / (m[0] * xx + m[1] * xy + m[2] * xz)
    return d * xx, d * xy, d * xz, d * xy, d * yy, d * yz, d * xz, d * yz, d * zz


@arithmetic
def rotate_diagonal(r, d):
    """r diag(d) r': a principal inertia (or its inverse) in world axes."""
    xx = r[0] * r[0] * d[0] + r[1] * r[1] * d[1] + r[2] * r[2] * d[2]
    xy = r[0] * r[3] * d[0] + r[1] * r[4] * d[1] + r[2] * r[5] * d[2]
    xz = r[0] * r[6] * d[0] + r[1] * r[7] * d[1] + r[2] * r[8] * d[2]
    yy = r[3] * r[3] * d[0] + r[4] * r[4] * d[1] + r[5] * r[5] * d[2]
    yz = r[3] * r[6] * d[0] + r[4] * r[7] * d[1] + r[5] * r[8] * d[2]
    zz = r[6] * r[6] * d[0] + r[7] * r[7] * d[1] + r[8] * r[8] * d[2]
    return xx, xy, xz, xy, yy, yz, xz, yz, zz
