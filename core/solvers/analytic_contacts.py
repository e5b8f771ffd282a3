"""Contact points at one moment as the analytic solver sees them: A and b of appendix D.

A contact point is where two features touch: a vertex and a face, two edges, or a round surface and
another. What matters is how it moves: the normal turns at the rate n', and the arms from the centres of
mass change at the rates r_a', r_b', because the point of contact wanders over round bodies. With both,

    s'  = n . (v_a + w_a x r_a - v_b - w_b x r_b)
    s'' = n . (a_a + alpha_a x r_a + w_a x r_a' - (the same of b)) + n' . u,

where u is the relative velocity. This is equation 9-11 with appendix D's n', written so that it holds for
round bodies as well: a vertex on a face has r_a' = w_a x r_a, and the second n' . u of the paper is in
w_b x r_b', as the point wanders over the face.

Symbols: n normal from b to a, r arms from the centres of mass, rows per contact (n, t1, t2); J maps
velocities (n, 6) of the bodies to relative velocities at the contacts.

Source: Baraff 1997, sections 8 and 9, appendix D (with the errata); Baraff 1989, section 4.1 (degenerate
contacts of two vertices keep the plane between them).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collision.contact_set import ContactSet
from ..collision.separating_plane import EDGES
from ..dynamics.body_state import BodyModel, BodyState
from ..geometry.shape_table import DISCS, HULL, PLANE, SPHERE, Colliders, ShapeTable

Array = NDArray[np.float64]

FIXED, OF_A, OF_B, OF_EDGES, OF_POINTS = 0, 1, 2, 3, 4  # what turns the normal
CUT = 25  # bits of a clipped point's feature above these say which side of a face has cut it
FACE_COSINE = 1.0 - 1e-12  # a round body's normal that is so close to a face's is the face's
UPRIGHT = 0.05  # sine of the angle to a disc's axis below which the disc lies flat


class ContactPoints(NamedTuple):
    """m contact points, world axes; in the order of pairs, so the same for every order of bodies."""

    slot: NDArray[np.int64]  # (m,) pair
    feature: NDArray[np.int64]  # (m,) what touches: the same from moment to moment
    body: NDArray[np.int64]  # (m, 2) a, b
    frame: Array  # (m, 3, 3) rows n, t1, t2
    arm: Array  # [m] (m, 2, 3) r_a, r_b
    separation: Array  # [m] (m,)
    arm_rate: Array  # [m/s] (m, 2, 3)
    normal_rate: Array  # [1/s] (m, 3)
    curve: Array  # [m/s^2] (m,) s'' of steady motion where it has to be measured, else not a number
    friction: Array  # (m, 2) static, dynamic
    restitution: Array  # (m,)

    @property
    def normal(self) -> Array:
        """From b to a, shape (m, 3)."""
        return self.frame[:, 0]

    def select(self, rows) -> "ContactPoints":
        """Some of the points."""
        columns: list[Any] = [column[rows] for column in self]
        return ContactPoints(*columns)

    def identities(self) -> list[tuple[int, int]]:
        """What tells a point from others, now and a moment later."""
        return list(zip(self.slot.tolist(), self.feature.tolist(), strict=True))


def cross(a: Array, b: Array) -> Array:
    """Cross products along the last axis: ten times as fast as np.cross for the few rows there are here."""
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0], out[..., 1], out[..., 2] = y * w - z * v, z * u - x * w, x * v - y * u
    return out


NO_CONTACTS = ContactPoints(
    slot=np.zeros(0, np.int64), feature=np.zeros(0, np.int64), body=np.zeros((0, 2), np.int64),
    frame=np.zeros((0, 3, 3)), arm=np.zeros((0, 2, 3)), separation=np.zeros(0),
    arm_rate=np.zeros((0, 2, 3)), normal_rate=np.zeros((0, 3)), curve=np.zeros(0), friction=np.zeros((0, 2)),
    restitution=np.zeros(0),
)  # fmt: skip


def tangent_frames(normal: Array) -> Array:
    """Right-handed frames with rows n, t1, t2, shape (m, 3, 3)."""
    axis = np.abs(normal).argmin(axis=1)
    t1 = cross(np.eye(3)[axis], normal)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    return np.stack([normal, t1, cross(normal, t1)], axis=1)


def read_contacts(
    found: ContactSet,
    rows: NDArray[np.int64],
    pairs,
    model: BodyModel,
    state: BodyState,
    shapes: ShapeTable,
    colliders: Colliders,
    multiply: bool,
) -> ContactPoints:
    """Copy some rows of the narrow phase's contact set and find how their points and normals move."""
    if len(rows) == 0:
        return NO_CONTACTS
    slot, body = found.slot[rows], found.body[rows]
    feature = pairs.feature[slot, found.place[rows]]
    normal, arm, core = found.normal[rows], found.arm[rows], found.core[rows]
    shape = colliders.shape[pairs.collider[slot]]
    # A point cut by the side of a face, where two edges are what separates the pair, is where they cross: its
    # normal is theirs, not that of the face it was clipped on, along which its height changes as it slides.
    crossing = (shapes.kind[shape] == HULL).all(axis=1) & (pairs.witness[slot, 0] == EDGES)
    crossing &= feature >> CUT > 0
    normal[crossing] = pairs.axis[slot[crossing]]
    carrier = _carriers(shapes, state, shape, body, normal, feature, pairs.witness[slot])
    carrier[crossing] = OF_EDGES
    normal_rate, arm_rate = _rates(
        shapes, state, shape, body, normal, arm, core, found.separation[rows], feature, pairs.witness[slot],
        carrier,
    )  # fmt: skip
    friction = model.friction[body].prod(axis=1)
    restitution = model.restitution[body].prod(axis=1)
    if not multiply:
        friction, restitution = np.sqrt(friction), np.sqrt(restitution)
    return ContactPoints(
        slot=slot, feature=feature, body=body, frame=tangent_frames(normal), arm=arm,
        separation=found.separation[rows], arm_rate=arm_rate, normal_rate=normal_rate,
        curve=_curves(shapes, shape, carrier),
        friction=friction, restitution=restitution,
    )  # fmt: skip


