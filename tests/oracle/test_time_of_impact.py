"""When moving shapes meet: along one plane, and altogether, against dense sampling of support functions."""

import itertools

import numpy as np
import pytest
import topple
from scenes.shapes import random_orientation, random_shape
from scipy.spatial.transform import Rotation
from topple.collision.time_of_impact import advance_along
from topple.geometry.shape_table import build_shape_table
from topple.verification_solids import Solid, smallest_overlap

KINDS = ["sphere", "box", "capsule", "cylinder", "cone", "hull"]
PAIRS = list(itertools.combinations(KINDS, 2))


def throw(rng: np.random.Generator):
    """Poses and twists of two shapes about 3 m apart that fly at each other and turn."""
    poses = [(np.array([x, *rng.uniform(-0.2, 0.2, 2)]), random_orientation(rng)) for x in (3.0, 0.0)]
    twists = [(np.array([v, 0.0, 0.0]), rng.normal(size=3) * 3.0) for v in (-2.0, 1.0)]
    return poses, twists


def placed(shape, pose, twist, time) -> Solid:
    turned = Rotation.from_rotvec(twist[1] * time) * Rotation.from_quat(pose[1], scalar_first=True)
    return Solid.of(shape).moved(pose[0] + time * twist[0], turned.as_matrix())


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_gap_along_a_direction(one, other):
    """The gap n . x_a - h_a(-n) - n . x_b - h_b(n) is `accuracy` at the time found, and wider before."""
    rng = np.random.default_rng(KINDS.index(one) * 10 + KINDS.index(other))
    shapes = random_shape(one, rng), random_shape(other, rng)
    poses, twists = throw(rng)
    n = np.array([1.0, *rng.uniform(-0.2, 0.2, 2)])
    n /= np.linalg.norm(n)

    def gap(time: float) -> float:
        a, b = (placed(*all_of, time) for all_of in zip(shapes, poses, twists, strict=True))
        return -float(a.heights(-n[None])[0] + b.heights(n[None])[0])

    table, colliders, _ = build_shape_table([(shape, np.zeros(3), np.eye(3)) for shape in shapes])
    columns = [np.array([row[k] for row in rows]) for rows in (poses, twists) for k in (0, 1)]
    bound = table.bound[colliders.shape]
    time = advance_along(table, colliders.shape, *columns, bound, n, 0.0, 3.0, 1e-9)
    assert 0.0 <= gap(time) <= 1e-9
    assert min(gap(t) for t in np.linspace(0.0, time, 100)[:-1]) > 0.0
    assert advance_along(table, colliders.shape, *columns, bound, n, 0.0, 0.9 * time, 1e-9) == np.inf


@pytest.mark.parametrize(("one", "other"), PAIRS[::3])
def test_first_touch(one, other):
    """At the time found the shapes touch to 1e-9 of their size, and at no time before."""
    rng = np.random.default_rng(KINDS.index(one) * 10 + KINDS.index(other))
    shapes = random_shape(one, rng), random_shape(other, rng)
    poses, twists = throw(rng)

    def separation(time: float) -> float:
        a, b = (placed(*all_of, time) for all_of in zip(shapes, poses, twists, strict=True))
        return -smallest_overlap(a, b)[0]

    a, b = ((shape, pose, twist) for shape, pose, twist in zip(shapes, poses, twists, strict=True))
    time = topple.time_of_impact(*a, *b, 3.0)
    assert time is not None
    assert abs(separation(time)) < 2e-9
    assert min(separation(t) for t in np.linspace(0.0, time, 12)[:-1]) > 0.0
