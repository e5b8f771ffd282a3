"""From the evaluated mesh of an object to a collision shape in its body frame. Pure: no bpy."""

from __future__ import annotations  # naming core's types must not load the solver

import numpy as np
from numpy.typing import ArrayLike

from .. import core
from . import messages
from .hull_budget import fewer_vertices

CENTRED = 1e-4  # offset of the bounds' centre relative to their size that counts as none
ALIGNED = 1e-5  # off-diagonal part of the stretch relative to its size that counts as no shear
ROUND = 0.8  # narrowest to widest bounds from which a round shape may stand for the mesh


def collision_shape(
    choice: str,
    vertices: np.ndarray,
    stretch: np.ndarray,
    metres: float,
    triangles: ArrayLike = (),
    vertex_budget: int | None = None,
) -> tuple[core.Shape, str | None]:
    """Build the shape chosen for a mesh, or the nearest the solver has.

    A body frame has the object's origin and orientation but no scale: the stretch (scale, mirror,
    shear) goes into the shape. Shapes other than hulls lie about that origin; where the mesh does
    not, its convex hull is used, which rests and tumbles just as the mesh would.

    Args:
        choice: "CONVEX_HULL", "CONVEX_PARTS", "MESH", "BOX", "SPHERE", "CAPSULE", "CYLINDER", "CONE" or
            "PLANE".
        vertices: Mesh vertices in object coordinates [Blender units], shape (n, 3).
        stretch: Object coordinates to body frame [Blender units], shape (3, 3).
        metres: Metres per Blender unit.
        triangles: The faces, for convex parts and meshes: rows of three indices of vertices, shape (m, 3).
        vertex_budget: Most vertices of a convex hull that was chosen; None leaves all.

    Returns:
        The shape, and a remark when it is not the one chosen.

    Raises:
        ShapeError: The mesh has too few or no finite vertices, or cannot be split into convex parts.
    """
    if choice == "PLANE":
        return _plane(stretch), None
    to_body = stretch.T * metres
    points = vertices @ to_body
    if choice == "CONVEX_PARTS":
        return core.decompose(points, triangles), None
    if choice == "MESH":
        mirrored = np.linalg.det(stretch) < 0.0
        corners = np.array(triangles)
        return core.Mesh(points, corners[:, ::-1] if mirrored and len(corners) else corners), None
    if choice == "BOX":
        return _box(vertices, to_body)
    if choice == "SPHERE":
        return _sphere(points)
    if choice in ("CAPSULE", "CYLINDER", "CONE"):
        return _round_about_z(choice, points)
    if vertex_budget is not None:
        return core.ConvexHull(fewer_vertices(points, vertex_budget).points), None
    return core.ConvexHull(points), None


def _plane(stretch: np.ndarray) -> core.Plane:
    """The object's XY plane, solid on the side away from its local +Z."""
    normal = np.cross(stretch[:, 0], stretch[:, 1])
    return core.Plane(normal * np.sign(normal @ stretch[:, 2]), 0.0)


def _box(vertices: np.ndarray, to_body: np.ndarray) -> tuple[core.Shape, str | None]:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    diagonal = np.diag(to_body)
    sheared = np.abs(to_body - np.diag(diagonal)).max() > ALIGNED * np.abs(to_body).max()
    if sheared or not _is_centred(low, high):
        corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, 8).T
        return core.ConvexHull(corners @ to_body), messages.NOT_A_BOX_CENTRE
    return core.Box((high - low) * np.abs(diagonal)), None


def _sphere(points: np.ndarray) -> tuple[core.Shape, str | None]:
    low, high = points.min(axis=0), points.max(axis=0)
    extents = high - low
    if extents.min() < ROUND * extents.max():
        return core.ConvexHull(points), messages.NOT_ROUND
    if not _is_centred(low, high):
        return core.ConvexHull(points), messages.NOT_A_SPHERE_CENTRE
    return core.Sphere(extents.max() / 2.0), None


def _round_about_z(choice: str, points: np.ndarray) -> tuple[core.Shape, str | None]:
    low, high = points.min(axis=0), points.max(axis=0)
    x, y, height = high - low
    if min(x, y) < ROUND * max(x, y):
        return core.ConvexHull(points), messages.NOT_ROUND_ABOUT_Z
    if not _is_centred(low, high):
        return core.ConvexHull(points), messages.NOT_CENTRED_ABOUT_Z
    radius = max(x, y) / 2.0
    if choice == "CAPSULE":
        if height <= 2.0 * radius * (1.0 + CENTRED):
            return core.ConvexHull(points), messages.TOO_SHORT_FOR_CAPSULE
        return core.Capsule(radius, height - 2.0 * radius), None
    return (core.Cylinder if choice == "CYLINDER" else core.Cone)(radius, height), None


def _is_centred(low: np.ndarray, high: np.ndarray) -> bool:
    return bool(np.abs(low + high).max() / 2.0 <= CENTRED * (high - low).max())
