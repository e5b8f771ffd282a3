"""Support points: the vertex of a hull, or the point of a round shape, farthest along a direction."""

import math

import numpy as np

from ..jit import inlined, inner
from .shape_table import DISCS

# A start for hill climbing where none is known (typed: a literal 0 would compile a second version).
ANY_VERTEX = np.int64(0)

# From this many vertices on, walking along edges beats looking at every vertex (measured).
CLIMB_FROM = 32


@inlined
def support_vertex(shapes, s, d, start):
    """Vertex of shape `s` (index local to the shape) farthest along `d`, in the shape's own frame.

    Args:
        d: Direction, any length.
        start: Vertex where hill climbing begins; the last answer is a good one.
    """
    first, last = shapes.vertex_start[s], shapes.vertex_start[s + 1]
    if last - first < CLIMB_FROM:
        best, best_height = first, -1e300
        for v in range(first, last):
            height = shapes.vertex[v, 0] * d[0] + shapes.vertex[v, 1] * d[1] + shapes.vertex[v, 2] * d[2]
            if height > best_height:
                best, best_height = v, height
        return best - first
    v = first + start
    height = shapes.vertex[v, 0] * d[0] + shapes.vertex[v, 1] * d[1] + shapes.vertex[v, 2] * d[2]
    for _ in range(last - first):  # each round climbs, so it ends on a convex hull
        best = v
        for k in range(shapes.neighbor_start[v], shapes.neighbor_start[v + 1]):
            u = first + shapes.neighbor[k]
            h = shapes.vertex[u, 0] * d[0] + shapes.vertex[u, 1] * d[1] + shapes.vertex[u, 2] * d[2]
            if h > height:
                best, height = u, h
        if best == v:
            break
        v = best
    return v - first


@inlined
def vertex(shapes, s, local):
    """Coordinates of vertex `local` of shape `s` in the shape's frame."""
    v = shapes.vertex_start[s] + local
    return shapes.vertex[v, 0], shapes.vertex[v, 1], shapes.vertex[v, 2]


@inlined
def aligned_face(shapes, s, d):
    """Face of shape `s` (index into all faces) whose normal lies closest to `d`, in its own frame."""
    best, best_cosine = -1, -1e300
    for f in range(shapes.face_start[s], shapes.face_start[s + 1]):
        n = shapes.face_normal[f]
        cosine = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
        if cosine > best_cosine:
            best, best_cosine = f, cosine
    return best, best_cosine


@inner
def support_point(shapes, s, d):
    """Point of shape `s` farthest along `d`, in its own frame; without the rounding of its radius."""
    if shapes.kind[s] != DISCS:
        return vertex(shapes, s, support_vertex(shapes, s, d, ANY_VERTEX))
    a = shapes.axis[s]
    along = a[0] * d[0] + a[1] * d[1] + a[2] * d[2]
    across = (d[0] - along * a[0], d[1] - along * a[1], d[2] - along * a[2])
    width = math.sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2])
    p, q = vertex(shapes, s, ANY_VERTEX), vertex(shapes, s, ANY_VERTEX + 1)
    hp = p[0] * d[0] + p[1] * d[1] + p[2] * d[2] + shapes.disc[s, 0] * width
    hq = q[0] * d[0] + q[1] * d[1] + q[2] * d[2] + shapes.disc[s, 1] * width
    c, radius = (p, shapes.disc[s, 0]) if hp >= hq else (q, shapes.disc[s, 1])
    k = radius / width if width > 0.0 else 0.0
    return c[0] + k * across[0], c[1] + k * across[1], c[2] + k * across[2]
