"""Animated bodies: what they squeeze is reported and does not fly off; what they leave or push wakes."""

import math

import numpy as np
import pytest
import scenes
import topple
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from topple.solvers.impulse_progress import SWEEPS

G = 9.81  # [m/s^2]
STEP = 1.0 / 240.0  # [s]
FLOOR = topple.Body("floor", topple.Box((20, 20, 1)), kind="static", position=(0, 0, -0.5))
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def animated(name, shape, times, positions):
    return topple.Body(
        name, shape, kind="kinematic", motion=topple.Motion(times, positions, [UPRIGHT] * len(times))
    )


def between_plates(*bodies, half, speed, reach):
    """Plates close at `speed` on what is `half` wide to either side, by `reach` more; wait, and open."""
    way = 0.25 + reach
    times = np.cumsum([0.0, way / speed, 0.5, way / speed])
    scene = topple.Scene(bodies=[FLOOR, *bodies])
    for name, sign in (("left", -1.0), ("right", 1.0)):
        x = sign * (0.1 + half + np.array([0.25, -reach, -reach, 0.25]))
        plate = topple.Box((0.2, 4.0, 2.0))
        scene.add(animated(name, plate, times, [(place, 0.0, 1.01) for place in x]))
    return scene, times


def cube():
    return [topple.Body("cube", topple.Box((1, 1, 1)), position=(0, 0, 0.5))]


def ball():
    return [topple.Body("ball", topple.Sphere(0.5), position=(0, 0, 0.5))]


