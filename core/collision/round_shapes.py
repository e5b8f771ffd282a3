"""Contacts of capsules, cylinders and cones with each other, with hulls and with spheres.

Distance and normal come from support points: GJK on the cores where they are apart, EPA where they
overlap, both ended by Newton's method; the rounding of spheres and capsules is taken off afterwards.
The manifold is what the two shapes turn to each other (a face, a disc, a line), clipped, and the deepest
point where none of these is as deep, so that a rim or a side touches where the curved surface does and not
at a corner of its outline.

Frame and symbols as in gjk.py. Source: van den Bergen 2003, section 4.3.
"""

import math

import numpy as np

from ..geometry.shape_table import CAPSULE, DISCS, HULL
from ..geometry.support import aligned_edge, aligned_face, direction_across, support_point, vertex
from ..jit import inlined, inner, merged
from ..math3 import mat3, vec3
from .difference import difference_support, put_row
from .epa import penetration
from .gjk import MAX_ITERATIONS, PA, W, reduce_simplex, weighted
from .manifold import (
    CLIP_COSINE,
    CUT,
    DEEPEST,
    add_candidate,
    add_deepest,
    cut_polygon,
    face_between,
    note_deepest,
    outward_of,
)
from .refinement import has_row, recall_generators, refine

# A disc stands for itself by so many points of its rim, besides the deepest one.
RIM_POINTS = 12
TILTED = 1e-3  # [rad] against what it faces: a disc no nearer to flat rolls on its rim
RIM_COSINE = tuple(math.cos(2.0 * math.pi * k / RIM_POINTS) for k in range(RIM_POINTS))
RIM_SINE = tuple(math.sin(2.0 * math.pi * k / RIM_POINTS) for k in range(RIM_POINTS))
# A line of the surface (side of a cylinder, a capsule's core) is in contact along its length where it
# lies within this sine of the contact plane; beyond, only its deeper end can touch.
LINE_SINE = 0.3
SEPARATED, OVERLAPPING = 0, 1
# GJK hands over to Newton's method where its distance may be too large by this part of it, or of NEAR of the
# size; and, where that fails, again when it is better by REFINE_AGAIN.
REFINE_FROM, REFINE_AGAIN, NEAR = 1e-2, 1e-3, 0.1
SHORT = 1e-2  # relative to the size: a shorter difference of GJK's points is no good direction
# Relative to the size: an overlap that is round-off to GJK, and one that is taken to lie along the last
# normal, as the planes of hulls are that touched before (narrow_phase.py), without a look at all others.
TOUCHING, SHALLOW = 1e-8, 1e-5
FACE_COSINE = 0.999
DEEP = 1e-3  # relative to the size: how deep what decided last may be cut and still be tried


