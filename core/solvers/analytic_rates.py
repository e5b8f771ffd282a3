"""How contact points move, as kernels: the rates at which their normals turn and their arms change.

Symbols and sources: head of `analytic_contacts.py`. What turns a normal is the feature it belongs to: a face
(of a or of b), the crossing of two edges, the line between the points that two round surfaces are
rounded about, or nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from ..collision.contact_set import cores
from ..collision.manifold import CLIP_COSINE
from ..collision.separating_plane import DIRECTION, EDGES
from ..geometry.shape_table import DISCS, HULL, PLANE, SPHERE, TRIANGLE, Colliders, ShapeTable
from ..jit import inlined, inner, kernel, merged
from ..math3 import mat3, vec3

FIXED, OF_A, OF_B, OF_EDGES, OF_POINTS = 0, 1, 2, 3, 4  # what turns the normal
CUT = 25  # bits of a clipped point's feature above these say which side of a face has cut it
VERTEX_BITS = 0x7FFFFF  # of a clipped point's feature, after bit 0: the vertex before it
SKEW = 1e-3  # sine of the angle between edges from which their normal is known to 1e-12
NEAR_AXIS = 1.0 - 1e-6  # cosine: GJK and EPA find the direction between hulls to better than that
FACE_COSINE = 1.0 - 1e-12  # a round body's normal that is so close to a face's is the face's
# Sine of the angle to a disc's axis below which no point of its rim is the lowest.
UPRIGHT = 1e-6
FASTEST = 4e3  # [rad/s] the lowest point of a rim that runs faster is lost in the shortest step of 0.25 ms
DEEPEST = -1  # feature of the deepest point of a round body
MEASURED = 0.0  # in place of s'' where there is no formula; not a number where there is one


class Surfaces(NamedTuple):
    """The part of the shape table that the rates need; see there."""

    shape: np.ndarray  # (colliders,) shape of each collider
    kind: np.ndarray
    axis: np.ndarray
    vertex_start: np.ndarray
    vertex: np.ndarray
    edge: np.ndarray
    face_start: np.ndarray
    face_normal: np.ndarray
    loop_start: np.ndarray
    loop: np.ndarray


def surfaces_of(shapes: ShapeTable, colliders: Colliders) -> Surfaces:
    """The surfaces of all colliders; the arrays are those of the tables, not copies."""
    return Surfaces(
        colliders.shape, shapes.kind, shapes.axis, shapes.vertex_start, shapes.vertex, shapes.edge,
        shapes.face_start, shapes.face_normal, shapes.loop_start, shapes.loop,
    )  # fmt: skip


class Found(NamedTuple):
    """The part of a contact set and of the pair table that the rates need; see there."""

    slot: np.ndarray
    body: np.ndarray
    normal: np.ndarray
    arm: np.ndarray
    rounding: np.ndarray
    separation: np.ndarray
    place: np.ndarray
    collider: np.ndarray
    room: np.ndarray
    feature: np.ndarray
    witness: np.ndarray
    axis: np.ndarray


@inlined
def _store(row, v):
    row[0], row[1], row[2] = v


@inner
def _has_face(face_normal, first, last, d):
    """Whether d, in the shape's frame, is the outward normal of one of the faces `first` to `last`."""
    for f in range(first, last):
        if vec3.dot(vec3.load(face_normal, f), d) >= FACE_COSINE:
            return True
    return False


@merged
def _carrier(surfaces, sa, sb, ra, rb, n, feature, crosses):
    """Which feature turns the normal of a contact."""
    kind_a, kind_b = surfaces.kind[sa], surfaces.kind[sb]
    if kind_b == PLANE:
        return OF_B
    if kind_a == PLANE:
        return OF_A
    if kind_a == HULL and kind_b == HULL:
        if feature < 0 or crosses:
            return OF_EDGES if crosses else FIXED
        return OF_B if feature & 1 else OF_A  # clipped points: bit 0 says on whose face
    on_b, on_a = mat3.transform_transposed(rb, n), mat3.transform_transposed(ra, vec3.scale(n, -1.0))
    faces = surfaces.face_start
    if kind_b in (HULL, TRIANGLE) and _has_face(surfaces.face_normal, faces[sb], faces[sb + 1], on_b):
        return OF_B
    back = vec3.scale(on_b, -1.0)
    if kind_b == TRIANGLE and _has_face(surfaces.face_normal, faces[sb], faces[sb + 1], back):
        return OF_B
    if kind_a == HULL and _has_face(surfaces.face_normal, faces[sa], faces[sa + 1], on_a):
        return OF_A
    if kind_b == DISCS and abs(vec3.dot(vec3.load(surfaces.axis, sb), on_b)) >= FACE_COSINE:
        return OF_B
    if kind_a == DISCS and abs(vec3.dot(vec3.load(surfaces.axis, sa), on_a)) >= FACE_COSINE:
        return OF_A
    return OF_POINTS


