"""Animated bodies: pose and velocity from their motion samples, and their release.

Bodies that start asleep stand still like animated ones that do not move, until they are touched.
"""

import numpy as np

from ..scene import Body
from .body_state import DYNAMIC, KINEMATIC, BodyModel, BodyState, quat_multiply, quat_rotate

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
SAME_TIME = 1e-9  # [s] times no farther apart are the same
CORNER = 2.0  # times the change of a velocity before: a path that changes it by more has a corner


def _rotation_vector(q: np.ndarray) -> np.ndarray:
    """Rotation vector [rad] of a unit quaternion, the shorter way round."""
    if q[0] < 0.0:
        q = -q
    sine = float(np.linalg.norm(q[1:]))
    return q[1:] * (2.0 if sine < 1e-12 else 2.0 * np.arctan2(sine, q[0]) / sine)


def _turn(r: np.ndarray) -> np.ndarray:
    """Unit quaternion of the rotation vector r [rad]."""
    angle = float(np.linalg.norm(r))
    return np.array([np.cos(0.5 * angle), *(r * (0.5 * np.sinc(0.5 * angle / np.pi)))])


def _is_within(time: float, times: np.ndarray) -> bool:
    return bool(times[0] - SAME_TIME <= time <= times[-1] + SAME_TIME)


