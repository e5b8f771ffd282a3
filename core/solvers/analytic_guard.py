"""What ends a run that leads nowhere: motion that is not finite, and events that follow without end."""

import numpy as np
from numpy.typing import NDArray

from ..dynamics.body_state import BodyState
from ..errors import SolverError
from ..report import ContactEvent

EVENTS_PER_SECOND = 50_000
STALLED = 50  # steps of no length in a row
# Systems of contact forces that so much motion [s] may take: about a minute's work.
MOST_SYSTEMS, MOTION = 100_000, 0.01
NO_RESPONSE = 1e-14  # of the largest response in an island: none but for round-off


class Guard:
    """Watches a run, step by step."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.busy: list[float] = []  # times of the collisions of the last second
        self.stalled = 0  # steps of no length in a row
        self._mark = (0.0, 0)  # time, and systems solved by then

    def listed(self, body: NDArray[np.int64]) -> str:
        """The names of bodies, each once, of more than five the first."""
        return ", ".join(f"'{name}'" for name in sorted({self.names[i] for i in body.ravel().tolist()})[:5])

    def refuse_squeeze(self, body: NDArray[np.int64], time: float) -> None:
        """Refuse to go on where no impulses stop bodies, of all contacts of an island.

        Raises:
            SolverError: Names the bodies and the time [s].
        """
        raise SolverError(
            f"no impulses keep {self.listed(body)} apart at {time:.6g} s; what cannot give way closes in on "
            "them: leave them room, or use solver='impulse'"
        )

    def refuse_locked(self, body: NDArray[np.int64], closing: NDArray[np.bool_], A, time: float) -> None:
        """Refuse to go on where a contact closes that no impulse changes, as axes are locked.

        Args:
            body: Of all contacts of an island, shape (m, 2).
            closing: Which of them close, shape (m,).
            A: Impulses to relative velocities [1/kg], shape (3 m, 3 m), an array or sparse.
            time: Now [s].

        Raises:
            SolverError: Names the bodies and the time.
        """
        response = A.diagonal()
        locked = closing & (response[::3] <= NO_RESPONSE * response.max(initial=0.0))
        if locked.any():
            self.refuse_squeeze(body[locked], time)

    def note_collision(self, time: float) -> None:
        """Note that something collided at a time [s]."""
        self.busy = [t for t in self.busy if t > time - 1.0] + [time]

    def note_step(self, *, moved: bool) -> None:
        """Note a step, and whether time went on in it."""
        self.stalled = 0 if moved else self.stalled + 1

    def resume(self, busy: list[float], stalled: int, time: float, systems: int) -> None:
        """Go on from a time [s] at which `busy` and `stalled` were such."""
        self.busy, self.stalled, self._mark = busy, stalled, (time, systems)

    def check(self, state: BodyState, time: float, systems: int, events: list[ContactEvent]) -> None:
        """Refuse to go on where nothing finite comes of it, or where events follow without end.

        Args:
            time: Of `state` [s].
            systems: Systems of contact forces that were solved by now.
            events: All that happened, the last at the end.

        Raises:
            SolverError: Names the bodies and the time.
        """
        finite = np.isfinite(state.c).all(axis=1) & np.isfinite(state.L).all(axis=1)
        if not finite.all():
            names = ", ".join(f"'{self.names[i]}'" for i in np.flatnonzero(~finite)[:5])
            raise SolverError(
                f"bodies {names} have no finite motion at {time:.6g} s; look for extreme masses, sizes or "
                "speeds among them"
            )
        if time > self._mark[0] + MOTION:
            self._mark = (time, systems)
        overworked = systems - self._mark[1] > MOST_SYSTEMS
        if len(self.busy) > EVENTS_PER_SECOND or self.stalled > STALLED or overworked:
            recent = [event for event in events if event.time > time - 1.0] or events[-1:]
            pairs = [(event.body_a, event.body_b) for event in recent]
            often = max(dict.fromkeys(pairs), key=pairs.count) if pairs else (self.names[0], self.names[0])
            raise SolverError(
                f"too many events at {time:.6g} s, most often between '{often[0]}' and '{often[1]}'; raise "
                "the tolerance, lower restitution, or use solver='impulse'"
            )
