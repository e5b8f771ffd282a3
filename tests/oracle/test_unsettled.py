"""Where an island did not settle, the contact furthest from its conditions is the one that was spoiled."""

import numpy as np
import pytest
import scenes
import topple
from topple.jit import kernel
from topple.solvers.impulse_progress import BODY_A, BODY_B, RESIDUAL, UNSETTLED
from topple.solvers.impulse_unsettled import note_unsettled

STEP = 1.0 / 240.0


@kernel
def note(contacts, rows, islands, island, h, residual, mean, report):
    note_unsettled(contacts, rows, islands, island, h, residual, mean, report)


@pytest.mark.parametrize("column", [0, 1], ids=["along the normal", "across"])
def test_worst_contact(column):
    simulation = topple.Simulation(scenes.stack(6), topple.ImpulseSolver(time_step=STEP, threads=1))
    simulation.advance(STEP)
    pipeline = simulation._pipeline
    pipeline.find_impulses(STEP, pipeline.prepare_contacts(STEP))
    contacts, rows, report = pipeline.geometry, pipeline.rows, np.zeros(6)
    arguments = contacts, rows, pipeline.islands, 0, STEP
    for c in pipeline.islands.order[: pipeline.islands.start[1]]:
        true = rows.impulse[c, column]
        rows.impulse[c, column] += 0.3 * rows.impulse[c, 0]
        report[RESIDUAL] = 0.0
        note(*arguments, 1e-3, pipeline.plan.mean, report)
        rows.impulse[c, column] = true
        assert report[RESIDUAL] == 1e-3
        assert set(report[[BODY_A, BODY_B]]) == set(contacts.body[c])
    count = report[UNSETTLED]
    note(*arguments, 1e-4, pipeline.plan.mean, report)  # less than the worst so far
    assert report[RESIDUAL] == 1e-3
    assert report[UNSETTLED] == count + 1.0
