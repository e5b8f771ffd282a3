"""Contacts and bodies of one island as sweeps need them, packed in the order of the island's parts.

A contact takes a third of the time it takes from the rows of the step, which lie in the order of the pairs.
What is packed is made for one step and lasts no longer: it is more than all the rest that a contact needs.
"""

from typing import NamedTuple

import numpy as np

from ..dynamics.contact_rows import PUSH, friction_of, in_frame, normal_compliance, relative_velocity
from ..dynamics.packed_rows import (
    ANCHOR_1,
    ANCHOR_2,
    WIDTH,
    pack_friction,
    pack_normal,
    pack_row,
)
from ..jit import inlined, inner, merged
from ..lanes import LANES, SINGLE
from ..math3 import vec3
from ..tables import scratch_tables
from .batch_rows import complete_rows, enter_lane, enter_spring
from .contact_batches import (
    ContactBatches,
    clear_batch,
    close_batches,
    empty_batches,
    enter_contact,
    leave_out_small,
    room_before,
)
from .impulse_contacts import gap_rate
from .island_parts import SETS, IslandParts, empty_parts
from .quiet_contacts import MISSING, QuietContacts, empty_quiet, enter_quiet, fill_up, look_at_group, take_out
from .quiet_contacts import RATE as QUIET_RATE

FEW = 64  # contacts of a set, if so few, are all swept from the beginning


class PackedContacts(NamedTuple):
    """Contacts and bodies of one island, in the order of its parts; impulses in the contact frame.

    Of each set contacts that have an impulse are in batches, and the rest of them, from its first place on,
    one by one; those that have none are apart.
    """

    parts: IslandParts
    batches: ContactBatches
    quiet: QuietContacts
    rest: np.ndarray  # (c,) contact indices
    rest_count: np.ndarray  # (SETS,) how many of each set
    packed_rest: np.ndarray  # (SETS,) and how many of these are packed
    row: np.ndarray  # (c, WIDTH)
    one: np.ndarray  # (SETS, WIDTH) the row of a contact on its way into a batch
    body: np.ndarray  # (c, 2) members a, b
    impulse: np.ndarray  # [N s] (c, 3)
    step: np.ndarray  # [N s] (c, 3) what the last sweep added
    direction: np.ndarray  # [N s] (c, 3) of the conjugate gradients that speed up sweeps
    base: np.ndarray  # (bodies, 6) velocities before the sweeps, of double precision
    # Eight columns each; the last row is what empty lanes stand for, zero.
    velocity: np.ndarray  # (members + 1, 8) what sweeps added; inverse mass along z, room
    response: np.ndarray  # (members + 1, 8) inverse inertia xx, xy, xz, yy, yz, zz; inverse mass along x, y
    found: np.ndarray  # (members + 1, 8) velocities before the last sweep
    course: np.ndarray  # (members + 1, 8) what the direction changes velocities by
    stirred: np.ndarray  # (members + 1,) whether each member has contacts that are swept
    worst: np.ndarray  # [m] (SETS,) what the last sweep over each set returned
    size: np.ndarray  # [N m s] (SETS,)
    stirs: np.ndarray  # (SETS,) whether anything of each set is swept then
    bent: np.ndarray  # (SETS,) whether each piece of BEND corrected a gap


def packed_contacts(body_count: int, contact_capacity: int) -> PackedContacts:
    """Room for so many bodies and contacts; it is filled before it is read."""
    by_three, by_member = ((contact_capacity, 3), float), ((body_count + 1, LANES), SINGLE)
    velocity, response, impulse, step, found, course = scratch_tables(
        by_member, by_member, by_three, by_three, by_member, by_member,
    )  # fmt: skip
    row, direction, body, rest = scratch_tables(
        ((contact_capacity, WIDTH), float), by_three, ((contact_capacity, 2), np.int64),
        ((contact_capacity,), np.int64), sparse=True,
    )  # fmt: skip
    (base,) = scratch_tables(((body_count, 6), float))
    return PackedContacts(
        empty_parts(body_count, contact_capacity),
        empty_batches(body_count, contact_capacity),
        empty_quiet(contact_capacity),
        rest=rest,
        rest_count=np.zeros(SETS, np.int64),
        packed_rest=np.zeros(SETS, np.int64),
        row=row,
        one=np.zeros((SETS, WIDTH)),
        body=body,
        impulse=impulse,
        step=step,
        direction=direction,
        base=base,
        velocity=velocity,
        response=response,
        found=found,
        course=course,
        stirred=np.zeros(body_count + 1, np.bool_),
        worst=np.zeros(SETS),
        size=np.zeros(SETS),
        stirs=np.zeros(SETS, np.bool_),
        bent=np.zeros(SETS, np.bool_),
    )


