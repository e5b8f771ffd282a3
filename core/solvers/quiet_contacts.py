"""Contacts of a set that have no impulse: looked at eight at a time for those that close too fast.

In a heap that pours most contacts never get an impulse. Of these nothing is kept but what tells how fast they
close, so they cost little to prepare and to look at; one that needs an impulse is handed to the sweeps.
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner
from ..lanes import LANES, SINGLE, any_of, dot, fill, gather, load, store
from ..math3 import vec3
from ..tables import scratch_tables
from .island_parts import SETS, SMALLEST

# Rows of a group: normal velocity = n . (v_a - v_b) + (r_a x n) . w_a - (r_b x n) . w_b.
NORMAL, TURN_A, TURN_B, RATE, MISSING, ROWS = 0, 3, 6, 9, 10, 11


class QuietContacts(NamedTuple):
    """Contacts without an impulse of one island, eight to a group, set by set."""

    first: np.ndarray  # (SETS,) where the groups of each set begin
    count: np.ndarray  # (SETS,) contacts of each set
    contact: np.ndarray  # (g, LANES) contact indices, -1 in an empty lane
    body: np.ndarray  # (g, 2, LANES) members a, b
    row: np.ndarray  # (g, ROWS, LANES)


def empty_quiet(contact_capacity: int) -> QuietContacts:
    """Room for so many contacts."""
    groups = contact_capacity // LANES + (SETS if contact_capacity >= 2 * SMALLEST else 1)
    contact, body, row = scratch_tables(
        ((groups, LANES), np.int64), ((groups, 2, LANES), np.int32), ((groups, ROWS, LANES), SINGLE),
        sparse=True,
    )  # fmt: skip
    return QuietContacts(np.zeros(SETS, np.int64), np.zeros(SETS, np.int64), contact, body, row)


@inlined
def leave_quiet(quiet, number, empty):
    """Leave a lane empty: it stands for the member `empty`, which does not move, and never closes."""
    i = quiet.first[number] + quiet.count[number] // LANES
    lane = quiet.count[number] % LANES
    quiet.contact[i, lane], quiet.body[i, 0, lane], quiet.body[i, 1, lane] = -1, empty, empty
    for k in range(ROWS):
        quiet.row[i, k, lane] = 0.0
    quiet.count[number] += 1


@inlined
def enter_quiet(contacts, quiet, number, c, a, b, rate):
    """Enter contact `c` of members a and b, whose least normal velocity this is [m/s]."""
    i = quiet.first[number] + quiet.count[number] // LANES
    lane, row = quiet.count[number] % LANES, quiet.row[i]
    quiet.contact[i, lane], quiet.body[i, 0, lane], quiet.body[i, 1, lane] = c, a, b
    n = vec3.load(contacts.normal, c)
    turn_a = vec3.cross(vec3.load(contacts.arm[c], 0), n)
    turn_b = vec3.cross(vec3.load(contacts.arm[c], 1), n)
    for k in range(3):
        row[NORMAL + k, lane], row[TURN_A + k, lane], row[TURN_B + k, lane] = n[k], turn_a[k], turn_b[k]
    row[RATE, lane] = rate
    quiet.count[number] += 1


@inner
def fill_up(quiet, number, empty):
    """Leave the lanes of a set's last group empty that no contact is in."""
    while quiet.count[number] % LANES != 0:
        leave_quiet(quiet, number, empty)


@inner
def look_at_group(quiet, i, velocity):
    """Note in row MISSING by how much each contact of a group closes too fast [m/s]; whether any does.

    Args:
        velocity: Of members, shape (members, 8).
    """
    row = quiet.row[i]
    va, vb = gather(velocity, quiet.body[i, 0]), gather(velocity, quiet.body[i, 1])
    n = load(row, NORMAL), load(row, NORMAL + 1), load(row, NORMAL + 2)
    turn_a = load(row, TURN_A), load(row, TURN_A + 1), load(row, TURN_A + 2)
    turn_b = load(row, TURN_B), load(row, TURN_B + 1), load(row, TURN_B + 2)
    u = dot(n, (va[0] - vb[0], va[1] - vb[1], va[2] - vb[2]))
    u = u + (dot(turn_a, (va[3], va[4], va[5])) - dot(turn_b, (vb[3], vb[4], vb[5])))
    missing = load(row, RATE) - u
    store(row, MISSING, missing)
    return any_of(missing > fill(0.0))


@inlined
def take_out(quiet, i, lane):
    """Take a contact out of its group, which has an impulse now; returns it."""
    c = quiet.contact[i, lane]
    quiet.contact[i, lane], quiet.row[i, RATE, lane] = -1, -np.inf
    return c
