"""Time and memory a body in heaps of the same depth, small and large; see scripts/benchmark_scaling.

Each heap is simulated in a process of its own, `scaling.py --worker BODIES`, which prints figures as JSON.
"""

import argparse
import gc
import json
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from statistics import median

import scenes
import topple

ROOT = Path(__file__).parents[2]
COUNTS = (1000, 4000, 20000)
STEP = 1.0 / 240.0  # [s], the default
FRAME = 12 * STEP  # of which all times below are multiples
# Of each heap these times are measured: cubes fall on each other, and most lie where they stay, but few of
# them still. It takes such a heap some 6 s until all but a few do.
PHASES = {"in motion": (0.75, 1.0), "calming down": (2.4, 2.5)}  # [s]
WARM_UP = 1.0  # [s] of a small heap, in which all kernels are loaded: also those that put positions right
GROWTH, MEMORY = 1.15, 4096  # asked: cost a body against the smallest heap's, bytes a body


def resident(which: str = "VmRSS") -> int:
    """Bytes of memory this process has now; "VmHWM" for the most it had so far."""
    gc.collect()
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if which in line)
    return 1024 * int(line.split()[1])


def measure(count: int) -> dict[str, float]:
    """Simulate a heap of `count` cubes.

    Returns:
        Per phase the processor's time of a step and body [us]; `memory` a body [B]: what the solver holds at
        the end beyond the scene, no frame being recorded, `stepping`: the same with what a step takes and
        `advance` gives back, and `peak`: the most it took on the way; contact points a body and the time [s]
        in all.
    """
    solver = topple.ImpulseSolver(time_step=STEP, sleeping=False, threads=1)
    topple.Simulation(scenes.wide_heap(8), solver).advance(WARM_UP)
    scene = scenes.wide_heap(count)
    begin, before = time.process_time(), resident()
    simulation = topple.Simulation(scene, solver)
    figures = {}
    for phase, (start, end) in PHASES.items():
        advance(simulation, start)
        steps, at = round((end - start) / STEP), time.process_time()
        advance(simulation, end)
        figures[phase] = 1e6 * (time.process_time() - at) / (steps * count)
    simulation._pipeline.rest()  # as `advance` does after some time
    figures["memory"] = (resident() - before) / count
    simulation._pipeline.step(STEP)  # after which nothing is given back
    figures["stepping"] = (resident() - before) / count
    figures["peak"] = (resident("VmHWM") - before) / count
    figures["contacts"] = len(simulation.contacts.body_a) / count
    figures["penetration"] = simulation.report.max_penetration
    figures["seconds"] = time.process_time() - begin
    return figures


def advance(simulation: topple.Simulation, until: float) -> None:
    """Step up to a time [s], as from frame to frame; events are results, and are not kept."""
    while simulation.time < until - 0.5 * STEP:
        simulation.advance(FRAME)
        simulation._pipeline.log._rows.clear()


def growth(found: dict[int, list[dict[str, float]]], count: int, phase: str) -> list[float]:
    """Cost a body against that in the smallest heap of the same round, ascending."""
    pairs = zip(found[count], found[min(found)], strict=True)
    return sorted(row[phase] / least[phase] for row, least in pairs)


def markdown(found: dict[int, list[dict[str, float]]], machine: str) -> str:
    """The page docs/scaling.md."""
    lines = [
        "# What a body costs in small and large heaps",
        "",
        "Written by `scripts/benchmark_scaling --docs`; do not edit. Cubes heaped four deep in a walled box",
        "as wide as their number asks for, steps of 1/240 s, one thread, sleeping off. Time is that of the",
        "processor, a step and body, while they fall on each other (from 0.75 s on) and while they calm down",
        "(from 2.4 s on); `growth` is against the smallest heap of the same round, median and range of the",
        "rounds. Memory is what the solver holds beyond the scene and its compiled kernels, a body, without",
        "recorded frames: at the end, where what lasts no longer than a step is given back, after a step,",
        "where it is not, and at most on the way; of the rounds the most.",
        f"Asked: growth at most {GROWTH}, memory under {MEMORY} B.",
        "",
        f"{date.today()}, {machine}; rounds: {len(found[min(found)])}.",
        "",
        "| bodies | in motion [us] | growth | calming down [us] | growth | memory [B] | in a step [B] "
        "| at most [B] | contact points a body | penetration [m] |",
        "|" + "---|" * 10,
    ]
    for count, rows in found.items():
        cells = [f"{count}"]
        for phase in PHASES:
            grown = growth(found, count, phase)
            cells.append(f"{median(row[phase] for row in rows):.2f}")
            cells.append(f"{median(grown):.2f} ({grown[0]:.2f} to {grown[-1]:.2f})")
        most = {name: max(row[name] for row in rows) for name in rows[0]}
        cells += [f"{most[name]:.0f}" for name in ("memory", "stepping", "peak")]
        cells += [f"{most['contacts']:.1f}", f"{most['penetration']:.1e}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure what was asked for; 1 where a figure is above what is asked."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark_scaling", description=__doc__)
    parser.add_argument("--worker", type=int, help="measure a heap of so many bodies in this process")
    parser.add_argument("--bodies", type=int, nargs="+", default=COUNTS, help="numbers of bodies")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured, in turn")
    parser.add_argument("--docs", action="store_true", help="write the table to docs/scaling.md")
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(measure(arguments.worker)))
        return 0
    found = {count: [] for count in sorted(arguments.bodies)}
    for _ in range(arguments.rounds):
        for count, rows in found.items():
            command = [sys.executable, __file__, "--worker", str(count)]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rows.append(json.loads(output.splitlines()[-1]))
            print(count, {name: float(f"{value:.3g}") for name, value in rows[-1].items()}, flush=True)
    page = markdown(found, machine())
    if arguments.docs:
        (ROOT / "docs" / "scaling.md").write_text(page)
    print(page)
    grown = any(median(growth(found, max(found), phase)) > GROWTH for phase in PHASES)
    return int(grown or any(row["memory"] >= MEMORY for rows in found.values() for row in rows))


def machine() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if "model name" in line), "unknown processor"
    )


if __name__ == "__main__":
    sys.exit(main())
