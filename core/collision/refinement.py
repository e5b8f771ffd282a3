"""The best separating direction of two convex cores to round-off, from a good guess: Newton's method.

GJK and the expanding polytope halve their error on curved surfaces with each support point, and end when the
points lie too close to each other to give a direction. But the gap along a unit vector n is

    f(n) = min over pairs of generators i of n . w_i(n),   grad (n . w_i(n)) = w_i(n),

a minimum of smooth functions; its largest value is the distance, or minus the depth. Where the pairs i
reach the same gap s, with weights l_i that sum to 1, it is largest at

    sum l_i w_i(n) = s n,   w_i . n = s for all i.

A step d, at right angles to n, solves these to first order, with C = -sum l_i dw_i/dn from the rims of discs:

    (s + C) d = sum l_i t_i,   (w_i - w_1) . (n + d) = 0,   t_i the part of w_i at right angles to n.

Without curved generators (C = 0) it is the step of GJK on the simplex itself, which ends at once. At most
three pairs decide. Pairs whose weight becomes negative are dropped, one that turns out to lie lower is added.

Frame and symbols as in gjk.py. Source: the optimality conditions of Boyd & Vandenberghe 2004, section 5.5,
for this problem; the curvature of a rim's support function is its radius over |n - (n . axis) axis|.
"""

import math

import numpy as np

from ..jit import inlined, inner
from ..math3 import vec3
from .difference import difference_support, follow_generators
from .gjk import PA, SPARE_ROWS, VERTEX_A, VERTEX_B, WEIGHT, put_row, weighted

MAX_STEPS, MAX_CHECKS = 16, 4
FARTHEST = 0.3  # [rad] a step that turns the direction by more: the guess was not good
ASCENT = 0.25  # [rad] a step where the gap has no largest value about here
CONVERGED = 1e-6  # [rad] of the last step: the next one would be about its square
LEAST_WEIGHT = -1e-9
# Of sizes and distances: the round-off of a gap, and the most of it that stands where nothing can be added.
DIGITS, LAST_DIGITS = 2e-15, 1e-13
MOST_GENERATORS = np.int64(46340)  # of a shape, for a pair of them to go into 31 bits


@inner
def _merge_rows(simplex, count, merged):
    """Copy rows to `merged`, those of the same pair of generators as one; returns their number."""
    kept = 0
    for i in range(count):
        same = -1
        for k in range(kept):
            if simplex[i, VERTEX_A] == merged[k, VERTEX_A] and simplex[i, VERTEX_B] == merged[k, VERTEX_B]:
                same = k
        if same >= 0:
            merged[same, WEIGHT] += simplex[i, WEIGHT]
            continue
        for column in range(9):
            merged[kept, column] = simplex[i, column]
        kept += 1
    return kept


@inner
def _drop_row(simplex, count, i):
    """Take out a row; the weights of the others sum to 1 again. Returns the new count."""
    left = 1.0 - simplex[i, WEIGHT]
    for k in range(i, count - 1):
        for column in range(9):
            simplex[k, column] = simplex[k + 1, column]
    for k in range(count - 1):
        simplex[k, WEIGHT] = simplex[k, WEIGHT] / left if left > 0.0 else 1.0 / (count - 1)
    return count - 1


@inlined
def _seen_from(t1, t2, n, simplex, i):
    """w of row i in the frame (t1, t2, n)."""
    w = vec3.load(simplex, i)
    return vec3.dot(t1, w), vec3.dot(t2, w), vec3.dot(n, w)


@inlined
def _added(curve, along, t1, t2, c11, c12, c22):
    """C and the part of one rim, which changes w along its tangent only."""
    x, y = vec3.dot(along, t1), vec3.dot(along, t2)
    return c11 + curve * x * x, c12 + curve * x * y, c22 + curve * y * y


