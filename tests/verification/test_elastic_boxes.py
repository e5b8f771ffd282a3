"""Boxes that tumble and bounce without loss: nothing but round-off may take their energy, whatever the step.

What turns collides with the angular velocity that its momentum then gives it, at the point that is there
then, and again in the same step; and what is not touched is not pushed.
"""

import numpy as np
import pytest
import topple
from topple import Body, Box, ImpulseSolver, Plane, Scene

SIZE = (0.3, 0.2, 0.1)
WALLS = [(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)]


def tumbling(rng, name, position, spin, speed=0.0):
    """A box at random that spins [rad/s] and flies [m/s]."""
    w, q = rng.normal(size=3), rng.normal(size=4)
    w, q, v = spin * w / np.linalg.norm(w), q / np.linalg.norm(q), speed * rng.normal(size=3)
    return Body(
        name, Box(SIZE), mass=1.0, position=position, orientation=tuple(q), angular_velocity=tuple(w),
        linear_velocity=tuple(v), restitution=1.0, friction=0.0,
    )  # fmt: skip


def wall(name, normal, offset):
    """A wall that bounces."""
    return Body(name, Plane(normal, offset), kind="static", restitution=1.0, friction=0.0)


def lost(bodies, seconds, time_step, gravity):
    """Part of the energy that a run loses."""
    scene = Scene(gravity=(0.0, 0.0, -gravity), bodies=bodies)
    simulation = topple.Simulation(scene, ImpulseSolver(time_step=time_step))
    before = simulation.energy()
    simulation.advance(seconds)
    return 1.0 - simulation.energy() / before


@pytest.mark.parametrize(("time_step", "limit"), [(1 / 60, 2e-2), (1 / 240, 1e-4), (1e-3, 1e-4)])
def test_box_that_bounces_on_its_corners(time_step, limit, figure):
    """A box that spins by 12 rad/s falls and bounces for 5 s: with e = 1 and no friction its energy stays.

    At 1/60 s it turns by up to one radian a step and may get too deep to be followed: such a step ends early,
    which costs some. That limit was measured (.3 % in the mean of 60 boxes); before, it was 12 %.
    """
    seconds = 5.0 if time_step > 2e-3 else 2.0
    floor, losses = wall("floor", (0.0, 0.0, 1.0), 0.0), []
    for seed in range(16):
        box = tumbling(np.random.default_rng(seed), "box", (0.0, 0.0, 1.0), 12.0)
        losses.append(lost([floor, box], seconds, time_step, 9.81))
    figure("energy lost, mean", np.mean(losses), limit)
    assert min(losses) > -1e-9 * seconds / time_step  # a step


@pytest.mark.parametrize("gravity", [0.0, 9.81])
@pytest.mark.parametrize(("time_step", "limit"), [(1 / 60, 5e-2), (1 / 240, 4e-3)])
def test_box_full_of_elastic_boxes(time_step, limit, gravity, figure):
    """30 boxes in one of 2 m, without loss, for 2.5 s: some touch several others in a step, and keep it.

    Limits are measured: ten such scenes lose at most 1.6 % at 1/60 s and .34 % at 1/240 s, in the mean
    1.1 and .04 % with gravity, .09 and .03 % without. Before, it was 14 and 1 %, 2.7 and .15 %.
    """
    rng = np.random.default_rng(2)
    bodies = [wall(f"wall {i}", normal, -1.0) for i, normal in enumerate(WALLS)]
    bodies += [wall("floor", (0.0, 0.0, 1.0), 0.0), wall("ceiling", (0.0, 0.0, -1.0), -2.0)]
    for i in range(30):
        position = -0.6 + 0.4 * (i % 4), -0.6 + 0.4 * (i // 4 % 4), 0.4 + 0.4 * (i // 16)
        bodies.append(tumbling(rng, f"box {i}", position, 5.0, 1.0))
    loss = lost(bodies, 2.5, time_step, gravity)
    figure("energy lost", loss, limit)
    assert loss > -1e-9 * 2.5 / time_step  # a step
