"""The search for the next event: a pair that meets, or a slip that comes to its end.

A step is moved as far as `analytic_events` says that it is safe; what its end shows to have happened is
located within it.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..dynamics.body_state import BodyState
from .analytic_contacts import Array, frame_velocity, relative_acceleration
from .analytic_events import BAND, BEYOND, ContactFinder, Gaps, find_root
from .analytic_motion import SHORTEST_STEP, Mover, Touch, Way
from .analytic_rest import slip_velocity
from .analytic_witness import Witnesses

DEPTH = 2e-4  # of the tolerance: how far a step may look past a contact
MEETING = 5e-10  # of the tolerance: a gap that is none after integrating; in flight it is closed to round-off
# Of the tolerance, and of the resting speed: round-off, 1e-13 m and 1e-15 m/s at the default settings.
NO_GAP, NO_SPEED = 1e-8, 2e-12
# Of a step: how closely an event is located where what it is told by jumps. At 1 m/s the longest step, .25 s,
# leaves a quarter of BAND; round-off of the time is a millionth of it.
JUMP = 1e-9
MOST_WITNESSES = 8  # followed one after the other; then the narrow phase is asked at each step of the search
STOPPED = 1e-6  # of the resting speed: a slip that is none
# Of the resting speed: what a slip may have across its direction at the step's start and still be straight.
# At the resting speed u, 4e-4 m/s, friction is off by that angle for u / (mu g) s: by 1e-2 u^2 = 2e-9 J/kg.
STRAIGHT = 1e-2

Motion = Callable[[float], BodyState]  # the state a time after the step's start


class EventSearch:
    """Finds how far the bodies can go."""

    def __init__(self, finder: ContactFinder, mover: Mover, tolerance: float) -> None:
        self.finder, self.mover, self.tolerance = finder, mover, tolerance

    def next_state(
        self, state: BodyState, time: float, a: Array, alpha: Array, driven: NDArray[np.bool_],
        held: NDArray[np.bool_], touch: Touch, longest: float,
    ) -> tuple[BodyState, float]:  # fmt: skip
        """The state at the next event and the time to it [s].

        Args:
            time: Of `state` [s].
            a, alpha: Accelerations [m/s^2], [rad/s^2], shape (n, 3).
            driven, held: Bodies under forces, and bodies that stay where they are, shape (n,).
            touch: Contacts that last.
            longest: Where to stop without an event [s].
        """
        h = self._safe_step(state, a, alpha, driven, touch, longest)
        h = min(h, BEYOND * self._until_stop(state, a, alpha, touch))

        def is_late(later: BodyState) -> bool:
            return self._is_late(later) or self._slowest(later, touch) < 0.0

        way = self.mover.move(state, time, h, driven, held, touch, is_late)
        while way.failed is not None:
            # Up to where forces cease to exist: there friction jams, which an impulse ends.
            h = max(min(0.5 * h, way.failed), SHORTEST_STEP)
            way = self.mover.move(state, time, h, driven, held, touch, is_late)
        self._integrated = bool(driven.any())
        h, stopped = self._first_event(way, state, touch)
        if stopped and way.is_rough(h):
            # What comes after the end of the slip has spoiled the step: once more, up to there.
            again = self.mover.move(state, time, h, driven, held, touch, is_late)
            if again.failed is None:
                h, _ = self._first_event(again, state, touch)
        return self._motion(h), h

    def _first_event(self, way: Way, state: BodyState, touch: Touch) -> tuple[float, bool]:
        """When something first happens on the way [s], or its end; and whether a slip ends then."""
        self._motion = cache(way.at)
        meeting = self._first_meeting(way.end[0])
        h = self._first_stop(state, meeting, touch)
        return h, h < meeting

    def _locate(
        self, g: Callable[[BodyState], float], h: float, g_start: float, g_end: float, accuracy: float
    ) -> float:
        """When g falls from g_start > 0 to g_end < 0 in the time h [s], to an accuracy of g.

        Where bodies are integrated g may jump, as what touches changes: then the time after that is taken.
        """
        narrow = JUMP * h if self._integrated else 0.0
        return find_root(lambda t: g(self._motion(t)), 0.0, h, g_start, g_end, accuracy, narrow)

    def _safe_step(
        self, state: BodyState, a: Array, alpha: Array, driven, touch: Touch, longest: float
    ) -> float:
        """How long nothing can happen that the end of the step would not show [s]."""
        finder, tolerance = self.finder, self.tolerance
        self._reach = finder.reach(state, a, longest) + tolerance
        finder.update_pairs(state, self._reach)
        self._before = finder.gaps(state, tolerance, self._reach)
        s = self._before.separation
        self._target = np.where(s > BAND * tolerance, 0.0, np.minimum(s, 0.0) - DEPTH * tolerance)
        # What is integrated may change its acceleration within the step, and damping is one that does.
        slack = np.where(driven, np.linalg.norm(a, axis=1), 0.0)
        slack += finder.model.damping[:, 0] * np.linalg.norm(state.v, axis=1)
        safe = finder.safe_time(self._before, state, a, alpha, slack, DEPTH * tolerance, touch.contacts.slot)
        return min(longest, safe)

    def _gaps(self, state: BodyState) -> Gaps:
        return self.finder.gaps(state, self.tolerance, self._reach)

    def _excess(self, state: BodyState) -> Array:
        """How far pairs are from meeting, or those that are close already from getting too deep [m]."""
        return self._gaps(state).separation - self._target

    def _is_late(self, state: BodyState) -> bool:
        return bool((self._excess(state) < 0.0).any())

    def _first_meeting(self, h: float) -> float:
        """Cut the step at the first moment at which a pair meets."""
        motion, accuracy = self._motion, MEETING * self.tolerance if self._integrated else 0.0
        before, target, excess = self._before, self._target, self._excess
        after = self._gaps(motion(h))
        late = after.separation < target
        if not late.any():
            dip = self._dip(before, after, target, h)
            if dip is None:
                return h
            late = excess(motion(dip)) < 0.0
            if not late.any():
                return h
            h = dip
        far = float(self._reach.max())  # stands for the gap of a pair that is too far to be measured
        # Only pairs that are too deep at the end are watched; others may have been so in between.
        while late.any():
            watched = np.flatnonzero(late)

            def nearest(state: BodyState, watched=watched) -> float:
                return float(np.minimum(excess(state)[watched], far).min())

            gap = float(np.minimum((before.separation - target)[watched], far).min())
            h = self._back_up(nearest, watched, h, max(gap, float(np.finfo(float).tiny)), far, accuracy)
            late = excess(motion(h)) < -DEPTH * self.tolerance
            late[watched] = False
        return h

    def _back_up(
        self, nearest: Callable[[BodyState], float], watched: NDArray[np.int64], h: float, start: float,
        far: float, accuracy: float,
    ) -> float:  # fmt: skip
        """When the first of the watched pairs meets, of which one is too deep at h.

        The witnesses of the overlap are followed to where they reach the target, and the narrow phase is
        asked there. It says the same where they still decide; else what it finds gives the next witnesses,
        and in the end it is asked at each step of the search.

        Args:
            nearest: Gap to the target of the nearest of these pairs [m]; `start`: at the step's start.
        """
        motion, target = self._motion, self._target
        low, high, at = 0.0, h, h
        for _ in range(MOST_WITNESSES):
            gaps = self._gaps(motion(at))
            near = watched[np.isfinite(gaps.separation[watched])]
            witnesses = Witnesses(self.finder, gaps, near, motion(at))

            def along(t: float, witnesses=witnesses, near=near) -> float:
                return float(np.minimum(witnesses.separation(motion(t)) - target[near], far).min())

            first, last = along(low), along(high)
            if not first > 0.0 > last:
                break
            at = find_root(along, low, high, first, last, accuracy)
            value = nearest(motion(at))
            if abs(value) <= accuracy or abs(value - along(at)) <= MEETING * self.tolerance:
                return at
            if not low < at < high:
                break
            low, high = (at, high) if value > 0.0 else (low, at)
        return self._locate(nearest, h, start, nearest(motion(h)), accuracy)

    def _dip(self, before: Gaps, after: Gaps, target: Array, h: float) -> float | None:
        """When the cubic through both ends of a step dips below the target within it, if it does."""
        both = np.isfinite(before.separation) & np.isfinite(after.separation)
        x = np.linspace(0.0, 1.0, 17)
        for k in np.flatnonzero(both & (before.rate < 0.0) & (after.rate > 0.0)):
            s = before.separation[k] * (1 + 2 * x) * (1 - x) ** 2 + after.separation[k] * x * x * (3 - 2 * x)
            s += h * x * (1 - x) * (before.rate[k] * (1 - x) - after.rate[k] * x)
            low = int(s.argmin())
            if 0 < low < len(x) - 1 and s[low] < target[k]:
                return h * float(x[low])
        return None

    def _until_stop(self, state: BodyState, a: Array, alpha: Array, touch: Touch) -> float:
        """Time until a slip would come to its end if accelerations stayed what they are [s]."""
        contacts, arm = touch.contacts, self.mover.drill_arm
        u = slip_velocity(contacts, state, frame_velocity(contacts, state), arm)
        rate = relative_acceleration(contacts, state, a, alpha)
        rate = slip_velocity(contacts, state._replace(w=alpha), rate, arm)
        along = np.einsum("mrk,mk->mr", contacts.frame, touch.slip)
        speed, slowing = (u * along).sum(axis=1), -(rate * along).sum(axis=1)
        ends = touch.slips & (slowing > 0.0) & (speed > 0.0)
        return float((speed[ends] / slowing[ends]).min(initial=np.inf))

    def _slowest(self, state: BodyState, touch: Touch) -> float:
        """Least velocity along the slip of the step's start [m/s], less what counts as none.

        A slip that keeps its direction ends where it is zero. One that turns ends where it is as slow as one
        that counts as none: its friction would turn ever faster.
        """
        if not touch.slips.any():
            return np.inf
        now, then = self.mover.same_contacts(state, touch)
        u = slip_velocity(now, state, frame_velocity(now, state), self.mover.drill_arm)
        u = np.einsum("mrk,mr->mk", now.frame, u)
        slips = touch.slips[then] & (now.feature == touch.contacts.feature[then])
        along = (u * touch.slip[then]).sum(axis=1)
        across = np.linalg.norm(u - along[:, None] * touch.slip[then], axis=1)
        slowest = touch.resting_speed * np.clip(across / (STRAIGHT * touch.resting_speed) - 1.0, 0.0, 1.0)
        return float((along - slowest)[slips].min(initial=np.inf))

    def _first_stop(self, state: BodyState, h: float, touch: Touch) -> float:
        """Cut the step at the first moment at which a slip comes to its end."""
        if not touch.slips.any() or h <= 0.0:
            return h

        def slowest(later: BodyState) -> float:
            return self._slowest(later, touch)

        end, start = slowest(self._motion(h)), slowest(state)
        if end >= 0.0 or not start > 0.0:
            return h
        return self._locate(slowest, h, start, end, STOPPED * touch.resting_speed)
