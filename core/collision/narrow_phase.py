"""Narrow phase: from overlapping pairs of boxes to contact points.

For each pair the cached witness is tried first, then the planes beside it; only where all fail does GJK
look for the closest points, or, where the hulls touch, the exhaustive search for the best plane. Points
found again by their feature id take over the impulse of the last step.

Frame of a pair: world axes, origin at the centre of mass of b. Normals point from b to a;
separation = n . (p_a - p_b), negative when penetrating.
"""

import math
from typing import NamedTuple

import numpy as np

from ..crew import LEADER, MOST_PIECES, TASK, next_piece, piece_done, put_up, wait_for_all
from ..geometry.shape_table import CAPSULE, DISCS, MESH, PLANE, SPHERE, TRIANGLE, ShapeTable
from ..jit import inlined, inner, kernel, merged
from ..math3 import mat3, vec3
from . import gjk
from .contact_set import CARRIED_ON, PAIRS, ContactSet, empty_contacts
from .epa import Polytope, empty_polytope
from .hulls import collide_hulls
from .manifold import (
    MAX_POINTS,
    ManifoldScratch,
    drop_deepest,
    foresee,
    manifold_scratch,
    reduce_candidates,
)
from .meeting import lowest_gap, moves_far, next_look, pose_at, way_ahead
from .pairs import HIGH, NEEDS_ROOM, OVERLAPS_SENSOR, lacks_room, leave_room, take_room
from .persistence import (
    CARRIED,
    FRESH,
    SAME_PLACE,
    Movers,
    empty_movers,
    follow,
    inherit_impulses,
    keep_points,
    note_came,
    note_left,
    settle_movers,
    stay_written,
    write_points,
)
from .primitives import collide_sphere_solid, collide_spheres, collide_with_plane
from .round_shapes import collide_round, collide_round_with_plane
from .separating_plane import FACE_A, FACE_B, NO_WITNESS
from .triangles import collide_triangle

CARRIED_BY_WORLD, CARRIED_BY_A, CARRIED_BY_B = 0, 1, 2
LOOK, LOOK_AGAIN, WRITE = np.int64(0), np.int64(1), np.int64(2)  # tasks on the board
POINTS = 4  # index into a tally: behind the counters of a contact set
PIECE = 256  # slots of pairs to a piece
FLAT = 0.05  # of the slack: a point deeper than others by less than this is not preferred to them
SMALLEST = 1e-6  # of the larger shape: below that a shape's own size means nothing to a pair's tolerances


class Scratch(NamedTuple):
    """Working space of one thread of the narrow phase."""

    manifold: ManifoldScratch
    simplex: np.ndarray
    polytope: Polytope
    movers: Movers
    found: ContactSet  # contact points of the pair looked at
    impulse: np.ndarray  # [N s] (MAX_POINTS, 3) and their impulses
    deepest: np.ndarray  # (7,) separation, normal and p_a of the last pair whose closest points were noted
    search: np.ndarray  # (3,) where the pair looked at may meet: see `next_look`


def make_scratch(shapes: ShapeTable) -> Scratch:
    """Scratch large enough for every pair of the table's shapes."""
    loops, vertices = np.diff(shapes.loop_start), np.diff(shapes.vertex_start)
    return Scratch(
        manifold_scratch(int(loops.max(initial=0)), int(vertices.max(initial=0))),
        np.zeros(gjk.SIMPLEX_SHAPE),
        empty_polytope(),
        empty_movers(bool((shapes.kind == MESH).any())),
        empty_contacts(MAX_POINTS),
        np.zeros((MAX_POINTS, 3)),
        np.zeros(7),
        np.zeros(3),
    )


@inlined
def _is_round(kind):
    return kind in (CAPSULE, DISCS)