@inner
def closest_cores(shapes, sa, ra, p_ba, sb, rb, direction, size, witness, simplex):
    """GJK on support points, ended by Newton's method: (status, distance, normal, p_a) of two cores.

    SEPARATED may be an overlap so shallow that it needs no other look: the distance is negative then.
    """
    v = direction
    shallow = SHALLOW * size
    if vec3.dot(v, v) == 0.0:
        v, shallow = p_ba, TOUCHING * size
    if vec3.dot(v, v) == 0.0:
        v = (1.0, 0.0, 0.0)
    count = np.int64(0)
    nearest2, nearest_p = 1e300, v
    touching2 = (1e-9 * size) ** 2
    curved = shapes.kind[sa] == DISCS or shapes.kind[sb] == DISCS
    refine_from = REFINE_FROM if curved else 0.0  # without discs GJK ends by itself
    for iteration in range(MAX_ITERATIONS):
        w, pa, a, b = difference_support(shapes, sa, ra, p_ba, sb, rb, vec3.scale(v, -1.0))
        vv = vec3.dot(v, v)
        lag = vv - vec3.dot(v, w)  # |v| times what the distance can still be less
        if iteration > 0 and lag <= refine_from * math.sqrt(vv) * max(math.sqrt(vv), NEAR * size):
            n = vec3.scale(v, 1.0 / math.sqrt(vv))
            found, distance, n, p_a = refine(shapes, sa, ra, p_ba, sb, rb, n, simplex, count, witness)
            if found:  # the widest gap there is about here: below 0 no other one is above
                return SEPARATED if distance > -shallow else OVERLAPPING, distance, n, p_a
            refine_from *= REFINE_AGAIN
        if iteration > 0 and (lag <= 1e-13 * vv or (not curved and has_row(simplex, count, a, b))):
            break
        put_row(simplex, count, w, pa, a, b)
        count = reduce_simplex(simplex, count + 1)
        if count == 0:
            return OVERLAPPING, 0.0, v, v
        new = weighted(simplex, count, W)
        if vec3.dot(new, new) <= touching2:
            return OVERLAPPING, 0.0, v, v
        if vec3.dot(new, new) >= nearest2:  # nothing nearer can be found with these digits
            break
        v, nearest2, nearest_p = new, vec3.dot(new, new), weighted(simplex, count, PA)
    distance = vec3.norm(v)
    n = vec3.scale(v, 1.0 / distance)
    if not curved and distance > SHORT * size:
        return SEPARATED, distance, n, nearest_p
    found, distance, fine, p_a = refine(shapes, sa, ra, p_ba, sb, rb, n, simplex, count, witness)
    if found:
        return SEPARATED if distance > -shallow else OVERLAPPING, distance, fine, p_a
    distance, n = _face_of_disc(shapes, sa, ra, p_ba, sb, rb, n)
    # Where it does not separate, the difference of GJK's points was too short to be a direction.
    return SEPARATED if distance > -shallow else OVERLAPPING, distance, n, nearest_p


@inner
def _face_of_disc(shapes, sa, ra, p_ba, sb, rb, n):
    """(gap, normal): along n, or along the axis of a disc close to n where the gap is wider.

    Over a disc's face no rim decides, and the difference of GJK's points is too short for a direction.
    """
    w, _p, _a, _b = difference_support(shapes, sa, ra, p_ba, sb, rb, vec3.scale(n, -1.0))
    best, normal = vec3.dot(n, w), n
    for side in range(2):
        axis = mat3.transform(ra, vec3.load(shapes.axis, sa))
        if side == 1:
            axis = mat3.transform(rb, vec3.load(shapes.axis, sb))
        cosine = vec3.dot(axis, n)
        if abs(cosine) > FACE_COSINE:
            m = vec3.scale(axis, 1.0 if cosine > 0.0 else -1.0)
            w, _p, _a, _b = difference_support(shapes, sa, ra, p_ba, sb, rb, vec3.scale(m, -1.0))
            if vec3.dot(m, w) >= best:
                best, normal = vec3.dot(m, w), m
    return best, normal


@inner
def _over_disc(shapes, sa, ra, p_ba, sb, rb, n):
    """Where the point of a core that is nearest to a disc of the other lies over its face.

    Args:
        n: The last normal, close to that of the face.

    Returns:
        (whether there is such a face, separation, normal, p_a).
    """
    for side in range(2):
        s, r, other = (sa, ra, sb) if side == 0 else (sb, rb, sa)
        if shapes.kind[s] != DISCS:
            continue
        axis = mat3.transform(r, vec3.load(shapes.axis, s))
        cosine = vec3.dot(axis, n)
        if abs(cosine) < FACE_COSINE:
            continue
        normal = vec3.scale(axis, 1.0 if cosine > 0.0 else -1.0)
        end = np.int64(1 if (cosine > 0.0) == (side == 1) else 0)
        center = mat3.transform(r, vertex(shapes, s, end))
        if side == 0:
            center = vec3.add(center, p_ba)
            p = mat3.transform(rb, support_point(shapes, other, mat3.transform_transposed(rb, normal)))
        else:
            down = mat3.transform_transposed(ra, vec3.scale(normal, -1.0))
            p = vec3.add(mat3.transform(ra, support_point(shapes, other, down)), p_ba)
        beside = vec3.subtract(p, center)
        height = vec3.dot(normal, beside)
        if vec3.dot(beside, beside) - height * height <= shapes.disc[s, end] ** 2:
            if side == 0:
                return True, -height, normal, vec3.subtract(p, vec3.scale(normal, height))
            return True, height, normal, p
    return False, 0.0, n, n


