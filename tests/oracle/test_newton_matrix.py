"""The assembled matrix of Newton's method against finite differences of the gradient it is derived from."""

import numpy as np
import pytest
import scenes
import topple
from numba import njit
from topple.jit import kernel
from topple.solvers import block_cholesky, impulse_newton, newton_matrix

STEP = 1.0 / 240.0


@njit
def pattern_of(n, links):
    return block_cholesky.without_fill(n, links, len(links))


@kernel
def gradient(masses, contacts, rows, islands, island, velocity, scratch, glued):
    impulse_newton.island_gradient(masses, contacts, rows, islands, island, velocity, scratch, glued)


@kernel
def assemble(masses, contacts, rows, islands, island, velocity, scratch, along, shut, glued, pattern, blocks):
    newton_matrix.assemble(
        masses, contacts, rows, islands, island, velocity, scratch, along, shut, glued, pattern, blocks
    )


class Island:
    """The largest island of a heap in motion, its contacts and bodies moved at random."""

    def __init__(self):
        simulation = topple.Simulation(scenes.wide_heap(16), topple.ImpulseSolver(time_step=STEP, threads=1))
        simulation.advance(0.9)
        pipeline = simulation._pipeline
        count = pipeline.prepare_contacts(STEP)
        pipeline.find_impulses(STEP, count)
        islands, rows, contacts = pipeline.islands, pipeline.rows, pipeline.geometry
        number = int(np.argmax(np.diff(islands.start[: count + 1])))
        self.scratch = pipeline.solve.newton
        self.arguments = pipeline.masses, contacts, rows, islands, number
        self.contacts = chosen = islands.order[slice(*islands.start[number : number + 2])]
        self.bodies = islands.body[slice(*islands.body_start[number : number + 2])]
        numbers = islands.number[contacts.body[chosen]]
        links = np.ascontiguousarray(numbers[(numbers >= 0).all(axis=1)])
        assert min(len(self.bodies), len(links)) > 4
        self.pattern = pattern_of(len(self.bodies), links)
        random = np.random.default_rng(5)
        rows.compliance[chosen] = 0.05 * rows.K_nn[chosen]
        self.scratch.rate[chosen] = random.normal(size=len(chosen))
        self.scratch.limit[chosen] = newton_matrix.UNLIMITED
        self.velocity = np.zeros((len(pipeline.masses.mass), 6))
        self.velocity[self.bodies] = random.normal(size=(len(self.bodies), 6))
        self.gradient(self.velocity)
        friction = np.hypot(*rows.impulse[chosen, 1:].T)
        slipping = random.uniform(size=len(chosen)) < 0.5
        self.scratch.limit[chosen] = np.where(slipping, 0.3, 3.0) * friction
        self.scratch.grip[chosen] = random.integers(0, 3, len(chosen))
        pressing = rows.impulse[chosen, 0] > 0.0
        for kind in (pressing & slipping, pressing & ~slipping, ~pressing):
            assert kind.any()

    def gradient(self, velocity, glued=False):
        """Of the island's bodies, in one vector."""
        gradient(*self.arguments, velocity, self.scratch, glued)
        return self.scratch.gradient[self.bodies].ravel().copy()

    def matrix(self, along, shut=0.0, glued=False):
        """The assembled one."""
        n = len(self.bodies)
        blocks = np.empty((n + len(self.pattern.row), 6, 6))
        assemble(*self.arguments, self.velocity, self.scratch, along, shut, glued, self.pattern, blocks)
        return dense_of(self.pattern, blocks, n)


@pytest.fixture(scope="module")
def island():
    return Island()


def dense_of(pattern, blocks, n):
    """The whole matrix, its rows in the order of the bodies."""
    matrix = np.zeros((n, 6, n, 6))
    for column in range(n):
        matrix[column, :, column] = blocks[column]
        for at in range(pattern.start[column], pattern.start[column + 1]):
            matrix[pattern.row[at], :, column] = blocks[n + at]
            matrix[column, :, pattern.row[at]] = blocks[n + at].T
    return matrix.reshape(6 * n, 6 * n)


@pytest.mark.parametrize("glued", [False, True])
def test_matrix_is_the_derivative_of_the_gradient(island, glued):
    """Of contacts that press and hold, press and slip, and are open; columns by central differences."""
    columns, eps = [], 1e-7
    for body in island.bodies:
        for k in range(6):
            ahead, behind = island.velocity.copy(), island.velocity.copy()
            ahead[body, k] += eps
            behind[body, k] -= eps
            columns.append((island.gradient(ahead, glued) - island.gradient(behind, glued)) / (2.0 * eps))
    expected, found = np.stack(columns, axis=1), island.matrix(along=0.0, glued=glued)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_array_equal(found, found.T)


def test_locked_axes_have_no_part(island):
    """Their rows and columns are left out, with 1 on the diagonal; no force acts there."""
    masses, free = island.arguments[0], island.matrix(along=0.0)
    inv_mass, lock_angular = masses.inv_mass.copy(), masses.lock_angular.copy()
    locked = np.random.default_rng(6).random((len(island.bodies), 6)) < 0.3
    masses.inv_mass[island.bodies] *= ~locked[:, :3]
    masses.lock_angular[island.bodies] = locked[:, 3:]
    gradient, found = island.gradient(island.velocity), island.matrix(along=0.0)
    masses.inv_mass[:], masses.lock_angular[:] = inv_mass, lock_angular
    out = locked.ravel()
    free[out], free[:, out], free[out, out] = 0.0, 0.0, 1.0
    np.testing.assert_allclose(found, free, rtol=1e-14, atol=0)
    np.testing.assert_allclose(gradient, np.where(out, 0.0, island.gradient(island.velocity)), rtol=1e-14)


def test_resistance_along_the_slip_makes_the_matrix_larger(island):
    """Never smaller: no step by it goes too far."""
    added = np.linalg.eigvalsh(island.matrix(along=1.0) - island.matrix(along=0.0))
    assert added[0] >= -1e-9 * added[-1]
    assert added[-1] > 1.0


def test_open_contact_that_is_shut_resists_as_one_that_is_pressed(island):
    """Where its grip does not say that it is open, and in part where it is given a part."""
    scratch, chosen = island.scratch, island.contacts
    island.gradient(island.velocity)
    rates = scratch.rate.copy()
    open_ones = chosen[
        (island.arguments[2].impulse[chosen, 0] == 0.0) & (scratch.grip[chosen] != newton_matrix.OPEN)
    ]
    assert len(open_ones) > 0
    before, half, shut = (island.matrix(along=0.5, shut=part) for part in (0.0, 0.5, 1.0))
    scratch.rate[open_ones] = 1e3
    pressed = island.matrix(along=0.5)
    scratch.rate[:] = rates
    np.testing.assert_array_equal(shut, pressed)
    np.testing.assert_allclose(half, 0.5 * (before + shut), rtol=1e-12, atol=1e-12 * np.abs(shut).max())
