"""What the scene's forces do to the bodies at one moment: a force and a torque on each.

Symbols: c centre of mass, p points in world axes, r arms from c.
"""

import numpy as np

from ..errors import SolverError
from ..forces import CustomForce, Force, PointMotion, Spring, Thruster, UniformField, ViscousDrag
from .body_state import BodyModel, BodyState, origin_pose, quat_rotate


class AppliedForces:
    """The forces of a scene, bodies by index."""

    def __init__(self, forces: list[Force], names: list[str], model: BodyModel) -> None:
        """`names` in the order of the model."""
        self.forces, self.names, self.model = forces, names, model
        self.index = {name: i for i, name in enumerate(names)}
        self.acts_on = np.zeros(len(names), bool)  # bodies that some force may act on
        for force in forces:
            self.acts_on[self._rows(force)] = True
        self.has_functions = np.zeros(len(names), bool)
        for force in forces:
            if isinstance(force, CustomForce):
                self.has_functions[self.index[force.body]] = True

    def _rows(self, force: Force) -> list[int]:
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
                self._add_thruster(item, state, time, force, torque)
            elif isinstance(item, Spring):
                self._add_spring(item, state, force, torque)
            elif isinstance(item, UniformField):
                rows = self._rows(item)
                force[rows] += self.model.mass[rows, None] * np.asarray(item.acceleration, float)
            elif isinstance(item, ViscousDrag):
                rows = self._rows(item)
                force[rows] -= item.linear * state.v[rows]
                torque[rows] -= item.angular * state.w[rows]
            else:
                self._add_custom(item, state, time, force, torque)
        return force, torque

    def _add_thruster(self, item: Thruster, state, time, force, torque) -> None:
        # Times are compared with the start of a step, which never reaches over a change: see next_change.
        if not item.start <= time < item.end:
            return
        i = self.index[item.body]
        p, q = self._point(i, item.point, state)
        push = quat_rotate(q[None], np.asarray(item.force, float)[None])[0]
        force[i] += push
        torque[i] += np.cross(p - state.c[i], push)

    def _add_spring(self, item: Spring, state, force, torque) -> None:
        a = self.index[item.body_a]
        p_a, _ = self._point(a, item.point_a, state)
        v_a = state.v[a] + np.cross(state.w[a], p_a - state.c[a])
        p_b, v_b, b = np.asarray(item.point_b, float), np.zeros(3), None
        if item.body_b is not None:
            b = self.index[item.body_b]
            p_b, _ = self._point(b, item.point_b, state)
            v_b = state.v[b] + np.cross(state.w[b], p_b - state.c[b])
        d = p_a - p_b
        distance = float(np.linalg.norm(d))
        if distance == 0.0:  # no direction: only a spring of no length is at rest here, and pulls by nothing
            return
        along = d / distance
        stretch = item.stiffness * (distance - item.length) + item.damping * float((v_a - v_b) @ along)
        pull = -stretch * along
        force[a] += pull
        torque[a] += np.cross(p_a - state.c[a], pull)
        if b is not None:
            force[b] -= pull
            torque[b] -= np.cross(p_b - state.c[b], pull)

    def _add_custom(self, item: CustomForce, state, time, force, torque) -> None:
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
