"""Contacts of solids with the triangles of meshes, without bumps at sides that triangles share.

A triangle alone would push a body off its sides, too. In a mesh the side belongs to two triangles: the
normal of a contact there can lie between their normals where they bend away from each other, and
nowhere else; at a corner it can be any that no side of the mesh goes up along. A contact whose normal
leans farther belongs to the neighbour, or stands on the triangle itself and gets its normal.

Frame: world axes, origin at the centre of mass of b, the mesh; a is the solid. Normals from b to a.
Source: van den Bergen 2016 (internal edges; the cone of normals each feature of a mesh may have).
"""

import math

import numpy as np

from ..geometry.shape_table import CAPSULE, DISCS, HULL
from ..geometry.support import support_point
from ..jit import inlined, inner
from ..math3 import mat3, vec3
from .features import clip_features, load_feature
from .manifold import CLIP_COSINE, CUT, add_candidate, add_deepest, note_deepest
from .round_shapes import separate_cores
from .separating_plane import FACE_B, NO_WITNESS

LEAN_TOLERANCE = 1e-4  # [rad] sides that bend less are flat: more than coordinates of 32 bits make of it
UPRIGHT = 1.0 - 0.5 * LEAN_TOLERANCE**2  # cosine of a normal that leans by less
SAME_HEIGHT = 1e-5  # corners whose heights differ by less of the side's length touch together
# How far beyond a side in a valley a triangle still has contacts, in parts of their height over its plane or
# depth below it: tan(bend / 2) or more, so that what is under neither slope has one of them; and so far that
# what comes along the other slope is seen before it is there: it may be in that by the tolerance, and so at
# no height over this one (NO_HEIGHT, in parts of the size of both).
BEYOND, BEYOND_OF_BEND, NO_HEIGHT = 2.0, 5.0, 1e-3
# A contact that gets the triangle's normal against its own must not be deeper than this part of the
# body's size, or than so many times the depth along its own: a body that lies over a sheet's border is not
# pushed off sideways.
SHALLOW, NEARLY_AS_DEEP = 0.02, 2.0
# Deeper than this part of its size, or than the margin, a body is on the side of a sheet to which the way out
# is shorter. Its middle can be behind the plane of a slope while it lies on that slope's ridge.
DOUBTFUL = 0.002


@inlined
def _corner(shapes, s, k):
    v = shapes.vertex_start[s] + k
    return shapes.vertex[v, 0], shapes.vertex[v, 1], shapes.vertex[v, 2]


@inlined
def _outward(shapes, s, n, k):
    """Unit vector in the triangle's plane, out over side k."""
    along = vec3.subtract(_corner(shapes, s, (k + 1) % 3), _corner(shapes, s, k))
    out = vec3.cross(along, n)
    return vec3.scale(out, 1.0 / vec3.norm(out))


@inner
def _room(shapes, s, p):
    """Distance of a point (triangle's frame) from the nearest side, within the plane; below 0 outside."""
    n = vec3.load(shapes.face_normal, shapes.face_start[s])
    room = 1e300
    for k in range(3):
        out = _outward(shapes, s, n, k)
        room = min(room, vec3.dot(out, vec3.subtract(_corner(shapes, s, k), p)))
    return room


@inner
def _belongs(shapes, s, p, height, back, size):
    """Whether a point at a height over triangle s is over it, or beyond it in a valley beside it.

    Between two slopes a point must stay above the planes of both, also where it is over one of them only, or,
    below the bottom of the valley, under neither.

    Args:
        p: In the triangle's frame.
        height: Over its plane, below 0 behind it [m].
        back: See `_may_lean`.
    """
    first = shapes.loop_start[shapes.face_start[s]]
    n = vec3.load(shapes.face_normal, shapes.face_start[s])
    for k in range(3):
        room = vec3.dot(_outward(shapes, s, n, k), vec3.subtract(_corner(shapes, s, k), p))
        if room < -1e-6 * size:
            ridge, valley = shapes.lean[first + k, 0], shapes.lean[first + k, 1]
            valley = valley if valley >= 0.0 else -1.0 - valley
            if back == 1:
                ridge, valley = valley, ridge
            beyond = min(BEYOND, BEYOND_OF_BEND * valley) if ridge == 0.0 else 0.0
            if room < -1e-6 * size - beyond * (abs(height) + NO_HEIGHT * size):
                return False
    return True


@inner
def _is_summit(shapes, s, k, d):
    """Whether no side of the mesh goes up along d from corner k of triangle s."""
    corner = _corner(shapes, s, k)
    slice_of = shapes.loop_start[shapes.face_start[s]] + k
    for i in range(shapes.ring[slice_of, 0], shapes.ring[slice_of, 1]):
        side = vec3.subtract(vec3.load(shapes.vertex, shapes.neighbor[i]), corner)
        if vec3.dot(side, d) > LEAN_TOLERANCE * vec3.norm(side):
            return False
    return True


