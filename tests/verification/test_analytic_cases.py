"""The analytic solver on scenes that stand, tip, roll, spin, or leave nothing to choose a normal by."""

from functools import cache

import numpy as np
import pytest
import scenes
import topple
from scipy.spatial.transform import Rotation

G = 9.81


def drift(simulation, seconds):
    """Largest distance of any body from where it is [m], after some seconds."""
    start = simulation.state.position
    simulation.advance(seconds)
    return np.abs(simulation.state.position - start).max()


def rotation(simulation, name):
    """Rotation matrix of a body."""
    names = [body.name for body in simulation.scene.bodies]
    w, x, y, z = simulation.state.orientation[names.index(name)]
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def energies(simulation, seconds):
    """Energy after each step of the solver [J]."""
    pipeline, found = simulation._pipeline, [simulation.energy()]
    end = pipeline.time + seconds
    while pipeline.time < end:
        pipeline.step(end)
        found.append(simulation.energy())
    return np.array(found)


def on_ramp(angle, friction, breadth=0.5, height=1.0):
    scene = scenes.block_on_ramp(angle=angle, friction=friction, size=(breadth, 1.0, height))
    return topple.Simulation(scene, "analytic")


@pytest.mark.parametrize(("friction", "angle"), [(0.7, np.arctan(0.5)), (0.4, np.arctan(0.4))])
def test_block_stands_below_its_angle(friction, angle, figure):
    """Analytic: a block b x h on a ramp stands a thousandth of a radian below atan(b/h) and atan(mu)."""
    figure("drift in 2 s", drift(on_ramp(angle - 1e-3, friction), 2.0), 1e-12, "m")


def test_block_tips_above_its_angle(figure):
    """Analytic: a block with b/h < mu tips 1e-3 rad above atan(b/h), by delta (cosh(k t) - 1).

    k^2 = m g d / I with d = sqrt(b^2 + h^2) / 2 and I = m (b^2 + h^2) / 3 about the edge; for small angles:
    the next term of the sine is theta^3 k^2 t^2 / 12, under 1e-8 rad.
    """
    delta, time = 1e-3, 0.5
    simulation = on_ramp(np.arctan(0.5) + delta, 0.7)
    start = rotation(simulation, "block")
    simulation.advance(time)
    turned = np.linalg.norm(Rotation.from_matrix(rotation(simulation, "block") @ start.T).as_rotvec())
    k = np.sqrt(0.5 * G * np.sqrt(1.25) / (1.25 / 3.0))
    figure("angle", turned - delta * (np.cosh(k * time) - 1.0), 1e-8, "rad")


def test_block_slides_above_its_angle(figure):
    """Analytic: a block with b/h > mu slides 1e-3 rad above atan(mu), without tipping.

    Half of g (sin - mu cos) t^2; that all four corners carry a load decides it.
    """
    angle, time = np.arctan(0.4) + 1e-3, 0.5
    simulation = on_ramp(angle, 0.4)
    start, upright = simulation.state.position[1], rotation(simulation, "block")
    simulation.advance(time)
    way = np.linalg.norm(simulation.state.position[1] - start)
    figure("way", way - 0.5 * G * (np.sin(angle) - 0.4 * np.cos(angle)) * time**2, 1e-9, "m")
    figure("turn", np.abs(rotation(simulation, "block") - upright).max(), 1e-9, "rad")


def test_euler_disk(figure):
    """Analytic: a thin disk rolls about its middle; no step makes 1e-9 of its energy, and it does not drift.

    Steady for a disk without thickness; that of .5 mm lets its middle sway by less than half of it.
    """
    simulation = topple.Simulation(scenes.euler_disk(), "analytic")
    start = simulation.state.position[1]
    energy = energies(simulation, 0.5)
    figure("rise of energy in a step, relative", np.diff(energy).max() / energy[0], 1e-9)
    figure("way of the middle", np.abs(simulation.state.position[1] - start).max(), 2.5e-4, "m")
    assert not simulation.events


@pytest.mark.parametrize("ground", ["plane", "floor"])
def test_coin(ground, figure):
    """Analytic: a coin falls on its rim and rolls and slides: no step makes 1e-9 of its energy."""
    tilt = 1.2
    scene = topple.Scene(gravity=(0.0, 0.0, -G))
    scene.add(scenes.ground.plane(friction=0.3) if ground == "plane" else scenes.ground.floor(friction=0.3))
    scene.add(
        topple.Body(
            "coin", topple.Cylinder(0.1, 0.01), mass=0.05, position=(0, 0, 0.105), friction=0.3,
            orientation=(np.cos(tilt / 2), np.sin(tilt / 2), 0, 0), angular_velocity=(0, 0, 6),
        )
    )  # fmt: skip
    energy = energies(topple.Simulation(scene, "analytic"), 0.4)
    figure("rise of energy in a step, relative", np.diff(energy).max() / energy[0], 1e-9)


