"""What the scene's forces do to the bodies at one moment: a force and a torque on each.

Symbols: c centre of mass, p points in world axes, r arms from c, P principal frame.
"""

from typing import NamedTuple

import numpy as np

from ..errors import SolverError
from ..forces import CustomForce, Force, PointMotion, Spring, Thruster, UniformField, ViscousDrag
from ..jit import inner, kernel
from ..math3 import quat, vec3
from .body_state import BodyModel, BodyState, quat_multiply, quat_rotate

WORLD = -1  # in place of a body: an end of a spring that stays where it is
WAKES = 1e-6  # [m/s^2] acceleration by a force that wakes a body which started asleep
_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


class ForceTable(NamedTuple):
    """All forces but functions, on n bodies: t thrusters, s springs. Arms are those of a body in P."""

    thruster_body: np.ndarray  # (t,)
    thrust: np.ndarray  # [N] (t, 3) in P
    thruster_arm: np.ndarray  # [m] (t, 3)
    thruster_span: np.ndarray  # [s] (t, 2) start, end
    spring_body: np.ndarray  # (s, 2) ends a and b, or WORLD
    spring_arm: np.ndarray  # [m] (s, 2, 3), or the point of the world
    spring_law: np.ndarray  # (s, 3) stiffness [N/m], length at rest [m], damping [N s/m]
    acceleration: np.ndarray  # [m/s^2] (n, 3) uniform fields
    drag: np.ndarray  # (n, 2) linear [N s/m], angular [N m s]


class SpringEnd(NamedTuple):
    """One end of a spring, world axes."""

    body: int | None  # index, None for the world
    point: np.ndarray  # [m] (3,)
    velocity: np.ndarray  # [m/s] (3,)
    arm: np.ndarray  # [m] (3,) from the body's centre of mass


@inner
def _push(force, torque, i, arm, push):
    """Add a force on body `i` at an arm."""
    turn = vec3.cross(arm, push)
    for k in range(3):
        force[i, k] += push[k]
        torque[i, k] += turn[k]


@inner
def _spring_end(state, i, arm):
    """(point, velocity, arm) of an end of a spring in world axes."""
    if i == WORLD:
        return arm, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    r = quat.rotate(quat.load(state.q, i), arm)
    v = vec3.add(vec3.load(state.v, i), vec3.cross(vec3.load(state.w, i), r))
    return vec3.add(vec3.load(state.c, i), r), v, r


@inner
def _add_spring(table, state, s, force, torque):
    """Add what one spring does: f_a = -(k (|d| - length) + c d/dt |d|) d / |d| (1999, section C)."""
    a, b, law = table.spring_body[s, 0], table.spring_body[s, 1], table.spring_law[s]
    p_a, v_a, r_a = _spring_end(state, a, vec3.load(table.spring_arm[s], 0))
    p_b, v_b, r_b = _spring_end(state, b, vec3.load(table.spring_arm[s], 1))
    d = vec3.subtract(p_a, p_b)
    distance = vec3.norm(d)
    if distance == 0.0:  # no direction: only a spring of no length is at rest here, and pulls by nothing
        return
    along = vec3.scale(d, 1.0 / distance)
    closing = vec3.dot(vec3.subtract(v_a, v_b), along)
    size = -(law[0] * (distance - law[1]) + law[2] * closing)
    if a != WORLD:
        _push(force, torque, a, r_a, vec3.scale(along, size))
    if b != WORLD:
        _push(force, torque, b, r_b, vec3.scale(along, -size))


@inner
def add_wrenches(table, mass, state, time, force, torque):
    """Add the forces of a table at a time [s] to the sums of forces [N] and torques [N m], shapes (n, 3).

    Times are compared with the start of a step, which never reaches over a change: see `next_change`.
    """
    for t in range(table.thruster_body.shape[0]):
        if table.thruster_span[t, 0] <= time < table.thruster_span[t, 1]:
            i = table.thruster_body[t]
            q = quat.load(state.q, i)
            arm = quat.rotate(q, vec3.load(table.thruster_arm, t))
            _push(force, torque, i, arm, quat.rotate(q, vec3.load(table.thrust, t)))
    for s in range(table.spring_body.shape[0]):
        _add_spring(table, state, s, force, torque)
    for i in range(table.drag.shape[0]):
        for k in range(3):
            force[i, k] += mass[i] * table.acceleration[i, k] - table.drag[i, 0] * state.v[i, k]
            torque[i, k] -= table.drag[i, 1] * state.w[i, k]