@inner
def _may_lean(shapes, s, n, d, back):
    """Whether a contact of triangle s can have the normal d, on the side that n points to.

    Args:
        n, d: Normal of that side and of the contact, both in the triangle's frame.
        back: 1 where n is that of the back, 0 of the front.
    """
    height = vec3.dot(n, d)
    flat = vec3.subtract(d, vec3.scale(n, height))
    if vec3.norm(flat) <= LEAN_TOLERANCE and height > 0.0:
        return True
    face = shapes.face_start[s]
    front = vec3.load(shapes.face_normal, face)
    first = shapes.loop_start[face]
    # The corners that lie farthest along d carry the contact.
    top, low, size = -1e300, 1e300, 0.0
    for k in range(3):
        h = vec3.dot(_corner(shapes, s, k), d)
        top, low = max(top, h), min(low, h)
        size = max(size, vec3.norm(vec3.subtract(_corner(shapes, s, (k + 1) % 3), _corner(shapes, s, k))))
    carries = 0
    for k in range(3):
        if vec3.dot(_corner(shapes, s, k), d) >= top - SAME_HEIGHT * size:
            carries |= 1 << k
    if carries == 7:
        return height > 0.0
    for k in range(3):  # side k joins corners k and k + 1
        if carries == (1 << k | 1 << (k + 1) % 3):
            lean = math.atan2(vec3.dot(_outward(shapes, s, front, k), flat), height)
            return lean <= shapes.lean[first + k, back] + LEAN_TOLERANCE
    for k in range(3):
        if carries == 1 << k:
            return _is_summit(shapes, s, k, d)
    return True


@inner
def _along_a_side(shapes, s, n, d, back):
    """The normal nearest to d that a contact along a whole side of triangle s can have; zero if none is near.

    What lies along a ridge and leans towards one end of it is nearest to a corner there, but comes down on
    the whole of it.

    Args:
        n, d, back: See `_may_lean`.
    """
    nearest, found = CLIP_COSINE, (0.0, 0.0, 0.0)
    for k in range(3):
        side = vec3.subtract(_corner(shapes, s, (k + 1) % 3), _corner(shapes, s, k))
        across = vec3.subtract(d, vec3.scale(side, vec3.dot(d, side) / vec3.dot(side, side)))
        cosine = vec3.norm(across)  # of the angle between it and d
        if cosine > nearest:
            across = vec3.scale(across, 1.0 / cosine)
            if _may_lean(shapes, s, n, across, back):
                nearest, found = cosine, across
    return found


@inner
def _lowest(shapes, sa, ra, p_ba, n, rounding):
    """The point of a solid that lies farthest against n."""
    core = support_point(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)))
    core = vec3.add(mat3.transform(ra, core), p_ba)
    return vec3.subtract(core, vec3.scale(n, rounding))


@inner
def _top(shapes, s, d):
    """How far triangle s reaches along d, in its frame."""
    top = -1e300
    for k in range(3):
        top = max(top, vec3.dot(_corner(shapes, s, k), d))
    return top


@inner
def _load_triangle(shapes, s, r, n, cosine, scratch):
    """Write what triangle s turns to the direction n to polygon 1: all of it, or a side; as load_feature.

    Args:
        cosine: Of the angle between n and the normal of the side the contact is on.
    """
    if cosine > CLIP_COSINE:
        front = mat3.transform(r, vec3.load(shapes.face_normal, shapes.face_start[s]))
        turned = vec3.dot(front, n) < 0.0
        for k in range(3):
            corner = (3 - k) % 3 if turned else k
            p = mat3.transform(r, _corner(shapes, s, corner))
            scratch.polygon[1, k, 0], scratch.polygon[1, k, 1], scratch.polygon[1, k, 2] = p
            scratch.tag[1, k] = corner
        return 3
    d = mat3.transform_transposed(r, n)
    best, side = 1e300, np.int64(0)
    for k in range(3):  # the side opposite to the lowest corner
        h = vec3.dot(_corner(shapes, s, (k + 2) % 3), d)
        if h < best:
            best, side = h, k
    for i in range(2):
        corner = (side + i) % 3
        p = mat3.transform(r, _corner(shapes, s, corner))
        scratch.polygon[1, i, 0], scratch.polygon[1, i, 1], scratch.polygon[1, i, 2] = p
        scratch.tag[1, i] = corner
    p, q = _corner(shapes, s, side), _corner(shapes, s, (side + 1) % 3)
    along = vec3.subtract(q, p)
    return 2 if abs(vec3.dot(along, d)) <= 0.3 * vec3.norm(along) else 1