def heap():
    cube = topple.Box((0.5, 0.5, 0.5))
    places = [(0.6 * i - 0.3, 0.6 * j - 0.3, 0.26 + 0.55 * k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    return [topple.Body(f"cube_{index}", cube, position=place) for index, place in enumerate(places)]


@pytest.mark.parametrize("speed", [1.0, 10.0])
@pytest.mark.parametrize(("bodies", "half"), [(cube, 0.5), (ball, 0.5), (heap, 0.5)])
def test_squeezed_is_reported_and_does_not_fly(bodies, half, speed, figure):
    """Impulse: what two plates squeeze stays near their speed, and is named.

    Nothing can keep apart what has no room: it overlaps by what the plates came too far, 0.05 m each, stays
    where it is while they wait, and lies still when they are open again. Plates that meet it in the same
    instant leave no answer to the collision: it is thrown askew, the more the faster they are, and settles by
    millimetres while it is squeezed.
    """
    scene, times = between_plates(*bodies(), half=half, speed=speed, reach=0.05)
    names = [body.name for body in scene.bodies if body.is_movable]
    rows = [index for index, body in enumerate(scene.bodies) if body.is_movable]
    simulation = topple.Simulation(scene)
    fastest, held = 0.0, []
    while simulation.time < times[-1] + 1.0:
        simulation.advance(STEP)
        state = simulation.state
        fastest = max(fastest, np.linalg.norm(state.linear_velocity[rows], axis=1).max())
        if times[1] + 0.1 < simulation.time < times[2]:
            held.append(state.position[rows])
    figure("speed, in that of the plates", fastest / speed, 1.5)
    figure("penetration", simulation.report.max_penetration, 2 * 0.05 + 1e-3, "m")
    figure("way while squeezed", np.linalg.norm(held[-1] - held[0], axis=1).max(), 1e-3 * speed, "m")
    figure("speed at the end", np.abs(simulation.state.linear_velocity[rows]).max(), 1e-3, "m/s")
    warnings = [text for text in simulation.report.warnings if "pressed into each other" in text]
    assert warnings
    assert all(any(f"'{name}'" in text for name in names) for text in warnings)
    assert any("'left'" in text or "'right'" in text for text in warnings)


@pytest.mark.slow
def test_crushed_heap_is_given_up_soon(figure):
    """Impulse: 36 cubes in a box whose walls close to three quarters of the room they take.

    No impulses and no places keep all apart: to look for them took 4000 sweeps a step, up to as many again
    with soft contacts, and seven rounds of repair. Two islands of 240 sweeps are the most here. How the cubes
    end is not known: bounds of speed are far from a jam that flings. Nor is a bound of the overlaps beyond
    those of the walls, .7 to 3.1 mm in 16 runs that differ in the last bits of where cubes start: the limit
    is a third more than the worst of them. What is squeezed is named.
    """
    simulation = topple.Simulation(scenes.crushed_cubes())
    pipeline, rows = simulation._pipeline, np.arange(5, 41)
    fastest, most_sweeps, most_rounds, squeezed = 0.0, 0.0, 0, 0
    while simulation.time < 1.0:
        before = pipeline._repairing._runs
        simulation.advance(STEP)
        if simulation.report.max_penetration > 1e-2:
            most_rounds = max(most_rounds, pipeline._repairing._runs - before)
            most_sweeps = max(most_sweeps, pipeline.solve_report[SWEEPS])
            squeezed += 1
        fastest = max(fastest, np.linalg.norm(simulation.state.linear_velocity[rows], axis=1).max())
    assert squeezed > 100  # or this shows nothing
    figure("sweeps of a step", most_sweeps, 500)
    figure("rounds of repair in a step", most_rounds, 3)
    figure("speed, in that of the walls", fastest, 1.5)
    figure("overlap beyond what a wall came too far", simulation.report.max_penetration - 0.3, 4e-3, "m")
    figure("speed at the end", np.abs(simulation.state.linear_velocity[rows]).max(), 0.05, "m/s")
    named = " ".join(text for text in simulation.report.warnings if "pressed into each other" in text)
    assert "'left'" in named
    assert "'right'" in named


def test_what_has_room_is_not_reported():
    """Plates that leave a millimetre squeeze nothing."""
    scene, times = between_plates(*cube(), half=0.5, speed=1.0, reach=-0.001)
    trajectory = topple.simulate(scene, seconds=times[-1])
    assert not trajectory.report.warnings
    assert trajectory.report.max_penetration < 1e-4


@pytest.mark.parametrize("sleeping", [True, False])
def test_wakes_when_its_support_leaves(sleeping, figure):
    """Two cubes that slept on a shelf fall when it drops away: z = z0 - g t^2 / 2, to a step's start."""
    times, leaves = [0.0, 2.0, 2.1], 2.0
    shelf = animated("shelf", topple.Box((2, 2, 0.2)), times, [(0, 0, 9.9), (0, 0, 9.9), (0, 0, -20.0)])
    cubes = [topple.Body(f"cube_{i}", topple.Box((1, 1, 1)), position=(0, 0, 10.5 + i)) for i in range(2)]
    solver = topple.ImpulseSolver(sleeping=sleeping)
    trajectory = topple.simulate(topple.Scene(bodies=[shelf, *cubes]), seconds=3.0, solver=solver)
    z = trajectory.position[:, 1:, 2]
    before = trajectory.times <= leaves
    fallen = np.maximum(trajectory.times - leaves, 0.0)
    figure("moved while it held", np.ptp(z[before][1:], axis=0).max(), 1e-9, "m")
    late = np.abs(z - z[0] + 0.5 * G * fallen[:, None] ** 2)
    figure("off the fall", late.max(), G * 1.0 * STEP, "m")
    assert z[-1, 0] < 6.0


def test_wakes_when_its_belt_starts(figure):
    """A crate that slept on a belt is carried when the belt starts: mu g up to its speed, then with it."""
    times, start = [0.0, 1.0, 4.0], 1.0
    belt = animated("belt", topple.Box((30, 2, 0.2)), times, [(0, 0, -0.1), (0, 0, -0.1), (3.0, 0, -0.1)])
    crate = topple.Body("crate", topple.Box((1, 1, 1)), position=(0, 0, 0.5))
    trajectory = topple.simulate(topple.Scene(bodies=[belt, crate]), seconds=3.0)
    x = trajectory.position[:, 1, 0]
    figure("moved while it slept", np.ptp(x[trajectory.times <= start]), 1e-9, "m")
    slide = 1.0 / (2.0 * 0.5 * G)  # v^2 / (2 mu g): how far it lags behind a belt of 1 m/s
    figure("place behind the belt", x[-1] - (2.0 - slide), STEP, "m")


def test_wakes_when_what_lies_on_it_is_let_go(figure):
    """A cube below an animated one that is released onto it wakes and carries it: it stays, with the load."""
    lower = topple.Body("lower", topple.Box((1, 1, 1)), position=(0, 0, 0.5))
    upper = topple.Body(
        "upper", topple.Box((1, 1, 1)), kind="kinematic", position=(0, 0, 1.6), release_time=1.0
    )
    simulation = topple.Simulation(topple.Scene(bodies=[FLOOR, lower, upper]))
    simulation.advance(2.5)
    figure("height of the upper one", simulation.state.position[2, 2] - 1.5, 1e-4, "m")
    contacts = simulation.contacts
    load = contacts.impulse[(contacts.body_a == 0) | (contacts.body_b == 0), 2]
    figure("load on the floor, relative", np.abs(load).sum() / (2000.0 * G * STEP) - 1.0, 1e-2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bar", "h", "seconds", "seed"),
    [
        (6.5, 1e-3, 2.5, None),
        (6.5, 1e-3, 2.5, 1),
        (6.5, 1e-3, 2.5, 2),
        (6.9, 1e-3, 0.8, None),
        (6.9, 1 / 240, 2.0, None),
    ],
)
def test_jammed_by_a_turning_bar(bar, h, seconds, seed, figure):
    """Impulse: cubes that a turning bar jams against walls are not shot off.

    No answer is known; by wedges and levers some get faster than the bar. Four times the speed of its ends is
    what two bounces without loss after each other could give, and far from the hundreds of m/s of a jam that
    flings.
    """
    simulation = topple.Simulation(
        scenes.stirred_cubes(bar=bar, seed=seed), topple.ImpulseSolver(time_step=h)
    )
    cubes = [index for index, body in enumerate(simulation.scene.bodies) if body.is_movable]
    fastest = 0.0
    while simulation.time < seconds:
        simulation.advance(h)
        velocity = simulation.state.linear_velocity[cubes]
        fastest = max(fastest, np.linalg.norm(velocity, axis=1).max())
    figure("fastest, in the speed of its ends", fastest / bar, 4.0)


def test_what_spins_on_a_moving_floor_spins_on(figure):
    """Impulse: a floor that moves slowly takes no spin from a box without friction on it."""
    times = np.array([0.0, 1.0])
    floor = animated("floor", topple.Box((20.0, 20.0, 1.0)), times, [(0.0, 0.0, -0.5), (0.1, 0.0, -0.5)])
    box = topple.Body(
        "box", topple.Box((0.5, 0.5, 0.1)), position=(0, 0, 0.05), angular_velocity=(0, 0, 30.0), friction=0
    )
    simulation = topple.Simulation(topple.Scene(bodies=[floor, box]))
    while simulation.time < 0.5:
        simulation.advance(STEP)
    figure("spin lost, relative", simulation.state.angular_velocity[1, 2] / 30.0 - 1.0, 1e-6)


def roller(name, x, spin, seconds):
    """A cylinder across the x axis, under z = 0, that turns by so much a second."""
    times = np.arange(0.0, seconds, 0.01)
    turned = Rotation.from_rotvec(np.outer(spin * times, [0, 1, 0])) * Rotation.from_rotvec([np.pi / 2, 0, 0])
    poses = turned.as_quat()[:, [3, 0, 1, 2]]
    motion = topple.Motion(times, np.tile([x, 0, -0.3], (len(times), 1)), poses)
    return topple.Body(name, topple.Cylinder(0.3, 2.0), kind="kinematic", motion=motion, friction=0.3)


@pytest.mark.parametrize("step", [1 / 60, STEP, 1e-3])
def test_plank_on_fast_rollers(step, figure):
    """A board of 2 mm on rollers that turn towards each other goes to and fro as if by a spring.

    The one it leans on more drives it back: x'' = -mu g x / a, with rollers at a = 1 m to either side, while
    it slides on both. Under the board their surface moves on by 20 cm in a step of 1/60 s, a hundred times
    its thickness, and gets nowhere. Limit: the friction of a step is that of the loads of the last one,
    which adds up to (mu g / a) h times the integral of the way.
    """
    start, rate = 0.2, math.sqrt(0.3 * G)
    board = topple.Body("board", topple.Box((6, 1, 2e-3)), mass=1, position=(start, 0, 1e-3), friction=0.3)
    rollers = [roller("left", -1.0, 40.0, 1.0), roller("right", 1.0, -40.0, 1.0)]
    scene = topple.Scene(gravity=(0, 0, -G), bodies=[board, *rollers])
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=step))
    simulation.advance(0.4)
    t = simulation.time
    limit = rate**2 * step * start * (t - math.sin(rate * t) / rate)
    off = simulation.state.position[0, 0] - start * math.cos(rate * t)
    figure(f"place at {step:.4g} s, of the lag of the loads", off / limit, 1.0)


