"""Narrow phase: from overlapping pairs of boxes to contact points.

For each pair the cached witness is tried first; only where it fails does GJK look for the closest
points, or, where the hulls touch, the exhaustive search for the best plane. Points found again by
their feature id take over the impulse of the last step.

Frame of a pair: world axes, origin at the centre of mass of b. Normals point from b to a;
separation = n . (p_a - p_b), negative when penetrating.
"""

import math
from typing import NamedTuple

import numpy as np

from ..geometry.shape_table import CAPSULE, DISCS, MESH, PLANE, SPHERE, TRIANGLE, ShapeTable
from ..geometry.support import aligned_face
from ..jit import inlined, inner, kernel, merged
from ..math3 import mat3, vec3
from . import gjk
from .contact_set import CARRIED_ON, PAIRS, QUERIES, SURVIVED
from .epa import Polytope, empty_polytope, penetration
from .manifold import (
    CLIP_COSINE,
    ManifoldScratch,
    add_candidate,
    clip_faces,
    manifold_scratch,
    note_deepest,
    reduce_candidates,
)
from .pairs import HIGH, OVERLAPS_SENSOR, lacks_room, leave_room, take_room
from .persistence import (
    CARRIED,
    SAME_PLACE,
    Movers,
    carry_points,
    empty_movers,
    follow,
    inherit_impulses,
    keep_points,
    note_came,
    note_left,
    settle_movers,
)
from .primitives import collide_sphere_solid, collide_spheres, collide_with_plane
from .refinement import refine
from .round_shapes import SHORT, collide_round, collide_round_with_plane
from .separating_plane import (
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
)
from .triangles import collide_triangle

CARRIED_BY_WORLD, CARRIED_BY_A, CARRIED_BY_B = 0, 1, 2
# Pairs of edges up to which all planes of two hulls that overlap are looked at; beyond, the polytope of
# their difference grows faster (measured).
MOST_EDGE_PAIRS = 400
FLAT = 0.05  # of the slack: a point deeper than others by less than this is not preferred to them
SMALLEST = 1e-6  # of the larger shape: below that a shape's own size means nothing to a pair's tolerances
TOLERANCE = 1e-7  # relative to the size: how much worse than the best a plane may be and still be taken


class Scratch(NamedTuple):
    """Working space of one thread of the narrow phase."""

    manifold: ManifoldScratch
    simplex: np.ndarray
    polytope: Polytope
    movers: Movers
    deepest: np.ndarray  # (7,) separation, normal and p_a of the last pair whose closest points were noted


def make_scratch(shapes: ShapeTable) -> Scratch:
    """Scratch large enough for every pair of the table's shapes."""
    loops, vertices = np.diff(shapes.loop_start), np.diff(shapes.vertex_start)
    return Scratch(
        manifold_scratch(int(loops.max(initial=0)), int(vertices.max(initial=0))),
        np.zeros(gjk.SIMPLEX_SHAPE),
        empty_polytope(),
        empty_movers(bool((shapes.kind == MESH).any())),
        np.zeros(7),
    )


@inlined
def _edge_count(shapes, s):
    return shapes.edge_start[s + 1] - shapes.edge_start[s]


@inlined
def _reverify(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size):
    """Try the witness of the last step.

    Returns:
        (state, separation, normal, p_a): state 0 failed; 1 the pair is farther apart than `margin`;
        2 the plane of a face holds; 3 that of two edges does, and p_a is the closest point of a.
    """
    kind = witness[0]
    tolerance = TOLERANCE * size
    zero = (0.0, 0.0, 0.0)
    if kind == FACE_B:
        separation, n, p_a = face_of_b(shapes, sa, ra, p_ba, rb, witness[2])
    elif kind == FACE_A:
        separation, n, p_a = face_of_a(shapes, ra, p_ba, sb, rb, witness[1])
    elif kind == EDGES:
        valid, separation, n, p_a, _p_b = edge_pair(
            shapes, sa, ra, p_ba, sb, rb, witness[1], witness[2], axis
        )
        if not valid:
            return 0, 0.0, zero, zero
        return (1 if separation > margin else 3), separation, n, p_a
    elif kind == DIRECTION:
        separation, n = along_direction(shapes, sa, ra, p_ba, sb, rb, axis), axis
        return (1 if separation > margin else 0), separation, n, zero
    else:
        return 0, 0.0, zero, zero
    if separation > margin:
        return 1, separation, n, zero
    # A touching plane separates even when another one would do so by a little more.
    return (2 if separation > -100.0 * tolerance else 0), separation, n, p_a


