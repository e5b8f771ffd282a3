"""Contacts in closed form: spheres with each other, with hulls, cylinders and cones, and with a plane.

Frame: world axes, origin at the centre of mass of b; normals from b to a.
"""

import math

import numpy as np

from ..geometry.shape_table import DISCS
from ..geometry.support import ANY_VERTEX, support_vertex, vertex
from ..jit import inner
from ..math3 import mat3, vec3
from .manifold import add_candidate

MANY = 32  # vertices of a hull: from so many on its lowest one is looked for first


@inner
def collide_spheres(center_a, radius_a, center_b, radius_b, margin, scratch):
    """Contact of two spheres; concentric ones are parted along z."""
    d = vec3.subtract(center_a, center_b)
    distance = vec3.norm(d)
    separation = distance - radius_a - radius_b
    if separation > margin:
        return
    n = vec3.scale(d, 1.0 / distance) if distance > 1e-12 * (radius_a + radius_b) else (0.0, 0.0, 1.0)
    add_candidate(scratch, vec3.subtract(center_a, vec3.scale(n, radius_a)), n, separation, ANY_VERTEX)


@inner
def collide_with_plane(shapes, s, r, offset, n, distance, sign, margin, scratch):
    """Contacts of a hull or sphere with the half-space n . x <= distance.

    Args:
        s, r, offset: Shape, rotation and centre of mass [m] of the body above the plane.
        sign: 1 where the plane is b, -1 where it is a.
    """
    first, last = shapes.vertex_start[s], shapes.vertex_start[s + 1]
    radius = shapes.radius[s]
    n_local = mat3.transform_transposed(r, n)
    base = vec3.dot(n, offset) - distance - radius
    if last - first >= MANY:  # most large hulls near a plane do not touch it
        lowest = vertex(shapes, s, support_vertex(shapes, s, vec3.scale(n_local, -1.0), ANY_VERTEX))
        if base + vec3.dot(n_local, lowest) > margin:
            return
    for v in range(first, last):
        x = vec3.load(shapes.vertex, v)
        separation = base + vec3.dot(n_local, x)
        if separation > margin:
            continue
        p = vec3.subtract(vec3.add(mat3.transform(r, x), offset), vec3.scale(n, radius))
        if sign > 0.0:
            add_candidate(scratch, p, n, separation, v - first)
        else:
            on_plane = vec3.subtract(p, vec3.scale(n, separation))
            add_candidate(scratch, on_plane, vec3.scale(n, -1.0), separation, v - first)


@inner
def collide_sphere_solid(shapes, center, radius, sb, rb, sign, margin, manifold):
    """Contact of a sphere (centre from the solid's centre of mass) with a hull, a cylinder or a cone.

    `sign` is 1 where the solid is b, -1 where it is a. The point added lies on a; in the second case
    it is given from the centre of the sphere.

    Returns:
        Whether it touches on a flat face.
    """
    local = mat3.transform_transposed(rb, center)
    if shapes.kind[sb] == DISCS:
        distance, n, is_flat = _distance_from_discs(shapes, sb, local)
    else:
        distance, n, is_flat = _distance_from_hull(shapes, sb, local, margin + radius)
    if distance - radius > margin:
        return is_flat
    n = mat3.transform(rb, n)
    if sign > 0.0:
        on_a = vec3.subtract(center, vec3.scale(n, radius))
        add_candidate(manifold, on_a, n, distance - radius, ANY_VERTEX)
    else:
        on_solid = vec3.scale(n, -distance)
        add_candidate(manifold, on_solid, vec3.scale(n, -1.0), distance - radius, ANY_VERTEX)
    return is_flat


