"""Cylinders, capsules and cones: they roll, stand and lie on their curved surfaces."""

import math

import numpy as np
import pytest
import topple

G = 9.81
FLOOR = topple.Plane((0, 0, 1), 0.0)
LYING = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # the axis z turned to -y
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def on_floor(shape, height, orientation=UPRIGHT, *, gravity=(0, 0, -G), floor=FLOOR, **settings):
    scene = topple.Scene(gravity=gravity)
    scene.add(topple.Body("floor", floor, kind="static", friction=0.8))
    scene.add(
        topple.Body(
            "body", shape, position=(0, 0, height), orientation=orientation, **{"friction": 0.8, **settings}
        )
    )
    return scene


@pytest.mark.parametrize("floor", [FLOOR, topple.Box((100, 100, 2))], ids=["plane", "box"])
@pytest.mark.parametrize("shape", [topple.Cylinder(0.2, 0.6), topple.Capsule(0.2, 0.5)], ids=repr)
def test_rolls_down_a_ramp(shape, floor, figure):
    """a = g sin(angle) / (1 + I / (m r^2)) without slipping, and the height over the ramp stays.

    Source: Newton and Euler for a body of revolution on its side; a cylinder's I / (m r^2) is 1/2. The
    ramp of 10 degrees is level here and gravity tilted.
    """
    angle, seconds = math.radians(10), 2.0
    gravity = (G * math.sin(angle), 0, -G * math.cos(angle))
    scene = on_floor(shape, shape.radius, LYING, gravity=gravity, floor=floor)
    if floor is not FLOOR:
        scene = topple.Scene(gravity=gravity, bodies=[
            topple.Body("floor", floor, kind="static", position=(0, 0, -1), friction=0.8), scene.bodies[1],
        ])  # fmt: skip
    body = scene.bodies[1]
    spin_inertia = np.array(body.inertia)[2, 2]
    expected = G * math.sin(angle) / (1.0 + spin_inertia / (body.mass * shape.radius**2))
    trajectory = topple.simulate(scene, seconds=seconds, fps=60)
    way = trajectory.position[-1, 1, 0]
    figure("way, relative", way / (0.5 * expected * seconds**2) - 1.0, 5e-3)
    figure("height over the ramp", np.abs(trajectory.position[:, 1, 2] - shape.radius).max(), 1e-5, "m")
    figure("sideways", np.abs(trajectory.position[:, 1, 1]).max(), 1e-5, "m")


@pytest.mark.parametrize(
    ("shape", "height", "orientation"),
    [
        pytest.param(topple.Cylinder(0.2, 0.6), 0.3, UPRIGHT, id="standing cylinder"),
        pytest.param(topple.Cylinder(0.2, 0.6), 0.2, LYING, id="lying cylinder"),
        pytest.param(topple.Cylinder(0.2, 0.02), 0.01, UPRIGHT, id="coin"),
        pytest.param(topple.Cone(0.3, 0.5), 0.25, UPRIGHT, id="cone"),
        pytest.param(topple.Capsule(0.2, 0.5), 0.2, LYING, id="capsule"),
    ],
)
def test_rests(shape, height, orientation, figure):
    """A body of revolution on its face or its side is in equilibrium on a level floor, for 5 s."""
    trajectory = topple.simulate(on_floor(shape, height, orientation), seconds=5.0)
    drift = np.linalg.norm(trajectory.position[:, 1] - trajectory.position[0, 1], axis=1).max()
    figure("drift in 5 s", drift, 1e-4, "m")


@pytest.mark.parametrize("time_step", [1 / 60, 1 / 240, 1e-3])
def test_ball_on_a_turntable(time_step, figure):
    """A ball that rolls on a turntable goes around in a circle at 2/7 of its rate, wherever it was set down.

    Source: Weltner 1979, *Stable circular orbits of freely moving balls on rotating discs*. Limit: (w h)^2
    of its way of 6 m in 20 s.
    """
    rate, radius, speed = 1.5, 0.2, 0.3
    times = np.linspace(0.0, 20.0, 4801)
    half = 0.5 * rate * times
    turned = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
    motion = times, np.tile([0.0, 0.0, -0.05], (len(times), 1)), turned
    scene = topple.Scene(gravity=(0, 0, -9.81))
    scene.add(topple.Body("table", topple.Cylinder(5.0, 0.1), kind="kinematic", motion=motion, friction=1.0))
    scene.add(topple.Body("ball", topple.Sphere(radius), position=(1.0, 0.0, radius), friction=1.0,
                          linear_velocity=(0.0, speed, 0.0),
                          angular_velocity=((rate - speed) / radius, 0.0, 0.0)))  # fmt: skip
    trajectory = topple.simulate(
        scene, seconds=20.0, fps=60, solver=topple.ImpulseSolver(time_step=time_step)
    )
    place = trajectory.position[:, 1, 0] + 1j * trajectory.position[:, 1, 1]
    turn = 2 / 7 * rate
    circle = 1.0 + speed / turn * (np.exp(1j * turn * trajectory.times) - 1.0)
    figure("off the circle", np.abs(place - circle).max(), (rate * time_step) ** 2 * speed * 20.0, "m")


