"""Convex hulls with merged faces: from a cloud of points to vertices, polygons and edges.

Qhull finds the triangles; this room merges those that lie in one plane, keeps only the corners,
and checks the result. Nothing here knows of mass, bodies or motion. All coordinates are in the
frame of the points given.
"""

from collections import deque
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull as Qhull
from scipy.spatial import KDTree, QhullError

from ..errors import ShapeError

# Triangles whose vertices lie this close to one plane, relative to the size, become one face. Mesh
# coordinates are single precision (6e-8 of their distance from the origin), so 1e-5 still joins the
# caps of a cylinder modelled a hundred of its sizes away from its origin.
MERGE_TOLERANCE = 1e-5
# The same, relative to the thickness: the two sides of a thin plate must never be merged.
MERGE_TOLERANCE_THIN = 1e-3
# Thinner than this fraction of its size is flat: a solid's inertia and normals lose their meaning.
FLAT_TOLERANCE = 1e-6
# A thickness below this many roundings of the coordinates themselves is noise, not shape.
FLAT_ROUNDINGS = 1e4


@dataclass(frozen=True, eq=False)
class Hull:
    """Convex polyhedron with polygonal faces; all arrays are read-only.

    Attributes:
        vertices: Corners [m], shape (v, 3), sorted by x, then y, then z.
        face_offset: Face i owns face_vertex[face_offset[i]:face_offset[i + 1]], shape (f + 1,).
        face_vertex: Vertex loops of all faces, counter-clockwise seen from outside.
        face_normal: Outward unit normals, shape (f, 3).
        face_distance: Plane n . x = d of each face [m], shape (f,); no vertex lies outside.
        edges: Rows v0, v1, left face (its loop runs v0 -> v1), right face; v0 < v1, shape (e, 4).
        neighbor_offset: Vertex i is joined to neighbor[neighbor_offset[i]:neighbor_offset[i + 1]].
        neighbor: Adjacent vertices, ascending for each vertex, shape (2 e,).
    """

    vertices: NDArray[np.float64]
    face_offset: NDArray[np.int64]
    face_vertex: NDArray[np.int64]
    face_normal: NDArray[np.float64]
    face_distance: NDArray[np.float64]
    edges: NDArray[np.int64]
    neighbor_offset: NDArray[np.int64]
    neighbor: NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.flags.writeable = False

    def face(self, index: int) -> NDArray[np.int64]:
        """Vertex loop of one face, counter-clockwise seen from outside."""
        return self.face_vertex[self.face_offset[index] : self.face_offset[index + 1]]


class _NotConvex(Exception):  # a signal inside this file, never seen outside
    """Merging went too far: the faces no longer form a convex polyhedron."""


def build_hull(points: ArrayLike) -> Hull:
    """Build the convex hull of a cloud of points.

    Points inside the hull, duplicates, and points within the merge tolerance of a face or an edge
    are dropped; no point is moved. Where merging at the usual tolerance would leave a face concave
    (a smooth body with very many points), a finer one is taken. The result does not depend on the
    order of the points.

    Args:
        points: Coordinates [m], shape (n, 3), n >= 4.

    Raises:
        ShapeError: The points are not finite, too few, or span no volume.
    """
    points = _validate_points(points)
    low, high = points.min(axis=0), points.max(axis=0)
    center, size = (low + high) / 2, float((high - low).max())
    rounding = float(np.finfo(np.float64).eps) * float(np.abs(points).max())
    if size <= FLAT_ROUNDINGS * rounding:
        raise ShapeError(
            f"its {len(points)} points lie in one place to within rounding; "
            "give it extent, or move the points nearer to its origin"
        )
    # Unit size about the middle, so that every tolerance below is a plain number.
    unit = np.unique((points - center) / size, axis=0)
    thickness = _thickness(unit)
    if thickness <= max(FLAT_TOLERANCE, FLAT_ROUNDINGS * rounding / size):
        raise ShapeError(
            f"its points are flat (size {size:.3g} m, thickness {thickness * size:.3g} m); "
            "give it thickness (in Blender: a Solidify modifier), or use a thin Box"
        )
    finest = max(10 * rounding / size, 1e-12)
    tolerance = min(MERGE_TOLERANCE, MERGE_TOLERANCE_THIN * thickness)
    try:
        unit = unit[np.sort(Qhull(unit, qhull_options="QJ Pp").vertices)]
        while True:
            try:
                corners, loops = _merge_to_corners(unit, tolerance)
                hull = _assemble(corners, loops)
                _check(hull, tolerance)
                _check_dropped(hull, unit, tolerance)
                break
            except _NotConvex:
                if tolerance <= finest:
                    raise
                tolerance = max(tolerance / 10, finest)
    except (QhullError, _NotConvex) as error:
        raise ShapeError(
            f"no convex hull could be built from its {len(points)} points ({str(error).splitlines()[0]}); "
            "remove nearly coincident points, or use a Box"
        ) from error
    # Back to the caller's own coordinates, to the bit.
    originals = _original_points(points, center, size, hull.vertices)
    order = np.lexsort(originals.T[::-1])
    rank = np.argsort(order)
    return _assemble(originals[order], [rank[hull.face(i)] for i in range(len(hull.face_normal))])


