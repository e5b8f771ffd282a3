"""Which four of a pair's contact points stand for it: what bears a load stays, whatever trembles."""

import numpy as np
from topple.collision.manifold import MAX_POINTS, add_candidate, manifold_scratch, reduce_candidates
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
