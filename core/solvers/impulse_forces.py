"""Applied forces in the impulse solver: what springs, thrusters and the like do to free bodies in a step.

Along the way that bodies are about to take the forces are integrated with an error far below that of the
step, once with them and once without. The difference, the drive, is added to the plan of the step as gravity
is: to the mean velocity, by which contacts are predicted, and to the momenta at its end. So what touches
nothing moves as exactly as the integrator does, at any step length.

The way of what touches something is bent by the contact forces of the last step. An error of theirs comes
back as (sin x / x - 1) of it in what the drive adds to the velocity at the end of a step in which a spring
swings by x: up to 1.22 where that is more than half a swing. But an error that grows is soon one that the
integrator takes several steps for, and of what touches something the step is divided then; in its parts x
is below 2, and at most .55 comes back. What was held at rest is taken to stay so.

A force that begins or ends within a step, as that of a thruster, is one that contacts have not answered yet.
What touches others takes it up as they will do: see `_switched`.

Of a collision nothing is known before the step. What the forces would have done otherwise to a body that
bounced is made up for afterwards, or they would make energy. That is right where they change little: a step
in which they change much on what touches something is divided.
"""

import math
from functools import cached_property

import numpy as np

from ..collision.contact_set import ContactGeometry
from ..dynamics.body_state import DYNAMIC, KINEMATIC, BodyModel, BodyState
from ..dynamics.driven_bodies import (
    allowed_errors,
    carry_bodies,
    copy_state,
    free_accelerations,
    place_bodies,
    start_vector,
    vector_sizes,
    write_rates,
)
from ..dynamics.forced_motion import Forced, Method, dop853, forced_scratch, integrate_forced
from ..dynamics.forces import AppliedForces, spring_energy
from ..dynamics.integrators import Piece, integrate
from ..dynamics.motion import WHOLE, WILD_TURN, MotionPlan
from ..errors import SolverError
from ..forces import Force, UniformField, ViscousDrag
from ..jit import inner, kernel
from ..math3 import mat3, quat, vec3

FAR_BENT = 1.0  # [rad] a step: what contacts alone would turn so far turns with the forces that they balance
# What a bounce changes of a spring's momentum by the end of a step, as part of its own: (w t)^2 / 2, .2 where
# steps are divided. What seems more is no bounce, but what is held that was taken for free.
CHANGED = 0.5
MOST_BACK = 0.1  # part of a collision's impulse that may be made up for: there is more where it was slow
NO_PART = 1e-9  # of a step: round-off of times
RTOL, ATOL = 1e-8, 1e-10  # error in a step, relative, and [m] of a length
_RELEASED = "kind", "inv_mass", "inv_inertia"  # of the model, that change when a body is released


