"""Turns measurements into JSON, a table in Markdown and a plot."""

import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from cases import CASES
from peers import PEERS, TOPPLE
from plausibility import Outcome


@dataclass
class Row:
    """One engine on one scene; one entry of `step_ms` per repeat."""

    case: str
    peer: str
    version: str
    steps: int
    step_ms: list[float]  # mean time of a step [ms]
    slowest_frame_ms: float  # slowest frame's mean step [ms]
    memory_before: float  # engine imported, no scene yet [MiB]
    memory_peak: float  # [MiB]
    outcome: Outcome

    def ratios(self, reference: "Row") -> list[float]:
        """Time against `reference` in the same round, so that a busy machine hits both alike."""
        return [mine / other for mine, other in zip(self.step_ms, reference.step_ms, strict=True)]


@dataclass
class Results:
    """Everything one call of the benchmark found."""

    rows: list[Row]
    startup: dict[str, dict[str, float]]
    keyframes: dict[str, Any]
    threads: dict[str, Any]
    left_out: dict[str, str]  # "peer" or "case, peer": why
    repeats: int
    quick: bool

    def find(self, case: str, peer: str) -> Row | None:
        """The row of one engine on one scene, if it was run."""
        return next((row for row in self.rows if (row.case, row.peer) == (case, peer)), None)


def write_json(results: Results, path: Path) -> None:
    """All figures, unrounded."""
    path.write_text(json.dumps({"machine": _machine(), **asdict(results)}, indent=1) + "\n")


