"""What a step's repair remembers: contacts that move with their bodies until they count again."""

import numpy as np
import topple
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from topple.solvers.impulse_repair import PastContacts

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


def note(past, pipeline, count):
    nothing = np.zeros(len(pipeline.broad_phase.pairs.collider))
    past.note(pipeline.state, pipeline.contacts, count, nothing, LIMIT)


def test_what_has_not_moved_is_as_it_was():
    pipeline, count = overlapping()
    contacts, past = pipeline.contacts, PastContacts()
    note(past, pipeline, count)
    assert past.write(pipeline.state, contacts, count) == count == 4
    for column in (contacts.body, contacts.slot, contacts.normal):
        assert (column[count : 2 * count] == column[:count]).all()
    assert_allclose(contacts.arm[count : 2 * count], contacts.arm[:count], atol=1e-15)
    assert_allclose(contacts.separation[count : 2 * count], -2e-3, atol=1e-15)
    assert (contacts.look[count : 2 * count] == -1).all()  # they are no pair's points


def test_points_move_with_their_bodies():
    pipeline, count = overlapping()
    contacts, state, past = pipeline.contacts, pipeline.state, PastContacts()
    note(past, pipeline, count)
    body, normal = contacts.body[0], contacts.normal[:count].copy()
    point = state.c[body] + contacts.arm[:count]  # (count, 2, 3)
    turn, about, up = Rotation.from_rotvec((0.0, 0.02, 0.01)), state.c[body[0]].copy(), np.array([0, 0, 5e-4])
    state.c[body[0]] += up
    state.R[body[0]] = (turn * Rotation.from_matrix(state.R[body[0]].reshape(3, 3))).as_matrix().reshape(9)
    assert past.write(state, contacts, count) == count
    moved = about + up + turn.apply(point[:, 0] - about)
    expected = ((moved - point[:, 1]) * normal).sum(axis=1)
    assert np.ptp(expected) > 1e-3  # it did turn
    assert_allclose(contacts.separation[count : 2 * count], expected, atol=1e-14)


def test_what_is_not_deep_is_not_kept():
    pipeline, count = overlapping()
    pipeline.contacts.separation[:3] = -0.5 * LIMIT
    past = PastContacts()
    note(past, pipeline, count)
    assert past.write(pipeline.state, pipeline.contacts, count) == 1


def test_there_may_be_no_room():
    pipeline, count = overlapping()
    room = len(pipeline.contacts.slot) - count
    past = PastContacts()
    for _ in range(room // count + 1):
        note(past, pipeline, count)
    assert past.write(pipeline.state, pipeline.contacts, count) == room