def thrown(shape, seed):
    """A body of 1 kg that is thrown on a plane with mu = 3, tumbling."""
    random = np.random.default_rng(seed)
    w, x, y, z = random.normal(size=4)
    size = np.sqrt(w * w + x * x + y * y + z * z)
    scene = topple.Scene(gravity=(0.0, 0.0, -G), bodies=[scenes.ground.plane(friction=3.0)])
    scene.add(
        topple.Body(
            "body", shape, mass=1.0, friction=3.0, position=(0.0, 0.0, 0.8),
            orientation=np.array([w, x, y, z]) / size, linear_velocity=(*random.normal(0.0, 2.0, 2), 0.0),
            angular_velocity=random.normal(0.0, 4.0, 3),
        )
    )  # fmt: skip
    return scene


ROCK = np.random.default_rng(71).normal(0.0, 0.25, (10, 3))
THROWN = {
    "box": topple.Box((0.5, 0.3, 0.4)),
    "can": topple.Cylinder(0.2, 0.3),
    "capsule": topple.Capsule(0.1, 0.4),
    "rock": topple.ConvexHull(ROCK),
}


@pytest.mark.parametrize("name", THROWN)
def test_no_step_makes_energy(name, figure, scale):
    """Analytic: thrown on a plane with mu = 3: no step makes 1e-9 of the energy, wherever slips end."""
    worst = 0.0
    for seed in range(3 * scale):
        energy = energies(topple.Simulation(thrown(THROWN[name], seed), "analytic"), 1.0)
        worst = max(worst, np.diff(energy).max() / energy[0])
    figure(f"{name}: rise of energy in a step, relative", worst, 1e-9)


@pytest.mark.slow
def test_tippe_top_turns_over(figure):
    """Analytic: the tippe top of Leine & Glocker 2003, figure 12, touches with a patch of .5 mm, turns over.

    Within 8 s; it takes 1.3 s to go on its stem, whose ball touches at acos((r2 - r1) / (a2 - a1)) = 140
    degrees. No step makes 1e-9 of its energy. `tests/oracle/test_tippe_top.py` has its equations of motion.
    """
    simulation = topple.Simulation(scenes.tippe_top(), topple.AnalyticSolver(contact_radius=5e-4))
    energy = energies(simulation, 1.4)
    figure("height of the stem", 1.0 + rotation(simulation, "top")[2, 2], 1.0 - 10.0 / 13.0)
    figure("rise of energy in a step, relative", max(0.0, np.diff(energy).max()) / energy[0], 1e-9)


def test_tippe_top_rolls(figure):
    """Analytic: a tippe top with Coulomb's friction at a point slips, then rolls; Jellett's constant is kept.

    Whatever force acts at the contact, L . r is constant for the arm r from the centre of mass to it
    (Jellett 1872). Slip ends within some 20 ms and does not begin again: rolling wants less friction than
    there is, and costs no energy. `tests/oracle/test_tippe_top.py` shows it by the equations of motion.
    """
    simulation = topple.Simulation(scenes.tippe_top(), "analytic")
    pipeline = simulation._pipeline
    top = pipeline.names.index("top")

    def jellett():
        arm = 0.003 * rotation(simulation, "top")[:, 2] - [0.0, 0.0, 0.015]
        return float(pipeline.state.L[top] @ arm)

    start = jellett()
    energy = energies(simulation, 0.3)
    figure("Jellett's constant, relative", jellett() / start - 1.0, 1e-8)
    figure("rise of energy in a step, relative", max(0.0, np.diff(energy).max()) / energy[0], 1e-9)
    assert not pipeline.slips.any()


