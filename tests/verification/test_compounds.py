"""Compounds: several convex shapes on one body."""

import numpy as np
import pytest
import topple

UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def split_box(size):
    """A box as a compound of its halves."""
    x, y, z = size
    half = topple.Box((x / 2, y, z))
    return topple.Compound([(half, (-x / 4, 0, 0), UPRIGHT), (half, (x / 4, 0, 0), UPRIGHT)])


def test_halves_have_the_mass_properties_of_the_whole(figure):
    """Volume, centre and inertia add up (Steiner): two halves of a box make the box."""
    whole, halves = topple.Box((2, 1, 0.5)).mass_properties, split_box((2, 1, 0.5)).mass_properties
    assert halves.volume == pytest.approx(whole.volume, rel=1e-14)
    np.testing.assert_allclose(halves.center_of_mass, 0.0, atol=1e-15)
    error = np.abs(halves.inertia - whole.inertia).max() / whole.inertia.max()
    figure("inertia, relative", error, 1e-14)


def test_halves_slide_like_the_whole(figure):
    """A compound moves as the body it is: a sliding box stops after v^2 / (2 mu g), in halves, too."""
    speed, friction = 2.0, 0.4
    scene = topple.Scene(bodies=[
        topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", friction=friction),
        topple.Body("box", split_box((1, 1, 0.5)), position=(0, 0, 0.25), friction=friction,
                    linear_velocity=(speed, 0, 0)),
    ])  # fmt: skip
    trajectory = topple.simulate(scene, seconds=1.0)
    expected = speed**2 / (2 * friction * 9.81)
    figure("distance, relative", trajectory.position[-1, 1, 0] / expected - 1.0, 5e-3)


def test_table_stands(figure):
    """A table top on four legs, and a ball under it: concave, in equilibrium, the ball untouched."""
    legs = [(topple.Box((0.1, 0.1, 0.9)), (x, y, -0.5), UPRIGHT) for x in (-0.9, 0.9) for y in (-0.4, 0.4)]
    table = topple.Compound([(topple.Box((2, 1, 0.1)), (0, 0, 0), UPRIGHT), *legs])
    scene = topple.Scene(bodies=[
        topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static"),
        topple.Body("table", table, position=(0, 0, 0.95)),
        topple.Body("ball", topple.Sphere(0.3), position=(0, 0, 0.3)),
    ])  # fmt: skip
    trajectory = topple.simulate(scene, seconds=3.0)
    drift = np.linalg.norm(trajectory.position - trajectory.position[0], axis=2).max()
    figure("drift in 3 s", drift, 1e-4, "m")
    assert topple.verify(scene, trajectory).max_penetration < 1e-4
