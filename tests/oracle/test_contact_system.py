"""A, b and n' of the analytic solver against finite differences of the motion that they claim to describe.

Whatever sign or factor is wrong in appendix D of Baraff 1997 (see the errata), or in ours, shows here.
"""

import numpy as np
import pytest
import scenes
import topple
from topple.compilation import compile_kernels
from topple.dynamics.driven_bodies import carry_bodies
from topple.dynamics.motion import update_all_derived
from topple.solvers.analytic import AnalyticSolver, build_pipeline
from topple.solvers.analytic_contacts import (
    apply_impulses,
    build_system,
    frame_velocity,
    relative_acceleration,
)
from topple.solvers.analytic_motion import copy_state

PAIRS = [
    {"plane", "tip"}, {"lower", "upper"}, {"slab", "slab ball"}, {"slab two", "slab tip"},
    {"ball one", "ball two"}, {"plane", "can side"}, {"plane", "can rim"}, {"plane", "capsule"},
    {"slab three", "slab rim"}, {"drum", "drum tip"},
]  # fmt: skip


@pytest.fixture(scope="module")
def pipeline():
    compile_kernels("analytic")
    pipeline, _ = build_pipeline(scenes.contacts_of_all_kinds(), AnalyticSolver())
    pipeline.finder.update_pairs(pipeline.state, np.full(len(pipeline.names), 0.1))
    return pipeline


def touching(pipeline, state):
    """Contacts of the pairs that touch, 1e-3 m of slack."""
    return pipeline.finder.points(state, 1e-3)


def test_every_kind_touches(pipeline):
    contacts = touching(pipeline, pipeline.state)
    found = {frozenset(pipeline.names[i] for i in pair) for pair in contacts.body.tolist()}
    assert found == {frozenset(pair) for pair in PAIRS}
    np.testing.assert_allclose(contacts.separation, 0.0, atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " on ".join(sorted(pair)))
def test_b_is_the_second_derivative_of_the_gap(pipeline, pair):
    """b = s'' without contact forces: (s(h) - 2 s(0) + s(-h)) / h^2.

    With h = 1e-4 and s'''' of the order of w^4 r = 100 m/s^4 the error of the difference is h^2 s'''' / 12 =
    1e-7, that of round-off 4 eps / h^2 = 4e-7 for eps = 1e-15 m.
    """
    h = 1e-4
    mover, state = pipeline.mover, pipeline.state
    contacts = touching(pipeline, state)
    mine = [i for i, b in enumerate(contacts.body) if {pipeline.names[k] for k in b} == pair]
    a, alpha, _ = mover.free_acceleration(state, 0.0)
    b = relative_acceleration(contacts, state, a, alpha)
    u = frame_velocity(contacts, state)
    keys = contacts.identities()
    gaps = []
    for t in (-h, h):
        moved = backwards(mover, state, -t) if t < 0 else mover.fly(state, t)
        later = touching(pipeline, moved)
        place = {key: i for i, key in enumerate(later.identities())}
        gaps.append([later.separation[place[keys[i]]] for i in mine])
    before, after = (np.array(column) for column in gaps)
    now = contacts.separation[mine]
    np.testing.assert_allclose((after - before) / (2 * h), u[mine, 0], atol=1e-6)
    np.testing.assert_allclose((after - 2 * now + before) / h**2, b[mine, 0], atol=5e-6)


def backwards(mover, state, t):
    """Free motion into the past: the same motion with velocities turned round, under the same gravity."""
    turned = copy_state(state)
    turned.v[:] *= -1.0
    turned.L[:] *= -1.0
    update_all_derived(mover.model, turned)
    return mover.fly(turned, t)


def test_tangential_b_is_the_rate_of_the_slip(pipeline):
    """Rows t1, t2 of b: the rate at which the relative velocity at the contact changes, in fixed axes.

    Central differences of the slip at the contact where it is at t = +-h; error h^2 and eps / h: 1e-8.
    """
    h = 1e-5
    mover, state = pipeline.mover, pipeline.state
    contacts = touching(pipeline, state)
    a, alpha, _ = mover.free_acceleration(state, 0.0)
    b = relative_acceleration(contacts, state, a, alpha)
    slips = []
    for moved in (backwards(mover, state, h), mover.fly(state, h)):
        later = touching(pipeline, moved)
        place = {key: i for i, key in enumerate(later.identities())}
        world = np.einsum("mrk,mr->mk", later.frame, frame_velocity(later, moved))
        slips.append(world[[place[key] for key in contacts.identities()]])
    rate = (slips[1] + slips[0]) / (2 * h)  # velocities of the past are turned round
    wanted = np.einsum("mrk,mk->mr", contacts.frame, rate)
    np.testing.assert_allclose(b[:, 1:], wanted[:, 1:], atol=1e-4)


@pytest.mark.parametrize("large", [False, True])
def test_a_maps_impulses_to_velocities(pipeline, monkeypatch, large):
    """A p is the change of relative velocity that impulses p cause: eqs. 8-16 and D-4, dense and sparse."""
    if large:
        monkeypatch.setattr("topple.solvers.analytic_contacts.SPARSE_FROM", 0)
    contacts = touching(pipeline, pipeline.state)
    A = build_system(contacts, pipeline.model, pipeline.state)
    p = np.random.default_rng(0).normal(size=(len(contacts.slot), 3))
    state = copy_state(pipeline.state)
    before = frame_velocity(contacts, state)
    apply_impulses(contacts, p, pipeline.model, state)
    update_all_derived(pipeline.model, state)
    change = frame_velocity(contacts, state) - before
    np.testing.assert_allclose((A @ p.ravel()).reshape(-1, 3), change, rtol=0, atol=1e-11)


@pytest.mark.parametrize("locks", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_free_angular_acceleration_with_locked_axes(locks):
    """alpha is the rate of w as the body turns, about free axes as about all: (w(h) - w(-h)) / (2 h).

    Whole turns would take seconds, so with h = 1e-4 s the error of the difference is about h^2 = 1e-8.
    """
    body = topple.Body(
        "box", topple.Box((1.0, 0.6, 0.4)), orientation=(0.8, 0.36, 0.48, 0.0),
        angular_velocity=(0.5, 1.0, 0.3), lock_angular=tuple(map(bool, locks)),
    )  # fmt: skip
    pipeline, _ = build_pipeline(topple.Scene(bodies=[body]), AnalyticSolver())
    pipeline.state.L[0] += 50.0 * np.array(locks)  # as after an impact: nothing of it is seen
    _, alpha, _ = pipeline.mover.free_acceleration(pipeline.state, 0.0)
    h, rows, w = 1e-4, np.array([0]), []
    for t in (-h, h):
        moved = copy_state(pipeline.state)
        carry_bodies(pipeline.model, pipeline.state, moved, rows, t)
        w.append(moved.w[0])
    np.testing.assert_allclose(alpha[0], (w[1] - w[0]) / (2.0 * h), atol=1e-7)
    assert np.abs(alpha[0]).max() > 0.01 or sum(locks) == 2
