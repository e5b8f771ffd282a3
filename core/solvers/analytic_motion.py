"""Motion between events: free bodies fly in closed form, bodies under forces are integrated.

The state of a driven body is (c, q, v, L), as in Baraff 1997, section 2 (with v for P); its derivative asks
for the contact forces of that very state, as `compute_contact_forces` does there.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.body_state import DYNAMIC, KINEMATIC, BodyModel, BodyState
from ..dynamics.driven_bodies import (
    PARTS,
    allowed_errors,
    carry_bodies,
    copy_state,
    free_accelerations,
    place_bodies,
    start_vector,
    vector_sizes,
    write_rates,
)
from ..dynamics.force_jacobian import rates_jacobian
from ..dynamics.forces import AppliedForces
from ..dynamics.integrators import IntegratorName, Piece, integrate
from ..dynamics.motion import empty_plan, move_bodies, plan_free_motion
from .analytic_contacts import Array, ContactPoints, frame_velocity, relative_acceleration, wrenches
from .analytic_events import LASTING, ContactFinder
from .analytic_rest import SolveCount, slip_along, slip_velocity, solve_forces
from .analytic_rows import match_contacts

# Absolute error of a step, in units of tolerance times rtol: 1e-10 at the default settings, a tenth of the
# band within which bodies are in touch.
ABSOLUTE = 1e3
# [rad] in one step of a body that tumbles. Its energy wavers by at most 3.1e-4 turn^4 about what it is, as
# the steps are a splitting of order 4 (worst of .01 : 1 : 1.005 to 1 : 10 : 11, any axis): a hundred flights
# then change it by at most a hundred times 1e-12. And most steps of one flight.
SMALL_TURN, MOST_TURNS = 0.0075, 2500
# Arm of the friction of a patch under Hertz's pressure that spins about its middle, in parts of its radius:
# Leine & Glocker 2003, section 3.
HERTZ = 3.0 * np.pi / 16.0
SHORTEST_STEP = 2.5e-4  # [s] in contact: within it contacts may begin or cease to stick unseen


class Touch(NamedTuple):
    """Contacts that last through a step."""

    contacts: ContactPoints
    force: Array  # [N] (m, 3) contact frames
    slips: NDArray[np.bool_]  # (m,)
    slip: Array  # (m, 3) direction of the slip at the start, world axes: see `slip_velocity`
    resting_speed: float  # [m/s]


class NoForcesError(Exception):
    """No contact forces exist at a time [s] after the start of a step."""


class Way:
    """The motion of all bodies from a state on: held ones stay, driven ones were integrated, the rest fly."""

    def __init__(self, mover: "Mover", start: BodyState, held: NDArray[np.bool_], h: float) -> None:
        self.mover, self.start, self.held = mover, start, held
        self.failed: float | None = None  # the time after the start at which no forces were found [s]
        self.rows = np.zeros(0, np.int64)  # driven bodies
        self.pieces: list[Piece] = []
        self.end: tuple[float, Array] = h, np.zeros(0)  # time, and y of the driven bodies

    def at(self, t: float) -> BodyState:
        """All bodies a time [s] after the start."""
        later = self.mover.fly(self.start, t)
        for new, old in zip(later, self.start, strict=True):
            new[self.held] = old[self.held]
        if len(self.rows) and t > 0.0:
            place_bodies(self.mover.model, self.start, later, self.rows, self._integrated(t).reshape(-1, 13))
        return later

    def is_rough(self, t: float) -> bool:
        """Whether friction changed too fast for the integrator's error estimate around a time [s]."""
        return any(piece.rough for piece in self.pieces if piece.start < t <= piece.end)

    def _integrated(self, t: float) -> Array:
        if t == self.end[0]:
            return self.end[1]
        piece = next(piece for piece in self.pieces if t <= piece.end)
        return piece.at(t - piece.start)


