"""What a second thread brings: the funnel with 2000 cubes on one and on two, frame by frame in turn."""

import time

import numpy as np
import scenes
import topple

STEP, STEPS_PER_FRAME = 1e-3, 40


def measure_threads(frames: int) -> dict[str, float]:
    """Time of a step on one and on two threads [ms], and how many times as fast two are.

    Raises:
        RuntimeError: The two came to different results.
    """
    scene = scenes.funnel(levels=20)
    runs = [
        topple.Simulation(scene, topple.ImpulseSolver(time_step=STEP, sleeping=False, threads=threads))
        for threads in (1, 2)
    ]
    seconds = [0.0, 0.0]
    for _ in range(frames):
        for k, run in enumerate(runs):
            begin = time.perf_counter()
            run.advance(STEPS_PER_FRAME * STEP)
            seconds[k] += time.perf_counter() - begin
    one, two = (np.array(run.state.position) for run in runs)
    if not np.array_equal(one, two):
        raise RuntimeError("one thread and two came to different results")
    steps = frames * STEPS_PER_FRAME
    return {
        "bodies": 2000,
        "one": 1e3 * seconds[0] / steps,
        "two": 1e3 * seconds[1] / steps,
        "times_as_fast": seconds[0] / seconds[1],
    }
