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


def throws(count, seed):
    """Plates on a grid across x, a tumbling body thrown at each, and the place of each plate."""
    rng = np.random.default_rng(seed)
    scene = topple.Scene(gravity=(0, 0, 0))
    side = int(np.ceil(np.sqrt(count)))
    for k in range(count):
        place = np.array([0.0, 12.0 * (k % side), 12.0 * (k // side)])
        scene.add(topple.Body(f"plate {k:04}", PLATE, kind="static", position=place))
        speed = 10.0 ** rng.uniform(0.5, 3.0)
        direction = np.array([1.0, *rng.uniform(-0.15, 0.15, 2)])
        scene.add(
            topple.Body(
                f"thrown {k:04}",
                random_shape(rng),
                position=place - [rng.uniform(1.0, 6.0), 0, 0],
                orientation=Rotation.random(random_state=int(rng.integers(1 << 30))).as_quat(
                    scalar_first=True
                ),
                linear_velocity=speed * direction / np.linalg.norm(direction),
                angular_velocity=rng.normal(size=3) * rng.uniform(0.0, 60.0),
                restitution=rng.uniform(0.0, 1.0),
                friction=rng.uniform(0.0, 1.0),
            )
        )
    return scene


@pytest.mark.slow
def test_random_throws(figure):
    """Tumbling bodies of all shapes at 3 to 1000 m/s, each at a plate of 2 cm: none gets through."""
    passed = thrown = 0
    for seed in range(4):
        trajectory = topple.simulate(throws(100, seed), seconds=1.5, fps=24)
        bodies = [i for i, name in enumerate(trajectory.names) if name.startswith("thrown")]
        passed += int((trajectory.position[:, bodies, 0].max(axis=0) > 0.0).sum())
        thrown += len(bodies)
    figure(f"of {thrown} thrown have passed", passed, 0)