def _rates(shapes, state, shape, body, normal, arm, core, separation, feature, witness, carrier):
    """n' [1/s], shape (m, 3), and r_a', r_b' [m/s], shape (m, 2, 3)."""
    velocity = state.v[body] + cross(state.w[body], core)
    slip = velocity[:, 0] - velocity[:, 1]
    rounding = np.einsum("msk,mk->ms", arm - core, normal)  # of a against the normal, of b along it
    normal_rate = np.zeros_like(normal)
    for kind, side in ((OF_A, 0), (OF_B, 1)):
        mine = carrier == kind
        normal_rate[mine] = cross(state.w[body[mine, side]], normal[mine])
    # n = (p_a - p_b) / d for the points that the surfaces are rounded about.
    distance = separation - rounding[:, 0] + rounding[:, 1]
    mine = (carrier == OF_POINTS) & (distance > 0.0)
    parting = normal * np.einsum("mk,mk->m", slip, normal)[:, None]
    across = slip - parting
    normal_rate[mine] = across[mine] / distance[mine, None]
    edges = {
        int(i): _edges(shapes, state, shape[i], body[i], witness[i]) for i in _where(carrier == OF_EDGES)
    }
    for i, pair in edges.items():
        normal_rate[i] = _crossing_normal_rate(state, body[i], normal[i], pair)
    arm_rate = cross(state.w[body], core) + rounding[:, :, None] * normal_rate[:, None]
    # Spokes of a disc that lies on a plane are fixed in the body; its first two points are the lowest.
    spoke = (shapes.kind[shape] == PLANE).any(axis=1) & (feature > 1)
    for i, side in np.argwhere((shapes.kind[shape] == DISCS) & ~spoke[:, None]):
        arm_rate[i, side] = _rim_rate(
            shapes, state, shape[i, side], body[i, side], normal[i], normal_rate[i], arm[i, side], side
        )
    for i, pair in edges.items():  # the point runs along both edges, so that it stays on both
        (x, y), *_ = np.linalg.lstsq(np.stack([-pair[0], pair[1]], axis=1), across[i], rcond=None)
        arm_rate[i] += [x * pair[0], y * pair[1]]
    for kind, lead in (
        (OF_A, 1),
        (OF_B, 0),
        (OF_POINTS, 0),
    ):  # the point goes with the vertex or round surface
        mine = carrier == kind
        point = state.v[body[mine, lead]] + arm_rate[mine, lead] - (1 - 2 * lead) * parting[mine]
        arm_rate[mine, 1 - lead] = point - state.v[body[mine, 1 - lead]]
    return normal_rate, arm_rate


def _curves(shapes, shape, carrier) -> Array:
    """0 where s'' has to be measured: round bodies on edges, rims and each other, balls on balls excepted."""
    kinds = shapes.kind[shape]
    odd = (carrier == OF_POINTS) & ~(kinds == SPHERE).all(axis=1)
    odd |= (kinds == DISCS).any(axis=1) & ~(kinds == PLANE).any(axis=1)
    return np.where(odd, 0.0, np.nan)


