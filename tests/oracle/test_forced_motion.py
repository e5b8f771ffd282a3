"""Motion under forces in one kernel, beside the integrator of vectors that calls Python for each stage."""

import itertools

import numpy as np
import pytest
import topple
from scenes.shapes import random_orientation
from topple.dynamics.driven_bodies import start_vector
from topple.dynamics.forced_motion import Forced, forced_scratch, integrate_forced


def tied(seed):
    """Boxes that springs tie to each other, to the world and to an animated one, with thrusters and drag."""
    rng = np.random.default_rng(seed)
    turned = np.array([[1.0, 0.0, 0.0, 0.0], [0.8, 0.0, 0.6, 0.0]])
    path = topple.Motion(np.array([0.0, 1.0]), np.array([[0.0, 0.0, 3.0], [1.0, 0.0, 3.0]]), turned)
    scene = topple.Scene(gravity=(0.0, 0.0, -9.81))
    scene.add(topple.Body("hook", topple.Box((0.2, 0.2, 0.2)), kind="kinematic", motion=path))
    names = [f"box {k}" for k in range(5)]
    for k, name in enumerate(names):
        scene.add(
            topple.Body(
                name,
                topple.Box(rng.uniform(0.1, 0.5, 3)),
                position=(2.0 * k, 0.0, 0.0),
                orientation=random_orientation(rng),
                linear_velocity=rng.normal(size=3),
                angular_velocity=5.0 * rng.normal(size=3),
                angular_damping=0.3 * (k == 1),
                lock_angular=(k == 2, k == 2, False),
                lock_linear=(False, k == 3, False),
            )
        )
    ends = [*itertools.pairwise(names), (names[0], None), (names[4], "hook")]
    forces = [
        topple.Spring(
            body_a=a, body_b=b, point_a=0.1 * rng.normal(size=3), stiffness=rng.uniform(5, 500), damping=0.5
        )
        for a, b in ends
    ]
    forces += [topple.Thruster(body=names[0], force=(3.0, 0.0, 1.0), point=(0.1, 0.0, 0.0), end=9.0)]
    return topple.Scene(
        scene.gravity, scene.bodies, forces=[*forces, topple.ViscousDrag(linear=0.2, angular=0.05)]
    )


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("h", [1 / 240, 0.2], ids=["in one step", "in several"])
@pytest.mark.parametrize("seed", range(3))
def test_kernel_beside_the_integrator_of_vectors(seed, h, applied):
    """Where bodies are in the end is the same but for round-off, by the same steps."""
    simulation = topple.Simulation(tied(seed), topple.ImpulseSolver(time_step=1 / 240))
    simulation.advance(0.1)
    drive, state = simulation._pipeline.drive, simulation._pipeline.state
    start, rng = drive._part_of(state), np.random.default_rng(seed)
    kinds = drive.model.kind
    rows, moving = np.flatnonzero(kinds == kinds.max()), np.flatnonzero(kinds != kinds.max())
    assert (len(rows), len(moving)) == (5, 1)
    force, torque = rng.normal(size=(2, 6, 3))
    forced = Forced(drive.forces.table, drive.model, start, rows, moving, force, torque, drive.errors[rows])
    begin = simulation.time
    y = start_vector(start, rows).reshape(-1, 13)
    if not applied:
        without = drive.forces.table
        for column in (without.spring_law, without.thrust, without.drag):
            column[:] = 0.0
    in_python, steps = drive._in_python(forced, begin, begin, begin + h, y.copy())
    last = np.nextafter(begin + h, begin)
    made = integrate_forced(forced, drive.method, begin, 0.0, h, last, applied, y, forced_scratch(start, 5))
    assert made == steps
    assert np.abs(y[:, :3]).max() > 1e-3
    np.testing.assert_allclose(y, in_python, rtol=0.0, atol=1e-12 * np.abs(in_python).max())
