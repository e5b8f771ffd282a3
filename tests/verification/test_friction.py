"""Coulomb's friction on bodies in contact."""

import math

import numpy as np
import pytest
import scenes
import topple

G = 9.81
DEGREE = math.pi / 180


@pytest.mark.parametrize(("speed", "friction"), [(2.0, 0.2), (2.0, 0.4), (2.0, 0.7), (5.0, 0.5)])
def test_stopping_distance(speed, friction, figure):
    """A sliding block stops after v^2 / (2 mu g) = 1.0194, .5097, .2913, 2.5484 m, within .5 %.

    Source: the comparison of Bender & Schmitt 2006, section 4. One step too long at the last speed would
    add mu g h^2, far below the tolerance.
    """
    stop = speed / (friction * G)
    trajectory = topple.simulate(scenes.sliding_block(speed=speed, friction=friction), seconds=stop + 4.0)
    block = trajectory.names.index("block")
    figure("distance, relative", trajectory.position[-1, block, 0] * 2 * friction * G / speed**2 - 1.0, 5e-3)
    stopped = np.searchsorted(trajectory.times, stop + 0.5)
    creep = trajectory.position[stopped:, block] - trajectory.position[stopped, block]
    figure("creep after the stop", np.abs(creep).max(), 1e-4, "m")
    assert abs(trajectory.position[-1, block, 1]) < 1e-4  # nor does it drift sideways


def test_isotropy(figure):
    """The friction cone is round: the same distance in 12 directions, within .1 %.

    A cone linearised along x and y brakes by sqrt(2) too much or too little along the diagonal.
    """
    speed, friction = 20.0, 0.5
    distances = []
    for direction in np.arange(12) * 30 * DEGREE:
        scene = scenes.sliding_block(speed=speed, friction=friction, direction=direction)
        trajectory = topple.simulate(scene, seconds=speed / (friction * G) + 0.5)
        end = trajectory.position[-1, trajectory.names.index("block"), :2]
        distances.append(np.linalg.norm(end))
        sideways = end @ (-math.sin(direction), math.cos(direction))
        assert abs(sideways) < 1e-3 * distances[-1]
    figure("longest way over the shortest, less 1", max(distances) / min(distances) - 1.0, 1e-3)
    np.testing.assert_allclose(distances, speed**2 / (2 * friction * G), rtol=5e-3)


