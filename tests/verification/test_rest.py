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
@pytest.mark.parametrize("time_step", [1 / 240, 1e-3], ids=["1/240 s", "1 ms"])
def test_heavy_cube_on_light_ones(time_step, figure):
    """A cube 10^4 times heavier rests on nine light ones: sinks under 1e-4 m in 10 s.

    Statics: equilibrium does not depend on masses (PyBullet, Blender's Bullet and Rapier collapse).
    """
    solver = topple.ImpulseSolver(time_step=time_step)
    trajectory = topple.simulate(scenes.heavy_on_light(), seconds=10.0, solver=solver)
    figure(f"drift in 10 s, steps of {time_step:.2g} s", drift(trajectory), 1e-4, "m")


@pytest.mark.slow
@pytest.mark.parametrize("count", [25, 101])
def test_arch_stands(count, figure):
    """An arch of stones with friction .5 stands for 20 s: no stone moves by more than 1e-3 m.

    Statics: a line of thrust fits into an arch thicker than .107 of its radius; this one has .2.
    """
    trajectory = topple.simulate(scenes.arch(count), seconds=20.0)
    figure(f"drift of {count} stones in 20 s", drift(trajectory), 1e-3, "m")


def test_sleeping_changes_nothing():
    """A stack that sleeps wakes as a ball flies at it, and falls as one that never slept.

    What sleeps is what the solver would hold at rest in every step anyway, so nothing but the last digits
    of its orientation may differ: 1e-9 m after the first second, before anything flew at it.
    """
    ends = {}
    for sleeping in (True, False):
        scene = scenes.stack(3)
        scene.add(
            topple.Body(
                "ball",
                topple.Sphere(0.3),
                mass=2000.0,
                position=(-8.0, 0.0, 2.5),
                linear_velocity=(5.0, 0.0, 6.0),
            )
        )
        trajectory = topple.simulate(scene, seconds=3.0, solver=topple.ImpulseSolver(sleeping=sleeping))
        cubes = [trajectory.names.index(f"cube_{level:03}") for level in range(3)]
        ends[sleeping] = trajectory.position[:, cubes]
    np.testing.assert_allclose(ends[True][:24], ends[False][:24], atol=1e-9, rtol=0.0)
    assert np.abs(ends[True][-1] - ends[True][0]).max() > 0.01, "the ball moved nothing"
    np.testing.assert_allclose(ends[True][-1], ends[False][-1], atol=1e-3, rtol=0.0)


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