@inner
def _step(d11, d12, d22, x, y, z, count):
    """Solve the equations on top of this file for three rows x, y, z (of which `count` are there).

    Args:
        d11, d12, d22: s + C.
        x, y, z: w of each row in the frame (t1, t2, n).

    Returns:
        (code, d1, d2, weights of y and z): code 1 where the solution is a largest gap, 0 where it is not,
        -1 where three rows lie in a line.
    """
    if count == 1:
        det = d11 * d22 - d12 * d12
        if not (det > 0.0 and d11 > 0.0):
            return 0, 0.0, 0.0, 0.0, 0.0
        return 1, (d22 * x[0] - d12 * x[1]) / det, (d11 * x[1] - d12 * x[0]) / det, 0.0, 0.0
    e = y[0] - x[0], y[1] - x[1], y[2] - x[2]
    if count == 2:
        # In the direction u across e the matrix decides, along e the equal gaps do.
        ee = e[0] * e[0] + e[1] * e[1]
        u = -e[1], e[0]
        across = d11 * u[0] * u[0] + 2.0 * d12 * u[0] * u[1] + d22 * u[1] * u[1]
        if not ee > 0.0:
            return 0, 0.0, 0.0, 0.0, 0.0
        d1, d2 = -e[2] * e[0] / ee, -e[2] * e[1] / ee
        r1, r2 = x[0] - d11 * d1 - d12 * d2, x[1] - d12 * d1 - d22 * d2
        rise, length = r1 * u[0] + r2 * u[1], math.sqrt(ee)
        if abs(rise) * length <= ASCENT * across:
            k = rise / across
        else:  # bent the wrong way, as on the far side of two cylinders that are nearly coaxial: uphill
            k = math.copysign(ASCENT / length, rise)
        d1, d2 = d1 + k * u[0], d2 + k * u[1]
        r1, r2 = d11 * d1 + d12 * d2 - x[0], d12 * d1 + d22 * d2 - x[1]
        return 1, d1, d2, (r1 * e[0] + r2 * e[1]) / ee, 0.0
    f = z[0] - x[0], z[1] - x[1], z[2] - x[2]
    det = e[0] * f[1] - e[1] * f[0]
    if not det * det > 1e-20 * (e[0] * e[0] + e[1] * e[1]) * (f[0] * f[0] + f[1] * f[1]):
        return -1, 0.0, 0.0, 0.0, 0.0
    d1, d2 = (-e[2] * f[1] + e[1] * f[2]) / det, (-e[0] * f[2] + e[2] * f[0]) / det
    r1, r2 = d11 * d1 + d12 * d2 - x[0], d12 * d1 + d22 * d2 - x[1]
    return 1, d1, d2, (r1 * f[1] - r2 * f[0]) / det, (e[0] * r2 - e[1] * r1) / det


@inner
def _least_weight(simplex, count):
    """Row of the least weight."""
    least = 0
    for i in range(1, count):
        if simplex[i, WEIGHT] < simplex[least, WEIGHT]:
            least = i
    return least


@inner
def has_row(simplex, count, a, b):
    """Whether the simplex has a row of this pair of generators."""
    for i in range(count):
        if simplex[i, VERTEX_A] == a and simplex[i, VERTEX_B] == b:
            return True
    return False


@inlined
def _note_generators(rows, count, witness):
    """Write the pairs of generators of some rows to a witness, as negative numbers.

    Its first entry last: of triangles that is needed for something else.
    """
    for k in range(3):
        code = 0
        if k < count and rows[k, VERTEX_A] < MOST_GENERATORS and rows[k, VERTEX_B] < MOST_GENERATORS:
            code = -1 - (int(rows[k, VERTEX_A]) * MOST_GENERATORS + int(rows[k, VERTEX_B]))
        witness[(k + 1) % 3] = code


