"""Separating planes of two hulls: the cached witness re-verified, and the exhaustive search.

A witness is a face of one hull, or an edge of each, whose plane separates the pair (or cuts it
least). From one step to the next it almost always stays valid, so it is tried first.

Frame and symbols as in gjk.py: origin at the centre of mass of b, world axes, normals from b to a.

Source: Baraff 1997, section 7.1 (witnesses); Gregorius 2013, *The separating axis test between
convex polyhedra* (edge pairs pruned by their arcs on the Gauss map).
"""

import math

import numpy as np

from ..geometry.support import ANY_VERTEX, aligned_face, support_vertex, vertex
from ..jit import inlined, inner
from ..math3 import mat3, vec3

NO_WITNESS, FACE_A, FACE_B, EDGES, DIRECTION = 0, 1, 2, 3, 4
NO_EDGE = np.int64(-1)
ALIGNED = 0.999  # cosine of the angle to a normal within which a face may stand for it
BESIDE = 3  # planes beside a witness that failed which are tried

# A pair of edges must separate by so much more than any face (relative to the size) to be taken
# instead: faces carry whole manifolds, and for touching boxes the two differ only by round-off.
FACE_PREFERENCE = 1e-7


@inlined
def face_of_b(shapes, sa, ra, p_ba, rb, face):
    """(separation, normal, p_a) for a face of b: p_a is the deepest vertex of a."""
    n = mat3.transform(rb, vec3.load(shapes.face_normal, face))
    v = support_vertex(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)), ANY_VERTEX)
    p = vec3.add(mat3.transform(ra, vertex(shapes, sa, v)), p_ba)
    return vec3.dot(n, p) - shapes.face_distance[face], n, p


@inlined
def face_of_a(shapes, ra, p_ba, sb, rb, face):
    """(separation, normal, p_a) for a face of a: p_a lies on it above the deepest vertex of b."""
    outward = mat3.transform(ra, vec3.load(shapes.face_normal, face))
    v = support_vertex(shapes, sb, mat3.transform_transposed(rb, vec3.scale(outward, -1.0)), ANY_VERTEX)
    p = mat3.transform(rb, vertex(shapes, sb, v))
    separation = vec3.dot(outward, vec3.subtract(p, p_ba)) - shapes.face_distance[face]
    return separation, vec3.scale(outward, -1.0), vec3.subtract(p, vec3.scale(outward, separation))


@inlined
def along_direction(shapes, sa, ra, p_ba, sb, rb, n):
    """Separation along the unit vector n, from b to a."""
    va = support_vertex(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)), ANY_VERTEX)
    vb = support_vertex(shapes, sb, mat3.transform_transposed(rb, n), ANY_VERTEX)
    pa = vec3.add(mat3.transform(ra, vertex(shapes, sa, va)), p_ba)
    return vec3.dot(n, vec3.subtract(pa, mat3.transform(rb, vertex(shapes, sb, vb))))


@inlined
def _edge_ends(shapes, edge, s):
    e = shapes.edge[edge]
    return vertex(shapes, s, e[0]), vertex(shapes, s, e[1])


@inlined
def _are_parallel(u, v):
    """Whether two edges have too nearly the same direction for a plane along both."""
    n = vec3.cross(u, v)
    return vec3.dot(n, n) < 1e-12 * vec3.dot(u, u) * vec3.dot(v, v)


@inlined
def closest_on_lines(p, u, q, v):
    """Parameters of the closest points of the lines p + s u and q + t v (not parallel)."""
    r = vec3.subtract(q, p)
    a, b, c = vec3.dot(u, u), vec3.dot(u, v), vec3.dot(v, v)
    d, e = vec3.dot(u, r), vec3.dot(v, r)
    det = a * c - b * b
    return (c * d - b * e) / det, (b * d - a * e) / det