def swung(fps: int, release: float) -> topple.Scene:
    """A box on an arm of 1 m that swings at 3 rad/s in the plane z = 5 until it is let go, off its middle."""
    times = np.arange(0.0, 1.0, 1.0 / fps)
    turned = Rotation.from_rotvec(np.outer(3.0 * times, [0, 0, 1]))
    poses = turned.as_quat()[:, [3, 0, 1, 2]]
    motion = topple.Motion(times, np.array([0, 0, 5]) + turned.apply([1, 0, 0]), poses)
    box = topple.Body("box", topple.Box((0.2, 0.2, 0.2)), kind="kinematic", motion=motion, mass=1,
                      center_of_mass=(0.05, 0, 0), release_time=release)  # fmt: skip
    return topple.Scene(gravity=(0, 0, -G), bodies=[box])


@pytest.mark.parametrize(
    "solver", ["analytic", topple.ImpulseSolver(), topple.ImpulseSolver(time_step=1 / 60)]
)
@pytest.mark.parametrize("fps", [24, 240])
def test_release_hands_over_the_velocity(fps, solver, figure):
    """What is let go flies on along the tangent of its path, spinning as it did, from that moment on.

    At a sample and between two, which is between two steps, too. Limit: (w dt)^2 v / 3, the error of a
    derivative from the three samples before, dt apart; from the last two alone it was w dt v / 2.
    """
    for release in (0.5, 0.5037):
        simulation = topple.Simulation(swung(fps, release), solver)
        simulation.advance(0.6)
        arm = 1.05 * np.array([math.cos(3 * release), math.sin(3 * release), 0])
        velocity, since = np.cross([0, 0, 3], arm), simulation.time - release
        limit = (3 / fps) ** 2 * np.linalg.norm(velocity) / 3
        state = simulation.state
        off = state.linear_velocity[0] - velocity - [0, 0, -G * since]
        figure("velocity, of (w dt)^2 v / 3", np.linalg.norm(off) / limit, 1.01)
        w, x, y, z = state.orientation[0]
        middle = state.position[0] + Rotation.from_quat([x, y, z, w]).apply([0.05, 0, 0])
        fallen = np.linalg.norm(middle - arm - velocity * since - [0, 0, 5 - G * since**2 / 2])
        sagitta = 1.05 * (3 / fps) ** 2 / 8  # between samples the path is a chord
        figure("place, of what is in the velocity and the chord", fallen / (limit * since + sagitta), 1.01)
        figure("angular velocity", state.angular_velocity[0][2] - 3, 1e-12, "rad/s")


