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
from ..dynamics.body_state import BodyModel, BodyState
from .analytic_rates import Found, Surfaces, describe_contacts
from .analytic_rows import (
    assemble_dense,
    contact_accelerations,
    contact_velocities,
    label_islands,
    sum_wrenches,
    write_rows,
)

Array = NDArray[np.float64]

SPARSE_FROM = 100  # contacts from which A is sparse


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


def empty_points(m: int) -> ContactPoints:
    """Room for m contact points."""
    return ContactPoints(
        slot=np.empty(m, np.int64), feature=np.empty(m, np.int64), body=np.empty((m, 2), np.int64),
        frame=np.empty((m, 3, 3)), arm=np.empty((m, 2, 3)), separation=np.empty(m),
        arm_rate=np.empty((m, 2, 3)), normal_rate=np.empty((m, 3)), curve=np.empty(m),
        friction=np.empty((m, 2)), restitution=np.empty(m),
    )  # fmt: skip


def read_contacts(
    found: ContactSet, count: int, slack: float, pairs, model: BodyModel, state: BodyState,
    surfaces: Surfaces, multiply: bool,
) -> ContactPoints:  # fmt: skip
    """Copy the contacts up to `slack` [m] apart from the narrow phase and find how they move."""
    out = empty_points(count)
    seen = Found(
        found.slot, found.body, found.normal, found.arm, found.rounding, found.separation, found.place,
        pairs.collider, pairs.room, pairs.feature, pairs.witness, pairs.axis,
    )  # fmt: skip
    kept = describe_contacts(
        seen, count, slack, surfaces, model.friction, model.restitution, multiply, state.v, state.w, state.R,
        out,
    )  # fmt: skip
    return out if kept == count else out.select(slice(0, kept))


def build_system(contacts: ContactPoints, model: BodyModel, state: BodyState) -> Any:
    """A = J M^-1 J^T [1/kg], rows (n, t1, t2) of each contact: equations D-2 to D-4, with rows for friction.

    Returns:
        Shape (3 m, 3 m), impulses to relative velocities: an array, or a sparse matrix for many contacts.
    """
    m = len(contacts.slot)
    row, answer = np.empty((m, 2, 3, 6)), np.empty((m, 2, 3, 6))
    write_rows(contacts.body, contacts.frame, contacts.arm, model.inv_mass, state.inv_I, row, answer)
    if m < SPARSE_FROM:
        A = np.zeros((3 * m, 3 * m))
        assemble_dense(contacts.body, row, answer, A)
        return A
    from scipy.sparse import csr_matrix

    index = np.arange(3 * m).reshape(m, 1, 3, 1) + np.zeros((1, 2, 1, 6), np.int64)
    column = 6 * contacts.body[:, :, None, None] + np.arange(6) + np.zeros((1, 1, 3, 1), np.int64)
    J, K = (
        csr_matrix((values.ravel(), (index.ravel(), column.ravel())), shape=(3 * m, 6 * len(model.mass)))
        for values in (row, answer)
    )
    A = J @ K.T
    return (0.5 * (A + A.T)).tocsr()


def frame_velocity(contacts: ContactPoints, state: BodyState) -> Array:
    """Velocities of a against b in the contact frames [m/s], shape (m, 3)."""
    u = np.empty((len(contacts.slot), 3))
    contact_velocities(contacts.body, contacts.frame, contacts.arm, state.v, state.w, u)
    return u


def relative_acceleration(contacts: ContactPoints, state: BodyState, a: Array, alpha: Array) -> Array:
    """b of the system A f + b, rows (n, t1, t2) [m/s^2], shape (m, 3): accelerations without contact forces.

    Args:
        a, alpha: Accelerations of all bodies, world axes [m/s^2], [rad/s^2], shape (n, 3).
    """
    b = np.empty((len(contacts.slot), 3))
    contact_accelerations(
        contacts.body, contacts.frame, contacts.arm, contacts.arm_rate, contacts.normal_rate, contacts.curve,
        state.v, state.w, a, alpha, b,
    )  # fmt: skip
    return b


def wrenches(
    contacts: ContactPoints, force: Array, model: BodyModel, drill: Array | None = None
) -> tuple[Array, Array]:
    """Sums on each body of forces [N] or impulses [N s] of contacts, and of their moments, shapes (n, 3).

    Args:
        force: On a, contact frames, shape (m, 3); b gets the opposite.
        drill: Moments on a about the normals, shape (m,); b gets the opposite.
    """
    push, turn = np.zeros((len(model.mass), 3)), np.zeros((len(model.mass), 3))
    sum_wrenches(contacts.body, contacts.frame, contacts.arm, force, push, turn)
    if drill is not None and drill.any():
        turn += moments_about_normals(contacts, drill, len(turn))
    return push, turn * np.asarray(model.inv_inertia.any(axis=1))[:, None]


def moments_about_normals(contacts: ContactPoints, drill: Array, bodies: int) -> Array:
    """Sums on each body of moments `drill` (m,) on a about normals, and the opposite on b, shape (n, 3)."""
    turn = np.zeros((bodies, 3))
    moment = drill[:, None] * contacts.normal
    np.add.at(turn, contacts.body[:, 0], moment)
    np.subtract.at(turn, contacts.body[:, 1], moment)
    return turn


def apply_impulses(contacts: ContactPoints, impulse: Array, model: BodyModel, state: BodyState) -> None:
    """Add impulses on a [N s], contact frames, shape (m, 3), and their opposites on b, to v and L."""
    push, turn = wrenches(contacts, impulse, model)
    state.v[:] += model.inv_mass * push
    state.L[:] += turn


def find_islands(contacts: ContactPoints, model: BodyModel) -> list[NDArray[np.int64]]:
    """Contacts grouped by the movable bodies they join, each group and the groups in contact order."""
    label, parent = np.empty(len(contacts.slot), np.int64), np.empty((2, len(model.mass)), np.int64)
    count = label_islands(contacts.body, model.inv_mass, model.inv_inertia, parent, label)
    return [np.flatnonzero(label == k) for k in range(count)]