@inner
def _distance_from_hull(shapes, s, point, far):
    """(distance, direction, whether to a face) of a point from the surface of a hull, negative inside.

    Beyond `far` the distance is a bound.
    """
    best_face, height = np.int64(-1), -1e300
    for f in range(shapes.face_start[s], shapes.face_start[s + 1]):
        h = vec3.dot(vec3.load(shapes.face_normal, f), point) - shapes.face_distance[f]
        if h > height:
            best_face, height = f, h
    if 0.0 < height <= far and not _inside_face(shapes, s, best_face, point):
        distance, n = _vertex_or_edge_distance(shapes, s, point)
        return distance, n, False
    return height, vec3.load(shapes.face_normal, best_face), True


@inner
def _distance_from_discs(shapes, s, point):
    """(distance, direction, whether to a disc) of a point from a cylinder or cone; negative inside.

    In the half-plane of the axis and the point the solid is a trapezium; its far side is the surface.
    """
    axis, bottom = vec3.load(shapes.axis, s), vertex(shapes, s, np.int64(0))
    length = vec3.norm(vec3.subtract(vertex(shapes, s, np.int64(1)), bottom))
    r0, r1 = shapes.disc[s, 0], shapes.disc[s, 1]
    d = vec3.subtract(point, bottom)
    z = vec3.dot(d, axis)
    across = vec3.subtract(d, vec3.scale(axis, z))
    rho = vec3.norm(across)
    out = vec3.scale(across, 1.0 / rho) if rho > 0.0 else vec3.tangents(axis)[0]
    slant = math.sqrt(length * length + (r0 - r1) * (r0 - r1))
    m_rho, m_z = length / slant, (r0 - r1) / slant  # normal of the side
    side = m_rho * (rho - r0) + m_z * z
    highest = max(side, -z, z - length)
    if highest <= 0.0:
        if highest == side:
            return side, vec3.add(vec3.scale(out, m_rho), vec3.scale(axis, m_z)), False
        return highest, vec3.scale(axis, -1.0 if highest == -z else 1.0), True
    if (z < 0.0 and rho <= r0) or (z > length and rho <= r1):
        return highest, vec3.scale(axis, -1.0 if z < 0.0 else 1.0), True
    along = m_rho * z - m_z * (rho - r0)
    if 0.0 < along < slant:
        return side, vec3.add(vec3.scale(out, m_rho), vec3.scale(axis, m_z)), False
    from_rho, from_z = (rho - r0, z) if along <= 0.0 else (rho - r1, z - length)
    distance = math.sqrt(from_rho * from_rho + from_z * from_z)
    n = vec3.add(vec3.scale(out, from_rho / distance), vec3.scale(axis, from_z / distance))
    return distance, n, False


@inner
def _inside_face(shapes, s, face, point):
    """Whether the foot of `point` on a face's plane lies within the face."""
    n = vec3.load(shapes.face_normal, face)
    first, last = shapes.loop_start[face], shapes.loop_start[face + 1]
    base = shapes.vertex_start[s]
    previous = vec3.load(shapes.vertex, base + shapes.loop[last - 1])
    for k in range(first, last):
        corner = vec3.load(shapes.vertex, base + shapes.loop[k])
        side = vec3.cross(vec3.subtract(corner, previous), n)
        if vec3.dot(side, vec3.subtract(point, corner)) > 0.0:
            return False
        previous = corner
    return True


@inner
def _vertex_or_edge_distance(shapes, s, point):
    """(distance, direction) from the nearest edge or vertex of a hull to a point outside."""
    base = shapes.vertex_start[s]
    best2, best = 1e300, (0.0, 0.0, 1.0)
    for e in range(shapes.edge_start[s], shapes.edge_start[s + 1]):
        p = vec3.load(shapes.vertex, base + shapes.edge[e, 0])
        u = vec3.subtract(vec3.load(shapes.vertex, base + shapes.edge[e, 1]), p)
        d = vec3.subtract(point, p)
        t = min(max(vec3.dot(d, u) / vec3.dot(u, u), 0.0), 1.0)
        d = vec3.subtract(d, vec3.scale(u, t))
        if vec3.dot(d, d) < best2:
            best2, best = vec3.dot(d, d), d
    distance = vec3.norm(best)
    return distance, vec3.scale(best, 1.0 / distance)
