"""What impulses add to the momenta of bodies: the sum over their contacts, in one part or in several."""

import numpy as np
import pytest
import scenes
import topple
from topple.dynamics.contact_rows import add_parts, sum_momenta
from topple.jit import kernel


@kernel
def sum_of(contacts, rows, count, push, momentum, parts):
    for part in range(parts):
        first, last = count * part // parts, count * (part + 1) // parts
        sum_momenta(contacts, rows, first, last, push, momentum[part])
    for i in range(momentum[0].shape[0]):
        add_parts(momentum, parts, i)


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
    momentum = np.full((n, 6), np.nan), np.full((n, 6), np.nan)
    for parts in (1, 2):
        sum_of(contacts, pipeline.rows, count, push, momentum, parts)
        np.testing.assert_allclose(momentum[0], wrench, rtol=1e-12, atol=1e-12)
