"""Triangle meshes made of numbers: floors, boxes, terrain."""

import numpy as np
import topple
from scipy.spatial import ConvexHull as Qhull


def grid(cells: int, size: float, height=None, jitter: float = 0.0, seed: int = 0):
    """Vertices and triangles of a square in z = height(x, y); `jitter` moves inner vertices about."""
    at = np.linspace(-size / 2, size / 2, cells + 1)
    x, y = np.meshgrid(at, at, indexing="ij")
    shift = np.random.default_rng(seed).uniform(-1, 1, (2, cells + 1, cells + 1)) * jitter * size / cells
    x, y = x + shift[0], y + shift[1]
    z = np.zeros_like(x) if height is None else height(x, y)
    triangles = []
    for i in range(cells):
        for k in range(cells):
            a = i * (cells + 1) + k
            b, c, d = a + 1, a + cells + 1, a + cells + 2
            triangles += [[a, c, d], [a, d, b]] if (i + k) % 2 else [[a, c, b], [b, c, d]]
    return np.stack([x, y, z], axis=-1).reshape(-1, 3), np.array(triangles)


def surface_of(points):
    """Vertices and outward triangles of a convex hull: a closed mesh."""
    points = np.asarray(points, float)
    hull = Qhull(points)
    triangles = hull.simplices.copy()
    corners = points[triangles]
    inward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * hull.equations[:, :3]
    triangles[inward.sum(axis=1) < 0] = triangles[inward.sum(axis=1) < 0][:, ::-1]
    return points, triangles


def on_mesh(mesh: topple.Mesh, *bodies: topple.Body, friction: float = 0.5, restitution: float = 0.0):
    """A scene of bodies over a static mesh."""
    floor = topple.Body("mesh", mesh, kind="static", friction=friction, restitution=restitution)
    return topple.Scene(bodies=[floor, *bodies])
