"""Distance, depth and normal of random pairs of all shapes, proven pair by pair.

The separation s with points p_a, p_b and normal n is right if the points belong to the shapes, lie s n
apart, and the support planes along n have the gap s: then no two points are nearer. An overlap is the
smallest where no direction has a smaller one: of polyhedra the hull of all differences tells, of round
shapes many directions and, for some pairs, a search from the best of them.
"""

import itertools

import numpy as np
import pytest
import topple
from scenes.shapes import random_orientation, random_shape, random_turn
from scipy.spatial import ConvexHull as Qhull
from scipy.spatial.transform import Rotation
from topple.verification_solids import Solid, smallest_overlap

KINDS = ["sphere", "box", "capsule", "cylinder", "cone", "hull", "needle"]
PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
POSES = 24  # of each pair of shapes
SEARCHED = 0.02  # part of the overlaps whose smallest direction is searched for
DIRECTIONS = np.random.default_rng(0).normal(size=(400, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]


def poses(one, other, rng):
    """A pose of the second shape, and where the two are, all but touching: 1e-3 to 1e-9 apart or deep."""
    for _ in range(POSES // 2):
        direction = rng.normal(size=3)
        place = direction * rng.uniform(0.0, 1.6) / np.linalg.norm(direction)
        orientation = random_orientation(rng)
        yield place, orientation
        found = topple.closest_points(one, ORIGIN, other, (place, orientation))
        gap = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-9, -3)
        yield place + (found.separation - gap) * found.normal, orientation


ORIGIN = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


def placed(shape, pose) -> Solid:
    return Solid.of(shape).moved(pose[0], Rotation.from_quat(pose[1], scalar_first=True).as_matrix())


def overlaps(a: Solid, b: Solid, directions):
    return a.heights(directions) + b.heights(-directions)


def exact_overlap(a: Solid, b: Solid) -> float:
    """Of two polyhedra, by the hull of all differences of their vertices."""
    return -float(Qhull((a.vertices[:, None] - b.vertices[None]).reshape(-1, 3)).equations[:, 3].max())


def check(one, other, pose, rng) -> tuple[float, float, float]:
    """Errors of the separation, of its points, and of the depth [m]; see the top of this file."""
    found = topple.closest_points(one, ORIGIN, other, pose)
    a, b = placed(one, ORIGIN), placed(other, pose)
    n = np.array(found.normal)
    support_gap = -float(overlaps(a, b, -n[None])[0])
    separation = max(
        abs(support_gap - found.separation),
        np.abs(found.point_a - found.point_b - found.separation * n).max(),
        abs(np.linalg.norm(n) - 1.0),
    )
    beyond = max(
        float((DIRECTIONS @ point - solid.heights(DIRECTIONS)).max())
        for solid, point in ((a, found.point_a), (b, found.point_b))
    )
    depth = 0.0
    if found.separation < 0.0:
        if len(a.normals) and len(b.normals):
            depth = abs(-found.separation - exact_overlap(a, b))
        elif rng.uniform() < SEARCHED:
            depth = abs(-found.separation - smallest_overlap(a, b)[0])
        else:
            depth = max(-found.separation - float(overlaps(a, b, DIRECTIONS).min()), 0.0)
    return separation, max(beyond, 0.0), depth


@pytest.mark.slow
def test_random_pairs(figure, scale):
    """Random pairs of all shapes, apart, overlapping, and 1e-9 to 1e-3 m from contact; sizes about 1 m."""
    rng = np.random.default_rng(5)
    count, errors = 0, []
    for _ in range(3 * scale):
        for one, other in PAIRS:
            a, b = random_shape(one, rng), random_shape(other, rng)
            for pose in poses(a, b, rng):
                errors.append(check(a, b, pose, rng))
                count += 1
    separation, beyond, depth = np.max(errors, axis=0)
    figure(f"separation of {count} pairs", separation, 1e-6, "m")
    figure("depth, where they overlap", depth, 1e-6, "m")
    # A depth good to 1e-10 on a curved surface leaves its point uncertain by the root of that.
    figure("points off the surface", beyond, 2e-4, "m")


def test_swapped_moved_and_scaled(figure):
    """Swapping a and b, moving the world and scaling it give the same separation and the same normal."""
    rng = np.random.default_rng(7)
    worst, turned = 0.0, 0.0
    for one, other in PAIRS:
        a, b = random_shape(one, rng), random_shape(other, rng)
        for pose in poses(a, b, rng):
            found = topple.closest_points(a, ORIGIN, b, pose)
            swapped = topple.closest_points(b, pose, a, ORIGIN)
            turn, shift = random_turn(rng), rng.uniform(-50, 50, 3)
            moved = topple.closest_points(
                a, (shift, turn.as_quat(scalar_first=True)),
                b, (shift + turn.apply(pose[0]),
                    (turn * Rotation.from_quat(pose[1], scalar_first=True)).as_quat(scalar_first=True)),
            )  # fmt: skip
            worst = max(
                worst, abs(swapped.separation - found.separation), abs(moved.separation - found.separation)
            )
            if found.separation > 1e-3:  # deeper, the direction of the smallest overlap need not be unique
                turned = max(
                    turned,
                    np.abs(swapped.normal + found.normal).max(),
                    np.abs(turn.inv().apply(moved.normal) - found.normal).max(),
                )
    figure("separation", worst, 1e-6, "m")
    figure("normal, where apart", turned, 1e-4, "rad")


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("distance", [0.0, 1e5])
def test_sizes_and_places(size, distance, figure):
    """From 1e-3 to 1e3 m, and 1e5 sizes from the origin: the same, as far as coordinates have digits."""
    rng = np.random.default_rng(11)
    place = np.array([1.0, -2.0, 0.5]) * distance * size
    worst = 0.0
    for _ in range(20):
        points = rng.normal(size=(12, 3)) * 0.4
        small = topple.Box((0.5, 0.7, 0.9)), topple.ConvexHull(points)
        large = topple.Box(np.array([0.5, 0.7, 0.9]) * size), topple.ConvexHull(points * size)
        offset, orientation = rng.uniform(-0.8, 0.8, 3), random_orientation(rng)
        expected = topple.closest_points(small[0], ORIGIN, small[1], (offset, orientation)).separation
        found = topple.closest_points(
            large[0], (place, ORIGIN[1]), large[1], (place + offset * size, orientation)
        ).separation
        worst = max(worst, abs(found / size - expected))
    figure("separation, per size", worst, 1e-6 if distance == 0.0 else 1e-9 * distance)
