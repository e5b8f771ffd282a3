"""Builds the demo's scene, bakes it with the add-on, checks and renders it; see scripts/demo."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO
from unittest.mock import patch

import bpy
import numpy as np
import topple
from checkout import load_extension
from contact_sheet import render_sheet, set_up_rendering
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from scipy.spatial.transform import Rotation
from stage import FRAMES, build_scene
from topple.verification import PENETRATION_TOLERANCE

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "out"
PICTURED = (0, 12, 15, 19, 25, 33, 42, 56, 84)  # frames after the start
PLAYBACK_TOLERANCE = 1e-5  # [m] keyframes are single precision; the scene is some metres wide


@dataclass
class Bake:
    """What went into the solver, what came out of it, and how long the operator took."""

    scene: topple.Scene
    trajectory: topple.Trajectory
    seconds: float


class Stage:
    """The progress bar of one stage of the demo."""

    def __init__(self, bars: Progress, name: str) -> None:
        self.bars, self.task = bars, bars.add_task(name, total=None)

    def show(self, done: int, total: int, name: str | None = None) -> None:
        """Move the bar, and rename it where the work has become another."""
        renamed = {} if name is None else {"description": name}
        self.bars.update(self.task, completed=done, total=total, **renamed)

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, failure: type | None, *_: object) -> None:
        if failure is None:
            total = self.bars.tasks[self.task].total or 1
            self.bars.update(self.task, completed=total, total=total)
        self.bars.stop_task(self.task)


def main() -> int:
    """Run the demo; 1 if bodies overlap by more than the tolerance or the file plays otherwise."""
    OUTPUT.mkdir(exist_ok=True)
    blend, sheet = OUTPUT / "demo.blend", OUTPUT / "demo.png"
    console = Console(file=keep_blender_quiet(OUTPUT / "blender.log"))
    columns = SpinnerColumn(), TextColumn("{task.description:<29}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeElapsedColumn(), console=console) as bars:
        with Stage(bars, "building the scene"):
            load_extension(topple).register()
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
            build_scene()
            set_up_rendering()
        with Stage(bars, "compiling kernels") as stage:
            bake = bake_watched(stage)
        with Stage(bars, "saving"):
            bpy.context.preferences.filepaths.save_version = 0  # no demo.blend1 beside it
            bpy.ops.wm.save_as_mainfile(filepath=str(blend))
        with Stage(bars, "playing without the add-on"):
            deviation = playback_deviation(blend, bake.trajectory)
        with Stage(bars, "verifying every frame") as stage:
            check = topple.verify(
                bake.scene, bake.trajectory, progress=lambda _, done, total: stage.show(done, total)
            )
        with Stage(bars, "rendering") as stage:
            render_sheet([bpy.context.scene.frame_start + frame for frame in PICTURED], sheet, stage.show)
    print_report(console, bake, check, deviation)
    console.print(f"\nwrote {blend.relative_to(ROOT)}, {sheet.relative_to(ROOT)}")
    return int(check.max_penetration > PENETRATION_TOLERANCE or deviation > PLAYBACK_TOLERANCE)


def keep_blender_quiet(log: Path) -> TextIO:
    """Send what Blender prints to a file, where it does not tear the bars; return the real output."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    with log.open("w") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
    return output


def bake_watched(stage: Stage) -> Bake:
    """Press Bake, then solve the same scene once more for what there is to check: same inputs, same bits."""
    begun = []

    class WatchedSimulation(topple.Simulation):
        def __init__(self, scene: topple.Scene, solver: Any = "impulse") -> None:
            begun.append((scene, solver))
            super().__init__(scene, solver)

    def show(name: str, done: int, total: int) -> None:
        if name != "compile":  # that cannot be counted: the bar just runs
            stage.show(done, total, "checking")

    begin = time.perf_counter()
    with patch.object(topple, "Simulation", WatchedSimulation):
        bpy.ops.topple.bake()
    seconds = time.perf_counter() - begin
    [(scene, solver)] = begun
    settings = bpy.context.scene
    trajectory = topple.simulate(
        scene, frames=settings.frame_end - settings.frame_start,
        fps=settings.render.fps / settings.render.fps_base, solver=solver, progress=show,
    )  # fmt: skip
    return Bake(scene, trajectory, seconds)


def playback_deviation(blend: Path, trajectory: topple.Trajectory) -> float:
    """How far any corner of a unit box around a body's origin plays from where it was baked [m]."""
    with TemporaryDirectory(prefix="topple-demo-") as folder:
        recorded = Path(folder) / "poses.npz"
        script = Path(__file__).with_name("playback.py")
        subprocess.run(
            [sys.executable, str(script), str(blend), str(recorded)], check=True, stdout=subprocess.DEVNULL
        )
        with np.load(recorded) as poses:
            column = {name: k for k, name in enumerate(poses["names"])}
            played = poses["matrices"][:, [column[name] for name in trajectory.names]]
    moved = played[..., :3, 3] - trajectory.position
    axes = played[..., :3, :3] / np.linalg.norm(played[..., :3, :3], axis=-2, keepdims=True)
    baked = Rotation.from_quat(np.roll(trajectory.orientation, -1, axis=-1).reshape(-1, 4)).as_matrix()
    turned = (axes.reshape(-1, 3, 3) - baked).reshape(axes.shape)
    return float(np.abs(moved).max() + np.abs(turned).sum(axis=-1).max())


def print_report(console: Console, bake: Bake, check: topple.Report, deviation: float) -> None:
    """What was baked and how good it is, one fact a line."""
    solver = bake.trajectory.report
    worst = f"{check.max_penetration:.2g} m"
    if check.worst_pair is not None:
        worst += f", '{check.worst_pair[0]}' and '{check.worst_pair[1]}' in frame {check.worst_frame}"
    solving = sum(solver.stage_seconds.values())
    facts = {
        "bodies": len(bake.scene.bodies),
        "frames": f"{FRAMES} at {bpy.context.scene.render.fps} per second",
        "bake": f"{bake.seconds:.1f} s, of it {solving:.1f} s in the solver's stages",
        "worst penetration": worst,
        "playback differs by": f"{deviation:.2g} m",
        "state hash": bake.trajectory.state_hash[:16],
    }
    console.print()
    for name, value in facts.items():
        console.print(f"{name:<19} {value}", highlight=False)
    for warning in (*solver.warnings, *check.warnings):
        console.print(f"[yellow]warning[/]: {warning}", highlight=False)


if __name__ == "__main__":
    sys.exit(main())