@inlined
def edge_pair(shapes, sa, ra, p_ba, sb, rb, edge_a, edge_b, axis):
    """Separation by the plane along an edge of each hull.

    Returns:
        (valid, separation, normal, p_a, p_b): valid where the edges are not parallel, cross within
        their ends and support their hulls, which makes (p_a, p_b) the closest points.
    """
    p, p1 = _edge_ends(shapes, edge_a, sa)
    q, q1 = _edge_ends(shapes, edge_b, sb)
    u = mat3.transform(ra, vec3.subtract(p1, p))
    v = mat3.transform(rb, vec3.subtract(q1, q))
    p = vec3.add(mat3.transform(ra, p), p_ba)
    q = mat3.transform(rb, q)
    if _are_parallel(u, v):
        return False, 0.0, axis, p, q
    n = vec3.cross(u, v)
    n = vec3.scale(n, (1.0 if vec3.dot(n, axis) >= 0.0 else -1.0) / vec3.norm(n))
    s, t = closest_on_lines(p, u, q, v)
    separation = vec3.dot(n, vec3.subtract(p, q))
    p, q = vec3.add(p, vec3.scale(u, s)), vec3.add(q, vec3.scale(v, t))
    inside = 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0
    if not inside:
        return False, separation, n, p, q
    supported = along_direction(shapes, sa, ra, p_ba, sb, rb, n)
    size = math.sqrt(vec3.dot(u, u)) + math.sqrt(vec3.dot(v, v))
    return supported >= separation - 1e-9 * size, separation, n, p, q


@inner
def find_edge(shapes, s, v0, v1):
    """Index of the edge of shape `s` between two of its vertices, -1 where there is none."""
    for e in range(shapes.edge_start[s], shapes.edge_start[s + 1]):
        if (shapes.edge[e, 0] == v0 and shapes.edge[e, 1] == v1) or (
            shapes.edge[e, 0] == v1 and shapes.edge[e, 1] == v0
        ):
            return e
    return -1


@inner
def find_edges(shapes, sa, ra, p_ba, sb, rb, n, least):
    """The edges whose plane lies along `n` (from b to a) and separates by `least` or more; -1, -1 if none."""
    va = support_vertex(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)), ANY_VERTEX)
    vb = support_vertex(shapes, sb, mat3.transform_transposed(rb, n), ANY_VERTEX)
    return _find_edges_of(shapes, sa, ra, p_ba, sb, rb, NO_EDGE, va, NO_EDGE, vb, n, least)


@inlined
def _is_of(shapes, e, edge, v):
    """Whether e is that edge, or where that is NO_EDGE any edge at the vertex v."""
    return e == edge if edge != NO_EDGE else shapes.edge[e, 0] == v or shapes.edge[e, 1] == v


@inner
def _find_edges_of(shapes, sa, ra, p_ba, sb, rb, edge_a, va, edge_b, vb, n, least):
    """The same of an edge of each hull, or where that is NO_EDGE of all edges at a vertex of it."""
    for i in range(shapes.edge_start[sa], shapes.edge_start[sa + 1]):
        if not _is_of(shapes, i, edge_a, va):
            continue
        for j in range(shapes.edge_start[sb], shapes.edge_start[sb + 1]):
            if not _is_of(shapes, j, edge_b, vb):
                continue
            valid, separation, _n, _p_a, _p_b = edge_pair(shapes, sa, ra, p_ba, sb, rb, i, j, n)
            if valid and separation >= least:
                return i, j
    return NO_EDGE, NO_EDGE


@inlined
def _side_crossed(shapes, s, face, p):
    """The edge of a face beyond which a point, in the hull's own frame, lies farthest."""
    normal, own = vec3.load(shapes.face_normal, face), face - shapes.face_start[s]
    edge, most = NO_EDGE, -1e300
    for e in range(shapes.edge_start[s], shapes.edge_start[s + 1]):
        if shapes.edge[e, 2] == own or shapes.edge[e, 3] == own:
            q, q1 = _edge_ends(shapes, e, s)
            outward = vec3.cross(vec3.subtract(q1, q), normal)  # of the face to the left of the edge
            height = vec3.dot(outward, vec3.subtract(p, q)) / vec3.norm(outward)
            height = height if shapes.edge[e, 2] == own else -height
            if height > most:
                edge, most = e, height
    return edge


