"""Batches of eight contacts against the same contacts one by one, and what none may have in common."""

from typing import NamedTuple

import numpy as np
import pytest
from topple.dynamics.packed_rows import (
    ARM_A,
    ARM_B,
    DYNAMIC,
    GIVE,
    INVERSE,
    K_N,
    K_T,
    SLIP_STEP,
    STATIC,
    STICK_11,
    STICK_12,
    STICK_22,
    WIDTH,
    friction_step,
    normal_step,
    packed_velocity,
    world_impulse,
)
from topple.jit import kernel
from topple.lanes import LANES, SINGLE
from topple.math3 import vec3
from topple.solvers.contact_batches import (
    FEWEST,
    close_batches,
    empty_batches,
    enter_contact,
    leave_out_small,
    sweep_batches,
)
from topple.solvers.quiet_contacts import MISSING, empty_quiet, enter_quiet, fill_up, look_at_group


class Contacts(NamedTuple):
    """What is read of a contact set."""

    normal: np.ndarray
    arm: np.ndarray


FIRST = np.int64(0)  # typed, as the solver's are
# Of numbers of some units: a body has 17 contacts, so in three sweeps 50 changes are rounded (6e-8 each).
ROUNDING = 5e-6
COLUMNS = np.r_[0:3, ARM_A:DYNAMIC, K_N, K_T]  # of a packed row that are rows of a batch
INERTIA = [0, 1, 2, 1, 3, 4, 2, 4, 5]  # columns of a response that are its inverse inertia, row by row


@kernel
def group(batches, body, own, empty, rest):
    """Enter contacts of these members into the first set; returns how many are left."""
    left = FIRST
    for c in range(body.shape[0]):
        if not enter_contact(batches, FIRST, c, body[c, 0], body[c, 1], own):
            rest[left] = c
            left += 1
    close_batches(batches, FIRST, own)
    return leave_out_small(batches, FIRST, FIRST, empty, rest, left)


@kernel
def sweep(batches, own, velocity, response, beta, goes_on, least):
    """One pass over the first set."""
    return sweep_batches(batches, FIRST, own, velocity, response, beta, goes_on, least)


@kernel
def sweep_one_by_one(row, body, impulse, own, velocity, mass, inertia):
    """The same of scalars of double precision, each contact after the other; returns the largest change."""
    worst = 0.0
    for i in range(row.shape[0]):
        r, a, b = row[i], body[i, 0], body[i, 1]
        u = packed_velocity(r, vec3.load_pair(velocity[a]), vec3.load_pair(velocity[b]))
        p0, p1, p2 = impulse[i, 0], impulse[i, 1], impulse[i, 2]
        q0 = normal_step(r, u, p0)
        q1, q2 = friction_step(r, u, q0 - p0, p1, p2, q0)
        impulse[i, 0], impulse[i, 1], impulse[i, 2] = q0, q1, q2
        p = world_impulse(r, (q0 - p0, q1 - p1, q2 - p2))
        for side in range(2):
            k, arm = body[i, side], ARM_A if side == 0 else ARM_B
            sign = 1.0 if side == 0 else -1.0
            if k >= own:
                continue
            t = vec3.cross((r[arm], r[arm + 1], r[arm + 2]), p)
            for m in range(3):
                velocity[k, m] += sign * (mass[k, m] * p[m])
                change = inertia[k, m, 0] * t[0] + inertia[k, m, 1] * t[1]
                velocity[k, 3 + m] += sign * (change + inertia[k, m, 2] * t[2])
        d1, d2 = q1 - p1, q2 - p2
        worst = max(worst, r[K_N] * abs(q0 - p0), r[K_T] * np.sqrt(d1 * d1 + d2 * d2))
    return worst


