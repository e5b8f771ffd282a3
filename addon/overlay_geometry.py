"""What the overlay draws, as arrays of lines and points in Blender units. Pure: no bpy."""

from __future__ import annotations  # naming core's types must not load the solver

from typing import NamedTuple

import numpy as np

from .. import core
from .bake_frames import BakedFrame
from .rigid_frames import rotation_from_wxyz

FORCE_LENGTH = 0.5  # length of the longest force of a frame, relative to the median size of bodies
VELOCITY_SECONDS = 0.1  # a velocity is drawn as the way of so much time [s]
HEAD_LENGTH, HEAD_WIDTH = 0.15, 0.05  # of an arrow, relative to its length
CIRCLE = 24  # corners of a circle
LABELS = 20  # overlaps that are labelled, the deepest ones


class Lines(NamedTuple):
    """Line segments of one colour: ends in pairs, shape (2 n, 3)."""

    ends: np.ndarray


class BodyOutlines:
    """The edges of the bodies' shapes, each in its body's frame; copies of an object share them."""

    def __init__(self, scene: core.Scene, metres: float) -> None:
        """Find the edges once.

        Args:
            scene: What was solved.
            metres: Metres per Blender unit.
        """
        self.metres = metres
        made: dict[int, np.ndarray] = {}
        self.edges = []
        for body in scene.bodies:
            if id(body.shape) not in made:
                made[id(body.shape)] = shape_edges(body.shape)
            self.edges.append(made[id(body.shape)])

    def at(self, frame: BakedFrame, chosen: np.ndarray) -> Lines:
        """The edges of some bodies at a frame.

        Args:
            frame: The frame.
            chosen: Which bodies, shape (bodies,).
        """
        parts = []
        rotations = rotation_from_wxyz(frame.orientation).as_matrix()
        for i in np.flatnonzero(chosen):
            if len(self.edges[i]):
                parts.append(self.edges[i] @ rotations[i].T + frame.position[i])
        return Lines(_stack(parts) / self.metres)


def shape_edges(shape: core.Shape) -> np.ndarray:
    """Edges of a shape in its body's frame, as pairs of ends [m], shape (2 n, 3); none of a plane's."""
    if isinstance(shape, core.Compound):
        return _stack([shape_edges(part) @ turn.T + place for part, place, turn in shape.placed_parts()])
    if isinstance(shape, core.Box | core.ConvexHull):
        hull = shape.hull
        return hull.vertices[hull.edges[:, :2]].reshape(-1, 3)
    if isinstance(shape, core.Mesh):
        corners = shape.triangles
        sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
        return shape.vertices[np.unique(np.sort(sides, axis=1), axis=0)].reshape(-1, 3)
    if isinstance(shape, core.Sphere):
        return _stack([_circle(shape.radius, axis) for axis in range(3)])
    if isinstance(shape, core.Plane):
        return np.zeros((0, 3))
    up = np.array([0.0, 0.0, 0.5 * shape.height])
    rim = _circle(shape.radius, 2)
    low = rim - up
    sides = shape.radius * np.array([(1.0, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)])
    if isinstance(shape, core.Cone):
        # A cone's origin is halfway up; its centre of mass is lower.
        rays = [np.array([side - up, up]) for side in sides]
        return _stack([low, *rays])
    rays = [np.array([side - up, side + up]) for side in sides]
    if isinstance(shape, core.Cylinder):
        return _stack([low, rim + up, *rays])
    caps = []
    for axis in (0, 1):
        circle = _circle(shape.radius, axis).reshape(-1, 2, 3)
        above = circle.mean(axis=1)[:, None, 2:] > 0.0  # a side of the circle belongs to one cap
        caps.append((circle + np.where(above, 1.0, -1.0) * up).reshape(-1, 3))
    return _stack([low, rim + up, *rays, *caps])


def contact_forces(frame: BakedFrame, metres: float, size: float) -> Lines:
    """A line from each contact point along the force on body a, the longest of a length that can be seen.

    Args:
        frame: The frame.
        metres: Metres per Blender unit.
        size: Of a usual body [m].
    """
    strength = np.linalg.norm(frame.contact_force, axis=1)
    longest = strength.max(initial=0.0)
    if longest == 0.0:
        return Lines(np.zeros((0, 3)))
    ways = frame.contact_force * (FORCE_LENGTH * size / longest)
    return Lines(_pairs(frame.contact_point, frame.contact_point + ways) / metres)


def contact_normals(frame: BakedFrame, metres: float, size: float) -> Lines:
    """A short line from each contact point along its normal."""
    ends = frame.contact_point + 0.15 * size * frame.contact_normal
    return Lines(_pairs(frame.contact_point, ends) / metres)


def velocities(frame: BakedFrame, metres: float) -> Lines:
    """A line from each moving body's origin along its velocity."""
    moving = frame.linear_velocity.any(axis=1)
    start = frame.position[moving]
    return Lines(_pairs(start, start + VELOCITY_SECONDS * frame.linear_velocity[moving]) / metres)


def arrow(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """A line with four strokes back from its end, as pairs of ends, shape (10, 3).

    Args:
        start: Shape (3,).
        end: Shape (3,), not the start.
    """
    way = end - start
    aside = np.cross(way, np.eye(3)[int(np.abs(way).argmin())])
    aside *= HEAD_WIDTH * np.linalg.norm(way) / np.linalg.norm(aside)
    above = np.cross(way, aside) / np.linalg.norm(way)
    neck = end - HEAD_LENGTH * way
    strokes = [np.stack([end, neck + side]) for side in (aside, -aside, above, -above)]
    return _stack([np.stack([start, end]), *strokes])


def usual_size(outlines: BodyOutlines, dynamic: np.ndarray) -> float:
    """Median diameter of the bodies that move [m], 1 where none has edges."""
    sizes = [
        float(np.ptp(outlines.edges[i], axis=0).max())
        for i in np.flatnonzero(dynamic)
        if len(outlines.edges[i])
    ]
    return float(np.median(sizes)) if sizes else 1.0


def deep_bodies(frame: BakedFrame, tolerance: float) -> np.ndarray:
    """Which bodies have a contact deeper than the tolerance [m], shape (bodies,)."""
    deep = np.zeros(len(frame.position), dtype=bool)
    deep[frame.contact_body[frame.contact_depth > tolerance].ravel()] = True
    return deep


def deepest_contacts(frame: BakedFrame, tolerance: float) -> np.ndarray:
    """The deepest contact of each pair of bodies that overlap by more than a tolerance [m], deepest first.

    At most `LABELS`, as indices of the frame's contacts.
    """
    deep = np.flatnonzero(frame.contact_depth > tolerance)
    deep = deep[np.argsort(-frame.contact_depth[deep], kind="stable")]
    _, first = np.unique(np.sort(frame.contact_body[deep], axis=1), axis=0, return_index=True)
    return deep[np.sort(first)][:LABELS]


def _circle(radius: float, axis: int) -> np.ndarray:
    """A circle about an axis as pairs of ends, shape (2 CIRCLE, 3)."""
    angle = np.linspace(0.0, 2.0 * np.pi, CIRCLE + 1)
    corners = np.zeros((CIRCLE + 1, 3))
    corners[:, (axis + 1) % 3] = radius * np.cos(angle)
    corners[:, (axis + 2) % 3] = radius * np.sin(angle)
    return _pairs(corners[:-1], corners[1:])


def _pairs(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    return np.stack([starts, ends], axis=1).reshape(-1, 3)


def _stack(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros((0, 3))
