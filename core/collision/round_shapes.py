"""Contacts of capsules, cylinders and cones with each other, with hulls and with spheres.

Distance and normal come from support points: GJK on the cores where they are apart, EPA where they
overlap, both ended by Newton's method; the rounding of spheres and capsules is taken off afterwards.
The manifold is what the two shapes turn to each other (features.py), clipped, and the deepest point where
none of these is as deep, so that a rim or a side touches where the curved surface does and not at a corner of
its outline.

Frame and symbols as in gjk.py. Source: van den Bergen 2003, section 4.3.
"""

import math

import numpy as np

from ..geometry.shape_table import DISCS, HULL
from ..geometry.support import direction_across, support_point, vertex
from ..jit import inner, merged
from ..math3 import mat3, vec3
from .difference import difference_support, put_row
from .epa import penetration
from .features import (
    RIM_COSINE,
    RIM_POINTS,
    RIM_SINE,
    clip_features,
    clip_to_edge,
    first_spokes,
    load_feature,
)
from .gjk import MAX_ITERATIONS, PA, W, reduce_simplex, weighted
from .manifold import CLIP_COSINE, DEEPEST, add_candidate, add_deepest, face_between, note_deepest
from .refinement import has_row, recall_generators, refine

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
    clip_features(count_a, count_b, discs, shapes.kind[sa] == HULL, n, rounding, margin, scratch)
    if scratch.count[0] == 0:
        clip_to_edge(shapes, sa, ra, p_ba, sb, rb, count_a, count_b, n, rounding, margin, scratch)
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
    t1, t2, rolls = first_spokes(axis, down)
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