@inner
def _from_gjk(shapes, sa, ra, p_ba, sb, rb, n, distance, p_a, count, simplex, witness, size):
    """Name the features behind GJK's closest points; writes `witness`.

    Returns:
        (separation, normal, p_a) of the plane chosen.
    """
    tolerance = TOLERANCE * size
    face, cosine = aligned_face(shapes, sb, mat3.transform_transposed(rb, n))
    if cosine > 0.999:
        separation, normal, p = face_of_b(shapes, sa, ra, p_ba, rb, face)
        if separation >= distance - tolerance:
            witness[0], witness[1], witness[2] = FACE_B, -1, face
            return separation, normal, p
    face, cosine = aligned_face(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)))
    if cosine > 0.999:
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
def _deepest_clipped(scratch, separation, tolerance):
    """The deepest clipped point, which shows the plane to be the closest one; -1 if it is not as deep."""
    deepest, least = -1, separation + tolerance
    for i in range(scratch.count[0]):
        if scratch.separation[i] <= least:
            deepest, least = i, scratch.separation[i]
    return deepest


@inner
def _add_deepest(scratch, p_a, normal, separation, witness):
    """Add the deepest point itself."""
    feature = -1 - (witness[1] * 100003 + witness[2] if witness[0] == EDGES else 0)
    add_candidate(scratch, p_a, normal, separation, feature)


@inner
def _build_manifold(shapes, sa, ra, p_ba, sb, rb, witness, n, margin, scratch):
    """Clip the faces next to a known separating plane, where one lies close to it."""
    origin = (0.0, 0.0, 0.0)
    kind = witness[0]
    face_a, cosine_a, face_b, cosine_b = witness[1], 1.0, witness[2], 1.0
    if kind != FACE_A:
        face_a, cosine_a = aligned_face(shapes, sa, mat3.transform_transposed(ra, vec3.scale(n, -1.0)))
    if kind != FACE_B:
        face_b, cosine_b = aligned_face(shapes, sb, mat3.transform_transposed(rb, n))
    if kind == FACE_B or (kind != FACE_A and cosine_b >= cosine_a and cosine_b > CLIP_COSINE):
        clip_faces(shapes, sb, face_b, rb, origin, sa, face_a, ra, p_ba, 1.0, margin, scratch)
    elif kind == FACE_A or cosine_a > CLIP_COSINE:
        clip_faces(shapes, sa, face_a, ra, p_ba, sb, face_b, rb, origin, -1.0, margin, scratch)


