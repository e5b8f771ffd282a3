"""Pictures of a trajectory: heights, speeds, energy and penetration over time."""

import io
import os
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .diagnostics import kinetic_energy, potential_energy
from .errors import SceneError
from .scene import Scene, write_whole
from .trajectory import Trajectory
from .verification import PENETRATION_TOLERANCE, Progress, frame_penetrations

FORMATS = (".png", ".svg", ".pdf")
NAMED_LINES = 8  # up to so many bodies each has a line in the legend
BLUE, ORANGE, INK, GRID = "#2a6fbb", "#e0762f", "#25303b", "#dfe3e8"


def plot(
    trajectory: Trajectory,
    path: str | os.PathLike[str],
    *,
    scene: Scene | None = None,
    progress: Progress | None = None,
) -> None:
    """Draw a trajectory into a picture file.

    Args:
        trajectory: What to draw: the height and speed of its bodies.
        path: File to write; its ending chooses png, svg or pdf.
        scene: The scene it was baked from adds energy and penetration, and leaves out static bodies.
        progress: Called as progress(stage, done, total) while penetration is measured.

    Raises:
        SceneError: The ending is none of the three, or the scene is another one.
        OSError: The file cannot be written.
    """
    check_format(path)
    figure = Figure(figsize=(10, 10 if scene else 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(4 if scene else 2, 1, sharex=True)
    shown = np.arange(len(trajectory.names))
    if scene is not None:
        penetrations = frame_penetrations(scene, trajectory, progress=progress)
        shown = np.array([k for k, body in enumerate(scene.bodies) if body.kind != "static"], dtype=int)
        _draw_energy(axes[2], scene, trajectory)
        _draw_penetration(axes[3], trajectory.times, np.array([frame.depth for frame in penetrations]))
    names = [trajectory.names[k] for k in shown]
    speed = np.linalg.norm(trajectory.linear_velocity, axis=-1)
    _draw_bodies(axes[0], trajectory.times, trajectory.position[:, shown, 2], names, "height z [m]")
    _draw_bodies(axes[1], trajectory.times, speed[:, shown], names, "speed [m/s]")
    for ax in axes:
        _style(ax)
    axes[-1].set_xlabel("time [s]", color=INK)
    figure.suptitle(f"{len(shown)} bodies, {len(trajectory.times) - 1} frames", color=INK, fontsize=13)
    write_picture(figure, path)


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse a picture file whose ending names no format.

    Raises:
        SceneError: The ending is none of the three.
    """
    if Path(path).suffix.lower() not in FORMATS:
        raise SceneError(f"cannot draw {path}; give it one of the endings {', '.join(FORMATS)}")


def write_picture(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format of the file's ending; the file appears whole or not at all."""
    picture = io.BytesIO()
    figure.savefig(picture, format=Path(path).suffix.lower()[1:], dpi=110)
    write_whole(path, picture.getvalue())


def _style(ax: Axes) -> None:
    ax.grid(color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.margins(x=0.01)
    ax.tick_params(colors=INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc="upper right", fontsize=8, framealpha=0.9)


def _draw_bodies(ax: Axes, times: np.ndarray, values: np.ndarray, names: list[str], label: str) -> None:
    few = len(names) <= NAMED_LINES
    for k, name in enumerate(names):
        color = f"C{k}" if few else BLUE
        ax.plot(
            times,
            values[:, k],
            color=color,
            alpha=0.9 if few else 0.35,
            linewidth=1.2,
            label=name if few else None,
        )
    if not few:
        ax.plot(times, np.median(values, axis=1), color=ORANGE, linewidth=2, label="median")
    ax.set_ylabel(label, color=INK)


def _draw_energy(ax: Axes, scene: Scene, trajectory: Trajectory) -> None:
    kinetic = kinetic_energy(scene, trajectory)
    potential = potential_energy(scene, trajectory)
    potential = potential - potential.min()  # only differences mean anything
    ax.plot(trajectory.times, kinetic, color=BLUE, label="kinetic")
    ax.plot(trajectory.times, potential, color=ORANGE, label="potential, above its least")
    ax.plot(trajectory.times, kinetic + potential, color=INK, linewidth=2, label="total")
    ax.set_ylabel("energy [J]", color=INK)


def _draw_penetration(ax: Axes, times: np.ndarray, depth: np.ndarray) -> None:
    least = PENETRATION_TOLERANCE / 1e3
    ax.set_ylim(least, 2 * max(depth.max(), PENETRATION_TOLERANCE))
    ax.semilogy(
        times, np.maximum(depth, least), color=BLUE, label="deepest overlap (floor of the axis: none)"
    )
    ax.axhline(
        PENETRATION_TOLERANCE, color=ORANGE, linestyle="--", label=f"tolerance {PENETRATION_TOLERANCE:g} m"
    )
    ax.set_ylabel("penetration [m]", color=INK)