@pytest.mark.parametrize("time_step", [1 / 240, 1e-3])
def test_ball_that_rolls_down_a_ball(time_step, figure):
    """A ball rolls down another: until it leaves that, it sinks in by less than a tenth of the tolerance."""
    scene, below, radius = topple.Scene(gravity=(0, 0, -9.81)), 2.0, 0.2
    scene.add(topple.Body("dome", topple.Sphere(below), kind="static", friction=5.0))
    at = (below + radius) * np.array([np.sin(0.15), 0.0, np.cos(0.15)])
    scene.add(topple.Body("ball", topple.Sphere(radius), position=at, friction=5.0))
    simulation, gap = topple.Simulation(scene, topple.ImpulseSolver(time_step=time_step)), 0.0
    depth = 0.0
    while gap < 1e-3:
        simulation.advance(time_step)
        gap = np.linalg.norm(simulation.state.position[1]) - below - radius
        depth = max(depth, -gap)
    place = simulation.state.position[1]
    assert place[2] < 0.7 * np.linalg.norm(place)
    figure("depth", depth, 1e-5, "m")


@pytest.mark.parametrize("time_step", [1 / 60, 1 / 240, 1e-3])
@pytest.mark.parametrize(
    ("dome", "shape", "rolls"),
    [
        pytest.param(topple.Sphere(1.0), topple.Sphere(0.1), False, id="ball slides"),
        pytest.param(topple.Cylinder(1.0, 2.0), topple.Cylinder(0.1, 0.6), False, id="cylinder slides"),
        pytest.param(topple.Capsule(1.0, 2.0), topple.Capsule(0.1, 0.6), False, id="capsule slides"),
        pytest.param(topple.Sphere(1.0), topple.Sphere(0.1), True, id="ball rolls"),
        pytest.param(topple.Cylinder(1.0, 2.0), topple.Cylinder(0.1, 0.6), True, id="cylinder rolls"),
        pytest.param(topple.Capsule(1.0, 2.0), topple.Capsule(0.1, 0.6), True, id="capsule rolls"),
    ],
)
def test_leaves_a_dome(dome, shape, rolls, time_step, figure):
    """A ball, cylinder or capsule leaves a dome of its kind where nothing presses it on any more.

    With i = I / (m r^2), or 0 where it slides, d the distance of the axes and q = 2 / (1 + i), it sets off
    from rest at cos_0 and has v^2 = q g d (cos_0 - cos); it leaves where that is g d cos, and its speed to
    the side lasts. What rolls is slowed down by i / (1 + i) g sin until it leaves, at the end of a step.
    What slides is off by what impulses change in a step, N' h^2 = 3 m g sin v / d h^2, all at its start: in
    the last step by half of that, before by the integral of N' h^2 v^2 / (2 d) over time.

    Source: Newton and Euler.
    """
    d, start = 1.1, 0.2
    friction = 1000.0 if rolls else 0.0
    scene = topple.Scene(gravity=(0, 0, -G))
    scene.add(topple.Body("dome", dome, kind="static", orientation=LYING, friction=friction))
    at = d * np.array([math.sin(start), 0.0, math.cos(start)])
    body = topple.Body("body", shape, position=at, orientation=LYING, friction=friction)
    scene.add(body)
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=time_step))
    simulation.advance(1.5)
    i = np.array(body.inertia)[2, 2] / (body.mass * shape.radius**2) if rolls else 0.0
    q = 2.0 / (1.0 + i)
    cosine = q / (1.0 + q) * math.cos(start)
    aside = math.sqrt(G * d * cosine) * cosine
    if rolls:
        bound = i / (1.0 + i) * G * math.sqrt(1.0 - cosine**2) * cosine * time_step / aside
    else:
        square, fallen = G * d * cosine, math.cos(start) - cosine
        last = 1.5 * G * (1.0 - cosine**2) * math.sqrt(square) / d / aside
        bound = time_step**2 * (last + 1.5 * (G * fallen) ** 2 / square)
    figure("speed to the side, relative", simulation.state.linear_velocity[1, 0] / aside - 1.0, bound)
    assert simulation.state.position[1, 2] < 0.0


@pytest.mark.parametrize("time_step", [1 / 60, 1 / 240])
@pytest.mark.parametrize("rolls", [False, True], ids=["slides", "rolls"])
def test_straight_down_a_cone(rolls, time_step, figure):
    """A ball goes down the side of a cone as down a plane: it is round, but not that way.

    a = g sin(angle), or 5/7 of it where the ball rolls. Limit: what slides is off by (h / t)^2 at most, what
    rolls by a part of its first step, h / t, in which friction has yet to set in.

    Source: Newton and Euler.
    """
    angle, radius, seconds = math.radians(45), 0.1, 0.5
    cone, friction = topple.Cone(1.5, 1.5), 10.0 if rolls else 0.0
    down, out = np.array([1.0, 0.0, -1.0]) / math.sqrt(2.0), np.array([1.0, 0.0, 1.0]) / math.sqrt(2.0)
    start = np.array([0.0, 0.0, 0.75]) + 0.6 * down + radius * out
    scene = topple.Scene(gravity=(0, 0, -G))
    scene.add(topple.Body("cone", cone, kind="static", friction=friction))
    scene.add(topple.Body("ball", topple.Sphere(radius), position=start, friction=friction, restitution=0.0))
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=time_step))
    simulation.advance(seconds)
    way = simulation.state.position[1] - start
    expected = 0.5 * G * math.sin(angle) * (5.0 / 7.0 if rolls else 1.0) * seconds**2
    bound = time_step / (8.0 * seconds) if rolls else (time_step / seconds) ** 2
    figure("way, relative", way @ down / expected - 1.0, bound)
    figure("off the side", way @ out, 1e-4, "m")
