"""Applied forces in the impulse solver: what springs, thrusters and the like do to free bodies in a step.

Along the way that bodies are about to take the forces are integrated with an error far below that of the
step, once with them and once without. The difference, the drive, is added to the plan of the step as gravity
is: to the mean velocity, by which contacts are predicted, and to the momenta at its end. So what touches
nothing moves as exactly as the integrator does, at any step length.

The way of what touches something is bent by the contact forces of the last step. With all of them a spring of
more than half a swing a step would answer an error of theirs by up to 1.22 of it, and contact and spring
would drive each other up; CARRIED of them keeps that below 1. What was held at rest is taken to stay so.

Of a collision nothing is known before the step. What the forces would have done otherwise to a body that
bounced is made up for afterwards, or they would make energy.
"""

import numpy as np

from ..dynamics.body_state import DYNAMIC, KINEMATIC, BodyModel, BodyState, quat_multiply
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
from ..dynamics.forces import AppliedForces
from ..dynamics.integrators import integrate
from ..dynamics.kinematic import rotation_vector
from ..dynamics.motion import WILD_TURN, MotionPlan
from ..forces import Force, UniformField

CARRIED = 0.8
RTOL, ATOL = 1e-8, 1e-10  # error in a step, relative, and [m] of a length
_RELEASED = "kind", "inv_mass", "inv_inertia"  # of the model, that change when a body is released
_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


