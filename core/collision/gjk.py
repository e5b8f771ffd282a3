"""Distance between two disjoint convex cores (Gilbert, Johnson, Keerthi) with closest points.

Frame: world axes, origin at the centre of mass of b, so that far from the world's origin nothing
is lost. Symbols: w = p_a - p_b a point of the difference of the shapes, v the point of the current
simplex closest to the origin; the normal is v / |v|, from b to a.

Source: Gilbert, Johnson, Keerthi 1988; van den Bergen 2003, section 4.3 (termination); Ericson 2005,
5.1.5 and 5.1.6 (closest point on triangle and tetrahedron).
"""

import math

import numpy as np

from ..geometry.support import ANY_VERTEX, support_vertex, vertex
from ..jit import inlined, inner
from ..math3 import mat3, vec3

MAX_ITERATIONS = 64
SEPARATED, TOUCHING, UNCONVERGED = 0, 1, 2
CERTAIN = 1e-7  # relative to the size: how much less than the distance the gap along its direction may be

# Columns of the scratch simplex: w, p_a, barycentric weight, vertex of a, vertex of b. The first two
# are typed: as literals they would compile `weighted` twice.
W, PA, WEIGHT, VERTEX_A, VERTEX_B = np.int64(0), np.int64(3), 6, 7, 8
SIMPLEX_SHAPE, SPARE_ROWS = (8, 9), 4  # four points, and as many rows that Newton's method works on


@inlined
def _closest_on_segment(a, b):
    """Weights of the point of segment ab closest to the origin."""
    ab = vec3.subtract(b, a)
    length2 = vec3.dot(ab, ab)
    t = -vec3.dot(a, ab) / length2 if length2 > 0.0 else 0.0
    t = min(max(t, 0.0), 1.0)
    return 1.0 - t, t


@inner
def _closest_from_corner(a, b, c):
    """Weights of the point of triangle abc closest to the origin, from products seen from corner a."""
    ab, ac = vec3.subtract(b, a), vec3.subtract(c, a)
    d1, d2 = -vec3.dot(ab, a), -vec3.dot(ac, a)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    d3, d4 = -vec3.dot(ab, b), -vec3.dot(ac, b)
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    d5, d6 = -vec3.dot(ab, c), -vec3.dot(ac, c)
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3) if d1 > d3 else 0.0
        return 1.0 - t, t, 0.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6) if d2 > d6 else 0.0
        return 1.0 - t, 0.0, t
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        span = (d4 - d3) + (d5 - d6)
        t = (d4 - d3) / span if span > 0.0 else 0.0
        return 0.0, 1.0 - t, t
    total = va + vb + vc
    return va / total, vb / total, vc / total


@inner
def _closest_on_triangle(a, b, c):
    """The same, with the corner chosen that loses the fewest digits.

    The weights are quotients of differences of products, good to round-off times (longest side seen from the
    first corner)^2 over the area. Support points of a curved body come so close to each other that this
    would spoil the direction; so the first corner is the one between the two shorter sides.
    """
    ab, bc, ca = vec3.subtract(b, a), vec3.subtract(c, b), vec3.subtract(a, c)
    ab2, bc2, ca2 = vec3.dot(ab, ab), vec3.dot(bc, bc), vec3.dot(ca, ca)
    if bc2 >= ab2 and bc2 >= ca2:
        return _closest_from_corner(a, b, c)
    if ca2 >= ab2:
        wb, wc, wa = _closest_from_corner(b, c, a)
        return wa, wb, wc
    wc, wa, wb = _closest_from_corner(c, a, b)
    return wa, wb, wc


@inlined
def _point2(wa, a, wb, b):
    return wa * a[0] + wb * b[0], wa * a[1] + wb * b[1], wa * a[2] + wb * b[2]


@inner
def _closest_on_tetrahedron(simplex):
    """Write the weights of the point closest to the origin; False where the origin is inside."""
    best = 1e300
    found = False
    weights = (0.0, 0.0, 0.0, 0.0)
    for skip in range(4):
        i, j, k = (skip + 1) % 4, (skip + 2) % 4, (skip + 3) % 4
        a, b, c, d = (
            vec3.load(simplex, i),
            vec3.load(simplex, j),
            vec3.load(simplex, k),
            vec3.load(simplex, skip),
        )
        n = vec3.cross(vec3.subtract(b, a), vec3.subtract(c, a))
        origin_side = -vec3.dot(n, a)
        other_side = vec3.dot(n, vec3.subtract(d, a))
        # A flat tetrahedron has no inside: other_side near zero, by the cube of its size, counts as outside.
        size = math.sqrt(vec3.norm(n))
        if origin_side * other_side > 0.0 and abs(other_side) > 1e-14 * size * size * size:
            continue
        u, v, w = _closest_on_triangle(a, b, c)
        p = vec3.add(_point2(u, a, v, b), vec3.scale(c, w))
        if vec3.dot(p, p) < best:
            best = vec3.dot(p, p)
            found = True
            full = (u, v, w, 0.0)
            # Weight of vertex m stands at the place of m among (i, j, k, skip).
            weights = (full[(3 - skip) % 4], full[(4 - skip) % 4], full[(5 - skip) % 4], full[(6 - skip) % 4])
    if found:
        for m in range(4):
            simplex[m, WEIGHT] = weights[m]
    return found


