"""How contact points move, as kernels: the rates at which their normals turn and their arms change.

Symbols and sources: head of `analytic_contacts.py`. What turns a normal is the feature it belongs to: a face
(of a or of b), the crossing of two edges, the line between the points that two round surfaces are
rounded about, or nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from ..collision.manifold import CLIP_COSINE
from ..collision.separating_plane import EDGES
from ..geometry.shape_table import DISCS, HULL, PLANE, SPHERE, TRIANGLE, Colliders, ShapeTable
from ..jit import inlined, inner, kernel, merged
from ..math3 import mat3, vec3

FIXED, OF_A, OF_B, OF_EDGES, OF_POINTS = 0, 1, 2, 3, 4  # what turns the normal
CUT = 25  # bits of a clipped point's feature above these say which side of a face has cut it
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


def surfaces_of(shapes: ShapeTable, colliders: Colliders) -> Surfaces:
    """The surfaces of all colliders; the arrays are those of the tables, not copies."""
    return Surfaces(
        colliders.shape, shapes.kind, shapes.axis, shapes.vertex_start, shapes.vertex, shapes.edge,
        shapes.face_start, shapes.face_normal,
    )  # fmt: skip


class Found(NamedTuple):
    """The part of a contact set and of the pair table that the rates need; see there."""

    slot: np.ndarray
    body: np.ndarray
    normal: np.ndarray
    arm: np.ndarray
    core: np.ndarray
    separation: np.ndarray
    place: np.ndarray
    collider: np.ndarray
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
def _carrier(surfaces, sa, sb, ra, rb, n, feature, edges_separate):
    """Which feature turns the normal of a contact."""
    kind_a, kind_b = surfaces.kind[sa], surfaces.kind[sb]
    if kind_b == PLANE:
        return OF_B
    if kind_a == PLANE:
        return OF_A
    if kind_a == HULL and kind_b == HULL:
        if feature < 0 or (edges_separate and feature >> CUT > 0):
            return OF_EDGES if edges_separate else FIXED
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
def _edge_direction(surfaces, s, r, edge):
    """Unit vector along an edge, world axes."""
    base = surfaces.vertex_start[s]
    p = vec3.load(surfaces.vertex, base + surfaces.edge[edge, 0])
    along = vec3.subtract(vec3.load(surfaces.vertex, base + surfaces.edge[edge, 1]), p)
    return mat3.transform(r, vec3.scale(along, 1.0 / vec3.norm(along)))


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
def _is_fixed(surfaces, kind, s, r, n, feature, on_plane):
    """Whether a contact point is fixed in its body, rather than the lowest of a disc's rim for ever.

    Spokes of a disc that lies flat are; on a plane its first two points are the lowest of each end.
    """
    if kind != DISCS or on_plane:
        return kind != DISCS or feature > 1
    flat = abs(vec3.dot(mat3.transform(r, vec3.load(surfaces.axis, s)), n)) > CLIP_COSINE
    return flat and feature != DEEPEST


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
def _write_rates(surfaces, sa, sb, found, c, m, v, w, R, n, carrier, edges, out):
    """n' and r_a', r_b' of contact c of the contact set into row m."""
    a, b = found.body[c, 0], found.body[c, 1]
    ra, rb = mat3.load(R, a), mat3.load(R, b)
    va, vb, wa, wb = vec3.load(v, a), vec3.load(v, b), vec3.load(w, a), vec3.load(w, b)
    arm_a, arm_b = vec3.load(found.arm[c], 0), vec3.load(found.arm[c], 1)
    core_a, core_b = vec3.load(found.core[c], 0), vec3.load(found.core[c], 1)
    spin_a, spin_b = vec3.cross(wa, core_a), vec3.cross(wb, core_b)
    slip = vec3.subtract(vec3.add(va, spin_a), vec3.add(vb, spin_b))
    parting = vec3.scale(n, vec3.dot(slip, n))
    across = vec3.subtract(slip, parting)
    # Of a against the normal, of b along it.
    round_a, round_b = vec3.dot(vec3.subtract(arm_a, core_a), n), vec3.dot(vec3.subtract(arm_b, core_b), n)
    rate = (0.0, 0.0, 0.0)
    ea, eb = rate, rate
    if carrier == OF_A:
        rate = vec3.cross(wa, n)
    elif carrier == OF_B:
        rate = vec3.cross(wb, n)
    elif carrier == OF_EDGES:
        ea = _edge_direction(surfaces, sa, ra, edges[1])
        eb = _edge_direction(surfaces, sb, rb, edges[2])
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
    if not _is_fixed(surfaces, kind_a, sa, ra, n, out.feature[m], on_plane):
        rate_a = _rim_rate(*_disc(surfaces, sa, ra), wa, n, rate, arm_a, -1.0)
    if not _is_fixed(surfaces, kind_b, sb, rb, n, out.feature[m], on_plane):
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
        slot = found.slot[c]
        a, b = found.body[c, 0], found.body[c, 1]
        sa, sb = surfaces.shape[found.collider[slot, 0]], surfaces.shape[found.collider[slot, 1]]
        out.slot[m], out.feature[m] = slot, found.feature[slot, found.place[c]]
        out.body[m, 0], out.body[m, 1] = a, b
        out.separation[m] = found.separation[c]
        for side in range(2):
            _store(out.arm[m, side], vec3.load(found.arm[c], side))
        n = vec3.load(found.normal, c)
        kind_a, kind_b = surfaces.kind[sa], surfaces.kind[sb]
        edges_separate = found.witness[slot, 0] == EDGES
        if kind_a == HULL and kind_b == HULL and edges_separate and out.feature[m] >> CUT > 0:
            # A point cut by the side of a face, where two edges are what separates the pair, is where they
            # cross: its normal is theirs, not that of the face it was clipped on, along which its height
            # changes as it slides.
            n = vec3.load(found.axis, slot)
        carrier = _carrier(
            surfaces, sa, sb, mat3.load(R, a), mat3.load(R, b), n, out.feature[m], edges_separate
        )
        t1, t2 = vec3.tangents(n)
        _store(out.frame[m, 0], n)
        _store(out.frame[m, 1], t1)
        _store(out.frame[m, 2], t2)
        _write_rates(surfaces, sa, sb, found, c, m, v, w, R, n, carrier, found.witness[slot], out)
        is_odd = carrier == OF_POINTS and not (kind_a == SPHERE and kind_b == SPHERE)
        out.curve[m] = MEASURED if is_odd else math.nan
        for k in range(2):
            product = friction[a, k] * friction[b, k]
            out.friction[m, k] = product if multiply else math.sqrt(product)
        product = restitution[a] * restitution[b]
        out.restitution[m] = product if multiply else math.sqrt(product)
        m += 1
    return m
