"""Round bodies roll off tables and over edges; they and others get from one tile on to the next."""

import math

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation

G, R, HEIGHT = 9.81, 0.1, 1.0
STEPS = [1 / 60, 1 / 240, 1 / 1000]
ROUGH = 1000.0  # friction with which nothing slips


def tile(name, size, position, *, kind="static", friction=ROUGH, **settings):
    return topple.Body(
        name, topple.Box(size), kind=kind, position=position, friction=friction, restitution=0.0, **settings
    )


def rolling_ball(x, speed, *, name="ball", height=HEIGHT, sideways=0.0, friction=ROUGH):
    return topple.Body(
        name, topple.Sphere(R), mass=1.0, position=(x, 0.2, height + R), friction=friction, restitution=0.0,
        linear_velocity=(speed, sideways, 0.0), angular_velocity=(-sideways / R, speed / R, 0.0),
    )  # fmt: skip


def leave_table(ball, table, h):
    """(x, velocity) of a ball when it has fallen by HEIGHT, as it flies from half way down on."""
    scene = topple.Scene(gravity=(0, 0, -G), bodies=[table, ball])
    if table.is_movable:
        scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static"))
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=h))
    while simulation.state.position[1, 2] > 0.5 * HEIGHT:
        simulation.advance(h)
    (x, _, z), velocity = simulation.state.position[1], simulation.state.linear_velocity[1]
    time = (velocity[2] + math.sqrt(velocity[2] ** 2 + 2.0 * G * (z - R))) / G
    return x + velocity[0] * time, velocity


@pytest.mark.parametrize("name", ["a ball", "z ball"])
@pytest.mark.parametrize("kind", ["static", "dynamic"])
@pytest.mark.parametrize("h", STEPS)
def test_rolls_off_a_table(h, kind, name, figure):
    """A ball with v^2 > g r leaves a table where that ends, and lands v sqrt(2 H / g) farther on.

    Source: it would need the centripetal acceleration v^2 / r to stay on the edge. What the face bore it with
    in the step in which it left still acts for half a step: that is a height of g h^2 / 2 at most.
    """
    time = math.sqrt(2.0 * HEIGHT / G)
    for speed in (1.5, 3.0, 6.0):
        for part in (0.0, 0.37, 0.8):  # of a step, at which it gets there
            table = tile("table", (6, 2, HEIGHT), (-3, 0, 0.5 * HEIGHT), kind=kind, mass=1e4)
            ball = rolling_ball(-(12 + part) * speed * h, speed, name=name)
            x, velocity = leave_table(ball, table, h)
            limit = speed * 0.5 * h**2 / time + 1e-4 * speed * time  # the table recoils, too
            figure("distance", x - speed * time, limit, "m")
            figure("speed, relative", velocity[0] / speed - 1.0, 1e-3)


@pytest.mark.parametrize("h", STEPS)
def test_rolls_over_an_edge(h, figure):
    """A slow ball rolls about the edge until its load is gone: cos a = (10/7 + v^2 / (g r)) / (17/7).

    Source: Newton's law and the energy of rolling, 7/10 m u^2; g cos a = u^2 / r where it leaves. It does so
    at the end of a step: the speed is that of half a step's turn before or after.
    """
    for speed in (0.3, 0.6, 0.9):
        cosine = (10 / 7 + speed**2 / (G * R)) / (17 / 7)
        fastest = math.sqrt(G * R * cosine)
        for part in (0.0, 0.37):
            table = tile("table", (2, 2, HEIGHT), (-1, 0, 0.5 * HEIGHT))
            _, velocity = leave_table(rolling_ball(-0.3 - part * speed * h, speed), table, h)
            figure("speed, relative", velocity[0] / (fastest * cosine) - 1.0, 0.5 * fastest * h / R)


def tiles(floor):
    if floor == "two boxes":
        places = {"a": -1.0, "b": 1.0}
        return [tile(name, (2, 2, 1), (x, 0, -0.5), friction=1.0) for name, x in places.items()]
    places = [(0.4 * i, 0.4 * j, -0.5) for i in range(-3, 5) for j in range(-3, 5)]
    if floor == "tiles":
        return [tile(f"tile {k}", (0.4, 0.4, 1), place, friction=1.0) for k, place in enumerate(places)]
    parts = [(topple.Box((0.4, 0.4, 1)), place, (1, 0, 0, 0)) for place in places]
    return [topple.Body("floor", topple.Compound(parts), kind="static", friction=1.0, restitution=0.0)]


