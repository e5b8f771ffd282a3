"""Colliding contact: impulses, one contact after the other or all at once.

Normal rows obey Newton's law v+ = -e v- (Baraff 1997, eq. 8-18; 1989, section 8). Tangential rows obey
Coulomb's law for impulses: the tangential impulse that ends the slip, if it lies within mu times the
normal one, else mu times the normal one against the slip. For a solid ball on a wall this is the textbook
answer: v_t' = v_t - mu (1 + e) v_n while it slips, 5/7 v_t once it rolls. The papers of 1989 and 1997 have
no friction; the law is that of Whittaker 1904 and of Bender & Schmitt 2006, section 3.2, without a loop.

Newton's restitution and friction together may make energy where the normal and the tangential motion are
coupled (Kane & Levinson 1985). So the restitution of such an impact is lowered until it makes none; with
e = 0 it never does, as the impulse then opposes the motion that it leaves.
"""

import numpy as np

from ..report import ContactEvent, EventKind
from .analytic_contacts import Array, ContactPoints
from .friction_cone import solve_cone
from .lcp import part_of, solve_lcp

MAX_PASSES = 2000  # sequential passes over the contacts of one collision, then all are solved at once
HALVINGS = 50


def sequential_impulses(
    contacts: ContactPoints, A, velocity: Array, resting_speed: float,
    *, passes: int = MAX_PASSES,
) -> tuple[Array, int]:  # fmt: skip
    """Resolve colliding pairs of bodies one by one, and again, until none collides.

    The paper takes contact points one by one, which depends on their order even within one face that lands
    flat. Here the points of a pair are solved together, and the pairs one by one.

    Args:
        A: Impulses to relative velocities [1/kg], shape (3 m, 3 m), an array or sparse.
        velocity: Relative velocities in the contact frames [m/s], shape (m, 3); changed in place.
        resting_speed: Approach slower than this is not a collision [m/s].
        passes: Most passes over all pairs.

    Returns:
        Impulses [N s], shape (m, 3), and the number of passes in which something collided.

    Source: Baraff 1997, section 8 (`FindAllCollisions`), equation 8-18.
    """
    m = len(contacts.slot)
    impulse = np.zeros((m, 3))
    pairs = [np.flatnonzero(contacts.slot == slot) for slot in dict.fromkeys(contacts.slot.tolist())]
    points = [contacts.select(rows) for rows in pairs]
    rows_of = [(3 * rows[:, None] + np.arange(3)).ravel() for rows in pairs]
    blocks = [_dense(part_of(A, rows)) for rows in rows_of]
    for done in range(passes):
        collided = False
        for rows, pair, block, where in zip(pairs, points, blocks, rows_of, strict=True):
            u = velocity[rows]
            bounces = u[:, 0] < -resting_speed
            if not bounces.any():
                continue
            collided = True
            if len(rows) == 1:
                p = single_impulse(block, u[0], float(pair.restitution[0]), float(pair.friction[0, 1]))[None]
            else:
                p, _ = simultaneous_impulses(pair, block, u, np.where(bounces, pair.restitution, 0.0))
            impulse[rows] += p
            velocity += (A[:, where] @ p.ravel()).reshape(m, 3)
        if not collided:
            return impulse, done
    return impulse, passes


def single_impulse(K: Array, u: Array, restitution: float, friction: float) -> Array:
    """Impulse of one contact [N s], contact frame, that makes no energy.

    Args:
        K: Impulse to relative velocity, shape (3, 3) [1/kg].
        u: Relative velocity before [m/s], shape (3,), u[0] < 0.
        restitution, friction: e and mu.
    """
    if friction == 0.0:
        return np.array([-(1.0 + restitution) * u[0] / K[0, 0], 0.0, 0.0])

    def impulse(e: float) -> Array:
        return _coulomb_impulse(K, u, e, friction)

    return _without_energy(impulse, lambda p: float(p @ (u + 0.5 * (K @ p))), restitution)


