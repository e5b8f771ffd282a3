"""Contact manifolds of two hulls: faces clipped on the separating plane, with stable feature ids.

Frame and symbols as in gjk.py. A manifold holds points of the contact region's outline only
(Baraff 1989, section 4.2: forces on the vertices of the region can produce any motion that forces
over all of it can), reduced to at most four that keep its extent.

Source: Baraff 1997, section 7.4 (contact geometry); Sutherland & Hodgman 1974 (clipping).
"""

from typing import NamedTuple

import numpy as np

from ..geometry.support import vertex
from ..jit import inlined, inner
from ..math3 import mat3, vec3
from .separating_plane import FACE_A, FACE_B, NO_WITNESS

MAX_POINTS = 4
SMALLEST_ROOM = 16  # vertices of a polygon for which there is always room: discs have so many
# Where the separating plane lies within this angle of a face of either hull, that face's outline is
# clipped too: the tilted hull will come to rest on it. Beyond, the two edges or vertices touch alone.
CLIP_COSINE = 0.95
CUT = 1 << 23  # tags from here on are of points made by cutting
DEEPEST = np.int64(-1)  # feature id of the deepest point of round shapes, wherever it is
AS_DEEP, SAME_POINT = 1e-7, 1e-3  # of the size: differences in depth, and in place, that are none
# Vertices outside a side plane by less than this fraction of the side's length count as inside:
# boxes stacked flush would otherwise swap a vertex for a cut, and its feature id, by round-off.
FLUSH = 1e-6
FLUSH_COSINE = 1.0 - 1e-12  # of the angle between two normals that are one but for round-off
TIE = 1e-6  # of the size: by less than this no candidate is better than an earlier one
KEPT = 1.05  # how much better than a point of the last step another must be to take its place
LOWER = 0.25  # of the slack: other candidates are no lower than this below points that are kept
MOST_LOADED = 3  # points kept for their load: the last tells how far the contact reaches
HIGH = 0.05  # of the size: a candidate so much higher than the deepest counts half


class ManifoldScratch(NamedTuple):
    """Working space of one pair; its rows hold candidates before they are reduced."""

    polygon: np.ndarray  # [m] (2, m, 3) polygon before and after a cut
    tag: np.ndarray  # (2, m) what each polygon vertex came from
    height: np.ndarray  # [m] (m,) of each polygon vertex over the plane that cuts
    outline: np.ndarray  # [m] (m, 3) polygon that cuts the other one
    count: np.ndarray  # (1,) candidates written
    p_a: np.ndarray  # [m] (m, 3) point on a, from b's centre of mass
    normal: np.ndarray  # (m, 3)
    separation: np.ndarray  # [m] (m,)
    lowest: np.ndarray  # [m] (m,) the separation, or what it falls to in the motion ahead: see `foresee`
    feature: np.ndarray  # (m,)
    face: np.ndarray  # (1,) FACE_A or FACE_B where one of that shape's lies between them; NO_WITNESS else
    beside: np.ndarray  # [m] (1,) how much higher than the deepest point the next corner is of what a round
    # shape turns to a triangle, which has a part of it; infinite to others
    merit: np.ndarray  # (m,) factor on what speaks for each candidate, greater for those of the last step
    chosen: np.ndarray  # (MAX_POINTS,) candidates kept


def manifold_scratch(largest_loop: int, largest_vertex_count: int) -> ManifoldScratch:
    """Scratch for faces of up to `largest_loop` vertices and hulls of so many vertices."""
    m = 4 * max(largest_loop, SMALLEST_ROOM) + largest_vertex_count + 8
    return ManifoldScratch(
        polygon=np.zeros((2, m, 3)),
        tag=np.zeros((2, m), np.int64),
        height=np.zeros(m),
        outline=np.zeros((m, 3)),
        count=np.zeros(1, np.int64),
        p_a=np.zeros((m, 3)),
        normal=np.zeros((m, 3)),
        separation=np.zeros(m),
        lowest=np.zeros(m),
        feature=np.zeros(m, np.int64),
        face=np.zeros(1, np.int64),
        beside=np.zeros(1),
        merit=np.zeros(m),
        chosen=np.zeros(MAX_POINTS, np.int64),
    )


