"""Friction limits of Newton's method: they follow the normal impulses from one iteration to the next.

Source: Anderson 1965, *Iterative procedures for nonlinear integral equations*, of depth 1.
"""

from ..dynamics.contact_rows import friction_of
from ..jit import inner

# Friction limits follow the normal impulses so many times in one solution. A limit that turns back has gone
# too far: friction presses, too, and a contact may open and close, slip and hold in turn for ever. Each time
# it turns it follows by half as much, TURNS times at most, and by twice as much where it goes on. Where the
# two have not met by then (bodies jammed by their own friction), the last solution stands: no penetration,
# friction an iteration late.
LIMIT_ROUNDS, TURNS = 40, 3
# After so many whole steps in a row limits go on by what the last two changes tell, if that is no more than
# so many times as far: see `_part_to_take_back`.
STEADY, MOST_TAKEN_BACK = 2, 30.0


@inner
def set_limits(rows, islands, island, limit):
    """Friction limits by the normal impulses now in `rows.impulse`."""
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        limit[c] = friction_of(rows, c) * rows.impulse[c, 0]


@inner
def _part_to_take_back(rows, islands, island, last, scratch):
    """How much of the last change of limits and excesses to take back: what would leave the least excess.

    The excess is what normal impulses ask for beyond a limit. While contacts stay open, slip or hold as they
    are it shrinks by the same factor each time, near 1 where bodies wedge each other. Where it grows: none.
    """
    change, along, before, now = 0.0, 0.0, 0.0, 0.0
    for i in range(last.shape[0]):
        c = islands.order[islands.start[island] + i]
        excess = friction_of(rows, c) * rows.impulse[c, 0] - scratch.limit[c]
        change += (excess - last[i, 1]) ** 2
        along += (excess - last[i, 1]) * excess
        before, now = before + last[i, 1] ** 2, now + excess**2
    part = along / change if now < before else 0.0
    return part if abs(part) < MOST_TAKEN_BACK else 0.0


@inner
def follow_limits(rows, islands, island, first, steady, last, scratch):
    """Let friction limits follow the normal impulses now in `rows.impulse`: all the way the first time.

    Args:
        first: Whether it is the first time.
        steady: Whether the last iterations were whole steps, so that limits tell where they go.
        last: Limits of the last time and what was beyond them (contacts of the island, 2): written.
    """
    part = _part_to_take_back(rows, islands, island, last, scratch) if steady else 0.0
    for i in range(last.shape[0]):
        c = islands.order[islands.start[island] + i]
        limit = scratch.limit[c]
        rise, turns = friction_of(rows, c) * rows.impulse[c, 0] - limit, 0
        if not first:
            turns = abs(scratch.turn[c]) - 1
            if scratch.turn[c] * rise < 0.0:
                turns = min(turns + 1, TURNS)
            else:
                turns = max(turns - 1, 0)
        if part != 0.0:
            scratch.limit[c] = max(limit + rise - part * (limit - last[i, 0] + rise - last[i, 1]), 0.0)
        else:
            scratch.limit[c] += 0.5**turns * rise
        scratch.turn[c] = turns + 1 if rise >= 0.0 else -turns - 1
        last[i, 0], last[i, 1] = limit, rise
