"""The plot shows the energies that the equations say."""

import numpy as np
import topple
from addon_host.bakes import request, silent
from topple_extension.addon import energy_plot
from topple_extension.addon.bake_job import BakeJob

G, FPS, FRAMES = 9.81, 24.0, 12


def curves_of(scene: topple.Scene) -> energy_plot.EnergyCurves:
    job = BakeJob(request(FRAMES, scene))
    job.run(silent)
    return energy_plot.energy_curves(job.frames, job.scene)


def test_a_spinning_body_falls():
    """Kinetic: 1/2 m (g t)^2 and the spin, 1/2 I w^2; potential: m g times the height above the lowest."""
    mass, edge, spin = 3.0, 0.5, 4.0
    box = topple.Body(
        "box", topple.Box((edge,) * 3), mass=mass, position=(0, 0, 9), angular_velocity=(0, 0, spin)
    )
    floor = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static")
    curves = curves_of(topple.Scene(bodies=[floor, box]))
    time = np.arange(FRAMES + 1) / FPS
    turning = 0.5 * (mass * edge**2 / 6) * spin**2
    np.testing.assert_allclose(curves.kinetic, 0.5 * mass * (G * time) ** 2 + turning, rtol=1e-9)
    fallen = 0.5 * G * time**2
    np.testing.assert_allclose(curves.potential, mass * G * (fallen[-1] - fallen), atol=1e-9)
    np.testing.assert_allclose(curves.total, curves.total[0], rtol=1e-9)


def rows_of(pixels: np.ndarray, name: str, column: int) -> np.ndarray:
    colour = np.array(energy_plot.COLOURS[name], dtype=np.float32)
    return np.flatnonzero((pixels[:, column] == colour).all(axis=1))


def test_curves_lie_at_their_heights():
    """Kinetic energy rises from nothing to the top, potential falls from the top to nothing."""
    curves = energy_plot.EnergyCurves(np.linspace(0.0, 5.0, 100), np.linspace(5.0, 0.0, 100))
    pixels = energy_plot.picture(curves)
    side, half = energy_plot.SIDE, energy_plot.THICKNESS
    assert pixels.shape == (side, side, 4)
    for column in (0, side // 4, side - 1):
        height = column / (side - 1) * (side - 1)
        assert abs(rows_of(pixels, "kinetic", column).mean() - height) <= half + 1
        assert abs(rows_of(pixels, "total", column).mean() - (side - 1)) <= half
    assert abs(rows_of(pixels, "potential", side // 4).mean() - 0.75 * (side - 1)) <= half + 1


def test_a_jump_is_drawn_without_a_gap():
    step = np.repeat([0.0, 1.0], 50)
    pixels = energy_plot.picture(energy_plot.EnergyCurves(step, np.zeros(100)))
    drawn = {int(row) for column in range(energy_plot.SIDE) for row in rows_of(pixels, "total", column)}
    assert drawn == set(range(energy_plot.SIDE))


def test_nothing_moves():
    pixels = energy_plot.picture(energy_plot.EnergyCurves(np.zeros(2), np.zeros(2)))
    assert rows_of(pixels, "total", 5).min() == 0
