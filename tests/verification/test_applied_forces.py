"""Springs, thrusters and drag in the impulse solver, by answers in closed form and by the analytic solver."""

import math

import numpy as np
import pytest
import scenes
import topple
from topple.diagnostics import potential_energy, total_energy

G = 9.81
FLOOR = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static")


def block(**kwargs):
    """A block of 1 m x 1 m x .5 m and 10 kg on the floor."""
    return topple.Body("block", topple.Box((1, 1, 0.5)), mass=10.0, position=(0, 0, 0.25), **kwargs)


@pytest.mark.parametrize("stiffness", [20.0, 2e3, 2e5, 2e6])
def test_oscillator(stiffness, figure):
    """x = cos(sqrt(k / m) t), from 336 steps a swing to one: free motion is as exact as the integrator."""
    ball = topple.Body("ball", topple.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    spring = topple.Spring(body_a="ball", stiffness=stiffness)
    trajectory = topple.simulate(topple.Scene(gravity=(0, 0, 0), bodies=[ball], forces=[spring]), seconds=2.0)
    error = trajectory.position[:, 0, 0] - np.cos(math.sqrt(stiffness) * trajectory.times)
    # An error of 1e-8 in each step of the integrator, of which there is one a step or one a radian.
    figure("place", np.abs(error).max(), 1e-8 * max(480.0, 2.0 * math.sqrt(stiffness)), "m")


def test_tumbling_rocket(figure):
    """A thruster off the centre of a box, on between two moments within steps: as by the analytic solver."""
    box = topple.Body("box", topple.Box((0.3, 0.2, 0.1)), mass=1.0)
    thruster = topple.Thruster(body="box", force=(0, 1, 2), point=(0.1, 0.05, 0), start=0.333, end=1.111)
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[box], forces=[thruster])
    one, other = (topple.simulate(scene, seconds=3.0, solver=solver) for solver in ("impulse", "analytic"))
    figure("place", np.abs(one.position - other.position).max(), 1e-7, "m")
    figure("orientation", np.abs(one.orientation - other.orientation).max(), 1e-6)


def test_two_boxes_on_a_spring_keep_energy(figure):
    """Gravity, fields and a spring between points off the centres do work that is all energy of place."""
    spins = {"linear_velocity": (0.3, 0, 0), "angular_velocity": (1, 2, 3)}
    boxes = [topple.Body(n, topple.Box((0.3, 0.2, 0.1)), position=(x, 0, 0), **spins)
             for n, x in (("a", 0.5), ("b", 1.0))]  # fmt: skip
    spring = topple.Spring(body_a="a", body_b="b", point_a=(0.15, 0.1, 0), stiffness=1200, length=0.4)
    fields = [topple.UniformField(acceleration=(1, 2, 3), bodies=["b"]),
              topple.UniformField(acceleration=(-1, 2, 3))]  # fmt: skip
    scene = topple.Scene(bodies=boxes, forces=[spring, *fields])
    trajectory = topple.simulate(scene, seconds=2.0)
    energy = total_energy(scene, trajectory)
    in_play = np.ptp(potential_energy(scene, trajectory))
    figure("energy, relative to what is in play", np.ptp(energy) / in_play, 1e-6)
    assert topple.verify(scene, trajectory).warnings == []


def test_rod_whirled_by_a_spring(figure):
    """A spring at its end turns a rod by up to .7 rad a step: it keeps its energy, and its way.

    As where a contact turns it, it turns otherwise than by its momentum at the start; but the spring changes
    that, too.
    """
    rod = topple.Body(
        "rod",
        topple.Box((0.6, 0.1, 0.06)),
        mass=2.0,
        angular_velocity=(1, 4, 2),
        orientation=(0.9, 0.3, 0.1, 0.3),
    )
    spring = topple.Spring(
        body_a="rod", point_a=(0.28, 0.04, 0.02), point_b=(0.4, 0.3, 0.5), stiffness=150.0, length=0.2
    )
    scene = topple.Scene(bodies=[rod], forces=[spring])
    trajectory = topple.simulate(scene, seconds=2.0, solver=topple.ImpulseSolver(time_step=1 / 60))
    other = topple.simulate(scene, seconds=2.0, solver="analytic")
    in_play = np.ptp(potential_energy(scene, trajectory))
    figure("energy, relative to what is in play", np.ptp(total_energy(scene, trajectory)) / in_play, 1e-6)
    figure("place", np.abs(trajectory.position - other.position).max(), 1e-6, "m")


