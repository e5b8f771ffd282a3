"""Fast bodies and thin walls: nothing passes, however long the step."""

import numpy as np
import pytest
import topple
from scenes.shapes import random_shape, random_turn
from scipy.spatial.transform import Rotation
from topple.verification_solids import Solid

PLATE = topple.Box((0.02, 4.0, 4.0))
KINDS = ["sphere", "box", "capsule", "cylinder", "cone", "hull"]
SIZE = 1.0 / 6.0  # of what is thrown: 5 to 20 cm
MEETING = 0.4  # [s] all have met by then


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("speed", [5.0, 20.0, 60.0, 1000.0])
def test_cube_at_a_plate(speed, restitution, figure):
    """A 10 cm cube thrown at a 2 cm plate stops or bounces in front of it; v' = -e v.

    At 1000 m/s it moves 4.2 m in a default step, forty times its size.
    """
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[
        topple.Body("plate", PLATE, kind="static", restitution=restitution),
        topple.Body("cube", topple.Box((0.1, 0.1, 0.1)), position=(-1.0, 0, 0),
                    linear_velocity=(speed, 0, 0), restitution=restitution),
    ])  # fmt: skip
    trajectory = topple.simulate(scene, seconds=0.5, fps=240)
    figure("depth in the plate", max(trajectory.position[:, 1, 0].max() + 0.05 + 0.01, 0.0), 1e-4, "m")
    figure("velocity after, relative", trajectory.linear_velocity[-1, 1, 0] / speed + restitution, 1e-6)


def thrown(name, place, velocity, time, rng):
    """A tumbling body of any shape; its centre of mass would be at `place` after the time."""
    shape = random_shape(rng.choice(KINDS), rng, SIZE)
    turn = random_turn(rng)
    return topple.Body(
        name,
        shape,
        position=place - time * velocity - turn.apply(shape.mass_properties.center_of_mass),
        orientation=turn.as_quat(scalar_first=True),
        linear_velocity=velocity,
        angular_velocity=rng.normal(size=3) * rng.uniform(0.0, 60.0),
        restitution=rng.uniform(0.0, 1.0),
        friction=rng.uniform(0.0, 1.0),
    )


def places(count):
    """Points far from each other."""
    side = int(np.ceil(np.sqrt(count)))
    return [np.array([0.0, 40.0 * (k % side), 40.0 * (k // side)]) for k in range(count)]


def velocity_along_x(rng):
    direction = np.array([1.0, *rng.uniform(-0.15, 0.15, 2)])
    return 10.0 ** rng.uniform(0.5, 3.0) * direction / np.linalg.norm(direction)


def time_to_meet(speed, rng):
    """When bodies meet of which the fastest has this speed: 1 to 4 m away, and soon enough for the run."""
    return min(rng.uniform(1.0, 4.0) / speed, MEETING)


def simulate_throws(scene, pairs):
    """Centres of mass (frames, bodies, 3), and how many of the pairs of names never touched."""
    trajectory = topple.simulate(scene, seconds=MEETING + 0.1, fps=240)
    met = {frozenset((event.body_a, event.body_b)) for event in trajectory.events}
    centers = trajectory.position.copy()
    for k, body in enumerate(scene.bodies):
        turn = Rotation.from_quat(trajectory.orientation[:, k], scalar_first=True)
        centers[:, k] += turn.apply(body.center_of_mass.copy())  # scipy takes no read-only array
    return centers, sum(frozenset(pair) not in met for pair in pairs)


def crossings(relative):
    """Where the line from frame to frame crosses x = 0 from below: places (k, 2) in y and z."""
    k = np.flatnonzero((relative[:-1, 0] < 0.0) & (relative[1:, 0] > 0.0))
    part = -relative[k, 0] / (relative[k + 1, 0] - relative[k, 0])
    return (relative[k] + part[:, None] * (relative[k + 1] - relative[k]))[:, 1:]


def inner_radius(body):
    """Of the ball about the centre of mass that lies within the body [m]."""
    return Solid.of(body.shape).depth_of(body.center_of_mass)


@pytest.mark.slow
def test_throws_at_plates(figure, scale):
    """Tumbling bodies of all shapes at 3 to 1000 m/s, each at a plate of 2 cm: none gets through it."""
    passed, missed = 0, 0
    for seed in range(4 * scale):
        rng = np.random.default_rng(seed)
        scene, at = topple.Scene(gravity=(0, 0, 0)), places(50)
        for k, place in enumerate(at):
            scene.add(topple.Body(f"plate {k:02}", PLATE, kind="static", position=place))
            velocity = velocity_along_x(rng)
            time = time_to_meet(np.linalg.norm(velocity), rng)
            scene.add(thrown(f"thrown {k:02}", place, velocity, time, rng))
        pairs = [(f"plate {k:02}", f"thrown {k:02}") for k in range(len(at))]
        centers, apart = simulate_throws(scene, pairs)
        missed += apart
        for k, place in enumerate(at):
            passed += (np.abs(crossings(centers[:, 2 * k + 1] - place)) < 2.0).all(axis=1).any()
    figure(f"of {200 * scale} thrown have missed", missed, 0)
    figure(f"of {200 * scale} thrown have passed", passed, 0)


@pytest.mark.slow
def test_throws_at_each_other(figure, scale):
    """Two tumbling bodies whose centres fly at each other: neither gets through the other's middle."""
    passed, missed = 0, 0
    for seed in range(4 * scale):
        rng = np.random.default_rng(1000 + seed)
        scene, at = topple.Scene(gravity=(0, 0, 0)), places(25)
        for k, place in enumerate(at):
            velocities = velocity_along_x(rng), -velocity_along_x(rng)
            time = time_to_meet(np.linalg.norm(velocities, axis=1).max(), rng)
            for side, velocity in zip("ab", velocities, strict=True):
                scene.add(thrown(f"{side} {k:02}", place, velocity, time, rng))
        pairs = [(f"a {k:02}", f"b {k:02}") for k in range(len(at))]
        centers, apart = simulate_throws(scene, pairs)
        missed += apart
        for k in range(len(at)):
            across = crossings(centers[:, 2 * k] - centers[:, 2 * k + 1])
            middle = 0.5 * sum(inner_radius(body) for body in scene.bodies[2 * k : 2 * k + 2])
            passed += (np.linalg.norm(across, axis=1) < middle).any()
    figure(f"of {100 * scale} pairs have missed", missed, 0)
    figure(f"of {100 * scale} pairs have passed", passed, 0)