def _where(mask) -> list[int]:
    return np.flatnonzero(mask).tolist()


def _carriers(shapes, state, shape, body, normal, feature, witness) -> NDArray[np.int64]:
    """Which feature each normal belongs to, shape (m,)."""
    kinds = shapes.kind[shape]
    carrier = np.full(len(shape), OF_POINTS)
    hulls = (kinds == HULL).all(axis=1)
    carrier[hulls] = np.where(feature[hulls] & 1, OF_B, OF_A)  # clipped points: bit 0 says on whose face
    corner = hulls & (feature < 0)
    carrier[corner] = np.where(witness[corner, 0] == EDGES, OF_EDGES, FIXED)
    for i in _where((kinds == HULL).any(axis=1) & ~hulls):  # a round surface on the face of a hull?
        side = 1 if kinds[i, 1] == HULL else 0
        outward = normal[i] if side == 1 else -normal[i]
        faces = shapes.face_normal[shapes.face_start[shape[i, side]] : shapes.face_start[shape[i, side] + 1]]
        cosine = faces @ (outward @ state.R[body[i, side]].reshape(3, 3))
        if len(cosine) and cosine.max() >= FACE_COSINE:
            carrier[i] = OF_B if side == 1 else OF_A
    carrier[kinds[:, 0] == PLANE] = OF_A
    carrier[kinds[:, 1] == PLANE] = OF_B
    return carrier


def _edges(shapes, state, shape, body, witness) -> list[Array]:
    """Unit directions of the two edges that touch, world axes."""
    directions = []
    for side in (0, 1):
        base, edge = shapes.vertex_start[shape[side]], shapes.edge[witness[1 + side]]
        along = shapes.vertex[base + edge[1]] - shapes.vertex[base + edge[0]]
        directions.append(state.R[body[side]].reshape(3, 3) @ (along / np.linalg.norm(along)))
    return directions


def _crossing_normal_rate(state, body, normal, edges) -> Array:
    """n' for n = e_a x e_b / |e_a x e_b|: appendix D's compute_ndot."""
    n1 = cross(edges[0], edges[1])
    rates = [cross(state.w[body[side]], edges[side]) for side in (0, 1)]
    rate = (cross(rates[0], edges[1]) + cross(edges[0], rates[1])) / np.linalg.norm(n1)
    if n1 @ normal < 0.0:
        rate = -rate
    return rate - normal * (normal @ rate)


def _rim_rate(shapes, state, shape, body, normal, normal_rate, arm, side) -> Array:
    """r' of the lowest point of a disc's rim: it stays lowest while the disc turns about its axis."""
    w = state.w[body]
    axis = state.R[body].reshape(3, 3) @ shapes.axis[shape]
    base = state.R[body].reshape(3, 3) @ shapes.vertex[shapes.vertex_start[shape]]
    radial = arm - base
    radial = radial - axis * (axis @ radial)
    radius = float(np.linalg.norm(radial))
    across = normal - axis * (axis @ normal)
    sine = float(np.linalg.norm(across))
    if sine < UPRIGHT or radius == 0.0:
        return cross(w, arm)
    sign = -1.0 if side == 0 else 1.0  # the rim of a lies against the normal
    direction = across / sine
    axis_rate = cross(w, axis)
    across_rate = normal_rate - axis * (normal_rate @ axis + normal @ axis_rate) - axis_rate * (normal @ axis)
    turn = (across_rate - direction * (direction @ across_rate)) / sine
    center = arm - sign * radius * direction
    return cross(w, center) + sign * radius * turn


class ContactSystem(NamedTuple):
    """Rows of m contacts against the bodies of one island: w = A f + b for rows (n, t1, t2) of each."""

    J: Any  # (3 m, 6 k) velocities of the k bodies to relative velocities, an array or sparse
    A: Any  # [1/kg] (3 m, 3 m) impulses to relative velocities
    bodies: NDArray[np.int64]  # (k,)


SPARSE_FROM = 100  # contacts


