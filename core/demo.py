"""The scene of `topple demo`: a heavy ball knocks over a small wall of bricks."""

import numpy as np

from .geometry.shapes import Box, ConvexHull, Plane, Sphere
from .scene import Body, Scene

BRICK = (0.5, 0.24, 0.2)  # [m]


def demo_scene() -> Scene:
    """Build a floor, a wall of five courses of bricks, a rock on top, and the ball."""
    scene = Scene()
    scene.add(Body("floor", Plane((0, 0, 1), 0), kind="static", friction=0.6))
    length, _, height = BRICK
    for course in range(5):
        for k in range(5 - course % 2):
            x = (k - 2 + course % 2 / 2) * length
            scene.add(
                Body(
                    f"brick {course}.{k}",
                    Box(BRICK),
                    density=1800,
                    position=(x, 0, (course + 0.5) * height),
                    friction=0.6,
                )
            )
    corners = np.random.default_rng(2).normal(size=(20, 3))
    rock = ConvexHull(0.15 * corners / np.linalg.norm(corners, axis=1, keepdims=True))
    scene.add(Body("rock", rock, density=2600, position=(0.1, 0, 5 * height + 0.2), friction=0.6))
    scene.add(
        Body(
            "ball",
            Sphere(0.22),
            density=7800,
            position=(-0.2, -2.2, 0.5),
            linear_velocity=(0.5, 7, 1),
            restitution=0.2,
        )
    )
    return scene