@merged
def _collide_hulls(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, scratch, counter):
    """Contacts of two hulls; `witness` (3,) and `axis` (3,) of the pair are kept up to date."""
    manifold = scratch.manifold
    last = axis[0], axis[1], axis[2]
    if witness[0] != NO_WITNESS:
        counter[QUERIES] += 1
        state, separation, n, p_a = _reverify(shapes, sa, ra, p_ba, sb, rb, witness, last, margin, size)
        if state == 1:
            counter[SURVIVED] += 1
            note_deepest(scratch.deepest, separation, n, p_a)
            return
        if state >= 2:
            _build_manifold(shapes, sa, ra, p_ba, sb, rb, witness, n, margin, manifold)
            deepest = _deepest_clipped(manifold, separation, TOLERANCE * size)
            if state == 3 and deepest < 0:
                _add_deepest(manifold, p_a, n, separation, witness)
            if state == 3 or deepest >= 0:
                counter[SURVIVED] += 1
                axis[0], axis[1], axis[2] = n
                note_deepest(scratch.deepest, separation, n, p_a)
                return
            manifold.count[0] = 0
    status, distance, n, p_a, _p_b, count = gjk.closest_points(
        shapes, sa, ra, p_ba, sb, rb, last, size, scratch.simplex
    )
    apart = status == gjk.SEPARATED
    if apart:
        if distance < SHORT * size:
            found, fine, n_fine, p_fine = refine(shapes, sa, ra, p_ba, sb, rb, n, scratch.simplex, count)
            if found and fine > 0.0:
                distance, n, p_a = fine, n_fine, p_fine
        # Exact: the plane chosen for contacts may be a face's, which is worse by up to TOLERANCE.
        note_deepest(scratch.deepest, distance, n, p_a)
    if apart and distance > TOLERANCE * size:
        separation, n, p_a = _from_gjk(
            shapes, sa, ra, p_ba, sb, rb, n, distance, p_a, count, scratch.simplex, witness, size
        )
    elif _edge_count(shapes, sa) * _edge_count(shapes, sb) > MOST_EDGE_PAIRS:
        fallback = last if vec3.dot(last, last) > 0.0 else (0.0, 0.0, 1.0)
        separation, n, p_a = penetration(shapes, sa, ra, p_ba, sb, rb, fallback, size, scratch.polytope)
        nothing = np.int64(0)
        separation, n, p_a = _from_gjk(
            shapes, sa, ra, p_ba, sb, rb, n, separation, p_a, nothing, scratch.simplex, witness, size
        )
    else:
        kind, feature_a, feature_b, separation, n, p_a = best_plane(shapes, sa, ra, p_ba, sb, rb, size)
        witness[0], witness[1], witness[2] = kind, feature_a, feature_b
    axis[0], axis[1], axis[2] = n
    if separation <= margin:
        _build_manifold(shapes, sa, ra, p_ba, sb, rb, witness, n, margin, manifold)
        deepest = _deepest_clipped(manifold, separation, TOLERANCE * size)
        if deepest < 0:
            _add_deepest(manifold, p_a, n, separation, witness)
        elif witness[0] == FACE_A or witness[0] == FACE_B:  # over both hulls, as a deepest vertex need not be
            p_a = vec3.load(manifold.p_a, deepest)
    if not apart:
        note_deepest(scratch.deepest, separation, n, p_a)


@merged
def _collide_pair(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, scratch, counter):
    """Candidates of one pair into the manifold scratch."""
    kind_a, kind_b = shapes.kind[sa], shapes.kind[sb]
    origin = (0.0, 0.0, 0.0)
    manifold = scratch.manifold
    round_a, round_b = kind_a in (CAPSULE, DISCS), kind_b in (CAPSULE, DISCS)
    if kind_b == TRIANGLE:
        collide_triangle(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, manifold, scratch.simplex,
                         scratch.polytope, scratch.deepest)  # fmt: skip
    elif kind_b == PLANE:
        n = mat3.transform(rb, vec3.load(shapes.face_normal, shapes.face_start[sb]))
        distance = shapes.face_distance[shapes.face_start[sb]]
        if round_a:
            collide_round_with_plane(shapes, sa, ra, p_ba, n, distance, 1.0, margin, manifold)
        else:
            collide_with_plane(shapes, sa, ra, p_ba, n, distance, 1.0, margin, manifold)
    elif kind_a == PLANE:
        n = mat3.transform(ra, vec3.load(shapes.face_normal, shapes.face_start[sa]))
        distance = shapes.face_distance[shapes.face_start[sa]] + vec3.dot(n, p_ba)
        if round_b:
            collide_round_with_plane(shapes, sb, rb, origin, n, distance, -1.0, margin, manifold)
        else:
            collide_with_plane(shapes, sb, rb, origin, n, distance, -1.0, margin, manifold)
    elif kind_a == SPHERE and kind_b == SPHERE:
        center_a = vec3.add(mat3.transform(ra, vec3.load(shapes.vertex, shapes.vertex_start[sa])), p_ba)
        center_b = mat3.transform(rb, vec3.load(shapes.vertex, shapes.vertex_start[sb]))
        collide_spheres(center_a, shapes.radius[sa], center_b, shapes.radius[sb], margin, manifold)
    elif kind_a == SPHERE and kind_b != CAPSULE:
        center = vec3.add(mat3.transform(ra, vec3.load(shapes.vertex, shapes.vertex_start[sa])), p_ba)
        collide_sphere_solid(shapes, center, shapes.radius[sa], sb, rb, 1.0, margin, manifold)
    elif kind_b == SPHERE and kind_a != CAPSULE:
        center_b = mat3.transform(rb, vec3.load(shapes.vertex, shapes.vertex_start[sb]))
        center = vec3.subtract(center_b, p_ba)
        first = manifold.count[0]
        collide_sphere_solid(shapes, center, shapes.radius[sb], sa, ra, -1.0, margin, manifold)
        if manifold.count[0] > first:
            for k in range(3):
                manifold.p_a[first, k] += center_b[k]
    elif round_a or round_b:
        collide_round(shapes, sa, ra, p_ba, sb, rb, axis, margin, size, manifold, scratch.simplex,
                      scratch.polytope, scratch.deepest)  # fmt: skip
    else:
        _collide_hulls(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, scratch, counter)


