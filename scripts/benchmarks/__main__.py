"""Runs scenes in Topple and in its peers, in turn, and writes what came out; see scripts/benchmark."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from cases import CASES, Case
from keyframes import measure_keyframes
from peers import PEERS, TOPPLE
from plausibility import judge
from report import Results, Row, markdown, plot, summary, write_json
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from startup import measure_startup
from threads import measure_threads

ROOT = Path(__file__).parents[2]
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}
console = Console()


class RunFailedError(Exception):
    """An engine's process ended without a result."""


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/benchmark", description=__doc__)
    parser.add_argument("--scene", action="append", choices=CASES, help="only this scene (repeatable)")
    parser.add_argument("--peer", action="append", choices=PEERS, help="only this engine (repeatable)")
    parser.add_argument("--quick", action="store_true", help="a quarter of each scene, one round")
    parser.add_argument("--repeats", type=int, default=3, help="rounds (default 3)")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "out" / "benchmarks", help="folder for the results"
    )
    parser.add_argument("--docs", action="store_true", help="write the table to docs/benchmarks.md as well")
    return parser.parse_args()


def choose_peers(wanted: list[str] | None, left_out: dict[str, str]) -> list[str]:
    """The engines to run; those that are not installed are named, loudly, and left out."""
    chosen = []
    for name in wanted or PEERS:
        if PEERS[name].is_installed():
            chosen.append(name)
        else:
            left_out[name] = f"not installed; `pip install {PEERS[name].needs}` adds it"
            console.print(f"[bold red]LEFT OUT: {PEERS[name].title} is {left_out[name]}[/]")
    return chosen


def run_worker(case_name: str, peer_name: str, frames: int, output: Path, progress: Progress) -> None:
    """Run one engine on one scene in a process of its own, showing its frames."""
    command = [sys.executable, str(Path(__file__).with_name("worker.py"))]
    command += [case_name, peer_name, str(frames), str(output)]
    task = progress.add_task(f"  {case_name}: {PEERS[peer_name].title}", total=frames)
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        for line in process.stdout:
            if line.startswith("progress "):
                progress.update(task, completed=int(line.split()[1]))
        process.wait()
        progress.remove_task(task)
        if process.returncode != 0:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or ["no message"])[-1]
            raise RunFailedError(f"ended with code {process.returncode}: {last}")


def run_case(
    name: str, case: Case, peers: list[str], rounds: int, progress: Progress, results: Results
) -> list[Row]:
    """Run every engine on one scene, round after round, and judge what each made of it in the first."""
    rows: dict[str, Row] = {}
    whole = progress.add_task(case.title, total=rounds * len(peers))
    for _ in range(rounds):
        for peer in peers:
            progress.advance(whole)
            if f"{name}, {peer}" in results.left_out:
                continue
            with tempfile.TemporaryDirectory() as folder:
                output = Path(folder) / "run.npz"
                try:
                    run_worker(name, peer, case.frames, output, progress)
                except RunFailedError as error:
                    results.left_out[f"{name}, {peer}"] = str(error)
                    rows.pop(peer, None)
                    progress.console.print(f"[bold red]FAILED: {name} in {PEERS[peer].title} {error}[/]")
                    continue
                check = progress.add_task("  checking penetration", total=None)
                with np.load(output) as data:
                    record(rows, name, case, peer, dict(data))
                progress.remove_task(check)
    return list(rows.values())


def record(rows: dict[str, Row], name: str, case: Case, peer: str, data: dict[str, np.ndarray]) -> None:
    """Add one run to the rows; its poses are judged once, since engines repeat themselves."""
    seconds = data["seconds"]
    slowest = 1e3 * float(seconds.max()) / case.steps_per_frame
    if peer not in rows:
        facts = json.loads(str(data["facts"]))
        outcome = judge(case, data["position"], data["orientation"])
        rows[peer] = Row(
            name, peer, steps=case.steps, step_ms=[], slowest_frame_ms=slowest, outcome=outcome, **facts
        )
    rows[peer].step_ms.append(1e3 * float(seconds.sum()) / case.steps)
    rows[peer].slowest_frame_ms = min(rows[peer].slowest_frame_ms, slowest)


def main() -> int:
    """Run what was asked for; 1 when Topple itself failed somewhere."""
    arguments = parse_arguments()
    rounds = 1 if arguments.quick else arguments.repeats
    results = Results(
        rows=[], startup={}, keyframes={}, threads={}, left_out={}, repeats=rounds, quick=arguments.quick
    )
    peers = choose_peers(arguments.peer, results.left_out)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        for name in arguments.scene or CASES:
            case = CASES[name].shortened() if arguments.quick else CASES[name]
            results.rows += run_case(name, case, peers, rounds, progress, results)
        if TOPPLE in peers:
            task = progress.add_task("Start-up, cold and warm", total=1)
            results.startup = measure_startup()
            progress.advance(task)
            if "funnel" in (arguments.scene or CASES):
                results.threads = measure_threads(CASES["funnel"].frames // (4 if arguments.quick else 1))
            if importlib.util.find_spec("bpy"):
                results.keyframes = measure_keyframes()

    arguments.output.mkdir(parents=True, exist_ok=True)
    write_json(results, arguments.output / "benchmarks.json")
    (arguments.output / "benchmarks.md").write_text(markdown(results, "benchmarks.png"))
    plot(results, arguments.output / "benchmarks.png")
    if arguments.docs:
        (ROOT / "docs" / "benchmarks.md").write_text(markdown(results, "images/benchmarks.png"))
        plot(results, ROOT / "docs" / "images" / "benchmarks.png")
    console.print(summary(results))
    for state, times in results.startup.items():
        console.print(
            f"{state}: import {times['import']:.2f} s, numba and scipy {times['libraries']:.2f} s, "
            f"first step {times['first_step']:.2f} s"
        )
    if results.threads:
        console.print(
            f"funnel with 2000 cubes, two threads: {results.threads['times_as_fast']:.2f} times as fast"
        )
    if results.keyframes:
        console.print(f"{results.keyframes['keys']} keyframes: {results.keyframes['first']:.2f} s")
    console.print(f"Written to {arguments.output}")
    return int(any(what.endswith(TOPPLE) for what in results.left_out))


if __name__ == "__main__":
    sys.exit(main())
