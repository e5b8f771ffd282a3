"""What a second thread brings: the funnel with 2000 cubes on one and on two, frame by frame in turn."""

import time
from typing import Any

import numpy as np
import scenes
import topple
from numpy.typing import NDArray

STEP, STEPS_PER_FRAME, ROUNDS = 1e-3, 40, 3


def measure_threads(frames: int) -> dict[str, Any]:
    """Time of a step on one and on two threads [ms], and how many times as fast two are.

    Of each frame counts the least time of all rounds: two threads need both processors, and whatever else
    these have to do meanwhile comes on top. `rounds` has how many times as fast two were in each round.

    Raises:
        RuntimeError: The two came to different results.
    """
    seconds = np.array([_run(frames) for _ in range(ROUNDS)])
    one, two = seconds.min(axis=0).sum(axis=1) / (frames * STEPS_PER_FRAME)
    of_rounds = seconds[:, 0].sum(axis=1) / seconds[:, 1].sum(axis=1)
    return {
        "bodies": 2000,
        "one": 1e3 * one,
        "two": 1e3 * two,
        "times_as_fast": one / two,
        "rounds": of_rounds.tolist(),
    }


def _run(frames: int) -> NDArray[np.float64]:
    """Seconds of each frame on one thread, and on two, shape (2, frames)."""
    scene = scenes.funnel(levels=20)
    runs = [
        topple.Simulation(scene, topple.ImpulseSolver(time_step=STEP, sleeping=False, threads=threads))
        for threads in (1, 2)
    ]
    seconds = np.zeros((2, frames))
    for frame in range(frames):
        for k, run in enumerate(runs):
            begin = time.perf_counter()
            run.advance(STEPS_PER_FRAME * STEP)
            seconds[k, frame] = time.perf_counter() - begin
    one, two = (np.array(run.state.position) for run in runs)
    if not np.array_equal(one, two):
        raise RuntimeError("one thread and two came to different results")
    return seconds
