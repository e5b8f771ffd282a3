"""Solids as the independent check sees them: points, planes and radii, with their support functions.

Shares no code with the collision rooms, not even the hulls.
"""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial import ConvexHull as Qhull

from .geometry.shapes import Box, Capsule, Compound, Cone, ConvexSolid, Cylinder, Mesh, Plane, Shape, Sphere

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Solid:
    """A shape in its body's frame; `radius` grows the hull of `vertices`, a sphere has one vertex.

    Cylinders and cones are the hull of two discs about their two vertices.
    """

    vertices: Array  # (v, 3), none for a plane
    normals: Array  # (f, 3) outward, unit
    distances: Array  # (f,) normal . x on the face
    edges: Array  # (e, 2, 3) endpoints of segments that hold all edges
    radius: float = 0.0
    discs: tuple[float, ...] = ()  # [m] radii about the two vertices
    axis: Array = field(default_factory=lambda: np.zeros(3))  # of the discs, zero without

    @classmethod
    def of(cls, shape: ConvexSolid | Plane) -> "Solid":
        """The solid of a shape."""
        none = np.zeros((0, 3))
        if isinstance(shape, Capsule | Cylinder | Cone):
            ends = np.array([[0.0, 0.0, -shape.height / 2], [0.0, 0.0, shape.height / 2]])
            if isinstance(shape, Capsule):
                return cls(ends, none, np.zeros(0), np.zeros((0, 2, 3)), shape.radius)
            discs = (shape.radius, shape.radius if isinstance(shape, Cylinder) else 0.0)
            return cls(ends, none, np.zeros(0), np.zeros((0, 2, 3)), 0.0, discs, np.array([0.0, 0.0, 1.0]))
        if isinstance(shape, Sphere):
            return cls(np.zeros((1, 3)), none, np.zeros(0), np.zeros((0, 2, 3)), shape.radius)
        if isinstance(shape, Plane):
            return cls(none, shape.normal[None], np.array([shape.offset]), np.zeros((0, 2, 3)))
        if isinstance(shape, Box):
            points = np.array(list(product(*[(-extent / 2, extent / 2) for extent in shape.size])))
        else:
            points = shape.points
        middle = points.mean(axis=0)
        qhull = Qhull(points - middle)
        planes = np.unique(np.round(qhull.equations, 12), axis=0)
        sides = np.concatenate(
            [qhull.simplices[:, [0, 1]], qhull.simplices[:, [1, 2]], qhull.simplices[:, [2, 0]]]
        )
        edges = points[np.unique(np.sort(sides, axis=1), axis=0)]
        distances = planes[:, :3] @ middle - planes[:, 3]
        return cls(points[qhull.vertices], planes[:, :3], distances, edges)

    @property
    def is_plane(self) -> bool:
        """Whether it is a half-space."""
        return len(self.vertices) == 0

    @property
    def is_round(self) -> bool:
        """Neither a polyhedron nor a sphere."""
        return len(self.vertices) == 2

    def heights(self, directions: Array) -> Array:
        """Support function: how far the solid reaches along each direction [m], shape (d,)."""
        reach = directions @ self.vertices.T
        if self.discs:
            across = directions - np.outer(directions @ self.axis, self.axis)
            reach = reach + np.linalg.norm(across, axis=1)[:, None] * np.array(self.discs)
        return reach.max(axis=1) + self.radius

    def supports(self, directions: Array) -> Array:
        """Farthest point along each direction [m], shape (d, 3)."""
        reach = directions @ self.vertices.T
        across = directions - np.outer(directions @ self.axis, self.axis)
        width = np.linalg.norm(across, axis=1)
        if self.discs:
            reach = reach + width[:, None] * np.array(self.discs)
        best = reach.argmax(axis=1)
        points = self.vertices[best] + self.radius * directions
        if self.discs:
            # Along the axis what is left across it is round-off, at no right angle to it: take the centre.
            unit = np.where(width > 1e-8, 1.0 / np.maximum(width, 1e-8), 0.0)[:, None] * across
            points = points + np.array(self.discs)[best][:, None] * unit
        return points

    def depth_of(self, point: Array) -> float:
        """How deep a point lies inside [m], 0 or less outside."""
        if len(self.normals):
            return float((self.distances - self.normals @ point).min())
        if len(self.vertices) == 1:
            return self.radius - float(np.linalg.norm(point - self.vertices[0]))
        start, along = self.vertices[0], self.vertices[1] - self.vertices[0]
        length = float(np.linalg.norm(along))
        height = float((point - start) @ along) / length
        if not self.discs:
            foot = start + along * min(max(height / length, 0.0), 1.0)
            return self.radius - float(np.linalg.norm(point - foot))
        width = float(np.linalg.norm(point - start - height / length * along))
        slope = (self.discs[1] - self.discs[0]) / length
        side = (self.discs[0] + slope * height - width) / float(np.hypot(1.0, slope))
        return min(height, length - height, side)

    def moved(self, position: Array, rotation: Array) -> "Solid":
        """The same solid elsewhere."""
        normals = self.normals @ rotation.T
        return Solid(
            self.vertices @ rotation.T + position,
            normals,
            self.distances + normals @ position,
            self.edges @ rotation.T + position,
            self.radius,
            self.discs,
            rotation @ self.axis,
        )