def test_release_of_what_has_just_set_off(figure):
    """A body that stood and goes on at 1 m/s between two samples is let go with that, not with more."""
    times, places = (0.0, 0.1, 0.4, 0.5), [(0, 0, 5), (0, 0, 5), (0, 0, 5), (0.1, 0, 5)]
    motion = topple.Motion(np.array(times), np.array(places, float), np.tile(UPRIGHT, (4, 1)))
    box = topple.Body("box", topple.Box((0.2, 0.2, 0.2)), kind="kinematic", motion=motion, release_time=0.5)
    simulation = topple.Simulation(topple.Scene(gravity=(0, 0, -G), bodies=[box]))
    simulation.advance(0.6)
    figure("velocity", simulation.state.linear_velocity[0][0] - 1, 1e-12, "m/s")


def test_release_of_what_has_not_set_off(figure):
    """A body that is let go before its path begins has stood until then."""
    motion = topple.Motion(
        np.array([1.0, 2.0]), np.array([(0, 0, 5), (1, 0, 5)], float), np.tile(UPRIGHT, (2, 1))
    )
    box = topple.Body("box", topple.Box((0.2, 0.2, 0.2)), kind="kinematic", motion=motion, release_time=0.5)
    simulation = topple.Simulation(topple.Scene(gravity=(0, 0, -G), bodies=[box]))
    simulation.advance(0.6)
    figure("velocity", simulation.state.linear_velocity[0][0], 0.0, "m/s")


@pytest.mark.parametrize("step", [1 / 60, STEP, 1e-3])
def test_board_that_spins_flat(step, figure):
    """A board of 2 mm that slides and spins on a floor without friction goes on: its ends do not come down.

    They move by up to 20 cm in a step of 1/60 s, a hundred times its thickness, along the floor. Nothing
    should be lost; the limit, 1e-6 of its way and its turn, is not derived.
    """
    floor = topple.Body("floor", topple.Box((20, 20, 1)), kind="static", position=(0, 0, -0.5), friction=0)
    board = topple.Body("board", topple.Box((2, 0.5, 2e-3)), mass=1, position=(0, 0, 1e-3), friction=0,
                        linear_velocity=(1, 0, 0), angular_velocity=(0, 0, 12))  # fmt: skip
    scene = topple.Scene(gravity=(0, 0, -G), bodies=[board, floor])
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=step))
    simulation.advance(0.5)
    w, _, _, z = simulation.state.orientation[0]
    figure("way", simulation.state.position[0, 0] / simulation.time - 1, 1e-6)
    turned = math.remainder(2 * math.atan2(z, w) - 12 * simulation.time, 2 * math.pi)
    figure("turn", turned / (12 * simulation.time), 1e-6)


