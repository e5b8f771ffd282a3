"""The shapes of a scene as flat arrays that kernels read.

Each shape stands in the principal frame of its body: origin at the centre of mass, axes along the
principal axes of inertia. Bodies with the same solid share one entry.
"""

from typing import NamedTuple

import numpy as np

from .hull import Hull
from .mesh import TriangleMesh, build_tree
from .shapes import Capsule, Compound, Cone, ConvexSolid, Cylinder, Mesh, Plane, Shape, Sphere

SPHERE, HULL, PLANE, CAPSULE, DISCS, TRIANGLE, MESH = range(7)


class ShapeTable(NamedTuple):
    """Shapes s with vertices, faces, loops and edges as slices; indices are local to the shape.

    A sphere is one vertex with a radius, a capsule two; a plane is one face and no vertex. Cylinders and
    cones are the hull of two discs about the two vertices: DISCS. A MESH is what the broad phase sees of
    a body's triangles; each TRIANGLE is one face and three vertices.
    """

    kind: np.ndarray  # (s,) SPHERE, HULL, PLANE, CAPSULE, DISCS, TRIANGLE or MESH
    radius: np.ndarray  # [m] (s,) rounding of a sphere or capsule, 0 otherwise
    disc: np.ndarray  # [m] (s, 2) radii of the discs about the vertices of DISCS
    axis: np.ndarray  # (s, 3) from the first vertex to the second of CAPSULE and DISCS, unit
    bound: np.ndarray  # [m] (s,) largest distance of any point from the centre of mass
    inside: np.ndarray  # [m] (s, 3) a point inside the shape, or on a triangle; zero for a plane
    box_center: np.ndarray  # [m] (s, 3) of the box around the shape along the principal axes
    box_half: np.ndarray  # [m] (s, 3) half extents of that box; infinite for a plane
    vertex_start: np.ndarray  # (s + 1,)
    vertex: np.ndarray  # [m] (v, 3)
    face_start: np.ndarray  # (s + 1,)
    face_normal: np.ndarray  # (f, 3) outward unit normals
    face_distance: np.ndarray  # [m] (f,) normal . x on the face
    loop_start: np.ndarray  # (f + 1,)
    loop: np.ndarray  # vertices around each face, counter-clockwise from outside
    lean: np.ndarray  # [rad] (loop, 2) per side of triangles: see mesh.py; -1 - the back's if one-sided
    ring: np.ndarray  # (loop, 2) per corner of triangles: from where to where in `neighbor` its ring is
    edge_start: np.ndarray  # (s + 1,)
    edge: np.ndarray  # (e, 4) vertex, vertex, left face, right face
    neighbor_start: np.ndarray  # (v + 1,)
    neighbor: np.ndarray  # vertices joined to each vertex by an edge; in rings they are rows of `vertex`


class Colliders(NamedTuple):
    """The shapes of the bodies: one each, several for a compound, in the order of the bodies.

    Behind them, out of the broad phase's sight, stand the triangles of meshes.
    """

    body: np.ndarray  # (k,)
    shape: np.ndarray  # (k,) index into the shape table


class MeshTrees(NamedTuple):
    """Trees of boxes over the triangles of m bodies that are meshes, in the frames of these bodies."""

    collider: np.ndarray  # (m,) the collider that stands for the mesh in the broad phase
    first: np.ndarray  # (m + 1,) first triangle of each; triangle t is collider number `broad` + t
    broad: np.ndarray  # (1,) number of colliders in the broad phase
    node_start: np.ndarray  # (m + 1,)
    node: np.ndarray  # [m] (nodes, 6) low and high of each box: see mesh.build_tree
    box: np.ndarray  # [m] (triangles, 6) low and high


class _Solid(NamedTuple):
    kind: int
    radius: float
    disc: tuple[float, float]
    vertex: np.ndarray
    face_normal: np.ndarray
    face_distance: np.ndarray
    hull: Hull | None