@merged
def _collide_pair(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, scratch, counter):
    """Candidates of one pair into the manifold scratch."""
    kind_a, kind_b = shapes.kind[sa], shapes.kind[sb]
    origin = (0.0, 0.0, 0.0)
    manifold = scratch.manifold
    manifold.face[0] = NO_WITNESS
    round_a, round_b = _is_round(kind_a), _is_round(kind_b)
    if kind_b == TRIANGLE:
        collide_triangle(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, manifold, scratch.simplex,
                         scratch.polytope, scratch.deepest)  # fmt: skip
        manifold.face[0] = witness[0]
    elif kind_b == PLANE:
        manifold.face[0] = FACE_B
        n = mat3.transform(rb, vec3.load(shapes.face_normal, shapes.face_start[sb]))
        distance = shapes.face_distance[shapes.face_start[sb]]
        if round_a:
            collide_round_with_plane(shapes, sa, ra, p_ba, n, distance, 1.0, margin, manifold)
        else:
            collide_with_plane(shapes, sa, ra, p_ba, n, distance, 1.0, margin, manifold)
    elif kind_a == PLANE:
        manifold.face[0] = FACE_A
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
        is_flat = collide_sphere_solid(shapes, center, shapes.radius[sa], sb, rb, 1.0, margin, manifold)
        manifold.face[0] = FACE_B if is_flat else NO_WITNESS
    elif kind_b == SPHERE and kind_a != CAPSULE:
        center_b = mat3.transform(rb, vec3.load(shapes.vertex, shapes.vertex_start[sb]))
        center = vec3.subtract(center_b, p_ba)
        first = manifold.count[0]
        is_flat = collide_sphere_solid(shapes, center, shapes.radius[sb], sa, ra, -1.0, margin, manifold)
        manifold.face[0] = FACE_A if is_flat else NO_WITNESS
        if manifold.count[0] > first:
            for k in range(3):
                manifold.p_a[first, k] += center_b[k]
    elif round_a or round_b:
        collide_round(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, manifold, scratch.simplex,
                      scratch.polytope, scratch.deepest)  # fmt: skip
    else:
        collide_hulls(shapes, sa, ra, p_ba, sb, rb, witness, axis, margin, size, scratch, counter)
        manifold.face[0] = witness[0]


@inlined
def _carrier(manifold):
    """Whose rotation turns the contact normal while the pair moves through a step."""
    if manifold.face[0] == FACE_B:
        return CARRIED_BY_B
    return CARRIED_BY_A if manifold.face[0] == FACE_A else CARRIED_BY_WORLD


@merged
def _store_points(
    pairs, slot, a, b, pose, gap, part, p_ba, ahead, size, slack, carrier, radius_a, radius_b, is_mesh,
    scratch,
):  # fmt: skip
    """Store a pair's candidates, reduced, in its room.

    Points take over the impulses of the last step (those of this one are stored by `store_impulses`).

    Args:
        pose, gap: (R_a, p_ba, R_b) where the pair stands, and the gap there [m].
        part, p_ba: The part of the motion ahead that the candidates are of, and p_ba after it.
    """
    manifold, found, impulse, room = scratch.manifold, scratch.found, scratch.impulse, pairs.room[slot]
    ra, rb = pose[0], pose[2]
    kept = reduce_candidates(
        manifold, pairs.feature[room], pairs.impulse[room], np.int64(pairs.point_count[slot]), FLAT * slack,
        slack, size,
    )  # fmt: skip
    for c in range(kept):
        i = manifold.chosen[c]
        separation = manifold.separation[i]
        found.separation[c], found.rounding[c, 0], found.rounding[c, 1] = separation, radius_a, radius_b
        for m in range(3):
            found.normal[c, m] = manifold.normal[i, m]
            found.arm[c, 0, m] = manifold.p_a[i, m] - p_ba[m]
            found.arm[c, 1, m] = manifold.p_a[i, m] - separation * manifold.normal[i, m]
            impulse[c, m] = 0.0
        if part > 0.0:
            p, n = vec3.load(manifold.p_a, i), vec3.load(manifold.normal, i)
            way = vec3.dot(n, way_ahead(ahead, a, b, p, p_ba))
            begin = separation - part * way
            # What has gone past each other by then does not overlap, or touch, before.
            found.separation[c] = max(begin, gap) if way > 0.0 else begin
    left, came = inherit_impulses(
        pairs, slot, rb, radius_b, found, kept, manifold, SAME_PLACE * size, impulse
    )  # fmt: skip
    if is_mesh:
        note_left(pairs, slot, left, a, b, scratch.movers)
        note_came(slot, came, SAME_PLACE * size, scratch.movers)
    for k in range(kept):
        pairs.feature[room, k] = manifold.feature[manifold.chosen[k]]
        for m in range(3):
            pairs.impulse[room, k, m] = impulse[k, m]
    keep_points(pairs, slot, ra, pose[1], rb, found, kept)
    pairs.point_count[slot], pairs.carrier[slot], pairs.meets[slot] = FRESH + kept, carrier, part