@inlined
def add_candidate(scratch, p_a, normal, separation, feature):
    """Append a contact point to the candidates."""
    i = scratch.count[0]
    scratch.p_a[i, 0], scratch.p_a[i, 1], scratch.p_a[i, 2] = p_a
    scratch.normal[i, 0], scratch.normal[i, 1], scratch.normal[i, 2] = normal
    scratch.separation[i] = separation
    scratch.feature[i] = feature
    scratch.count[0] = i + 1


@inlined
def note_deepest(deepest, separation, normal, p_a):
    """Note a pair's closest points, which are not always among its candidates."""
    deepest[0] = separation
    deepest[1], deepest[2], deepest[3] = normal
    deepest[4], deepest[5], deepest[6] = p_a


@inlined
def _load_face(shapes, s, face, r, offset, scratch):
    """Copy a face's loop into polygon 0 (world axes); returns the number of vertices."""
    first, last = shapes.loop_start[face], shapes.loop_start[face + 1]
    for k in range(first, last):
        p = vec3.add(mat3.transform(r, vertex(shapes, s, shapes.loop[k])), offset)
        i = k - first
        scratch.polygon[0, i, 0], scratch.polygon[0, i, 1], scratch.polygon[0, i, 2] = p
        scratch.tag[0, i] = shapes.loop[k]
    return last - first


@inlined
def outward_of(scratch, row):
    """Normal of the polygon in a row, out of its shape."""
    corner = vec3.load(scratch.polygon[row], 0)
    u = vec3.subtract(vec3.load(scratch.polygon[row], 1), corner)
    v = vec3.subtract(vec3.load(scratch.polygon[row], 2), corner)
    outward = vec3.cross(u, v)
    return vec3.scale(outward, 1.0 / vec3.norm(outward))


@inlined
def face_between(count_a, count_b, n, scratch):
    """Which shape's face, in polygon 0 or 1, lies between them: FACE_A, FACE_B, or none does."""
    if count_b > 2 and vec3.dot(outward_of(scratch, np.int64(1)), n) > FLUSH_COSINE:
        return FACE_B
    if count_a > 2 and vec3.dot(outward_of(scratch, np.int64(0)), n) < -FLUSH_COSINE:
        return FACE_A
    return NO_WITNESS


@inner
def cut_polygon(scratch, source, count, n, distance, side):
    """Keep the part of the polygon in row `source` with n . x <= distance; returns (row, count) of that part.

    A new vertex is tagged by the side that cut and the vertex before it, so that the tag does not
    change while the polygons turn a little.
    """
    flush = FLUSH * vec3.dot(n, n)  # n is as long as the side
    outside = 0
    for i in range(count):
        height = vec3.dot(n, vec3.load(scratch.polygon[source], i)) - distance
        scratch.height[i] = 0.0 if abs(height) < flush else height
        if height >= flush:
            outside += 1
    if outside == 0:
        return source, count
    target, kept = 1 - source, 0
    for i in range(count):
        k = i + 1 if i + 1 < count else 0
        hp, hq = scratch.height[i], scratch.height[k]
        if hp <= 0.0:
            for m in range(3):
                scratch.polygon[target, kept, m] = scratch.polygon[source, i, m]
            scratch.tag[target, kept] = scratch.tag[source, i]
            kept += 1
        if (hp < 0.0 and hq > 0.0) or (hp > 0.0 and hq < 0.0):
            part = hp / (hp - hq)
            for m in range(3):
                p = scratch.polygon[source, i, m]
                scratch.polygon[target, kept, m] = p + part * (scratch.polygon[source, k, m] - p)
            entering = 1 if hp > 0.0 else 0
            scratch.tag[target, kept] = (
                ((side + 1) << 24) | (entering << 23) | (scratch.tag[source, i] & 0x7FFFFF)
            )
            kept += 1
    return target, kept


