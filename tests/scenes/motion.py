"""One body that touches nothing."""

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