@pytest.mark.parametrize("time_step", [1 / 240, 1 / 60])
def test_pushed_block(time_step, figure):
    """F = 80 N for a second: a = F / m - mu g, then it slides to a halt, v^2 / (2 mu g) farther.

    Where the force begins and ends it counts from the start of a step on: places are off by F h^2 / 2 m each.
    """
    thruster = topple.Thruster(body="block", force=(80, 0, 0), point=(0, 0, -0.2), start=0.5, end=1.5)
    scene = topple.Scene(bodies=[FLOOR, block()], forces=[thruster])
    trajectory = topple.simulate(scene, seconds=3.0, solver=topple.ImpulseSolver(time_step=time_step))
    a = 8.0 - 0.5 * G
    way = 0.5 * a + a * a / (2 * 0.5 * G)
    error = trajectory.position[-1, 1, 0] - way
    figure(f"way, at {1 / time_step:.0f} steps a second", error, 8.0 * time_step**2, "m")
    assert not trajectory.linear_velocity[-1].any()


@pytest.mark.parametrize("time_step", [1 / 240, 1 / 60])
def test_rocket_lifts_off(time_step, figure):
    """A force of 1.5 m g lifts a block that lies on the floor, from its first moment on: v = g t / 2.

    In its first step it moves the block by (1.5 - 1) g h^2, what it leaves of the weight, instead of half.
    """
    thruster = topple.Thruster(body="block", force=(0, 0, 15 * G), start=0.5)
    simulation = topple.Simulation(
        topple.Scene(bodies=[FLOOR, block()], forces=[thruster]), topple.ImpulseSolver(time_step=time_step)
    )
    simulation.advance(1.5)
    figure("speed", simulation.state.linear_velocity[1, 2] - 0.5 * G, 1e-9, "m/s")
    place = simulation.state.position[1, 2] - 0.25 - 0.25 * G
    figure("place", place, 0.25 * G * time_step**2 + 1e-6, "m")


@pytest.mark.parametrize("time_step", [1 / 240, 1 / 60])
@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e6])
def test_pressed_by_a_spring(stiffness, time_step, figure):
    """A spring presses a block on the floor with 50 N, up to a swing a step: it carries m g + 50 N, still.

    Free, it would swing by up to 5.3 radians in a step.
    """
    spring = topple.Spring(
        body_a="block", point_b=(0, 0, 5), stiffness=stiffness, length=4.75 + 50 / stiffness
    )
    scene = topple.Scene(bodies=[FLOOR, block()], forces=[spring])
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=time_step))
    simulation.advance(0.5)
    start = simulation.state.position
    simulation.advance(2.0)
    load = simulation.contacts.impulse[:, 2].sum() / time_step
    figure(f"load, {stiffness:g} N/m, {time_step:.2g} s", load / (10 * G + 50) - 1, 0.01)
    figure(
        f"motion, {stiffness:g} N/m, {time_step:.2g} s",
        np.abs(simulation.state.position - start).max(),
        0,
        "m",
    )


def test_pulled_by_an_animated_body(figure):
    """A damped spring pulls a resting block along once it beats friction: as by the analytic solver."""
    still, path = [(1, 0, 0, 0)] * 3, [(2, 0, 0.25), (2, 0, 0.25), (4, 0, 0.25)]
    puller = topple.Body("puller", topple.Sphere(0.1), kind="kinematic", motion=([0, 1, 2], path, still))
    spring = topple.Spring(body_a="block", body_b="puller", stiffness=100, length=2, damping=5)
    scene = topple.Scene(bodies=[FLOOR, block(friction=0.2), puller], forces=[spring])
    one, other = (topple.simulate(scene, seconds=4.0, fps=4, solver=s) for s in ("impulse", "analytic"))
    figure("place", np.abs(one.position - other.position).max(), 1e-3, "m")
    assert abs(one.position[4, 1, 0]) < 1e-12 < 1e-3 < one.position[5, 1, 0]


def test_drag_on_a_sliding_block(figure):
    """m v' = -c v - mu m g: v = (v0 + k) exp(-c t / m) - k with k = mu m g / c.

    Drag is that of a way which the friction of the step before bends, which in the first step is none: off
    by c / m mu g h^2 / 2 there. Sliding ends after ln((v0 + k) / k) m / c = .3995 s.
    """
    drag = topple.ViscousDrag(linear=20.0, bodies=["block"])
    scene = topple.Scene(bodies=[FLOOR, block(linear_velocity=(3, 0, 0))], forces=[drag])
    trajectory = topple.simulate(scene, seconds=1.0)
    k = 0.5 * 10 * G / 20
    slides = trajectory.times < 0.3995
    expected = (3 + k) * np.exp(-2 * trajectory.times[slides]) - k
    error = trajectory.linear_velocity[slides, 1, 0] - expected
    figure("speed", np.abs(error).max(), 2.0 * 0.5 * G / 240**2 / 2, "m/s")
    assert not trajectory.linear_velocity[-1].any()