@kernel
def add_all_wrenches(table, mass, state, time, force, torque):
    """`add_wrenches`, for Python."""
    add_wrenches(table, mass, state, time, force, torque)


@kernel
def spring_energy(table, state):
    """Energy of all springs of a table, k (|d| - length)^2 / 2 each [J]."""
    total = 0.0
    for s in range(table.spring_body.shape[0]):
        arms, law = table.spring_arm[s], table.spring_law[s]
        p_a, _, _ = _spring_end(state, table.spring_body[s, 0], vec3.load(arms, 0))
        p_b, _, _ = _spring_end(state, table.spring_body[s, 1], vec3.load(arms, 1))
        stretch = vec3.norm(vec3.subtract(p_a, p_b)) - law[1]
        total += 0.5 * law[0] * stretch * stretch
    return total


class AppliedForces:
    """The forces of a scene, bodies by index."""

    def __init__(self, forces: list[Force], names: list[str], model: BodyModel) -> None:
        """`names` in the order of the model."""
        self.forces, self.names, self.model = forces, names, model
        self.index = {name: i for i, name in enumerate(names)}
        self.acts_on = np.zeros(len(names), bool)  # bodies that some force may act on
        for force in forces:
            self.acts_on[self.rows(force)] = True
        self.functions = [force for force in forces if isinstance(force, CustomForce)]
        self.thrusters = [force for force in forces if isinstance(force, Thruster)]
        self.table = self._tabulate()

    def _tabulate(self) -> ForceTable:
        thrusters = self.thrusters
        springs = [force for force in self.forces if isinstance(force, Spring)]
        ends = [((s.body_a, s.point_a), (s.body_b, s.point_b)) for s in springs]
        acceleration, drag = np.zeros((len(self.names), 3)), np.zeros((len(self.names), 2))
        for force in self.forces:
            if isinstance(force, UniformField):
                acceleration[self.rows(force)] += np.asarray(force.acceleration, float)
            elif isinstance(force, ViscousDrag):
                drag[self.rows(force)] += [force.linear, force.angular]
        return ForceTable(
            np.array([self.index[t.body] for t in thrusters], np.int64),
            np.array([self._turned(t.body, t.force) for t in thrusters]).reshape(-1, 3),
            np.array([self._arm(t.body, t.point) for t in thrusters]).reshape(-1, 3),
            np.array([(t.start, t.end) for t in thrusters], float).reshape(-1, 2),
            np.array(
                [[WORLD if b is None else self.index[b] for b, _ in pair] for pair in ends], np.int64
            ).reshape(-1, 2),
            np.array([[self._arm(*end) for end in pair] for pair in ends]).reshape(-1, 2, 3),
            np.array([(s.stiffness, s.length, s.damping) for s in springs], float).reshape(-1, 3),
            acceleration,
            drag,
        )

    def _turned(self, body: str, vector) -> np.ndarray:
        """A vector of the body's frame in P."""
        back = self.model.q_OP[self.index[body]] * _CONJUGATE
        return quat_rotate(back[None], np.asarray(vector, float)[None])[0]

    def _arm(self, body: str | None, point) -> np.ndarray:
        """The arm of a point of the body's frame; of the world's, the point."""
        if body is None:
            return np.asarray(point, float)
        return self._turned(body, np.asarray(point, float) - self.model.p_Oc[self.index[body]])

    def rows(self, force: Force) -> list[int]:
        """Bodies that a force acts on."""
        if isinstance(force, Thruster | CustomForce):
            return [self.index[force.body]]
        if isinstance(force, Spring):
            names = [force.body_a] if force.body_b is None else [force.body_a, force.body_b]
            return [self.index[name] for name in names]
        if force.bodies is None:
            return list(range(len(self.names)))
        return [self.index[name] for name in force.bodies]

    def may_change(self, moves: np.ndarray) -> np.ndarray:
        """Bodies on which a force may change though they stay where they are, shape (n,).

        Args:
            moves: Bodies that move, shape (n,).
        """
        changes = np.zeros(len(self.names), bool)
        changes[[self.index[force.body] for force in self.functions]] = True
        for ends in self.table.spring_body[(self.table.spring_body != WORLD).all(axis=1)]:
            changes[ends] |= moves[ends[::-1]]
        return changes

    def next_change(self, time: float) -> float:
        """The next time at which a thruster starts or ends [s]."""
        times = [t for item in self.thrusters for t in (item.start, item.end) if t > time]
        return min(times, default=np.inf)

    def wrench(self, state: BodyState, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Force [N] at, and torque [N m] about each centre of mass, world axes, shapes (n, 3).

        Raises:
            SolverError: A function returned something that is no finite force; names body and time.
        """
        force, torque = np.zeros_like(state.v), np.zeros_like(state.v)
        add_all_wrenches(self.table, self.model.mass, state, float(time), force, torque)
        for item in self.functions:
            self.add_custom(item, state, time, force, torque)
        return force, torque

    def woken(self, asleep: np.ndarray, state: BodyState, time: float) -> np.ndarray:
        """Those of the bodies asleep, (n,), on which more acts than uniform fields, indices (k,)."""
        if not (asleep & self.acts_on).any():
            return np.zeros(0, np.int64)
        force, torque = self.wrench(state, time)
        force -= self.model.mass[:, None] * self.table.acceleration
        size = np.linalg.norm(force, axis=1) + np.linalg.norm(torque, axis=1) / self.model.bound
        return np.flatnonzero(asleep & (size > WAKES * self.model.mass))

    def thrust(self, item: Thruster, state: BodyState, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Force [N] and torque [N m] of one thruster on its body, shapes (3,)."""
        i = self.index[item.body]
        push, arm = (
            quat_rotate(state.q[i][None], part[None])[0]
            for part in (self._turned(item.body, item.force), self._arm(item.body, item.point))
        )
        push = push * (item.start <= time < item.end)
        return push, np.cross(arm, push)

    def spring_ends(self, item: Spring, state: BodyState) -> tuple[SpringEnd, SpringEnd]:
        """Where the ends of a spring are and how they move."""
        a = self._spring_end(item.body_a, item.point_a, state)
        return a, self._spring_end(item.body_b, item.point_b, state)

    def _spring_end(self, body: str | None, point, state: BodyState) -> SpringEnd:
        arm = self._arm(body, point)
        if body is None:
            return SpringEnd(None, arm, np.zeros(3), np.zeros(3))
        i = self.index[body]
        arm = quat_rotate(state.q[i][None], arm[None])[0]
        return SpringEnd(i, state.c[i] + arm, state.v[i] + np.cross(state.w[i], arm), arm)

    def add_custom(self, item: CustomForce, state: BodyState, time: float, force, torque) -> None:
        """Add what one function gives to the sums of forces and torques, shapes (n, 3)."""
        i = self.index[item.body]
        q = quat_multiply(state.q[i], self.model.q_OP[i] * _CONJUGATE)
        motion = PointMotion(state.c[i].copy(), q, state.v[i].copy(), state.w[i].copy())
        try:
            push, turn = (np.asarray(part, float) for part in item.function(time, motion))
        except (TypeError, ValueError) as error:
            raise SolverError(
                f"the force on body '{item.body}' returned no (force, torque) at {time:.6g} s; "
                "return two vectors of three numbers"
            ) from error
        if push.shape != (3,) or turn.shape != (3,) or not np.isfinite([push, turn]).all():
            raise SolverError(
                f"the force on body '{item.body}' is not finite at {time:.6g} s: "
                f"force {push.tolist()}, torque {turn.tolist()}; mend its function"
            )
        force[i] += push
        torque[i] += turn
