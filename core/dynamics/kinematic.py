"""Animated bodies: pose and velocity from their motion samples, and their release.

Bodies that start asleep stand still like animated ones that do not move, until they are touched.
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner, kernel
from ..math3 import quat, vec3
from ..scene import Body
from .body_state import DYNAMIC, KINEMATIC, BodyModel, BodyState, quat_multiply, quat_rotate

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
SAME_TIME = 1e-9  # [s] times no farther apart are the same
CORNER = 2.0  # times the change of a velocity before: a path that changes it by more has a corner


class Paths(NamedTuple):
    """Paths of k bodies, with the s samples of all, one body's after the other's.

    body: Index in the model.
    first: Where each body's samples begin, and the end.
    time, position, orientation: Of the samples, of the bodies' own frames.
    release: When forces take over; infinite where they never do.
    velocity: That it is released with, of its centre of mass.
    follows: Whether it still goes its path.
    """

    body: np.ndarray  # (k,)
    first: np.ndarray  # (k + 1,)
    time: np.ndarray  # [s] (s,)
    position: np.ndarray  # [m] (s, 3)
    orientation: np.ndarray  # (s, 4)
    release: np.ndarray  # [s] (k,)
    velocity: np.ndarray  # [m/s, rad/s] (k, 6)
    follows: np.ndarray  # (k,)


@inner
def _sample_before(time, first, last, now):
    """The last of the samples from `first` to `last` that is not after `now` and has one behind it."""
    while last - first > 1:
        middle = (first + last) // 2
        if time[middle] <= now:
            first = middle
        else:
            last = middle
    return first


@inner
def _pose_on_path(model, paths, k, time):
    """Centre of mass [m] and orientation of the principal frame at a time [s].

    A body that is released between two steps goes straight on from then.
    """
    i, now, end = paths.body[k], min(time, paths.release[k]), paths.first[k + 1] - 1
    a = _sample_before(paths.time, paths.first[k], end, now)
    b = min(a + 1, end)
    span = paths.time[b] - paths.time[a]
    part = min(max((now - paths.time[a]) / span, 0.0), 1.0) if span > 0.0 else 0.0
    p, q = vec3.load(paths.position, a), quat.load(paths.orientation, a)
    way = vec3.subtract(vec3.load(paths.position, b), p)
    turn = quat.log(quat.multiply(quat.load(paths.orientation, b), quat.conjugate(q)))
    q = quat.multiply(quat.exp(vec3.scale(turn, part)), q)
    c = vec3.add(vec3.add(p, vec3.scale(way, part)), quat.rotate(q, vec3.load(model.p_Oc, i)))
    q = quat.multiply(q, quat.load(model.q_OP, i))
    if time > now:
        v, since = paths.velocity[k], time - now
        c = vec3.add(c, vec3.scale((v[0], v[1], v[2]), since))
        q = quat.multiply(quat.exp(vec3.scale((v[3], v[4], v[5]), since)), q)
    return c, q


@kernel
def put_on_paths(model, paths, clock, since, state):
    """Put every body that follows a path where it is so long [s] after the time clock[0]."""
    for k in range(paths.body.shape[0]):
        if paths.follows[k]:
            i = paths.body[k]
            c, q = _pose_on_path(model, paths, k, clock[0] + since)
            state.c[i, 0], state.c[i, 1], state.c[i, 2] = c
            state.q[i, 0], state.q[i, 1], state.q[i, 2], state.q[i, 3] = q


@inlined
def _steady_change(last, now, coming):
    """By how much a velocity changes in a step, from the mean ones of three; less where a path has a corner.

    Source: van Leer 1979, *Towards the ultimate conservative difference scheme V*: the minmod limiter.
    """
    before, after = vec3.subtract(now, last), vec3.subtract(coming, now)
    if vec3.dot(before, after) <= 0.0:
        return (0.0, 0.0, 0.0)
    return before if vec3.dot(before, before) < vec3.dot(after, after) else after


@inlined
def _mean_velocity(model, paths, k, start, h):
    """(velocity, angular velocity) that take a body along its path for h [s] from a time on."""
    c, q = _pose_on_path(model, paths, k, start)
    c_end, q_end = _pose_on_path(model, paths, k, start + h)
    turn = quat.log(quat.multiply(q_end, quat.conjugate(q)))
    return vec3.scale(vec3.subtract(c_end, c), 1.0 / h), vec3.scale(turn, 1.0 / h)


@kernel
def head_along_paths(model, paths, clock, since, h, state, change_out):
    """Give every body that follows a path the velocity that takes it along in the coming step.

    Args:
        clock, since: The step begins so long [s] after the time clock[0].
        h: Its length [s].
        change_out: By how much velocities change within it, as far as they do steadily, shape (n, 6).
    """
    for k in range(paths.body.shape[0]):
        if paths.follows[k]:
            i, now = paths.body[k], clock[0] + since
            v, w = _mean_velocity(model, paths, k, now, h)
            next_v, next_w = _mean_velocity(model, paths, k, now + h, h)
            # Before the beginning it was on its way, too: as it goes on from the next step on.
            other = now - h if now > 0.0 else now + 2.0 * h
            last_v, last_w = _mean_velocity(model, paths, k, other, h)
            if now == 0.0:
                last_v = vec3.subtract(v, vec3.subtract(last_v, next_v))
                last_w = vec3.subtract(w, vec3.subtract(last_w, next_w))
            dv, dw = _steady_change(last_v, v, next_v), _steady_change(last_w, w, next_w)
            for m in range(3):
                state.v[i, m], state.w[i, m] = v[m], w[m]
                change_out[i, m], change_out[i, 3 + m] = dv[m], dw[m]


@inner
def _velocity_at(mean, i, arm):
    """Velocity of a body's point, which lies so far [m] from its centre of mass."""
    v, w = (mean[i, 0], mean[i, 1], mean[i, 2]), (mean[i, 3], mean[i, 4], mean[i, 5])
    return vec3.add(v, vec3.cross(w, (arm[0], arm[1], arm[2])))


