"""Measures the collision rooms alone and writes docs/collision.md; see scripts/benchmark_collision."""

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scenes
import topple
from box_tree import empty_tree, update_tree
from topple import sequence
from topple.collision.broad_phase import fit_boxes, update_pairs
from topple.collision.contact_set import CARRIED_ON, PAIRS, SURVIVED, empty_contacts
from topple.collision.narrow_phase import detect_contacts, make_scratch
from topple.collision.pairs import COUNT, HIGH, STATUS_FULL, PairTable, empty_pairs
from topple.collision.persistence import CARRIED, Trace, new_trace
from topple.compilation import compile_kernels
from topple.crew import alone
from topple.geometry.shape_table import Colliders, build_shape_table
from topple.solvers.impulse import ImpulsePipeline, ImpulseSolver, build_pipeline

ROOT = Path(__file__).parents[2]
STEP = 1e-3  # [s]
SAMPLES = 20
WARM_ROUNDS = 40  # the tables that are put back between them push each other out of the caches
WITNESS_SCENES = {
    # scene, steps from the start, and the first of them that is measured
    "1000 cubes dropped in a grid": (scenes.cube_grid, 2000, 0),
    "brick wall of 510 bricks": (scenes.brick_wall, 300, 0),
    "1000 cubes through a funnel": (scenes.funnel, 1500, 0),
}


def main() -> None:
    """Run all measurements and write the page."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark_collision", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of each scene")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "collision.md")
    arguments = parser.parse_args()
    compile_kernels()
    lines = [
        "# Collision: what it costs",
        "",
        "Written by `scripts/benchmark_collision`; do not edit. One thread, kernels compiled before.",
        "How exact it is stands in [validation.md](validation.md); what is done for each pair of shapes in",
        "[shapes.md](shapes.md).",
        "",
        *witness_table(0.1 if arguments.quick else 1.0),
        "",
        *pair_table(),
        "",
        *broad_phase_table([1000, 3000] if arguments.quick else [1000, 3000, 10_000, 30_000]),
    ]
    arguments.output.write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def witness_table(part: float) -> list[str]:
    """How often the last step's witness still holds, in scenes at h = 1e-3."""
    lines = [
        "## Witnesses",
        f"h = {STEP:g} s. A pair-step is one pair in one step, or in one of the rounds of position repair",
        "that a step may need, which look at all pairs again. Carried on: the bodies have hardly moved",
        "since it was looked at, or not enough to meet. Survived: those, and the pairs of hulls whose cached",
        "plane still answers. The time is the narrow phase's of all pairs whose fat boxes overlap, contacts",
        f"and their impulses included; and of those alone whose witness survived, at {SAMPLES} moments of",
        f"the run, the best of {WARM_ROUNDS} times with all other pairs left out.",
        "",
        "| scene | steps | pair-steps | carried on | survived | µs a pair-step | if it survives |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, (build, steps, _) in WITNESS_SCENES.items():
        pipeline, _ = build_pipeline(build(), ImpulseSolver(time_step=STEP, threads=1))
        pipeline.look_ahead(STEP)
        pipeline.stage_seconds.clear()
        pipeline.contacts.counter[:] = 0
        count = max(int(part * steps), 10)
        survivors = Survivors(pipeline)
        for step in range(count):
            if step % max(count // SAMPLES, 1) == 0:
                survivors.measure_next()
            pipeline.step(STEP)
        counter = pipeline.contacts.counter
        looks = max(int(counter[PAIRS]), 1)
        cost = 1e6 * pipeline.stage_seconds["narrow phase"] / looks
        lines.append(
            f"| {title} | {count} | {looks} | {100 * counter[CARRIED_ON] / looks:.1f} % | "
            f"{100 * pipeline.witness_survival:.2f} % | {cost:.2f} | {survivors.cost:.2f} |"
        )
    return lines


class Survivors:
    """What pairs cost whose witness survives, measured now and then before the pipeline looks at all."""

    def __init__(self, pipeline: ImpulsePipeline) -> None:
        self.pipeline, self.pairs, self.microseconds = pipeline, 0, 0.0

    @property
    def cost(self) -> float:
        """Mean over all moments measured [µs a pair-step]."""
        return self.microseconds / max(self.pairs, 1)

    def measure_next(self) -> None:
        """Measure at the pipeline's next look: in a step whose kernels are called from Python."""
        runner, do, enough = self.pipeline.runner, self.pipeline.runner.do, sequence.ENOUGH

        def measure_and_do(call: sequence.KernelCall) -> Any:
            if call.kernel is detect_contacts:
                runner.do, sequence.ENOUGH = do, enough
                self._measure()
            return do(call)

        runner.do, sequence.ENOUGH = measure_and_do, math.inf

    def _measure(self) -> None:
        p = self.pipeline
        before = PairTable(*(column.copy() for column in p.broad_phase.pairs))
        trace = Trace(*(column.copy() for column in p.trace))
        contacts, scratch = empty_contacts(len(p.contacts.slot)), make_scratch(p.shapes)

        def detect(pairs: PairTable) -> None:
            detect_contacts(
                p.colliders, p.shapes, p.sensor, p.state.c, p.state.R, trace, pairs, p.reach, p.tolerance,
                CARRIED, contacts, scratch, *alone(),
            )  # fmt: skip

        pairs = PairTable(*(column.copy() for column in before))
        live = np.flatnonzero(pairs.collider[:, 0] >= 0)
        collider = pairs.collider.copy()
        pairs.collider[:] = -1
        survived = []
        for slot in live:  # one by one, to see which
            pairs.collider[slot] = collider[slot]
            known = contacts.counter[[SURVIVED, CARRIED_ON]].sum()
            detect(pairs)
            if contacts.counter[[SURVIVED, CARRIED_ON]].sum() > known:
                survived.append(slot)
            pairs.collider[slot] = -1
        before.collider[np.setdiff1d(np.arange(len(collider)), survived)] = -1

        def forget() -> None:
            for column, original in zip(pairs, before, strict=True):
                column[:] = original

        self.microseconds += best(lambda: detect(pairs), forget, rounds=WARM_ROUNDS)
        self.pairs += len(survived)


def pair_table() -> list[str]:
    """The narrow phase of single pairs, over and over."""
    rng = np.random.default_rng(1)
    box = topple.Box((1.0, 1.0, 1.0))
    rock = topple.ConvexHull(sphere_points(64))
    large = topple.ConvexHull(sphere_points(256))
    lines = [
        "## One pair",
        "The second shape lies on the first, turned at random about the vertical and by up to 3° about the",
        "rest, a tenth of a millimetre deep to a millimetre apart; µs a pair, mean over 256 such pairs. From",
        "scratch: nothing is known of the pair. Witness: it is known from the call before.",
        "",
        "| pair | from scratch | witness survives |",
        "|---|---|---|",
    ]
    for title, shape in (
        ("box, box", box),
        ("hull of 64 vertices, the same", rock),
        ("hull of 256 vertices, the same", large),
        ("cylinder, cylinder", topple.Cylinder(0.5, 1.0)),
        ("capsule, capsule", topple.Capsule(0.3, 0.5)),
    ):
        scratch, known = time_pairs(shape, rng)
        lines.append(f"| {title} | {scratch:.2f} | {known:.2f} |")
    return lines


def sphere_points(count: int) -> np.ndarray:
    """Points spread evenly over a sphere of radius 0.5 m."""
    k = np.arange(count) + 0.5
    height, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5**0.5) * k
    ring = np.sqrt(1.0 - height**2)
    return 0.5 * np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)


