"""Static and dynamic friction: which pairs slip.

A pair is held by static friction until none of its contacts holds, and then slips by dynamic friction until
one does. Not each contact for itself: loads are spread over the corners of a face by chance, and the corners
would let go one after the other where together they hold.
"""

from ..jit import inlined, inner

SAME = 1e-6  # part of its limit that friction may lack where a contact slips: round-off
# An island is solved so many times at most where pairs begin to slip. What these pull along slips from the
# next step on.
SLIP_ROUNDS = 2


@inlined
def _pair_end(contacts, islands, island, first):
    """Where the contacts of the pair end whose first one is entry `first` of an island."""
    last, c = first + 1, islands.order[first]
    while last < islands.start[island + 1]:
        k = islands.order[last]
        if contacts.body[k, 0] != contacts.body[c, 0] or contacts.body[k, 1] != contacts.body[c, 1]:
            break
        last += 1
    return last


@inlined
def _how_held(rows, order, first, last):
    """(whether any of a pair's contacts pushes, whether any holds) by the impulses in `rows.impulse`."""
    pushes, holds = False, False
    for i in range(first, last):
        p = rows.impulse[order[i]]
        if p[0] > 0.0:
            most = (1.0 - SAME) * rows.friction[order[i], 1 if rows.slips[order[i]] else 0] * p[0]
            pushes, holds = True, holds or p[1] * p[1] + p[2] * p[2] < most * most
    return pushes, holds


@inner
def let_slip(contacts, rows, islands, island):
    """Let pairs of an island slip that static friction does not hold; whether there are any new ones."""
    order, first, any_new = islands.order, islands.start[island], False
    while first < islands.start[island + 1]:
        last = _pair_end(contacts, islands, island, first)
        c = order[first]
        if rows.friction[c, 0] != rows.friction[c, 1]:
            pushes, holds = _how_held(rows, order, first, last)
            for i in range(first, last if pushes and not holds else first):
                any_new = any_new or not rows.slips[order[i]]
                rows.slips[order[i]] = True
        first = last
    return any_new


@inner
def note_holding(contacts, rows, islands, island):
    """Note which pairs of an island slip no more: static friction is what can hold them from now on."""
    order, first = islands.order, islands.start[island]
    while first < islands.start[island + 1]:
        last = _pair_end(contacts, islands, island, first)
        if rows.friction[order[first], 0] != rows.friction[order[first], 1]:
            if _how_held(rows, order, first, last)[1]:
                for i in range(first, last):
                    rows.slips[order[i]] = False
        first = last
