"""Contact points of two hulls.

The witness of the last step is tried first, then the planes beside it; only where all fail does GJK look for
the closest points, or, where the hulls touch, the exhaustive search for the best plane. Frame: see
`narrow_phase`.
"""

import numpy as np

from ..geometry.support import aligned_face
from ..jit import inlined, inner, merged
from ..math3 import mat3, vec3
from . import gjk
from .contact_set import QUERIES, SURVIVED
from .epa import penetration
from .manifold import CLIP_COSINE, add_candidate, add_corners, clip_faces, note_deepest
from .refinement import refine
from .round_shapes import DEEP, SHORT
from .separating_plane import (
    ALIGNED,
    BESIDE,
    DIRECTION,
    EDGES,
    FACE_A,
    FACE_B,
    NO_WITNESS,
    along_direction,
    best_plane,
    edge_pair,
    face_of_a,
    face_of_b,
    find_edge,
    find_edges,
    plane_beside,
)

# Pairs of edges up to which all planes of two hulls that overlap are looked at; beyond, the polytope of
# their difference grows faster (measured).
MOST_EDGE_PAIRS = 400
FLAT = 1e-5  # relative to the size: how much deeper than two edges a face may be cut that stands for them
FAILED, APART, ON_FACE, ON_EDGES = np.int64(0), np.int64(1), np.int64(2), np.int64(3)  # of a witness
TOLERANCE = 1e-7  # relative to the size: how much worse than the best a plane may be and still be taken


@inlined
def _edge_count(shapes, s):
    return shapes.edge_start[s + 1] - shapes.edge_start[s]


@inlined
def _reverify(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size):
    """Try a witness.

    As deep as a solver may leave them a plane is kept even where another one would be by a little less.

    Returns:
        (state, separation, normal, p_a): FAILED; APART, by more than `margin`; ON_FACE, whose plane may hold;
        or ON_EDGES, whose plane holds, p_a being the closest point of a.
    """
    kind, feature_a, feature_b = np.int64(witness[0]), np.int64(witness[1]), np.int64(witness[2])
    zero = (0.0, 0.0, 0.0)
    if kind == FACE_B:
        separation, n, p_a = face_of_b(shapes, sa, ra, p_ba, rb, feature_b)
    elif kind == FACE_A:
        separation, n, p_a = face_of_a(shapes, ra, p_ba, sb, rb, feature_a)
    elif kind == EDGES:
        valid, separation, n, p_a, _p_b = edge_pair(shapes, sa, ra, p_ba, sb, rb, feature_a, feature_b, axis)
        if not valid or separation <= -DEEP * size:
            return FAILED, 0.0, zero, zero
        return (APART if separation > margin else ON_EDGES), separation, n, p_a
    elif kind == DIRECTION:
        separation, n = along_direction(shapes, sa, ra, p_ba, sb, rb, axis), axis
        return (APART if separation > margin else FAILED), separation, n, zero
    else:
        return FAILED, 0.0, zero, zero
    if separation > margin:
        return APART, separation, n, zero
    return (ON_FACE if separation > -DEEP * size else FAILED), separation, n, p_a


@inner
def _from_gjk(shapes, sa, ra, p_ba, sb, rb, n, distance, p_a, count, simplex, witness, size):
    """Name the features behind GJK's closest points; writes `witness`.

    Returns:
        (separation, normal, p_a) of the plane chosen.
    """
    tolerance = TOLERANCE * size
    face, cosine = aligned_face(shapes, sb, mat3.transform_transposed(rb, n))
    if cosine > ALIGNED:
        separation, normal, p = face_of_b(shapes, sa, ra, p_ba, rb, face)
        if separation >= distance - tolerance:
            witness[0], witness[1], witness[2] = FACE_B, -1, face
            return separation, normal, p
    face, cosine = aligned_face(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)))
    if cosine > ALIGNED:
        separation, normal, p = face_of_a(shapes, ra, p_ba, sb, rb, face)
        if separation >= distance - tolerance:
            witness[0], witness[1], witness[2] = FACE_A, face, -1
            return separation, normal, p
    witness[0] = DIRECTION
    nothing = np.int64(-1)  # typed: literals would compile second versions of what they are passed to
    a0, a1, b0, b1 = nothing, nothing, nothing, nothing
    distinct = True
    for i in range(count):
        a, b = int(simplex[i, gjk.VERTEX_A]), int(simplex[i, gjk.VERTEX_B])
        if a0 < 0 or a == a0:
            a0 = a
        elif a1 < 0 or a == a1:
            a1 = a
        else:
            distinct = False
        if b0 < 0 or b == b0:
            b0 = b
        elif b1 < 0 or b == b1:
            b1 = b
        else:
            distinct = False
    if distinct and a1 >= 0 and b1 >= 0:
        edge_a, edge_b = find_edge(shapes, sa, a0, a1), find_edge(shapes, sb, b0, b1)
        if edge_a >= 0 and edge_b >= 0:
            witness[0], witness[1], witness[2] = EDGES, edge_a, edge_b
    return distance, n, p_a