def box_hull(size: ArrayLike) -> Hull:
    """Hull of a box centred at the origin; any proportions, since nothing needs merging.

    Args:
        size: Full extents [m], shape (3,), positive.
    """
    size = np.asarray(size, dtype=np.float64)
    unit = _unit_box()
    distance = np.abs(unit.face_normal) @ (size / 2)
    return replace(unit, vertices=unit.vertices * size, face_distance=distance)


@cache
def _unit_box() -> Hull:
    signs = np.array([-0.5, 0.5])
    return build_hull(np.stack(np.meshgrid(signs, signs, signs), axis=-1).reshape(-1, 3))


def _validate_points(points: ArrayLike) -> NDArray[np.float64]:
    array = np.array(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ShapeError(f"its points have shape {array.shape}; give an array of shape (n, 3)")
    if len(array) < 4:
        raise ShapeError(f"it has {len(array)} points; a solid needs at least 4 that are not in one plane")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ShapeError(f"its point {row} is not finite; remove it or give it coordinates")
    return array


def _thickness(points: NDArray[np.float64]) -> float:
    """Extent along the direction in which the points spread least."""
    axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    return float(np.ptp(points @ axes[-1]))


def _merge_to_corners(
    points: NDArray[np.float64], tolerance: float
) -> tuple[NDArray[np.float64], list[NDArray[np.int64]]]:
    """Drop points until every one left is a corner of at least three faces.

    Each round loses at most the tolerance, and only rounds that drop a point repeat.
    """
    corners = _weld(points, tolerance)
    while True:
        triangles, neighbors = _triangulate(corners)
        region = _grow_regions(corners, triangles, neighbors, tolerance)
        touched = np.unique(np.stack([triangles.ravel(), np.repeat(region, 3)]), axis=1)
        is_corner = np.bincount(touched[0], minlength=len(corners)) >= 3
        if is_corner.all():
            return corners, _trace_loops(triangles, neighbors, region)
        corners = corners[is_corner]
        if len(corners) < 4:
            raise _NotConvex("merging left fewer than four corners")


def _weld(points: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Keep the first of points closer together than the tolerance."""
    keep = np.ones(len(points), dtype=bool)
    for first, second in sorted(KDTree(points).query_pairs(tolerance)):
        if keep[first]:
            keep[second] = False
    return points[keep]


def _triangulate(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Triangles, counter-clockwise from outside, and across[i, k] beyond the edge from corner k.

    Qhull joggles its own copy of the points (option QJ): its triangles then always form a closed
    surface, where its other answer to coplanar points, splitting polygons, may give degenerate ones.
    """
    qhull = Qhull(points, qhull_options="QJ Pp")
    triangles = qhull.simplices.astype(np.int64)
    opposite = qhull.neighbors.astype(np.int64)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), qhull.equations[:, :3]) < 0
    triangles[inward] = triangles[inward][:, [0, 2, 1]]
    opposite[inward] = opposite[inward][:, [0, 2, 1]]
    # Qhull's neighbor k lies opposite to corner k, which is beyond the edge from corner k + 1.
    return triangles, opposite[:, [2, 0, 1]]


def _grow_regions(
    points: NDArray[np.float64],
    triangles: NDArray[np.int64],
    across: NDArray[np.int64],
    tolerance: float,
) -> NDArray[np.int64]:
    """Label triangles by the plane they lie in, grown from the largest triangle outwards."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    area = np.linalg.norm(normal, axis=1)
    # Plain numbers from here on: numpy's calls cost more than the few products of each triangle.
    xyz, corners, beyond = points.tolist(), triangles.tolist(), across.tolist()
    region = [-1] * len(corners)
    for seed in np.argsort(-area, kind="stable").tolist():
        if region[seed] >= 0:
            continue
        region[seed] = seed
        if area[seed] == 0:
            continue
        nx, ny, nz = (normal[seed] / area[seed]).tolist()
        x, y, z = xyz[corners[seed][0]]
        offset = nx * x + ny * y + nz * z
        queue = deque([seed])
        while queue:
            for other in beyond[queue.popleft()]:
                if region[other] >= 0:
                    continue
                heights = (nx * x + ny * y + nz * z - offset for x, y, z in (xyz[i] for i in corners[other]))
                if all(abs(height) <= tolerance for height in heights):
                    region[other] = seed
                    queue.append(other)
    return np.array(region, dtype=np.int64)


def _trace_loops(
    triangles: NDArray[np.int64], across: NDArray[np.int64], region: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Boundary loop of each region."""
    border = region[across] != region[:, None]
    starts = triangles[border]
    ends = np.roll(triangles, -1, axis=1)[border]
    owners = np.repeat(region, 3)[border.ravel()]
    following: dict[int, dict[int, int]] = {label: {} for label in region.tolist()}
    for owner, start, end in zip(owners.tolist(), starts.tolist(), ends.tolist(), strict=True):
        if following[owner].setdefault(start, end) != end:
            raise _NotConvex("a face touches itself")
    return [_trace_loop(following[label]) for label in sorted(following)]


