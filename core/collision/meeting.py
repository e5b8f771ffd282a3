"""Where two bodies meet within a step: contact points of fast ones are those of that moment.

The closest points of two balls that fly past or at each other say little of how they meet: at 5 m/s they are
2 cm nearer after a step of 1/240 s, and the normal points elsewhere. So where bodies are to move by a good
part of their size, they are looked at again where the motion ahead takes them: to where the plane between
them stops keeping them apart, and from there on, until they touch or the step ends. Their points are taken
from there, with the separation that, closing steadily, ends there.

Source: Mirtich 1996, section 2.3 (conservative advancement), here Newton's method on a convex distance.
"""

import math

from ..geometry.shape_table import HULL, PLANE, SPHERE, TRIANGLE
from ..jit import inlined, inner
from ..math3 import mat3, quat, vec3

# Of the size: bodies whose points move by less on each other in a step meet as they stand; by less than
# FAR_BY_FACE where a flat face lies between them. Where one is round the normal turns with the first bit of
# way; where edges cross their point runs along both.
FAR_BY_FACE, FAR = 0.01, 1e-3
# [rad] a step: what turns faster, and shows it, is looked at where it stands; less over triangles of a mesh,
# each of which is looked at alone: what turns far goes from one to another. What is to turn by more than
# TURN_OF_LOOK until its closest points would touch is looked at as soon as any points could.
MOST_TURN, MOST_TURN_ON_MESH, TURN_OF_LOOK = 2.0, 0.5, 0.1
# [rad] by which bodies that come straight at each other turn at most until they meet, and by which part of
# the size one slides by the other.
SAME_NORMAL, SAME_PLACE = 1e-3, 1e-3
MET = 0.1  # of the slack: bodies this near touch
LOOKS = 20  # at a pair in a step, at most


@inlined
def way_ahead(ahead, a, b, p, p_ba):
    """How far the point p of a moves relative to b in the motion ahead, from the centre of mass of b [m]."""
    turn_a, turn_b = (ahead[a, 3], ahead[a, 4], ahead[a, 5]), (ahead[b, 3], ahead[b, 4], ahead[b, 5])
    way = vec3.add(
        vec3.subtract(vec3.load(ahead, a), vec3.load(ahead, b)), vec3.cross(turn_a, vec3.subtract(p, p_ba))
    )
    return vec3.subtract(way, vec3.cross(turn_b, p))


@inlined
def _visible_turn(shapes, s, ahead, body):
    """By how much a body turns in the motion ahead, if that shows [rad]."""
    turn = vec3.norm((ahead[body, 3], ahead[body, 4], ahead[body, 5]))
    return 0.0 if shapes.kind[s] == SPHERE else turn


@inlined
def _is_flat(shapes, s):
    """Whether the faces of a shape are flat."""
    return shapes.kind[s] in (HULL, PLANE, TRIANGLE)


@inlined
def moves_far(shapes, sa, sb, ahead, a, b, size, by_face):
    """Whether two bodies move on each other by so much that their contacts may not be those they begin with.

    Args:
        size: Of the smaller one [m].
        by_face: Whether a face of one of them lay between them last.

    Returns:
        (whether they do, by how much one of them turns, if that shows [rad]).
    """
    turn = max(_visible_turn(shapes, sa, ahead, a), _visible_turn(shapes, sb, ahead, b))
    way = vec3.norm(vec3.subtract(vec3.load(ahead, a), vec3.load(ahead, b)))
    far = FAR_BY_FACE if by_face and _is_flat(shapes, sa) and _is_flat(shapes, sb) else FAR
    most = MOST_TURN_ON_MESH if shapes.kind[sb] == TRIANGLE else MOST_TURN
    return way + turn * size > far * size and turn <= most, turn


@inlined
def pose_at(ahead, a, b, part, ra, p_ba, rb):
    """(R_a, p_ba, R_b) of a pair after a part of the motion ahead."""
    shift = vec3.subtract(vec3.load(ahead, a), vec3.load(ahead, b))
    back_a = quat.to_mat3(quat.exp(vec3.scale((ahead[a, 3], ahead[a, 4], ahead[a, 5]), -part)))
    back_b = quat.to_mat3(quat.exp(vec3.scale((ahead[b, 3], ahead[b, 4], ahead[b, 5]), -part)))
    place = vec3.add(p_ba, vec3.scale(shift, part))
    return mat3.transposed_times(back_a, ra), place, mat3.transposed_times(back_b, rb)


@inlined
def _deepest(manifold):
    """The candidate of the least separation."""
    deepest = 0
    for i in range(manifold.count[0]):
        if manifold.separation[i] < manifold.separation[deepest]:
            deepest = i
    return deepest


@inlined
def lowest_gap(manifold, none):
    """The least separation of the candidates [m]; `none` where there are none."""
    return manifold.separation[_deepest(manifold)] if manifold.count[0] > 0 else none


@inner
def _time_to_close(manifold, ahead, a, b, p_ba, bent):
    """After which part of the motion ahead the first candidate would touch; infinite where none closes.

    Args:
        bent: By how much less than on a straight way it may be apart in the end [m].
    """
    first = math.inf
    for i in range(manifold.count[0]):
        p, n = vec3.load(manifold.p_a, i), vec3.load(manifold.normal, i)
        closing = bent - vec3.dot(n, way_ahead(ahead, a, b, p, p_ba))
        if closing > 0.0:
            first = min(first, max(manifold.separation[i], 0.0) / closing)
    return first


@inner
def next_look(manifold, ahead, a, b, p_ba, turn, reach, size, slack, part, search):
    """Where to look at a pair next, as a part of the motion ahead; `part`, where that was looked at last.

    Args:
        manifold: What was found there.
        ahead: By what each body is to move and turn, see `Trace`.
        p_ba: Centre of mass of a from that of b there [m].
        turn: By how much a body turns in the motion ahead, if that shows [rad].
        reach: Farther than that no points of the two move towards each other in the motion ahead [m].
        size: Of the smaller body [m].
        slack: What counts as touching [m].
        search: Of this pair: looks, the part and the gap where it was last found apart.
    """
    if manifold.count[0] == 0 or search[0] > LOOKS:  # it passes by, or goes on looking for ever
        return part
    deepest = _deepest(manifold)
    gap, n = manifold.separation[deepest], vec3.load(manifold.normal, deepest)
    search[0] += 1.0
    until = min(_time_to_close(manifold, ahead, a, b, p_ba, 0.0), 1.0 - part)
    if search[0] == 1.0:
        if gap <= slack:
            return part
        bent = 0.5 * turn * turn * size
        if turn < TURN_OF_LOOK and _time_to_close(manifold, ahead, a, b, p_ba, bent) >= 1.0:
            return part
        # What comes straight at each other meets as it stands.
        way = way_ahead(ahead, a, b, vec3.load(manifold.p_a, deepest), p_ba)
        slid = vec3.norm(vec3.subtract(way, vec3.scale(n, vec3.dot(n, way))))
        if turn * until < SAME_NORMAL and slid * until < SAME_PLACE * size:
            return part
    elif abs(gap) <= MET * slack or (part == 1.0 and gap > 0.0):
        return part
    elif gap < 0.0:
        return search[1] + (part - search[1]) * search[2] / (search[2] - gap)
    search[1], search[2] = part, gap
    if turn * until > TURN_OF_LOOK:
        until = min(max(gap / reach, TURN_OF_LOOK / turn), 1.0 - part)
    return part + until