def test_spin_comes_to_rest(figure):
    """Analytic: a ball that spins upright on a patch slows by 5/2 mu g R / r^2 and stops.

    R is 3 pi / 16 of the patch's radius. To the bit at rest: what is left of the spin at the event, under
    1e-9 m/s at the patch, is taken as rest.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -G), bodies=[scenes.ground.plane(friction=0.3)])
    ball = topple.Sphere(0.1)
    scene.add(topple.Body("ball", ball, position=(0, 0, 0.1), friction=0.3, angular_velocity=(0, 0, 2.0)))
    simulation = topple.Simulation(scene, topple.AnalyticSolver(contact_radius=0.01))
    slowing = 2.5 * 0.3 * G * (3.0 * np.pi / 16.0 * 0.01) / 0.1**2
    simulation.advance(0.5 * 2.0 / slowing)
    figure("spin half way", simulation.state.angular_velocity[1, 2] - 1.0, 1e-9, "rad/s")
    simulation.advance(0.6 * 2.0 / slowing)
    figure("spin at the end", np.abs(simulation.state.angular_velocity[1]).max(), 0.0, "rad/s")


STANDING = {
    "a house of cards of 4 levels": lambda: scenes.card_house(4),
    "an arch of 25 stones": lambda: scenes.arch(25),
    "an arch of 101 stones": lambda: scenes.arch(101),
    "ten cubes of 5 cm": lambda: scenes.stack(10, 0.05),
    "ten dice of 1 cm": lambda: scenes.stack(10, 0.01),
    "a wall of 10 rows": lambda: scenes.brick_wall(10, 12),
}


@pytest.mark.parametrize("name", STANDING)
def test_standing(name, figure):
    """Analytic: what can stand stands: forces are found, so not a bit of any position changes in 20 s."""
    simulation = topple.Simulation(STANDING[name](), "analytic")
    figure(f"drift of {name}", drift(simulation, 20.0), 0.0, "m")
    assert simulation.report.solves["unsolved"] == 0
    figure("residual of the worst solve, relative", simulation.report.solves["worst_residual"], 1e-10)


@pytest.mark.slow
def test_brick_wall(figure, scale):
    """Analytic: the wall of 20 rows of 25 bricks stands, not a bit of any position changes.

    For 10 s with `--scale 2`.
    """
    simulation = topple.Simulation(scenes.brick_wall(), "analytic")
    seconds = 10.0 if scale > 1 else 1.0
    figure(f"drift in {seconds:g} s", drift(simulation, seconds), 0.0, "m")


@pytest.mark.parametrize("height", [1.5, pytest.param(1.6, marks=pytest.mark.slow)])
def test_a_thousand_times_heavier(height, figure):
    """Analytic: 1000 kg on 1 kg, laid or dropped, rests on it without getting into it."""
    scene = topple.Scene(gravity=(0.0, 0.0, -G), bodies=[scenes.ground.floor()])
    for name, mass, place in (("light", 1.0, (0, 0, 0.5)), ("heavy", 1000.0, (0.1, 0.05, height))):
        scene.add(topple.Body(name, topple.Box((1, 1, 1)), mass=mass, position=place))
    trajectory = topple.simulate(scene, seconds=0.75, solver="analytic")
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-5, "m")
    figure("speed at the end", np.abs(trajectory.linear_velocity[-1]).max(), 0.0, "m/s")
    figure("height", trajectory.position[-1, 2, 2] - 1.5, 1e-8, "m")


SPIKE = topple.ConvexHull([[0, 0, -0.5], [-0.4, -0.3, 0.3], [0.4, -0.3, 0.3], [0, 0.5, 0.3]])
ON_EDGE = (np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0)


def spikes(offset):
    below = topple.Body("below", topple.ConvexHull(-SPIKE.points), kind="static", position=(0, 0, 0.5))
    return [scenes.ground.plane(), below, topple.Body("above", SPIKE, position=(offset, 0, 1.6))]


def edges():
    root, cube = np.sqrt(0.5), topple.Box((1, 1, 1))
    below = topple.Body("below", cube, kind="static", orientation=ON_EDGE, position=(0, 0, root))
    above = topple.Body("above", cube, orientation=ON_EDGE, position=(0, 0, 3 * root))
    return [scenes.ground.plane(), below, above]


def crack():
    cube, wedge = topple.Box((1, 1, 1)), topple.Box((0.4, 0.4, 0.4))
    boxes = [topple.Body(f"box {k}", cube, kind="static", position=(k - 0.5, 0, 0.5)) for k in (0, 1)]
    return [*boxes, topple.Body("wedge", wedge, position=(0, 0, 1 + 0.2 * np.sqrt(2)), orientation=ON_EDGE)]


def cliff(beyond):
    """A box whose centre is `beyond` the edge of a cliff [m]."""
    wall = topple.Body("wall", topple.Box((2, 2, 1)), kind="static", position=(-1, 0, 0.5))
    return [wall, topple.Body("box", topple.Box((0.4, 0.4, 0.4)), position=(beyond, 0, 1.2))]


DEGENERATE = {
    "spike on spike": lambda: spikes(0.0),
    "spike by 1e-9 m": lambda: spikes(1e-9),
    "spike by 1 mm": lambda: spikes(1e-3),
    "edge on parallel edge": edges,
    "edge in a crack": crack,
    "over a cliff": lambda: cliff(0.01),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_contacts(name, figure):
    """Analytic: where two features leave the normal open, one is chosen: no pop, no energy, not through.

    Energy of bodies that start at rest can only become less: its rise is round-off and the integrator's rtol.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -G), bodies=DEGENERATE[name]())
    simulation = topple.Simulation(scene, "analytic")
    energy = energies(simulation, 0.5)
    figure("rise of energy in a step, relative", max(0.0, np.diff(energy).max()) / abs(energy[0]), 1e-9)
    trajectory = topple.simulate(scene, seconds=0.5, solver="analytic")
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-5, "m")


