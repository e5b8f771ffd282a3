"""What the scene's forces do to the bodies at one moment: a force and a torque on each.

Symbols: c centre of mass, p points in world axes, r arms from c.
"""

from typing import NamedTuple

import numpy as np

from ..errors import SolverError
from ..forces import CustomForce, Force, PointMotion, Spring, Thruster, UniformField, ViscousDrag
from .body_state import BodyModel, BodyState, origin_pose, quat_rotate


class SpringEnd(NamedTuple):
    """One end of a spring, world axes."""

    body: int | None  # index, None for the world
    point: np.ndarray  # [m] (3,)
    velocity: np.ndarray  # [m/s] (3,)
    arm: np.ndarray  # [m] (3,) from the body's centre of mass


class AppliedForces:
    """The forces of a scene, bodies by index."""

    def __init__(self, forces: list[Force], names: list[str], model: BodyModel) -> None:
        """`names` in the order of the model."""
        self.forces, self.names, self.model = forces, names, model
        self.index = {name: i for i, name in enumerate(names)}
        self.acts_on = np.zeros(len(names), bool)  # bodies that some force may act on
        for force in forces:
            self.acts_on[self.rows(force)] = True
        self.has_functions = np.zeros(len(names), bool)
        for force in forces:
            if isinstance(force, CustomForce):
                self.has_functions[self.index[force.body]] = True

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

    def next_change(self, time: float) -> float:
        """The next time at which a thruster starts or ends [s]."""
        times = [t for f in self.forces if isinstance(f, Thruster) for t in (f.start, f.end) if t > time]
        return min(times, default=np.inf)

    def wrench(self, state: BodyState, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Force [N] at, and torque [N m] about each centre of mass, world axes, shapes (n, 3).

        Raises:
            SolverError: A function returned something that is no finite force; names body and time.
        """
        force, torque = np.zeros_like(state.v), np.zeros_like(state.v)
        for item in self.forces:
            if isinstance(item, Thruster):
                self.add_thruster(item, state, time, force, torque)
            elif isinstance(item, Spring):
                self._add_spring(item, state, force, torque)
            elif isinstance(item, UniformField):
                rows = self.rows(item)
                force[rows] += self.model.mass[rows, None] * np.asarray(item.acceleration, float)
            elif isinstance(item, ViscousDrag):
                rows = self.rows(item)
                force[rows] -= item.linear * state.v[rows]
                torque[rows] -= item.angular * state.w[rows]
            else:
                self.add_custom(item, state, time, force, torque)
        return force, torque

    def add_thruster(self, item: Thruster, state: BodyState, time: float, force, torque) -> None:
        """Add what one thruster does to the sums of forces and torques, shapes (n, 3)."""
        # Times are compared with the start of a step, which never reaches over a change: see next_change.
        if not item.start <= time < item.end:
            return
        i = self.index[item.body]
        p, q = self._point(i, item.point, state)
        push = quat_rotate(q[None], np.asarray(item.force, float)[None])[0]
        force[i] += push
        torque[i] += np.cross(p - state.c[i], push)

    def spring_ends(self, item: Spring, state: BodyState) -> tuple[SpringEnd, SpringEnd]:
        """Where the ends of a spring are and how they move."""
        a = self._spring_end(item.body_a, item.point_a, state)
        return a, self._spring_end(item.body_b, item.point_b, state)

    def _spring_end(self, body: str | None, point, state: BodyState) -> SpringEnd:
        if body is None:
            return SpringEnd(None, np.asarray(point, float), np.zeros(3), np.zeros(3))
        i = self.index[body]
        p, _ = self._point(i, point, state)
        arm = p - state.c[i]
        return SpringEnd(i, p, state.v[i] + np.cross(state.w[i], arm), arm)

    def _add_spring(self, item: Spring, state: BodyState, force, torque) -> None:
        ends = self.spring_ends(item, state)
        d = ends[0].point - ends[1].point
        distance = float(np.linalg.norm(d))
        if distance == 0.0:  # no direction: only a spring of no length is at rest here, and pulls by nothing
            return
        along = d / distance
        closing = float((ends[0].velocity - ends[1].velocity) @ along)
        pull = -(item.stiffness * (distance - item.length) + item.damping * closing) * along
        for sign, end in zip((1.0, -1.0), ends, strict=True):
            if end.body is not None:
                force[end.body] += sign * pull
                torque[end.body] += np.cross(end.arm, sign * pull)

    def add_custom(self, item: CustomForce, state: BodyState, time: float, force, torque) -> None:
        """Add what one function gives to the sums of forces and torques, shapes (n, 3)."""
        i = self.index[item.body]
        _, q = origin_pose(self.model, state.c, state.q)
        motion = PointMotion(state.c[i].copy(), q[i], state.v[i].copy(), state.w[i].copy())
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

    def _point(self, i: int, point, state) -> tuple[np.ndarray, np.ndarray]:
        """A point of a body's frame in world axes [m], and the body's orientation."""
        origin, q = origin_pose(self.model, state.c, state.q)
        return origin[i] + quat_rotate(q[i][None], np.asarray(point, float)[None])[0], q[i]