@inlined
def _deepest_clipped(scratch, separation, size):
    """The deepest clipped point, which shows the plane to be the closest one; -1 if it is not as deep.

    A face near the plane may seem cut deeper than the hulls are, as in `_where_edges_cross`.
    """
    deepest, least = -1, separation + TOLERANCE * size
    for i in range(scratch.count[0]):
        if scratch.separation[i] < separation - FLAT * size:
            scratch.count[0] = 0
            return -1
        if scratch.separation[i] <= least:
            deepest, least = i, scratch.separation[i]
    return deepest


@inlined
def _where_edges_cross(scratch, separation, p_a, size):
    """The clipped point that lies where the two closest edges cross; -1 where there is none.

    A face beside them may seem cut deeper than the hulls are: what is beyond an edge of the one leaves it
    sideways. Such a face does not stand for the contact; its points go.
    """
    crossing, nearest = -1, np.inf
    highest = max(separation, separation / CLIP_COSINE) + TOLERANCE * size
    for i in range(scratch.count[0]):
        if scratch.separation[i] < separation - FLAT * size:
            scratch.count[0] = 0
            return -1
        way = vec3.subtract(vec3.load(scratch.p_a, i), p_a)
        if scratch.separation[i] <= highest and vec3.dot(way, way) < nearest:
            crossing, nearest = i, vec3.dot(way, way)
    return crossing


@inner
def _add_deepest(scratch, p_a, normal, separation, witness):
    """Add the deepest point itself."""
    pair = np.int64(witness[1]) * 100003 + witness[2]
    feature = -1 - (pair if witness[0] == EDGES else 0)
    add_candidate(scratch, p_a, normal, separation, feature)


@inlined
def _add_edges(scratch, p_a, normal, separation, witness, size):
    """Add the point of two edges, or put the face's there on them: bodies slide along their plane."""
    i = _where_edges_cross(scratch, separation, p_a, size)
    if i < 0:
        _add_deepest(scratch, p_a, normal, separation, witness)
        return
    scratch.separation[i] = separation
    for m in range(3):
        scratch.p_a[i, m], scratch.normal[i, m] = p_a[m], normal[m]


@inlined
def _build_manifold(shapes, sa, ra, p_ba, sb, rb, witness, n, margin, scratch):
    """Clip the faces next to a known separating plane, where one lies close to it."""
    origin = (0.0, 0.0, 0.0)
    kind = np.int64(witness[0])
    face_a, cosine_a, face_b, cosine_b = np.int64(witness[1]), 1.0, np.int64(witness[2]), 1.0
    if kind != FACE_A:
        face_a, cosine_a = aligned_face(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)))
    if kind != FACE_B:
        face_b, cosine_b = aligned_face(shapes, sb, mat3.transform_transposed(rb, n))
    s_ref, face_ref, r_ref, o_ref, s_inc, face_inc, r_inc, o_inc, sign = (
        sb, face_b, rb, origin, sa, face_a, ra, p_ba, 1.0,
    )  # fmt: skip
    if kind == FACE_A or (kind != FACE_B and not (cosine_b >= cosine_a and cosine_b > CLIP_COSINE)):
        if kind != FACE_A and cosine_a <= CLIP_COSINE:
            return
        s_ref, face_ref, r_ref, o_ref, s_inc, face_inc, r_inc, o_inc, sign = (
            sa, face_a, ra, p_ba, sb, face_b, rb, origin, -1.0,
        )  # fmt: skip
    clip_faces(shapes, s_ref, face_ref, r_ref, o_ref, s_inc, face_inc, r_inc, o_inc, sign, margin, scratch)
    add_corners(shapes, s_ref, face_ref, r_ref, o_ref, s_inc, face_inc, r_inc, o_inc, sign, margin, scratch)