@pytest.mark.parametrize("step", [1 / 60, STEP, 1e-3])
@pytest.mark.parametrize(
    ("shape", "friction", "speed"),
    [
        pytest.param(topple.Box((0.2, 0.2, 0.2)), 0.0, 0.0, id="box"),
        pytest.param(topple.Sphere(0.1), 0.0, 0.0, id="ball"),
        pytest.param(topple.Cylinder(0.1, 0.3), 0.0, 0.0, id="cylinder"),
        pytest.param(topple.Capsule(0.1, 0.3), 0.0, 0.0, id="capsule"),
        pytest.param(topple.Box((0.2, 0.2, 0.2)), 0.2, -1.0, id="box that rubs"),
    ],
)
def test_slides_on_a_board_that_tilts(shape, friction, speed, step, figure):
    """What slides on a board that turns at the rate w about a line in its surface goes where it should.

    At the place r along the board and its own height a over it, r'' = w^2 r - g sin(w t) + mu N / m where it
    slides down, N / m = g cos(w t) + 2 w r' - w^2 a. Limit: impulses change by N' h^2 in a step, at its
    start, by which the velocity along the normal is off by half of that; as the board turns, w h of it in
    each step becomes a velocity along the board; and the tolerance.

    Source: Newton in axes that turn.
    """
    rate, start, height, seconds = 1.0, 0.5, 0.1, 0.6
    times = np.linspace(0.0, seconds, 601)
    half = 0.5 * rate * times
    tilt = np.stack([np.cos(half), 0 * half, -np.sin(half), 0 * half], axis=1)
    middle = 0.05 * np.stack([np.sin(2 * half), 0 * half, -np.cos(2 * half)], axis=1)
    scene = topple.Scene(gravity=(0, 0, -G))
    board = topple.Box((20, 2, 0.1))
    scene.add(topple.Body("board", board, kind="kinematic", motion=(times, middle, tilt), friction=friction))
    lying = UPRIGHT if isinstance(shape, topple.Box) else (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
    scene.add(topple.Body(
        "body", shape, position=(start, 0, height), orientation=lying, friction=friction, restitution=0.0,
        linear_velocity=(speed - rate * height, 0, rate * start), angular_velocity=(0, -rate, 0),
    ))  # fmt: skip
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=step))
    simulation.advance(seconds)

    def accelerations(t, state):
        r, along = state
        load = G * math.cos(rate * t) + 2 * rate * along - rate**2 * height
        return along, rate**2 * r - G * math.sin(rate * t) + friction * load

    expected = solve_ivp(accelerations, (0, seconds), (start, speed), rtol=1e-10, atol=1e-12).y[0, -1]
    angle, place = rate * seconds, simulation.state.position[1]
    load_rate = 3 * G * rate * math.sin(angle) + 2 * friction * rate * G
    bound = 0.25 * step**2 * rate * load_rate * seconds**2 + 1e-6
    off = place @ (math.cos(angle), 0, math.sin(angle)) - expected
    figure("place along the board", off, bound, "m")
    figure("height over it", place @ (-math.sin(angle), 0, math.cos(angle)) - height, 1e-4, "m")


@pytest.mark.parametrize("step", [1 / 60, STEP, 1e-3])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_lift_that_starts_hard(restitution, step, figure):
    """A box on a plate that rises at five times gravity stays on it, whatever its restitution.

    Limits: the tolerance, and of the speed half of what the contact's spring takes back in a step.
    """
    acceleration, seconds = 5.0 * G, 0.5
    times = np.linspace(0.0, seconds, 501)
    places = [(0.0, 0.0, height - 0.05) for height in 0.5 * acceleration * times**2]
    motion = topple.Motion(times, places, [UPRIGHT] * len(times))
    scene, bounces = topple.Scene(gravity=(0, 0, -G)), {"restitution": restitution}
    scene.add(topple.Body("plate", topple.Box((2, 2, 0.1)), kind="kinematic", motion=motion, **bounces))
    scene.add(topple.Body("box", topple.Box((0.2, 0.2, 0.2)), position=(0, 0, 0.1), **bounces))
    simulation, apart, off = topple.Simulation(scene, topple.ImpulseSolver(time_step=step)), [], []
    while simulation.time < seconds - 1.5 * step:
        simulation.advance(step)
        state, time = simulation.state, simulation.time
        apart.append(state.position[1, 2] - 0.1 - 0.5 * acceleration * time**2)
        off.append(state.linear_velocity[1, 2] - acceleration * time)
    figure("off the plate", np.abs(apart).max(), 1e-4, "m")
    figure("speed at the end, off", off[-1], 0.5 * 1e-4 / step, "m/s")


