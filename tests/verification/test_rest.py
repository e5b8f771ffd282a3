"""Bodies that stand must go on standing; bodies that overlap must part gently."""

import numpy as np
import pytest
import scenes
import topple


def drift(trajectory, first=0):
    """Largest distance [m] of any body from where it was in frame `first`, over all later frames."""
    return np.linalg.norm(trajectory.position[first:] - trajectory.position[first], axis=2).max()


@pytest.mark.parametrize(
    ("size", "allowed"),
    [
        pytest.param(1.0, 1e-4, id="1 m"),
        pytest.param(0.05, 1e-5, id="5 cm"),
        pytest.param(0.01, 1e-5, id="dice of 1 cm"),
    ],
)
def test_stack_of_ten_stands(size, allowed, figure):
    """Ten cubes on each other are in equilibrium: forces k m g between them, no motion, for 10 s.

    Statics; Blender's Bullet lets the 5 cm stack collapse. Drift of the unit cubes within the solver's
    tolerance of 1e-4 m, of the small ones under 1e-5 m.
    """
    trajectory = topple.simulate(scenes.stack(10, size), seconds=10.0)
    figure(f"drift of cubes of {size:g} m in 10 s", drift(trajectory), allowed, "m")


def test_dice_come_to_rest(figure):
    """Thrown dice lose their energy (e < 1, mu > 0), lie flat after 2 s and then do not creep or turn.

    A die at rest on a face has its centre at half its size; it lies there within the solver's tolerance.
    """
    size = 0.01
    trajectory = topple.simulate(scenes.dice(12, size), seconds=4.0)
    settled = np.searchsorted(trajectory.times, 2.0)
    figure("creep from 2 s to 4 s", drift(trajectory, settled), 1e-5, "m")
    dice = [index for index, name in enumerate(trajectory.names) if name != "floor"]
    np.testing.assert_allclose(trajectory.position[-1, dice, 2], 0.5 * size, atol=1e-4)


@pytest.mark.slow
def test_heavy_cube_on_light_ones(figure):
    """A cube 10^4 times heavier rests on nine light ones: sinks under 1e-4 m in 10 s.

    Statics: equilibrium does not depend on masses (PyBullet, Blender's Bullet and Rapier collapse).
    """
    trajectory = topple.simulate(scenes.heavy_on_light(), seconds=10.0)
    figure("drift in 10 s", drift(trajectory), 1e-4, "m")


@pytest.mark.slow
def test_brick_wall_stands(figure):
    """20 rows of bricks in running bond stand for 3 s: no brick moves by more than 1e-4 m.

    Statics.
    """
    trajectory = topple.simulate(scenes.brick_wall(), seconds=3.0)
    figure("drift in 3 s", drift(trajectory), 1e-4, "m")


@pytest.mark.parametrize("upright", [False, True], ids=["side by side", "upright"])
def test_overlap_at_the_start(upright, figure):
    """Cubes that start 30 % inside each other part without flying, and the report names both.

    Positions are corrected without adding velocity, so none may reach 1 m/s (Blender's Bullet: 14.2 m/s).
    """
    scene = scenes.overlapping_cubes(upright=upright)
    trajectory = topple.simulate(scene, seconds=3.0, fps=240)
    figure("fastest", np.linalg.norm(trajectory.linear_velocity, axis=2).max(), 1.0, "m/s")
    first, second = (trajectory.position[-1, trajectory.names.index(name)] for name in ("first", "second"))
    assert np.abs(second - first).max() >= 1.0 - 1e-4  # unit cubes, still aligned: apart along one axis
    assert any("first" in warning and "second" in warning for warning in trajectory.report.warnings)