@inner
def reduce_simplex(simplex, count):
    """Weights of the closest point; vertices without weight are dropped. Returns the new count.

    0 where the origin lies inside a tetrahedron.
    """
    if count == 1:
        simplex[0, WEIGHT] = 1.0
        return 1
    if count == 2:
        simplex[0, WEIGHT], simplex[1, WEIGHT] = _closest_on_segment(
            vec3.load(simplex, 0), vec3.load(simplex, 1)
        )
    elif count == 3:
        simplex[0, WEIGHT], simplex[1, WEIGHT], simplex[2, WEIGHT] = _closest_on_triangle(
            vec3.load(simplex, 0), vec3.load(simplex, 1), vec3.load(simplex, 2)
        )
    elif not _closest_on_tetrahedron(simplex):
        return 0
    kept = 0
    for i in range(count):
        if simplex[i, WEIGHT] > 0.0:
            for column in range(9):
                simplex[kept, column] = simplex[i, column]
            kept += 1
    return kept


@inlined
def put_row(simplex, i, w, p_a, a, b):
    """Write a support point, with what it is of each shape, to a row of the simplex."""
    simplex[i, W], simplex[i, W + 1], simplex[i, W + 2] = w
    simplex[i, PA], simplex[i, PA + 1], simplex[i, PA + 2] = p_a
    simplex[i, VERTEX_A], simplex[i, VERTEX_B] = a, b


@inlined
def weighted(simplex, count, first):
    """Mean of three columns of the simplex from `first` on, by the weights of its points."""
    x, y, z = 0.0, 0.0, 0.0
    for i in range(count):
        x += simplex[i, WEIGHT] * simplex[i, first]
        y += simplex[i, WEIGHT] * simplex[i, first + 1]
        z += simplex[i, WEIGHT] * simplex[i, first + 2]
    return x, y, z


@inner
def closest_points(shapes, sa, ra, p_ba, sb, rb, direction, size, simplex):
    """Closest points of two convex cores.

    Args:
        ra, rb: Rotation matrices of a and b (tuples of nine).
        p_ba: Centre of mass of a from that of b [m], world axes.
        direction: Where to look first (from b to a), for instance the last normal.
        size: Size of the smaller shape [m]; distances below 1e-9 of it count as touching.
        simplex: Scratch, shape SIMPLEX_SHAPE; afterwards its rows name the closest features.

    Returns:
        (status, distance, normal, p_a, p_b, simplex count); points from b's centre of mass. With TOUCHING
        all but the status means nothing; with UNCONVERGED the rest is a guess: where the simplex has become
        a sliver, the digits are not there to say which way its closest point lies.
    """
    v = direction
    if vec3.dot(v, v) == 0.0:
        v = p_ba
    if vec3.dot(v, v) == 0.0:
        v = (1.0, 0.0, 0.0)
    count = np.int64(0)
    start_a, start_b = ANY_VERTEX, ANY_VERTEX
    touching2 = (1e-9 * size) ** 2
    status = UNCONVERGED
    for iteration in range(MAX_ITERATIONS):
        start_a = support_vertex(shapes, sa, mat3.transform_transposed(ra, vec3.scale(v, -1.0)), start_a)
        start_b = support_vertex(shapes, sb, mat3.transform_transposed(rb, v), start_b)
        pa = vec3.add(mat3.transform(ra, vertex(shapes, sa, start_a)), p_ba)
        pb = mat3.transform(rb, vertex(shapes, sb, start_b))
        w = vec3.subtract(pa, pb)
        if iteration > 0:
            vv = vec3.dot(v, v)
            if vv - vec3.dot(v, w) <= 1e-13 * vv:
                status = SEPARATED
                break
            repeated = False
            for i in range(count):
                if simplex[i, VERTEX_A] == start_a and simplex[i, VERTEX_B] == start_b:
                    repeated = True
            if repeated:  # nothing nearer can be found with these digits; the gap along v is v . w / |v|
                certain = vv - vec3.dot(v, w) <= CERTAIN * size * math.sqrt(vv)
                status = SEPARATED if certain else UNCONVERGED
                break
        put_row(simplex, count, w, pa, start_a, start_b)
        count = reduce_simplex(simplex, count + 1)
        if count == 0:
            status = TOUCHING
            break
        v = weighted(simplex, count, W)
        if vec3.dot(v, v) <= touching2:
            status = TOUCHING
            break
    if status == TOUCHING:
        return status, 0.0, v, v, v, count
    distance = vec3.norm(v)
    pa = weighted(simplex, count, PA)
    return status, distance, vec3.scale(v, 1.0 / distance), pa, vec3.subtract(pa, v), count