class Drive:
    """What the applied forces of a scene do to its bodies; looks only at those that any acts on."""

    def __init__(
        self, forces: list[Force], names: list[str], model: BodyModel, gravity: np.ndarray, tolerance: float
    ) -> None:
        """`names` in the order of the model; uniform fields are part of `gravity` [m/s^2], shape (n, 3)."""
        forces = [force for force in forces if not isinstance(force, UniformField)]
        self.whole = model
        self.rows = np.flatnonzero(AppliedForces(forces, names, model).acts_on)
        self.model = BodyModel(*(column[self.rows] for column in model))
        self.forces = AppliedForces(forces, [names[i] for i in self.rows], self.model)
        self.weight = self.model.mass[:, None] * gravity[self.rows]
        self.errors = allowed_errors(self.model, ATOL, tolerance)
        self.start: BodyState  # of the step, only these bodies

    def __bool__(self) -> bool:
        """Whether there are any forces."""
        return len(self.rows) > 0

    def woken(self, asleep: np.ndarray, state: BodyState, time: float) -> np.ndarray:
        """Those of the bodies asleep, (n,), on which a force acts, indices (k,)."""
        if not asleep[self.rows].any():
            return self.rows[:0]
        return self.rows[self.forces.woken(asleep[self.rows], self._part_of(state), time)]

    def plan(self, state: BodyState, time: float, h: float, held: np.ndarray, plan: MotionPlan) -> np.ndarray:
        """Write the drive of the step of length h [s] that begins at `time` [s].

        Args:
            held: Bodies held at rest in the last step, shape (n,).
            plan: Its `drive` is written; `force` and `torque` are read.

        Returns:
            Bodies whose drive is not what it was, indices (k,).

        Raises:
            SolverError: A force is not finite.
        """
        for name in _RELEASED:
            getattr(self.model, name)[:] = getattr(self.whole, name)[self.rows]
        self.start = start = self._part_of(state)
        rows = np.flatnonzero(self.model.kind == DYNAMIC)
        force = self.weight + CARRIED * plan.force[self.rows] / h
        torque = CARRIED * plan.torque[self.rows] / h
        still = held[self.rows] & ~start.v.any(axis=1) & ~start.w.any(axis=1)
        if still.any():
            push, turn = self.forces.wrench(start, time)
            force[still], torque[still] = -push[still], -turn[still]
        drive = np.zeros((len(self.rows), 12))
        if len(rows):
            ends = [self._end(start, rows, force, torque, time, h, applied) for applied in (True, False)]
            drive[rows] = self._difference(start, rows, *ends, h)
        changed = self.rows[(drive != plan.drive[self.rows]).any(axis=1)]
        plan.drive[self.rows] = drive
        return changed

    def make_up(
        self, body: np.ndarray, collision: np.ndarray, count: int, state: BodyState, h: float
    ) -> None:
        """Add to the momenta at the end of a step what forces did otherwise after collisions.

        From its collision on a body was not where the drive took it to be. Half way to the end of the step
        the forces tell the difference, on what a spring ties to it, too: the momentum of both stays.

        Args:
            body: Of each contact, shape (c, 2); `count` of them are in use.
            collision: Impulses of collisions [N s], shape (c, 3).
            state: At the end of the step, of length h [s].
        """
        collided = body[:count][collision[:count].any(axis=1)]
        here = np.flatnonzero(np.isin(self.rows, collided) & (self.model.kind == DYNAMIC))
        if len(here) == 0:
            return
        end = self._part_of(state)
        force, torque = np.zeros_like(end.v), np.zeros_like(end.v)
        for i in here.tolist():
            since, bounced, straight = self._after_collision(i, end, h)
            if since > 0.0:
                wrenches = (self.forces.wrench(way, 0.0) for way in (bounced, straight))
                (push, turn), (push_straight, turn_straight) = wrenches
                force += since * (push - push_straight)
                torque += since * (turn - turn_straight)
        movable = np.flatnonzero(self.model.kind == DYNAMIC)
        rows = self.rows[movable]
        state.v[rows] += force[movable] * self.model.inv_mass[movable]
        state.L[rows] += np.where(self.model.lock_angular[movable], 0.0, torque[movable])
        state.w[rows] = np.einsum("nij,nj->ni", state.inv_I[rows].reshape(-1, 3, 3), state.L[rows])

    def _after_collision(self, i: int, end: BodyState, h: float) -> tuple[float, BodyState, BodyState]:
        """The time since a body collided [s]; half of it ago: all bodies, and had this one not bounced.

        Equation: c(h) - c(0) = v(0) h + (v(h) - v(0)) since.
        """
        jump, all_rows, one = end.v[i] - self.start.v[i], np.arange(len(self.rows)), np.array([i])
        behind = end.c[i] - self.start.c[i] - h * self.start.v[i]
        square = float(jump @ jump)
        since = float(np.clip(behind @ jump / square, 0.0, h)) if square > 0.0 else 0.0
        bounced, place, straight = copy_state(end), copy_state(end), copy_state(end)
        carry_bodies(self.model, end, bounced, all_rows, -0.5 * since)
        carry_bodies(self.model, end, straight, all_rows, -0.5 * since)
        carry_bodies(self.model, end, place, one, -since)
        for column in ("v", "L", "w"):
            getattr(place, column)[i] = getattr(self.start, column)[i]
            getattr(straight, column)[i] = getattr(self.start, column)[i]
        carry_bodies(self.model, place, straight, one, 0.5 * since)
        return since, bounced, straight

    def _part_of(self, state: BodyState) -> BodyState:
        return BodyState(*(column[self.rows] for column in state))

    def _end(
        self, start: BodyState, rows: np.ndarray, force: np.ndarray, torque: np.ndarray, time: float,
        h: float, applied: bool,
    ) -> np.ndarray:  # fmt: skip
        """Where bodies are at the end of a step, y of shape (k, 13), with what else acts constant in it.

        Args:
            rows: Those to move; animated ones go on as they do.
            force, torque: What else acts on all [N], [N m], shapes (n, 3).
            applied: Whether the applied forces act.
        """
        now, moving = copy_state(start), np.flatnonzero(self.model.kind == KINEMATIC)
        a, alpha, none = np.empty_like(force), np.empty_like(force), np.zeros(3)
        rates = np.empty((len(rows), 13))
        begin = time

        def derivative(t: float, y: np.ndarray) -> np.ndarray:
            carry_bodies(self.model, start, now, moving, t - time)
            place_bodies(self.model, start, now, rows, y.reshape(-1, 13))
            push, turn = force.copy(), torque.copy()
            if applied:
                # A thruster ends where this piece does: it acts until then, whatever the rounding of t.
                for total, part in zip((push, turn), self.forces.wrench(now, min(t, last)), strict=True):
                    total += part
            free_accelerations(self.model, now, none, push, turn, a, alpha)
            write_rates(now, rows, a, turn, rates)
            return rates.ravel().copy()

        y, end = start_vector(start, rows), time + h
        while begin < end:
            piece_end = min(self.forces.next_change(begin), end) if applied else end
            last = np.nextafter(piece_end, begin)
            y = integrate(
                "dop853", derivative, begin, y, piece_end - begin, rtol=np.tile(RTOL * PARTS, len(rows)),
                atol=self.errors[rows].ravel(), size=vector_sizes,
            )  # fmt: skip
            begin = piece_end
        return y.reshape(-1, 13)

    def _difference(
        self, start: BodyState, rows: np.ndarray, end: np.ndarray, without: np.ndarray, h: float
    ) -> np.ndarray:
        """The drive of bodies, shape (k, 12), from where they end with the applied forces and without."""
        drive = np.empty((len(rows), 12))
        drive[:, :3] = (end[:, :3] - without[:, :3]) / h
        drive[:, 6:] = end[:, 7:] - without[:, 7:]
        for k, i in enumerate(rows):
            before = start.q[i] * _CONJUGATE
            turns = [rotation_vector(quat_multiply(y[k, 3:7], before)) for y in (end, without)]
            drive[k, 3:6] = (turns[0] - turns[1]) / h
            # Of what turns far in a step one cannot tell how often it has gone round.
            if h * np.linalg.norm(start.w[i]) > WILD_TURN:
                drive[k, 3:6] = 0.5 * start.inv_I[i].reshape(3, 3) @ drive[k, 9:]
        return drive