@inlined
def recall_generators(witness, simplex):
    """Write the pairs of generators in a witness to rows of the simplex; returns how many there are.

    Where they lie `refine` finds out, and what weights they have.
    """
    count = np.int64(0)
    for k in range(3):
        code = -1 - np.int64(witness[k])
        if code >= 0:
            simplex[count, VERTEX_A] = code // MOST_GENERATORS
            simplex[count, VERTEX_B] = code % MOST_GENERATORS
            count += 1
    for k in range(count):
        simplex[k, WEIGHT] = 1.0 / count
    return count


@inner
def refine(shapes, sa, ra, p_ba, sb, rb, n, simplex, count, witness):
    """Turn a separating direction until its gap is a largest one, to round-off.

    Args:
        n: Guess, unit, from b to a.
        simplex, count: Support points near the guess, with their weights and generators; copied to the rows
            from SPARE_ROWS on before they are changed.
        witness: The generators that decide are written, where they are found: see `recall_generators`.

    Returns:
        (found, separation, normal, p_a). Where `found` is false the rest means nothing: the guess was not
        good, or a face of a disc decides, whose rim has no curvature to go by.
    """
    rows = simplex[SPARE_ROWS:]
    count = _merge_rows(simplex, count, rows)
    best_lag, best, best_n, best_p = 1e300, 0.0, n, n
    checks, turn = 0, 1.0
    for _ in range(MAX_STEPS):
        t1, t2 = vec3.tangents(n)
        s, c11, c12, c22 = 0.0, 0.0, 0.0, 0.0
        for i in range(count):
            curve_a, along_a, curve_b, along_b = follow_generators(shapes, sa, ra, p_ba, sb, rb, n, rows, i)
            weight = rows[i, WEIGHT]
            s += weight * vec3.dot(n, vec3.load(rows, i))
            c11, c12, c22 = _added(weight * curve_a, along_a, t1, t2, c11, c12, c22)
            c11, c12, c22 = _added(weight * curve_b, along_b, t1, t2, c11, c12, c22)
        if turn <= CONVERGED:
            w, p, a, b = difference_support(shapes, sa, ra, p_ba, sb, rb, vec3.scale(n, -1.0))
            lag = (s - vec3.dot(n, w)) / (vec3.norm(w) + vec3.norm(p) + vec3.norm(p_ba))
            if lag < best_lag:
                best_lag, best, best_n, best_p = lag, s, n, weighted(rows, count, PA)
            if lag <= DIGITS or checks == MAX_CHECKS:
                break
            checks, turn = checks + 1, 1.0  # once more, with the pair that lies lower
            if not has_row(rows, count, a, b):
                if count == 3:
                    count = _drop_row(rows, count, _least_weight(rows, count))
                put_row(rows, count, w, p, a, b)
                rows[count, WEIGHT] = 0.0
                count += 1
            continue
        x = _seen_from(t1, t2, n, rows, np.int64(0))
        y = _seen_from(t1, t2, n, rows, np.int64(1)) if count > 1 else x
        z = _seen_from(t1, t2, n, rows, np.int64(2)) if count > 2 else x
        code, d1, d2, weight_y, weight_z = _step(s + c11, c12, s + c22, x, y, z, count)
        if code < 0:
            count, turn = _drop_row(rows, count, _least_weight(rows, count)), 1.0
            continue
        turn = math.sqrt(d1 * d1 + d2 * d2)
        if code == 0 or not turn <= FARTHEST:
            break
        rows[0, WEIGHT] = 1.0 - weight_y - weight_z
        if count > 1:
            rows[1, WEIGHT] = weight_y
        if count > 2:
            rows[2, WEIGHT] = weight_z
        least = _least_weight(rows, count)
        if rows[least, WEIGHT] < LEAST_WEIGHT:
            count, turn = _drop_row(rows, count, least), 1.0
            continue
        n = vec3.add(n, vec3.add(vec3.scale(t1, d1), vec3.scale(t2, d2)))
        n = vec3.scale(n, 1.0 / vec3.norm(n))
    if best_lag <= LAST_DIGITS:
        _note_generators(rows, count, witness)
    return best_lag <= LAST_DIGITS, best, best_n, best_p
