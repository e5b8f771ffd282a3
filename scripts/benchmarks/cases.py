"""The scenes that are timed, with their step and length.

The grid comes close and wide: Blender's hulls have margins, so cubes close beside each other cost it as much
as those that touch. In the wide one they fall from 0.5 m above each other, not 0.1. The pyramid takes the 500
steps of Jolt's PerformanceTest: in the first three seconds it falls and comes to rest, then it stands.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import scenes
import topple


@dataclass(frozen=True)
class Case:
    """One scene at one step size; poses are recorded once a frame, after `steps_per_frame` steps."""

    title: str
    build: Callable[[], topple.Scene]
    time_step: float  # [s]
    steps_per_frame: int
    frames: int

    @property
    def steps(self) -> int:
        return self.frames * self.steps_per_frame

    @property
    def frame_seconds(self) -> float:
        return self.time_step * self.steps_per_frame

    def shortened(self) -> "Case":
        """The same scene for a quarter of the time."""
        return replace(self, frames=self.frames // 4)


CASES = {
    "cubes": Case(
        "1000 cubes dropped in a grid, 0.1 m between them",
        partial(scenes.cube_grid, beside=0.1, gap=0.1),
        1e-3,
        40,
        50,
    ),
    "wide": Case(
        "1000 cubes dropped in a grid, 1 m between columns",
        scenes.cube_grid,
        1e-3,
        40,
        50,
    ),
    "wall": Case("Brick wall of 510 bricks at rest", scenes.brick_wall, 1e-3, 40, 25),
    "rocks": Case("500 rocks heaped in a box", scenes.rocks_in_box, 1e-3, 40, 50),
    "funnel": Case("1000 cubes through a funnel", scenes.funnel, 1e-3, 40, 75),
    "heavy": Case("Stack of ten, the top one 10 000 times heavier", scenes.heavy_on_light, 1e-3, 40, 100),
    "pyramid": Case("Pyramid of 1240 boxes", scenes.pyramid, 1 / 60, 10, 50),
}