@pytest.mark.parametrize("time_step", [1 / 240, 1 / 60])
def test_held_between_two_plates(time_step, figure):
    """A spring presses two plates on a block, without gravity along it: friction carries 2 mu F, no less.

    Pressed by 1.02 of what carries it, the block hangs; by .9 it falls by .1 g, of which an error of the load
    is nine times as large a part. The spring would swing the plates by 1.05 radians in a step of 1/60 s.
    """
    mu, stiffness = 0.5, 1000.0
    slides = {"lock_linear": (False, True, True), "lock_angular": (True, True, True)}
    for part in (1.02, 0.9):
        force = part * G / (2 * mu)
        plates = [
            topple.Body(
                f"plate {side}", topple.Box((0.02, 0.3, 2)), mass=0.5, position=(0.11 * side, 0, 0), **slides
            )
            for side in (-1, 1)
        ]
        spring = topple.Spring(
            body_a="plate -1", body_b="plate 1", stiffness=stiffness, length=0.22 - force / stiffness
        )
        held = topple.Body("held", topple.Box((0.2, 0.2, 0.2)), mass=1.0)
        simulation = topple.Simulation(
            topple.Scene(bodies=[*plates, held], forces=[spring]), topple.ImpulseSolver(time_step=time_step)
        )
        simulation.advance(0.5)
        fall = 0.5 * max(0.0, 1.0 - part) * G * 0.5**2
        figure(f"place, pressed by {part}", abs(simulation.state.position[2, 2] + fall), 1e-4, "m")


def test_rod_whirled_round_and_round(figure):
    """A stiff spring at its end turns a rod by up to 13 rad a step: what touches nothing moves exactly."""
    rod = topple.Body("rod", topple.Box((0.6, 0.1, 0.06)), mass=2.0, angular_velocity=(1, 4, 2))
    spring = topple.Spring(
        body_a="rod", point_a=(0.28, 0.04, 0.02), point_b=(0.4, 0.3, 0.5), stiffness=20_000.0
    )
    scene = topple.Scene(bodies=[rod], forces=[spring])
    trajectory = topple.simulate(scene, seconds=2.0, solver=topple.ImpulseSolver(time_step=1 / 60))
    turn = np.linalg.norm(trajectory.angular_velocity[:, 0], axis=1).max() / 60
    assert turn > 5.0
    in_play = np.ptp(potential_energy(scene, trajectory))
    figure("energy, relative to what is in play", np.ptp(total_energy(scene, trajectory)) / in_play, 1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_what_a_stiff_spring_throws_about(seed, figure):
    """A box on a stiff spring beside its centre hits the floor, turning by up to 12 rad a step: no energy.

    Such a step is divided, until it can be told what a bounce changes of the forces.
    """
    rng = np.random.default_rng(seed)
    size, shape = rng.uniform(0.05, 0.5), rng.uniform(0.2, 1.0, 3)
    bounce, friction = rng.choice([0.0, 0.3, 0.8, 1.0]), rng.choice([0.0, 0.3, 0.6])
    surface = {"restitution": float(bounce), "friction": float(friction)}
    box = topple.Body("box", topple.Box(size * shape), position=(0, 0, 2 * size), density=1000.0, **surface)
    floor = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", **surface)
    spring = topple.Spring(
        body_a="box",
        point_a=0.3 * size * rng.uniform(-1, 1, 3),
        point_b=size * np.array([*rng.uniform(-3, 3, 2), rng.uniform(-1, 5)]),
        stiffness=box.mass * rng.uniform(100, 500) ** 2,
    )
    simulation = topple.Simulation(topple.Scene(bodies=[floor, box], forces=[spring]))
    energy = [simulation.energy()]
    for _ in range(120):
        simulation.advance(1 / 240)
        energy.append(simulation.energy())
    figure("energy gained in a step, relative", np.diff(energy).max() / energy[0], 1e-4)
    assert max(energy) <= 1.001 * energy[0]


@pytest.mark.parametrize("rate", [60, 120, 240, 1000])
def test_tied_bodies_that_roll_over_each_other(rate, figure):
    """A spring presses a box to a capsule, over which it tumbles for a second: it gets no more energy.

    Where bodies are moved apart against a spring they pay for it. `verify` would report a thousandth.
    """
    capsule = topple.Body("capsule", topple.Capsule(0.3, 0.4), mass=600.0, friction=0.6)
    box = topple.Body(
        "box", topple.Box((0.5, 0.35, 0.3)), mass=57.0, position=(1.2, 0.5, 0.3), friction=0.6,
        orientation=(0.9, 0.2, 0.3, 0.1),
    )  # fmt: skip
    spring = topple.Spring(
        body_a="capsule", point_a=(0, 0.16, -0.12), body_b="box", stiffness=2e5, length=0.05
    )
    scene = topple.Scene((0, 0, 0), [capsule, box], forces=[spring])
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=1 / rate))
    energy = [simulation.energy()]
    for _ in range(rate):
        simulation.advance(1 / rate)
        energy.append(simulation.energy())
    rises = np.diff(energy).clip(0.0)
    figure("energy gained in all steps, relative", rises.sum() / energy[0], 1e-3)