@inlined
def _carrier(witness, kind_a, kind_b):
    """Whose rotation turns the contact normal while the pair moves through a step."""
    if kind_b == PLANE or (witness[0] == FACE_B and kind_a != SPHERE):
        return CARRIED_BY_B
    if kind_a == PLANE or (witness[0] == FACE_A and kind_b != SPHERE):
        return CARRIED_BY_A
    return CARRIED_BY_WORLD


@merged
def _append_contacts(
    pairs,
    slot,
    a,
    b,
    p_ba,
    size,
    slack,
    carrier,
    radius_a,
    radius_b,
    manifold,
    contacts,
    count,
    is_mesh,
    movers,
):
    """Append a pair's candidates, reduced, to `contacts`; returns the new count.

    Points take over the impulses of the last step; the pair then has the new features (their
    impulses are stored by `store_impulses` after the solve).
    """
    take_room(pairs, slot)
    room = pairs.room[slot]
    kept = reduce_candidates(
        manifold, pairs.feature[room], max(np.int64(pairs.point_count[slot]), 0), FLAT * slack, size
    )
    for k in range(kept):
        i = manifold.chosen[k]
        c = count + k
        separation = manifold.separation[i]
        contacts.slot[c] = slot
        contacts.body[c, 0], contacts.body[c, 1] = a, b
        contacts.separation[c] = manifold.separation[i]
        contacts.carrier[c] = carrier
        contacts.place[c], contacts.carried[c] = k, False
        for m in range(3):
            contacts.normal[c, m] = manifold.normal[i, m]
            contacts.arm[c, 0, m] = manifold.p_a[i, m] - p_ba[m]
            contacts.arm[c, 1, m] = manifold.p_a[i, m] - separation * manifold.normal[i, m]
            contacts.core[c, 0, m] = contacts.arm[c, 0, m] + radius_a * manifold.normal[i, m]
            contacts.core[c, 1, m] = contacts.arm[c, 1, m] - radius_b * manifold.normal[i, m]
            contacts.impulse[c, m] = 0.0
    left, came = inherit_impulses(pairs, slot, contacts, count, kept, manifold, SAME_PLACE * size)
    if is_mesh:
        note_left(pairs, slot, left, a, b, movers)
        note_came(came, count, SAME_PLACE * size, movers)
    for k in range(kept):
        pairs.feature[room, k] = manifold.feature[manifold.chosen[k]]
        for m in range(3):
            pairs.impulse[room, k, m] = contacts.impulse[count + k, m]
    pairs.point_count[slot] = kept
    return count + kept


@inlined
def _pair_size(bound_a, bound_b):
    """What a pair's tolerances are relative to: the smaller shape, as far as the larger's digits reach."""
    low, high = min(bound_a, bound_b), max(bound_a, bound_b)
    return max(low, SMALLEST * high) if math.isfinite(high) else low


