"""Motion between events: free bodies fly in closed form, bodies under forces are integrated.

The state of a driven body is (c, q, v, L), as in Baraff 1997, section 2 (with v for P); its derivative asks
for the contact forces of that very state, as `compute_contact_forces` does there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.body_state import DYNAMIC, KINEMATIC, BodyModel, BodyState, quat_multiply
from ..dynamics.forces import AppliedForces
from ..dynamics.integrators import IntegratorName, integrate
from ..dynamics.motion import empty_plan, move_bodies, plan_free_motion, update_all_derived
from .analytic_contacts import Array, ContactPoints, cross, relative_acceleration
from .analytic_events import ContactFinder
from .analytic_rest import SolveCount, frame_velocity, slip_directions, solve_forces

# Absolute error of a step, in units of tolerance times rtol: 1e-10 at the default settings, a tenth of the
# band within which bodies are in touch.
ABSOLUTE = 1e3
SHORTEST_STEP = 2.5e-4  # [s] in contact: within it contacts may begin or cease to stick unseen


class Touch(NamedTuple):
    """Contacts that last through a step."""

    contacts: ContactPoints
    force: Array  # [N] (m, 3) contact frames
    slips: NDArray[np.bool_]  # (m,)
    slip: Array  # (m, 3) direction of the slip at the start, world axes
    resting_speed: float  # [m/s]


def copy_state(state: BodyState) -> BodyState:
    """A state of its own."""
    return BodyState(*(column.copy() for column in state))


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
    ) -> None:
        self.model, self.gravity, self.finder, self.forces = model, gravity, finder, forces
        self.integrator: IntegratorName = integrator
        self.rtol, self.tolerance, self.method = rtol, tolerance, method
        self.count = SolveCount()
        self.plan = empty_plan(len(model.mass))

    def fly(self, state: BodyState, h: float) -> BodyState:
        """All bodies after the time h of free motion: exact, see `dynamics/motion.py`."""
        later = copy_state(state)
        if h > 0.0:
            plan_free_motion(self.model, later, self.gravity, h, self.plan)
            move_bodies(self.model, later, self.plan, self.gravity, h)
        return later

    def move(
        self, state: BodyState, time: float, h: float, driven: NDArray[np.bool_], held: NDArray[np.bool_],
        touch: Touch,
    ) -> BodyState:  # fmt: skip
        """All bodies after the time h: held ones where they are, driven ones integrated, the rest in flight.

        Args:
            time: Of `state` [s].
        """
        later = self.fly(state, h)
        for new, old in zip(later, state, strict=True):
            new[held] = old[held]
        rows = np.flatnonzero(driven)
        if len(rows) and h > 0.0:
            y = np.concatenate([state.c[rows], state.q[rows], state.v[rows], state.L[rows]], axis=1)
            start, touch = copy_state(state), touch._replace(force=touch.force.copy())

            def derivative(t: float, flat: Array) -> Array:
                return self._derivative(start, rows, time, t, flat.reshape(-1, 13), touch)

            allowed = ABSOLUTE * self.tolerance * self.rtol
            y = integrate(self.integrator, derivative, 0.0, y.ravel(), h, rtol=self.rtol, atol=allowed,
                          shortest=SHORTEST_STEP if len(touch.contacts.slot) else 0.0)  # fmt: skip
            y = y.reshape(-1, 13)
            _put(later, rows, y)
            update_all_derived(self.model, later)
        return later

    def free_acceleration(self, state: BodyState, time: float) -> tuple[Array, Array, Array]:
        """Accelerations without contact (n, 3), and torques about the centres of mass (n, 3).

        Equation: a = F / m, alpha = I^-1 (tau - w x L): C-10 of Baraff 1997, appendix C.

        Returns:
            a [m/s^2], alpha [rad/s^2], torque [N m], in which damping is counted.
        """
        model = self.model
        dynamic = (model.kind == DYNAMIC)[:, None]
        force, torque = self.forces.wrench(state, time)
        a = np.where(model.inv_mass > 0.0, self.gravity, 0.0) + force * model.inv_mass
        a -= model.damping[:, :1] * state.v * (model.inv_mass > 0.0)
        torque = torque - model.damping[:, 1:] * state.L
        turning = torque - cross(state.w, state.L)
        alpha = np.einsum("nij,nj->ni", state.inv_I.reshape(-1, 3, 3), turning)
        return np.where(dynamic, a, 0.0), np.where(dynamic, alpha, 0.0), np.where(dynamic, torque, 0.0)

    def with_contact(
        self, contacts: ContactPoints, force: Array, state: BodyState, a: Array, alpha: Array
    ) -> tuple[Array, Array, Array]:
        """Accelerations and torques with contact forces [N], shape (m, 3); the torques of contact alone."""
        if len(force) == 0:
            return a, alpha, np.zeros_like(a)
        model = self.model
        f = np.einsum("mrk,mr->mk", contacts.frame, force)
        push, turn = np.zeros_like(a), np.zeros_like(a)
        for side, sign in ((0, 1.0), (1, -1.0)):
            np.add.at(push, contacts.body[:, side], sign * f)
            np.add.at(turn, contacts.body[:, side], sign * cross(contacts.arm[:, side], f))
        turn *= np.asarray(model.inv_inertia.any(axis=1))[:, None]
        spin = np.einsum("nij,nj->ni", state.inv_I.reshape(-1, 3, 3), turn)
        return a + push * model.inv_mass, alpha + spin, turn

    def _derivative(self, start: BodyState, rows, time: float, t: float, y: Array, touch: Touch) -> Array:
        """y' of the driven bodies at the time t after the step's start."""
        state = copy_state(start)
        moving = np.flatnonzero(self.model.kind == KINEMATIC)
        state.c[moving] += t * start.v[moving]
        state.q[moving] = _turned(start.q[moving], start.w[moving], t)
        _put(state, rows, y)
        update_all_derived(self.model, state)
        a, alpha, torque = self.free_acceleration(state, time + t)
        if len(touch.contacts.slot):
            contacts, match = self._same_contacts(state, touch)
            if len(contacts.slot):
                slips = touch.slips[match]
                before = np.einsum("mrk,mk->mr", contacts.frame[:, 1:], touch.slip[match])
                slip = slip_directions(frame_velocity(contacts, state), slips, before, touch.resting_speed)
                b = relative_acceleration(contacts, state, a, alpha)
                force, _ = solve_forces(
                    contacts,
                    self.model,
                    state,
                    b,
                    slip,
                    touch.force[match],
                    method=self.method,
                    count=self.count,
                )
                touch.force[match] = force  # where the next evaluation starts from
                a, _, turn = self.with_contact(contacts, force, state, a, alpha)
                torque = torque + turn
        w = state.w[rows]
        dq = 0.5 * quat_multiply(np.concatenate([np.zeros((len(rows), 1)), w], axis=1), state.q[rows])
        return np.concatenate([state.v[rows], dq, a[rows], torque[rows]], axis=1).ravel()

    def _same_contacts(self, state: BodyState, touch: Touch) -> tuple[ContactPoints, NDArray[np.int64]]:
        """The lasting contacts where they are now: by feature, else by pair where features have changed."""
        now = self.finder.points(state, self.tolerance)
        place = {key: i for i, key in enumerate(touch.contacts.identities())}
        keys = now.identities()
        known = [i for i, key in enumerate(keys) if key in place]
        pairs = {keys[i][0] for i in known}
        of_pair: dict[int, int] = {}
        for i, slot in enumerate(touch.contacts.slot.tolist()):
            of_pair.setdefault(slot, i)
        chosen, match = [], []
        for i, key in enumerate(keys):
            if key in place:
                chosen.append(i)
                match.append(place[key])
            elif key[0] not in pairs and key[0] in of_pair:
                chosen.append(i)
                match.append(of_pair[key[0]])
        return now.select(np.array(chosen, np.int64)), np.array(match, np.int64)


def _put(state: BodyState, rows, y: Array) -> None:
    state.c[rows], state.v[rows], state.L[rows] = y[:, :3], y[:, 7:10], y[:, 10:]
    state.q[rows] = y[:, 3:7] / np.linalg.norm(y[:, 3:7], axis=1, keepdims=True)


def _turned(q: Array, w: Array, t: float) -> Array:
    """Orientations after a steady turn."""
    half = 0.5 * t * w
    angle = np.linalg.norm(half, axis=1, keepdims=True)
    turn = np.concatenate([np.cos(angle), half * np.sinc(angle / np.pi)], axis=1)
    return quat_multiply(turn, q)
