"""Bodies that touch nothing move on parabolas, whatever the step."""

import numpy as np
import pytest
import scenes
import topple

G = 9.81
# 0.0137 s does not divide a frame, 0.1 s is longer than one.
TIME_STEPS = [1e-3, 1 / 240, 0.0137, 1 / 24, 0.1]


@pytest.mark.parametrize("time_step", TIME_STEPS)
@pytest.mark.parametrize("velocity", [(0.0, 0.0, 0.0), (5.0, 0.0, 10.0)], ids=["dropped", "thrown"])
def test_parabola(time_step, velocity, figure):
    """x = x0 + v0 t + g t^2 / 2 and v = v0 + g t, exactly for constant g at any step size.

    Source: Galilei 1638; 1999 course notes, 2-1 (the equations of motion). The tolerance is round-off.
    """
    scene = scenes.free_fall(height=5.0, velocity=velocity)
    solver = topple.ImpulseSolver(time_step=time_step)
    trajectory = topple.simulate(scene, seconds=1.0, fps=24, solver=solver)

    t = trajectory.times[:, None]
    np.testing.assert_allclose(trajectory.times, np.arange(25) / 24, rtol=1e-14)
    gravity = np.array([0.0, 0.0, -G])
    position = [0.0, 0.0, 5.0] + np.array(velocity) * t + 0.5 * gravity * t**2
    scale = np.abs(position).max()
    figure("position, relative", np.abs(trajectory.position[:, 0] - position).max() / scale, 1e-12)
    error = trajectory.linear_velocity[:, 0] - (np.array(velocity) + gravity * t)
    figure("velocity, relative", np.abs(error).max() / G, 1e-12)


def test_centre_of_mass_and_not_the_origin_follows_the_parabola():
    """A turning body's origin circles its centre of mass; `linear_velocity` is the centre's.

    Source: the centre of mass moves as if all forces acted there (1999 course notes, 2-29).
    """
    corner_box = topple.ConvexHull([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    scene = topple.Scene(gravity=(0.0, 0.0, -G))
    body = scene.add(
        topple.Body("box", corner_box, linear_velocity=(1.0, 0.0, 5.0), angular_velocity=(0.0, 3.0, 0.0))
    )
    trajectory = topple.simulate(scene, seconds=1.0)

    np.testing.assert_allclose(body.center_of_mass, [0.5, 0.5, 0.5], rtol=1e-14)
    t = trajectory.times
    center = np.column_stack([0.5 + t, 0.5 + 0 * t, 0.5 + 5.0 * t - 0.5 * G * t**2])
    # A cube's inertia is isotropic, so it turns about y at 3 rad/s: Ry(angle) (0.5, 0.5, 0.5).
    angle = 3.0 * t
    offset = 0.5 * np.column_stack(
        [np.cos(angle) + np.sin(angle), np.ones_like(t), np.cos(angle) - np.sin(angle)]
    )
    np.testing.assert_allclose(trajectory.position[:, 0], center - offset, atol=1e-11)
