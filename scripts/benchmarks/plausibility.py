"""The same questions put to every engine's recorded poses: how deep, how far, did anything get lost?"""

from dataclasses import dataclass

import numpy as np
import topple
from cases import Case

LOST_BELOW = -1.0  # [m]; the floors are 1 m thick with their top at 0
FRAMES_CHECKED = 25  # spread evenly, the last included; the exact check takes about a second a frame


@dataclass(frozen=True)
class Outcome:
    """What one engine made of one scene."""

    penetration: float | None  # worst over all recorded frames [m]; None: a pose is not finite
    drift: float  # largest distance of any body from its start, at the end [m]
    height: float  # mean height of the bodies that move, at the end [m]
    lost: int  # bodies that are not finite, or have fallen through the floor


def judge(case: Case, position: np.ndarray, orientation: np.ndarray) -> Outcome:
    """Look at poses of shape (frames + 1, bodies, 3) and (..., 4), in the order of the scene."""
    scene = case.build()
    moving = [index for index, body in enumerate(scene.bodies) if body.kind == "dynamic"]
    final = position[-1, moving]
    finite = np.isfinite(position).all() and np.isfinite(orientation).all()
    here = np.isfinite(final).all(axis=1)
    return Outcome(
        penetration=worst_penetration(case, scene, position, orientation) if finite else None,
        drift=float(np.linalg.norm(final[here] - position[0, moving][here], axis=1).max(initial=0.0)),
        height=float(final[here, 2].mean()) if here.any() else float("nan"),
        lost=int(np.sum(~here) + np.sum(final[here, 2] < LOST_BELOW)),
    )


def worst_penetration(
    case: Case, scene: topple.Scene, position: np.ndarray, orientation: np.ndarray
) -> float:
    """Deepest overlap [m] of the scene's true shapes at `FRAMES_CHECKED` recorded poses, by `topple.verify`.

    The check shares no code with Topple's solver and knows nothing of any engine's margins.
    """
    last = len(position) - 1
    frames = np.unique(np.linspace(0, last, min(last, FRAMES_CHECKED) + 1).astype(int))
    still = np.zeros_like(position[frames])
    trajectory = topple.Trajectory(
        times=frames * case.frame_seconds,
        position=position[frames],
        orientation=orientation[frames],
        linear_velocity=still,
        angular_velocity=still,
        names=tuple(body.name for body in scene.bodies),
    )
    return topple.verify(scene, trajectory).max_penetration
