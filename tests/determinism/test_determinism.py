"""The same scene gives the same bits, every time and in any order of adding."""

import random
import subprocess
import sys

import numpy as np
import pytest
import scenes
import topple

SCENES = {
    "heap": lambda: scenes.rocks_in_box(40),
    "cubes": lambda: scenes.cube_grid(3, 4),
    "stack": lambda: scenes.stack(5),
    "springs": scenes.boxes_on_springs,
}


def shuffled(scene, seed):
    """The same bodies, added in another order."""
    bodies = list(scene.bodies)
    random.Random(seed).shuffle(bodies)
    return topple.Scene(gravity=scene.gravity, bodies=bodies, forces=scene.forces)


@pytest.mark.parametrize("name", SCENES)
def test_same_scene_twice(name):
    """Two runs in one process share nothing that could differ."""
    first, second = (topple.simulate(SCENES[name](), seconds=1.0) for _ in range(2))
    assert first.state_hash == second.state_hash


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("seed", [1, 2])
def test_order_of_adding(name, seed):
    """Bodies added in any order: the same bits for each body, and so the same hash."""
    original = topple.simulate(SCENES[name](), seconds=1.0)
    permuted = topple.simulate(shuffled(SCENES[name](), seed), seconds=1.0)
    columns = [permuted.names.index(body) for body in original.names]
    assert columns != list(range(len(columns)))
    np.testing.assert_array_equal(permuted.position[:, columns], original.position)
    np.testing.assert_array_equal(permuted.orientation[:, columns], original.orientation)
    np.testing.assert_array_equal(permuted.linear_velocity[:, columns], original.linear_velocity)
    np.testing.assert_array_equal(permuted.angular_velocity[:, columns], original.angular_velocity)
    assert permuted.state_hash == original.state_hash


def test_other_process():
    """A fresh interpreter, with its own memory layout and hash seed, gives the same bits."""
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}; import scenes, topple;"
        "print(topple.simulate(scenes.cube_grid(3, 4), seconds=1.0).state_hash)"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.split()[-1] == topple.simulate(scenes.cube_grid(3, 4), seconds=1.0).state_hash


@pytest.mark.parametrize(
    ("build", "solver"),
    [
        (lambda: scenes.cube_grid(3, 4), "impulse"),
        (scenes.boxes_on_springs, "impulse"),
        (lambda: scenes.bouncing_ball(restitution=0.5), "analytic"),
        (lambda: scenes.dominoes(2), "analytic"),
    ],
)
def test_snapshot(build, solver):
    """Going on from a snapshot is going on: a second run from it gives the same bits as the first."""
    simulation = topple.Simulation(build(), solver)
    simulation.advance(0.4)
    snapshot = simulation.snapshot()
    ends = []
    for _ in range(2):
        simulation.restore(snapshot)
        simulation.advance(0.5)
        ends.append((np.array(simulation.state.position), simulation.events))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    assert ends[0][1] == ends[1][1]


@pytest.mark.parametrize("solver", ["impulse", "analytic"])
def test_snapshot_file(solver, tmp_path):
    """Another simulation that goes on from the file ends at the same bits, with the same events."""
    whole, file = topple.Simulation(falling_balls(), solver), tmp_path / "snapshot"
    for _ in range(8):
        whole.advance(1 / 24)
    whole.save_snapshot(file)
    resumed = topple.Simulation(falling_balls(), solver)
    resumed.load_snapshot(file)
    for simulation in (whole, resumed):
        for _ in range(8):
            simulation.advance(1 / 24)
    assert resumed.time == whole.time
    assert resumed.events == whole.events
    for name in whole.state._fields:
        np.testing.assert_array_equal(getattr(resumed.state, name), getattr(whole.state, name))


def test_snapshot_of_what_hardly_moves():
    """Contacts keep what they know of their pairs while these hardly move; so does a snapshot."""
    solver, dice = topple.ImpulseSolver(time_step=1 / 120), scenes.dice(6, 0.05)
    whole, snapshots = topple.Simulation(dice, solver), []
    for frame in range(17):
        snapshots += [whole.snapshot()] if frame in (11, 13, 15) else []
        whole.advance(1 / 24)
    for left, snapshot in zip((6, 4, 2), snapshots, strict=True):
        resumed = topple.Simulation(dice, solver)
        resumed.restore(snapshot)
        for _ in range(left):
            resumed.advance(1 / 24)
        np.testing.assert_array_equal(resumed.state.position, whole.state.position)
        np.testing.assert_array_equal(resumed.state.angular_velocity, whole.state.angular_velocity)


def test_spoiled_snapshots_are_refused(tmp_path, monkeypatch):
    simulation, file = topple.Simulation(falling_balls()), tmp_path / "snapshot"
    simulation.save_snapshot(file)
    with monkeypatch.context() as patch:
        patch.setattr("topple.snapshots.source_hash", lambda: "another")
        with pytest.raises(topple.SceneError, match="another version"):
            simulation.load_snapshot(file)
    whole = file.read_bytes()
    spoiled = [whole[:-100], whole[:8], whole[:4], b"", bytes(4)]
    for place in (0, 4, 11, 12, len(whole) // 2):  # checksum, number of words, content
        spoiled.append(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    for content in spoiled:
        file.write_bytes(content)
        with pytest.raises(topple.SceneError, match="not whole"):
            simulation.load_snapshot(file)


def falling_balls():
    """Balls that fall on each other and on a plane at different times."""
    scene = topple.Scene(bodies=[scenes.ground.plane(restitution=0.6)])
    for i in range(9):
        scene.add(
            topple.Body(
                f"ball_{i}", topple.Sphere(0.1 + 0.01 * i), restitution=0.6,
                position=(0.05 * (i % 3), 0.04 * (i // 3), 0.3 + 0.27 * i),
            )
        )  # fmt: skip
    return scene


ANALYTIC = {
    "balls": falling_balls,
    "dominoes": lambda: scenes.dominoes(2),
    "stack": lambda: scenes.stack(4),
}


@pytest.mark.parametrize("name", ANALYTIC)
def test_analytic_solver(name):
    """Two runs, and one with the bodies added in another order: the same bits and the same events."""
    seconds = 0.4
    original, again = (
        topple.simulate(ANALYTIC[name](), seconds=seconds, solver="analytic") for _ in range(2)
    )
    permuted = topple.simulate(shuffled(ANALYTIC[name](), 1), seconds=seconds, solver="analytic")
    assert permuted.names != original.names
    assert original.state_hash == again.state_hash == permuted.state_hash
    assert original.events == permuted.events
