"""Steps keep no memory: what a step needs is made before the first, or grown once."""

import gc
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
import scenes
import topple
from topple import sequence, tables

STEP = 1e-3  # [s]
WARM_STEPS, STEPS = 2500, 1000


def traced() -> int:
    """Bytes that Python and numpy hold, without what the interpreter caches of names it looked up."""
    with warnings.catch_warnings():  # deprecated since 3.13, with nothing else that empties this cache
        warnings.simplefilter("ignore", DeprecationWarning)
        sys._clear_type_cache()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "sleeping", "moves"),
    [
        (scenes.cube_grid(3, 3), False, False),
        (scenes.cube_grid(3, 3), True, False),
        (scenes.stirred_cubes(), False, True),
    ],
    ids=["at rest", "asleep", "stirred"],
)
def test_a_thousand_steps_keep_nothing(scene, sleeping, moves, figure, monkeypatch):
    """Impulse: memory after 1000 steps is what it was before, but for results.

    Results are taken out as they come: the events and the list of steps that did not converge. There is room
    for more contacts than ever come, so that no table grows: that is for contacts, not for steps. What is
    left is at most a few Python numbers that took the place of others: one kB is a byte a step.
    """
    monkeypatch.setattr(sequence, "ENOUGH", 1)  # a sequence makes its frames once, which may be late
    monkeypatch.setattr(tables, "LARGE", np.inf)  # what has pages of its own is not traced
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=STEP, sleeping=sleeping))
    pipeline = simulation._pipeline
    for _ in range(6):
        pipeline._grow()
    room = len(pipeline.contacts.slot)
    results = pipeline.log._rows, pipeline.unresolved  # each a list that only grows
    before, fastest = 0, 0.0
    tracemalloc.start()
    try:
        for step in range(WARM_STEPS + STEPS):
            if step == WARM_STEPS:
                before = traced()
            pipeline.step(STEP)
            for result in results:
                del result[:]
            if step >= WARM_STEPS:
                fastest = max(fastest, float(np.abs(pipeline.state.v).max()))
        kept = traced() - before
    finally:
        tracemalloc.stop()
    assert (fastest > 0.1) == moves
    assert len(pipeline.contacts.slot) == room
    figure("memory kept by 1000 steps [B]", max(kept, 0), 1000)