class Mover:
    """Moves all bodies from a state to that of a moment later."""

    def __init__(
        self,
        model: BodyModel,
        gravity: Array,
        finder: ContactFinder,
        forces: AppliedForces,
        *,
        integrator: IntegratorName,
        rtol: float,
        tolerance: float,
        method: str,
        contact_radius: float,
    ) -> None:
        self.model, self.gravity, self.finder, self.forces = model, gravity, finder, forces
        self.body_gravity = np.tile(gravity, (len(model.kind), 1))
        self.integrator: IntegratorName = integrator
        self.rtol, self.tolerance, self.method = rtol, tolerance, method
        self.drill_arm = HERTZ * contact_radius
        self.count = SolveCount()
        self.plan = empty_plan(len(model.mass))
        moments = model.inertia
        unequal = moments.max(axis=1) > (1.0 + 1e-12) * moments.min(axis=1)
        self._tumbles = unequal & (model.kind == DYNAMIC)
        self._allowed = allowed_errors(model, ABSOLUTE * tolerance * rtol, tolerance)

    def fly(self, state: BodyState, h: float) -> BodyState:
        """All bodies after the time h of free motion: exact, see `dynamics/motion.py`.

        But for the tumbling of bodies with unequal moments, which is of fourth order: in small turns.
        """
        later = copy_state(state)
        if h > 0.0:
            turn = float((np.linalg.norm(state.w, axis=1) * self._tumbles).max()) * h
            parts = int(min(max(np.ceil(turn / SMALL_TURN), 1.0), MOST_TURNS))
            for _ in range(parts):
                plan_free_motion(self.model, later, self.body_gravity, h / parts, self.plan)
                move_bodies(self.model, later, self.plan, self.body_gravity, h / parts)
        return later

    def move(
        self, state: BodyState, time: float, h: float, driven: NDArray[np.bool_], held: NDArray[np.bool_],
        touch: Touch, is_late: Callable[[BodyState], bool],
    ) -> Way:  # fmt: skip
        """The way of all bodies for the time h: held ones stay, driven ones are integrated, the rest fly.

        Args:
            time: Of `state` [s].
            is_late: Whether something has happened by then: asked where friction changes too fast for the
                integrator, so that many short steps are not taken in vain.
        """
        way = Way(self, state, held, h)
        rows = np.flatnonzero(driven)
        if len(rows) == 0 or h == 0.0:
            return way
        way.rows = rows
        y = start_vector(state, rows)
        moving = np.flatnonzero(self.model.kind == KINEMATIC)
        touch = touch._replace(force=touch.force.copy())
        now = copy_state(state)

        def derivative(t: float, flat: Array) -> Array:
            carry_bodies(self.model, state, now, moving, t)
            place_bodies(self.model, state, now, rows, flat.reshape(-1, 13))
            rates, found = self._derivative(now, rows, time + t, touch)
            if not found and h > SHORTEST_STEP:
                raise NoForcesError(t)
            return rates

        def jacobian(t: float, flat: Array) -> Array:
            place_bodies(self.model, state, now, rows, flat.reshape(-1, 13))
            return rates_jacobian(self.forces, now, time + t, rows)

        def stop(t: float, flat: Array) -> bool:
            way.end = t, flat
            return is_late(way.at(t))

        # Contact forces answer applied ones, and locked axes the turning: those are left to differences.
        is_plain = len(touch.force) == 0 and not self.model.lock_angular[rows].any()
        try:
            end = integrate(
                self.integrator, derivative, 0.0, y, h, rtol=np.tile(self.rtol * PARTS, len(rows)),
                atol=self._allowed[rows].ravel(), shortest=SHORTEST_STEP if len(touch.force) else 0.0,
                jacobian=jacobian if is_plain else None, pieces=way.pieces, stop=stop, size=vector_sizes,
            )  # fmt: skip
        except NoForcesError as jammed:
            way.failed = jammed.args[0]
            return way
        way.end = way.pieces[-1].end, end
        return way

    def free_acceleration(self, state: BodyState, time: float) -> tuple[Array, Array, Array]:
        """Accelerations without contact (n, 3), and torques about the centres of mass (n, 3).

        Equation: a = F / m, alpha = I^-1 (tau - w x L): C-10 of Baraff 1997, appendix C.

        Returns:
            a [m/s^2], alpha [rad/s^2], torque [N m], in which damping is counted.
        """
        force, torque = self.forces.wrench(state, time)
        a, alpha = np.empty_like(force), np.empty_like(force)
        free_accelerations(self.model, state, self.gravity, force, torque, a, alpha)
        return a, alpha, torque

    def with_contact(
        self, contacts: ContactPoints, force: Array, drill: Array, state: BodyState, a: Array, alpha: Array
    ) -> tuple[Array, Array]:
        """Accelerations with contact forces [N], contact frames, (m, 3), and moments about normals [N m]."""
        push, turn = wrenches(contacts, force, self.model, drill)
        spin = np.einsum("nij,nj->ni", state.inv_I.reshape(-1, 3, 3), turn)
        return a + push * self.model.inv_mass, alpha + spin

    def _derivative(
        self, state: BodyState, rows: NDArray[np.int64], time: float, touch: Touch
    ) -> tuple[Array, bool]:
        """y' of the driven bodies, and whether forces exist; these are kept in `touch` for the next time."""
        found = True
        a, alpha, torque = self.free_acceleration(state, time)
        contacts, match = self.same_contacts(state, touch)
        if len(match):
            u = slip_velocity(contacts, state, frame_velocity(contacts, state), self.drill_arm)
            slip = slip_along(contacts, u, touch.slips[match], touch.slip[match], touch.resting_speed)
            b = relative_acceleration(contacts, state, a, alpha)
            force, drill, unsolved = solve_forces(
                contacts, self.model, state, b, slip, touch.force[match], method=self.method,
                count=self.count, arm=self.drill_arm,
            )  # fmt: skip
            found = len(unsolved) == 0
            push, turn = wrenches(contacts, force, self.model, drill)
            a, torque = a + push * self.model.inv_mass, torque + turn
        rates = np.empty((len(rows), 13))
        write_rates(state, rows, a, torque, rates)
        return rates.ravel(), found

    def same_contacts(self, state: BodyState, touch: Touch) -> tuple[ContactPoints, NDArray[np.int64]]:
        """The lasting contacts where they are now: by feature, else by pair where features have changed.

        Points that hardly part are all found among those that touch; those farther apart may crowd out the
        deepest one.
        """
        then = touch.contacts
        if len(touch.force) == 0:
            return then, np.zeros(0, np.int64)
        loaded = touch.force[:, 0] > 0.0
        for slack in (LASTING * self.tolerance, self.tolerance):
            now = self.finder.points(state, slack)
            chosen, match = np.empty((2, len(now.slot)), np.int64)
            quiet = np.abs(frame_velocity(now, state)[:, 0]) <= touch.resting_speed
            count = match_contacts(
                now.slot, now.feature, now.body, now.frame, quiet, then.slot, then.feature, then.body,
                then.frame, chosen, match,
            )  # fmt: skip
            chosen, match = chosen[:count], match[:count]
            if loaded[np.unique(match)].sum() == loaded.sum():
                break
        return now if count == len(now.slot) else now.select(chosen), match