def _coulomb_impulse(K: Array, u: Array, e: float, friction: float) -> Array:
    """Newton's law for the normal, Coulomb's for the tangent."""
    target = np.array([-e * u[0], 0.0, 0.0])
    # K is singular where axes are locked: of the impulses that change as much this is the least.
    stick = np.asarray(np.linalg.lstsq(K, target - u, rcond=None)[0], np.float64)
    if np.hypot(stick[1], stick[2]) <= friction * stick[0]:
        return stick
    # Slips to the end. Against the slip before, if that still is the slip's direction afterwards.
    speed = float(np.hypot(u[1], u[2]))
    if speed > 0.0:
        direction = np.array([1.0, *(-friction * u[1:] / speed)])
        mass = float(K[0] @ direction)
        if mass > 0.0:
            p = direction * (-(1.0 + e) * u[0] / mass)
            after = u[1:] + K[1:] @ p
            if after @ u[1:] >= 0.0 and abs(after[0] * u[2] - after[1] * u[1]) <= 1e-9 * speed * speed:
                return p
    # The slip turns: the impulse against the slip that it leaves (maximal dissipation).
    return solve_cone(K, (u - target)[None], np.array([friction])).f[0]


def simultaneous_impulses(
    contacts: ContactPoints, A, velocity: Array, restitution: Array
) -> tuple[Array, float]:
    """Impulses at all contacts at once: v+ + e v- >= 0, j >= 0, j (v+ + e v-) = 0; v+ >= 0 at the others.

    Args:
        A: Impulses to relative velocities [1/kg], shape (3 m, 3 m), an array or sparse.
        velocity: Relative velocities in the contact frames [m/s], shape (m, 3).
        restitution: e of each contact, 0 where it rests; shape (m,).

    Returns:
        Impulses [N s], shape (m, 3), and the residual of the system.

    Source: Baraff 1989, section 8, as an LCP in the signs of 1997.
    """
    m = len(contacts.slot)
    friction = contacts.friction[:, 1]
    approach = np.minimum(velocity[:, 0], 0.0)
    residual = 0.0

    def solve(e: Array) -> Array:
        nonlocal residual
        b = velocity.copy()
        b[:, 0] += e * approach
        if not friction.any():
            normal = np.arange(0, 3 * m, 3)
            solution = solve_lcp(part_of(A, normal), b[:, 0])
            residual = solution.residual
            return np.column_stack([solution.f, np.zeros((m, 2))])
        found = solve_cone(A, b, friction)
        residual = found.residual
        return found.f

    def energy(p: Array) -> float:
        return float(p.ravel() @ (velocity.ravel() + 0.5 * _dense(A @ p.ravel())))

    if not friction.any():
        return solve(restitution), residual
    return _without_energy(lambda part: solve(part * restitution), energy, 1.0), residual


def collision_events(
    kind: EventKind, time: float, names: list[str], contacts: ContactPoints, u: Array, impulse: Array,
    place: Array,
) -> list[ContactEvent]:  # fmt: skip
    """Who collided with whom: one event for each pair of bodies.

    Args:
        time: Of the collision [s].
        names: Of all bodies.
        u: Velocities before [m/s], contact frames, shape (m, 3).
        impulse: [N s], contact frames, shape (m, 3).
        place: Centres of mass of all bodies [m], shape (n, 3).
    """
    pairs: dict[tuple[int, int], list[int]] = {}
    for row in np.flatnonzero(impulse[:, 0] > 0.0).tolist():
        pairs.setdefault(tuple(contacts.body[row].tolist()), []).append(row)
    events = []
    for (a, b), rows in pairs.items():
        row = max(rows, key=lambda i: float(impulse[i, 0]))
        point = 0.5 * (contacts.arm[row] + place[[a, b]]).sum(axis=0)
        events.append(
            ContactEvent(
                time, kind, names[a], names[b], float(impulse[rows, 0].sum()), tuple(point.tolist()),
                tuple(contacts.normal[row].tolist()), float(np.linalg.norm(u[row])),
            )
        )  # fmt: skip
    return events


def _without_energy(impulse, energy, most: float) -> Array:
    """The impulse with the largest restitution up to `most` that makes no energy."""
    p = impulse(most)
    if most == 0.0 or energy(p) <= 0.0:
        return p
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if energy(impulse(middle)) <= 0.0:
            low = middle
        else:
            high = middle
    return impulse(low)


def _dense(values) -> Array:
    return values if isinstance(values, np.ndarray) else values.toarray()