@pytest.mark.parametrize("rate", [6.0, 8.0, 15.0])
def test_held_by_a_wall_that_whirls(rate, figure):
    """A box that a wall presses on as it is whirled round, harder than 2 g, stays where friction holds it.

    Its load is m w^2 r, of which friction, mu = .5, can bear g; for two seconds. Limits as for the lift.
    """
    seconds, radius = 2.0, 1.0
    times = np.linspace(0.0, seconds + 0.1, 4001)
    angle = rate * times
    turned = np.stack([np.cos(0.5 * angle), 0 * angle, 0 * angle, np.sin(0.5 * angle)], axis=1)
    places = (radius + 0.2) * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    scene = topple.Scene(gravity=(0, 0, -G))
    wall = topple.Box((0.2, 4, 8))
    scene.add(topple.Body("wall", wall, kind="kinematic", motion=(times, places, turned), friction=0.5))
    scene.add(topple.Body(
        "box", topple.Box((0.2, 0.2, 0.2)), position=(radius, 0, 0), friction=0.5, restitution=0.5,
        linear_velocity=(0, rate * radius, 0), angular_velocity=(0, 0, rate),
    ))  # fmt: skip
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=STEP))
    simulation.advance(seconds)
    state, angle = simulation.state, rate * simulation.time
    place, velocity = state.position[1], state.linear_velocity[1]
    out, along = (math.cos(angle), math.sin(angle), 0.0), (-math.sin(angle), math.cos(angle), 0.0)
    figure("off the wall", place @ out - radius, 1e-4, "m")
    figure("slip along it", place @ along, 1e-4, "m")
    figure("slip down it", place[2], 1e-4, "m")
    figure("speed along it, off", velocity @ along - rate * radius, 0.5 * 1e-4 / STEP, "m/s")


def test_release_inside_another_body(figure):
    """What is released half way in the floor comes out at .5 m/s, as what overlaps at the start does.

    From frame to frame it may be put right by as much as the tolerance, 1e-4 m, more: 6e-3 m/s.
    """
    floor = topple.Body("floor", topple.Box((10, 10, 1)), kind="static", position=(0, 0, -0.5))
    motion = [0.0, 0.4], [(0, 0, 2.0), (0, 0, 0.1)], [(1, 0, 0, 0)] * 2
    cube = topple.Body("cube", topple.Box((1, 1, 1)), kind="kinematic", motion=motion, release_time=0.5)
    trajectory = topple.simulate(topple.Scene(bodies=[floor, cube]), seconds=2.0, fps=60)
    height, speed = trajectory.position[:, 1, 2], trajectory.linear_velocity[:, 1]
    rise = np.diff(height[25:]) * 60  # from when it stands in the floor, before it is released
    figure("fastest rise", rise.max() - 0.5, 6e-3, "m/s")
    figure("speed", np.abs(speed[31:]).max(), 0.5, "m/s")
    figure("height in the end", height[-1] - 0.5, 1e-4, "m")
    (warning,) = trajectory.report.warnings
    assert "'cube'" in warning
    assert "'floor'" in warning
    assert "0.4 m" in warning
    assert "released (t = 0.5 s)" in warning


def test_animated_in_a_static_one_at_the_start():
    """Nothing pushes it apart, so no warning says so; what happens when it is released is said then."""
    floor = topple.Body("floor", topple.Box((10, 10, 1)), kind="static", position=(0, 0, -0.5))
    cube = topple.Body(
        "cube", topple.Box((1, 1, 1)), kind="kinematic", position=(0, 0, 0.1), release_time=0.5
    )
    (warning,) = topple.simulate(topple.Scene(bodies=[floor, cube]), seconds=1.0).report.warnings
    assert "released (t = 0.5 s)" in warning