@inlined
def _pair_size(bound_a, bound_b):
    """What a pair's tolerances are relative to: the smaller shape, as far as the larger's digits reach."""
    low, high = min(bound_a, bound_b), max(bound_a, bound_b)
    return max(low, SMALLEST * high) if math.isfinite(high) else low


@merged
def _find_candidates(
    shapes, sa, sb, a, b, pose, witness, axis, margin, size, slack, sensed, ahead, scratch, counter
):
    """Candidates of a pair where it stands, or where it meets: see `meeting`.

    Args:
        pose: (R_a, p_ba, R_b) where it stands.

    Returns:
        (gap there [m], the part of the motion ahead that they are of, the pose after it).
    """
    manifold, search = scratch.manifold, scratch.search
    by_face = witness[0] == FACE_A or witness[0] == FACE_B
    far, turn = moves_far(shapes, sa, sb, ahead, a, b, size, by_face)
    gap, part, at, ends = margin, 0.0, pose, False
    search[0] = 0.0
    while not ends:
        manifold.count[0], manifold.beside[0] = 0, np.inf
        scratch.deepest[0] = margin  # at least, where the pair says no more
        _collide_pair(shapes, sa, at[0], at[1], sb, at[2], witness, axis, margin, size, scratch, counter)
        if part == 0.0:
            gap = lowest_gap(manifold, scratch.deepest[0])
        upto = part
        if far and not sensed:
            upto = next_look(manifold, ahead, a, b, at[1], turn, margin, size, slack, part, search)
        if upto > 0.0 and upto == part and manifold.count[0] == 0 and shapes.kind[sb] == TRIANGLE:
            # It goes on to another triangle, which was not below it yet perhaps: it meets as it stands.
            upto, far = 0.0, False
        ends = upto == part
        if not ends:
            part, at = upto, pose_at(ahead, a, b, upto, pose[0], pose[1], pose[2])
    return gap, part, at


