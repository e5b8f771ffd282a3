"""Contact matrices and the update of one packed contact against plain formulas, on contacts of a heap."""

import numpy as np
import pytest
import scenes
import topple
from topple.dynamics.contact_rows import PUSH, contact_frame, contact_matrix, relative_velocity
from topple.dynamics.packed_rows import (
    ANCHOR_1,
    ANCHOR_2,
    ARM_A,
    DYNAMIC,
    K_N,
    K_T,
    K_T1,
    K_T2,
    STICK_11,
    STICK_12,
    WIDTH,
    friction_step,
    normal_step,
    pack_friction,
    pack_normal,
    pack_row,
    packed_velocity,
    world_impulse,
)
from topple.jit import kernel
from topple.lanes import LANES, SINGLE
from topple.math3 import vec3
from topple.solvers.batch_rows import BATCH_WIDTH, complete_rows, enter_lane
from topple.solvers.packed_contacts import pack_contact, pack_response

STEP = 1.0 / 240.0
COLUMNS = np.r_[0:3, ARM_A:DYNAMIC, K_N, K_T]  # of a packed row that are rows of a batch


@kernel
def matrix_and_frame(masses, contacts, c, matrix_out, frame_out):
    """Write K and the frame of contact `c`, (3, 3) both."""
    K, frame = contact_matrix(masses, contacts, c), contact_frame(contacts, c)
    at = 0
    for i in range(3):
        for j in range(3):
            frame_out[i, j] = frame[3 * i + j]
            if j >= i:
                matrix_out[i, j] = matrix_out[j, i] = K[at]
                at += 1


@kernel
def update(masses, contacts, rows, c, s, g, rate, anchor, va, vb, p, row, velocity_out, new_out, world_out):
    """Pack contact `c` and make one step."""
    pack_row(masses, contacts, c, s, 1.0, row)
    pack_friction(rows.friction[c, 0], rows.friction[c, 1], row)
    pack_normal(rows.K_nn[c], g, rate, row)
    row[ANCHOR_1], row[ANCHOR_2] = anchor[0], anchor[1]
    u = packed_velocity(row, vec3.load_pair(va), vec3.load_pair(vb))
    normal = normal_step(row, u, p[0])
    q1, q2 = friction_step(row, u, normal - p[0], p[1], p[2], normal)
    velocity_out[0], velocity_out[1], velocity_out[2] = u
    new_out[0], new_out[1], new_out[2] = normal, q1, q2
    world_out[0], world_out[1], world_out[2] = world_impulse(row, (normal, q1, q2))


def plain_step(K, friction, u, p, s, g, rate, anchor):
    """The same by matrices, for the relative velocity u in the contact frame."""
    normal = max(0.0, p[0] + (rate - u[0] - g * p[0]) / (K[0, 0] + g))
    slip = u[1:] + K[1:, 0] * (normal - p[0]) + s * p[1:] - anchor
    across = K[1:, 1:] + s * np.eye(2)
    stuck = p[1:] - np.linalg.solve(across, slip)
    if np.linalg.norm(stuck) <= friction[0] * normal:
        return np.array([normal, *stuck]), "sticks"
    slid = p[1:] - slip / np.linalg.eigvalsh(across)[-1]
    length, limit = np.linalg.norm(slid), friction[1] * normal
    return np.array([normal, *(slid if length <= limit else slid * limit / length)]), "slips"


@pytest.fixture(scope="module")
def pipeline():
    simulation = topple.Simulation(scenes.wide_heap(16), topple.ImpulseSolver(time_step=STEP, threads=1))
    simulation.advance(0.7)
    pipeline = simulation._pipeline
    pipeline.prepare_contacts(STEP)
    assert pipeline.contact_count > 10
    return pipeline