def time_pairs(shape: topple.Shape, rng: np.random.Generator) -> tuple[float, float]:
    """Mean time of a pair [µs], from scratch and with its witness."""
    count = 256
    table, colliders, _ = build_shape_table([(shape, np.zeros(3), np.eye(3))] * 2)
    c, rotation = np.zeros((2 * count, 3)), np.tile(np.eye(3).reshape(9), (2 * count, 1))
    for k in range(count):
        turn = turned(rng.uniform(0, 2 * np.pi), *rng.uniform(-0.05, 0.05, 2))
        pose = (np.array([*rng.uniform(-0.2, 0.2, 2), 3.0]), quaternion(turn))
        gap = topple.closest_points(shape, pose, shape, ((0, 0, 0), (1, 0, 0, 0))).separation
        low, high = 0.0, 3.0
        for _ in range(40):  # lower it until it all but touches
            middle = 0.5 * (low + high)
            pose = (np.array([*pose[0][:2], middle]), pose[1])
            gap = topple.closest_points(shape, pose, shape, ((0, 0, 0), (1, 0, 0, 0))).separation
            low, high = (low, middle) if gap > 0.0 else (middle, high)
        c[2 * k] = pose[0] + [0, 0, rng.uniform(-1e-4, 1e-3)]
        rotation[2 * k] = turn.reshape(9)
    pairs = empty_pairs(count, count)
    pairs.collider[:] = np.arange(2 * count).reshape(-1, 2)
    pairs.counter[HIGH] = count
    contacts, scratch = empty_contacts(8 * count), make_scratch(table)
    many = Colliders(np.arange(2 * count), np.full(2 * count, colliders.shape[0]))
    quiet, still = np.zeros(2 * count, np.bool_), np.zeros(2 * count)
    trace = new_trace(still)

    def detect() -> None:
        pairs.way[:] = -np.inf  # look at each, though nothing has moved
        detect_contacts(
            many, table, quiet, c, rotation, trace, pairs, still, 1e-2, CARRIED, contacts, scratch, *alone()
        )

    def forget() -> None:
        pairs.witness[:], pairs.axis[:] = 0, 0.0

    return best(detect, forget) / count, best(detect, lambda: None) / count


