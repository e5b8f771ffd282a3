"""Bodies that drive each other: wedge and block, ladder and wall, plank and rollers, cam and follower."""

import math

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation

G = 9.81
STEPS = [1 / 60, 1 / 240, 1 / 1000]


def turned(axis, angle):
    return Rotation.from_rotvec(angle * np.array(axis)).as_quat(scalar_first=True)


def floor(friction=0.0):
    plane = topple.Plane((0, 0, 1), 0.0)
    return topple.Body("floor", plane, kind="static", friction=friction, restitution=0.0)


def simulate(bodies, h, forces=()):
    scene = topple.Scene(gravity=(0, 0, -G), bodies=bodies, forces=list(forces))
    return topple.Simulation(scene, topple.ImpulseSolver(time_step=h))


@pytest.mark.parametrize("h", STEPS)
def test_block_on_a_wedge_that_gives_way(h, figure):
    """A block m that slides down a wedge M pushes it back with m g sin a cos a / (M + m sin^2 a).

    Source: Lagrange's equations. The block comes down with (M + m) g sin^2 a / (M + m sin^2 a).
    """
    M, m, a, time = 2.0, 1.0, 0.5, 0.4
    corners = [(x, y, 0.0) for x in (0.0, 2.0) for y in (-0.5, 0.5)]
    corners += [(0.0, y, 2.0 * math.tan(a)) for y in (-0.5, 0.5)]
    wedge = topple.Body("wedge", topple.ConvexHull(np.array(corners)), mass=M, friction=0.0, restitution=0.0)
    place = np.array([0.5, 0.0, 1.5 * math.tan(a)]) + 0.1 * np.array([math.sin(a), 0.0, math.cos(a)])
    block = topple.Body(
        "block", topple.Box((0.2, 0.2, 0.2)), mass=m, position=place, orientation=turned((0, 1, 0), a),
        friction=0.0, restitution=0.0,
    )  # fmt: skip
    simulation = simulate([floor(), wedge, block], h)
    start = simulation.state.position.copy()
    simulation.advance(time)
    way = simulation.state.position - start
    shared = M + m * math.sin(a) ** 2
    back, down = m * G * math.sin(a) * math.cos(a) / shared, (M + m) * G * math.sin(a) ** 2 / shared
    figure("way of the wedge, relative", way[1, 0] / (-0.5 * back * time**2) - 1.0, 1e-3)
    figure("way of the block, relative", way[2, 2] / (-0.5 * down * time**2) - 1.0, 1e-3)


@pytest.mark.parametrize("h", STEPS)
def test_ladder_leaves_the_wall(h, figure):
    """A rod that slides down a wall and along a floor leaves the wall at two thirds of its first height.

    Source: energy with x = (L/2) cos a, y = (L/2) sin a; the wall pushes until x'' = 0, sin a = 2/3 sin a0.
    From then on x' stays. It is off by twice the square of a step's turn (measured).
    """
    length, radius, first = 2.0, 0.01, 1.2
    half = 0.5 * length
    place = np.array([half * math.cos(first) + radius, 0.0, half * math.sin(first) + radius])
    rod = topple.Body(
        "rod", topple.Capsule(radius, length), mass=1.0, position=place, friction=0.0, restitution=0.0,
        orientation=turned((0, 1, 0), first - 0.5 * math.pi),
    )  # fmt: skip
    wall = topple.Body("wall", topple.Plane((1, 0, 0), 0.0), kind="static", friction=0.0, restitution=0.0)
    simulation = simulate([floor(), wall, rod], h)
    inertia = rod.inertia[0, 0]
    fallen = math.sin(first) / 3.0
    turning = math.sqrt(2.0 * G * half * fallen / (inertia + half**2))
    speed = half * (2.0 * fallen) * turning
    for _ in range(round(2.0 / h)):
        simulation.advance(h)
        if simulation.state.position[2, 2] < 0.5 * fallen:
            break
    assert 0.0 < simulation.state.position[2, 2] < 0.5 * fallen
    limit = 2.5 * (turning * h) ** 2 + 1e-4
    figure("speed away, relative", simulation.state.linear_velocity[2, 0] / speed - 1.0, limit)


@pytest.mark.parametrize("h", STEPS)
def test_plank_on_rollers(h, figure):
    """A force F moves a plank M on two solid rollers m that roll: F / (M + 3/4 m), each roller half as fast.

    Source: energy; a roller's is 3/4 m (v / 2)^2.
    """
    M, m, r, force, time = 2.0, 1.0, 0.1, 5.0, 0.6
    grip = {"friction": 0.8, "restitution": 0.0}
    lying = turned((1, 0, 0), 0.5 * math.pi)
    rollers = [
        topple.Body(
            f"roller {x}", topple.Cylinder(r, 0.5), mass=m, position=(x, 0, r), orientation=lying, **grip
        )
        for x in (-0.5, 0.5)
    ]
    plank = topple.Body("plank", topple.Box((3.0, 0.5, 0.1)), mass=M, position=(0, 0, 2 * r + 0.05), **grip)
    pull = topple.Thruster(body="plank", force=(force, 0, 0), point=(0, 0, 0))
    simulation = simulate([floor(0.8), *rollers, plank], h, [pull])
    simulation.advance(time)
    way = 0.5 * force / (M + 0.75 * m) * time**2
    figure("way of the plank, relative", simulation.state.position[3, 0] / way - 1.0, 1e-5)
    for k, x in ((1, -0.5), (2, 0.5)):
        figure("way of a roller, relative", (simulation.state.position[k, 0] - x) / (0.5 * way) - 1.0, 1e-5)


@pytest.mark.parametrize("h", STEPS)
def test_cam_and_follower(h, figure):
    """What a round cam lifts and lets down, turning about a point beside its middle, is at r + e sin(w t).

    Source: geometry; it stays on it as e w^2 < g. It gives by a hundredth of the tolerance under its load.
    """
    r, beside, w = 0.5, 0.1, 4.0
    times = np.linspace(0.0, 3.0, 3001)
    places = beside * np.stack([np.cos(w * times), np.zeros_like(times), np.sin(w * times)], axis=1)
    lying = Rotation.from_rotvec([0.5 * math.pi, 0, 0])
    turning = [(Rotation.from_rotvec([0, -w * t, 0]) * lying).as_quat(scalar_first=True) for t in times]
    cam = topple.Body(
        "cam", topple.Cylinder(r, 0.4), kind="kinematic", motion=(times, places, np.array(turning)),
        friction=0.0, restitution=0.0,
    )  # fmt: skip
    follower = topple.Body(
        "follower", topple.Box((1.5, 0.4, 0.2)), mass=1.0, position=(0, 0, r + 0.1), friction=0.0,
        restitution=0.0, lock_linear=(True, True, False), lock_angular=(True, True, True),
    )  # fmt: skip
    simulation = simulate([cam, follower], h)
    off = 0.0
    for _ in range(round(2.9 / h)):
        simulation.advance(h)
        height = r + 0.1 + beside * math.sin(w * simulation.time)
        off = max(off, abs(simulation.state.position[1, 2] - height))
    figure("height", off, 1e-6, "m")
