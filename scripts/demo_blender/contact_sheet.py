"""Renders frames of the open scene with Cycles on the CPU and puts them on one sheet."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import bpy
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread

COLUMNS, GAP, DPI = 3, 6, 100  # pictures in a row, pixels between them
PAPER, INK = "#ffffff", "#ffffff"
LABEL = {"facecolor": "#101820", "alpha": 0.55, "edgecolor": "none", "boxstyle": "round,pad=0.3"}


def set_up_rendering(*, width: int = 480, height: int = 270, samples: int = 16) -> None:
    """Cycles on the CPU: few rays per pixel, what noise they leave is removed by the denoiser."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = samples
    scene.cycles.use_denoising = True
    scene.cycles.max_bounces = 4
    scene.render.use_persistent_data = True  # keep what does not change from frame to frame
    scene.render.use_motion_blur = True
    scene.render.motion_blur_shutter = 0.3
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.resolution_percentage = 100
    scene.view_settings.view_transform = "Standard"  # the others make bright colours pale


def render_sheet(frames: list[int], path: Path, progress: Callable[[int, int], None]) -> None:
    """Render frames of the scene and write them, each with its time, as one PNG.

    Args:
        frames: Frame numbers.
        path: File to write.
        progress: Called with the number of pictures done and of all.
    """
    pictures = []
    with TemporaryDirectory(prefix="topple-demo-") as folder:
        for done, frame in enumerate(frames):
            progress(done, len(frames))
            pictures.append(_render(frame, Path(folder) / f"{frame}.png"))
    start, fps = bpy.context.scene.frame_start, bpy.context.scene.render.fps
    _write_sheet(pictures, [(frame - start) / fps for frame in frames], path)


def _render(frame: int, path: Path) -> np.ndarray:
    scene = bpy.context.scene
    scene.frame_set(frame)
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    return imread(path)[:, :, :3]


def _write_sheet(pictures: list[np.ndarray], times: list[float], path: Path) -> None:
    height, width = pictures[0].shape[:2]
    rows = -(-len(pictures) // COLUMNS)
    across, down = COLUMNS * (width + GAP) - GAP, rows * (height + GAP) - GAP
    figure = Figure(figsize=(across / DPI, down / DPI), dpi=DPI, facecolor=PAPER)
    FigureCanvasAgg(figure)
    for k, (picture, time) in enumerate(zip(pictures, times, strict=True)):
        row, column = divmod(k, COLUMNS)
        left, top = column * (width + GAP), row * (height + GAP)
        figure.figimage(picture, xo=left, yo=down - top - height, origin="upper")
        x, y = (left + 10) / across, 1.0 - (top + 10) / down
        figure.text(x, y, f"{time:.2f} s", color=INK, va="top", fontsize=10, bbox=LABEL)
    figure.savefig(path, dpi=DPI)
