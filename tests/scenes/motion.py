"""One body that touches nothing."""

from itertools import pairwise

import numpy as np
import topple

from .ground import GRAVITY


def free_fall(*, height: float = 5.0, velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> topple.Scene:
    """A ball of 0.1 m and 1 kg, thrown from `height` [m] with `velocity` [m/s]; no ground.

    Answer: x = v_x t, z = height + v_z t - g t^2 / 2.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(
        topple.Body(
            "ball", topple.Sphere(0.1), mass=1.0, position=(0.0, 0.0, height), linear_velocity=velocity
        )
    )
    return scene


def spinning_body(
    moments: tuple[float, float, float], angular_velocity: tuple[float, float, float]
) -> topple.Scene:
    """A free body with principal `moments` [kg m^2] along its axes, no gravity (Euler's top).

    Starts with its axes along the world's, so the angular velocity [rad/s] is the same in both.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(
        topple.Body(
            "top",
            topple.Sphere(0.1),
            mass=1.0,
            inertia=np.diag(moments),
            angular_velocity=angular_velocity,
        )
    )
    return scene


def boxes_on_springs() -> topple.Scene:
    """Four boxes over a floor, tied to each other and to the world, one with a thruster, all with drag."""
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static"))
    names = [f"box {i}" for i in range(4)]
    for i, name in enumerate(names):
        scene.add(
            topple.Body(
                name, topple.Box((0.4, 0.3, 0.2)), mass=1.0 + i, position=(0.6 * i, 0.0, 0.3 + 0.5 * i)
            )
        )
    for one, other in pairwise(names):
        scene.add(
            topple.Spring(body_a=one, body_b=other, point_a=(0.2, 0, 0), point_b=(-0.2, 0, 0), length=0.3,
                          stiffness=400.0, damping=2.0)
        )  # fmt: skip
    scene.add(topple.Spring(body_a=names[-1], point_b=(1.8, 0.5, 2.5), stiffness=100.0))
    scene.add(topple.Thruster(body=names[0], force=(0, 30.0, 0), point=(0.1, 0, 0), start=0.2, end=0.7))
    scene.add(topple.ViscousDrag(linear=0.5, angular=0.01))
    return scene