@inlined
def clip_faces(shapes, s_ref, face_ref, r_ref, o_ref, s_inc, face_inc, r_inc, o_inc, sign, margin, scratch):
    """Add the part of the incident face above the reference face as candidates.

    Args:
        o_ref, o_inc: Centres of mass from that of b [m]; r_ref, r_inc: rotations.
        sign: 1 where the reference face is of b, -1 where it is of a.
        margin: Points farther than this from the reference plane are left out [m].
    """
    outward = mat3.transform(r_ref, vec3.load(shapes.face_normal, face_ref))
    plane = shapes.face_distance[face_ref] + vec3.dot(outward, o_ref)
    count = _load_face(shapes, s_inc, face_inc, r_inc, o_inc, scratch)
    source = np.int64(0)
    first, last = shapes.loop_start[face_ref], shapes.loop_start[face_ref + 1]
    previous = vec3.add(mat3.transform(r_ref, vertex(shapes, s_ref, shapes.loop[last - 1])), o_ref)
    for k in range(first, last):
        corner = vec3.add(mat3.transform(r_ref, vertex(shapes, s_ref, shapes.loop[k])), o_ref)
        side = vec3.cross(vec3.subtract(corner, previous), outward)
        source, count = cut_polygon(scratch, source, count, side, vec3.dot(side, corner), k - first)
        previous = corner
        if count == 0:
            return
    normal = vec3.scale(outward, sign)
    for i in range(count):
        p = vec3.load(scratch.polygon[source], i)
        separation = vec3.dot(outward, p) - plane
        if separation <= margin:
            on_a = p if sign > 0.0 else vec3.subtract(p, vec3.scale(outward, separation))
            feature = (scratch.tag[source, i] << 1) | (1 if sign > 0.0 else 0)
            add_candidate(scratch, on_a, normal, separation, feature)


@inlined
def _is_over_face(shapes, s, face, r, offset, outward, p):
    """Whether a point lies over a face, within its sides; `outward` is the face's normal, world axes."""
    first, last = shapes.loop_start[face], shapes.loop_start[face + 1]
    previous = vec3.add(mat3.transform(r, vertex(shapes, s, shapes.loop[last - 1])), offset)
    for k in range(first, last):
        corner = vec3.add(mat3.transform(r, vertex(shapes, s, shapes.loop[k])), offset)
        side = vec3.cross(vec3.subtract(corner, previous), outward)
        if vec3.dot(side, vec3.subtract(p, corner)) > FLUSH * vec3.dot(side, side):
            return False
        previous = corner
    return True


@inlined
def _has_corner(shapes, face, local):
    """Whether a vertex of a shape, by its number there, is a corner of a face."""
    for k in range(shapes.loop_start[face], shapes.loop_start[face + 1]):
        if shapes.loop[k] == local:
            return True
    return False


@inlined
def add_corners(shapes, s_ref, face_ref, r_ref, o_ref, s_inc, face_inc, r_inc, o_inc, sign, margin, scratch):
    """Add the corners of a hull over another one's face that its face clipped there has not.

    A hull that turns fast may come down on a corner of none of the faces it turns to the other now.

    Args:
        s_ref, face_ref, r_ref, o_ref, s_inc, face_inc, r_inc, o_inc, sign, margin: See `clip_faces`.
    """
    outward = mat3.transform(r_ref, vec3.load(shapes.face_normal, face_ref))
    local = mat3.transform_transposed(r_inc, outward)
    base = vec3.dot(outward, vec3.subtract(o_inc, o_ref)) - shapes.face_distance[face_ref]
    first = shapes.vertex_start[s_inc]
    for v in range(first, shapes.vertex_start[s_inc + 1]):
        x = vec3.load(shapes.vertex, v)
        separation = base + vec3.dot(local, x)
        if separation > margin or _has_corner(shapes, face_inc, v - first):
            continue
        p = vec3.add(mat3.transform(r_inc, x), o_inc)
        if _is_over_face(shapes, s_ref, face_ref, r_ref, o_ref, outward, p):
            on_a = p if sign > 0.0 else vec3.subtract(p, vec3.scale(outward, separation))
            feature = ((v - first) << 1) | (1 if sign > 0.0 else 0)
            add_candidate(scratch, on_a, vec3.scale(outward, sign), separation, feature)


@inner
def add_deepest(scratch, p_a, n, separation, size):
    """Add the deepest point, unless a candidate is as deep but for round-off; returns where it is on a.

    Where a line lies along a disc or a face every point of it is as deep, beyond their sides, too.
    """
    for i in range(scratch.count[0]):
        place, lower = vec3.load(scratch.p_a, i), separation - scratch.separation[i]
        if abs(lower) <= AS_DEEP * size:
            return place
        if lower > 0.0 and vec3.norm(vec3.subtract(place, p_a)) < SAME_POINT * size:
            return p_a
    add_candidate(scratch, p_a, n, separation, DEEPEST)
    return p_a