def _trace_loop(following: dict[int, int]) -> NDArray[np.int64]:
    """Walk from each vertex to the one that follows, back to the first."""
    first = vertex = min(following, default=-1)
    loop = []
    while vertex in following:
        loop.append(vertex)
        vertex = following.pop(vertex)
    if vertex != first or following or len(loop) < 3:
        raise _NotConvex("a face has more than one outline")
    return np.array(loop, dtype=np.int64)


def _assemble(vertices: NDArray[np.float64], loops: list[NDArray[np.int64]]) -> Hull:
    """Compute planes, edges and adjacency of given vertex loops, in an order that is fixed."""
    loops = sorted((np.roll(loop, -int(np.argmin(loop))) for loop in loops), key=tuple)
    offset = np.cumsum([0, *map(len, loops)], dtype=np.int64)
    start = np.concatenate(loops)
    end, face = start[_following(offset)], np.repeat(np.arange(len(loops)), np.diff(offset))
    middle = vertices.mean(axis=0)
    relative = vertices - middle
    first = relative[start[offset[:-1]]][face]
    normals = np.add.reduceat(np.cross(relative[start] - first, relative[end] - first), offset[:-1])
    lengths = np.linalg.norm(normals, axis=1)
    if not (lengths > 0).all():
        raise _NotConvex("a face has no area")
    normals = normals / lengths[:, None] + 0.0  # + 0.0 turns -0.0 into 0.0
    # Each edge is two half-edges, start -> end on its left face and back on its right face.
    key, twin = start * len(vertices) + end, end * len(vertices) + start
    order = np.argsort(key)
    if not (np.diff(key[order]) > 0).all():
        raise _NotConvex("two faces run along one edge in the same direction")
    if not np.array_equal(key[order], np.sort(twin)):
        raise _NotConvex("an edge belongs to one face only")
    other_face = face[order[np.searchsorted(key[order], twin)]]
    edges = np.stack([start, end, face, other_face], axis=1)[order]
    neighbor_offset = np.searchsorted(start[order], np.arange(len(vertices) + 1))
    neighbor = end[order]
    # The supporting plane, so that no vertex lies outside however rounding warps the face: on a
    # convex surface the only candidates are the face's own corners and those next to them.
    counts = np.diff(neighbor_offset)[start]
    block = np.cumsum(counts) - counts
    near = neighbor[np.repeat(neighbor_offset[start] - block, counts) + np.arange(counts.sum())]
    height = np.einsum("ij,ij->i", relative[near], normals[np.repeat(face, counts)])
    distance = np.maximum.reduceat(height, block[offset[:-1]])
    return Hull(
        vertices=vertices,
        face_offset=offset,
        face_vertex=start,
        face_normal=normals,
        face_distance=distance + normals @ middle,
        edges=edges[edges[:, 0] < edges[:, 1]],
        neighbor_offset=neighbor_offset,
        neighbor=neighbor,
    )


def _following(offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of the entry that follows each one in its loop; the last is followed by the first."""
    following = np.arange(1, offset[-1] + 1)
    following[offset[1:] - 1] = offset[:-1]
    return following


def _check(hull: Hull, tolerance: float) -> None:
    """Check that the hull is a convex polyhedron with flat convex faces, to a few tolerances."""
    v, e, f = len(hull.vertices), len(hull.edges), len(hull.face_normal)
    if v - e + f != 2 or 2 * e != len(hull.face_vertex):
        raise _NotConvex("the faces do not close to a solid")
    slack = 4 * tolerance
    offset = hull.face_offset
    face = np.repeat(np.arange(f), np.diff(offset))
    normal, corner = hull.face_normal[face], hull.vertices[hull.face_vertex]
    if (np.einsum("ij,ij->i", corner, normal) < hull.face_distance[face] - slack).any():
        raise _NotConvex("a face is not flat")
    # A loop is convex where it turns left at each corner, once around in all.
    following = _following(offset)
    before = corner[following] - corner  # edge that ends at the corner `following`
    after = before[following]
    turn = np.einsum("ij,ij->i", np.cross(before, after), normal)
    if (turn < -slack * np.linalg.norm(before + after, axis=1)).any():
        raise _NotConvex("a face is concave")
    angle = np.arctan2(turn, np.einsum("ij,ij->i", before, after))
    if (np.add.reduceat(angle, offset[:-1]) > 3 * np.pi).any():
        raise _NotConvex("a face's outline goes around twice")


def _check_dropped(hull: Hull, points: NDArray[np.float64], tolerance: float) -> None:
    """Check that every point that is no corner lies within a few tolerances of the hull."""
    gap, _ = KDTree(hull.vertices).query(points)
    dropped = points[gap > 0]
    for normal, distance in zip(hull.face_normal, hull.face_distance, strict=True):
        if (dropped @ normal > distance + 4 * tolerance).any():
            raise _NotConvex("a point lies outside")


def _original_points(
    points: NDArray[np.float64], center: NDArray[np.float64], size: float, unit: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Find the given points that became the corners."""
    order = np.lexsort(points.T[::-1])
    _, index = KDTree((points[order] - center) / size).query(unit)
    return points[order[index]]
