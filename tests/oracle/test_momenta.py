"""What impulses add to the momenta of bodies: the sum over their contacts, however the bodies are divided."""

import numpy as np
import pytest
import scenes
import topple
from topple.dynamics.contact_rows import sum_momenta
from topple.jit import kernel


@kernel
def sum_of(contacts, rows, count, push, first, last, momentum):
    sum_momenta(contacts, rows, count, push, first, last, momentum)


@pytest.fixture(scope="module")
def pipeline():
    simulation = topple.Simulation(scenes.wide_heap(16), topple.ImpulseSolver(time_step=1 / 240, threads=1))
    simulation.advance(0.7)
    pipeline = simulation._pipeline
    pipeline.prepare_contacts(1 / 240)
    assert pipeline.contact_count > 10
    return pipeline


def test_momenta_are_sums_over_the_contacts(pipeline):
    contacts, count, n = pipeline.geometry, pipeline.contact_count, len(pipeline.state.c)
    push = np.random.default_rng(8).normal(size=(len(contacts.body), 3))
    pipeline.rows.kept[:count:5] = True
    wrench = np.zeros((n, 6))
    for c in range(count):
        if not pipeline.rows.kept[c]:
            for side, sign in ((0, 1.0), (1, -1.0)):
                force = sign * push[c]
                torque = np.cross(contacts.arm[c, side], force)
                wrench[contacts.body[c, side]] += np.concatenate([force, torque])
    found = []
    for shares in (1, 2, 3):
        momentum = np.full((n, 6), np.nan)
        for k in range(shares):
            first, last = n * k // shares, n * (k + 1) // shares
            sum_of(contacts, pipeline.rows, count, push, first, last, momentum)
        found.append(momentum)
    np.testing.assert_allclose(found[0], wrench, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
