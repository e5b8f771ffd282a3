"""Triangle meshes: adjacency, the bends between neighbours, and the order in which a tree holds them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ShapeError

FLAT = 1e-12  # area over the square of the longest side, from which a triangle has a plane
LEAF_SIZE = 4  # triangles in a leaf of the tree
FREE = np.pi  # how far a normal may lean over a side without neighbour: as far as it likes


class TriangleMesh(NamedTuple):
    """Triangles with a plane each, in the order of their places (neighbours lie close).

    Attributes:
        vertices: [m] shape (v, 3).
        triangles: Vertex indices, counter-clockwise from the front, shape (t, 3).
        normal: Unit normals of the fronts, shape (t, 3).
        lean: [rad] shape (t, 3, 2): how far a contact normal may lean over each side of a triangle, on
            the front and on the back: as far as the neighbour bends away. Over a flat or concave side it
            may not, there the neighbour is touched and not this triangle's side. Side k runs from corner
            k to the next.
        is_closed: Whether every side has one neighbour that goes the other way round: a solid's surface.
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int64]
    normal: NDArray[np.float64]
    lean: NDArray[np.float64]
    ring_start: NDArray[np.int64]
    ring: NDArray[np.int64]
    is_closed: bool


def build_mesh(vertices: NDArray[np.float64], triangles: NDArray[np.int64]) -> TriangleMesh:
    """Check triangles and find their neighbours; triangles without area are left out.

    Raises:
        ShapeError: Nothing is left, or indices or coordinates are not usable.
    """
    if len(triangles) == 0:
        raise ShapeError("it has no faces; give it some, or use a convex hull of its points")
    if not np.isfinite(vertices).all():
        raise ShapeError("it has vertices that are not finite; clean up the mesh")
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise ShapeError(f"its triangles name vertices outside 0 to {len(vertices) - 1}; correct them")
    # Vertices at one place are one: exporters split them where colours or normals differ.
    points, index = np.unique(vertices, axis=0, return_inverse=True)
    triangles = index.reshape(-1)[triangles]
    triangles = triangles[_by_place(points[triangles].mean(axis=1))]
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    cross = np.cross(b - a, c - a)
    double_area = np.linalg.norm(cross, axis=1)
    longest = np.maximum.reduce([((p - q) ** 2).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))])
    usable = double_area > FLAT * longest
    if not usable.any():
        raise ShapeError("all of its faces are without area; give it faces that are not needles")
    triangles = triangles[usable]
    normal = cross[usable] / double_area[usable, None]
    lean, is_closed = _lean(points, triangles, normal)
    return TriangleMesh(points, triangles, normal, lean, *_rings(len(points), triangles), is_closed)


def _by_place(centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order of points along a Z-curve through their box (Morton 1966)."""
    low, size = centers.min(axis=0), np.ptp(centers, axis=0)
    cell = ((centers - low) / np.where(size > 0, size, 1.0) * 1023.0).astype(np.uint64)
    key = np.zeros(len(centers), np.uint64)
    for bit in range(10):
        for axis in range(3):
            key |= ((cell[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(3 * bit + axis)
    return np.argsort(key, kind="stable")


def _lean(
    points: NDArray[np.float64], triangles: NDArray[np.int64], normal: NDArray[np.float64]
) -> tuple[NDArray[np.float64], bool]:
    """`TriangleMesh.lean` and `is_closed`."""
    count = len(triangles)
    start, end = triangles.reshape(-1), np.roll(triangles, -1, axis=1).reshape(-1)
    low, high = np.minimum(start, end), np.maximum(start, end)
    key = low * len(points) + high
    order = np.argsort(key, kind="stable")
    lean = np.full((3 * count, 2), FREE)
    first = np.flatnonzero(np.r_[True, np.diff(key[order]) != 0])
    length = np.diff(np.r_[first, len(order)])
    pairs = order[first[length == 2][:, None] + np.arange(2)]
    for one, other in (pairs.T, pairs.T[::-1]):
        lean[one] = _bend(points, start, end, normal, one, other)
    for begin, number in zip(first[length > 2], length[length > 2], strict=True):
        # Several sheets meet: the one that bends least decides, so that none makes a bump.
        sides = order[begin : begin + number]
        for one in sides:
            others = sides[sides != one]
            bends = _bend(points, start, end, normal, np.repeat(one, len(others)), others)
            lean[one] = bends.min(axis=0)
    is_closed = bool((length == 2).all() and (start[pairs[:, 0]] == end[pairs[:, 1]]).all())
    return lean.reshape(count, 3, 2), is_closed


def _rings(count: int, triangles: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`TriangleMesh.ring_start` and `ring`, of `count` vertices."""
    ends = np.stack([triangles.reshape(-1), np.roll(triangles, -1, axis=1).reshape(-1)], axis=1)
    joined = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
    return np.searchsorted(joined[:, 0], np.arange(count + 1)), np.ascontiguousarray(joined[:, 1])


def _bend(
    points: NDArray[np.float64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    normal: NDArray[np.float64],
    one: NDArray[np.int64],
    other: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Angle by which the neighbour's plane bends away, seen from front and back, shape (k, 2)."""
    along = points[end[one]] - points[start[one]]
    along /= np.linalg.norm(along, axis=1)[:, None]
    mine = normal[one // 3]
    # A neighbour that goes round the same way shows its back here.
    turned = np.where(start[one] == start[other], -1.0, 1.0)[:, None]
    its = turned * normal[other // 3]
    angle = np.arctan2((np.cross(mine, its) * along).sum(axis=1), (mine * its).sum(axis=1))
    return np.stack([np.maximum(angle, 0.0), np.maximum(-angle, 0.0)], axis=1)


def build_tree(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Boxes of a complete binary tree over triangles in order, shape (nodes, 6): low, high.

    Node i has the children 2 i + 1 and 2 i + 2; its leaves hold LEAF_SIZE triangles each. Leaves
    without triangles have boxes that overlap nothing.
    """
    leaves = -(-len(low) // LEAF_SIZE)
    width = 1 << (leaves - 1).bit_length()
    tree = np.empty((2 * width - 1, 6))
    padding = ((0, width * LEAF_SIZE - len(low)), (0, 0))
    tree[width - 1 :, :3] = np.pad(low, padding, constant_values=np.inf).reshape(width, -1, 3).min(axis=1)
    tree[width - 1 :, 3:] = np.pad(high, padding, constant_values=-np.inf).reshape(width, -1, 3).max(axis=1)
    while width > 1:
        width //= 2
        children = tree[2 * width - 1 : 4 * width - 1].reshape(width, 2, 6)
        tree[width - 1 : 2 * width - 1, :3] = children[:, :, :3].min(axis=1)
        tree[width - 1 : 2 * width - 1, 3:] = children[:, :, 3:].max(axis=1)
    return tree
