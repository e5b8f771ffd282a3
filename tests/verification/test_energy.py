"""No step of the impulse solver makes energy, at its default settings."""

import math

import numpy as np
import pytest
import scenes
import topple


def coin() -> topple.Scene:
    """A coin of 20 cm that stands on its rim at 30 degrees and spins upright at 20 rad/s."""
    tilt, radius, thickness = math.radians(30), 0.1, 0.01
    body = topple.Body(
        "coin", topple.Cylinder(radius, thickness), friction=0.5, angular_velocity=(0, 0, 20.0),
        position=(0, 0, radius * math.sin(tilt) + 0.5 * thickness * math.cos(tilt)),
        orientation=(math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0),
    )  # fmt: skip
    return topple.Scene(bodies=[scenes.ground.plane(), body])


def needle() -> topple.Scene:
    """A needle of 1 m and 2 mm thrown at a floor, spinning."""
    body = topple.Body(
        "needle", topple.Box((1.0, 0.002, 0.002)), mass=0.03, position=(0, 0, 0.6), restitution=0.3,
        orientation=(0.9, 0.1, 0.3, 0.2), angular_velocity=(3.0, 1.0, 2.0),
    )  # fmt: skip
    return topple.Scene(bodies=[scenes.ground.floor(), body])


def spun_stack() -> topple.Scene:
    """Five cubes on each other, the lowest of which is pushed from under them."""
    scene = scenes.stack(5)
    scene.add(
        topple.Body("ball", topple.Sphere(0.4), mass=3000.0, position=(-2.0, 0.2, 0.5), restitution=0.5,
                    linear_velocity=(8.0, 0.0, 0.0))
    )  # fmt: skip
    return scene


@pytest.mark.parametrize(
    ("scene", "seconds", "allowed"),
    [
        pytest.param(coin, 2.0, 1e-9, id="coin"),
        pytest.param(scenes.euler_disk, 1.0, 1e-9, id="Euler's disk"),
        pytest.param(scenes.tippe_top, 1.0, 1e-9, id="tippe top"),
        pytest.param(lambda: scenes.dominoes(6), 2.0, 1e-5, id="dominoes"),
        pytest.param(scenes.overbalanced_stack, 2.0, 1e-5, id="bricks that fall over"),
        pytest.param(lambda: scenes.dice(12), 1.0, 1e-5, id="dice"),
        pytest.param(spun_stack, 2.0, 1e-5, id="stack that is hit"),
        pytest.param(needle, 1.0, 1e-5, id="needle"),
    ],
)
def test_energy_never_rises(scene, seconds, allowed, figure):
    """No step makes energy: contact forces do no work, friction and impacts take some.

    Under 1e-9 of it in each step of 1/240 s while a body rolls. What has come to rest has no speed to take
    from, and the springs of its contacts, .05 of the tolerance of 1e-4 m long, may lift it by what they give
    back: under 1e-5 of bodies that lie .5 m high.
    """
    simulation = topple.Simulation(scene())
    energy, rests = [simulation.energy()], []
    for _ in range(round(240 * seconds)):
        simulation.advance(1 / 240)
        energy.append(simulation.energy())
        state = simulation.state
        rests.append(not (state.linear_velocity.any() or state.angular_velocity.any()))
    rise, rests = np.maximum(np.diff(energy), 0.0) / abs(energy[0]), np.array(rests)
    figure("rise of the energy in a step, relative", rise[~rests].max(), allowed)
    if rests.any():
        figure("in a step that ends at rest, relative", rise[rests].max(), 1e-5)
    assert simulation.report.max_penetration < 1e-4


@pytest.mark.parametrize(
    ("orientation", "spin", "velocity"),
    [
        ((1.5, 1.5, -2.0, -0.3), (-24.0, 21.0, -91.0), (0.6, 0.5, -0.7)),
        ((1.4, -0.7, -0.2, 1.7), (5.0, 43.0, -16.0), (-0.1, 0.0, 0.1)),
    ],
)
def test_pin_that_spins_wildly_gains_nothing(orientation, spin, velocity, figure):
    """A pin of 22 mm that turns by more than a radian in a step of 1/60 s is not lifted beyond its energy.

    Its ends come up from the floor faster than contacts can foresee. No step adds more than springs may give
    back, .05 of the tolerance times its weight.
    """
    pin = topple.Body(
        "pin", topple.Cylinder(0.0005, 0.022), mass=1e-3, position=(0, 0, 0.03), friction=0.5,
        orientation=np.array(orientation) / np.linalg.norm(orientation), angular_velocity=spin,
        linear_velocity=velocity,
    )  # fmt: skip
    scene = topple.Scene(bodies=[scenes.ground.floor(friction=0.5), pin])
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=1 / 60))
    energy, tolerance = [simulation.energy()], 1e-3 * math.hypot(0.011, 0.0005)  # a thousandth of its size
    for _ in range(40):
        simulation.advance(1 / 60)
        energy.append(simulation.energy())
    figure("rise of the energy in a step, in tolerances", np.diff(energy).max() / (9.81e-3 * tolerance), 0.05)
    assert simulation.report.max_penetration < tolerance


def test_tippe_top_turns_over(figure):
    """The tippe top of Leine & Glocker 2003, figure 12, goes on its stem within 8 s.

    Its stem's ball touches at acos((r2 - r1) / (a2 - a1)) = acos(-10/13).
    """
    trajectory = topple.simulate(scenes.tippe_top(), seconds=8.0)
    _, x, y, _ = trajectory.orientation[:, trajectory.names.index("top")].T
    figure("height of the stem", 1.0 + (1.0 - 2.0 * (x * x + y * y)).min(), 1.0 - 10.0 / 13.0)
