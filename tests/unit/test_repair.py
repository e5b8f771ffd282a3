"""What a step's repair remembers: contacts that move with their bodies until they count again."""

import numpy as np
import pytest
import topple
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from topple.solvers.impulse_repair import add_past, past_contacts

LIMIT = 1e-3


def overlapping():
    """The pipeline of two cubes, one 2 mm in the other, and the number of its contacts."""
    cube = topple.Box((1.0, 1.0, 1.0))
    scene = topple.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(topple.Body("lower", cube))
    scene.add(topple.Body("upper", cube, position=(0.1, 0.2, 0.998)))
    pipeline = topple.Simulation(scene, topple.ImpulseSolver())._pipeline
    pipeline.look_ahead(1e-3)
    return pipeline, pipeline.contact_count


def add(past, pipeline, count):
    nothing, contacts = np.zeros(len(pipeline.broad_phase.pairs.collider)), pipeline.geometry.at_start()
    return add_past(pipeline.state, contacts, pipeline.contacts.slot, count, nothing, LIMIT, past)


def test_what_has_not_moved_is_as_it_was():
    pipeline, count = overlapping()
    contacts, past = pipeline.contacts, past_contacts(64)
    assert add(past, pipeline, count) == count == 4  # nothing was noted before
    assert add(past, pipeline, count) == 2 * count
    for column in (contacts.body, contacts.slot, contacts.normal):
        assert (column[count : 2 * count] == column[:count]).all()
    assert_allclose(contacts.arm[count : 2 * count], contacts.arm[:count], atol=1e-15)
    assert_allclose(contacts.separation[count : 2 * count], -2e-3, atol=1e-15)
    assert (contacts.look[count : 2 * count] == -1).all()  # they are no pair's points


def test_points_move_with_their_bodies():
    pipeline, count = overlapping()
    contacts, state, past = pipeline.contacts, pipeline.state, past_contacts(64)
    add(past, pipeline, count)
    body, normal = contacts.body[0], contacts.normal[:count].copy()
    point = state.c[body] + contacts.arm[:count]  # (count, 2, 3)
    turn, about, up = Rotation.from_rotvec((0.0, 0.02, 0.01)), state.c[body[0]].copy(), np.array([0, 0, 5e-4])
    state.c[body[0]] += up
    state.R[body[0]] = (turn * Rotation.from_matrix(state.R[body[0]].reshape(3, 3))).as_matrix().reshape(9)
    assert add(past, pipeline, count) == 2 * count
    moved = about + up + turn.apply(point[:, 0] - about)
    expected = ((moved - point[:, 1]) * normal).sum(axis=1)
    assert np.ptp(expected) > 1e-3  # it did turn
    assert_allclose(contacts.separation[count : 2 * count], expected, atol=1e-14)


def test_what_is_not_deep_is_not_kept():
    pipeline, count = overlapping()
    pipeline.contacts.separation[:3] = -0.5 * LIMIT
    past = past_contacts(64)
    add(past, pipeline, count)
    assert past.count[0] == 1
    assert add(past, pipeline, count) == count + 1


@pytest.mark.parametrize("room", [6, 4096])  # for past contacts, or for the others behind which they come
def test_there_may_be_no_room(room):
    pipeline, count = overlapping()
    past, capacity = past_contacts(room), len(pipeline.contacts.slot)
    for _ in range(capacity // count + 1):
        last = add(past, pipeline, count)
    assert last == min(count + room, capacity)
    assert past.count[0] == min(room, (capacity // count + 1) * count)
