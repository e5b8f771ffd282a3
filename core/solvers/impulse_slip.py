"""Static and dynamic friction: which pairs slip.

A pair is held by static friction until all of its contacts slip, and then slips by dynamic friction until one
of them holds. Not each contact for itself: loads are spread over the corners of a face by chance, and the
corners would let go one after the other where together they hold.
"""

from ..dynamics.contact_rows import friction_of, in_frame, relative_velocity, sticking_impulse, stiffnesses
from ..jit import inlined, inner

ROUND_OFF = 1e-6  # part of its limit that friction may lack where a contact slips
# A contact slips where its spring would be stretched to so many times what friction can hold: corners that
# pull in different ways give by less until they all pull in one.
SLIPPED = 2.0
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
def _slips(contacts, rows, c, velocity):
    """Whether contact `c` slips where static friction acts."""
    u = in_frame(contacts, c, relative_velocity(velocity, contacts, c))
    p1, p2 = sticking_impulse(rows, c, u, stiffnesses(rows, c)[0])
    most = SLIPPED * rows.friction[c, 0] * rows.impulse[c, 0]
    return p1 * p1 + p2 * p2 > most * most


@inlined
def _holds(rows, c):
    """Whether contact `c` pushes and holds, by its impulse in `rows.impulse`."""
    p, most = rows.impulse[c], (1.0 - ROUND_OFF) * friction_of(rows, c) * rows.impulse[c, 0]
    return p[1] * p[1] + p[2] * p[2] < most * most


@inner
def let_slip(contacts, rows, islands, island, velocity):
    """Let pairs of an island slip that static friction does not hold; whether there are any new ones.

    Args:
        velocity: Which the impulses now in `rows.impulse` give, shape (bodies, 6).
    """
    order, first, any_new = islands.order, islands.start[island], False
    while first < islands.start[island + 1]:
        last, new = _pair_end(contacts, islands, island, first), False
        for i in range(first, last):
            c = order[i]
            if rows.friction[c, 0] == rows.friction[c, 1]:
                break
            if rows.impulse[c, 0] > 0.0 and not rows.slips[c]:
                new = _slips(contacts, rows, c, velocity)
                if not new:
                    break
        for i in range(first, last if new else first):
            rows.slips[order[i]] = True
        first, any_new = last, any_new or new
    return any_new


@inner
def note_holding(contacts, rows, islands, island):
    """Note which pairs of an island slip no more: static friction is what can hold them from now on."""
    order, first = islands.order, islands.start[island]
    while first < islands.start[island + 1]:
        if not rows.slips[order[first]]:
            first += 1
            continue
        last = _pair_end(contacts, islands, island, first)
        for i in range(first, last):
            if rows.slips[order[i]] and _holds(rows, order[i]):
                for k in range(first, last):
                    rows.slips[order[k]] = False
                break
        first = last