class Drive:
    """What the applied forces of a scene do to its bodies; looks only at those that any acts on."""

    def __init__(
        self, forces: list[Force], names: list[str], model: BodyModel, gravity: np.ndarray, tolerance: float
    ) -> None:
        """`names` in the order of the model; uniform fields are part of `gravity` [m/s^2], shape (n, 3)."""
        forces = [force for force in forces if not isinstance(force, UniformField)]
        self.whole = model
        self.rows = np.flatnonzero(AppliedForces(forces, names, model).acts_on)
        changing = [force for force in forces if not isinstance(force, ViscousDrag)]
        self.changing = np.flatnonzero(AppliedForces(changing, names, model).acts_on)  # by where a body is
        self.names = [names[i] for i in self.rows]
        self.is_bent = False  # the way of any, by contact forces
        self.steps = 1  # that forces have to be followed in, in the step planned last
        self.model = BodyModel(*(column[self.rows] for column in model))
        self.forces = AppliedForces(forces, self.names, self.model)
        self.weight = self.model.mass[:, None] * gravity[self.rows]
        self.errors, self.tolerance = allowed_errors(self.model, ATOL, tolerance), tolerance
        self.driven = np.zeros(len(names), bool)  # bodies of the scene
        self.driven[self.rows] = True
        # Force and torque on every body, as of `note_pull`.
        self.pull = np.zeros((len(names) if len(self.rows) else 0, 6))

    def __bool__(self) -> bool:
        """Whether there are any forces."""
        return len(self.rows) > 0

    @cached_property
    def method(self) -> Method:
        """How bodies are followed; scenes without forces need not load scipy's integrators."""
        return dop853(RTOL)

    def woken(self, asleep: np.ndarray, state: BodyState, time: float) -> np.ndarray:
        """Those of the bodies asleep, (n,), on which a force acts, indices (k,)."""
        if not asleep[self.rows].any():
            return self.rows[:0]
        return self.rows[self.forces.woken(asleep[self.rows], self._part_of(state), time)]

    def plan(
        self, state: BodyState, time: float, h: float, contacts: ContactGeometry, count: int,
        held: np.ndarray, plan: MotionPlan,
    ) -> np.ndarray:  # fmt: skip
        """Write the drive of the step of length h [s] that begins at `time` [s].

        Args:
            contacts: Of the last step; so many of them count.
            held: Bodies held at rest in it, shape (n,).
            plan: Its `drive` is written; `push` and `lasts` are read.

        Returns:
            Bodies whose drive is not what it was, indices (k,).

        Raises:
            SolverError: A force is not finite, or they change too fast to be followed.
        """
        for name in _RELEASED:
            getattr(self.model, name)[:] = getattr(self.whole, name)[self.rows]
        start, rows = self._part_of(state), np.flatnonzero(self.model.kind == DYNAMIC)
        lasting = np.where(plan.lasts[self.rows, None], plan.push[self.rows], 0.0)
        force, torque = self.weight + lasting[:, :3] / h, lasting[:, 3:] / h
        self.is_bent = bool(lasting.any())
        still = held[self.rows] & ~start.v.any(axis=1) & ~start.w.any(axis=1)
        if still.any():
            push, turn = self.forces.wrench(start, time)
            force[still], torque[still] = -push[still], -turn[still]
        drive, driven, self.steps = np.zeros((len(self.rows), 13)), np.empty((len(rows), 13)), 1
        if len(rows):
            moving = np.flatnonzero(self.model.kind == KINEMATIC)
            forced = Forced(
                self.forces.table, self.model, start, rows, moving, force, torque, self.errors[rows]
            )
            end, self.steps = self._end(forced, time, h, True)
            without, _ = self._end(forced, time, h, False)
            note_drive(start, rows, end, without, torque, still, h, driven)
            drive[rows] = driven
        touching = contacts.body[:count][contacts.separation[:count] <= self.tolerance]
        drive[:, :6] += self._switched(start, time, h, np.isin(self.rows, touching))
        changed = self.rows[(drive != plan.drive[self.rows]).any(axis=1)]
        plan.drive[self.rows] = drive
        return changed

    def _switched(self, start: BodyState, time: float, h: float, touching: np.ndarray) -> np.ndarray:
        """What thrusters that begin or end add to the mean velocities of bodies that touch others, (n, 6).

        Contacts answer such a force from the start of a step on: their last impulse acts all through it, the
        change of it at the start. So must the force, by J_0 / 2 + (J - J_0) for its impulses J in this step
        and J_0 in the last one; else contacts that bear less than it would hold the body for a step.
        """
        mean = np.zeros((len(self.rows), 6))
        for item in self.forces.thrusters if time > 0.0 else ():
            i = self.forces.index[item.body]
            since, until = (min(max(t - time, 0.0), h) for t in (item.start, item.end))
            before = min(max(item.end - time, -h), 0.0) - min(max(item.start - time, -h), 0.0)
            beyond = 0.5 * ((until**2 - since**2) / h - before)
            if touching[i] and abs(beyond) > NO_PART * h and self.model.kind[i] == DYNAMIC:
                push, turn = self.forces.thrust(item, start, item.start)
                mean[i, :3] += beyond * push * self.model.inv_mass[i]
                mean[i, 3:] += beyond * (start.inv_I[i].reshape(3, 3) @ turn)
        return mean

    def note_pull(self, state: BodyState, time: float) -> None:
        """Write what acts on the bodies at `time` [s] to `pull` [N, N m]."""
        if self:
            self.pull[self.rows] = np.hstack(self.forces.wrench(self._part_of(state), time))

    def only_stores(self, time: float, h: float, plan: MotionPlan) -> bool:
        """Whether forces only store energy, or take it, in the step of length h [s] that begins at `time`."""
        span = self.forces.table.thruster_span
        is_thrust = ((span[:, 0] < time + h) & (span[:, 1] > time)).any()
        is_pulled = plan.mean[self.rows[self.model.kind == KINEMATIC]].any()  # by what is animated
        return not (self.forces.functions or is_thrust or is_pulled)

    def stored(self, state: BodyState, plan: MotionPlan, h: float) -> float:
        """Energy that springs have stored in the step of length h [s] that has led to this state [J]."""
        end = self._part_of(state)
        end.v[:], end.w[:] = plan.mean[self.rows, :3], plan.mean[self.rows, 3:]
        start = copy_state(end)
        carry_bodies(self.model, end, start, np.arange(len(self.rows)), -h)
        table = self.forces.table
        return spring_energy(table, end) - spring_energy(table, start)

    def parts(self, touching: np.ndarray, h: float, last: float) -> int:
        """In how many parts the step of length h [s] that was planned is to be made.

        In about as many as the forces had to be followed in, where they act on what touches something. They
        become fewer by and by: with another length of step bodies come to rest anew.

        Args:
            touching: Bodies that touch something, or may in the step; any shape.
            last: Length of the step before [s].
        """
        parts = max(1 << (self.steps - 1).bit_length(), round(0.5 * h / last))
        return parts if parts > 1 and np.isin(self.changing, touching).any() else 1

    def make_up(
        self,
        contacts: ContactGeometry,
        collision: np.ndarray,
        state: BodyState,
        time: float,
        h: float,
        plan: MotionPlan,
    ) -> None:
        """Add to the momenta at the end of a step what forces did otherwise before and after collisions.

        From its collision on a body was not where the drive took it to be. Half way to the end of the step
        the forces tell the difference, on what a spring ties to it, too: the momentum of both stays. Up to
        then the drive was that of the whole step instead of the true one, F' left / 2 too much, and so was
        what the collision turned back. A body gets no more than CHANGED of what its collisions gave it.

        Args:
            contacts: Of the step.
            collision: Impulses of collisions, contact frames [N s], shape (c, 3).
            state: At the end of the step, which began at `time` [s] and is h [s] long.
            plan: Of the step.
        """
        if not self:
            return
        hit = np.flatnonzero(collision[:, 0])
        here = np.flatnonzero(np.isin(self.rows, contacts.body[hit]) & (self.model.kind == DYNAMIC))
        if len(here) == 0:
            return
        end, sums = self._part_of(state), np.zeros((2, len(state.c), 3))
        excess = np.zeros_like(sums)  # what the drive added too much up to the collisions
        before = plan.start + plan.change  # velocities there
        most = CHANGED * _received(contacts.body[hit], collision[hit], len(state.c))
        for i in here.tolist():
            row = self.rows[i]
            free, beyond = before[row].copy(), plan.mean[row] - plan.start[row] - 0.5 * plan.change[row]
            share = _share_after_collision(free[:3], beyond[:3], end.v[i])
            since = share * h
            before[row] -= share * plan.change[row]
            ways, middle = self._after_collision(i, end, since, free), time + h - 0.5 * since
            after, otherwise = (np.array(self.forces.wrench(way, middle)) for way in ways)
            change = since * (after - otherwise)
            size = max(np.linalg.norm(change[0, i]), np.linalg.norm(change[1, i]) / self.model.bound[i])
            sums[:, self.rows] += min(1.0, most[row] / size) * change if size > 0.0 else 0.0
            given = self.model.mass[i] * plan.drive[row, 6:9], plan.drive[row, 9:12]
            excess[:, row] = since * (otherwise[:, i] - np.array(given) / h)
        self._turn_back_less(contacts, hit, collision, state, before, excess, sums)
        model = self.whole
        moved = np.flatnonzero(sums.any(axis=(0, 2)) & (model.kind == DYNAMIC))
        state.v[moved] += sums[0, moved] * model.inv_mass[moved]
        state.L[moved] += np.where(model.lock_angular[moved], 0.0, sums[1, moved])
        state.w[moved] = _turned(state.inv_I[moved], state.L[moved])

    def _turn_back_less(
        self, contacts: ContactGeometry, hit: np.ndarray, collision: np.ndarray, state: BodyState,
        before: np.ndarray, excess: np.ndarray, sums: np.ndarray,
    ) -> None:  # fmt: skip
        """Take from the momenta of bodies what collisions turned back of an excess of momenta, (2, n, 3).

        Args:
            before: Velocities before these, (n, 6).
        """
        body, arm, normal = contacts.body[hit], contacts.arm[hit], contacts.normal[hit]
        speeds = []
        for v, w in (
            (excess[0] * self.whole.inv_mass, _turned(state.inv_I, excess[1])),
            (before[:, :3], before[:, 3:]),
        ):
            u = v[body] + np.cross(w[body], arm)
            speeds.append(np.einsum("ck,ck->c", normal, u[:, 0] - u[:, 1]))
        part = np.divide(speeds[0], speeds[1], out=np.zeros(len(hit)), where=speeds[1] < 0.0)
        impulse = (-np.clip(part, -MOST_BACK, MOST_BACK) * collision[hit, 0])[:, None] * normal
        for side, sign in ((0, 1.0), (1, -1.0)):
            np.add.at(sums[0], body[:, side], sign * impulse)
            np.add.at(sums[1], body[:, side], sign * np.cross(arm[:, side], impulse))

    def _after_collision(
        self, i: int, end: BodyState, since: float, velocity: np.ndarray
    ) -> tuple[BodyState, BodyState]:
        """All bodies half of the time since a body collided ago, and so had it kept its velocity (6,)."""
        bounced, straight, place = copy_state(end), copy_state(end), copy_state(end)
        for way in (bounced, straight):
            carry_bodies(self.model, end, way, np.arange(len(self.rows)), -0.5 * since)
        one = np.array([i])
        carry_bodies(self.model, end, place, one, -since)
        place.v[i], place.w[i] = velocity[:3], velocity[3:]
        carry_bodies(self.model, place, straight, one, 0.5 * since)
        straight.v[i], straight.w[i] = velocity[:3], velocity[3:]
        return bounced, straight

    def _part_of(self, state: BodyState) -> BodyState:
        return BodyState(*(column[self.rows] for column in state))

    def _end(self, forced: Forced, time: float, h: float, applied: bool) -> tuple[np.ndarray, int]:
        """Bodies at the end of a step, y of shape (k, 13), with or without the applied forces.

        And in how many steps of the integrator, less those that begin because a thruster begins or ends.
        """
        steps = 1
        y, begin, end = start_vector(forced.start, forced.rows).reshape(-1, 13), time, time + h
        scratch = forced_scratch(forced.start, len(y))
        while begin < end:
            piece_end = min(self.forces.next_change(begin), end) if applied else end
            last = np.nextafter(piece_end, begin)
            if applied and self.forces.functions:
                y, made = self._in_python(forced, time, begin, piece_end, y)
            else:
                made = integrate_forced(
                    forced, self.method, begin, begin - time, piece_end - begin, last, applied, y, scratch
                )
            if made == 0:
                wildest = (np.abs(scratch.K[0]) / forced.allowed).max(axis=1).argmax()
                raise SolverError(
                    f"forces on '{self.names[forced.rows[wildest]]}' change too fast to be followed at "
                    f"{begin:.6g} s; soften its springs, or tie them nearer to its centre"
                )
            begin, steps = piece_end, steps + made - 1
        return y, steps

    def _in_python(
        self, forced: Forced, time: float, begin: float, end: float, y: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """`integrate_forced` where functions of Python are among the forces; the step began at `time` [s]."""
        now, a, alpha = copy_state(forced.start), np.empty_like(forced.force), np.empty_like(forced.force)
        rates, none, last = np.empty_like(y), np.zeros(3), np.nextafter(end, begin)

        def derivative(t: float, flat: np.ndarray) -> np.ndarray:
            carry_bodies(self.model, forced.start, now, forced.moving, t - time)
            place_bodies(self.model, forced.start, now, forced.rows, flat.reshape(-1, 13))
            push, turn = self.forces.wrench(now, min(t, last))
            push, turn = push + forced.force, turn + forced.torque
            free_accelerations(self.model, now, none, push, turn, a, alpha)
            write_rates(now, forced.rows, a, turn, rates)
            return rates.ravel().copy()

        pieces: list[Piece] = []
        flat = integrate(
            "dop853", derivative, begin, y.ravel(), end - begin, rtol=np.tile(self.method.relative, len(y)),
            atol=forced.allowed.ravel(), pieces=pieces, size=vector_sizes,
        )  # fmt: skip
        return flat.reshape(-1, 13), len(pieces)


@inner
def _as_often_round(turn, spin):
    """A rotation vector with as many whole turns added as bring it nearest to another [rad]."""
    angle = vec3.norm(turn)
    if angle == 0.0:
        return turn
    rounds = math.floor((vec3.dot(spin, turn) / angle - angle) / (2.0 * math.pi) + 0.5)
    return vec3.scale(turn, 1.0 + 2.0 * math.pi * rounds / angle)


@kernel
def note_drive(start, rows, end, without, torque, still, h, drive_out):
    """Write the drive of bodies, (k, 13), from y, (k, 13), at the end of a step with and without forces.

    Args:
        torque: Of contacts, by which both were bent [N m], shape (n, 3).
        still: Bodies that contacts hold at rest against the forces, shape (n,).
    """
    for k in range(rows.shape[0]):
        i, a, b = rows[k], end[k], without[k]
        bent = mat3.transform(mat3.load(start.inv_I, i), vec3.scale(vec3.load(torque, i), 0.5 * h * h))
        back, spin = quat.conjugate(quat.load(start.q, i)), vec3.scale(vec3.load(start.w, i), h)
        turn = quat.log(quat.multiply(quat.normalize((a[3], a[4], a[5], a[6])), back))
        is_whole = vec3.norm(spin) > WILD_TURN  # to tell it from free motion's, both had to count whole turns
        if is_whole:
            turn = _as_often_round(turn, spin)
        elif still[i] or vec3.norm(bent) > FAR_BENT:  # as the plan of the step takes contacts
            turn = vec3.subtract(turn, vec3.add(spin, bent))
        else:
            turn_b = quat.log(quat.multiply(quat.normalize((b[3], b[4], b[5], b[6])), back))
            turn = vec3.subtract(turn, turn_b)
        turn, drive_out[k, WHOLE] = vec3.scale(turn, 1.0 / h), is_whole
        for m in range(3):
            drive_out[k, m], drive_out[k, 3 + m] = (a[m] - b[m]) / h, turn[m]
        for m in range(6):
            drive_out[k, 6 + m] = a[7 + m] - b[7 + m]


def _share_after_collision(free: np.ndarray, beyond: np.ndarray, end: np.ndarray) -> float:
    """The part of a step after a collision: beyond = (end - free) share.

    Args:
        free, end: Velocities at the end of the step without the collision and with it [m/s], shape (3,).
        beyond: What the mean velocity is beyond that of free motion [m/s], shape (3,).
    """
    jump = end - free
    square = float(jump @ jump)
    return float(np.clip(beyond @ jump / square, 0.0, 1.0)) if square > 0.0 else 0.0


def _received(body: np.ndarray, impulse: np.ndarray, count: int) -> np.ndarray:
    """Sum of the sizes of the impulses (c, 3) that each of so many bodies has received [N s]."""
    size = np.linalg.norm(impulse, axis=1)
    return np.bincount(body.ravel(), np.repeat(size, 2), minlength=count)


def _turned(inv_I: np.ndarray, L: np.ndarray) -> np.ndarray:
    """I^-1 L of bodies, shape (n, 3)."""
    return np.einsum("nij,nj->ni", inv_I.reshape(-1, 3, 3), L)