@pytest.mark.parametrize("friction", [0.1, 0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("angle", [3, 10, 20, 26, 30, 40])
def test_ramp(angle, friction, figure):
    """Sticks if and only if the angle is under atan(mu); else slides with a = g (sin - mu cos).

    Source: Coulomb; Bender & Schmitt 2006, section 4 (blocks on an inclined plane). Creep under 1e-4 m in
    10 s, acceleration within .5 %.
    """
    scene = scenes.block_on_ramp(angle=angle * DEGREE, friction=friction)
    downhill = np.array([math.cos(angle * DEGREE), 0.0, -math.sin(angle * DEGREE)])
    acceleration = G * (math.sin(angle * DEGREE) - friction * math.cos(angle * DEGREE))
    seconds = 10.0 if acceleration < 0.0 else 2.0
    trajectory = topple.simulate(scene, seconds=seconds)
    block = trajectory.names.index("block")
    way = trajectory.position[:, block] - trajectory.position[0, block]
    if acceleration < 0.0:
        figure("creep in 10 s", np.linalg.norm(way, axis=1).max(), 1e-4, "m")
    else:
        speed = trajectory.linear_velocity[-1, block] @ downhill
        figure("acceleration, relative", speed / (acceleration * seconds) - 1.0, 5e-3)
        figure("way, relative", way[-1] @ downhill / (0.5 * acceleration * seconds**2) - 1.0, 5e-3)


def test_pool_ball(figure):
    """Slides, then rolls from t = 2 v / (7 mu g) on, at x = 12 v^2 / (49 mu g), with 5/7 v; within 1 %.

    Source: v' = -mu g and R w' = 5/2 mu g until v = R w. Numbers: .291248 s, .499282 m, 1.428571 m/s.
    """
    speed, friction, radius = 2.0, 0.2, 0.0286
    trajectory = topple.simulate(scenes.pool_ball(speed=speed, friction=friction), seconds=0.5, fps=240)
    ball = trajectory.names.index("ball")
    slip = trajectory.linear_velocity[:, ball, 0] - radius * trajectory.angular_velocity[:, ball, 1]
    sliding = slip > 0.1 * speed
    # The slip falls in a straight line, so its zero is read off the line and not off the last step.
    rate, start = np.polyfit(trajectory.times[sliding], slip[sliding], 1)
    time = -start / rate
    place = np.interp(time, trajectory.times, trajectory.position[:, ball, 0])
    figure("time when it rolls, relative", time / 0.291248 - 1.0, 1e-2)
    figure("place where it rolls, relative", place / 0.499282 - 1.0, 1e-2)
    figure("end velocity, relative", trajectory.linear_velocity[-1, ball, 0] / (5 / 7 * speed) - 1.0, 1e-2)
    np.testing.assert_allclose(slip[trajectory.times > 0.31], 0.0, atol=1e-2 * speed)


@pytest.mark.parametrize("direction", [(0.0, 1.0), (0.5, 0.866)], ids=["along y", "oblique"])
def test_driven_box_with_balls(direction, figure):
    """SimBenchmark rolling: a box driven under 25 balls that roll; mean squared velocity error under 1e-6.

    Source: Hwangbo, SimBenchmark (RaiSim 4.1e-7, MuJoCo 6.9e-3). a = (150 - .4 * 35 g) / (10 + 50/7) from
    F - mu M g = m a + 25 f, f = m_b a_b and a = 7/2 a_b, all along the force.
    """
    simulation = topple.Simulation(scenes.driven_box(direction=direction))
    along = np.array([*direction, 0.0])
    push = 150.0 * np.linalg.norm(direction)
    box = (push - 0.4 * 35.0 * G) / (10.0 + 50.0 / 7.0)
    along /= np.linalg.norm(along)
    expected = np.array([0.0, box, *[2.0 / 7.0 * box] * 25])[:, None] * along
    squares = []
    for _ in range(960):
        simulation.advance(1 / 240)
        error = simulation.state.linear_velocity - simulation.time * expected
        squares.append((error**2).sum(axis=1)[1:].mean())
    figure("velocity, mean squared error", np.mean(squares), 1e-6, "m^2/s^2")


@pytest.mark.parametrize(("angle_over", "tips"), [(-0.01, False), (0.01, True)])
def test_tipping(angle_over, tips, figure):
    """A block with b/h = .5 < mu = .7 tips above atan(b/h) and stands below, 1e-2 rad to either side.

    Above, it turns about its edge by delta (cosh(k t) - 1) at first, k^2 = m g d / I: .19 rad in 1 s.
    """
    scene = scenes.block_on_ramp(angle=math.atan(0.5) + angle_over, friction=0.7, size=(0.5, 0.5, 1.0))
    trajectory = topple.simulate(scene, seconds=1.0)
    block = trajectory.names.index("block")
    cosine = abs((trajectory.orientation[-1, block] * trajectory.orientation[0, block]).sum())
    turned = 2.0 * math.acos(min(cosine, 1.0))
    if tips:
        k = math.sqrt(0.5 * G * math.sqrt(1.25) / (1.25 / 3.0))
        figure("angle, relative to the linear answer", turned / (0.01 * (math.cosh(k) - 1.0)) - 1.0, 0.05)
    else:
        figure("turn", turned, 1e-5, "rad")


@pytest.mark.parametrize(("over", "slides"), [(-0.01, False), (0.01, True)])
def test_sliding_not_tipping(over, slides, figure):
    """A block with b/h = .5 > mu = .4 slides above atan(mu) and stays below, 1e-2 rad to either side."""
    angle = math.atan(0.4) + over
    scene = scenes.block_on_ramp(angle=angle, friction=0.4, size=(0.5, 0.5, 1.0))
    trajectory = topple.simulate(scene, seconds=2.0)
    block = trajectory.names.index("block")
    way = np.linalg.norm(trajectory.position[-1, block] - trajectory.position[0, block])
    answer = 2.0 * G * (math.sin(angle) - 0.4 * math.cos(angle)) if slides else 0.0
    figure("way", way - answer, 5e-3 * answer if slides else 1e-4, "m")


STICKS = {"friction": 0.6, "friction_dynamic": 0.3}


def stack_of_plates(count, slope=0.0, speed=0.0, motion=None):
    """So many flat plates on a floor, with less dynamic than static friction.

    Gravity is turned for a floor of that slope; all start with that speed along it.
    """
    angle = math.atan(slope)
    scene = topple.Scene(gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    kind, ground = "static" if motion is None else "kinematic", topple.Box((20.0, 20.0, 0.2))
    scene.add(topple.Body("floor", ground, kind=kind, motion=motion, **STICKS))
    for k in range(count):
        plate = topple.Box((0.8, 0.8, 0.2))
        start = {"position": (0.0, 0.0, 0.2 + 0.2 * k), "linear_velocity": (speed, 0.0, 0.0)}
        scene.add(topple.Body(f"plate {k}", plate, **start, **STICKS))
    return scene


@pytest.mark.parametrize("time_step", [1e-3, 1.0 / 240.0])
@pytest.mark.parametrize("slope", [0.35, 0.45, 0.55, 0.65])
@pytest.mark.parametrize("count", [1, 3])
def test_static_and_dynamic_friction_on_a_ramp(count, slope, time_step, figure):
    """Plates with static friction .6, dynamic .3 stick where tan a < .6; else a = g (sin a - .3 cos a).

    Coulomb. Corners that bear less reach their limit before a plate does, and plates before the stack.
    """
    scene, angle = stack_of_plates(count, slope=slope), math.atan(slope)
    trajectory = topple.simulate(scene, seconds=1.5, solver=topple.ImpulseSolver(time_step=time_step))
    way = np.linalg.norm(trajectory.position[-1, 1:] - trajectory.position[0, 1:], axis=1)
    if slope < 0.6:
        figure("creep", way.max(), 1e-4, "m")
    else:
        slid = 0.5 * G * (math.sin(angle) - 0.3 * math.cos(angle)) * 1.5**2
        figure("way", np.abs(way / slid - 1.0).max(), 5e-3)


@pytest.mark.parametrize("time_step", [1e-3, 1.0 / 240.0])
@pytest.mark.parametrize("count", [1, 3])
def test_static_friction_on_a_floor_that_tilts(count, time_step, figure):
    """Plates (static friction .6, dynamic .3) on a floor that tilts slowly let go at atan .6, within 1 %.

    Coulomb. Corners do not all pull straight uphill, so they hold a little less. The load passes the dynamic
    limit on its way, which must not count as slip.
    """
    rate, seconds = 0.1, 6.0  # [rad/s], [s]
    times = np.linspace(0.0, seconds, 601)
    half = 0.5 * rate * times
    orientations = np.stack([np.cos(half), 0 * half, np.sin(half), 0 * half], axis=1)
    motion = times, np.zeros((len(times), 3)), orientations
    scene, solver = stack_of_plates(count, motion=motion), topple.ImpulseSolver(time_step=time_step)
    trajectory = topple.simulate(scene, seconds=seconds, fps=240, solver=solver)
    angle = rate * trajectory.times[:, None]
    along = trajectory.position[:, 1:, 0] * np.cos(angle) - trajectory.position[:, 1:, 2] * np.sin(angle)
    held = along[np.searchsorted(trajectory.times, 1.0)]  # after the jerk of the start
    lets_go = np.flatnonzero(np.abs(along[240:] - held).max(axis=1) > 1e-3)[0] + 240
    figure("slope it lets go at, relative", math.tan(rate * trajectory.times[lets_go]) / 0.6 - 1.0, 1e-2)


@pytest.mark.parametrize("time_step", [1e-3, 1.0 / 240.0])
def test_stopping_by_dynamic_friction(time_step, figure):
    """A plate (static friction .6, dynamic .3) slides v^2 / (2 .3 g) far, to the end by dynamic friction."""
    speed = 2.0
    scene = stack_of_plates(1, speed=speed)
    trajectory = topple.simulate(scene, seconds=1.5, solver=topple.ImpulseSolver(time_step=time_step))
    figure("distance, relative", trajectory.position[-1, 1, 0] * 2 * 0.3 * G / speed**2 - 1.0, 1e-3)


@pytest.mark.parametrize(
    ("shape", "time_step", "spin"),
    [
        ("box", 1 / 60, 6),
        ("box", 1 / 60, 25),
        ("box", 1 / 240, 50),
        ("capsule", 1 / 60, 12),
        ("capsule", 1 / 240, 50),
    ],
)
def test_stick_that_spins_on_a_floor(shape, time_step, spin, figure):
    """A stick of 1 m x 5 cm on its side slows by mu m g r / I, r from its middle to its ends, and stays.

    It turns by .1 to .42 radians in a step; about itself it rolls 200 times as easily as it turns over. Its
    ends act in the mean of their way, t^2 / 24 of it nearer: of so much less friction the spin after .7 of
    the time shows 7 / 3.
    """
    box = shape == "box"
    stick = topple.Body(
        "stick", topple.Box((0.05, 0.05, 1.0)) if box else topple.Capsule(0.025, 1.0), position=(0, 0, 0.025),
        orientation=(0.5**0.5, 0, 0.5**0.5, 0), friction=0.2, angular_velocity=(0, 0, spin),
    )  # fmt: skip
    floor = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", friction=0.2)
    arm = math.hypot(0.5, 0.025) if box else 0.5
    slows = 0.2 * G * arm * stick.mass / stick.inertia[0, 0]
    scene = topple.Scene(bodies=[floor, stick])
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=time_step))
    simulation.advance(round(0.7 * spin / slows / time_step) * time_step)
    expected, turn = spin - slows * simulation.time, spin * time_step
    figure("spin, relative", simulation.state.angular_velocity[1, 2] / expected - 1.0, 7 / 3 * turn**2 / 24)
    figure("place", np.abs(simulation.state.position[1] - (0, 0, 0.025)).max(), 1e-4, "m")
