"""Round bodies that spin and roll on a plane: the tippe top, Euler's disk."""

import math

import numpy as np
import topple

from .ground import GRAVITY, plane


def tippe_top(*, spin: np.ndarray | None = None) -> topple.Scene:
    """A body with two spheres for a surface, which spins upright, tilted by .1 rad, and turns over.

    m = 6 g, radii 1.5 and .5 cm, their centres .3 and 1.6 cm above the centre of mass, I1 = 8e-3 and
    I3 = 7e-3 kg cm^2, mu = .3, 180 rad/s about its axis, or `spin`. The contact of figure 12 is a patch of
    radius .5 mm. Source: Leine and Glocker 2003, section 5; Bender and Schmitt 2006.
    """
    top = topple.Compound(
        [
            (topple.Sphere(0.015), (0, 0, 0), (1, 0, 0, 0)),
            (topple.Sphere(0.005), (0, 0, 0.013), (1, 0, 0, 0)),
        ]
    )
    tilt = 0.1
    if spin is None:
        spin = 180.0 * np.array([math.sin(tilt), 0, math.cos(tilt)])
    return topple.Scene(
        gravity=(0.0, 0.0, -GRAVITY),
        bodies=[
            plane(friction=0.3),
            topple.Body(
                "top", top, mass=0.006, center_of_mass=(0, 0, -0.003), inertia=np.diag([8e-7, 8e-7, 7e-7]),
                position=(0, 0, 0.015), orientation=(math.cos(tilt / 2), 0, math.sin(tilt / 2), 0),
                angular_velocity=spin, friction=0.3,
            ),
        ],
    )  # fmt: skip


def euler_disk(*, tilt: float = 0.3, radius: float = 0.0375, thickness: float = 5e-4) -> topple.Scene:
    """A thin disk that rolls on its rim about its middle, which stays where it is.

    It turns about the diameter through its lowest point with Omega sin(tilt); the load at that point turns
    its angular momentum round with Omega^2 = 4 g / (r sin(tilt)) (Moffatt 2000, *Euler's disk and its
    finite-time singularity*). That is for a disk without thickness.
    """
    turn = math.sqrt(4.0 * GRAVITY / (radius * math.sin(tilt)))
    axis = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    return topple.Scene(
        gravity=(0.0, 0.0, -GRAVITY),
        bodies=[
            plane(friction=0.5),
            topple.Body(
                "disk", topple.Cylinder(radius, thickness), friction=0.5,
                position=(0, 0, radius * math.sin(tilt) + 0.5 * thickness * math.cos(tilt)),
                orientation=(math.cos(tilt / 2), 0, math.sin(tilt / 2), 0),
                angular_velocity=turn * (np.array([0.0, 0.0, 1.0]) - math.cos(tilt) * axis),
            ),
        ],
    )  # fmt: skip
