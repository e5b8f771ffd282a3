"""How long a plane keeps two moving shapes apart.

The gap along a direction n that stays is a lower bound of their distance at any time, and costs two support
points instead of a search for the closest ones. It falls no faster than n . (v_b - v_a) + |w_a| r_a +
|w_b| r_b, so steps of the gap over that rate never go past its end (conservative advancement, Mirtich 1996,
section 2.3).
"""

import numpy as np

from ..geometry.shape_table import PLANE
from ..geometry.support import support_point
from ..jit import inner, kernel
from ..math3 import mat3, quat, vec3

MAX_STEPS = 1000


@inner
def _height(shapes, s, r, d):
    """How far shape s reaches from its origin along d (unit, world axes) [m]; a plane along its normal."""
    if shapes.kind[s] == PLANE:
        return shapes.face_distance[shapes.face_start[s]]
    local = mat3.transform_transposed(r, d)
    return vec3.dot(local, support_point(shapes, s, local)) + shapes.radius[s]


@kernel
def advance_along(shapes, shape, position, orientation, linear, angular, bound, n, time, seconds, accuracy):
    """When the gap of two shapes along n first is as small as `accuracy`, if they move and turn steadily.

    Args:
        shape: The two shapes, shape (2,); the first is a, n points to it.
        position, orientation: Of their origins [m] and as quaternions, at time 0, shape (2, 3), (2, 4).
        linear, angular: Velocities of their origins [m/s], [rad/s], shape (2, 3).
        bound: How far turning can move a point of each [m], shape (2,).
        n: Unit vector, shape (3,).
        time, seconds: When to begin, and when to end [s].
        accuracy: [m]

    Returns:
        That time [s]; infinite where the gap stays wider up to `seconds`.
    """
    direction = n[0], n[1], n[2]
    rate = vec3.dot(direction, vec3.subtract(vec3.load(linear, 1), vec3.load(linear, 0)))
    for side in range(2):
        spin = vec3.norm(vec3.load(angular, side))
        if spin > 0.0:  # a plane, whose bound is infinite, does not turn
            rate += spin * bound[side]
    for _ in range(MAX_STEPS):
        gap = 0.0
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            turned = quat.multiply(
                quat.exp(vec3.scale(vec3.load(angular, side), time)), quat.load(orientation, side)
            )
            place = vec3.add(vec3.load(position, side), vec3.scale(vec3.load(linear, side), time))
            gap += sign * vec3.dot(direction, place)
            gap -= _height(shapes, shape[side], quat.to_mat3(turned), vec3.scale(direction, -sign))
        if gap <= accuracy:
            return time
        if rate <= 0.0:
            return np.inf
        time += gap / rate
        if time > seconds:
            return np.inf
    return time
