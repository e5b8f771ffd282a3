"""Physics does not know the unit of length, the origin, or which way x points.

Runs are short and land on corners only a few times, so that round-off stays far below the tolerance.
The solver stops at a penetration of 1e-4 m, which leaves speeds open to 1e-4 m * 480 / s = 0.05 m/s in a
contact; they are compared to a fiftieth of that.
"""

import math

import numpy as np
import pytest
import scenes
import topple
from scipy.spatial.transform import Rotation

GRAVITY = 9.81


def tumbling(*, scale=1.0, turn=0.0, shift=(0.0, 0.0, 0.0)):
    """A box thrown on the floor at an angle and a ball that rolls, scaled, turned about z and shifted.

    Lengths, velocities and gravity are multiplied by `scale`, so that times stay.
    """
    about_z = Rotation.from_rotvec([0.0, 0.0, turn])

    def placed(name, shape, position, velocity, orientation=(0.0, 0.0, 0.0), **options):
        x, y, z, w = (about_z * Rotation.from_rotvec(orientation)).as_quat()
        return topple.Body(
            name,
            shape,
            position=scale * about_z.apply(position) + shift,
            orientation=(w, x, y, z),
            linear_velocity=scale * about_z.apply(velocity),
            restitution=0.3,
            friction=0.4,
            **options,
        )

    floor = topple.Box(scale * np.array([40.0, 40.0, 1.0]))
    brick = topple.Box(scale * np.array([1.0, 0.6, 0.4]))
    rest = (0.0, 0.0, 0.0)
    return topple.Scene(
        gravity=(0.0, 0.0, -GRAVITY * scale),
        bodies=[
            placed("floor", floor, (0.0, 0.0, -0.5), rest, kind="static"),
            placed("brick", brick, (0.0, 0.0, 1.0), (1.0, 0.4, 0.0), (0.5, 0.3, 0.2)),
            placed("ball", topple.Sphere(0.3 * scale), (3.0, 0.0, 0.3), (2.0, 1.0, 0.0)),
        ],
    )


def run(scene, scale=1.0):
    """One second with a tolerance that scales with the scene."""
    solver = topple.ImpulseSolver(time_step=1 / 480, tolerance=1e-4 * scale)
    return topple.simulate(scene, seconds=1.0, solver=solver)


@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1e2, 1e3])
def test_scale(scale):
    """Lengths and gravity times s: the same motion, times s (dimensional analysis: L / (g T^2) is kept).

    A tolerance or threshold that is absolute in length, velocity or mass breaks this.
    """
    original, scaled = run(tumbling()), run(tumbling(scale=scale), scale)
    np.testing.assert_allclose(scaled.position / scale, original.position, atol=1e-6)
    np.testing.assert_allclose(scaled.orientation, original.orientation, atol=1e-6)
    np.testing.assert_allclose(scaled.linear_velocity / scale, original.linear_velocity, atol=1e-3)


@pytest.mark.parametrize("turn", [0.0, math.pi / 2, 0.7])
@pytest.mark.parametrize("shift", [(0.0, 0.0, 0.0), (3.0, -2.0, 5.0)], ids=["here", "elsewhere"])
def test_rigid_transform(turn, shift):
    """The scene turned about the vertical and moved elsewhere: the same motion, turned and moved.

    A friction cone or a box test that favours the world's axes breaks this.
    """
    original, moved = run(tumbling()), run(tumbling(turn=turn, shift=shift))
    about_z = Rotation.from_rotvec([0.0, 0.0, turn]).as_matrix()
    np.testing.assert_allclose(moved.position, original.position @ about_z.T + shift, atol=1e-6)
    np.testing.assert_allclose(moved.linear_velocity, original.linear_velocity @ about_z.T, atol=1e-3)
    np.testing.assert_allclose(moved.angular_velocity, original.angular_velocity @ about_z.T, atol=1e-3)


def heap_of_rocks(factor):
    """Where rocks lie, all of them so many times as heavy, and whether any sweep took eight at a time."""
    source, scene = scenes.rocks_in_box(60), topple.Scene()
    for b in source.bodies:
        mass = {"mass": factor * b.mass} if b.is_movable else {}
        scene.add(
            topple.Body(
                b.name,
                b.shape,
                kind=b.kind,
                position=b.position,
                orientation=b.orientation,
                linear_velocity=b.linear_velocity,
                restitution=b.restitution,
                friction=b.friction,
                **mass,
            )
        )
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=1e-3, sleeping=False, threads=1))
    pipeline, eight_at_a_time = simulation._pipeline, False
    for _ in range(1100):
        pipeline.step(1e-3)
        eight_at_a_time = eight_at_a_time or pipeline.packed.batches.row[0].any()
    return pipeline.state.c, eight_at_a_time


@pytest.mark.slow
def test_masses_times_a_power_of_two_move_alike_to_the_bit():
    """Impulse: the range of single precision, in which heaps are swept, is large enough for 1e-12 to 1e12."""
    found, eight_at_a_time = heap_of_rocks(1.0)
    assert eight_at_a_time
    for factor in (2.0**-40, 2.0**40):
        np.testing.assert_array_equal(heap_of_rocks(factor)[0], found)