def test_contact_matrix_is_the_response_to_impulses(pipeline):
    """K maps an impulse on a (and its opposite on b) to the change of relative velocity: J M^-1 J'."""
    state, model, contacts = pipeline.state, pipeline.model, pipeline.geometry
    for c in range(pipeline.contact_count):
        found, frame, K = np.zeros((3, 3, 3))
        matrix_and_frame(pipeline.masses, contacts, c, found, frame)
        for side in range(2):
            body, r = contacts.body[c, side], contacts.arm[c, side]
            cross = np.cross(r, np.eye(3)).T  # column k: r x e_k
            inverse = state.inv_I[body].reshape(3, 3)
            K += frame @ (np.diag(model.inv_mass[body]) + cross.T @ inverse @ cross) @ frame.T
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-14)
        np.testing.assert_array_equal(frame[0], contacts.normal[c])
        np.testing.assert_allclose(found, K, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(pipeline.rows.K_nn[c], K[0, 0], rtol=1e-9)


def test_one_step_is_that_of_the_formulas(pipeline):
    random, contacts, rows = np.random.default_rng(4), pipeline.geometry, pipeline.rows
    row, found = np.empty(WIDTH), set()
    u, new, world = np.empty(3), np.empty(3), np.empty(3)
    for c in range(pipeline.contact_count):
        K, frame = np.zeros((3, 3)), np.zeros((3, 3))
        matrix_and_frame(pipeline.masses, contacts, c, K, frame)
        for _ in range(40):
            va, vb = random.normal(size=(2, 6))
            p = np.array([1.0, 0.1, 0.1]) * random.normal(size=3) / K[0, 0]
            p[0] = abs(p[0])
            s, g = random.uniform(0.0, 0.1, 2) * K[0, 0]
            rate, anchor = random.normal(), random.normal(size=2)
            update(pipeline.masses, contacts, rows, c, s, g, rate, anchor, va, vb, p, row, u, new, world)
            arm = contacts.arm[c]
            relative = va[:3] + np.cross(va[3:], arm[0]) - vb[:3] - np.cross(vb[3:], arm[1])
            np.testing.assert_allclose(u, relative, rtol=1e-12, atol=1e-12)
            expected, kind = plain_step(K, rows.friction[c], frame @ relative, p, s, g, rate, anchor)
            np.testing.assert_allclose(new, expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(world, frame.T @ new, rtol=1e-12, atol=1e-12)
            found.add("parts" if new[0] == 0.0 else kind)
    assert found == {"parts", "sticks", "slips"}


def test_without_friction_there_is_none(pipeline):
    contacts, rows = pipeline.geometry, pipeline.rows._replace(friction=np.zeros_like(pipeline.rows.friction))
    row, u, new, world = np.empty(WIDTH), np.empty(3), np.empty(3), np.empty(3)
    va, vb = np.arange(6.0), np.zeros(6)
    anchor, p = np.zeros(2), np.ones(3)
    update(pipeline.masses, contacts, rows, 0, 0.0, 0.0, 30.0, anchor, va, vb, p, row, u, new, world)
    assert new[0] > 0.0
    assert (new[1:] == 0.0).all()


@kernel
def pack_both(
    masses, contacts, rows, chosen, h, base, one, velocity, response, body, row_out, by_one_out
):  # fmt: skip
    """Pack the chosen contacts in the lanes of a batch, and each in a row of its own."""
    for lane in range(chosen.shape[0]):
        pack_contact(masses, contacts, rows, chosen[lane], h, PUSH, base, one)
        for k in range(WIDTH):
            by_one_out[lane, k] = one[k]
        for side in range(2):
            member = contacts.body[chosen[lane], side]
            body[side, lane] = member
            pack_response(masses, member, velocity[member], response[member])
        u = relative_velocity(base, contacts, chosen[lane])
        enter_lane(contacts, rows, chosen[lane], u, one, row_out, lane)
    complete_rows(row_out, body, velocity, response, h)


@pytest.mark.parametrize("filled", [1, 5, LANES])
def test_eight_lanes_hold_what_one_row_does(pipeline, filled):
    """To single precision; and empty lanes nothing."""
    bodies = len(pipeline.state.c)
    base = np.random.default_rng(7).normal(size=(bodies, 6))
    for first in range(0, pipeline.contact_count - filled, filled):
        velocity, response = np.zeros((2, bodies + 1, LANES), SINGLE)
        body = np.full((2, LANES), bodies, np.int32)
        row, by_one = np.zeros((BATCH_WIDTH, LANES), SINGLE), np.zeros((LANES, WIDTH))
        chosen = np.arange(first, first + filled)
        pack_both(
            pipeline.masses, pipeline.geometry, pipeline.rows, chosen, STEP, base, np.zeros(WIDTH), velocity,
            response, body, row, by_one,
        )  # fmt: skip
        assert (by_one[:filled] != 0.0).any()
        size = np.abs(by_one).max(axis=0)
        size[[K_T1, K_T2]], size[STICK_12] = size[K_N] / STEP, size[STICK_11]  # of which they are differences
        assert (np.abs(row.T - by_one[:, COLUMNS]) <= 1e-5 * size[COLUMNS]).all()
        assert not row[:, filled:].any()
