"""Contacts with rough terrain against the closest points over all of its triangles: none is lost."""

import numpy as np
import pytest
import topple
from scenes.meshes import grid
from topple.jit import RUNS_AS_PYTHON

AT_HOME = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
CLOSE, MARGIN = 2e-5, 1e-4


def terrain(rng):
    """Random heights over a grid of .8 m."""
    height = rng.normal(size=(6, 6)) * rng.choice([0.05, 0.2, 0.5, 1.5])
    return grid(5, 4.0, height=lambda x, y: height)


def solids(rng):
    """A solid of each kind, its size random where it has corners."""
    return [
        topple.Box(tuple(rng.uniform(0.2, 1.0, 3))), topple.Box((1.5, 1.5, 0.1)), topple.Sphere(0.3),
        topple.Capsule(0.15, 0.5), topple.Cylinder(0.3, 0.5), topple.Cone(0.3, 0.5),
        topple.ConvexHull(rng.normal(size=(20, 3)) * 0.3),
    ]  # fmt: skip


def set_down(solid, mesh, rng):
    """A pose just above the mesh, and the closest points there."""
    turned = rng.normal(size=4)
    turned = AT_HOME[1] if rng.random() < 0.3 else turned / np.linalg.norm(turned)
    place = np.array([*rng.uniform(-1.0, 1.0, 2), 8.0])
    closest = topple.closest_points(solid, (place, turned), mesh, AT_HOME)
    while closest.separation > CLOSE:  # the way down is at least that
        place[2] -= closest.separation - 0.5 * CLOSE
        closest = topple.closest_points(solid, (place, turned), mesh, AT_HOME)
    return place, turned, closest


@pytest.mark.parametrize("two_sided", [False, True], ids=["one-sided", "two-sided"])
@pytest.mark.parametrize("sink", [0.0, 3e-5], ids=["apart", "sunk in"])
def test_deepest_contact_is_the_closest_point(two_sided, sink):
    """Of random solids on peaks, ridges, slopes and in hollows."""
    rng = np.random.default_rng(3)
    for _ in range(3 if RUNS_AS_PYTHON else 30):
        mesh = topple.Mesh(*terrain(rng), two_sided=two_sided)
        for solid in solids(rng):
            place, turned, closest = set_down(solid, mesh, rng)
            found = topple.contacts(solid, (place - [0, 0, sink], turned), mesh, AT_HOME, margin=MARGIN)
            expected = closest.separation - sink * closest.normal[2]  # or deeper, by what is as close
            assert len(found.separation) > 0, (solid, place, turned)
            assert expected - 0.2 * sink - 1e-6 <= found.separation.min() <= expected + 1e-6


@pytest.mark.parametrize("bend", [0.5, 0.9, 1.3])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_what_is_in_one_slope_stands_on_the_other(bend, side):
    """A tip that is in one slope of a valley by less than the tolerance: at no height over the other one."""
    lean, depth = 0.5 * bend, 5e-5
    up = np.tan(lean)
    rim = [[-1, -1, up], [-1, 1, up], [0, -1, 0], [0, 1, 0], [1, -1, up], [1, 1, up]]
    mesh = topple.Mesh(rim, [[0, 2, 1], [2, 3, 1], [2, 4, 3], [4, 5, 3]])
    tip = topple.ConvexHull(0.1 * np.array([[0, 0, 0], [-1, -1, 3], [1, -1, 3], [1, 1, 3], [-1, 1, 3]]))
    normal = np.array([[np.sin(lean), 0, np.cos(lean)], [-np.sin(lean), 0, np.cos(lean)]])  # left, right
    heights = np.array([0.0, -depth])[:: int(side)]
    x, z = np.linalg.solve(normal[:, [0, 2]], heights)
    assert np.sign(x) == side
    found = topple.contacts(tip, ([x, 0.2, z], AT_HOME[1]), mesh, AT_HOME, margin=MARGIN)
    for n, height in zip(normal, heights, strict=True):
        upright = np.abs(found.normal @ n - 1.0) < 1e-9
        assert np.abs(found.separation[upright] - height).min() < 1e-9


@pytest.mark.parametrize("over", [2e-3, 2e-2, 0.1])
def test_what_lies_on_a_ridge_is_on_its_upper_side(over):
    """A thin body along one slope, with its tip over the other: its middle is behind that slope's plane."""
    lean = 0.15
    rim = [[-3, -3, -3 * np.tan(lean)], [-3, 3, -3 * np.tan(lean)], [0, -3, 0], [0, 3, 0],
           [3, -3, -3 * np.tan(lean)], [3, 3, -3 * np.tan(lean)]]  # fmt: skip
    mesh = topple.Mesh(rim, [[0, 2, 1], [2, 3, 1], [2, 4, 3], [4, 5, 3]])
    along, up = np.array([np.cos(lean), 0, np.sin(lean)]), np.array([-np.sin(lean), 0, np.cos(lean)])
    across = np.array([0, 1, 0])
    corners = [
        -2.0 * along + 0.5 * across,
        -2.0 * along - 0.5 * across,
        -2.0 * along + 0.05 * up,
        over * along,
    ]
    found = topple.contacts(
        topple.ConvexHull(np.array(corners)), (1e-5 * up, AT_HOME[1]), mesh, AT_HOME, margin=MARGIN
    )
    assert len(found.separation) >= 3
    assert (found.normal[:, 2] > 0.9).all()
    assert (np.abs(found.separation) < MARGIN).all()
