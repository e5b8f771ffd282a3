"""Support points: the vertex of a hull, or the point of a round shape, farthest along a direction."""

import numpy as np

from ..jit import inlined, inner
from ..math3 import vec3
from .farthest import farthest
from .shape_table import DISCS

# A start for hill climbing where none is known (typed: a literal 0 would compile a second version).
ANY_VERTEX = np.int64(0)

# From this many vertices on, walking along edges beats looking at every vertex (measured: from 500 on without
# a good start, from 32 on with one).
CLIMB_FROM = 250


# Of the part along the axis: shorter ones are round-off, which lies at no right angle to it.
LEAST_ACROSS = 1e-8


@inlined
def support_vertex(shapes, s, d, start):
    """Vertex of shape `s` (index local to the shape) farthest along `d`, in the shape's own frame.

    Args:
        d: Direction, any length.
        start: Vertex where hill climbing begins; the last answer is a good one.
    """
    first, last = shapes.vertex_start[s], shapes.vertex_start[s + 1]
    if last - first < CLIMB_FROM:
        return farthest(shapes.vertex, first, last, d)[0] - first
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
    return farthest(shapes.face_normal, shapes.face_start[s], shapes.face_start[s + 1], d)


@inner
def aligned_edge(shapes, s, d):
    """The flattest edge at the vertex of a hull farthest along d (unit): two vertices, sine of its slope."""
    v = support_vertex(shapes, s, d, ANY_VERTEX)
    p, best, flattest = vertex(shapes, s, v), v, 2.0
    first = shapes.vertex_start[s] + v
    for k in range(shapes.neighbor_start[first], shapes.neighbor_start[first + 1]):
        u = np.int64(shapes.neighbor[k])
        edge = vec3.subtract(p, vertex(shapes, s, u))
        sine = vec3.dot(edge, d) / vec3.norm(edge)
        if sine < flattest:
            best, flattest = u, sine
    return v, best, flattest


@inner
def support_feature(shapes, s, d):
    """(generator, point) of shape `s` farthest along d, in its own frame, without the rounding of its radius.

    Generators are the vertices; of cylinders and cones the rims of their discs, in the order of the vertices.
    """
    if shapes.kind[s] != DISCS:
        v = support_vertex(shapes, s, d, ANY_VERTEX)
        return v, vertex(shapes, s, v)
    width, across = direction_across(vec3.load(shapes.axis, s), d)
    p, q = vertex(shapes, s, ANY_VERTEX), vertex(shapes, s, ANY_VERTEX + 1)
    hp = p[0] * d[0] + p[1] * d[1] + p[2] * d[2] + shapes.disc[s, 0] * width
    hq = q[0] * d[0] + q[1] * d[1] + q[2] * d[2] + shapes.disc[s, 1] * width
    end = ANY_VERTEX if hp >= hq else ANY_VERTEX + 1
    c, radius = (p if hp >= hq else q), shapes.disc[s, end]
    return end, (c[0] + radius * across[0], c[1] + radius * across[1], c[2] + radius * across[2])


@inlined
def direction_across(axis, d):
    """(length, unit vector) of the part of d at right angles to an axis.

    (0, zero) where there is none. Where next to none is, round-off decides where it points: the least length
    is so chosen that a rim is found as exactly by its centre as by a point that is a little off its plane.
    """
    along = vec3.dot(axis, d)
    across = (d[0] - along * axis[0], d[1] - along * axis[1], d[2] - along * axis[2])
    width = vec3.norm(across)
    if width <= LEAST_ACROSS * abs(along):
        return 0.0, (0.0, 0.0, 0.0)
    return width, vec3.scale(across, 1.0 / width)


@inner
def support_point(shapes, s, d):
    """Point of shape `s` farthest along `d`, in its own frame; without the rounding of its radius."""
    return support_feature(shapes, s, d)[1]


@inner
def feature_point(shapes, s, generator, d):
    """Point of one generator of shape `s` farthest along the unit vector d, and how it moves as d turns.

    Returns:
        (point, curve, tangent): the point changes by curve * tangent (tangent . change of d), with the curve
        [m] the radius of the rim over the sine of d with the axis; 0 for a vertex.
    """
    p = vertex(shapes, s, generator)
    if shapes.kind[s] != DISCS or shapes.disc[s, generator] == 0.0:
        return p, 0.0, (0.0, 0.0, 0.0)
    axis, radius = vec3.load(shapes.axis, s), shapes.disc[s, generator]
    width, across = direction_across(axis, d)
    return (
        vec3.add(p, vec3.scale(across, radius)),
        radius / width if width > 0.0 else 0.0,
        vec3.cross(axis, across),
    )
