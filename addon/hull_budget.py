"""A convex hull with fewer vertices, nearly as large. Pure: no bpy."""

from __future__ import annotations  # naming core's types must not load the solver

from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull as Qhull

from .. import core

ON_FACE = 1e-7  # relative to the size: nearer to the hull so far, a vertex adds nothing but rounding


class BudgetHull(NamedTuple):
    """Some vertices of a hull.

    Attributes:
        points: The vertices kept [m], shape (kept, 3).
        total: How many vertices the whole hull has.
        error: How far the farthest of the others lies before a face [m].
    """

    points: np.ndarray
    total: int
    error: float


def fewer_vertices(points: np.ndarray, budget: int) -> BudgetHull:
    """The vertices that matter most: to four far corners, that farthest outside is added, again and again.

    The order of the points does not matter. All are vertices of the whole hull, so the result lies within it.

    Args:
        points: Coordinates [m], shape (n, 3), at least 4 that are not in one plane.
        budget: Most vertices, at least 4.

    Raises:
        ShapeError: The points span no volume.
    """
    vertices = core.ConvexHull(points).hull.vertices
    if len(vertices) <= budget:
        return BudgetHull(vertices, len(vertices), 0.0)
    size = float(np.ptp(vertices, axis=0).max())
    chosen = _far_corners(vertices)
    grown = Qhull(vertices[chosen], incremental=True)
    while True:
        outside = (vertices @ grown.equations[:, :3].T + grown.equations[:, 3]).max(axis=1)
        outside[chosen] = 0.0
        farthest = int(outside.argmax())
        error = max(float(outside[farthest]), 0.0)
        if len(chosen) >= budget or error <= ON_FACE * size:
            break
        chosen.append(farthest)
        grown.add_points(vertices[[farthest]])
    grown.close()
    return BudgetHull(vertices[np.sort(chosen)], len(vertices), error)


def _far_corners(vertices: np.ndarray) -> list[int]:
    """Two vertices far apart, one far from their line, and one far from the plane of the three."""
    first = 0  # vertices are sorted, so this one lies at an end
    second = int(np.linalg.norm(vertices - vertices[first], axis=1).argmax())
    along = vertices[second] - vertices[first]
    third = int(np.linalg.norm(np.cross(vertices - vertices[first], along), axis=1).argmax())
    normal = np.cross(along, vertices[third] - vertices[first])
    fourth = int(np.abs((vertices - vertices[first]) @ normal).argmax())
    return [first, second, third, fourth]
