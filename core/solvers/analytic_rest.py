"""Resting contact: forces that keep bodies apart, and the correction of what integration drifts.

Forces satisfy A f + b >= 0, f >= 0, f . (A f + b) = 0 (Baraff 1997, section 9) and Coulomb's law with a
round cone (`friction_cone.py`); islands are solved one by one. Where friction leaves no forces at all,
as for Painleve's rod, an impulse ends the slip in no time: Stewart 2000, *Rigid-body dynamics with friction
and impact*, section 4: the solution of a time step whose length goes to zero.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..dynamics.body_state import BodyModel, BodyState, quat_multiply
from ..dynamics.motion import update_all_derived
from ..errors import SolverError
from .analytic_contacts import (
    Array,
    ContactPoints,
    apply_impulses,
    build_system,
    find_islands,
    frame_velocity,
    moments_about_normals,
    wrenches,
)
from .analytic_events import BAND, ContactFinder
from .analytic_rows import slip_directions
from .friction_cone import ACCEPTED, solve_cone
from .lcp import part_of, solve_by_linear_programs, solve_lcp

# Friction against a spin follows from the load, which hardly depends on it, for a round body on a plane not
# at all: each round brings the load closer by mu times the patch's radius over the body's size.
DRILL_ROUNDS, SAME_FORCE = 20, 1e-13
PART_ROUNDS = 100  # of moving bodies apart that overlap at the start
INSTANT = 1e-9  # [s] of the time step whose impulse replaces forces that do not exist


@dataclass
class SolveCount:
    """What the systems of a run took."""

    systems: int = 0
    unsolved: int = 0
    wrong_guesses: int = 0
    worst_residual: float = 0.0

    def note(self, residual: float) -> None:
        """Count a system by the residual of its solution."""
        self.systems += 1
        if residual <= ACCEPTED:
            self.worst_residual = max(self.worst_residual, residual)
        else:
            self.unsolved += 1


def slip_velocity(contacts: ContactPoints, state: BodyState, u: Array, arm: float) -> Array:
    """Slip in the contact frames [m/s], shape (m, 3): how fast the patch spins, then (t1, t2).

    Friction brakes a patch that slips and spins as it brakes a point that slips with these three, of which
    the first is the spin times the `arm` [m] of a pure spin's friction; 0 for a point. So friction is in one
    ball of (moment / arm, f_t1, f_t2) of radius mu f_n: Leine & Glocker 2003, section 3, which shows how near
    that is to the law of Contensou 1962 for Hertz's pressure.

    Args:
        u: Velocities in the contact frames [m/s], shape (m, 3).
    """
    slip = u.copy()
    slip[:, 0] = 0.0
    if arm > 0.0:
        spin = state.w[contacts.body[:, 0]] - state.w[contacts.body[:, 1]]
        slip[:, 0] = arm * (contacts.normal * spin).sum(axis=1)
    return slip


def slip_along(
    contacts: ContactPoints, u: Array, slips: NDArray[np.bool_], along: Array | None = None,
    slowest: float = 0.0,
) -> Array:  # fmt: skip
    """Direction of the slip u, zero where the contact sticks, shape (m, 3); see `slip_directions`."""
    slip = np.empty((len(u), 3))
    slip_directions(
        u, contacts.frame, slips, np.zeros((len(u), 3)) if along is None else along, slowest, slip
    )
    return slip


def solve_forces(
    contacts: ContactPoints,
    model: BodyModel,
    state: BodyState,
    b: Array,
    slip: Array,
    guess: Array,
    *,
    method: str,
    count: SolveCount,
    arm: float,
) -> tuple[Array, Array, list[NDArray[np.int64]]]:
    """Forces of resting contact, island by island.

    Args:
        b: Relative accelerations without contact forces, contact frames [m/s^2], shape (m, 3).
        slip: Directions of contacts that slip, zero for others, shape (m, 3).
        guess: Forces to start from [N], shape (m, 3).
        method: "lcp" or "lp" for contacts without friction.
        arm: Of friction against a spin [m]: see `slip_velocity`.

    Returns:
        Forces on a in the contact frames [N], shape (m, 3), moments on a about the normals [N m], shape (m,),
        and the islands that have none.
    """
    force, drill, unsolved = np.zeros((len(b), 3)), np.zeros(len(b)), []
    for rows in find_islands(contacts, model):
        island = contacts if len(rows) == len(b) else contacts.select(rows)
        A = build_system(island, model, state)
        sliding = np.asarray(slip[rows].any(axis=1))
        friction = np.where(sliding, island.friction[:, 1], island.friction[:, 0])
        if not friction.any():
            A = part_of(A, np.arange(0, 3 * len(rows), 3))
            if method == "lp":
                f, wrong = solve_by_linear_programs(A, b[rows, 0])
                count.wrong_guesses += wrong
                residual = 0.0 if np.isfinite(f).all() else np.inf
            else:
                solution = solve_lcp(A, b[rows, 0], guess=guess[rows, 0] if guess[rows, 0].any() else None)
                f, residual = solution.f, solution.residual
            force[rows, 0] = np.where(np.isfinite(f), f, 0.0)
        else:
            start = guess[rows] if guess[rows].any() else _frictionless(A, b[rows])
            along = slip[rows]
            brake = -arm * friction * along[:, 0]  # moment per normal force
            for _ in range(DRILL_ROUNDS if brake.any() else 1):
                drill[rows] = brake * start[:, 0]
                answer = _answer_to(island, drill[rows], model, state) if brake.any() else 0.0
                solution = solve_cone(
                    A, b[rows] + answer, friction, slip=along[:, 1:], slips=sliding, guess=start
                )
                change, start = np.abs(solution.f - start).max(), solution.f
                if change <= SAME_FORCE * np.abs(start).max():
                    break
            force[rows], residual = solution.f, solution.residual
        count.note(residual)
        if residual > ACCEPTED:
            unsolved.append(rows)
    return force, drill, unsolved


def _answer_to(contacts: ContactPoints, drill: Array, model: BodyModel, state: BodyState) -> Array:
    """Relative accelerations of contacts by moments on a about their normals, contact frames, (m, 3)."""
    turn = moments_about_normals(contacts, drill, len(model.mass))
    spin_up = np.einsum("nij,nj->ni", state.inv_I.reshape(-1, 3, 3), turn)
    return frame_velocity(contacts, state._replace(v=np.zeros_like(spin_up), w=spin_up))


def _frictionless(A, b: Array) -> Array:
    """Forces as if there were no friction: where to start from."""
    force = np.zeros_like(b)
    force[:, 0] = solve_lcp(part_of(A, np.arange(0, 3 * len(b), 3)), b[:, 0]).f
    return force


def impulse_without_collision(
    contacts: ContactPoints, model: BodyModel, state: BodyState, b: Array
) -> tuple[Array, float]:
    """The impulse [N s], shape (m, 3), of contacts that no force can keep apart, and its residual.

    A step of length h has the velocities u + h b + A p; for h to zero p vanishes where forces exist and
    tends to an impulse that ends the slip where they do not.
    """
    A = build_system(contacts, model, state)
    u = frame_velocity(contacts, state)
    stop = solve_lcp(A, u.ravel(), free=np.ones(3 * len(u), bool)).f.reshape(-1, 3)
    solution = solve_cone(A, u + INSTANT * b, contacts.friction[:, 1], guess=stop)
    return solution.f, solution.residual


def hold_contacts(
    contacts: ContactPoints, model: BodyModel, state: BodyState, sticks: NDArray[np.bool_], no_gap: float,
    no_speed: float,
) -> None:  # fmt: skip
    """Take back what integration has drifted at contacts under load: gaps, and velocities where they hold.

    Constraints that are kept at the level of accelerations drift by the integrator's error; both parts are
    projected with the masses as metric (Baraff 1997 leaves this to the tolerance). The corrections are of
    the size of that error.

    Args:
        sticks: Contacts whose slip is held as well, shape (m,).
        no_gap, no_speed: Drifts that are left [m], [m/s].
    """
    for rows in find_islands(contacts, model):
        island = contacts.select(rows)
        A = build_system(island, model, state)
        held = np.column_stack([np.ones(len(rows), bool), sticks[rows], sticks[rows]]).ravel()
        keep = np.flatnonzero(held)
        p = np.zeros(3 * len(rows))
        u = frame_velocity(island, state).ravel()[keep]
        if np.abs(u).max() > no_speed:
            p[keep] = solve_lcp(part_of(A, keep), u, free=np.ones(len(keep), bool)).f
            apply_impulses(island, p.reshape(-1, 3), model, state)
        normal = np.arange(0, 3 * len(rows), 3)
        if np.abs(island.separation).max() > no_gap:
            p = np.zeros(3 * len(rows))
            p[normal] = solve_lcp(part_of(A, normal), island.separation, free=np.ones(len(rows), bool)).f
            _displace(island, p.reshape(-1, 3), model, state)


def stop_normals(
    contacts: ContactPoints, model: BodyModel, state: BodyState, captured: NDArray[np.bool_]
) -> None:
    """Take the normal velocity of some contacts, shape (m,), away, and let the others not approach.

    The nearest such velocities in the metric of the masses, so that no energy is made.
    """
    for rows in find_islands(contacts, model):
        if not captured[rows].any():
            continue
        island, normal = contacts.select(rows), np.arange(0, 3 * len(rows), 3)
        A = part_of(build_system(island, model, state), normal)
        p = np.zeros((len(rows), 3))
        p[:, 0] = solve_lcp(A, frame_velocity(island, state)[:, 0], free=captured[rows]).f
        apply_impulses(island, p, model, state)


def part_overlaps(
    finder: ContactFinder, model: BodyModel, state: BodyState, tolerance: float, names: list[str]
) -> list[tuple[int, int, float]]:
    """Move overlapping bodies apart without a velocity: J q + s >= 0, least q in the masses' metric.

    Returns:
        (a, b, depth [m]) of each pair that was deeper than the tolerance [m].

    Raises:
        SolverError: They cannot be moved apart; names two of them.
    """
    deepest: dict[tuple[int, int], float] = {}
    for _ in range(PART_ROUNDS):
        finder.update_pairs(state, np.full(len(names), tolerance))
        contacts = finder.points(state, 0.0)
        if contacts.separation.min(initial=0.0) >= -BAND * tolerance:
            return [(a, b, depth) for (a, b), depth in deepest.items()]
        if not deepest:
            for (a, b), s in zip(contacts.body.tolist(), contacts.separation.tolist(), strict=True):
                if s < -tolerance:
                    deepest[a, b] = max(deepest.get((a, b), 0.0), -s)
        for rows in find_islands(contacts, model):
            island = contacts.select(rows)
            A = build_system(island, model, state)
            p = np.zeros((len(rows), 3))
            p[:, 0] = solve_lcp(part_of(A, np.arange(0, 3 * len(rows), 3)), island.separation).f
            _displace(island, p, model, state)
        update_all_derived(model, state)
    a, b = max(deepest, key=lambda pair: deepest[pair]) if deepest else (0, 0)
    raise SolverError(
        f"bodies '{names[a]}' and '{names[b]}' overlap at the start (t = 0 s) and cannot be moved apart; "
        "move them apart in the scene"
    )


def _displace(contacts: ContactPoints, impulse: Array, model: BodyModel, state: BodyState) -> None:
    """Move positions by what impulses would do in a unit of time."""
    momentum, spin = wrenches(contacts, impulse, model)
    state.c[:] += model.inv_mass * momentum
    turn = np.einsum("nij,nj->ni", state.inv_I.reshape(-1, 3, 3), spin)
    quaternion = np.concatenate([np.ones((len(turn), 1)), 0.5 * turn], axis=1)
    turned = np.flatnonzero(turn.any(axis=1))
    q = quat_multiply(quaternion[turned], state.q[turned])
    state.q[turned] = q / np.linalg.norm(q, axis=1, keepdims=True)