@merged
def _look_at_pairs(
    colliders, shapes, sensor, c, R, trace, pairs, reach, slack, kept, first, last, again, scratch, tally
):
    """Look at the pairs from one slot to another, and store what contact points they have with them.

    Args:
        again: Look only at those that had points and no room for them, and have one now.
        tally: Counters as in a contact set, and at POINTS the number of contact points: added to.
    """
    manifold = scratch.manifold
    for slot in range(first, last):
        if pairs.collider[slot, 0] < 0 or (again and pairs.point_count[slot] != NEEDS_ROOM):
            continue
        ka, kb = pairs.collider[slot, 0], pairs.collider[slot, 1]
        a, b = colliders.body[ka], colliders.body[kb]
        tally[PAIRS] += 1
        sensed = sensor[a] or sensor[b]
        margin = 0.0 if sensed else reach[a] + reach[b] + slack
        way = trace.way[a] + trace.way[b]
        moved = way - pairs.way[slot]
        still = moved < kept * slack and margin <= pairs.margin[slot] + kept * slack
        if not sensed and pairs.point_count[slot] == 0 and (still or pairs.gap[slot] - moved > margin):
            tally[CARRIED_ON] += 1
            continue
        if pairs.point_count[slot] > 0 and still:
            tally[CARRIED_ON] += 1
            tally[POINTS] += pairs.point_count[slot]
            if moved >= CARRIED * slack:
                pairs.point_count[slot] += FRESH
            continue
        pairs.point_count[slot] = max(np.int64(pairs.point_count[slot]), 0)
        sa, sb = colliders.shape[ka], colliders.shape[kb]
        if shapes.kind[sa] == MESH or shapes.kind[sb] == MESH:  # its triangles have pairs of their own
            continue
        ra, rb = mat3.load(R, a), mat3.load(R, b)
        p_ba = vec3.subtract(vec3.load(c, a), vec3.load(c, b))
        size = _pair_size(shapes.bound[sa], shapes.bound[sb])
        witness, axis = pairs.witness[slot], pairs.axis[slot]
        pairs.looks[slot] += 1
        pairs.way[slot], pairs.margin[slot] = way, margin
        gap, part, at = _find_candidates(
            shapes, sa, sb, a, b, (ra, p_ba, rb), witness, axis, margin, size, slack, sensed, trace.ahead,
            scratch, tally,
        )  # fmt: skip
        if sensed:
            pairs.point_count[slot] = OVERLAPS_SENSOR if manifold.count[0] > 0 else 0
            continue
        is_mesh = shapes.kind[sb] == TRIANGLE
        rolls = _is_round(shapes.kind[sa]) or _is_round(shapes.kind[sb])
        if rolls and math.isfinite(slack):  # else the deepest point is what is asked for
            drop_deepest(manifold, FLAT * slack, size)
        if manifold.count[0] > 0 and pairs.room[slot] < 0:
            pairs.point_count[slot], pairs.way[slot] = NEEDS_ROOM, -np.inf  # near, whatever its gap
        elif manifold.count[0] > 0:
            carrier = _carrier(manifold)
            foresee(manifold, at[1], a, b, trace.ahead, rolls)
            pairs.gap[slot] = gap
            _store_points(
                pairs, slot, a, b, (ra, p_ba, rb), gap, part, at[1], trace.ahead, size, slack, carrier,
                shapes.radius[sa], shapes.radius[sb], is_mesh, scratch,
            )  # fmt: skip
            tally[POINTS] += pairs.point_count[slot] - FRESH
        else:
            if is_mesh:
                note_left(pairs, slot, np.int64(15), a, b, scratch.movers)
            pairs.point_count[slot] = 0
            pairs.gap[slot] = gap  # below the margin where another triangle has the contact


@merged
def _write_contacts(colliders, shapes, c, R, trace, pairs, first, last, contacts, count):
    """Write the contact points of the pairs from one slot to another, the first as number `count`."""
    for slot in range(first, last):
        if pairs.collider[slot, 0] >= 0 and pairs.point_count[slot] > 0:
            ka, kb = pairs.collider[slot, 0], pairs.collider[slot, 1]
            a, b = colliders.body[ka], colliders.body[kb]
            moves = trace.moves[a] + trace.moves[b]
            if not stay_written(pairs, slot, moves, contacts, count):
                ra, rb = mat3.load(R, a), mat3.load(R, b)
                p_ba = vec3.subtract(vec3.load(c, a), vec3.load(c, b))
                radius_a, radius_b = shapes.radius[colliders.shape[ka]], shapes.radius[colliders.shape[kb]]
                write_points(
                    pairs, slot, a, b, ra, p_ba, rb, radius_a, radius_b, moves, contacts, count
                )  # fmt: skip
            count += pairs.point_count[slot]