@inner
def _on_sides(shapes, s, p, size):
    """(Whether a point in the triangle's frame lies on one of its sides, and on one that is bent)."""
    first = shapes.loop_start[shapes.face_start[s]]
    n = vec3.load(shapes.face_normal, shapes.face_start[s])
    on_side, on_bent = False, False
    for k in range(3):
        room = vec3.dot(_outward(shapes, s, n, k), vec3.subtract(_corner(shapes, s, k), p))
        if abs(room) <= 1e-6 * size:
            behind = shapes.lean[first + k, 1]
            bend = max(shapes.lean[first + k, 0], behind if behind >= 0.0 else -1.0 - behind)
            on_side, on_bent = True, on_bent or bend > LEAN_TOLERANCE
    return on_side, on_bent


@inner
def _drop_inner_points(shapes, s, r, size, scratch):
    """Take out candidates that are no corners of the contact region, which goes on over flat sides.

    The solid's own corners stay; where a side cut its outline, or a corner of the triangle lies under it,
    the neighbours in the same plane carry the region on.
    """
    kept = 0
    for i in range(scratch.count[0]):
        p = mat3.transform_transposed(r, vec3.load(scratch.p_a, i))
        on_side, on_bent = _on_sides(shapes, s, p, size)
        if (scratch.feature[i] >> 1) < CUT or on_bent or not on_side:
            scratch.separation[kept] = scratch.separation[i]
            scratch.feature[kept] = scratch.feature[i]
            for k in range(3):
                scratch.p_a[kept, k] = scratch.p_a[i, k]
                scratch.normal[kept, k] = scratch.normal[i, k]
            kept += 1
    scratch.count[0] = kept


@inner
def _add_corners(shapes, sa, ra, p_ba, sb, rb, n, distance, least, margin, size, back, scratch):
    """Add the corners of a hull over the triangle that are none of its points yet.

    A hull that stands on an edge turns no face to the triangle under the end that comes down; nor does one
    that lies across a side of it, whose lowest point is not over the triangle.

    Args:
        n, distance: Plane of the triangle's side that the hull is on.
        back: See `_may_lean`.
        least: Separation [m] of what is no corner that comes down.
    """
    if shapes.kind[sa] != HULL:
        return
    first = shapes.vertex_start[sa]
    n_local = mat3.transform_transposed(ra, n)
    base = vec3.dot(n, p_ba) - distance
    for v in range(first, shapes.vertex_start[sa + 1]):
        x = vec3.load(shapes.vertex, v)
        separation = base + vec3.dot(n_local, x)
        if not least <= separation <= margin:
            continue
        p = vec3.add(mat3.transform(ra, x), p_ba)
        feature, known = ((v - first) << 1) | 1, False
        for i in range(scratch.count[0]):
            known = known or scratch.feature[i] == feature
        if not known and _belongs(shapes, sb, mat3.transform_transposed(rb, p), separation, back, size):
            add_candidate(scratch, p, n, separation, feature)


@inner
def _beside(count, n, core, scratch):
    """How much higher than the deepest point of the core the second lowest corner is in polygon 0 [m]."""
    lowest, second = np.inf, np.inf
    for i in range(count if count > 1 else 0):
        height = vec3.dot(n, vec3.subtract(vec3.load(scratch.polygon[0], i), core))
        if height < lowest:
            lowest, second = height, lowest
        else:
            second = min(second, height)
    return second


@inner
def _side(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, simplex, polytope):
    """The side of a triangle b that a solid a is on: that of its normal (0) or the other (1); none is -1.

    That which its inner point is on. But a thin body on a ridge may have that behind the slope it lies on: of
    one that reaches far below the plane the side is that on which the two part soonest.

    Returns:
        back: The side.
        normal: That points there, world axes.
        lowest, height: The lowest point of a over that side, and how high it is [m].
    """
    face, rounding = shapes.face_start[sb], shapes.radius[sa]
    n_local, distance = vec3.load(shapes.face_normal, face), shapes.face_distance[face]
    normal, back = mat3.transform(rb, n_local), 0
    one_sided = shapes.lean[shapes.loop_start[face], 1] < 0.0
    inside = vec3.add(mat3.transform(ra, vec3.load(shapes.inside, sa)), p_ba)
    if vec3.dot(normal, inside) < distance:
        if one_sided:  # a body behind it is none of its own
            return -1, normal, inside, 0.0
        normal, distance, back = vec3.scale(normal, -1.0), -distance, 1
    lowest = _lowest(shapes, sa, ra, p_ba, normal, rounding)
    height = vec3.dot(normal, lowest) - distance
    if height < -min(DOUBTFUL * shapes.bound[sa], margin) and margin < 1e300 and not one_sided:
        _, n, _ = separate_cores(
            shapes, sa, ra, p_ba, sb, rb, (axis[0], axis[1], axis[2]), normal, size, witness, simplex,
            polytope,
        )  # fmt: skip
        if vec3.dot(n, normal) < 0.0:
            normal, distance, back = vec3.scale(normal, -1.0), -distance, 1 - back
            lowest = _lowest(shapes, sa, ra, p_ba, normal, rounding)
            height = vec3.dot(normal, lowest) - distance
    return back, normal, lowest, height