@inlined
def _direction(surfaces, s, r, first, last):
    """Unit vector from one vertex of a shape to another, world axes."""
    base = surfaces.vertex_start[s]
    along = vec3.subtract(vec3.load(surfaces.vertex, base + last), vec3.load(surfaces.vertex, base + first))
    return mat3.transform(r, vec3.scale(along, 1.0 / vec3.norm(along)))


@inner
def _facing(surfaces, s, d):
    """The face whose normal is nearest to d, in the shape's frame."""
    best, cosine = surfaces.face_start[s], -2.0
    for f in range(surfaces.face_start[s], surfaces.face_start[s + 1]):
        if vec3.dot(vec3.load(surfaces.face_normal, f), d) > cosine:
            best, cosine = f, vec3.dot(vec3.load(surfaces.face_normal, f), d)
    return best


@inner
def _cut_edges(surfaces, sa, ra, sb, rb, axis, feature):
    """Directions of the edges of a and b that cross at a point made by clipping: see `cut_polygon`.

    Its feature names the side of the reference face and the vertex of the other face before it.
    """
    on_b = _facing(surfaces, sb, mat3.transform_transposed(rb, axis))
    on_a = _facing(surfaces, sa, mat3.transform_transposed(ra, vec3.scale(axis, -1.0)))
    reference, other = (on_b, on_a) if feature & 1 else (on_a, on_b)
    start, end = surfaces.loop_start[reference], surfaces.loop_start[reference + 1]
    side = start + (feature >> CUT) - 1
    before = end - 1 if side == start else side - 1
    vertex, start, end = (
        (feature >> 1) & VERTEX_BITS,
        surfaces.loop_start[other],
        surfaces.loop_start[other + 1],
    )
    k = start
    while k < end - 1 and surfaces.loop[k] != vertex:
        k += 1
    after = start if k == end - 1 else k + 1
    if feature & 1:
        ea = _direction(surfaces, sa, ra, surfaces.loop[k], surfaces.loop[after])
        eb = _direction(surfaces, sb, rb, surfaces.loop[before], surfaces.loop[side])
    else:
        ea = _direction(surfaces, sa, ra, surfaces.loop[before], surfaces.loop[side])
        eb = _direction(surfaces, sb, rb, surfaces.loop[k], surfaces.loop[after])
    return ea, eb


@inner
def _crossing(surfaces, sa, ra, sb, rb, witness, axis, feature):
    """Whether two edges that cross separate the hulls at a point, their directions, and the normal there.

    Where the plane between the hulls was found as a direction alone, a point made by clipping is such a
    crossing if the edges' normal is that direction; clipped on a face, its height changes as it slides.
    """
    n = axis
    if witness[0] == EDGES and (feature < 0 or feature >> CUT > 0):
        p, q = surfaces.edge[witness[1]], surfaces.edge[witness[2]]
        ea, eb = _direction(surfaces, sa, ra, p[0], p[1]), _direction(surfaces, sb, rb, q[0], q[1])
        return True, ea, eb, n
    if witness[0] == DIRECTION and feature >= 0 and feature >> CUT > 0:
        ea, eb = _cut_edges(surfaces, sa, ra, sb, rb, axis, feature)
        across = vec3.cross(ea, eb)
        size = vec3.norm(across)
        if size > SKEW:
            n = vec3.scale(across, (1.0 if vec3.dot(across, axis) > 0.0 else -1.0) / size)
            if vec3.dot(n, axis) > NEAR_AXIS:
                return True, ea, eb, n
    return False, n, n, n


@inner
def _crossing_rate(ea, eb, wa, wb, n):
    """n' for n = e_a x e_b / |e_a x e_b|: appendix D's compute_ndot."""
    across = vec3.cross(ea, eb)
    rate = vec3.add(vec3.cross(vec3.cross(wa, ea), eb), vec3.cross(ea, vec3.cross(wb, eb)))
    rate = vec3.scale(rate, (1.0 if vec3.dot(across, n) >= 0.0 else -1.0) / vec3.norm(across))
    return vec3.subtract(rate, vec3.scale(n, vec3.dot(n, rate)))


@inlined
def _disc(surfaces, s, r):
    """Axis and a point of it, world axes."""
    base = vec3.load(surfaces.vertex, surfaces.vertex_start[s])
    return mat3.transform(r, vec3.load(surfaces.axis, s)), mat3.transform(r, base)


@inlined
def _is_spoke(surfaces, kind, s, r, n, feature, on_plane):
    """Whether a contact point is one of those that stand for a flat disc, and not the lowest of a rim."""
    if kind != DISCS:
        return False
    if on_plane:  # there the first two points are the lowest of each end
        return feature > 1
    along = vec3.dot(mat3.transform(r, vec3.load(surfaces.axis, s)), n)
    return abs(along) > CLIP_COSINE and feature != DEEPEST


