"""Disks that roll on their rims: what loses nothing by rolling goes on."""

import math

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation

G = 9.81
RADIUS, HALF, MASS = 0.0375, 2.5e-4, 0.01  # of the disk: half its thickness [m]


def euler_disk(tilt: float, floor: topple.Body) -> tuple[topple.Scene, float]:
    """A disk that rolls on the rim of its lower face about its middle, which stays; how fast it goes round.

    Without slip w is along the arm r to the contact, r = -R u - b a with the axis a and u up along the
    disk: w = W sin(tilt) (u + b / R a), W about the vertical. From W z x L = r x m g z
    W^2 = m g (R cos - b sin) / (sin (I1 cos - I3 b / R sin)), for b = 0 that of Moffatt 2000, *Euler's disk
    and its finite-time singularity*.
    """
    sine, cosine, slope = math.sin(tilt), math.cos(tilt), HALF / RADIUS
    i1, i3 = MASS * (RADIUS**2 / 4 + HALF**2 / 3), MASS * RADIUS**2 / 2
    rate = math.sqrt(MASS * G * (RADIUS * cosine - HALF * sine) / (sine * (i1 * cosine - i3 * slope * sine)))
    axis, up = np.array([sine, 0, cosine]), np.array([-cosine, 0, sine])
    x, y, z, w = Rotation.from_rotvec([0, tilt, 0]).as_quat()
    disk = topple.Body(
        "disk", topple.Cylinder(RADIUS, 2 * HALF), mass=MASS, friction=0.8,
        position=(0, 0, RADIUS * sine + HALF * cosine), orientation=(w, x, y, z),
        angular_velocity=rate * sine * (up + slope * axis),
    )  # fmt: skip
    return topple.Scene(gravity=(0, 0, -G), bodies=[disk, floor]), rate


PLANE = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", friction=0.8)
BOX = topple.Body("floor", topple.Box((1, 1, 0.1)), kind="static", position=(0, 0, -0.05), friction=0.8)


@pytest.mark.parametrize("floor", [PLANE, BOX], ids=["plane", "box"])
@pytest.mark.parametrize("step", [1 / 240, 1e-3])
@pytest.mark.parametrize("tilt", [0.2, 0.3, 0.5, 1.0])
def test_euler_disk_goes_on(tilt, step, floor, figure):
    """Euler's disk rolls for 2 s at its height and its rate: nothing brakes it.

    It goes round by W h in a step, .2 rad and more at 1/240 s, with the arm of half of that foreseen from
    the last one: the rate is of second order in it, at most (W h)^2 / 2. Of energy and height nothing should
    be lost; 1e-4 and .01 rad are twice what is.
    """
    scene, rate = euler_disk(tilt, floor)
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=step))
    energy, around, last = simulation.energy(), 0.0, 0.0
    for _ in range(400):
        simulation.advance(0.005)
        w, x, y, z = simulation.state.orientation[0]
        axis = Rotation.from_quat([x, y, z, w]).apply([0, 0, 1])
        now = math.atan2(axis[1], axis[0])
        expected = rate * 0.005
        around += expected + math.remainder(now - last - expected, 2 * math.pi)
        last = now
    figure("energy lost, relative", simulation.energy() / energy - 1, 1e-4)
    off = around / (rate * simulation.time) - 1
    figure("rate, of (W h)^2", off / (rate * step) ** 2, 0.5)
    figure("tilt", math.acos(axis[2]) - tilt, 0.01, "rad")