@inner
def drop_deepest(scratch, flat, size):
    """Take out the deepest point where two others are as deep up to `flat` [m], or one at the same place.

    On a disc that lies flat, or where two touch along a line, it may be anywhere and is elsewhere in each
    step: the load that it bore there would be lost with it, or act where it is next. On a mesh the others
    may be points of other triangles.
    """
    last, as_deep = scratch.count[0] - 1, 2 if scratch.beside[0] <= flat else 0
    if last < 0 or scratch.feature[last] != DEEPEST:
        return
    for i in range(last):
        way = vec3.subtract(vec3.load(scratch.p_a, i), vec3.load(scratch.p_a, last))
        if scratch.separation[i] <= scratch.separation[last] + flat:
            as_deep += 2 if vec3.norm(way) < SAME_POINT * size else 1
    if as_deep >= 2:
        scratch.count[0] = last


@inner
def foresee(scratch, p_ba, a, b, ahead, rolls):
    """Find how low each candidate gets in the motion ahead, where there are too many to keep all.

    The corners of a coin that wobbles come down in turn: those that touch now are not those that will.

    Args:
        a, b: Bodies; p_ba: the centre of mass of a from that of b [m].
        ahead: By what each body is to move and turn, see `Trace`.
        rolls: Whether one of them rolls along its lowest points, which then stay as low as they are.
    """
    if scratch.count[0] <= MAX_POINTS:
        return
    shift = vec3.subtract(vec3.load(ahead, a), vec3.load(ahead, b))
    turn_a, turn_b = (ahead[a, 3], ahead[a, 4], ahead[a, 5]), (ahead[b, 3], ahead[b, 4], ahead[b, 5])
    for i in range(scratch.count[0]):
        p, n = vec3.load(scratch.p_a, i), vec3.load(scratch.normal, i)
        way = vec3.add(shift, vec3.cross(turn_a, vec3.subtract(p, p_ba)))
        way = vec3.subtract(way, vec3.cross(turn_b, p))
        scratch.lowest[i] = scratch.separation[i] + (0.0 if rolls else min(vec3.dot(n, way), 0.0))


@inlined
def _better(value, best, tie):
    return value > best + tie


@inlined
def _weigh(scratch, feature, feature_count, flat, size):
    """Set the merit of each candidate: what was a point in the last step is preferred, what is high is not.

    A brick with bevelled edges lies on four vertices, and those of its bevels are farther out: without this
    they would stand for it, and nothing would hold it but the deepest.
    """
    deepest = np.inf
    for i in range(scratch.count[0]):
        deepest = min(deepest, scratch.lowest[i])
    for i in range(scratch.count[0]):
        height = max(scratch.lowest[i] - deepest - flat, 0.0)
        scratch.merit[i] = 1.0 / (1.0 + height / (HIGH * size))
        for j in range(feature_count):
            if feature[j] == scratch.feature[i]:
                scratch.merit[i] *= KEPT


@inlined
def _outermost(scratch, flat, size):
    """Of the candidates up to `flat` higher than the deepest, the one farthest from the middle of all."""
    count = scratch.count[0]
    deepest = scratch.separation[0]
    middle = (0.0, 0.0, 0.0)
    for i in range(count):
        deepest = min(deepest, scratch.separation[i])
        middle = vec3.add(middle, vec3.scale(vec3.load(scratch.p_a, i), 1.0 / count))
    first, best = 0, -1.0
    for i in range(count):
        if scratch.separation[i] <= deepest + flat:
            d = scratch.merit[i] * vec3.norm(vec3.subtract(vec3.load(scratch.p_a, i), middle))
            if _better(d, best, TIE * size):
                first, best = i, d
    return first


@inlined
def _choose(scratch, kept, i):
    """Choose candidate `i` unless it is; returns the number chosen."""
    for k in range(kept):
        if scratch.chosen[k] == i:
            return kept
    scratch.chosen[kept] = i
    return kept + 1


@inlined
def _choose_loaded(scratch, kept, feature, impulse, feature_count, near):
    """Choose what bore a load in the last step and is near the deepest still, up to MOST_LOADED in all."""
    deepest = np.inf
    for i in range(scratch.count[0]):
        deepest = min(deepest, scratch.separation[i])
    for j in range(feature_count):
        p = vec3.load(impulse, j)
        for i in range(scratch.count[0]):
            if kept == MOST_LOADED or vec3.dot(p, p) == 0.0:
                break
            if feature[j] == scratch.feature[i] and scratch.separation[i] <= deepest + near:
                kept = _choose(scratch, kept, i)
                break
    return kept


