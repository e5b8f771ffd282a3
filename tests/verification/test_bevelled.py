"""A body with bevelled edges lies on the vertices that touch, not on those of its bevels, farther out."""

import itertools

import numpy as np
import pytest
import topple
from scenes.ground import GRAVITY

SIZE, BEVEL = np.array([0.24, 0.5, 0.2]), 0.014


def bevelled_brick():
    """Corners [m] of a brick whose edges are cut off."""
    half, corners = SIZE / 2.0, []
    for sign in itertools.product((-1.0, 1.0), repeat=3):
        corners += [np.array(sign) * (half - BEVEL * (np.arange(3) != k)) for k in range(3)]
    return topple.ConvexHull(np.array(corners))


def brick_on_floor(**motion):
    floor = topple.Body("floor", topple.Plane((0.0, 0.0, 1.0), 0.0), kind="static")
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY), bodies=[floor])
    scene.add(topple.Body("brick", bevelled_brick(), position=(0.0, 0.0, SIZE[2] / 2.0), **motion))
    return scene


@pytest.mark.parametrize("speed", [0.0, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("turn", [0.0, 2.0])
def test_what_touches_is_a_contact_point(speed, turn):
    """The faster, the higher the vertices that could come down in a step."""
    scene = brick_on_floor(linear_velocity=(speed, 0.0, 0.0), angular_velocity=(0.0, 0.0, turn))
    simulation = topple.Simulation(scene)
    for _ in range(20):
        simulation.advance(1.0 / 240.0)
        pipeline = simulation._pipeline
        low = pipeline.contacts.separation[: pipeline.contact_count] < 1e-4
        assert low.sum() == 4
