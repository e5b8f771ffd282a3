"""Contacts that have a closed form: spheres with each other, and anything with a plane.

Frame: world axes, origin at the centre of mass of b; normals from b to a.
"""

from ..geometry.support import ANY_VERTEX, CLIMB_FROM, support_vertex, vertex
from ..jit import inner
from ..math3 import mat3, vec3
from .manifold import add_candidate


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
    if last - first >= CLIMB_FROM:  # most large hulls near a plane do not touch it
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