def markdown(results: Results, picture: str) -> str:
    """The page docs/benchmarks.md, with its plot at the path `picture`."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `scripts/benchmark`; do not edit. Every engine runs the same bodies, materials, gravity",
        "and step in a process of its own, on one thread, without sleeping or damping; engines take turns.",
        "Time is that of the steps alone (for Blender: of whole frames, its depsgraph included), mean over",
        "the run, median over rounds; `ratio` is time against Topple's in the same round (over 1: Topple is",
        "faster). `penetration` is the deepest overlap of the true shapes in 25 evenly spaced frames, by the",
        "independent check `topple.verify`; `drift` the farthest any body ended from its start.",
        "",
        f"{date.today()}, {_machine()}; rounds: {results.repeats}"
        + ("; **quick run, a quarter of each scene**." if results.quick else "."),
        "",
        f"![Time of a step and worst penetration of each engine, scene by scene]({picture})",
    ]
    for name, case in CASES.items():
        rows = [row for row in results.rows if row.case == name]
        if rows:
            lines += ["", f"## {case.title}", f"h = {case.time_step:.3g} s, {rows[0].steps} steps.", ""]
            lines += _table(rows, results.find(name, TOPPLE))
    if results.threads:
        found = results.threads
        lines += ["", "## Threads", ""]
        lines += [f"Funnel with {found['bodies']} cubes, the same steps in turn, the same bits:"]
        lines += [
            f"{found['one']:.2f} ms a step on one thread, {found['two']:.2f} on two: "
            f"{found['times_as_fast']:.2f} times as fast."
        ]
        of_rounds = ", ".join(f"{ratio:.2f}" for ratio in found["rounds"])
        lines += [f"(Least time of each frame in {len(found['rounds'])} rounds; by round: {of_rounds}.)"]
    if results.startup:
        lines += [
            "",
            "## Start-up",
            "",
            "| | `import topple` [s] | numba and scipy, loaded when first needed [s] | first step [s] |",
        ]
        lines += ["|---|---|---|---|"]
        for state, label in (("cold", "nothing compiled yet"), ("warm", "compiled before")):
            times = results.startup[state]
            lines.append(
                f"| {label} | {times['import']:.2f} | {times['libraries']:.2f} | {times['first_step']:.2f} |"
            )
    if results.keyframes:
        keys = results.keyframes
        lines += ["", "## Keyframes", ""]
        lines += [f"{keys['keys']:,} keyframes (1000 objects x 250 frames) in Blender {keys['blender']}:"]
        lines += [
            f"{keys['first']:.2f} s, and {keys['again']:.2f} s where they replace those of an earlier bake."
        ]
    if results.left_out:
        lines += ["", "## Left out", ""] + [f"- {what}: {why}" for what, why in results.left_out.items()]
    return "\n".join(lines) + "\n"


def plot(results: Results, path: Path) -> None:
    """Time of a step (left) and worst penetration (right) of every engine on every scene."""
    cases = [name for name in CASES if any(row.case == name for row in results.rows)]
    figure, axes = plt.subplots(1, 2, figsize=(13, 1.5 + 0.9 * len(cases)), layout="constrained")
    thickness = 0.8 / len(PEERS)
    for slot, (peer_name, peer) in enumerate(PEERS.items()):
        rows = [(place, results.find(case, peer_name)) for place, case in enumerate(cases)]
        found = [(place - 0.4 + thickness * (slot + 0.5), row) for place, row in rows if row]
        if not found:
            continue
        color = f"C{slot}"
        axes[0].barh(
            [y for y, _ in found],
            [statistics.median(row.step_ms) for _, row in found],
            thickness,
            label=peer.title,
            color=color,
        )
        checked = [(y, row.outcome.penetration) for y, row in found if row.outcome.penetration is not None]
        axes[1].barh([y for y, _ in checked], [depth for _, depth in checked], thickness, color=color)
    # A common left end, so that the lengths of logarithmic bars compare from run to run.
    for axis, label, left in zip(
        axes, ("time of a step [ms]", "worst penetration [m]"), (1e-3, 1e-7), strict=True
    ):
        axis.set(xlabel=label, xscale="log", yticks=range(len(cases)))
        axis.set_xlim(left=left)
        axis.invert_yaxis()
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticklabels([CASES[name].title for name in cases])
    axes[1].set_yticklabels([])
    axes[1].axvline(1e-4, color="black", linestyle=":", label="Topple's tolerance")
    axes[1].legend(loc="best")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(PEERS))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _table(rows: list[Row], reference: Row | None) -> list[str]:
    headings = ["engine", "ms a step", "ratio", "slowest frame, ms a step", "penetration [m]", "drift [m]"]
    headings += ["mean height at the end [m]", "memory [MiB]"]
    lines = [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
    for row in rows:
        ratio = f"{statistics.median(row.ratios(reference)):.2f}" if reference else ""
        outcome = row.outcome
        depth = "not finite" if outcome.penetration is None else f"{outcome.penetration:.1e}"
        if outcome.lost:
            depth += f"; {outcome.lost} bodies lost"
        lines.append(
            f"| {PEERS[row.peer].title} {row.version} | {statistics.median(row.step_ms):.2f} | {ratio} "
            f"| {row.slowest_frame_ms:.2f} | {depth} | {outcome.drift:.2g} | {outcome.height:.3f} "
            f"| {row.memory_peak:.0f} ({row.memory_before:.0f} before the scene) |"
        )
    return lines


def _machine() -> str:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def summary(results: Results) -> Any:
    """The same table for the terminal."""
    from rich.table import Table

    table = Table(title="Topple against others (ratio over 1: Topple is faster)")
    for heading in ("scene", "engine", "ms a step", "ratio", "penetration [m]", "drift [m]", "MiB"):
        table.add_column(heading, justify="left" if heading in ("scene", "engine") else "right")
    for name in CASES:
        reference = results.find(name, TOPPLE)
        for row in (row for row in results.rows if row.case == name):
            depth = row.outcome.penetration
            table.add_row(
                name,
                PEERS[row.peer].title,
                f"{statistics.median(row.step_ms):.2f}",
                f"{statistics.median(row.ratios(reference)):.2f}" if reference else "",
                ("?" if depth is None else f"{depth:.1e}")
                + (f" lost {row.outcome.lost}" * bool(row.outcome.lost)),
                f"{row.outcome.drift:.2g}",
                f"{row.memory_peak:.0f}",
            )
        table.add_section()
    return table