@inlined
def _closing(contacts, c, u):
    """Normal part of the velocity u of a relative to b [m/s]."""
    return vec3.dot(vec3.load(contacts.normal, c), u)


@inlined
def _pack_gap(contacts, rows, c, h, push, u, row):
    """What a change of the gap changes: the rate is that of what is added to the velocity u."""
    rate = gap_rate(rows.gap[c], h, push) - _closing(contacts, c, u)
    pack_normal(rows.K_nn[c], normal_compliance(rows, c), rate, row)


@inner
def pack_contact(masses, contacts, rows, c, h, push, base, row):
    """Pack contact `c` for what sweeps add to the velocities `base` (bodies, 6)."""
    s, u = PUSH * rows.compliance[c], relative_velocity(base, contacts, c)
    pack_row(masses, contacts, c, s, h, row)
    pack_friction(friction_of(rows, c), friction_of(rows, c), row)
    _pack_gap(contacts, rows, c, h, push, u, row)
    slip = in_frame(contacts, c, u)
    row[ANCHOR_1] = s * rows.before[c, 1] - slip[1]
    row[ANCHOR_2] = s * rows.before[c, 2] - slip[2]


@inner
def _pack_active(masses, contacts, rows, number, begun, h, push, packed):
    """Close the batches of a set that were filled and pack their contacts, and those that found no place.

    Args:
        begun: How many batches of the set are packed already.
    """
    parts, batches, count = packed.parts, packed.batches, 1 << packed.parts.depth[0]
    first = parts.contact_start[number]
    close_batches(batches, number, parts.member_start[count])
    listed = first + packed.rest_count[number]
    left = leave_out_small(batches, number, begun, parts.member_start[count + 1], packed.rest, listed)
    row = packed.one[number]
    for i in range(batches.first[number] + begun, batches.first[number] + batches.count[number]):
        clear_batch(batches, i)
        for lane in range(batches.filled[i]):
            c = batches.contact[i, lane]
            u = relative_velocity(packed.base, contacts, c)
            _pack_gap(contacts, rows, c, h, push, u, row)
            enter_lane(contacts, rows, c, u, row, batches.row[i], lane)
            for k in range(3):
                batches.impulse[i, k, lane] = rows.impulse[c, k]
        complete_rows(batches.row[i], batches.body[i], packed.velocity, packed.response, h)
    for i in range(first + packed.packed_rest[number], left):
        c = packed.rest[i]
        pack_contact(masses, contacts, rows, c, h, push, packed.base, packed.row[i])
        for k in range(3):
            packed.impulse[i, k] = rows.impulse[c, k]
            packed.step[i, k], packed.direction[i, k] = 0.0, 0.0
        for side in range(2):
            packed.body[i, side] = parts.place[contacts.body[c, side]]
    packed.rest_count[number] = packed.packed_rest[number] = left - first


@inlined
def _enter(number, c, a, b, packed):
    """Enter contact `c` of members a and b into a batch of a set, or where there is none among the rest."""
    own = packed.parts.member_start[1 << packed.parts.depth[0]]
    if not enter_contact(packed.batches, number, c, a, b, own):
        packed.rest[packed.parts.contact_start[number] + packed.rest_count[number]] = c
        packed.rest_count[number] += 1


@inner
def pack_set(masses, contacts, rows, number, h, push, packed):
    """Pack the contacts of a set, with the impulses they have now."""
    parts, batches, quiet = packed.parts, packed.batches, packed.quiet
    first, last = parts.contact_start[number], parts.contact_end[number]
    batches.first[number], batches.last[number] = room_before(first, number), room_before(last, number + 1)
    batches.count[number], quiet.count[number], quiet.first[number] = 0, 0, first // LANES + number
    packed.rest_count[number], packed.packed_rest[number] = 0, 0
    for i in range(first, last):
        c = parts.contact[i]
        a, b = parts.place[contacts.body[c, 0]], parts.place[contacts.body[c, 1]]
        if rows.impulse[c, 0] > 0.0 or last - first <= FEW:
            _enter(number, c, a, b, packed)
        else:
            u = relative_velocity(packed.base, contacts, c)
            rate = gap_rate(rows.gap[c], h, push) - _closing(contacts, c, u)
            enter_quiet(contacts, quiet, number, c, a, b, rate)
    fill_up(quiet, number, parts.member_start[(1 << parts.depth[0]) + 1])
    _pack_active(masses, contacts, rows, number, np.int64(0), h, push, packed)