@inlined
def _edges_beside(shapes, sa, ra, p_ba, sb, rb, kind, feature_a, feature_b, axis, least):
    """The edges beside a face whose deepest vertex has left it, or beside edges that cross past their ends.

    Returns:
        An edge of a and one of b whose plane holds and separates by `least` or more; NO_EDGE where none does.
    """
    edge_a, va, edge_b, vb = NO_EDGE, ANY_VERTEX, NO_EDGE, ANY_VERTEX
    if kind == FACE_B:
        n = mat3.transform(rb, vec3.load(shapes.face_normal, feature_b))
        va = support_vertex(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)), ANY_VERTEX)
        p = vec3.add(mat3.transform(ra, vertex(shapes, sa, va)), p_ba)
        edge_b = _side_crossed(shapes, sb, feature_b, mat3.transform_transposed(rb, p))
    elif kind == FACE_A:
        outward = mat3.transform(ra, vec3.load(shapes.face_normal, feature_a))
        vb = support_vertex(shapes, sb, mat3.transform_transposed(rb, vec3.scale(outward, -1.0)), ANY_VERTEX)
        p = vec3.subtract(mat3.transform(rb, vertex(shapes, sb, vb)), p_ba)
        edge_a = _side_crossed(shapes, sa, feature_a, mat3.transform_transposed(ra, p))
    else:
        p, p1 = _edge_ends(shapes, feature_a, sa)
        q, q1 = _edge_ends(shapes, feature_b, sb)
        u = mat3.transform(ra, vec3.subtract(p1, p))
        v = mat3.transform(rb, vec3.subtract(q1, q))
        if _are_parallel(u, v):
            return NO_EDGE, NO_EDGE
        s, t = closest_on_lines(vec3.add(mat3.transform(ra, p), p_ba), u, mat3.transform(rb, q), v)
        va = shapes.edge[feature_a, 1 if s > 0.5 else 0]
        vb = shapes.edge[feature_b, 1 if t > 0.5 else 0]
        past_a, past_b = not 0.0 <= s <= 1.0, not 0.0 <= t <= 1.0
        edge_a = feature_a if past_b and not past_a else NO_EDGE
        edge_b = feature_b if past_a and not past_b else NO_EDGE
    return _find_edges_of(shapes, sa, ra, p_ba, sb, rb, edge_a, va, edge_b, vb, axis, least)


@inner
def plane_beside(shapes, sa, ra, p_ba, sb, rb, failed, axis, least, turn, witness):
    """Write one of the planes beside a witness that failed as the next to try; whether there is one.

    Bodies that slide or roll on each other go from one face or pair of edges to the next, which hardly turns
    the normal.

    Args:
        failed: (kind, feature of a, feature of b).
        axis: The last normal.
        least: What the plane must separate by, at least [m].
        turn: Which of them, below `BESIDE`.
    """
    kind, feature_a, feature_b = failed
    if turn == 0:
        face, cosine = aligned_face(shapes, sb, mat3.transform_transposed(rb, axis))
        witness[0], witness[1], witness[2] = FACE_B, -1, face
        return cosine > ALIGNED and face != feature_b
    if turn == 1:
        face, cosine = aligned_face(shapes, sa, mat3.transform_transposed(ra, vec3.scale(axis, -1.0)))
        witness[0], witness[1], witness[2] = FACE_A, face, -1
        return cosine > ALIGNED and face != feature_a
    edge_a, edge_b = _edges_beside(
        shapes, sa, ra, p_ba, sb, rb, kind, feature_a, feature_b, axis, least
    )  # fmt: skip
    witness[0], witness[1], witness[2] = EDGES, edge_a, edge_b
    return edge_a != NO_EDGE


