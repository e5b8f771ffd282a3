"""Penetration of two convex shapes that overlap: the expanding polytope algorithm.

The difference of the shapes holds the origin; the polytope inside it grows by support points until
its face nearest to the origin lies on the difference's surface. That face's distance is the depth; where
it is good to REFINE_FROM of the size, Newton's method gives it to round-off (see refinement.py).

Frame and symbols as in gjk.py: w = p_a - p_b; a face's normal points out of the polytope, so it is
the direction in which a is farthest inside b: the contact normal, from b to a, is its opposite.

Source: van den Bergen 2003, section 4.3.8; Ericson 2005, section 9.3.8.
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner
from ..math3 import vec3
from .difference import difference_support, put_row
from .gjk import PA, SIMPLEX_SHAPE, WEIGHT, weighted
from .refinement import refine

MAX_POINTS, MAX_FACES = 128, 256
UNSEEN, CANDIDATE, SEEN = 0, 1, 2
# Relative to the size: a new point must lie farther out than this; from where Newton's method takes over.
DEPTH_ACCURACY, REFINE_FROM = 1e-10, 1e-7
SAME_POINT = 1e-12  # relative: points that differ by round-off


class Polytope(NamedTuple):
    """Working space of one pair."""

    point: np.ndarray  # (MAX_POINTS, 9) points of the difference; columns as of the simplex in gjk.py
    simplex: np.ndarray  # (4, 9) corners of the nearest face
    face: np.ndarray  # (MAX_FACES, 3) points, counter-clockwise from outside; the first is -1 where free
    normal: np.ndarray  # (MAX_FACES, 3)
    distance: np.ndarray  # [m] (MAX_FACES,) of the face's plane from the origin
    seen: np.ndarray  # (MAX_FACES,) UNSEEN, CANDIDATE or SEEN by a new point
    edge: np.ndarray  # (3 MAX_FACES, 2) outline of the faces that a new point sees


def empty_polytope() -> Polytope:
    """Room for a polytope of MAX_POINTS points."""
    return Polytope(
        point=np.zeros((MAX_POINTS, 9)),
        simplex=np.zeros(SIMPLEX_SHAPE),
        face=np.zeros((MAX_FACES, 3), np.int64),
        normal=np.zeros((MAX_FACES, 3)),
        distance=np.zeros(MAX_FACES),
        seen=np.zeros(MAX_FACES, np.int64),
        edge=np.zeros((3 * MAX_FACES, 2), np.int64),
    )


@inner
def _add_face(polytope, face_count, i, j, k, tiny):
    """Add the face i, j, k; returns the new number of face rows, or -1 where it has no area."""
    a, b, c = vec3.load(polytope.point, i), vec3.load(polytope.point, j), vec3.load(polytope.point, k)
    n = vec3.cross(vec3.subtract(b, a), vec3.subtract(c, a))
    length = vec3.norm(n)
    if length <= tiny * tiny or face_count >= MAX_FACES:
        return -1
    n = vec3.scale(n, 1.0 / length)
    polytope.face[face_count, 0], polytope.face[face_count, 1], polytope.face[face_count, 2] = i, j, k
    polytope.normal[face_count, 0], polytope.normal[face_count, 1], polytope.normal[face_count, 2] = n
    polytope.distance[face_count] = vec3.dot(n, a)
    return face_count + 1


@inner
def _take_farther(shapes, sa, ra, p_ba, sb, rb, d, polytope, k, best):
    """Support point along d to row k if it lies farther than `best` [m] from the rows before; new `best`.

    Far is meant from the first point, from the line of two, from the plane of three.
    """
    w, p, a, b = difference_support(shapes, sa, ra, p_ba, sb, rb, d)
    off = vec3.subtract(w, vec3.load(polytope.point, 0))
    if k > 1:
        along = vec3.subtract(vec3.load(polytope.point, 1), vec3.load(polytope.point, 0))
        off = vec3.subtract(off, vec3.scale(along, vec3.dot(off, along) / vec3.dot(along, along)))
    if k > 2:
        across = vec3.subtract(vec3.load(polytope.point, 2), vec3.load(polytope.point, 0))
        across = vec3.subtract(across, vec3.scale(along, vec3.dot(across, along) / vec3.dot(along, along)))
        off = vec3.subtract(off, vec3.scale(across, vec3.dot(off, across) / vec3.dot(across, across)))
    far = vec3.norm(off)
    if far > best:
        put_row(polytope.point, k, w, p, a, b)
        return far
    return best


@inner
def _start(shapes, sa, ra, p_ba, sb, rb, polytope, tiny):
    """Make a tetrahedron of support points that has a volume; returns whether there is one."""
    w, p, a, b = difference_support(shapes, sa, ra, p_ba, sb, rb, (1.0, 0.0, 0.0))
    put_row(polytope.point, np.int64(0), w, p, a, b)
    one, two, three = np.int64(1), np.int64(2), np.int64(3)
    best = tiny
    for axis in range(3):
        for sign in (-1.0, 1.0):
            d = (sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0)
            best = _take_farther(shapes, sa, ra, p_ba, sb, rb, d, polytope, one, best)
    if best <= tiny:
        return False
    along = vec3.scale(vec3.subtract(vec3.load(polytope.point, 1), w), 1.0 / best)
    t1, t2 = vec3.tangents(along)
    best = tiny
    for k in range(6):
        c, s = (1.0, 0.5, -0.5, -1.0, -0.5, 0.5)[k], (0.0, 0.866, 0.866, 0.0, -0.866, -0.866)[k]
        d = vec3.add(vec3.scale(t1, c), vec3.scale(t2, s))
        best = _take_farther(shapes, sa, ra, p_ba, sb, rb, d, polytope, two, best)
    if best <= tiny:
        return False
    n = vec3.cross(along, vec3.subtract(vec3.load(polytope.point, 2), w))
    n = vec3.scale(n, 1.0 / vec3.norm(n))
    best = tiny
    for sign in (-1.0, 1.0):
        best = _take_farther(shapes, sa, ra, p_ba, sb, rb, vec3.scale(n, sign), polytope, three, best)
    return best > tiny


@inner
def _first_faces(polytope, tiny):
    """The four faces of the tetrahedron, outward; returns their number."""
    a, d = vec3.load(polytope.point, 0), vec3.load(polytope.point, 3)
    u = vec3.subtract(vec3.load(polytope.point, 1), a)
    v = vec3.subtract(vec3.load(polytope.point, 2), a)
    one, two = np.int64(1), np.int64(2)
    if vec3.dot(vec3.cross(u, v), vec3.subtract(d, a)) > 0.0:
        one, two = two, one
    zero, three = np.int64(0), np.int64(3)
    count = _add_face(polytope, np.int64(0), zero, one, two, tiny)
    count = _add_face(polytope, count, zero, three, one, tiny)
    count = _add_face(polytope, count, one, three, two, tiny)
    return _add_face(polytope, count, two, three, zero, tiny)


@inner
def _see(polytope, face_count, new, nearest, accuracy):
    """Mark the faces that point `new` sees and that hang together with the nearest one.

    Faces of one plane may or may not be seen, by round-off; what hangs together has one outline still.
    """
    w = vec3.load(polytope.point, new)
    for f in range(face_count):
        above = vec3.dot(vec3.load(polytope.normal, f), w) - polytope.distance[f]
        polytope.seen[f] = CANDIDATE if above > accuracy else UNSEEN
    polytope.seen[nearest] = SEEN
    grown = True
    while grown:  # ends: each round marks a face
        grown = False
        for f in range(face_count):
            if polytope.seen[f] == CANDIDATE and _touches_seen(polytope, face_count, f):
                polytope.seen[f] = SEEN
                grown = True


@inner
def _touches_seen(polytope, face_count, f):
    """Whether face f shares an edge with a face marked as seen."""
    for g in range(face_count):
        if polytope.seen[g] == SEEN:
            for k in range(3):
                i, j = polytope.face[f, k], polytope.face[f, (k + 1) % 3]
                for m in range(3):
                    if polytope.face[g, m] == j and polytope.face[g, (m + 1) % 3] == i:
                        return True
    return False


@inner
def _is_one_loop(polytope, edges):
    """Whether the edges of the outline follow each other in one round."""
    at = polytope.edge[0, 1]
    for step in range(1, edges + 1):
        if at == polytope.edge[0, 0]:
            return step == edges
        found = -1
        for e in range(edges):
            if polytope.edge[e, 0] == at:
                if found >= 0:
                    return False
                found = e
        if found < 0:
            return False
        at = polytope.edge[found, 1]
    return False


@inner
def _expand(polytope, face_count, new, nearest, accuracy):
    """Replace the faces that point `new` sees by faces to their outline; -1 where that is degenerate."""
    _see(polytope, face_count, new, nearest, accuracy)
    edges = np.int64(0)
    for f in range(face_count):
        if polytope.seen[f] != SEEN:
            continue
        for k in range(3):
            i, j = polytope.face[f, k], polytope.face[f, (k + 1) % 3]
            at = -1
            for e in range(edges):
                if polytope.edge[e, 0] == j and polytope.edge[e, 1] == i:
                    at = e
            if at >= 0:  # an edge between two seen faces lies within the outline
                edges -= 1
                polytope.edge[at, 0], polytope.edge[at, 1] = polytope.edge[edges, 0], polytope.edge[edges, 1]
            else:
                polytope.edge[edges, 0], polytope.edge[edges, 1] = i, j
                edges += 1
    if not _is_one_loop(polytope, edges):
        return np.int64(-1)
    count = np.int64(0)
    for f in range(face_count):
        if polytope.seen[f] != SEEN:
            for k in range(3):
                polytope.face[count, k] = polytope.face[f, k]
                polytope.normal[count, k] = polytope.normal[f, k]
            polytope.distance[count] = polytope.distance[f]
            count += 1
    for e in range(edges):
        count = _add_face(polytope, count, polytope.edge[e, 0], polytope.edge[e, 1], new, 0.0)
        if count < 0:
            return np.int64(-1)
    return count


@inner
def _foot(polytope, f):
    """Barycentric coordinates of the foot of the origin on the plane of face f, one below 0 where outside."""
    a = vec3.load(polytope.point, polytope.face[f, 0])
    b = vec3.load(polytope.point, polytope.face[f, 1])
    c = vec3.load(polytope.point, polytope.face[f, 2])
    n = vec3.load(polytope.normal, f)
    foot = vec3.scale(n, polytope.distance[f])
    area = vec3.dot(n, vec3.cross(vec3.subtract(b, a), vec3.subtract(c, a)))
    u = vec3.dot(n, vec3.cross(vec3.subtract(b, foot), vec3.subtract(c, foot))) / area
    v = vec3.dot(n, vec3.cross(vec3.subtract(c, foot), vec3.subtract(a, foot))) / area
    return u, v, 1.0 - u - v


@inner
def _nearest(polytope, face_count, tie):
    """(face, p_a) of the face nearest to the origin; p_a lies behind the origin's foot on it.

    A large face of the difference is divided into triangles of one plane, to within `tie` [m]: the
    one that holds the foot is taken. Its corners go to the simplex, with the weights of the foot.
    """
    least = polytope.distance[0]
    for g in range(1, face_count):
        least = min(least, polytope.distance[g])
    f, best = np.int64(0), -1e300
    for g in range(face_count):
        if polytope.distance[g] <= least + tie:
            u, v, w = _foot(polytope, g)
            inside = min(u, v, w)
            if inside > best:
                f, best = g, inside
    u, v, w = _foot(polytope, f)
    _load_corners(polytope, f, max(u, 0.0), max(v, 0.0), max(w, 0.0))
    return f, _behind_foot(polytope, f)


@inlined
def _load_corners(polytope, f, u, v, w):
    """Copy the corners of face f to the simplex, with weights in these proportions."""
    total = u + v + w
    for k in range(3):
        for column in range(9):
            polytope.simplex[k, column] = polytope.point[polytope.face[f, k], column]
        polytope.simplex[k, WEIGHT] = (u, v, w)[k] / total


@inner
def _behind_foot(polytope, f):
    """p_a behind the origin's foot on face f, whose corners and weights are in the simplex.

    The polygon inside a disc's face may miss the foot. Where one point of b makes the whole face, p_a is
    known without it.
    """
    simplex = polytope.simplex
    p_b = _of_b(simplex, np.int64(0))
    spread = 0.0
    for k in range(1, 3):
        spread = max(spread, vec3.norm(vec3.subtract(_of_b(simplex, k), p_b)))
    if spread > SAME_POINT * vec3.norm(p_b):
        return weighted(simplex, np.int64(3), PA)
    return vec3.add(p_b, vec3.scale(vec3.load(polytope.normal, f), polytope.distance[f]))


@inlined
def _of_b(simplex, k):
    """p_b of row k."""
    return vec3.subtract((simplex[k, PA], simplex[k, PA + 1], simplex[k, PA + 2]), vec3.load(simplex, k))


@inner
def penetration(shapes, sa, ra, p_ba, sb, rb, axis, size, polytope, witness):
    """Depth of two overlapping convex cores.

    Args:
        axis: Normal to fall back on where the shapes only touch in a point, from b to a.
        witness: See `refine`.

    Returns:
        (separation, normal, p_a): separation is minus the depth, the normal from b to a.
    """
    tiny = 1e-9 * size
    if not _start(shapes, sa, ra, p_ba, sb, rb, polytope, tiny):
        return 0.0, axis, p_ba
    face_count = _first_faces(polytope, tiny)
    if face_count < 0:
        return 0.0, axis, p_ba
    f, p_a = _nearest(polytope, face_count, DEPTH_ACCURACY * size)
    n, depth = vec3.load(polytope.normal, f), 1e300
    best_p = p_a
    may_refine, same = True, 1e-3 * DEPTH_ACCURACY * size
    for points in range(4, MAX_POINTS):
        direction = vec3.load(polytope.normal, f)
        w, p, a, b = difference_support(shapes, sa, ra, p_ba, sb, rb, direction)
        height = vec3.dot(direction, w)
        if height <= depth + same:  # along any direction the overlap is at least the depth
            depth, n, best_p = min(height, depth), direction, p_a
        if may_refine and height - polytope.distance[f] <= REFINE_FROM * size:
            # No direction can be better than the nearest face by more than this.
            may_refine = False
            found, separation, normal, p_fine = refine(
                shapes, sa, ra, p_ba, sb, rb, vec3.scale(direction, -1.0), polytope.simplex, np.int64(3),
                witness,
            )  # fmt: skip
            if found and separation >= -depth - tiny:
                return separation, normal, p_fine
        if height - polytope.distance[f] <= DEPTH_ACCURACY * size:
            return -height, vec3.scale(direction, -1.0), p_a
        put_row(polytope.point, points, w, p, a, b)
        grown = _expand(polytope, face_count, points, f, same)
        if grown < 0:  # no more digits, or no more room
            break
        face_count = grown
        f, p_a = _nearest(polytope, face_count, DEPTH_ACCURACY * size)
    # Nearly as deep all around, as near the axis of a cylinder: whatever face may be better is looked at.
    # What is refined may be worse by round-off: its point is its own, that of a face may lie inside.
    n, worst = vec3.scale(n, -1.0), depth + tiny
    for g in range(face_count):
        if polytope.distance[g] >= worst:
            continue
        _load_corners(polytope, g, 1.0, 1.0, 1.0)
        found, separation, normal, p_fine = refine(
            shapes, sa, ra, p_ba, sb, rb, vec3.scale(vec3.load(polytope.normal, g), -1.0), polytope.simplex,
            np.int64(3), witness,
        )  # fmt: skip
        if found and separation > -worst:
            depth, worst, n, best_p = -separation, -separation, normal, p_fine
    return -depth, n, best_p