def build_system(contacts: ContactPoints, model: BodyModel, state: BodyState) -> ContactSystem:
    """J and A = J M^-1 J^T of contacts: equations D-2 to D-4, rows for friction included."""
    m = len(contacts.slot)
    moves = np.asarray(model.inv_mass.any(axis=1) | model.inv_inertia.any(axis=1))[contacts.body]
    bodies = np.unique(contacts.body[moves])
    place = np.searchsorted(bodies, np.where(moves, contacts.body, bodies[0] if len(bodies) else 0))
    direction = np.repeat(contacts.frame[:, None], 2, axis=1)  # (m, 2, 3 rows, 3)
    direction[:, 1] *= -1.0
    lever = cross(contacts.arm[:, :, None, :], direction)
    inverse = state.inv_I[contacts.body].reshape(m, 2, 3, 3)
    rows = np.concatenate([direction, lever], axis=-1) * moves[:, :, None, None]  # (m, 2, 3, 6)
    linear = direction * model.inv_mass[contacts.body][:, :, None, :]
    answer = np.concatenate(
        [linear, np.einsum("msij,msrj->msri", inverse, lever)],
        axis=-1,
    ) * moves[:, :, None, None]  # fmt: skip
    if m < SPARSE_FROM:
        J, K = np.zeros((m, 3, len(bodies), 6)), np.zeros((m, 3, len(bodies), 6))
        for side in (0, 1):
            touched = np.flatnonzero(moves[:, side])
            J[touched, :, place[touched, side]] = rows[touched, side]
            K[touched, :, place[touched, side]] = answer[touched, side]
        J, K = J.reshape(3 * m, -1), K.reshape(3 * m, -1)
        A = J @ K.T
        return ContactSystem(J, 0.5 * (A + A.T), bodies)
    from scipy.sparse import csr_matrix

    row = np.arange(3 * m).reshape(m, 1, 3, 1) + np.zeros((1, 2, 1, 6), np.int64)
    column = 6 * place[:, :, None, None] + np.arange(6) + np.zeros((1, 1, 3, 1), np.int64)
    J, K = (
        csr_matrix((values.ravel(), (row.ravel(), column.ravel())), shape=(3 * m, 6 * len(bodies)))
        for values in (rows, answer)
    )
    A = (J @ K.T).tocsr()
    return ContactSystem(J, (0.5 * (A + A.T)).tocsr(), bodies)


def relative_velocity(contacts: ContactPoints, v: Array, w: Array) -> Array:
    """Velocity of a against b at each contact, world axes [m/s], shape (m, 3); v, w of all bodies."""
    if len(contacts.slot) == 0:
        return np.zeros((0, 3))
    at = v[contacts.body] + cross(w[contacts.body], contacts.arm)
    return at[:, 0] - at[:, 1]


def relative_acceleration(contacts: ContactPoints, state: BodyState, a: Array, alpha: Array) -> Array:
    """b of the system A f + b, rows (n, t1, t2) [m/s^2], shape (m, 3): accelerations without contact forces.

    Args:
        a, alpha: Accelerations of all bodies, world axes [m/s^2], [rad/s^2], shape (n, 3).
    """
    if len(contacts.slot) == 0:
        return np.zeros((0, 3))
    w = state.w[contacts.body]
    at = a[contacts.body] + cross(alpha[contacts.body], contacts.arm) + cross(w, contacts.arm_rate)
    b = np.einsum("mrk,mk->mr", contacts.frame, at[:, 0] - at[:, 1])
    slip = relative_velocity(contacts, state.v, state.w)
    b[:, 0] += np.einsum("mk,mk->m", contacts.normal_rate, slip)
    odd = ~np.isnan(contacts.curve)
    if odd.any():
        steady = a[contacts.body] + cross(alpha[contacts.body], contacts.arm)
        pressing = np.einsum("mk,mk->m", contacts.normal, steady[:, 0] - steady[:, 1])
        b[odd, 0] = pressing[odd] + contacts.curve[odd]
    return b


def apply_impulses(contacts: ContactPoints, impulse: Array, model: BodyModel, state: BodyState) -> None:
    """Add impulses on a [N s], contact frames, shape (m, 3), and their opposites on b, to v and L."""
    p = np.einsum("mrk,mr->mk", contacts.frame, impulse)
    for side, sign in ((0, 1.0), (1, -1.0)):
        body = contacts.body[:, side]
        np.add.at(state.v, body, sign * model.inv_mass[body] * p)
        moment = sign * cross(contacts.arm[:, side], p)
        np.add.at(state.L, body, moment * np.asarray(model.inv_inertia[body].any(axis=1))[:, None])


def find_islands(contacts: ContactPoints, model: BodyModel) -> list[NDArray[np.int64]]:
    """Contacts grouped by the movable bodies they join, each group and the groups in contact order."""
    moves = np.asarray(model.inv_mass.any(axis=1) | model.inv_inertia.any(axis=1))
    n = len(model.mass)
    parent = list(range(n))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    pairs = contacts.body.tolist()
    for a, b in pairs:
        if moves[a] and moves[b]:
            parent[root(b)] = root(a)
    groups: dict[int, list[int]] = {}
    for c, (a, b) in enumerate(pairs):
        groups.setdefault(root(a if moves[a] else b), []).append(c)
    return [np.array(group) for group in groups.values()]
