"""What two shapes turn to each other: a face, a disc or a line; clipped against each other.

Frame and symbols as in gjk.py. Source: van den Bergen 2003, section 4.3.
"""

import math

import numpy as np

from ..geometry.shape_table import CAPSULE, DISCS, HULL
from ..geometry.support import aligned_edge, aligned_face, direction_across, vertex
from ..jit import inlined, inner
from ..math3 import mat3, vec3
from .manifold import CLIP_COSINE, CUT, add_candidate, cut_polygon, face_between, outward_of

# A disc stands for itself by so many points of its rim, besides the deepest one.
RIM_POINTS = 12
TILTED = 1e-3  # [rad] against what it faces: a disc no nearer to flat rolls on its rim
RIM_COSINE = tuple(math.cos(2.0 * math.pi * k / RIM_POINTS) for k in range(RIM_POINTS))
RIM_SINE = tuple(math.sin(2.0 * math.pi * k / RIM_POINTS) for k in range(RIM_POINTS))
# A line of the surface (side of a cylinder, a capsule's core) is in contact along its length where it
# lies within this sine of the contact plane; beyond, only its deeper end can touch.
LINE_SINE = 0.3


@inlined
def _put(scratch, row, i, p, tag):
    scratch.polygon[row, i, 0], scratch.polygon[row, i, 1], scratch.polygon[row, i, 2] = p
    scratch.tag[row, i] = tag


@inner
def _load_edge(shapes, s, r, offset, d, row, scratch):
    """Write the edge that a hull turns to d (its own frame), if it is one; returns the number of points."""
    v, u, sine = aligned_edge(shapes, s, d)
    if sine > LINE_SINE:
        return 1
    for k in range(2):
        end = v if k == 0 else u
        p = vec3.add(mat3.transform(r, vertex(shapes, s, end)), offset)
        scratch.polygon[row, k, 0], scratch.polygon[row, k, 1], scratch.polygon[row, k, 2] = p
        scratch.tag[row, k] = end
    return 2


@inlined
def first_spokes(axis, d):
    """Two spokes of a disc, at right angles, from which others are counted; whether it rolls on its rim.

    Then the first one points to its outermost point along d. Spokes of its own would pass below it as it
    rolls, and hold it back: where two points of a rim touch it cannot go on.
    """
    width, across = direction_across(axis, d)
    if width > TILTED:
        return across, vec3.cross(axis, across), True
    t1, t2 = vec3.tangents(axis)
    return t1, t2, False


@inner
def load_feature(shapes, s, r, offset, n, row, scratch):
    """Write what shape `s` turns to the direction n (out of it, world axes) to polygon `row`.

    Returns:
        Number of points: 1 a point (none is written), 2 a line, more a polygon, counter-clockwise
        seen from outside.
    """
    d = mat3.transform_transposed(r, n)
    if shapes.kind[s] == HULL:
        face, cosine = aligned_face(shapes, s, d)
        if cosine < CLIP_COSINE:
            return _load_edge(shapes, s, r, offset, d, row, scratch)
        first, last = shapes.loop_start[face], shapes.loop_start[face + 1]
        for k in range(first, last):
            p = vec3.add(mat3.transform(r, vertex(shapes, s, shapes.loop[k])), offset)
            scratch.polygon[row, k - first, 0], scratch.polygon[row, k - first, 1] = p[0], p[1]
            scratch.polygon[row, k - first, 2] = p[2]
            scratch.tag[row, k - first] = shapes.loop[k]
        return last - first
    if shapes.kind[s] != CAPSULE and shapes.kind[s] != DISCS:
        return 1
    axis = vec3.load(shapes.axis, s)
    along = vec3.dot(axis, d)
    zero = np.int64(0)
    c0, c1 = vertex(shapes, s, zero), vertex(shapes, s, zero + 1)
    end = 1 if along > 0.0 else 0
    if shapes.kind[s] == DISCS and abs(along) > CLIP_COSINE and shapes.disc[s, end] > 0.0:
        t1, t2, _ = first_spokes(axis, d)
        c, radius = (c1 if end == 1 else c0), shapes.disc[s, end]
        turn = 1.0 if end == 1 else -1.0
        for k in range(RIM_POINTS):
            spoke = vec3.add(vec3.scale(t1, RIM_COSINE[k]), vec3.scale(t2, turn * RIM_SINE[k]))
            p = vec3.add(mat3.transform(r, vec3.add(c, vec3.scale(spoke, radius))), offset)
            scratch.polygon[row, k, 0], scratch.polygon[row, k, 1], scratch.polygon[row, k, 2] = p
            scratch.tag[row, k] = k
        return RIM_POINTS
    if shapes.kind[s] == DISCS:
        across = vec3.subtract(d, vec3.scale(axis, along))
        width = vec3.norm(across)
        if width == 0.0:
            return 1
        across = vec3.scale(across, 1.0 / width)
        c0 = vec3.add(c0, vec3.scale(across, shapes.disc[s, 0]))
        c1 = vec3.add(c1, vec3.scale(across, shapes.disc[s, 1]))
    line = vec3.subtract(c1, c0)
    if abs(vec3.dot(line, d)) > LINE_SINE * vec3.norm(line):
        return 1
    for k in range(2):
        p = vec3.add(mat3.transform(r, c0 if k == 0 else c1), offset)
        scratch.polygon[row, k, 0], scratch.polygon[row, k, 1], scratch.polygon[row, k, 2] = p
        scratch.tag[row, k] = k
    return 2


