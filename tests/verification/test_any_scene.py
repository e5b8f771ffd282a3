"""What must be so in any scene: nothing in anything, no energy made, the same bits whoever computes them.

A few dozen random scenes at each run; `--scale 20` tries twenty times as many.
"""

import dataclasses
import random

import numpy as np
import pytest
import topple
from scenes.anything import any_scene

FRAMES = 40


def pytest_generate_tests(metafunc):
    metafunc.parametrize("seed", range(24 * metafunc.config.getoption("scale")))


@pytest.fixture
def baked(seed):
    scene, solver = any_scene(seed)
    return scene, solver, topple.simulate(scene, frames=FRAMES, solver=dataclasses.replace(solver, threads=1))


def test_nothing_is_wrong(baked):
    """The independent check finds nothing, unless something animated left a body no room, which is said."""
    scene, _, trajectory = baked
    found = topple.verify(scene, trajectory)
    assert np.isfinite(trajectory.position).all()
    said = trajectory.report.warnings
    if not any("squeezed" in text or "inside" in text for text in said):
        assert [*said, *found.warnings] == []


def test_same_bits_by_two_threads_in_another_order_from_a_file(baked, seed, tmp_path):
    scene, solver, trajectory = baked
    random.Random(seed).shuffle(scene.bodies)
    scene.save(tmp_path / "scene.json")
    loaded = topple.Scene.load(tmp_path / "scene.json")
    again = topple.simulate(loaded, frames=FRAMES, solver=dataclasses.replace(solver, threads=2))
    assert again.state_hash == trajectory.state_hash
    assert sorted(again.events) == sorted(trajectory.events)


def test_goes_on_from_a_snapshot(baked, tmp_path):
    scene, solver, trajectory = baked
    first, second = topple.Simulation(scene, solver), topple.Simulation(scene, solver)
    for _ in first.run(FRAMES // 2, 24):
        pass
    first.save_snapshot(tmp_path / "half")
    second.load_snapshot(tmp_path / "half")
    for _ in second.run(FRAMES - FRAMES // 2, 24):
        pass
    np.testing.assert_array_equal(second.state.position, trajectory.position[-1])
    np.testing.assert_array_equal(second.state.angular_velocity, trajectory.angular_velocity[-1])