@kernel
def detect_contacts(colliders, shapes, sensor, c, R, trace, pairs, reach, slack, contacts, scratch):
    """Contact points of all pairs that can touch within the step.

    Args:
        sensor: Bodies whose pairs give no contacts, only a note in the pair table, shape (n,).
        c, R: Centres of mass [m] (n, 3) and rotation matrices (n, 9) of the bodies.
        trace: How far the bodies have moved; brought up to date.
        reach: How far any point of each body may move in this step [m], shape (n,).
        slack: Added to each pair's margin [m]; a thousandth of it is how far bodies may move while their
            contact points are kept.

    Returns:
        Number of contact points, or -1 where `contacts` or `pairs` has no room for them (make some and call
        again).
    """
    manifold = scratch.manifold
    count = np.int64(0)
    scratch.movers.count[0], scratch.movers.count[1] = 0, 0
    follow(trace, c, R)
    for slot in range(pairs.counter[HIGH]):
        if pairs.collider[slot, 0] < 0:
            continue
        ka, kb = pairs.collider[slot, 0], pairs.collider[slot, 1]
        a, b = colliders.body[ka], colliders.body[kb]
        if count + 4 > contacts.slot.shape[0] or lacks_room(pairs, slot):
            return -1
        contacts.counter[PAIRS] += 1
        sensed = sensor[a] or sensor[b]
        margin = 0.0 if sensed else reach[a] + reach[b] + slack
        way = trace.way[a] + trace.way[b]
        moved = way - pairs.way[slot]
        still = moved < CARRIED * slack and margin <= pairs.margin[slot]
        if not sensed and pairs.point_count[slot] == 0 and (still or pairs.gap[slot] - moved > margin):
            contacts.counter[CARRIED_ON] += 1
            continue
        if pairs.point_count[slot] > 0 and still:
            contacts.counter[CARRIED_ON] += 1
            ra, rb = mat3.load(R, a), mat3.load(R, b)
            p_ba = vec3.subtract(vec3.load(c, a), vec3.load(c, b))
            count = carry_points(pairs, slot, a, b, ra, p_ba, rb, contacts, count)
            continue
        manifold.count[0] = 0
        sa, sb = colliders.shape[ka], colliders.shape[kb]
        if shapes.kind[sa] == MESH or shapes.kind[sb] == MESH:  # its triangles have pairs of their own
            continue
        ra, rb = mat3.load(R, a), mat3.load(R, b)
        p_ba = vec3.subtract(vec3.load(c, a), vec3.load(c, b))
        size = _pair_size(shapes.bound[sa], shapes.bound[sb])
        witness, axis = pairs.witness[slot], pairs.axis[slot]
        pairs.looks[slot] += 1
        pairs.way[slot], pairs.margin[slot] = way, margin
        scratch.deepest[0] = margin  # at least, where the pair says no more
        _collide_pair(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, scratch, contacts.counter)
        if sensed:
            pairs.point_count[slot] = OVERLAPS_SENSOR if manifold.count[0] > 0 else 0
            continue
        is_mesh = shapes.kind[sb] == TRIANGLE
        if manifold.count[0] > 0:
            carrier = _carrier(witness, shapes.kind[sa], shapes.kind[sb])
            first = count
            count = _append_contacts(
                pairs, slot, a, b, p_ba, size, slack, carrier, shapes.radius[sa], shapes.radius[sb], manifold,
                contacts, count, is_mesh, scratch.movers,
            )  # fmt: skip
            keep_points(pairs, slot, ra, p_ba, rb, contacts, first, count - first)
        else:
            if is_mesh:
                note_left(pairs, slot, np.int64(15), a, b, scratch.movers)
            pairs.point_count[slot] = 0
            pairs.gap[slot] = scratch.deepest[0]  # below the margin where another triangle has the contact
            leave_room(pairs, slot)
    settle_movers(pairs, contacts, scratch.movers)
    return count