@inner
def collide_triangle(
    shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, manifold, simplex, polytope, deepest
):
    """Contacts of a solid a with a triangle b.

    With an infinite margin the closest points are given as they are, whichever triangle they belong to.
    """
    back, normal, lowest, height = _side(
        shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, simplex, polytope
    )
    if back < 0 or height > margin:
        return
    face, sign = shapes.face_start[sb], 1.0 - 2.0 * back
    n_local = vec3.scale(vec3.load(shapes.face_normal, face), sign)
    distance = sign * shapes.face_distance[face]
    rounding, n = (shapes.radius[sa], 0.0), normal
    room = _room(shapes, sb, mat3.transform_transposed(rb, lowest))
    separation, p_a = height, lowest
    is_own, shallow = True, -SHALLOW * shapes.bound[sa]
    least = shallow
    # Deep below it lies what is beyond the triangle, too: a large body whose centre is behind its plane. With
    # an infinite margin nothing tells on which side a body is that reaches below.
    if room < max(-height, 0.0) or height < (shallow if margin < 1e300 else 0.0):
        apart, n, core = separate_cores(
            shapes, sa, ra, p_ba, sb, rb, (axis[0], axis[1], axis[2]), normal, size, witness, simplex,
            polytope,
        )  # fmt: skip
        axis[0], axis[1], axis[2] = n
        separation = apart - rounding[0]
        # A corner deeper than the two are passes by the triangle, below its plane.
        least = max(shallow, 2.0 * min(separation, 0.0) - 1e-6 * size)
        p_a = vec3.subtract(core, vec3.scale(n, rounding[0]))
        if separation > margin:
            return
        d = mat3.transform_transposed(rb, n)
        if margin < 1e300 and not _may_lean(shapes, sb, n_local, d, back):
            stands, across = height >= shallow, n_local
            if not stands:
                across = _along_a_side(shapes, sb, n_local, d, back)
                if vec3.dot(across, across) == 0.0 and height >= NEARLY_AS_DEEP * separation:
                    stands, across = True, n_local
            if vec3.dot(across, across) == 0.0:
                note_deepest(deepest, height, normal, lowest)
                _add_corners(
                    shapes, sa, ra, p_ba, sb, rb, normal, distance, least, margin, size, back, manifold
                )
                return
            n, separation, p_a = normal, height, lowest
            if not stands:
                n, is_own = mat3.transform(rb, across), False
                p_a = _lowest(shapes, sa, ra, p_ba, n, rounding[0])
                separation = vec3.dot(n, p_a) - _top(shapes, sb, across)
    note_deepest(deepest, separation, n, p_a)
    cosine = vec3.dot(n, normal)
    # Whether the lowest point of a lies over the triangle, or over another.
    if cosine > 1.0 - 1e-12 and margin < 1e300:
        is_own = _belongs(shapes, sb, mat3.transform_transposed(rb, lowest), height, back, size)
    elif cosine > UPRIGHT and margin < 1e300:  # an edge that lies on several triangles of one plane
        on_side, on_bent = _on_sides(shapes, sb, mat3.transform_transposed(rb, p_a), size)
        is_own = on_bent or not on_side
    witness[0] = FACE_B if cosine > 1.0 - 1e-12 else NO_WITNESS
    count_a = load_feature(shapes, sa, ra, p_ba, vec3.scale(n, -1.0), np.int64(0), manifold)
    if cosine > UPRIGHT and (shapes.kind[sa] == DISCS or shapes.kind[sa] == CAPSULE):
        manifold.beside[0] = _beside(count_a, n, vec3.add(p_a, vec3.scale(n, rounding[0])), manifold)
    count_b = _load_triangle(shapes, sb, rb, n, cosine, manifold)
    discs = shapes.kind[sa] == DISCS, np.bool_(False)
    clip_features(count_a, count_b, discs, np.bool_(False), n, rounding, margin, manifold)
    if count_b == 3:
        _drop_inner_points(shapes, sb, rb, size, manifold)
    if margin < 1e300:
        least = -1e300 if witness[0] == FACE_B else least
        _add_corners(shapes, sa, ra, p_ba, sb, rb, normal, distance, least, margin, size, back, manifold)
    if is_own:
        add_deepest(manifold, p_a, n, separation, size)