@inner
def _best_edges(shapes, sa, ra, p_ba, sb, rb, least):
    """(separation, edge of a, edge of b, normal) of the best pair of edges above `least`.

    Two edges form a face of the difference of the hulls only where their arcs cross on the Gauss
    map; only those can separate.
    """
    best = least
    best_a, best_b = -1, -1
    normal = (0.0, 0.0, 0.0)
    r = mat3.transposed_times(rb, ra)  # a seen from b; the search runs in the frame of b
    t = mat3.transform_transposed(rb, p_ba)
    for i in range(shapes.edge_start[sa], shapes.edge_start[sa + 1]):
        e = shapes.edge[i]
        p = mat3.transform(r, vertex(shapes, sa, e[0]))
        u = vec3.subtract(mat3.transform(r, vertex(shapes, sa, e[1])), p)
        p = vec3.add(p, t)
        na = mat3.transform(r, vec3.load(shapes.face_normal, shapes.face_start[sa] + e[2]))
        nb = mat3.transform(r, vec3.load(shapes.face_normal, shapes.face_start[sa] + e[3]))
        uu = vec3.dot(u, u)
        for j in range(shapes.edge_start[sb], shapes.edge_start[sb + 1]):
            f = shapes.edge[j]
            nc = vec3.load(shapes.face_normal, shapes.face_start[sb] + f[2])
            nd = vec3.load(shapes.face_normal, shapes.face_start[sb] + f[3])
            cba, dba = -vec3.dot(nc, u), -vec3.dot(nd, u)
            if cba * dba >= 0.0:
                continue
            q = vertex(shapes, sb, f[0])
            v = vec3.subtract(vertex(shapes, sb, f[1]), q)
            adc, bdc = vec3.dot(na, v), vec3.dot(nb, v)
            if adc * bdc >= 0.0 or cba * bdc <= 0.0:
                continue
            n = vec3.cross(u, v)
            length2 = vec3.dot(n, n)
            if length2 < 1e-12 * uu * vec3.dot(v, v):
                continue
            n = vec3.scale(n, 1.0 / math.sqrt(length2))
            if vec3.dot(n, nc) + vec3.dot(n, nd) < 0.0:  # outward from b
                n = vec3.scale(n, -1.0)
            separation = vec3.dot(n, vec3.subtract(p, q))
            if separation > best:
                best, best_a, best_b, normal = separation, i, j, n
    return best, best_a, best_b, mat3.transform(rb, normal)


@inner
def best_plane(shapes, sa, ra, p_ba, sb, rb, size):
    """The plane of largest separation among all faces and pairs of edges: exact where they overlap.

    Returns:
        (kind, feature of a, feature of b, separation, normal, p_a): p_a the deepest point on a.
    """
    best, kind, fa, fb = -1e300, NO_WITNESS, -1, -1
    normal = (0.0, 0.0, 1.0)
    p_a = normal
    for f in range(shapes.face_start[sb], shapes.face_start[sb + 1]):
        separation, n, p = face_of_b(shapes, sa, ra, p_ba, rb, f)
        if separation > best:
            best, kind, fa, fb, normal, p_a = separation, FACE_B, -1, f, n, p
    for f in range(shapes.face_start[sa], shapes.face_start[sa + 1]):
        separation, n, p = face_of_a(shapes, ra, p_ba, sb, rb, f)
        if separation > best + 1e-12 * size:
            best, kind, fa, fb, normal, p_a = separation, FACE_A, f, -1, n, p
    limit = best + FACE_PREFERENCE * size
    separation, edge_a, edge_b, n = _best_edges(shapes, sa, ra, p_ba, sb, rb, limit)
    if edge_a >= 0:
        _valid, _s, _n, p_a, _p_b = edge_pair(shapes, sa, ra, p_ba, sb, rb, edge_a, edge_b, n)
        return EDGES, edge_a, edge_b, separation, n, p_a
    return kind, fa, fb, best, normal, p_a