@inner
def _cut_line(scratch, row, n, distance):
    """Keep the part of the line in polygon `row` with n . x <= distance; returns its points left."""
    p, q = vec3.load(scratch.polygon[row], 0), vec3.load(scratch.polygon[row], 1)
    hp, hq = vec3.dot(n, p) - distance, vec3.dot(n, q) - distance
    if hp > 0.0 and hq > 0.0:
        return 0
    if hp > 0.0 or hq > 0.0:
        x = vec3.add(p, vec3.scale(vec3.subtract(q, p), hp / (hp - hq)))
        k = 0 if hp > 0.0 else 1
        scratch.polygon[row, k, 0], scratch.polygon[row, k, 1], scratch.polygon[row, k, 2] = x
        scratch.tag[row, k] |= CUT
    return 2


@inner
def _cut_line_by_disc(scratch, row, outward):
    """Keep the part of the line in polygon `row` over the disc in `outline`; returns its points left."""
    first, opposite = vec3.load(scratch.outline, 0), vec3.load(scratch.outline, RIM_POINTS // 2)
    center = vec3.scale(vec3.add(first, opposite), 0.5)
    radius = 0.5 * vec3.norm(vec3.subtract(opposite, first))
    p, q = vec3.load(scratch.polygon[row], 0), vec3.load(scratch.polygon[row], 1)
    x, d = vec3.subtract(p, center), vec3.subtract(q, p)
    x = vec3.subtract(x, vec3.scale(outward, vec3.dot(outward, x)))
    d = vec3.subtract(d, vec3.scale(outward, vec3.dot(outward, d)))
    dd, xd = vec3.dot(d, d), vec3.dot(x, d)
    square = xd * xd - dd * (vec3.dot(x, x) - radius * radius)
    if not square > 0.0:  # beside the disc, or upright
        return 0
    way = vec3.subtract(q, p)
    for k in range(2):
        t = (-xd - math.sqrt(square)) / dd if k == 0 else (-xd + math.sqrt(square)) / dd
        if (t >= 1.0 and k == 0) or (t <= 0.0 and k == 1):
            return 0
        if 0.0 < t < 1.0:
            _put(scratch, row, k, vec3.add(p, vec3.scale(way, t)), scratch.tag[row, k] | CUT)
    return 2


@inner
def _add_feature_points(scratch, row, count, plane_point, plane_normal, n, rounding, sign, margin):
    """Add the points of polygon `row` over the other shape's plane as candidates.

    Args:
        plane_point, plane_normal: Plane of the other core's feature.
        n: Contact normal, from b to a.
        rounding: (that of a, that of b) [m].
        sign: 1 where the points are of a, -1 where they are of b.
    """
    slope = vec3.dot(plane_normal, n)
    for i in range(count):
        p = vec3.load(scratch.polygon[row], i)
        gap = vec3.dot(plane_normal, vec3.subtract(p, plane_point)) / slope * sign
        separation = gap - rounding[0] - rounding[1]
        if separation > margin:
            continue
        on_a = p if sign > 0.0 else vec3.add(p, vec3.scale(n, gap))
        on_a = vec3.subtract(on_a, vec3.scale(n, rounding[0]))
        feature = (scratch.tag[row, i] << 1) | (1 if sign > 0.0 else 0)
        add_candidate(scratch, on_a, n, separation, feature)


@inner
def _cut_by_outline(scratch, row, left, count, outward):
    """Keep what of the line or polygon in `row` is within `outline`; returns (row, points left)."""
    previous = vec3.load(scratch.outline, count - 1)
    for k in range(count):
        corner = vec3.load(scratch.outline, k)
        side = vec3.cross(vec3.subtract(corner, previous), outward)
        if left == 2:
            left = _cut_line(scratch, row, side, vec3.dot(side, corner))
        else:
            row, left = cut_polygon(scratch, row, left, side, vec3.dot(side, corner), k)
        previous = corner
        if left == 0:
            break
    return row, left


@inner
def clip_features(count_a, count_b, discs, ends_of_b, n, rounding, margin, scratch):
    """Candidates where the features in polygon 0 (of a) and polygon 1 (of b) lie over each other.

    Args:
        discs: (whether a polygon of a is a disc, whether one of b is).
        ends_of_b: Whether points of two lines are known again by the ends of that of b.
    """
    if count_a == 1 or count_b == 1:
        return
    if count_a == 2 and count_b == 2:
        _overlap_lines(ends_of_b, n, rounding, margin, scratch)
        return
    # The reference gives the plane and the sides; the other one is cut by them. `outline` keeps it.
    by_b = count_b > 2
    reference, count = (1, count_b) if by_b else (0, count_a)
    incident, left = (0, count_a) if by_b else (1, count_b)
    outward = outward_of(scratch, reference)
    if abs(vec3.dot(outward, n)) < 0.5:
        return
    for k in range(count):
        scratch.outline[k, 0], scratch.outline[k, 1], scratch.outline[k, 2] = vec3.load(
            scratch.polygon[reference], k
        )
    row = incident
    if row == 1:  # cut_polygon works in rows 0 and 1, from 0
        for k in range(left):
            _put(scratch, np.int64(0), k, vec3.load(scratch.polygon[1], k), scratch.tag[1, k])
        row = 0
    if left == 2 and discs[reference]:
        left = _cut_line_by_disc(scratch, row, outward)
    else:
        row, left = _cut_by_outline(scratch, row, left, count, outward)
    plane = vec3.load(scratch.outline, 0)
    _add_feature_points(scratch, row, left, plane, outward, n, rounding, 1.0 if by_b else -1.0, margin)


@inner
def _overlap_lines(ends_of_b, n, rounding, margin, scratch):
    """Candidates at the ends of the common part of two lines that lie nearly along each other.

    Each has the feature that the end of the line would have over a face: it is the same contact point still
    when what rolls over a face gets to the edge of that.
    """
    row = 1 if ends_of_b else 0
    p0, p1 = vec3.load(scratch.polygon[row], 0), vec3.load(scratch.polygon[row], 1)
    q0, q1 = vec3.load(scratch.polygon[1 - row], 0), vec3.load(scratch.polygon[1 - row], 1)
    u, v = vec3.subtract(p1, p0), vec3.subtract(q1, q0)
    uu, vv = vec3.dot(u, u), vec3.dot(v, v)
    c = vec3.cross(u, v)
    if vec3.dot(c, c) > 0.01 * uu * vv:  # they cross: the deepest point is all there is
        return
    t0, t1 = vec3.dot(vec3.subtract(q0, p0), u) / uu, vec3.dot(vec3.subtract(q1, p0), u) / uu
    low, high = max(0.0, min(t0, t1)), min(1.0, max(t0, t1))
    if low >= high:
        return
    for k in range(2):
        t = low if k == 0 else high
        x = vec3.add(p0, vec3.scale(u, t))
        y = vec3.add(q0, vec3.scale(v, (t - t0) / (t1 - t0)))
        on_a, on_b = (y, x) if ends_of_b else (x, y)
        separation = vec3.dot(n, vec3.subtract(on_a, on_b)) - rounding[0] - rounding[1]
        tag = scratch.tag[row, k] | (CUT if 0.0 < t < 1.0 else 0)
        if separation <= margin:
            on_a = vec3.subtract(on_a, vec3.scale(n, rounding[0]))
            add_candidate(scratch, on_a, n, separation, (tag << 1) | (1 - row))


@inner
def clip_to_edge(shapes, sa, ra, p_ba, sb, rb, count_a, count_b, n, rounding, margin, scratch):
    """Candidates where a line lies beside the face of a hull that was turned to it: along an edge of that.

    Args:
        count_a, count_b: Numbers of points of the features that were clipped.
    """
    if count_a == 2 and count_b > 2 and shapes.kind[sb] == HULL:
        load_feature(shapes, sa, ra, p_ba, vec3.scale(n, -1.0), np.int64(0), scratch)
        d = mat3.transform_transposed(rb, n)
        count_b = _load_edge(shapes, sb, rb, (0.0, 0.0, 0.0), d, np.int64(1), scratch)
    elif count_b == 2 and count_a > 2 and shapes.kind[sa] == HULL:
        load_feature(shapes, sb, rb, (0.0, 0.0, 0.0), n, np.int64(1), scratch)
        d = mat3.transform_transposed(ra, vec3.scale(n, -1.0))
        count_a = _load_edge(shapes, sa, ra, p_ba, d, np.int64(0), scratch)
    if count_a == 2 and count_b == 2:
        scratch.face[0] = face_between(count_a, count_b, n, scratch)
        _overlap_lines(shapes.kind[sa] == HULL, n, rounding, margin, scratch)