def ride(scene, h, time):
    """(State after a time, how far the centre of the last body was off the height R on the way)."""
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=h))
    off = 0.0
    for _ in range(round(time / h)):
        simulation.advance(h)
        off = max(off, abs(simulation.state.position[-1, 2] - R))
    return simulation.state, off


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("floor", ["two boxes", "tiles", "compound"])
def test_rolls_over_seams(floor, h, figure):
    """A ball that rolls from one box on to another, as high, neither hops nor sinks in.

    Source: Newton's first law. A contact gives under its load by .002 of the tolerance, 1e-4 m. In the first
    step nobody knows yet what bears it: it begins where it gets to no seam in that.
    """
    for speed, sideways in ((0.2, 0.02), (1.0, 0.6), (3.0, -0.5), (9.0, 0.5)):
        scene = topple.Scene(gravity=(0, 0, -G), bodies=tiles(floor))
        scene.add(rolling_ball(-0.5 - 0.37 * speed * h, speed, height=0.0, sideways=sideways, friction=1.0))
        _, off = ride(scene, h, 0.8 / speed)
        figure("height", off, 1e-6, "m")


ROLLERS = {"cylinder": topple.Cylinder(R, 0.3), "capsule": topple.Capsule(R, 0.2)}


@pytest.mark.parametrize(
    ("floor", "askew", "h"),
    [("two boxes", askew, h) for askew in (0.0, 0.3) for h in STEPS] + [("tiles", 0.0, h) for h in STEPS[1:]],
)
@pytest.mark.parametrize("roller", ROLLERS)
def test_rolls_on_its_side_over_seams(roller, floor, askew, h, figure):
    """A cylinder or a capsule does so, too, straight on or askew, and keeps its speed.

    Source: Newton's first law. Other points bear it from one step to the next, which is seen of it by a tenth
    of the tolerance, 1e-4 m, at most. What is in its way for half a step would take v h / (2 r) of its speed.
    """
    for speed in (0.3, 1.0, 3.0):
        scene = topple.Scene(gravity=(0, 0, -G), bodies=tiles(floor))
        turned = Rotation.from_rotvec([0, 0, askew]) * Rotation.from_rotvec([0.5 * np.pi, 0, 0])
        along = np.array([math.cos(askew), math.sin(askew), 0.0])
        body = topple.Body(
            "roller", ROLLERS[roller], mass=1.0, position=(-0.5 - 0.37 * speed * h, 0.2, R),
            orientation=turned.as_quat(scalar_first=True), linear_velocity=speed * along,
            angular_velocity=np.cross([0, 0, 1], along) * speed / R, friction=1.0, restitution=0.0,
        )  # fmt: skip
        scene.add(body)
        state, off = ride(scene, h, 0.8 / speed)
        figure("height", off, 1e-5, "m")
        figure("speed, relative", np.linalg.norm(state.linear_velocity[-1]) / speed - 1.0, 1e-3)