@inner
def _stands_on_rim(surfaces, s, r, n, arm, slack):
    """Whether a disc is so tilted that its rim has a lowest point: not all of it is within `slack` [m]."""
    axis, base = _disc(surfaces, s, r)
    radial = vec3.subtract(arm, base)
    radial = vec3.subtract(radial, vec3.scale(axis, vec3.dot(axis, radial)))
    sine = vec3.norm(vec3.subtract(n, vec3.scale(axis, vec3.dot(axis, n))))
    return 2.0 * vec3.norm(radial) * sine > slack


@inner
def _is_lowest(found, count, c, on_plane):
    """Whether contact c is the lowest of its pair and no other one is known as such."""
    for i in range(count):
        if i == c or found.slot[i] != found.slot[c]:
            continue
        if on_plane or found.feature[found.slot[i], found.place[i]] == DEEPEST:
            return False
        if found.separation[i] < found.separation[c] or (
            found.separation[i] == found.separation[c] and i < c
        ):
            return False
    return True


@inner
def _rim_rate(axis, base, w, n, n_rate, arm, sign):
    """r' of the lowest point of a disc's rim: it stays lowest while the disc turns about its axis.

    A disc so flat that its lowest point is anywhere, or everywhere in no time, touches with a fixed one.

    Args:
        axis, base: Of the disc, world axes; `base` is any point of the axis.
        sign: Of the direction from the disc's centre to the point along n: -1 for a, 1 for b.
    """
    radial = vec3.subtract(arm, base)
    radial = vec3.subtract(radial, vec3.scale(axis, vec3.dot(axis, radial)))
    radius = vec3.norm(radial)
    along = vec3.dot(n, axis)
    across = vec3.subtract(n, vec3.scale(axis, along))
    sine = vec3.norm(across)
    if sine < UPRIGHT or radius == 0.0:
        return vec3.cross(w, arm)
    direction = vec3.scale(across, 1.0 / sine)
    axis_rate = vec3.cross(w, axis)
    turn = vec3.subtract(n_rate, vec3.scale(axis, vec3.dot(n_rate, axis) + vec3.dot(n, axis_rate)))
    turn = vec3.subtract(turn, vec3.scale(axis_rate, along))
    turn = vec3.scale(vec3.subtract(turn, vec3.scale(direction, vec3.dot(direction, turn))), 1.0 / sine)
    if vec3.norm(turn) > FASTEST:
        return vec3.cross(w, arm)
    center = vec3.subtract(arm, vec3.scale(direction, sign * radius))
    return vec3.add(vec3.cross(w, center), vec3.scale(turn, sign * radius))


@merged
def _write_rates(surfaces, sa, sb, found, c, m, v, w, R, n, carrier, ea, eb, out):
    """n' and r_a', r_b' of contact c of the contact set into row m; ea, eb: edges that cross there."""
    a, b = found.body[c, 0], found.body[c, 1]
    ra, rb = mat3.load(R, a), mat3.load(R, b)
    va, vb, wa, wb = vec3.load(v, a), vec3.load(v, b), vec3.load(w, a), vec3.load(w, b)
    arm_a, arm_b = vec3.load(found.arm[c], 0), vec3.load(found.arm[c], 1)
    core_a, core_b = cores(found.arm, found.normal, found.rounding, c)
    spin_a, spin_b = vec3.cross(wa, core_a), vec3.cross(wb, core_b)
    slip = vec3.subtract(vec3.add(va, spin_a), vec3.add(vb, spin_b))
    parting = vec3.scale(n, vec3.dot(slip, n))
    across = vec3.subtract(slip, parting)
    # Of a against the normal, of b along it.
    round_a, round_b = -found.rounding[c, 0], found.rounding[c, 1]
    rate = (0.0, 0.0, 0.0)
    if carrier == OF_A:
        rate = vec3.cross(wa, n)
    elif carrier == OF_B:
        rate = vec3.cross(wb, n)
    elif carrier == OF_EDGES:
        rate = _crossing_rate(ea, eb, wa, wb, n)
    elif carrier == OF_POINTS:
        # n = (p_a - p_b) / d for the points that the surfaces are rounded about.
        distance = found.separation[c] - round_a + round_b
        if distance > 0.0:
            rate = vec3.scale(across, 1.0 / distance)
    rate_a = vec3.add(spin_a, vec3.scale(rate, round_a))
    rate_b = vec3.add(spin_b, vec3.scale(rate, round_b))
    kind_a, kind_b = surfaces.kind[sa], surfaces.kind[sb]
    on_plane = kind_a == PLANE or kind_b == PLANE
    if kind_a == DISCS and not _is_spoke(surfaces, kind_a, sa, ra, n, out.feature[m], on_plane):
        rate_a = _rim_rate(*_disc(surfaces, sa, ra), wa, n, rate, arm_a, -1.0)
    if kind_b == DISCS and not _is_spoke(surfaces, kind_b, sb, rb, n, out.feature[m], on_plane):
        rate_b = _rim_rate(*_disc(surfaces, sb, rb), wb, n, rate, arm_b, 1.0)
    if carrier == OF_EDGES:  # the point runs along both edges, so that it stays on both
        c12, xa, xb = vec3.dot(ea, eb), vec3.dot(ea, across), vec3.dot(eb, across)
        det = 1.0 - c12 * c12
        rate_a = vec3.add(rate_a, vec3.scale(ea, (c12 * xb - xa) / det))
        rate_b = vec3.add(rate_b, vec3.scale(eb, (xb - c12 * xa) / det))
    # The point goes with the vertex or round surface that the other one's face carries.
    if carrier == OF_A:
        rate_a = vec3.subtract(vec3.add(vec3.add(vb, rate_b), parting), va)
    elif carrier in (OF_B, OF_POINTS):
        rate_b = vec3.subtract(vec3.subtract(vec3.add(va, rate_a), parting), vb)
    _store(out.normal_rate[m], rate)
    _store(out.arm_rate[m, 0], rate_a)
    _store(out.arm_rate[m, 1], rate_b)