@inner
def _piece_count(shapes, pairs):
    """Into how many pieces the pairs are divided; one where there are meshes, whose pairs hand points on."""
    for kind in shapes.kind:
        if kind == MESH:
            return np.int64(1)
    return min(max(pairs.counter[HIGH] // PIECE, 1), MOST_PIECES)


@inner
def _give_rooms(pairs):
    """Take rooms from pairs that have no points any more, and give them to those that need one.

    Returns:
        How many got one; negative where there were not enough.
    """
    high, given = pairs.counter[HIGH], 0
    for slot in range(high):
        if pairs.point_count[slot] == 0:
            leave_room(pairs, slot)
    for slot in range(high):
        if pairs.point_count[slot] == NEEDS_ROOM:
            if lacks_room(pairs, slot):
                return np.int64(-1)
            take_room(pairs, slot)
            given += 1
    return given


@inner
def _add_up(board, pieces, counter):
    """Make numbers of points that pieces counted into places where they begin; returns the sum of all."""
    total = 0
    for piece in range(pieces):
        tally = board.tally[piece]
        for k in range(counter.shape[0]):
            counter[k] += tally[k]
        tally[POINTS], total = total, total + tally[POINTS]
    return total


@inner
def _give_up(pairs):
    """Leave the pairs as if what was found now had been found before."""
    for slot in range(pairs.counter[HIGH]):
        if pairs.point_count[slot] >= FRESH:
            pairs.point_count[slot] -= FRESH


@inner
def _begin_next(board, task, pieces, colliders, pairs, contacts, movers):
    """Begin the task after one that is done.

    Returns:
        (task, points): WRITE and how many, when these are known; -1 points where there is no room for them.
    """
    if task == LOOK:
        given = _give_rooms(pairs)
        if given < 0:
            return task, given
        if given > 0:
            put_up(board, LOOK_AGAIN, pieces)
            return LOOK_AGAIN, np.int64(0)
    settle_movers(pairs, colliders.body, movers)
    total = _add_up(board, pieces, contacts.counter)
    if total > contacts.slot.shape[0]:
        return task, np.int64(-1)
    put_up(board, WRITE, pieces)
    return WRITE, total


@kernel
def detect_contacts(
    colliders, shapes, sensor, c, R, trace, pairs, reach, slack, kept, contacts, scratch, board, thread
):
    """Contact points of all pairs that can touch within the step.

    Args:
        sensor: Bodies whose pairs give no contacts, only a note in the pair table, shape (n,).
        c, R: Centres of mass [m] (n, 3) and rotation matrices (n, 9) of the bodies.
        trace: How far the bodies have moved; brought up to date.
        reach: How far any point of each body may move in this step [m], shape (n,).
        slack: Added to each pair's margin [m].
        kept: Part of it that bodies may move while their contact points are kept: `CARRIED` or more.
        scratch: Of this thread alone.
        board, thread: See `crew`: several threads share the pairs.

    Returns:
        Number of contact points, or -1 where `contacts` or `pairs` has no room for them (make some and call
        again).
    """
    high, pieces, task, total = pairs.counter[HIGH], _piece_count(shapes, pairs), LOOK, np.int64(0)
    if thread == LEADER:
        follow(trace, c, R, np.int64(0), c.shape[0])
        scratch.movers.count[0], scratch.movers.count[1] = 0, 0
        put_up(board, task, pieces)
    while True:
        piece = next_piece(board, thread)
        if piece >= 0:
            first, last, tally = high * piece // pieces, high * (piece + 1) // pieces, board.tally[piece]
            if board.word[TASK] == WRITE:
                _write_contacts(
                    colliders, shapes, c, R, trace, pairs, first, last, contacts, tally[POINTS]
                )  # fmt: skip
            else:
                again = board.word[TASK] == LOOK_AGAIN
                if not again:
                    tally[:] = 0
                _look_at_pairs(
                    colliders, shapes, sensor, c, R, trace, pairs, reach, slack, kept, first, last, again,
                    scratch, tally,
                )  # fmt: skip
            piece_done(board)
        elif thread != LEADER:
            return np.int64(0)
        else:
            wait_for_all(board, pieces)
            if task == WRITE:
                return total
            task, total = _begin_next(board, task, pieces, colliders, pairs, contacts, scratch.movers)
            if total < 0:
                _give_up(pairs)
                return total