@inner
def _is_active(kind, asleep, mean, i):
    """Whether what a body meets has to wake: it is awake and no obstacle, or an animated one that moves."""
    if kind[i] == DYNAMIC:
        return True
    moves = False
    for k in range(6):
        moves = moves or mean[i, k] != 0.0
    return moves and not asleep[i]


@kernel
def list_touched(kind, asleep, contacts, count, mean, h, tolerance, touched_out):
    """Find the sleeping bodies that others touch, or will in the coming step.

    Who wakes whom is as in `KinematicPaths.wake_touched`, which takes pairs that are known to touch.

    Args:
        kind, asleep: Of all bodies, shape (n,).
        contacts, count: The points of the coming step, and how many there are.
        mean: Velocities of all bodies in the step [m/s, rad/s], shape (n, 6).
        h: Its length [s].
        tolerance: Contact points no farther apart touch [m].
        touched_out: Written: whether a body sleeps and is touched, shape (n,).

    Returns:
        Whether there are any.
    """
    touched_out[:], found = False, np.int64(0)
    for k in range(count):
        a, b = contacts.body[k]
        if not (asleep[a] or asleep[b]):
            continue
        v_a = _velocity_at(mean, a, contacts.arm[k, 0])
        v_b = _velocity_at(mean, b, contacts.arm[k, 1])
        closing = vec3.dot(vec3.subtract(v_b, v_a), vec3.load(contacts.normal, k))
        if contacts.separation[k] - h * closing > tolerance:
            continue
        if asleep[a] and _is_active(kind, asleep, mean, b):
            touched_out[a], found = True, np.int64(1)
        if asleep[b] and _is_active(kind, asleep, mean, a):
            touched_out[b], found = True, np.int64(1)
    return found


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
        self.have_slept, self.touched = bool(self.asleep.any()), np.zeros(len(bodies), np.bool_)
        model.kind[self.asleep] = KINEMATIC
        model.inv_mass[self.asleep], model.inv_inertia[self.asleep] = 0.0, 0.0
        self.paths = {i: body for i, body in enumerate(bodies) if body.kind == "kinematic" or self.asleep[i]}
        self.released: set[int] = set()
        self.table = self._build_table()

    def _build_table(self) -> Paths:
        """The paths as kernels take them."""
        motions = [self._samples(body) for body in self.paths.values()]
        times, positions, orientations = ([motion[part] for motion in motions] for part in range(3))
        release = [body.release_time for body in self.paths.values()]
        no_velocity = np.zeros(6)
        velocity = [
            no_velocity if time is None else np.concatenate(self._velocity(i, time))
            for i, time in zip(self.paths, release, strict=True)
        ]
        return Paths(
            body=np.array(list(self.paths), np.int64),
            first=np.cumsum([0, *map(len, times)]),
            time=np.concatenate([np.zeros(0), *times]),
            position=np.concatenate([np.zeros((0, 3)), *positions]),
            orientation=np.concatenate([np.zeros((0, 4)), *orientations]),
            release=np.array([np.inf if time is None else time for time in release], float),
            velocity=np.array(velocity).reshape(-1, 6),
            follows=np.ones(len(self.paths), np.bool_),
        )

    @staticmethod
    def _samples(body: Body) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times [s], positions [m] and orientations of a body on its path."""
        if body.motion is None:
            return np.zeros(1), body.position[None], body.orientation[None]
        return body.motion

    def _velocity(self, body: int, time: float) -> tuple[np.ndarray, np.ndarray]:
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
        q = quat_multiply(_turn(turns[0] * np.clip((time - times[k]) / span[0], 0.0, 1.0)), orientations[k])
        return v + np.cross(w, quat_rotate(q, self.model.p_Oc[body])), w

    def release_due(self, state: BodyState, time: float) -> list[int]:
        """Turn bodies whose release time has come dynamic, with the velocity they have; returns which."""
        table = self.table
        due = np.flatnonzero(table.follows & (time >= table.release - SAME_TIME))
        for k in due.tolist():
            i = int(table.body[k])
            since = max(time - float(table.release[k]), 0.0)
            state.v[i], state.w[i] = table.velocity[k, :3], table.velocity[k, 3:]
            state.c[i] += np.where(self.paths[i].lock_linear, 0.0, 0.5 * since**2 * self.gravity[i])
            state.v[i] += since * self.gravity[i]
            self._release(i, state)
        return table.body[due].tolist()

    @property
    def next_release(self) -> float:
        """When the next body is released [s]; infinite if none is."""
        return float(self.table.release[self.table.follows].min(initial=np.inf))

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
        self.table.follows[self.table.body == i] = False
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
        return bool(self.asleep.any())

    def recall(self, released: set[int]) -> None:
        """Go back to when these bodies had been released."""
        self.released = released
        for k, (i, body) in enumerate(self.paths.items()):
            self.table.follows[k] = i not in released
            self.asleep[i] = body.asleep and i not in released

    def set_poses(self, state: BodyState, time: float) -> None:
        """Put every kinematic body on its path."""
        if self.paths:
            put_on_paths(self.model, self.table, np.array([time]), 0.0, state)

    def set_velocities(
        self, state: BodyState, time: float, h: float, change: np.ndarray | None = None
    ) -> None:
        """Give every kinematic body the velocity that takes it along its path in the next step.

        By how much velocities change within it is written to `change` (n, 6).
        """
        if self.paths:
            change = np.zeros((len(state.c), 6)) if change is None else change
            head_along_paths(self.model, self.table, np.array([time]), 0.0, h, state, change)
