"""Dice and mountains, here and far away: rest, bounce and slide come out alike, with the default settings.

Lengths and gravity are multiplied by the scale, so that times stay; figures are relative to the size.
"""

import numpy as np
import pytest
import topple

G = 9.81
PLACES = [(1e-3, 0.0), (1.0, 0.0), (1e3, 0.0), (1.0, 1e5), (1e-3, 1.0), (1e3, 1e8)]
IDS = ["1e-3", "1", "1e3", "1 at 1e5 m", "1e-3 at 1 m", "1e3 at 1e8 m"]

pytestmark = pytest.mark.parametrize(("scale", "away"), PLACES, ids=IDS)


def simulate(bodies, scale, away, seconds):
    """A floor and bodies (shape, position, velocity, restitution) at scale 1, scaled and moved away.

    Returns:
        Times, and positions of the bodies relative to the scene's middle, divided by the scale.
    """
    middle = np.array([away, -away, 0.5 * away])
    scene = topple.Scene(gravity=(0.0, 0.0, -G * scale))
    floor = topple.Box(scale * np.array([40.0, 40.0, 1.0]))
    place = middle + scale * np.array([0.0, 0.0, -0.5])
    scene.add(topple.Body("floor", floor, kind="static", position=place, restitution=1.0))
    for index, (shape, position, velocity, restitution) in enumerate(bodies):
        scene.add(
            topple.Body(
                f"body_{index:02}", shape, position=middle + scale * np.asarray(position),
                linear_velocity=scale * np.asarray(velocity), restitution=restitution,
            )
        )  # fmt: skip
    trajectory = topple.simulate(scene, seconds=seconds, fps=60)
    return trajectory.times, (trajectory.position[:, 1:] - middle) / scale, trajectory.report


def test_stack_rests(scale, away):
    """Ten cubes stand: they drift by less than 1e-4 of their size in 2 s, and sink in by no more."""
    cube = topple.Box(scale * np.ones(3))
    bodies = [(cube, (0.0, 0.0, 0.5 + level), (0.0, 0.0, 0.0), 0.0) for level in range(10)]
    _, position, report = simulate(bodies, scale, away, 2.0)
    assert np.abs(position - position[0]).max() <= 1e-4
    assert report.max_penetration <= 1e-4 * scale
    assert not report.unresolved


def test_ball_bounces(scale, away):
    """A ball of restitution .81 on a floor of 1 (.9 by the geometric mean) from 1 m: apexes of e^(2k) h.

    Within 1 %, as CASES asks of steps of 1/240 s.
    """
    times, position, _ = simulate(
        [(topple.Sphere(0.1 * scale), (0, 0, 1.1), (0, 0, 0), 0.81)], scale, away, 2.5
    )
    height = position[:, 0, 2] - 0.1
    falls = np.sqrt(2.0 / G)
    first, second = falls * (1.0 + 2.0 * 0.9), falls * (1.0 + 2.0 * 0.9 + 2.0 * 0.81)  # it lands again
    for apex, begin, end in ((0.81, falls, first), (0.81**2, first, second)):
        between = (times > begin) & (times < end)
        # Frames miss an apex by half a frame at most: g (1/120)^2 / 2 m.
        assert abs(height[between].max() - apex) <= 0.01 * apex + 0.5 * G / 120**2


def test_block_slides(scale, away):
    """A block of friction .5 and 2 m/s stops after v^2 / (2 mu g) = .4077 m, within .5 %."""
    block = topple.Box(scale * np.array([1.0, 1.0, 0.2]))
    _, position, _ = simulate([(block, (0, 0, 0.1), (2.0, 0, 0), 0.0)], scale, away, 1.0)
    assert position[-1, 0, 0] == pytest.approx(4.0 / G, rel=5e-3)
    assert np.abs(position[:, 0, 2] - 0.1).max() <= 1e-4
