"""The guard against passages: what it leaves out cannot pass, and where it takes bodies to, they are."""

import numpy as np
import pytest
import topple
from scenes.shapes import random_orientation
from scipy.spatial.transform import Rotation
from topple import sequence
from topple.collision.pairs import HIGH
from topple.dynamics.body_state import DYNAMIC
from topple.geometry.shape_table import SPHERE
from topple.jit import RUNS_AS_PYTHON
from topple.solvers.impulse_guard import FAST, MAX_ROUNDS, PassageGuard, _Poses, list_fast_pairs

STEP = 1.0 / 240.0  # [s]


def shot(count, size, seed):
    """Boxes and balls of `size` [m] that fly into each other in a box, fast and spinning.

    A tenth of them is heavy: what these hit flies off farther than was planned when contacts were looked for.
    """
    rng = np.random.default_rng(seed)
    scene = topple.Scene(gravity=(0.0, 0.0, -9.81))
    for axis in np.eye(3):
        for side in (1.0, -1.0):
            plane = topple.Plane(side * axis, -5.0 * size)
            scene.add(topple.Body(f"wall {side * axis}", plane, kind="static", restitution=0.5))
    for k in range(count):
        shape = topple.Box((size, size, 0.3 * size)) if k % 2 else topple.Sphere(0.5 * size)
        place = size * (np.array(np.unravel_index(k, (5, 5, 5))) * 1.7 - 3.4)
        scene.add(
            topple.Body(
                f"body {k}",
                shape,
                mass=1000.0 if k % 10 == 0 else 1.0,
                position=place,
                orientation=random_orientation(rng),
                linear_velocity=100.0 * size * rng.normal(size=3),
                angular_velocity=20.0 * rng.normal(size=3),
                restitution=0.5,
            )
        )
    return scene


@pytest.mark.skipif(RUNS_AS_PYTHON, reason="each would take two minutes without compilation")
@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_out_does_not_touch(seed, monkeypatch):
    """Pairs that move far but are known to be farther apart are not met by a look at each along its way."""
    simulation = topple.Simulation(shot(60, 0.02, seed), topple.ImpulseSolver(time_step=STEP))
    p, do = simulation._pipeline, sequence.Runner.do
    listed, left_out = [], []
    p.guard.fast = np.zeros(4096, np.int64)  # room for all

    def do_and_look(runner, call):
        result = do(runner, call)
        if call.kernel is list_fast_pairs and result:
            guard, pairs, mean = p.guard, p.broad_phase.pairs, p.plan.mean
            slots = np.flatnonzero(pairs.collider[: pairs.counter[HIGH], 0] >= 0)
            collider = pairs.collider[slots]
            a, b = guard.colliders.body[collider].T
            speed = np.linalg.norm(mean[a, :3] - mean[b, :3], axis=1) + guard.spin[a] + guard.spin[b]
            fast = STEP * speed > FAST * guard.thickness[collider].min(axis=1)
            others = np.setdiff1d(slots[fast], guard.fast[:result])
            when = guard._first_touch(p.state, pairs.collider[others], STEP, mean, np.ones(len(mean)))
            assert (when == 1.0).all()
            # Of balls it is known how far apart they are: farther than both move.
            a, b = guard.colliders.body[pairs.collider[others]].T
            kind = p.shapes.kind[guard.colliders.shape[pairs.collider[others]]]
            gap = np.linalg.norm(p.state.c[a] - p.state.c[b], axis=1) - 0.02
            balls, speed = (kind == SPHERE).all(axis=1), np.linalg.norm(mean[:, :3], axis=1)
            assert (gap > STEP * (speed[a] + speed[b]))[balls].all()
            listed.append(result)
            left_out.append(len(others))
        return result

    monkeypatch.setattr(sequence, "ENOUGH", np.inf)  # Python calls all kernels
    monkeypatch.setattr(sequence.Runner, "do", do_and_look)
    simulation.advance(0.25)
    assert sum(listed) > 100
    assert sum(left_out) > 100


def stops_of_all(guard, collider, state, h, mean, rounds):
    """What `stop_at_obstacles` finds, with all pairs looked at in each round: parts of the step, by body."""
    own = h * (np.linalg.norm(mean[:, :3], axis=1) + guard.spin)
    thinner = guard.thickness[collider].min(axis=1)
    body, stop = guard.colliders.body[collider], np.ones(len(mean))
    for _ in range(rounds):
        when = guard._first_touch(state, collider, h, mean, stop)
        for k in range(len(collider)):
            for me, other in (body[k], body[k, ::-1]):
                far = own[me] > 0.5 * FAST * thinner[k] or own[me] >= own[other]
                if guard.kind[me] == DYNAMIC and (far or guard.kind[other] != DYNAMIC):
                    stop[me] = min(stop[me], when[k])
    return stop


@pytest.mark.parametrize("seed", [0, 3])
def test_only_pairs_that_go_another_way_are_looked_at_again(seed, monkeypatch):
    """Bodies that stop, and what would have met them, end where they do if all pairs are looked at anew."""
    simulation = topple.Simulation(shot(30, 0.02, seed), topple.ImpulseSolver(time_step=STEP))
    guard, stop_at_obstacles = simulation._pipeline.guard, PassageGuard.stop_at_obstacles
    guard.fast, stopped, more_in_later_rounds = np.zeros(4096, np.int64), [], []  # room for all

    def stop_and_compare(self, found, state, pairs, trace, h, mean):
        fast = pairs.collider[self.fast[:found]]
        stop = stops_of_all(self, fast, state, h, mean, MAX_ROUNDS)
        more_in_later_rounds.append((stop != stops_of_all(self, fast, state, h, mean, 1)).any())
        expected = mean * stop[:, None]
        stopped.append(stop_at_obstacles(self, found, state, pairs, trace, h, mean))
        assert stopped[-1] == (stop < 1.0).sum()
        np.testing.assert_array_equal(mean, expected)
        return stopped[-1]

    monkeypatch.setattr(PassageGuard, "stop_at_obstacles", stop_and_compare)
    simulation.advance(0.02)
    assert max(stopped) > 1
    assert any(more_in_later_rounds)  # or this shows nothing


def test_poses_on_the_way():
    """Poses of moving bodies at any part of the step are those of a turn about a fixed axis, to round-off."""
    simulation = topple.Simulation(shot(30, 0.02, 4), topple.ImpulseSolver(time_step=STEP))
    state, rng = simulation._pipeline.state, np.random.default_rng(4)
    displacement = rng.normal(size=(len(state.c), 6))
    displacement[3, 3:] = 0.0  # does not turn
    body = rng.integers(0, len(state.c), (40, 2))
    poses = _Poses(state, body, displacement, np.ones(len(state.c)), np.ones(len(state.c)))
    some, time = rng.permutation(40)[:30], rng.uniform(size=(30, 2))
    body = body[some]
    c, R = poses.at(some, time)
    way = time.reshape(-1, 1) * displacement[body.reshape(-1)]
    turned = Rotation.from_rotvec(way[:, 3:]).as_matrix() @ state.R[body.reshape(-1)].reshape(-1, 3, 3)
    np.testing.assert_allclose(R.reshape(-1, 3, 3), turned, atol=1e-14)
    from_b = state.c[body] - state.c[body[:, 1], None]
    np.testing.assert_allclose(c.reshape(-1, 3), from_b.reshape(-1, 3) + way[:, :3], atol=1e-14)