@inner
def separate_cores(shapes, sa, ra, p_ba, sb, rb, direction, fallback, size, witness, simplex, polytope):
    """(separation, normal, p_a) of two convex cores, apart or overlapping.

    Args:
        direction: Where the search begins: the last normal, zero where there is none.
        fallback: Normal for cores that only touch in a point.
        witness: Of the pair: the generators that decided last are tried first.
    """
    if vec3.dot(direction, direction) > 0.0:
        count = recall_generators(witness, simplex)
        if count > 0:
            found, distance, n, p_a = refine(
                shapes, sa, ra, p_ba, sb, rb, direction, simplex, count, witness
            )  # fmt: skip
            if found and distance > -DEEP * size:
                return distance, n, p_a
        found, distance, n, p_a = _over_disc(shapes, sa, ra, p_ba, sb, rb, direction)
        if found and distance > -DEEP * size:
            return distance, n, p_a
    witness[:] = 0
    status, distance, n, p_a = closest_cores(
        shapes, sa, ra, p_ba, sb, rb, direction, size, witness, simplex
    )  # fmt: skip
    if status == OVERLAPPING:
        return penetration(shapes, sa, ra, p_ba, sb, rb, fallback, size, polytope, witness)
    return distance, n, p_a


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
def _first_spokes(axis, d):
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
        t1, t2, _ = _first_spokes(axis, d)
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
def clip_features(count_a, count_b, discs, n, rounding, margin, scratch):
    """Candidates where the features in polygon 0 (of a) and polygon 1 (of b) lie over each other.

    Args:
        discs: (whether a polygon of a is a disc, whether one of b is).
    """
    if count_a == 1 or count_b == 1:
        return
    if count_a == 2 and count_b == 2:
        _overlap_lines(n, rounding, margin, scratch)
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
def _overlap_lines(n, rounding, margin, scratch):
    """Candidates at the ends of the common part of two lines that lie nearly along each other."""
    a0, a1 = vec3.load(scratch.polygon[0], 0), vec3.load(scratch.polygon[0], 1)
    b0, b1 = vec3.load(scratch.polygon[1], 0), vec3.load(scratch.polygon[1], 1)
    u, v = vec3.subtract(a1, a0), vec3.subtract(b1, b0)
    uu, vv = vec3.dot(u, u), vec3.dot(v, v)
    c = vec3.cross(u, v)
    if vec3.dot(c, c) > 0.01 * uu * vv:  # they cross: the deepest point is all there is
        return
    t0, t1 = vec3.dot(vec3.subtract(b0, a0), u) / uu, vec3.dot(vec3.subtract(b1, a0), u) / uu
    low, high = max(0.0, min(t0, t1)), min(1.0, max(t0, t1))
    if low >= high:
        return
    for k in range(2):
        t = low if k == 0 else high
        on_a = vec3.add(a0, vec3.scale(u, t))
        w = (t - t0) / (t1 - t0)
        on_b = vec3.add(b0, vec3.scale(v, w))
        gap = vec3.dot(n, vec3.subtract(on_a, on_b))
        separation = gap - rounding[0] - rounding[1]
        if separation <= margin:
            add_candidate(
                scratch, vec3.subtract(on_a, vec3.scale(n, rounding[0])), n, separation, np.int64(k)
            )


