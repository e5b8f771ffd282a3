"""Distance, depth and normal of random pairs of all shapes, proven pair by pair.

The separation s with points p_a, p_b and normal n is right if the points belong to the shapes, lie s n
apart, and the support planes along n have the gap s: then no two points are nearer. If that gap is s - e,
n is within sqrt(2 e / s) of the true normal, for s is the largest gap and gap(n) <= s cos(angle). Closer than
FAR_ENOUGH, where round-off leaves more of that, a pair is pulled apart along n: a true normal stays the same.

An overlap is the smallest where no direction has a smaller one: of polyhedra the hull of all differences
tells, of round shapes many directions and, for some pairs, a search from the best of them. What is found
along any direction is at least the depth, so a search can only show that a depth is too large.
"""

import itertools
from typing import NamedTuple

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
FAR_ENOUGH = 1e-5  # [m] from where on round-off of a gap, 1e-14 m, turns a normal by less than 1e-4
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


def placed(solid: Solid, pose) -> Solid:
    return solid.moved(pose[0], Rotation.from_quat(pose[1], scalar_first=True).as_matrix())


def overlaps(a: Solid, b: Solid, directions):
    return a.heights(directions) + b.heights(-directions)


def facets(a: Solid, b: Solid):
    """Of the hull of all differences of two polyhedra's vertices: outward normals and distances."""
    equations = Qhull((a.vertices[:, None] - b.vertices[None]).reshape(-1, 3)).equations
    return equations[:, :3], -equations[:, 3]


class Errors(NamedTuple):
    """Of one pair of shapes at one pose; see the top of this file."""

    separation: float  # [m]
    depth: float  # [m]
    points: float  # [m]
    normal: float  # [rad]


def angle(one, other) -> float:
    """Between two unit vectors [rad], with all digits where it is small."""
    return 2.0 * float(np.arcsin(min(0.5 * np.linalg.norm(one - other), 1.0)))


def check(one, other, pose, a: Solid, b: Solid, rng) -> Errors:
    """Errors of the separation, the depth, the points and the normal; a and b: the solids at their places."""
    found = topple.closest_points(one, ORIGIN, other, pose)
    n = found.normal
    support_gap = -float(overlaps(a, b, -n[None])[0])
    separation = max(
        abs(support_gap - found.separation),
        np.abs(found.point_a - found.point_b - found.separation * n).max(),
        abs(np.linalg.norm(n) - 1.0),
    )
    directions = np.concatenate([DIRECTIONS, [n, -n]])
    points = max(
        float((directions @ point - solid.heights(directions)).max())
        for solid, point in ((a, found.point_a), (b, found.point_b))
    )
    depth, normal = 0.0, 0.0
    if found.separation < 0.0:
        depth, normal = check_overlap(a, b, found, rng)
    elif found.separation > FAR_ENOUGH:
        normal = float(np.sqrt(2.0 * max(found.separation - support_gap, 0.0) / found.separation))
    else:
        away = topple.closest_points(one, ORIGIN, other, (pose[0] - 1e-3 * n, pose[1]))
        normal = angle(away.normal, n)
    return Errors(separation, depth, max(points, 0.0), normal)


def check_overlap(a: Solid, b: Solid, found, rng) -> tuple[float, float]:
    """Errors of the depth [m] and of the normal [rad]; of the latter where no other is as good to 1e-6."""
    depth = -found.separation
    if len(a.normals) and len(b.normals):
        normals, distances = facets(a, b)
        as_good = normals[distances < distances.min() + 1e-6]
        return abs(depth - distances.min()), min(angle(-normal, found.normal) for normal in as_good)
    inside = b.depth_of(a.vertices[0]) if len(a.vertices) == 1 else 0.0
    if inside > 0.0:  # a ball whose centre is inside: how deep is known in closed form
        return abs(depth - inside - a.radius), 0.0
    if rng.uniform() > SEARCHED:
        return max(depth - float(overlaps(a, b, DIRECTIONS).min()), 0.0), 0.0
    least, direction = smallest_overlap(a, b)
    around = np.linalg.svd(direction[None])[2][1:]
    ring = direction + 1e-3 * np.concatenate([around, -around])
    ring /= np.linalg.norm(ring, axis=1)[:, None]
    is_sharp = overlaps(a, b, ring).min() > least + 1e-8
    turned = angle(-direction, found.normal)
    is_same = turned < 0.1  # else it is another minimum, which the depth shows to be as good
    return max(depth - least, 0.0), turned if is_sharp and is_same else 0.0


@pytest.mark.slow
def test_random_pairs(figure, scale):
    """Random pairs of all shapes, apart, overlapping, and 1e-9 to 1e-3 m from contact; sizes about 1 m."""
    rng = np.random.default_rng(5)
    count, worst = 0, np.zeros(4)
    for _ in range(3 * scale):
        for one, other in PAIRS:
            a, b = random_shape(one, rng), random_shape(other, rng)
            solid_a, solid_b = Solid.of(a), Solid.of(b)
            for pose in poses(a, b, rng):
                worst = np.maximum(worst, check(a, b, pose, solid_a, placed(solid_b, pose), rng))
                count += 1
    reached = Errors(*worst)
    figure(f"separation of {count} pairs", reached.separation, 1e-6, "m")
    figure("depth, where they overlap", reached.depth, 1e-6, "m")
    # Points are mixtures of support points of one plane: they lie off the surface by round-off, or by what a
    # depth is good to where the search for it ends before Newton's method.
    figure("points off the surface", reached.points, 1e-6, "m")
    figure("normal, where it is the only one", reached.normal, 1e-4, "rad")


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


def test_near_the_axis(figure):
    """Near the axis of a cylinder, where an overlap is nearly the same all around; a corner near its rim.

    The depth of a ball is known; a small box is searched for a smaller overlap.
    """
    rng = np.random.default_rng(3)
    worst_ball, worst_box, worst_point = 0.0, 0.0, 0.0
    for _ in range(20):
        can = topple.Cylinder(rng.uniform(0.2, 0.5), rng.uniform(1.0, 2.0))
        ball, box = topple.Sphere(rng.uniform(0.05, 0.5)), topple.Box(rng.uniform(0.005, 0.02, 3))
        place, orientation = rng.normal(size=3) * 10.0 ** rng.uniform(-5, -2), random_orientation(rng)
        solid = placed(Solid.of(can), (place, orientation))
        found = topple.closest_points(ball, ORIGIN, can, (place, orientation))
        depth = solid.depth_of(np.zeros(3)) + ball.radius
        worst_ball = max(worst_ball, abs(depth + found.separation))
        found = topple.closest_points(box, ORIGIN, can, (place, orientation))
        depth, _ = smallest_overlap(Solid.of(box), solid)
        worst_box = max(worst_box, -found.separation - depth)
        # A corner of a blade in the lid, 1 µm to 1 mm deep and close to the rim.
        blade, deep = topple.Box((0.004, 0.2, 0.5)), 10.0 ** rng.uniform(-6, -3)
        turn = random_turn(rng)
        corners = turn.apply(Solid.of(blade).vertices)
        lowest = corners[np.argmin(corners[:, 2])]
        at = np.array([can.radius * rng.uniform(0.9, 0.999), 0.0, 0.5 * can.height - deep])
        found = topple.closest_points(can, ORIGIN, blade, (at - lowest, turn.as_quat(scalar_first=True)))
        worst_point = max(worst_point, float(np.linalg.norm(found.point_b - at)))
    figure("depth of a ball", worst_ball, 1e-12, "m")
    figure("depth of a box", worst_box, 1e-6, "m")
    figure("corner found", worst_point, 1e-9, "m")
