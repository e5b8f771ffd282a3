"""How far the steps have come; whether the next may follow at once, or Python has something to do first."""

from typing import Any

import numpy as np

from ..collision.broad_phase import is_mixed, is_sparse
from ..collision.narrow_phase import PIECE
from ..collision.pairs import FREE, FREE_ROOMS, HIGH, ROOMS
from ..jit import inlined, kernel
from ..tables import is_short

NOW, BEFORE = 0, 1  # of a clock: the time [s] after the last step, and before it
BEYOND, WORST, MOST = 0, 1, 2  # of a depth [m]: see `deepest`; and the worst after any step
SWEEPS, NEWTON, UNSETTLED, RESIDUAL, BODY_A, BODY_B = range(6)  # of a report: see `solve_contacts`
# Contacts of which the work is shared, and slots of pairs: that of fewer is done before another thread has
# heard of it.
LEAST_CONTACTS, LEAST_PAIRS = 1024, 2 * PIECE


def unsettled(report: np.ndarray, names: list[str]) -> dict[str, Any]:
    """What did not settle, for people: how many islands, the worst residual [m] and the bodies it is at."""
    pair = names[int(report[BODY_A])], names[int(report[BODY_B])]
    return {"islands": int(report[UNSETTLED]), "residual": float(report[RESIDUAL]), "pair": pair}


lacks_room = inlined(is_short)


@inlined
def _lack_room(slots, contact_count, pairs):
    """Whether there is little room for more contacts or pairs, or pairs lie in no order."""
    counter = pairs.counter
    return (
        lacks_room(slots.shape[0], contact_count)
        or lacks_room(pairs.collider.shape[0], counter[HIGH] - counter[FREE])
        or lacks_room(pairs.point.shape[0], counter[ROOMS] - counter[FREE_ROOMS])
        or is_sparse(counter)
        or is_mixed(counter)
    )


@kernel
def end_step(
    h, clock, depth, deep, report, slots, contact_count, pairs, is_small, has_many_pairs, who_wakes
):  # fmt: skip
    """Note that a step is over.

    Args:
        h: How long it was [s].
        clock: Written.
        depth: How deep bodies are in each other; `MOST` is written.
        deep: What is deeper is put right before the next step [m].
        report: Of the solve.
        slots, contact_count, pairs: Tables that may be short, and how many contacts there are.
        is_small, has_many_pairs: Whether these numbers are such that the work was shared: see LEAST_CONTACTS.
        who_wakes: Whether bodies are to wake.

    Returns:
        Whether Python has something to do before the next.
    """
    clock[BEFORE], clock[NOW] = clock[NOW], clock[NOW] + h
    is_deep = depth[BEYOND] > deep
    if not is_deep:
        depth[MOST] = max(depth[MOST], depth[WORST])
    return np.int64(
        is_deep
        or who_wakes > 0
        or report[UNSETTLED] > 0.0
        or _lack_room(slots, contact_count, pairs)
        or (contact_count < LEAST_CONTACTS) != is_small
        or (pairs.counter[HIGH] >= LEAST_PAIRS) != has_many_pairs
    )
