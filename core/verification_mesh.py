"""How deep solids reach through the triangles of a mesh: the part of `verification` for surfaces.

Shares no code with the collision rooms. A surface has no inside, so its depth is told by two signs:
a point of the solid that lies beyond a triangle through which the way from the solid's middle leads to
it, and a point of the mesh that lies within the solid.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .geometry.shapes import Mesh

Array = NDArray[np.float64]
SAMPLES = 20  # points looked at along each side, per size of the solid


class Surface:
    """A mesh at its place in the world."""

    def __init__(self, mesh: Mesh, position: Array, rotation: Array) -> None:
        """Place a mesh at a position [m] (3,) with a rotation matrix (3, 3)."""
        corners = mesh.vertices[mesh.triangles] @ rotation.T + position
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area = np.linalg.norm(cross, axis=1)
        self.corners = corners[area > 0]
        self.normal = cross[area > 0] / area[area > 0, None]
        self.two_sided = mesh.is_two_sided

    def near(self, low: Array, high: Array) -> "Surface":
        """The triangles whose boxes overlap a box."""
        touches = (self.corners.min(axis=1) <= high).all(axis=1) & (self.corners.max(axis=1) >= low).all(
            axis=1
        )
        part = object.__new__(Surface)
        part.corners, part.normal = self.corners[touches], self.normal[touches]
        part.two_sided = self.two_sided
        return part


def surface_depth(
    surface: Surface,
    middle: Array,
    size: float,
    vertices: Array,
    support: Callable[[Array], Array],
    inside: Callable[[Array], float],
) -> float:
    """How deep a convex solid reaches through a surface [m]; 0 where it does not.

    Args:
        surface: The triangles near the solid.
        middle: A point inside the solid, shape (3,).
        size: Half of the diagonal of its box [m].
        vertices: Of a polyhedron, none for round solids, shape (v, 3).
        support: Farthest point of the solid along each direction (k, 3).
        inside: How deep a point (3,) lies in the solid [m], 0 or less outside.
    """
    depth = 0.0
    height = ((middle - surface.corners[:, 0]) * surface.normal).sum(axis=1)
    seen = np.ones(len(height), bool) if surface.two_sided else height > 0.0
    if not seen.any():
        return depth
    corners, height = surface.corners[seen], np.abs(height[seen])
    normal = (
        surface.normal[seen] * np.sign(((middle - corners[:, 0]) * surface.normal[seen]).sum(axis=1))[:, None]
    )
    for k in range(len(height)):
        points = np.concatenate([vertices, support(-normal[k][None])])
        beyond = (corners[k, 0] - points) @ normal[k]
        for point, below in zip(points[beyond > depth], beyond[beyond > depth], strict=True):
            foot = middle + (point - middle) * height[k] / (height[k] + below)
            if _holds(corners[k], normal[k], foot):
                depth = max(depth, float(below))
    for point in _points_on_sides(corners, 2.0 * size / SAMPLES):
        if np.linalg.norm(point - middle) <= 2.0 * size:
            depth = max(depth, inside(point))
    return depth


def _holds(corners: Array, normal: Array, point: Array) -> bool:
    """Whether a point of its plane lies in a triangle."""
    sides = np.roll(corners, -1, axis=0) - corners
    turns = (np.cross(sides, point - corners) * normal).sum(axis=1)
    return bool((turns >= 0).all() or (turns <= 0).all())


def _points_on_sides(corners: Array, step: float) -> Array:
    """Corners and points between them, at most `step` [m] apart, shape (k, 3)."""
    start, along = corners.reshape(-1, 3), (np.roll(corners, -1, axis=1) - corners).reshape(-1, 3)
    count = np.minimum(np.ceil(np.linalg.norm(along, axis=1) / step), 400).astype(int) + 1
    parts = np.concatenate([np.arange(n) / n for n in count])
    return np.repeat(start, count, axis=0) + parts[:, None] * np.repeat(along, count, axis=0)