SLIDERS = {
    "box": (topple.Box((0.2, 0.2, 0.2)), (1.0, 0.0, 0.0, 0.0)),
    "turned box": (topple.Box((0.2, 0.2, 0.2)), (math.cos(0.2), 0.0, 0.0, math.sin(0.2))),
    "can": (topple.Cylinder(R, 2.0 * R), (1.0, 0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("slider", SLIDERS)
@pytest.mark.parametrize("floor", ["two boxes", "tiles", "compound"])
def test_slides_over_seams(floor, slider, h, figure):
    """What slides from one box on to another, as high, does not trip: v^2 = v0^2 - 2 mu g x all the way.

    Source: Coulomb's law. It sinks in by less than a thousandth of a millimetre: by so little it would run
    against the side of the next box. A load that goes over to another point acts half a step more or less;
    at 1/60 s one end may come up by that in a step, within the tolerance.
    """
    shape, orientation = SLIDERS[slider]
    mu = 0.2
    for speed in (2.0, 6.0):
        scene = topple.Scene(gravity=(0, 0, -G), bodies=tiles(floor))
        body = topple.Body(
            "slider", shape, mass=1.0, position=(-0.8 - 0.37 * speed * h, 0.17, R), orientation=orientation,
            linear_velocity=(speed, 0.0, 0.0), friction=mu**2, restitution=0.0,  # that of the tiles is 1
        )  # fmt: skip
        scene.add(body)
        start = body.position[0]
        state, off = ride(scene, h, 0.9 / speed)
        x, velocity = state.position[-1, 0], state.linear_velocity[-1, 0]
        figure("height", off, 1e-6 if h < 0.01 else 1e-4, "m")
        energy = (velocity**2 + 2.0 * mu * G * (x - start)) / speed**2
        figure("energy, relative", energy - 1.0, 1e-3 if h < 0.01 else mu * G * h / speed)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("shape", ["box", "can"])
def test_spins_over_seams(shape, h, figure):
    """What slides and spins about the upright does not trip either: that brings none of its points down.

    Source: Newton's laws. A load that goes over to another point acts half a step more or less: it lifts one
    end by g h^2 / 4 at most, or by less than the tolerance. Friction takes mu g t = 1 % of its speed.
    """
    for spin in (5.0, 20.0, 60.0):
        scene = topple.Scene(gravity=(0, 0, -G), bodies=tiles("tiles"))
        scene.add(
            topple.Body(
                "slider", SLIDERS[shape][0], mass=1.0, position=(-0.8, 0.17, R), friction=0.01**2,
                linear_velocity=(4.0, 0.0, 0.0), angular_velocity=(0.0, 0.0, spin), restitution=0.0,
            )
        )  # fmt: skip
        state, off = ride(scene, h, 0.4)
        figure("height", off, max(0.25 * G * h**2, 1e-4), "m")
        figure("speed, relative", state.linear_velocity[-1, 0] / 4.0 - 1.0, 2e-2)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("mover", ["ball", "can", "cylinder"])
def test_over_a_disc_in_the_floor(mover, h, figure):
    """A cylinder let into the floor up to its face is floor, too, for what slides or rolls over it.

    Source: Newton's first law. What one contact has borne another one does from one step to the next; at
    1/60 s that takes up to .3 % of its speed (measured).
    """
    limit = 1e-3 if h < 0.01 else 5e-3
    rolls = mover != "can"
    turned = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0) if mover == "cylinder" else (1.0, 0.0, 0.0, 0.0)
    shape = {"ball": topple.Sphere(R), "can": SLIDERS["can"][0], "cylinder": ROLLERS["cylinder"]}[mover]
    for speed in (1.0, 6.0):
        disc = topple.Body(
            "disc", topple.Cylinder(0.4, 0.5), kind="static", position=(0, 0, -0.25), restitution=0.0
        )
        body = topple.Body(
            mover, shape, mass=1.0, position=(-0.6, 0.05, R), orientation=turned, restitution=0.0,
            linear_velocity=(speed, 0.0, 0.0), angular_velocity=(0.0, rolls * speed / R, 0.0),
            friction=0.5 if rolls else 0.0,
        )  # fmt: skip
        floor = topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", restitution=0.0)
        scene = topple.Scene(gravity=(0, 0, -G), bodies=[floor, disc, body])
        state, off = ride(scene, h, 1.2 / speed)
        figure("height", off, 1e-6, "m")
        figure("speed, relative", state.linear_velocity[-1, 0] / speed - 1.0, limit)


@pytest.mark.parametrize("h", STEPS)
def test_runs_against_a_curb(h, figure):
    """A ball that runs against an edge half as high as its radius loses what closes, and no more.

    Source: Newton's law of impact with e = 0 along the line from the edge to its centre, at 60 degrees.
    Gravity is not there, so that the velocity stays as it is from then on.
    """
    for speed in (1.0, 3.0):
        floor = tile("floor", (4, 2, 1), (-2, 0, -0.5), friction=0.0)
        curb = tile("curb", (2, 2, 1), (1, 0, 0.5 * R - 0.5), friction=0.0)
        ball = rolling_ball(-0.5 - 0.37 * speed * h, speed, height=0.0, friction=0.0)
        scene = topple.Scene(gravity=(0, 0, 0), bodies=[floor, curb, ball])
        simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=h))
        simulation.advance(0.6 / speed)
        velocity = simulation.state.linear_velocity[-1] / speed
        figure("velocity, relative", np.abs(velocity - (0.25, 0.0, math.sqrt(3) / 4)).max(), 5e-3)


@pytest.mark.parametrize("h", STEPS)
def test_rolls_fast(h, figure):
    """A ball bears its weight on a floor however far it rolls in a step: m g h each time, and does not rise.

    Source: Newton's laws. That it turns by more than half a radian, or by many, changes nothing. In the first
    steps a contact settles on its spring and bears by a hundredth more or less.
    """
    for turn in (0.4, 0.5, 0.6, 2.0, 4.0):  # rad a step
        speed = turn * R / h
        scene = topple.Scene(gravity=(0, 0, -G), bodies=[tile("floor", (4000, 2, 1), (0, 0, -0.5))])
        scene.add(rolling_ball(0.0, speed, height=0.0))
        simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=h))
        for _ in range(30):
            simulation.advance(h)
            figure("load, relative", simulation.contacts.impulse[0, 2] / (G * h) - 1.0, 0.02)
            figure("speed upwards", simulation.state.linear_velocity[-1, 2], 0.02 * G * h, "m/s")