@merged
def collide_round(
    shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, scratch, simplex, polytope, deepest
):  # fmt: skip
    """Contacts of two convex shapes of which at least one is round.

    `witness` (3,) and `axis` (3,) of the pair are kept up to date.
    """
    rounding = (shapes.radius[sa], shapes.radius[sb])
    rounded = rounding[0] + rounding[1]
    last = axis[0], axis[1], axis[2]
    if vec3.dot(last, last) > 0.0:
        w, _p, _a, _b = difference_support(shapes, sa, ra, p_ba, sb, rb, vec3.scale(last, -1.0))
        if vec3.dot(last, w) - rounded > margin:
            return
    fallback = last if vec3.dot(last, last) > 0.0 else (0.0, 0.0, 1.0)
    distance, n, p_a = separate_cores(
        shapes, sa, ra, p_ba, sb, rb, last, fallback, size, witness, simplex, polytope
    )  # fmt: skip
    axis[0], axis[1], axis[2] = n
    surface = vec3.subtract(p_a, vec3.scale(n, rounding[0]))
    note_deepest(deepest, distance - rounded, n, surface)
    if distance - rounded > margin:
        return
    count_a = load_feature(shapes, sa, ra, p_ba, vec3.scale(n, -1.0), np.int64(0), scratch)
    count_b = load_feature(shapes, sb, rb, (0.0, 0.0, 0.0), n, np.int64(1), scratch)
    scratch.face[0] = face_between(count_a, count_b, n, scratch)
    discs = shapes.kind[sa] == DISCS, shapes.kind[sb] == DISCS
    clip_features(count_a, count_b, discs, n, rounding, margin, scratch)
    surface = add_deepest(scratch, surface, n, distance - rounded, size)
    note_deepest(deepest, distance - rounded, n, surface)


@inner
def collide_round_with_plane(shapes, s, r, offset, n, distance, sign, margin, scratch):
    """Contacts of a capsule, cylinder or cone with the half-space n . x <= distance.

    Arguments as for `primitives.collide_with_plane`.
    """
    down = mat3.transform_transposed(r, vec3.scale(n, -1.0))
    axis = vec3.load(shapes.axis, s)
    along = vec3.dot(axis, down)
    _, across = direction_across(axis, down)
    t1, t2, rolls = _first_spokes(axis, down)
    lies = abs(along) > CLIP_COSINE and not rolls
    for end in range(2):
        c, disc = vertex(shapes, s, np.int64(end)), shapes.disc[s, end]
        if not (lies and disc > 0.0):
            _add_on_plane(shapes, s, r, offset, vec3.add(c, vec3.scale(across, disc)), n, distance, sign,
                          margin, np.int64(end), scratch)  # fmt: skip
        if disc > 0.0 and abs(along) > CLIP_COSINE:
            for k in range(1 if rolls else 0, RIM_POINTS):  # the first is the lowest
                spoke = vec3.add(vec3.scale(t1, RIM_COSINE[k]), vec3.scale(t2, RIM_SINE[k]))
                x = vec3.add(c, vec3.scale(spoke, disc))
                _add_on_plane(shapes, s, r, offset, x, n, distance, sign, margin,
                              np.int64(2 + 2 * k + end), scratch)  # fmt: skip
    lower = np.int64(1 if along > 0.0 else 0)
    if lies and shapes.disc[s, lower] > 0.0:
        rim = vec3.scale(across, shapes.disc[s, lower])
        _add_on_plane(shapes, s, r, offset, vec3.add(vertex(shapes, s, lower), rim), n, distance, sign,
                      margin, DEEPEST, scratch)  # fmt: skip


@inner
def _add_on_plane(shapes, s, r, offset, x, n, distance, sign, margin, feature, scratch):
    """Add the point x of the core (its own frame), less its rounding, over a plane."""
    p = vec3.subtract(vec3.add(mat3.transform(r, x), offset), vec3.scale(n, shapes.radius[s]))
    separation = vec3.dot(n, p) - distance
    if separation > margin:
        return
    if sign > 0.0:
        add_candidate(scratch, p, n, separation, feature)
    else:
        add_candidate(
            scratch, vec3.subtract(p, vec3.scale(n, separation)), vec3.scale(n, -1.0), separation, feature
        )