@pytest.mark.parametrize("pull", [5.0, 20.0, 100.0, 300.0])
def test_box_that_a_spring_presses_to_the_floor(pull, figure):
    """A spring pulls a box of 50 g down beside its centre, within its face: it stays, to the bit."""
    floor = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", friction=0.6)
    box = topple.Body("box", topple.Box((0.1, 0.1, 0.1)), mass=0.05, position=(0, 0, 0.05), friction=0.6)
    spring = topple.Spring(
        body_a="box", point_a=(0.02, 0.015, 0.03), point_b=(0.02, 0.015, -0.42), stiffness=2.0 * pull
    )
    trajectory = topple.simulate(topple.Scene(bodies=[floor, box], forces=[spring]), seconds=1.0)
    place = trajectory.position[:, 1]
    figure("moved at first", np.abs(place - place[0]).max(), 1e-5, "m")
    figure("moved after a tenth of a second", np.ptp(place[3:], axis=0).max(), 0.0, "m")


def test_elastic_bounce_on_a_spring(figure):
    """A ball that a spring pulls at an elastic floor, e = 1: bounces keep its energy.

    In the step of a bounce the pull is right to second order, before and after: (w h)^3 is left of a bounce.
    """
    ball = topple.Body("ball", topple.Sphere(0.1), mass=1.0, position=(0, 0, 1.0), restitution=1.0)
    floor = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", restitution=1.0)
    stiffness = 400.0
    spring = topple.Spring(body_a="ball", stiffness=stiffness, length=0.3)
    simulation = topple.Simulation(topple.Scene(bodies=[floor, ball], forces=[spring]))
    energy, bounces = [simulation.energy()], 0
    for _ in range(2400):
        before = simulation.state.linear_velocity[1, 2]
        simulation.advance(1 / 240)
        energy.append(simulation.energy())
        bounces += bool(before < -1.0 and simulation.state.linear_velocity[1, 2] > 1.0)
    allowed = (math.sqrt(stiffness) / 240) ** 3
    figure("energy in a step, relative", np.abs(np.diff(energy)).max() / energy[0], allowed)
    figure("energy, relative", np.ptp(energy) / energy[0], bounces * allowed)
    assert bounces > 50


def test_thruster_as_a_field(figure):
    """A constant force m a at the centre is a field a, through a dozen elastic bounces, too."""
    floor = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", restitution=1.0)
    ball = topple.Body(
        "ball", topple.Sphere(0.1), mass=2.0, position=(0, 0, 1.0), restitution=1.0, friction=0.0
    )
    field = topple.UniformField(acceleration=(0, 0, -8.0), bodies=["ball"])
    thruster = topple.Thruster(body="ball", force=(0, 0, -16.0))
    one, other = (
        topple.simulate(topple.Scene(bodies=[floor, ball], forces=[force]), seconds=8.0).position
        for force in (field, thruster)
    )
    figure("place", np.abs(one - other).max(), 1e-9, "m")


def test_a_field_on_one_body_leaves_others_alone():
    """What counts as slow follows from the gravity that all share: others bounce as without the field."""
    tracks = []
    for acceleration in (0.0, 1000.0):
        scene = scenes.bouncing_ball(restitution=0.9)
        scene.add(topple.Body("far", topple.Sphere(0.1), position=(50, 0, 0.1)))
        scene.add(topple.UniformField(acceleration=(0, 0, -acceleration), bodies=["far"]))
        trajectory = topple.simulate(scene, seconds=3.0)
        tracks.append(trajectory.position[:, trajectory.names.index("ball")])
    np.testing.assert_array_equal(*tracks)


def test_what_fields_give_is_no_fault():
    """A ball in a field of its own, or all in one: they gain energy and momentum by it, unwarned."""
    balls = [topple.Body(name, topple.Sphere(0.1), position=(x, 0, 0)) for name, x in (("a", 0), ("b", 1))]
    for bodies in (["b"], None):
        field = topple.UniformField(acceleration=(0, 3, 0), bodies=bodies)
        scene = topple.Scene(bodies=balls, forces=[field])
        assert topple.verify(scene, topple.simulate(scene, seconds=1.0)).warnings == []