def _rate_at(time: float, middle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Rate at the end of up to three intervals, from the mean ones: that of a smooth path to second order.

    Where the last change is far more than the one before, or another way, the path has a corner there and
    goes straight on from it.

    Args:
        middle: Of the intervals, the last one first [s]; `rate` is the mean in each.
    """
    if len(rate) < 3:
        return rate[0]
    late, early = (rate[:2] - rate[1:]) / (middle[:2] - middle[1:])[:, None]
    if late @ early <= 0.0:
        return rate[0]
    is_smooth = late @ late <= CORNER**2 * (early @ early)
    return rate[0] + (time - middle[0]) * (late if is_smooth else early)


class KinematicPaths:
    """Motion of the kinematic bodies between their samples: straight and at even speed."""

    def __init__(self, bodies: list[Body], model: BodyModel, gravity: np.ndarray) -> None:
        """`bodies` in the order of the model; `gravity` of each [m/s^2], shape (n, 3)."""
        self.model, self.gravity = model, gravity
        self.asleep = np.array([body.asleep for body in bodies]) & (model.kind == DYNAMIC)
        model.kind[self.asleep] = KINEMATIC
        model.inv_mass[self.asleep], model.inv_inertia[self.asleep] = 0.0, 0.0
        self.paths = {i: body for i, body in enumerate(bodies) if body.kind == "kinematic" or self.asleep[i]}
        self.released: set[int] = set()

    def pose(self, body: int, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Centre of mass [m] and orientation of the principal frame at a time [s].

        A body that is released between two steps goes straight on from then.
        """
        release = self.paths[body].release_time
        if release is None or time <= release:
            return self._pose_on_path(body, time)
        (c, q), (v, w) = self._pose_on_path(body, release), self.velocity(body, release)
        return c + (time - release) * v, quat_multiply(_turn((time - release) * w), q)

    def _pose_on_path(self, body: int, time: float) -> tuple[np.ndarray, np.ndarray]:
        description = self.paths[body]
        if description.motion is None:
            position, q = description.position, description.orientation
        else:
            times, positions, orientations = description.motion
            k = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, max(len(times) - 2, 0)))
            last = min(k + 1, len(times) - 1)
            span = times[last] - times[k]
            s = float(np.clip((time - times[k]) / span, 0.0, 1.0)) if span > 0.0 else 0.0
            position = positions[k] + s * (positions[last] - positions[k])
            r = _rotation_vector(quat_multiply(orientations[last], orientations[k] * _CONJUGATE))
            q = quat_multiply(_turn(s * r), orientations[k])
        return position + quat_rotate(q, self.model.p_Oc[body]), quat_multiply(q, self.model.q_OP[body])

    def velocity(self, body: int, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Velocity of the centre of mass [m/s] and angular velocity [rad/s] that a body has come to.

        Of samples of a smooth path, its own to second order; of a straight one that of its last piece.
        """
        motion = self.paths[body].motion
        if motion is None or len(motion.times) == 1 or not _is_within(time, motion.times):
            return np.zeros(3), np.zeros(3)
        times, positions, orientations = motion
        k = int(np.clip(np.searchsorted(times, time - SAME_TIME) - 1, 0, len(times) - 2))
        last = np.arange(k, max(k - 3, -1), -1)
        span, middle = times[last + 1] - times[last], 0.5 * (times[last + 1] + times[last])
        turns = [
            _rotation_vector(quat_multiply(orientations[j + 1], orientations[j] * _CONJUGATE)) for j in last
        ]
        v = _rate_at(time, middle, (positions[last + 1] - positions[last]) / span[:, None])
        w = _rate_at(time, middle, np.array(turns) / span[:, None])
        _, q = self._pose_on_path(body, time)
        q_body = quat_multiply(q, self.model.q_OP[body] * _CONJUGATE)
        return v + np.cross(w, quat_rotate(q_body, self.model.p_Oc[body])), w

    def release_due(self, state: BodyState, time: float) -> list[int]:
        """Turn bodies whose release time has come dynamic, with the velocity they have; returns which."""
        due = []
        for i, body in self.paths.items():
            if i in self.released or body.release_time is None or time < body.release_time - SAME_TIME:
                continue
            since = max(time - body.release_time, 0.0)
            state.v[i], state.w[i] = self.velocity(i, body.release_time)
            state.c[i] += np.where(body.lock_linear, 0.0, 0.5 * since**2 * self.gravity[i])
            state.v[i] += since * self.gravity[i]
            self._release(i, state)
            due.append(i)
        return due

    def wake_touched(self, body: np.ndarray, state: BodyState, mean: np.ndarray) -> bool:
        """Wake the sleeping bodies that one which is awake and no obstacle meets; whether any.

        Args:
            body: Pairs that touch, or will in this step, shape (c, 2).
            mean: Velocities of all bodies in the step [m/s, rad/s], shape (n, 6).
        """
        if not self.any_asleep:
            return False
        active = (self.model.kind == DYNAMIC) | (~self.asleep & mean.any(axis=1))
        return self.wake(np.unique(body[self.asleep[body] & active[body[:, ::-1]]]), state)

    def wake(self, bodies: np.ndarray, state: BodyState) -> bool:
        """Wake these of the sleeping bodies, indices (k,); whether there are any."""
        for i in bodies.tolist():
            self._release(i, state)
        return len(bodies) > 0

    def _release(self, i: int, state: BodyState) -> None:
        """Let forces move a body from now on."""
        model, body = self.model, self.paths[i]
        self.released.add(i)
        self.asleep[i] = False
        model.kind[i] = DYNAMIC
        model.inv_mass[i] = np.where(body.lock_linear, 0.0, 1.0 / model.mass[i])
        if not model.lock_angular[i].all():
            model.inv_inertia[i] = 1.0 / model.inertia[i]
        state.v[i] = np.where(body.lock_linear, 0.0, state.v[i])
        w = np.where(model.lock_angular[i], 0.0, state.w[i])
        w_P = quat_rotate(state.q[i] * _CONJUGATE, w)
        state.L[i] = quat_rotate(state.q[i], model.inertia[i] * w_P)

    @property
    def any_asleep(self) -> bool:
        """Whether bodies that started asleep are so still."""
        return any(self.asleep[i] for i in self.paths)

    def recall(self, released: set[int]) -> None:
        """Go back to when these bodies had been released."""
        self.released = released
        for i, body in self.paths.items():
            self.asleep[i] = body.asleep and i not in released

    def set_poses(self, state: BodyState, time: float) -> None:
        """Put every kinematic body on its path."""
        for i in self.paths:
            if i not in self.released:
                state.c[i], state.q[i] = self.pose(i, time)

    def set_velocities(self, state: BodyState, time: float, h: float) -> None:
        """Give every kinematic body the velocity that takes it along its path in the next step."""
        for i in self.paths:
            if i not in self.released:
                c, q = self.pose(i, time + h)
                state.v[i] = (c - state.c[i]) / h
                state.w[i] = _rotation_vector(quat_multiply(q, state.q[i] * _CONJUGATE)) / h