@pytest.mark.parametrize("beyond", [-0.01, 0.0])
def test_cliff(beyond, figure):
    """Analytic: a box stays on a cliff as long as its centre is not beyond the edge, on it included."""
    scene = topple.Scene(gravity=(0.0, 0.0, -G), bodies=cliff(beyond))
    figure("drift", drift(topple.Simulation(scene, "analytic"), 1.0), 0.0, "m")


def falling_pair(*, scale=1.0, names=("a", "b"), turn=0.0, shift=(0.0, 0.0, 0.0)):
    """A box that falls on a box, lengths and gravity times `scale`, so that times stay; turned about z."""
    about_z = Rotation.from_rotvec([0.0, 0.0, turn])
    x, y, z, w = about_z.as_quat()
    scene = topple.Scene(gravity=(0.0, 0.0, -G * scale))
    floor = topple.Box((4 * scale, 4 * scale, scale))
    place = about_z.apply([0.0, 0.0, -0.5 * scale]) + shift
    scene.add(
        topple.Body("floor", floor, kind="static", position=place, orientation=(w, x, y, z), restitution=0.3)
    )
    for name, place, spin in zip(
        names, ((0.0, 0.0, 0.26), (0.11, 0.05, 0.9)), ((0, 0, 0), (0.0, 0.5, 1.0)), strict=True
    ):
        scene.add(
            topple.Body(
                name, topple.Box(scale * np.array([0.5, 0.4, 0.5])), restitution=0.3, friction=0.4,
                position=scale * about_z.apply(place) + shift, orientation=(w, x, y, z),
                angular_velocity=about_z.apply(spin),
            )
        )  # fmt: skip
    return scene


@cache
def fallen(**how):
    """The trajectory of a falling pair."""
    solver = topple.AnalyticSolver(tolerance=1e-5 * how.get("scale", 1.0))
    return topple.simulate(falling_pair(**how), seconds=0.35, solver=solver)


COLLIDING = 6  # frames up to .2083 s, in which the pair has collided fifty times


def compare_fallen(position, figure):
    """Compare positions with those of the falling pair; round-off decides nothing but when slip ends.

    While the boxes collide they differ by round-off, which fifty collisions make larger: 1e-9 m. Then they
    slide 3 mm on eight corners which cease to slip one after the other; friction is good to 1e-4 of what it
    does there (docs/analytic.md, Limits): 3e-7 m.
    """
    difference = np.abs(position - fallen().position)
    figure("positions while they collide", difference[:COLLIDING].max(), 1e-9, "m")
    figure("positions", difference.max(), 3e-7, "m")


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_scale(scale, figure):
    """Analytic: lengths, gravity and tolerance 1e-3 and 1e3 times as large: the same motion, scaled."""
    compare_fallen(fallen(scale=scale).position / scale, figure)


def test_scale_by_powers_of_two(figure):
    """Analytic: 1024 times as large, which rounds nothing: the same bits, so no threshold is absolute."""
    one, other = fallen(), fallen(scale=1024.0)
    figure("positions over the scale", np.abs(other.position / 1024.0 - one.position).max(), 0.0, "m")


def test_swapped_bodies(figure):
    """Analytic: which body is A and which B, by their names, does not matter."""
    other = fallen(names=("b", "a"))
    column = [other.names.index({"a": "b", "b": "a"}.get(name, name)) for name in fallen().names]
    compare_fallen(other.position[:, column], figure)


@pytest.mark.parametrize(
    ("turn", "shift"), [(0.0, (3.0, -2.0, 5.0)), (np.pi / 2, (0.0, 0.0, 0.0)), (0.7, (0.0, 0.0, 0.0))]
)
def test_moved_world(turn, shift, figure):
    """Analytic: the scene turned about z and moved: the same motion."""
    about_z = Rotation.from_rotvec([0.0, 0.0, turn]).as_matrix()
    compare_fallen((fallen(turn=turn, shift=shift).position - shift) @ about_z, figure)


@pytest.mark.slow
def test_isotropy(figure, scale):
    """Analytic: a block thrown in several directions slides equally far: the cone is round.

    With `--scale 2` at 20 m/s in 12 directions, which takes minutes.
    """
    speed, directions = (20.0, 12) if scale > 1 else (5.0, 4)
    ways = []
    for k in range(directions):
        simulation = topple.Simulation(
            scenes.sliding_block(speed=speed, friction=0.5, direction=k * np.pi / 6), "analytic"
        )
        start = simulation.state.position[1]
        simulation.advance(1.1 * speed / (0.5 * G))
        ways.append(np.linalg.norm(simulation.state.position[1] - start))
    figure("longest way over the shortest, less 1", max(ways) / min(ways) - 1.0, 1e-9)
