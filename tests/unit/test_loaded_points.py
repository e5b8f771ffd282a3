"""Which four of a pair's contact points stand for it: what bears a load, and what comes down in the step."""

import numpy as np
import topple
from topple.collision.manifold import MAX_POINTS, add_candidate, foresee, manifold_scratch, reduce_candidates
from topple.jit import kernel

SLACK = 1e-4  # [m]
UP = (0.0, 0.0, 1.0)


@kernel
def choose(scratch, feature, impulse, feature_count, slack):
    """Reduce the candidates of a pair of the size of 1 m; returns how many are left."""
    return reduce_candidates(scratch, feature, impulse, feature_count, 0.05 * slack, slack, 1.0)


@kernel
def enter(scratch, place, separation):
    """Enter a candidate for each place (m, 3), its number for a feature."""
    scratch.count[0] = 0
    for i in range(place.shape[0]):
        add_candidate(scratch, (place[i, 0], place[i, 1], place[i, 2]), UP, separation[i], i)
        scratch.lowest[i] = separation[i]


def test_points_that_bear_a_load_stay_while_two_cubes_rock():
    """Two cubes touch along one side, at points 0 to 2; farther out, at 3 to 5, they are .1 mm apart."""
    random = np.random.default_rng(4)
    place = np.array(
        [(0.31, 0.5, 0), (0.45, 0.5, 0), (-0.41, -0.02, 0), (0.5, -0.5, 0), (-0.07, -0.5, 0), (0.4, -0.5, 0)]
    )
    scratch = manifold_scratch(4, 8)
    feature, impulse, count = np.zeros(MAX_POINTS, np.int64), np.zeros((MAX_POINTS, 3)), np.int64(0)
    touching, seen = {0, 1, 2}, set()
    for _ in range(200):
        depth = random.uniform(-1e-5, 2e-6, 3)
        separation = np.array([*depth, 1e-4, 7e-5, 9e-5])
        enter(scratch, place, separation)
        loaded = {int(f) for f, p in zip(feature[:count], impulse, strict=False) if p.any()}
        count = choose(scratch, feature, impulse, count, SLACK)
        chosen = scratch.chosen[:count].tolist()
        assert count == MAX_POINTS == len(set(chosen))
        assert separation[chosen].min() <= separation.min() + 0.05 * SLACK
        assert loaded <= set(chosen)
        feature[:count] = scratch.feature[chosen]
        impulse[:] = 0.0
        impulse[[k for k, i in enumerate(chosen) if i in touching], 2] = 1.0
        seen |= touching & set(chosen)
    assert seen == touching <= set(chosen)


def test_one_that_is_deeper_takes_the_place_of_a_loaded_one():
    """Where four bear a load and a fifth is the deepest by far, it is chosen."""
    place = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 0)], float)
    scratch = manifold_scratch(4, 8)
    enter(scratch, place, np.array([0.0, 0.0, 0.0, 0.0, -0.5 * SLACK]))
    impulse = np.ones((MAX_POINTS, 3))
    count = choose(scratch, np.arange(MAX_POINTS), impulse, np.int64(MAX_POINTS), SLACK)
    assert 4 in scratch.chosen[:count]


@kernel
def look_ahead(scratch, center, ahead):
    """Foresee the motion of body 0, whose centre lies there, over body 1."""
    foresee(scratch, (center[0], center[1], center[2]), np.int64(0), np.int64(1), ahead, False)


def test_what_comes_down_and_what_touches_are_both_chosen():
    """Corners of a coin over a floor, one of which touches, while it turns: 200 ways."""
    random, angle = np.random.default_rng(5), np.arange(24) * np.pi / 12
    scratch, center = manifold_scratch(24, 48), np.array([0.0, 0.0, 0.05])
    nothing, others = (np.zeros(MAX_POINTS, np.int64), np.zeros((MAX_POINTS, 3))), 0
    for _ in range(200):
        tilt, ahead = random.uniform(-0.02, 0.02, 2), np.zeros((2, 6))
        ahead[0] = random.uniform(-0.02, 0.02, 6)
        place = np.stack([np.cos(angle), np.sin(angle), np.zeros(24)], axis=1)
        separation = place[:, :2] @ tilt
        separation -= separation.min()
        place[:, 2] = separation
        enter(scratch, place, separation)
        look_ahead(scratch, center, ahead)
        chosen = scratch.chosen[: choose(scratch, *nothing, np.int64(0), SLACK)]
        way = ahead[0, :3] + np.cross(ahead[0, 3:], place - center)
        lowest = separation + np.minimum(way[:, 2], 0.0)
        np.testing.assert_allclose(scratch.lowest[:24], lowest, atol=1e-15)
        assert lowest[chosen].min() <= lowest.min() + SLACK
        assert separation[chosen].min() <= 0.05 * SLACK
        others += lowest.argmin() != separation.argmin()
    assert others > 100


def test_a_coin_that_wobbles_is_hardly_ever_put_right():
    """A faceted coin is thrown onto a floor: the corners that come down in a step are known in time."""
    angle = np.arange(48) * np.pi / 24
    rim = np.stack([0.7 * np.cos(angle), 0.7 * np.sin(angle), np.full(48, 0.1)], axis=1)
    coin, rounds = topple.ConvexHull(np.concatenate([rim, rim * (1, 1, -1)])), 0
    for seed in (3, 7, 8):
        random = np.random.default_rng(seed)
        turn, pushed = random.normal(size=4), random.normal(0, (1, 1, 1, 3, 3, 3))
        scene = topple.Scene()
        scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static"))
        scene.add(
            topple.Body(
                "coin", coin, position=(0, 0, 1.6), orientation=turn / np.linalg.norm(turn),
                linear_velocity=pushed[:3], angular_velocity=pushed[3:],
            )
        )  # fmt: skip
        simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=1 / 240))
        pipeline = simulation._pipeline
        move_apart = pipeline.move_apart

        def count(h, move_apart=move_apart):
            nonlocal rounds
            rounds += 1
            move_apart(h)

        pipeline.move_apart = count
        simulation.advance(2.0)
    assert rounds <= 15