NO_DISCS = (0.0, 0.0)
NO_FACES = (np.zeros((0, 3)), np.zeros(0))


def _solid_in_principal_frame(
    shape: ConvexSolid | Plane | Mesh, center: np.ndarray, axes: np.ndarray
) -> _Solid:
    """Move a shape from body axes to the frame (center, axes); columns of `axes` are the axes."""
    if isinstance(shape, Sphere):
        vertex = (np.zeros(3) - center)[None] @ axes
        return _Solid(SPHERE, shape.radius, NO_DISCS, vertex, *NO_FACES, None)
    if isinstance(shape, Capsule | Cylinder | Cone):
        ends = np.array([[0.0, 0.0, -0.5 * shape.height], [0.0, 0.0, 0.5 * shape.height]])
        vertex = (ends - center) @ axes
        if isinstance(shape, Capsule):
            return _Solid(CAPSULE, shape.radius, NO_DISCS, vertex, *NO_FACES, None)
        disc = (shape.radius, shape.radius if isinstance(shape, Cylinder) else 0.0)
        return _Solid(DISCS, 0.0, disc, vertex, *NO_FACES, None)
    if isinstance(shape, Mesh):
        return _Solid(MESH, 0.0, NO_DISCS, (shape.surface.vertices - center) @ axes, *NO_FACES, None)
    if isinstance(shape, Plane):
        normal = np.asarray(shape.normal, float)[None]
        distance = np.array([shape.offset]) - normal @ center
        return _Solid(PLANE, 0.0, NO_DISCS, np.zeros((0, 3)), normal @ axes, distance, None)
    hull = shape.hull
    distance = hull.face_distance - hull.face_normal @ center
    return _Solid(
        HULL, 0.0, NO_DISCS, (hull.vertices - center) @ axes, hull.face_normal @ axes, distance, hull
    )


