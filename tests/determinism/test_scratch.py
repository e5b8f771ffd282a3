"""What lies in scratch before a step, of the last one or nothing, changes no bit."""

import numpy as np
import topple
from topple.solvers.island_parts import SMALLEST

STEP = 1.0 / 240.0


def fill_with_junk(*structs):
    """Write what no kernel could use into arrays of scratch, but for those whose content is said to last."""
    for struct in structs:
        for name, table in struct._asdict().items():
            if isinstance(table, np.ndarray) and name not in ("busy", "open"):
                table[...] = np.nan if table.dtype.kind == "f" else 123456789


def row_of_cubes(count):
    """Cubes in a row that touch and move a little: of four parts next to each other only neighbours touch."""
    random, scene = np.random.default_rng(1), topple.Scene()
    scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static"))
    for index in range(count):
        velocity = random.uniform(-0.3, 0.3, 3)
        scene.add(
            topple.Body(
                f"cube_{index:04}",
                topple.Box((1, 1, 1)),
                position=(index, 0.0, 0.5),
                linear_velocity=velocity,
            )
        )
    return scene


def test_sweeps_read_nothing_that_they_have_not_written():
    """What is of two parts of an island that do not touch is neither packed nor read."""
    scene, ends = row_of_cubes(1100), []
    for junk in (False, True):
        row = topple.Simulation(scene, topple.ImpulseSolver(time_step=STEP, threads=1))
        for _ in range(3):
            pipeline = row._pipeline
            if junk:
                fill_with_junk(pipeline.packed, pipeline.packed.batches, pipeline.packed.quiet)
            row.advance(STEP)
        ends.append(row.state.position)
    largest = np.diff(pipeline.islands.start[: pipeline.islands.number.max() + 2]).max()
    assert largest > 4 * SMALLEST  # four parts
    np.testing.assert_array_equal(*ends)