@inlined
def _choose_coming(scratch, kept, near):
    """Choose what gets lowest in the motion ahead, unless one that is chosen gets nearly as low."""
    lowest = np.int64(0)  # typed: a literal would compile what it is passed to once more
    for i in range(scratch.count[0]):
        lowest = i if scratch.lowest[i] < scratch.lowest[lowest] else lowest
    for k in range(kept):
        if scratch.lowest[scratch.chosen[k]] <= scratch.lowest[lowest] + near:
            return kept
    return _choose(scratch, kept, lowest)


@inlined
def _choose_former(scratch, feature, near):
    """Choose the points of the last step again; whether that will do.

    It does where bodies hardly turn on each other, and while all of these points are candidates that may bear
    a load and no other one is much lower. A heap that has found its equilibrium on some would not rest if by
    the little way to it others became the outermost.
    """
    deepest, least, most = np.inf, np.inf, -np.inf
    for i in range(scratch.count[0]):
        way = scratch.lowest[i] - scratch.separation[i]
        deepest, least, most = min(deepest, scratch.separation[i]), min(least, way), max(most, way)
    if most - least > LOWER * near:
        return False
    former = np.inf
    for j in range(MAX_POINTS):
        found = np.int64(-1)
        for i in range(scratch.count[0]):
            if feature[j] == scratch.feature[i]:
                found = i
        if found < 0 or scratch.separation[found] > deepest + near:
            return False
        scratch.chosen[j] = found
        former = min(former, scratch.separation[found])
    return former <= deepest + LOWER * near


@inlined
def reduce_candidates(scratch, feature, impulse, feature_count, flat, near, size):
    """Choose at most MAX_POINTS candidates: a deepest one, what is loaded, what comes down, the outermost.

    Two cubes that lie on each other meet in an octagon; which four corners stand for it must not change
    with every tremor, for their loads would have to be found anew. Where they touch along one side of it,
    what bears the load there must not have to make room for what is farther out and does not touch.

    Args:
        feature, impulse, feature_count: Of the last step's points, which are preferred.
        flat: Differences in depth that do not count [m].
        near: How much higher than the deepest a point may be and bear a load [m].
        size: Of the smaller body [m].

    Returns:
        The number chosen; their indices are in `scratch.chosen`.
    """
    count = scratch.count[0]
    if count <= MAX_POINTS:
        for i in range(count):
            scratch.chosen[i] = i
        return count
    if feature_count == MAX_POINTS and _choose_former(scratch, feature, near):
        return feature_count
    tie = TIE * size
    _weigh(scratch, feature, feature_count, flat, size)
    first = _outermost(scratch, flat, size)
    a = vec3.load(scratch.p_a, first)
    second, best = first, 0.0
    for i in range(count):
        d = scratch.merit[i] * vec3.norm(vec3.subtract(vec3.load(scratch.p_a, i), a))
        if _better(d, best, tie):
            second, best = i, d
    kept = _choose(scratch, np.int64(0), first)
    if second == first:
        return kept
    kept = _choose_loaded(scratch, kept, feature, impulse, feature_count, near)
    kept = _choose_coming(scratch, kept, near)
    if kept < MAX_POINTS:
        kept = _choose(scratch, kept, second)
    ab = vec3.subtract(vec3.load(scratch.p_a, second), a)
    across = vec3.cross(vec3.load(scratch.normal, first), ab)
    high, low, most, least = np.int64(-1), np.int64(-1), tie * best, tie * best
    for i in range(count):
        h = scratch.merit[i] * vec3.dot(across, vec3.subtract(vec3.load(scratch.p_a, i), a))
        if _better(h, most, tie * best):
            high, most = i, h
        if _better(-h, least, tie * best):
            low, least = i, -h
    if least > most:
        high, low = low, high
    if high >= 0 and kept < MAX_POINTS:
        kept = _choose(scratch, kept, high)
    if low >= 0 and kept < MAX_POINTS:
        kept = _choose(scratch, kept, low)
    return kept
