"""The difference of two placed convex cores, w = p_a - p_b: its support points and their generators.

A generator of a core is a vertex, or the rim of a disc: the core is the hull of its generators. A pair of
generators, one of each core, gives a support point w_ij(n) of the difference for each direction n; while it
stays the same pair, w_ij is smooth. Frame as in gjk.py: world axes, origin at the centre of mass of b.
"""

from ..geometry.support import feature_point, support_feature
from ..jit import inner
from ..math3 import mat3, vec3
from .gjk import VERTEX_A, VERTEX_B, put_row


@inner
def difference_support(shapes, sa, ra, p_ba, sb, rb, d):
    """(w, p_a, generators of a and b): the point of a - b farthest along d, and what is behind it."""
    a, pa = support_feature(shapes, sa, mat3.transform_transposed(ra, d))
    b, pb = support_feature(shapes, sb, mat3.transform_transposed(rb, vec3.scale(d, -1.0)))
    pa = vec3.add(mat3.transform(ra, pa), p_ba)
    return vec3.subtract(pa, mat3.transform(rb, pb)), pa, a, b


@inner
def follow_generators(shapes, sa, ra, p_ba, sb, rb, n, simplex, i):
    """Move row i of the simplex to where its generators lie farthest along -n.

    Returns:
        (curve of a, its tangent, curve of b, its tangent): w changes by -(curve) tangent (tangent . dn) for
        each of the two; tangents in world axes.
    """
    a, b = int(simplex[i, VERTEX_A]), int(simplex[i, VERTEX_B])
    pa, curve_a, along_a = feature_point(shapes, sa, a, mat3.transform_transposed(ra, vec3.scale(n, -1.0)))
    pb, curve_b, along_b = feature_point(shapes, sb, b, mat3.transform_transposed(rb, n))
    pa = vec3.add(mat3.transform(ra, pa), p_ba)
    put_row(simplex, i, vec3.subtract(pa, mat3.transform(rb, pb)), pa, a, b)
    return curve_a, mat3.transform(ra, along_a), curve_b, mat3.transform(rb, along_b)