def _starts(counts: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def _joined(parts: list[np.ndarray], empty: tuple[int, ...], dtype: type) -> np.ndarray:
    return np.ascontiguousarray(np.concatenate([np.zeros(empty, dtype), *parts]), dtype)


def build_shape_table(
    solids: list[tuple[Shape, np.ndarray, np.ndarray]],
) -> tuple[ShapeTable, Colliders, MeshTrees]:
    """Flatten the shapes of all bodies, compounds into their parts; equal solids are stored once.

    Args:
        solids: per body its shape, centre of mass [m] (3,) and principal axes (3, 3), body axes.

    Returns:
        The table, the colliders, and the trees over those of them that are triangles.
    """
    index_of: dict[tuple, int] = {}
    unique: list[_Solid] = []
    bodies: list[int] = []
    shapes: list[int] = []
    meshes: list[tuple[int, int, Mesh, np.ndarray]] = []
    for body, (shape, center, axes) in enumerate(solids):
        if isinstance(shape, Mesh):  # body, collider, mesh and corners of its triangles
            turned = (shape.surface.vertices - center) @ axes
            meshes.append((body, len(bodies), shape, turned))
        for part, part_center, part_axes in _parts(shape, np.asarray(center, float), np.asarray(axes, float)):
            solid = _solid_in_principal_frame(part, part_center, part_axes)
            key = (solid.kind, solid.radius, solid.disc, solid.vertex.tobytes(), solid.face_normal.tobytes(),
                   solid.face_distance.tobytes())  # fmt: skip
            bodies.append(body)
            shapes.append(index_of.setdefault(key, len(unique)))
            if shapes[-1] == len(unique):
                unique.append(solid)
    table = _flatten(unique)
    trees = _empty_trees(len(bodies))
    colliders = Colliders(np.array(bodies, np.int64), np.array(shapes, np.int64))
    for body, collider, mesh, vertex in meshes:
        surface, axes = mesh.surface, solids[body][2]
        first = len(table.kind)
        table = _with_triangles(table, surface, vertex, surface.normal @ axes, mesh.is_two_sided)
        colliders = Colliders(
            np.append(colliders.body, np.full(len(surface.triangles), body)),
            np.append(colliders.shape, np.arange(first, len(table.kind))),
        )
        trees = _with_tree(trees, collider, vertex[surface.triangles])
    return table, colliders, trees


def _empty_trees(broad: int) -> MeshTrees:
    none, zero = np.zeros(0, np.int64), np.zeros(1, np.int64)
    return MeshTrees(none, zero, np.array([broad], np.int64), zero, np.zeros((0, 6)), np.zeros((0, 6)))


def _with_tree(trees: MeshTrees, collider: int, corners: np.ndarray) -> MeshTrees:
    """The trees and one more, over triangles with corners (t, 3, 3) [m]."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    tree = build_tree(low, high)
    return MeshTrees(
        np.append(trees.collider, collider),
        np.append(trees.first, trees.first[-1] + len(corners)),
        trees.broad,
        np.append(trees.node_start, trees.node_start[-1] + len(tree)),
        np.concatenate([trees.node, tree]),
        np.concatenate([trees.box, np.hstack([low, high])]),
    )


def _with_triangles(
    table: ShapeTable, surface: TriangleMesh, vertex: np.ndarray, normal: np.ndarray, two_sided: bool
) -> ShapeTable:
    """The table and each triangle of a surface as a shape; `vertex` and `normal` in the body's frame."""
    corners = vertex[surface.triangles]
    count = len(corners)
    low, high = corners.min(axis=1), corners.max(axis=1)
    lean = surface.lean.copy()
    if not two_sided:
        lean[:, :, 1] = -1.0 - lean[:, :, 1]

    # Per vertex of the mesh the row that one of its corners has in the table.
    row = np.zeros(len(vertex), np.int64)
    row[surface.triangles.reshape(-1)] = len(table.vertex) + np.arange(3 * count)
    ring = len(table.neighbor) + np.stack([surface.ring_start[:-1], surface.ring_start[1:]], axis=1)

    def starts(name: str, step: int, rows: int) -> np.ndarray:
        last = getattr(table, name)[-1]
        return np.append(getattr(table, name), last + step * np.arange(1, rows + 1))

    def rows(name: str, values: np.ndarray) -> np.ndarray:
        return np.concatenate([getattr(table, name), values])

    return ShapeTable(
        kind=rows("kind", np.full(count, TRIANGLE)),
        radius=rows("radius", np.zeros(count)),
        disc=rows("disc", np.zeros((count, 2))),
        axis=rows("axis", np.zeros((count, 3))),
        bound=rows("bound", np.linalg.norm(corners, axis=2).max(axis=1)),
        inside=rows("inside", corners.mean(axis=1)),
        box_center=rows("box_center", 0.5 * (low + high)),
        box_half=rows("box_half", 0.5 * (high - low)),
        vertex_start=starts("vertex_start", 3, count),
        vertex=rows("vertex", corners.reshape(-1, 3)),
        face_start=starts("face_start", 1, count),
        face_normal=rows("face_normal", normal),
        face_distance=rows("face_distance", (normal * corners[:, 0]).sum(axis=1)),
        loop_start=starts("loop_start", 3, count),
        loop=rows("loop", np.tile(np.arange(3), count)),
        lean=rows("lean", lean.reshape(-1, 2)),
        ring=rows("ring", ring[surface.triangles.reshape(-1)]),
        edge_start=starts("edge_start", 0, count),
        edge=table.edge,
        neighbor_start=starts("neighbor_start", 0, 3 * count),
        neighbor=rows("neighbor", row[surface.ring]),
    )


def _parts(
    shape: Shape, center: np.ndarray, axes: np.ndarray
) -> list[tuple[ConvexSolid | Plane | Mesh, np.ndarray, np.ndarray]]:
    """The convex parts of a shape, each with the body's centre of mass and axes in the part's frame."""
    if not isinstance(shape, Compound):
        return [(shape, center, axes)]
    return [
        (part, rotation.T @ (center - position), rotation.T @ axes)
        for part, position, rotation in shape.placed_parts()
    ]


def _axis(solid: _Solid) -> np.ndarray:
    """Unit axis of round solids, zero for others."""
    if solid.kind not in (CAPSULE, DISCS):
        return np.zeros(3)
    along = solid.vertex[1] - solid.vertex[0]
    return along / np.linalg.norm(along)


def _inside(solid: _Solid) -> np.ndarray:
    """A point inside a solid: of one of a compound's parts the centre of mass may lie outside."""
    return solid.vertex.mean(axis=0) if len(solid.vertex) else np.zeros(3)


def _box(solid: _Solid) -> tuple[np.ndarray, np.ndarray]:
    if solid.kind == PLANE:
        return np.zeros(3), np.full(3, np.inf)
    # A disc reaches r sqrt(1 - a^2) along an axis that has the cosine a with its own.
    wide = np.outer(solid.disc, np.sqrt(np.maximum(1.0 - _axis(solid) ** 2, 0.0)))[: len(solid.vertex)]
    wide = wide if solid.kind == DISCS else 0.0
    low, high = (solid.vertex - wide).min(axis=0), (solid.vertex + wide).max(axis=0)
    return 0.5 * (low + high), 0.5 * (high - low) + solid.radius


def _flatten(unique: list[_Solid]) -> ShapeTable:
    hulls = [s.hull for s in unique]
    loop_counts: list[int] = []
    neighbor_counts: list[int] = []
    for solid, hull in zip(unique, hulls, strict=True):
        if hull is None:  # a plane's face has no loop, the vertices of round solids no neighbours
            loop_counts += [0] * len(solid.face_normal)
            neighbor_counts += [0] * len(solid.vertex)
        else:
            loop_counts += np.diff(hull.face_offset).tolist()
            neighbor_counts += np.diff(hull.neighbor_offset).tolist()
    bound = [np.linalg.norm(s.vertex, axis=1).max(initial=0.0) + s.radius + max(s.disc) for s in unique]
    bound = [np.inf if s.kind == PLANE else b for s, b in zip(unique, bound, strict=True)]
    return ShapeTable(
        kind=np.array([s.kind for s in unique], np.int64),
        radius=np.array([s.radius for s in unique], np.float64),
        disc=np.array([s.disc for s in unique], np.float64).reshape(-1, 2),
        axis=np.array([_axis(s) for s in unique]).reshape(-1, 3),
        bound=np.array(bound, np.float64),
        inside=np.array([_inside(s) for s in unique]).reshape(-1, 3),
        box_center=np.array([_box(s)[0] for s in unique]).reshape(-1, 3),
        box_half=np.array([_box(s)[1] for s in unique]).reshape(-1, 3),
        vertex_start=_starts([len(s.vertex) for s in unique]),
        vertex=_joined([s.vertex for s in unique], (0, 3), np.float64),
        face_start=_starts([len(s.face_normal) for s in unique]),
        face_normal=_joined([s.face_normal for s in unique], (0, 3), np.float64),
        face_distance=_joined([s.face_distance for s in unique], (0,), np.float64),
        loop_start=_starts(loop_counts),
        loop=_joined([h.face_vertex for h in hulls if h is not None], (0,), np.int64),
        lean=np.zeros((sum(loop_counts), 2)),
        ring=np.zeros((sum(loop_counts), 2), np.int64),
        edge_start=_starts([0 if h is None else len(h.edges) for h in hulls]),
        edge=_joined([h.edges for h in hulls if h is not None], (0, 4), np.int64),
        neighbor_start=_starts(neighbor_counts),
        neighbor=_joined([h.neighbor for h in hulls if h is not None], (0,), np.int64),
    )