def solids_of(shape: Shape) -> list[Solid]:
    """The convex solids a shape consists of, in the body's frame."""
    if isinstance(shape, Compound):
        return [Solid.of(part).moved(position, rotation) for part, position, rotation in shape.placed_parts()]
    if isinstance(shape, Mesh):  # a surface: see verification_mesh.py
        return []
    return [Solid.of(shape)]


class PlacedSolids:
    """All solids at their places in one frame, moved to the world when first needed."""

    def __init__(
        self,
        solids: list[Solid],
        position: Array,
        rotation: Array,
        known_directions: dict[tuple[int, int], Array],
    ) -> None:
        self._solids, self._position, self._rotation = solids, position, rotation
        self._placed: dict[int, Solid] = {}
        self.known_directions = known_directions

    def solid(self, body: int) -> Solid:
        """The solid of this number at its place."""
        if body not in self._placed:
            self._placed[body] = self._solids[body].moved(self._position[body], self._rotation[body])
        return self._placed[body]


def boxes_of(solids: list[Solid], position: Array, rotation: Array) -> tuple[Array, Array]:
    """Axis-aligned boxes of all bodies in all frames [m], each (frames, bodies, 3)."""
    low, high = np.empty_like(position), np.empty_like(position)
    for body, solid in enumerate(solids):
        if solid.is_plane:
            low[:, body], high[:, body] = -np.inf, np.inf
            continue
        turned = np.einsum("fij,vj->fvi", rotation[:, body], solid.vertices)
        wide = np.full((len(position), 1, 3), solid.radius)
        if solid.discs:  # a disc reaches r sqrt(1 - a^2) along an axis of cosine a with its own
            across = np.sqrt(np.maximum(1.0 - (rotation[:, body] @ solid.axis) ** 2, 0.0))
            wide = across[:, None] * np.array(solid.discs)[:, None]
        low[:, body] = (turned - wide).min(axis=1) + position[:, body]
        high[:, body] = (turned + wide).max(axis=1) + position[:, body]
    return low, high


def overlap(one: Solid, other: Solid, direction: Array) -> float:
    """Overlap along one direction: how far `other` must move along it to come free [m]."""
    return float(one.heights(direction[None])[0] + other.heights(-direction[None])[0])


def smallest_overlap(one: Solid, other: Solid) -> tuple[float, Array]:
    """The smallest overlap of all directions and its direction, by search: for round solids.

    The overlap is smooth or has ridges, but few minima: the best of many directions lie in the right
    ones, and a simplex search on the sphere goes to their bottom.
    """
    golden = np.arange(400) + 0.5
    height, turn = 1.0 - golden / 200.0, np.pi * (1.0 + 5**0.5) * golden
    ring = np.sqrt(1.0 - height**2)
    spread = np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)
    special = [solid.axis for solid in (one, other) if solid.discs]
    between = other.vertices.mean(axis=0) - one.vertices.mean(axis=0)
    if np.linalg.norm(between) > 0:
        special.append(between / np.linalg.norm(between))
    directions = np.concatenate(
        [spread, *(np.stack([d, -d]) for d in special), one.normals, -other.normals], dtype=np.float64
    )
    overlaps = one.heights(directions) + other.heights(-directions)
    best, best_direction = np.inf, directions[0]
    for start in directions[np.argsort(overlaps)[:6]]:
        tangents = np.linalg.svd(start[None])[2][1:]

        def along(x: Array, start: Array = start, tangents: Array = tangents) -> float:
            direction = start + x @ tangents
            return overlap(one, other, direction / np.linalg.norm(direction))

        found = minimize(
            along, np.zeros(2), method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-14, "initial_simplex": [[0, 0], [0.05, 0], [0, 0.05]]},
        )  # fmt: skip
        if found.fun < best:
            direction = start + found.x @ tangents
            best, best_direction = float(found.fun), direction / np.linalg.norm(direction)
    return best, best_direction


def signed_distance(point: Array, solid: Solid) -> float:
    """Distance from a point to the surface of a polyhedron [m], negative inside."""
    above = solid.normals @ point - solid.distances
    if above.max() <= 0:
        return float(above.max())
    # Outside, the nearest point is on an edge, or is the foot on a face whose plane it is above.
    start, along = solid.edges[:, 0], solid.edges[:, 1] - solid.edges[:, 0]
    parameter = np.einsum("ei,ei->e", point - start, along) / np.einsum("ei,ei->e", along, along)
    feet = start + np.clip(parameter, 0, 1)[:, None] * along
    distance = float(np.linalg.norm(feet - point, axis=1).min())
    for face in np.flatnonzero(above > 0):
        foot = point - above[face] * solid.normals[face]
        others = np.delete(solid.normals @ foot - solid.distances, face)
        if above[face] < distance and (others <= 1e-12 * np.abs(solid.distances).max()).all():
            distance = float(above[face])
    return distance