@inner
def wake_quiet(masses, contacts, rows, number, h, push, packed):
    """Pack those of a set's quiet contacts that close too fast."""
    quiet, begun, woken = packed.quiet, packed.batches.count[number], False
    for i in range(quiet.first[number], quiet.first[number] + quiet.count[number] // LANES):
        if not look_at_group(quiet, i, packed.velocity):
            continue
        for lane in range(LANES):
            if quiet.row[i, MISSING, lane] > 0.0:
                woken, a, b = True, np.int64(quiet.body[i, 0, lane]), np.int64(quiet.body[i, 1, lane])
                _enter(number, take_out(quiet, i, lane), a, b, packed)
    if woken:
        _pack_active(masses, contacts, rows, number, begun, h, push, packed)


@inner
def pack_gaps(contacts, rows, number, h, push, packed):
    """Pack anew what follows from the gaps of a set."""
    first, batches, quiet = packed.parts.contact_start[number], packed.batches, packed.quiet
    row = packed.one[number]
    for i in range(batches.first[number], batches.first[number] + batches.count[number]):
        for lane in range(batches.filled[i]):
            c = batches.contact[i, lane]
            u = relative_velocity(packed.base, contacts, c)
            _pack_gap(contacts, rows, c, h, push, u, row)
            enter_spring(row, batches.row[i], lane)
    for i in range(first, first + packed.rest_count[number]):
        c = packed.rest[i]
        u = relative_velocity(packed.base, contacts, c)
        _pack_gap(contacts, rows, c, h, push, u, packed.row[i])
    for i in range(quiet.first[number], quiet.first[number] + quiet.count[number] // LANES):
        for lane in range(LANES):
            c = quiet.contact[i, lane]
            if c >= 0:
                closing = _closing(contacts, c, relative_velocity(packed.base, contacts, c))
                quiet.row[i, QUIET_RATE, lane] = gap_rate(rows.gap[c], h, push) - closing


@inner
def unpack_impulses(number, packed, impulse):
    """Take the impulses of a set's contacts back."""
    first, batches = packed.parts.contact_start[number], packed.batches
    for i in range(batches.first[number], batches.first[number] + batches.count[number]):
        for lane in range(batches.filled[i]):
            for k in range(3):
                impulse[batches.contact[i, lane], k] = batches.impulse[i, k, lane]
    for i in range(first, first + packed.rest_count[number]):
        for k in range(3):
            impulse[packed.rest[i], k] = packed.impulse[i, k]


@inlined
def pack_response(masses, body, velocity, response):
    """Write the inverse mass and inertia of a body where `PackedContacts` has them of a member."""
    inverse, mass = masses.inv_I[body], masses.inv_mass[body]
    response[0], response[1], response[2] = inverse[0], inverse[1], inverse[2]
    response[3], response[4], response[5] = inverse[4], inverse[5], inverse[8]
    response[6], response[7], velocity[6] = mass[0], mass[1], mass[2]


@merged
def pack_bodies(masses, velocity, packed):
    """Pack the members of an island."""
    parts = packed.parts
    count = parts.member_start[(1 << parts.depth[0]) + 1]
    packed.velocity[count], packed.response[count] = 0.0, 0.0
    for k in range(count):
        body = parts.member[k]
        packed.velocity[k] = 0.0
        for m in range(6):
            packed.base[body, m] = velocity[body, m]
        pack_response(masses, body, packed.velocity[k], packed.response[k])


@merged
def unpack_velocities(packed, velocity):
    """Write the velocities of an island's own bodies with what sweeps added."""
    parts = packed.parts
    for k in range(parts.member_start[1 << parts.depth[0]]):
        body = parts.member[k]
        for m in range(6):
            velocity[body, m] = packed.base[body, m] + packed.velocity[k, m]