@kernel
def look(contacts, quiet, body, rate, empty, velocity):
    """Enter all contacts and look at every group."""
    for c in range(body.shape[0]):
        enter_quiet(contacts, quiet, FIRST, c, body[c, 0], body[c, 1], rate[c])
    fill_up(quiet, FIRST, empty)
    for i in range(quiet.count[0] // LANES):
        look_at_group(quiet, i, velocity)


def heap(own, contacts, *, seed, hub=False):
    """Members a, b of random contacts; the members from `own` on are fixed. With a hub all touch member 0."""
    random = np.random.default_rng(seed)
    a = np.zeros(contacts, np.int64) if hub else random.integers(0, own, contacts)
    b = random.integers(1 if hub else 0, own + 2, contacts)
    b[a == b] = own
    return np.column_stack([a, b])


def grouped(body, own):
    count = own + 2
    batches, rest = empty_batches(count, len(body)), np.zeros(len(body), np.int64)
    batches.last[0] = len(batches.contact)
    left = group(batches, body, own, count, rest)
    return batches, rest[:left]


@pytest.mark.parametrize("hub", [False, True])
def test_every_contact_has_one_place_and_no_batch_moves_a_body_twice(hub):
    own = 90
    body = heap(own, 700, seed=1, hub=hub)
    batches, rest = grouped(body, own)
    contact = batches.contact[: batches.count[0]]
    found = np.concatenate([contact[contact >= 0], rest])
    assert np.array_equal(np.sort(found), np.arange(len(body)))
    for i, lanes in enumerate(contact):
        there = lanes[lanes >= 0]
        assert len(there) == batches.filled[i] >= FEWEST
        assert np.array_equal(batches.body[i, :, : len(there)], body[there].T)
        moved = body[there][body[there] < own]
        assert len(np.unique(moved)) == len(moved)
    assert not batches.busy.any()
    assert len(rest) == (len(body) if hub else len(rest))
    if not hub:
        assert len(rest) < 0.05 * len(body)
        assert (contact >= 0).mean() > 0.9


def random_rows(random, count):
    """Rows whose coefficients are of the right sign and size."""
    row = random.normal(size=(count, WIDTH))
    normals = random.normal(size=(count, 3))
    for i, n in enumerate(normals / np.linalg.norm(normals, axis=1, keepdims=True)):
        row[i, :9] = np.concatenate([n, *vec3.tangents(tuple(n))])
    for k in (GIVE, INVERSE, SLIP_STEP, STICK_11, STICK_22, K_N, K_T):
        row[:, k] = random.uniform(0.1, 0.5, count)
    row[:, STICK_12] = random.uniform(-0.05, 0.05, count)
    row[:, STATIC] = row[:, DYNAMIC] = random.uniform(0.3, 0.5, count)
    return row


def filled_heap(own):
    """Batches of a heap with random rows and impulses, and what they stand for."""
    random = np.random.default_rng(2)
    body = heap(own, 500, seed=3)
    batches, _ = grouped(body, own)
    count = batches.count[0]
    order = batches.contact[:count][batches.contact[:count] >= 0]
    row = random_rows(random, len(body))
    some = random.integers(0, 2, (len(body), 1))
    impulse = np.abs(random.normal(size=(len(body), 3))) * [1.0, 0.2, 0.2] * some
    for i in range(count):
        for lane in range(batches.filled[i]):
            c = batches.contact[i, lane]
            batches.row[i, :, lane], batches.impulse[i, :, lane] = row[c, COLUMNS], impulse[c]
    velocity, response = np.zeros((2, own + 3, LANES), SINGLE)
    velocity[:-1, :6] = random.normal(size=(own + 2, 6))
    velocity[:own, 6], response[:own] = (
        random.uniform(0.02, 0.2, own),
        random.uniform(0.02, 0.2, (own, LANES)),
    )
    return batches, body, order, row, impulse, velocity, response


def responses_of(velocity, response):
    """Inverse masses by axis and inverse inertia of members, as a formula takes them."""
    mass = np.column_stack([response[:, 6:], velocity[:, 6]]).astype(float)
    return mass, np.ascontiguousarray(response[:, INERTIA].reshape(-1, 3, 3).astype(float))


def impulses_of(batches):
    """The impulses of the contacts in batches, in their order there."""
    count = batches.count[0]
    return batches.impulse[:count].transpose(0, 2, 1)[batches.contact[:count] >= 0]


def test_a_sweep_is_that_of_the_contacts_one_after_the_other():
    own = 60
    batches, body, order, row, impulse, velocity, response = filled_heap(own)
    plain, plain_impulse, plain_row = velocity.astype(float), impulse[order], row[order]
    responses = responses_of(velocity, response)
    for _ in range(3):
        worst, _ = sweep(batches, own, velocity, response, 0.0, False, 0.0)
        expected = sweep_one_by_one(plain_row, body[order], plain_impulse, own, plain, *responses)
        np.testing.assert_allclose(worst, expected, rtol=ROUNDING)
    np.testing.assert_allclose(velocity, plain, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(impulses_of(batches), plain_impulse, rtol=ROUNDING, atol=ROUNDING)
    assert np.count_nonzero(plain_impulse[:, 0]) not in (0, len(order))


def test_a_sweep_of_what_changes_is_that_of_these_contacts_one_after_the_other():
    own = 60
    batches, body, order, row, _, velocity, response = filled_heap(own)
    count = batches.count[0]
    worst, _ = sweep(batches, own, velocity, response, 0.0, False, 0.0)
    change = batches.change[:count]
    assert change.max() == worst
    least = float(np.median(change))
    swept = np.repeat(change >= least, batches.filled[:count])
    plain, plain_impulse = velocity.astype(float), impulses_of(batches).astype(float)
    part, responses = plain_impulse[swept], responses_of(velocity, response)
    for _ in range(2):
        worst, _ = sweep(batches, own, velocity, response, 0.0, False, least)
        expected = sweep_one_by_one(row[order][swept], body[order][swept], part, own, plain, *responses)
        np.testing.assert_allclose(worst, expected, rtol=ROUNDING)
    plain_impulse[swept] = part
    np.testing.assert_allclose(velocity, plain, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(impulses_of(batches), plain_impulse, rtol=ROUNDING, atol=ROUNDING)
    assert 0 < np.count_nonzero(swept) < len(swept)


def test_quiet_contacts_miss_what_their_rates_ask_for():
    own, random = 40, np.random.default_rng(5)
    body, rate = heap(own, 101, seed=6), random.normal(size=101)
    contacts = Contacts(random.normal(size=(101, 3)), random.normal(size=(101, 2, 3)))
    velocity = np.zeros((own + 3, 8), SINGLE)
    velocity[:-1, :6] = random.normal(size=(own + 2, 6))
    quiet = empty_quiet(101)
    look(contacts, quiet, body, rate, own + 2, velocity)
    va, vb = velocity[body[:, 0]], velocity[body[:, 1]]
    turn_a, turn_b = np.cross(va[:, 3:6], contacts.arm[:, 0]), np.cross(vb[:, 3:6], contacts.arm[:, 1])
    closing = (contacts.normal * (va[:, :3] + turn_a - vb[:, :3] - turn_b)).sum(axis=1)
    missing = quiet.row[: quiet.count[0] // LANES, MISSING].reshape(-1)
    np.testing.assert_allclose(missing[:101], rate - closing, rtol=ROUNDING, atol=ROUNDING)
    assert not missing[101:].any()
