"""Bodies that could not be parted, mostly because animated ones leave them no room, or not at once: named."""

import numpy as np

from ..collision.contact_set import ContactSet
from ..dynamics.body_state import DYNAMIC, KINEMATIC


class PressedPairs:
    """Pairs of bodies that a step left deeper in each other than the tolerance."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._found: dict[tuple[int, int], tuple[float, float]] = {}  # bodies: since when [s], how deep [m]
        self._any_animated = False
        self._released: dict[tuple[int, int], str] = {}

    def note_release(self, a: int, b: int, depth: float, time: float) -> None:
        """Note that two bodies overlap so deep [m] when one of them is released, at that time [s]."""
        self._released[a, b] = (
            f"bodies '{self.names[a]}' and '{self.names[b]}' overlap by {depth:.3g} m when one is released "
            f"(t = {time:.4g} s); they are pushed apart slowly: release it where it is free"
        )

    def note(
        self, kind: np.ndarray, contacts: ContactSet, count: int, allowance: np.ndarray, tolerance: float,
        time: float,
    ) -> None:  # fmt: skip
        """Note the pairs of this moment.

        Args:
            kind: Of the bodies, shape (n,).
            contacts, count: Where bodies are.
            allowance: Overlap forgiven to each pair [m].
            tolerance: Overlap allowed to all [m].
            time: Of the end of the step [s].
        """
        body, depth = contacts.body[:count], -contacts.separation[:count]
        deep = (depth - allowance[contacts.slot[:count]] > tolerance) & (kind[body] == DYNAMIC).any(axis=1)
        self._any_animated |= bool((kind == KINEMATIC).any())
        for contact in np.flatnonzero(deep):
            pair = int(body[contact].min()), int(body[contact].max())
            since, before = self._found.get(pair, (time, 0.0))
            self._found[pair] = since, max(before, float(depth[contact]))

    @property
    def warnings(self) -> list[str]:
        """One sentence for each pair, first of those that overlapped when released."""
        remedy = "animated bodies leave them no room, so give them more"
        if not self._any_animated:
            remedy = "give them more room, or take smaller steps"
        pressed = [
            f"bodies '{self.names[a]}' and '{self.names[b]}' are pressed into each other from {since:.4g} s "
            f"on, up to {depth:.3g} m deep: {remedy}"
            for (a, b), (since, depth) in self._found.items()
        ]
        return [*self._released.values(), *pressed]
