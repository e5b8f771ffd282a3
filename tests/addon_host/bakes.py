"""Small bakes for the tests of the add-on's plain rooms."""

from typing import Any

import topple
from topple_extension.addon.bake_work import BakeRequest


def two_balls(restitution: float = 0.5) -> topple.Scene:
    """Two balls that fall on a plane, one onto the other, while a third is carried along."""
    scene = topple.Scene(
        bodies=[topple.Body("ground", topple.Plane((0, 0, 1), 0), kind="static", restitution=restitution)]
    )
    for i, height in enumerate((0.4, 0.9)):
        scene.add(
            topple.Body(
                f"ball {i}", topple.Sphere(0.2), position=(0.05 * i, 0, height), restitution=restitution
            )
        )
    scene.add(carried(24))
    return scene


def carried(frames: int) -> topple.Body:
    """An animated ball, known for so many frames."""
    times = [i / 24 for i in range(frames + 1)]
    return topple.Body(
        "carried", topple.Sphere(0.1), kind="kinematic",
        motion=(times, [(2.0 + t, 0, 1) for t in times], [(1, 0, 0, 0) for _ in times]),
    )  # fmt: skip


def request(frames: int = 24, scene: topple.Scene | None = None, **more: Any) -> BakeRequest:
    """A bake of the balls."""
    return BakeRequest(
        build=lambda: (scene or two_balls(), ("a remark",)),
        solver=topple.ImpulseSolver, first_frame=1, frames=frames, fps=24.0, **more,
    )  # fmt: skip


def silent(stage: str, done: int, total: int) -> None:
    """A progress report that nobody reads."""