def best(work: Callable[[], None], before: Callable[[], None], rounds: int = 200) -> float:
    """Least time of a call [µs]."""
    least = np.inf
    for _ in range(rounds):
        before()
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
    return 1e6 * least


def turned(z: float, x: float, y: float) -> np.ndarray:
    """Rotation matrix about z, then x, then y."""
    (cz, sz), (cx, sx), (cy, sy) = ((np.cos(a), np.sin(a)) for a in (z, x, y))
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    return about_y @ about_x @ about_z


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation matrix."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotation).as_quat(scalar_first=True)


def broad_phase_table(counts: list[int]) -> list[str]:
    """Cost per body as the number of bodies grows, of sweep and prune and of a tree of boxes."""
    lines = [
        "## Broad phase",
        f"Unit cubes, h = {STEP:g} s, mean over 200 steps after the first; both keep the same fat boxes and",
        "the same pairs. Heap: a close pile with overlapping boxes in which each body trembles by 0.1 mm a",
        "step. Collapse: the same pile, in which each body goes its own way at up to 1 m/s. Rain: bodies 2 m",
        "apart on the average that fall at 0 to 20 m/s. Sort: sweep and prune, which Topple uses; tree: a",
        "dynamic tree of boxes (`scripts/benchmarks/box_tree.py`). Refitting the boxes, which both need, is",
        "not counted; while no box changes neither does anything.",
        "",
        "| bodies | scene | pairs a body | sort, µs a body and step | tree | first sort, ms | first tree |",
        "|---|---|---|---|---|---|---|",
    ]
    scenes = {"heap": (1.0, 0.1, 0.0, 0.0), "collapse": (1.0, 0.0, 1.0, 0.0), "rain": (2.0, 0.0, 0.0, 20.0)}
    time_broad_phase(100, *scenes["rain"])  # compiles the tree
    for count in counts:
        for title, motion in scenes.items():
            (sort, sort_first), (tree, tree_first), found = time_broad_phase(count, *motion)
            lines.append(
                f"| {count} | {title} | {found / count:.1f} | {sort:.3f} | {tree:.3f} | "
                f"{1e3 * sort_first:.1f} | {1e3 * tree_first:.1f} |"
            )
    return lines


def time_broad_phase(
    count: int, spacing: float, tremble: float, scatter: float, fall: float
) -> tuple[tuple[float, float], tuple[float, float], int]:
    """Of bodies that move without contact: (µs a body and step, s at first) of the sort, of the tree; pairs.

    Args:
        tremble, scatter, fall: Speeds [m/s]: anew in each step, of each body for good, downwards.
    """
    rng = np.random.default_rng(3)
    side = int(np.ceil(count ** (1 / 3)))
    cells = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:count]
    place = spacing * (cells + rng.uniform(-0.3, 0.3, cells.shape))
    box = topple.Box((1.0, 1.0, 1.0))
    scene = topple.Scene(gravity=(0, 0, 0))
    scene.bodies += [topple.Body(f"{k:05}", box, position=p, friction=0.0) for k, p in enumerate(place)]
    pipeline: ImpulsePipeline = build_pipeline(scene, ImpulseSolver(time_step=STEP, threads=1))[0]
    broad, state = pipeline.broad_phase, pipeline.state
    velocity = rng.uniform(-scatter, scatter, (count, 3))
    velocity[:, 2] -= rng.uniform(0.0, fall, count)
    reach = np.linalg.norm(velocity, axis=1) * STEP + np.sqrt(3.0) * tremble * STEP
    tree, tree_pairs = empty_tree(count), empty_pairs(32 * count, 0)
    start, spent = state.c.copy(), np.zeros((201, 2))
    for step in range(201):
        state.c[:] = start + velocity * STEP * step + rng.uniform(-tremble * STEP, tremble * STEP, (count, 3))
        if not fit_boxes(broad.colliders, broad.shapes, state.c, state.R, reach, broad.boxes):
            continue
        before = time.perf_counter()
        if step == 0:
            broad.update(state, reach)
        elif update_pairs(*broad.who, broad.boxes, broad.pairs) == STATUS_FULL:
            broad.grow(state, reach)
        between = time.perf_counter()
        found = update_tree(broad.boxes, tree, tree_pairs, step == 0)
        spent[step] = between - before, time.perf_counter() - between
        if found != broad.pairs.counter[COUNT]:
            raise AssertionError(f"the tree finds {found} pairs, the sort {broad.pairs.counter[COUNT]}")
    sort, tree_time = 1e6 * spent[1:].mean(axis=0) / count
    return (sort, spent[0, 0]), (tree_time, spent[0, 1]), found


if __name__ == "__main__":
    main()