@inner
def _overlap(shapes, sa, ra, p_ba, sb, rb, last, witness, size, scratch):
    """(separation, normal, p_a) of two hulls that touch or overlap; `witness` is written."""
    if _edge_count(shapes, sa) * _edge_count(shapes, sb) > MOST_EDGE_PAIRS:
        fallback = last if vec3.dot(last, last) > 0.0 else (0.0, 0.0, 1.0)
        separation, n, p_a = penetration(
            shapes, sa, ra, p_ba, sb, rb, fallback, size, scratch.polytope, witness
        )
        # A polytope without volume, or beside the origin, tells nothing: the gap along n is another one.
        if abs(along_direction(shapes, sa, ra, p_ba, sb, rb, n) - separation) <= TOLERANCE * size:
            nothing = np.int64(0)
            separation, n, p_a = _from_gjk(
                shapes, sa, ra, p_ba, sb, rb, n, separation, p_a, nothing, scratch.simplex, witness, size
            )
            if witness[0] == DIRECTION:
                edge_a, edge_b = find_edges(shapes, sa, ra, p_ba, sb, rb, n, separation - TOLERANCE * size)
                if edge_a >= 0:
                    witness[0], witness[1], witness[2] = EDGES, edge_a, edge_b
            return separation, n, p_a
    kind, feature_a, feature_b, separation, n, p_a = best_plane(shapes, sa, ra, p_ba, sb, rb, size)
    witness[0], witness[1], witness[2] = kind, feature_a, feature_b
    return separation, n, p_a


@inner
def _search(shapes, sa, ra, p_ba, sb, rb, last, witness, size, scratch):
    """Find the plane between two hulls anew; `witness` is written.

    Returns:
        (separation, normal, p_a) of the plane for contacts, and whether the hulls are apart.
    """
    status, distance, n, p_a, _p_b, count = gjk.closest_points(
        shapes, sa, ra, p_ba, sb, rb, last, size, scratch.simplex
    )
    apart = status == gjk.SEPARATED
    if status != gjk.TOUCHING and (distance < SHORT * size or not apart):
        found, fine, n_fine, p_fine = refine(shapes, sa, ra, p_ba, sb, rb, n, scratch.simplex, count, witness)
        if found and fine > 0.0:
            apart, distance, n, p_a = True, fine, n_fine, p_fine
    if apart:  # exact: the plane chosen for contacts may be a face's, which is worse by up to TOLERANCE
        note_deepest(scratch.deepest, distance, n, p_a)
    if apart and distance > TOLERANCE * size:
        separation, n, p_a = _from_gjk(
            shapes, sa, ra, p_ba, sb, rb, n, distance, p_a, count, scratch.simplex, witness, size
        )
    else:
        separation, n, p_a = _overlap(shapes, sa, ra, p_ba, sb, rb, last, witness, size, scratch)
    return separation, n, p_a, apart


@merged
def collide_hulls(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, scratch, counter):
    """Contacts of two hulls; `witness` (3,) and `axis` (3,) of the pair are kept up to date.

    The witness of the last step is tried, then the planes beside it, then one is searched for: in one loop,
    so that `_build_manifold` is called in one place, and compiled in line there.
    """
    manifold, last = scratch.manifold, (axis[0], axis[1], axis[2])
    failed = np.int64(witness[0]), np.int64(witness[1]), np.int64(witness[2])
    search, apart, least, turn = failed[0] == NO_WITNESS, False, -np.inf, np.int64(0)
    counter[QUERIES] += not search
    state, separation, n, p_a = FAILED, 0.0, last, last
    while True:
        if search:
            separation, n, p_a, apart = _search(shapes, sa, ra, p_ba, sb, rb, last, witness, size, scratch)
            state = APART if separation > margin else (ON_EDGES if witness[0] == EDGES else ON_FACE)
        else:
            state, separation, n, p_a = _reverify(shapes, sa, ra, p_ba, sb, rb, witness, last, margin, size)
        deepest = -1
        if state >= ON_FACE and separation >= least:
            _build_manifold(shapes, sa, ra, p_ba, sb, rb, witness, n, margin, manifold)
            if state == ON_FACE:
                deepest = _deepest_clipped(manifold, separation, size)
            else:
                _add_edges(manifold, p_a, n, separation, witness, size)
                deepest = 0
        if search or state == APART or deepest >= 0:
            break
        manifold.count[0] = 0
        if turn == 0:  # a plane that holds separates by as much as any
            least = along_direction(shapes, sa, ra, p_ba, sb, rb, last) - TOLERANCE * size
        search = True
        while failed[0] != DIRECTION and least > -DEEP * size and turn < BESIDE and search:
            search = not plane_beside(shapes, sa, ra, p_ba, sb, rb, failed, last, least, turn, witness)
            turn += 1
        least = -np.inf if search else least
    counter[SURVIVED] += turn == 0 and not search
    if state >= ON_FACE or search:
        axis[0], axis[1], axis[2] = n
    if search and state == ON_FACE:
        if deepest < 0:
            _add_deepest(manifold, p_a, n, separation, witness)
        elif witness[0] != DIRECTION:  # over both hulls, as its vertex need not be
            p_a = vec3.load(manifold.p_a, deepest)
    if not apart:
        note_deepest(scratch.deepest, separation, n, p_a)