@kernel
def describe_contacts(found, count, slack, surfaces, friction, restitution, multiply, v, w, R, out):
    """Write the contacts of the contact set that are at most `slack` [m] apart, with their rates.

    Args:
        count: Contacts in the set.
        friction, restitution: Of the bodies, shapes (n, 2) and (n,).
        multiply: Whether pairs combine by product, not by geometric mean.
        v, w, R: Velocities [m/s], [rad/s] (n, 3) and rotations (n, 9) of the bodies.
        out: Contact points, room for `count`.

    Returns:
        Number of contacts written.
    """
    m = np.int64(0)
    for c in range(count):
        if found.separation[c] > slack:
            continue
        slot = np.int64(found.slot[c])
        a, b = found.body[c, 0], found.body[c, 1]
        sa, sb = surfaces.shape[found.collider[slot, 0]], surfaces.shape[found.collider[slot, 1]]
        out.slot[m], out.feature[m] = slot, found.feature[found.room[slot], found.place[c]]
        out.body[m, 0], out.body[m, 1] = a, b
        out.separation[m] = found.separation[c]
        for side in range(2):
            _store(out.arm[m, side], vec3.load(found.arm[c], side))
        n = vec3.load(found.normal, c)
        kind_a, kind_b = surfaces.kind[sa], surfaces.kind[sb]
        ra, rb = mat3.load(R, a), mat3.load(R, b)
        on_plane, feature = kind_a == PLANE or kind_b == PLANE, out.feature[m]
        # Points that stand for a flat disc are none of a tilted one: it rolls over them without a collision.
        of_a = kind_b == PLANE or (kind_a != PLANE and feature & 1 == 1)
        kind, s, r = (kind_a, sa, ra) if of_a else (kind_b, sb, rb)
        if _is_spoke(surfaces, kind, s, r, n, feature, on_plane) and _stands_on_rim(
            surfaces, s, r, n, vec3.load(found.arm[c], 0 if of_a else 1), slack
        ):
            if not _is_lowest(found, count, c, on_plane):
                continue
            out.feature[m] = DEEPEST
        crosses, ea, eb = False, n, n
        if kind_a == HULL and kind_b == HULL:
            crosses, ea, eb, crossing = _crossing(
                surfaces, sa, ra, sb, rb, found.witness[slot], vec3.load(found.axis, slot), out.feature[m]
            )
            if crosses and out.feature[m] >= 0:
                n = crossing
        carrier = _carrier(surfaces, sa, sb, ra, rb, n, out.feature[m], crosses)
        t1, t2 = vec3.tangents(n)
        _store(out.frame[m, 0], n)
        _store(out.frame[m, 1], t1)
        _store(out.frame[m, 2], t2)
        _write_rates(surfaces, sa, sb, found, c, m, v, w, R, n, carrier, ea, eb, out)
        is_odd = carrier == OF_POINTS and not (kind_a == SPHERE and kind_b == SPHERE)
        out.curve[m] = MEASURED if is_odd else math.nan
        for k in range(2):
            product = friction[a, k] * friction[b, k]
            out.friction[m, k] = product if multiply else math.sqrt(product)
        product = restitution[a] * restitution[b]
        out.restitution[m] = product if multiply else math.sqrt(product)
        m += 1
    return m
