"""Fast bodies and thin walls: nothing passes, however long the step."""

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation

PLATE = topple.Box((0.02, 4.0, 4.0))


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


def random_shape(rng):
    size = rng.uniform(0.05, 0.2)
    return [
        lambda: topple.Box(rng.uniform(0.05, 0.2, 3)),
        lambda: topple.Sphere(size),
        lambda: topple.ConvexHull(rng.normal(size=(20, 3)) * 0.08),
        lambda: topple.Cylinder(size, 2 * size),
        lambda: topple.Capsule(size, size),
        lambda: topple.Cone(size, 2 * size),
    ][rng.integers(6)]()


def thrown(name, place, velocity, rng):
    """A tumbling body of any shape."""
    return topple.Body(
        name,
        random_shape(rng),
        position=place,
        orientation=Rotation.random(random_state=int(rng.integers(1 << 30))).as_quat(scalar_first=True),
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


def crossings(relative):
    """Where the line from frame to frame crosses x = 0 from below: (frame, place in y and z)."""
    for k in np.flatnonzero((relative[:-1, 0] < 0.0) & (relative[1:, 0] > 0.0)):
        part = -relative[k, 0] / (relative[k + 1, 0] - relative[k, 0])
        yield k, (relative[k] + part * (relative[k + 1] - relative[k]))[1:]


@pytest.mark.slow
def test_throws_at_plates(figure, scale):
    """Tumbling bodies of all shapes at 3 to 1000 m/s, each at a plate of 2 cm: none gets through it."""
    passed = 0
    for seed in range(4 * scale):
        rng = np.random.default_rng(seed)
        scene, at = topple.Scene(gravity=(0, 0, 0)), places(50)
        for k, place in enumerate(at):
            scene.add(topple.Body(f"plate {k:02}", PLATE, kind="static", position=place))
            start = place - [rng.uniform(1.0, 6.0), 0, 0]
            scene.add(thrown(f"thrown {k:02}", start, velocity_along_x(rng), rng))
        trajectory = topple.simulate(scene, seconds=0.5, fps=240)
        for k, place in enumerate(at):
            for _, across in crossings(trajectory.position[:, 2 * k + 1] - place):
                passed += np.abs(across).max() < 2.0
    figure(f"of {200 * scale} thrown have passed", passed, 0)


@pytest.mark.slow
def test_throws_at_each_other(figure, scale):
    """Two tumbling bodies that fly at each other: neither gets through the other's middle."""
    passed = 0
    for seed in range(4 * scale):
        rng = np.random.default_rng(1000 + seed)
        scene, at = topple.Scene(gravity=(0, 0, 0)), places(25)
        for k, place in enumerate(at):
            for side, sign in (("a", 1.0), ("b", -1.0)):
                velocity = velocity_along_x(rng)
                way = velocity / abs(velocity[0]) * rng.uniform(0.5, 3.0)
                scene.add(thrown(f"{side} {k:02}", place - sign * way, sign * velocity, rng))
        trajectory = topple.simulate(scene, seconds=0.3, fps=240)
        for k in range(len(at)):
            relative = trajectory.position[:, 2 * k] - trajectory.position[:, 2 * k + 1]
            for _, across in crossings(relative):
                passed += np.linalg.norm(across) < 0.02
    figure(f"of {100 * scale} pairs have passed", passed, 0)
