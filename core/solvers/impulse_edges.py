"""Balls that get past the edge of a hull within the step.

A contact of the step's beginning would hold a ball on the plane of the face to the end of the step: what
rolls off a table would leave it up to a step too late. The face bears the ball until its point is over the
edge only. From there on the ball may come as far below as the edge lets it, or the face behind that.

Beyond the edge by s, a ball of radius r may be sqrt(r^2 + s^2) - r lower. So the plane falls away from under
it with the acceleration u^2 / r, u being its speed across the edge; of a contact that makes the acceleration
g the part min(u^2 / (r g), 1) is lost from there on.

Nor does a ball run against an edge that it gets past: from one tile on to the next, as high, it rolls on.
"""

import math

import numpy as np

from ..dynamics.body_state import DYNAMIC
from ..dynamics.contact_rows import add_impulse, to_world
from ..geometry.shape_table import HULL
from ..jit import inlined, inner, kernel
from ..math3 import mat3, vec3
from .impulse_collisions import MOST_ACTED
from .impulse_contacts import is_ball
from .impulse_level import LEVEL, NOT_YET

STILL = 1e-5  # of its radius: what moves by less in a step gets past nothing
ON_EDGE = 1e-6  # of a hull's size: how far from a face a point is on it


@inlined
def _is_only_contact(graph, body):
    """Whether a body has one contact."""
    start = graph.link_start[body]
    if graph.link_start[body + 1] != start + 1:
        return False
    link = graph.link_of_body[start]
    return graph.link[link + 1] == graph.link[link] + 1


@inner
def _first_edge(shapes, shape, R, point, n, u, h):
    """Over which edge a point goes first that moves on a face of a hull, or which it is on.

    Args:
        R: Rotation matrix of the hull's body.
        point: From its centre of mass, and
        n, u: the normal of the contact, the velocity across that, all in world axes.

    Returns:
        (time [s], direction across the edge, cosine of the angle by which the surface turns there, how many
        faces the point is on, whether the contact is with one); time is `h` where there is no such edge.
    """
    time, ahead, cosine, on_face, touching = h, n, 1.0, False, 0
    for f in range(shapes.face_start[shape], shapes.face_start[shape + 1]):
        normal = mat3.transform(R, vec3.load(shapes.face_normal, f))
        turn, rate = vec3.dot(normal, n), vec3.dot(normal, u)
        room = max(shapes.face_distance[f] - vec3.dot(normal, point), 0.0)
        touching += room <= ON_EDGE * shapes.bound[shape]
        if turn > LEVEL:
            on_face = True
        elif rate * time > room:
            time, ahead, cosine = room / rate, normal, turn
    across = vec3.subtract(ahead, vec3.scale(n, cosine))
    length = vec3.norm(across)
    return time, vec3.scale(across, 1.0 / length if length > 0.0 else 0.0), cosine, touching, on_face


@inlined
def _distance(height, way, cosine):
    """Distance of a point from an edge, or from the face behind it [m].

    Args:
        height, way: Where it is, seen from the edge: along a contact's normal there, and across the edge.
        cosine: Of the angle from the normal to that of the face.
    """
    sine = math.sqrt(max(1.0 - cosine * cosine, 0.0))
    if cosine > 0.0 and way * cosine > height * sine:
        return height * cosine + way * sine
    return math.sqrt(height * height + way * way)


@inlined
def _nearest(x0, y0, x1, y1):
    """Distance of the origin from the line between two points of a plane."""
    dx, dy = x1 - x0, y1 - y0
    square = dx * dx + dy * dy
    t = min(max(-(x0 * dx + y0 * dy) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return math.sqrt((x0 + t * dx) ** 2 + (y0 + t * dy) ** 2)


@inner
def _height_over_faces(shapes, shape, R, point, start, end):
    """How high a way stays over any one of the faces that meet at a point, and its end over any [m].

    Args:
        start, end: Seen from that point, in world axes.
    """
    least, last = -np.inf, -np.inf
    for f in range(shapes.face_start[shape], shapes.face_start[shape + 1]):
        normal = mat3.transform(R, vec3.load(shapes.face_normal, f))
        if shapes.face_distance[f] - vec3.dot(normal, point) <= ON_EDGE * shapes.bound[shape]:
            least = max(least, min(vec3.dot(normal, start), vec3.dot(normal, end)))
            last = max(last, vec3.dot(normal, end))
    return least, last


@inner
def _leave_face(kind, masses, contacts, rows, c, h, time, across, radius, plan):
    """Have the impulses of the last step at contact `c` act on a ball until it is over the edge only."""
    part = min(time / h, MOST_ACTED)
    beyond, whole = 1.0 - part, rows.impulse[c, 0]
    rows.acted[c] = part
    for k in range(3):
        rows.before[c, k] *= beyond
        rows.impulse[c, k] = rows.before[c, k]
    # What changes does so at the beginning of the step: what is lost then moves the ball all through it. Lost
    # from the edge on it moves that by beyond / 2 as much.
    lost = min(across * across * h / (radius * whole * rows.K_nn[c]), 1.0) * whole
    late = to_world(contacts, c, (lost * beyond * (1.0 - 0.5 * beyond), 0.0, 0.0))
    for side in range(2):
        body, sign = contacts.body[c, side], 1.0 - 2.0 * side
        if kind[body] == DYNAMIC:
            arm = vec3.load(contacts.arm[c], side)
            add_impulse(masses, body, arm, late, sign, 1.0, plan.mean)
            add_impulse(masses, body, arm, late, -sign, 1.0, plan.end_minus_mean)


@inlined
def _pass(rows, c, radius, closes, nearest, nearer, tolerance, rest):
    """Have contact `c` of a ball at an edge, or at a vertex, let it go past, unless it hits that.

    Args:
        closes: How much the contact closes in the step by its normal [m],
        nearer: and how much less the ball gets nearer.
        nearest: How far from what is there its centre stays [m].
        tolerance: Penetration that does not count [m].
        rest: What closes by more may collide [m].
    """
    gap = rows.gap[c] + nearer
    if closes <= rest:
        rows.gap[c] = gap
    elif nearest >= radius - tolerance:
        # Where it rolls on to a face, level with the one it comes from, it touches that at the step's end.
        rows.gap[c] = max(gap, closes * NOT_YET)


@kernel
def leave_faces(
    kind, masses, R, shapes, colliders, pairs, contacts, slots, count, h, tolerance, rest_speed, graph,
    lasting, rows, plan,
):  # fmt: skip
    """Let balls get past edges of hulls within the step.

    On a face only those that nothing else touches: where another face goes on behind the edge, that counts.

    Args:
        masses: As bodies stand half way through the step.
        R: Rotation matrices of the bodies, shape (n, 9).
        slots: Pair of each contact.
        tolerance: Penetration that does not count [m].
        rest_speed: What closes faster than this may collide [m/s].
        graph: Of these contacts.
        lasting: Whether the impulses of the last step act on a body all through this one, shape (n,).
        rows: `gap`, `before`, `impulse` and `acted` are written, where such balls are.
        plan: `mean` and `end_minus_mean` are.
    """
    for c in range(count):
        if rows.kept[c]:
            continue
        for side in range(2):
            ball, hull, radius = (
                contacts.body[c, side],
                contacts.body[c, 1 - side],
                contacts.rounding[c, side],
            )
            shape = colliders.shape[pairs.collider[slots[c], 1 - side]]
            if radius == 0.0 or shapes.kind[shape] != HULL or not is_ball(masses, ball, radius):
                continue
            n = vec3.scale(vec3.load(contacts.normal_at_start, c), 1.0 - 2.0 * side)
            point = vec3.load(contacts.arm_at_start[c], 1 - side)
            centre = vec3.subtract(vec3.load(masses.c, ball), vec3.load(masses.c, hull))
            (v_ball, _), (v, w) = vec3.load_pair(plan.mean[ball]), vec3.load_pair(plan.mean[hull])
            u = vec3.subtract(v_ball, vec3.add(v, vec3.cross(w, centre)))
            past = vec3.subtract(u, vec3.scale(n, vec3.dot(n, u)))
            if vec3.dot(past, past) * h * h < STILL * STILL * radius * radius:
                continue
            turned = mat3.load(R, hull)
            time, across, cosine, touching, on_face = _first_edge(shapes, shape, turned, point, n, past, h)
            start, speed = vec3.subtract(centre, point), vec3.dot(across, u)
            end = vec3.add(start, vec3.scale(u, h))
            height, closes = vec3.dot(n, end), -h * vec3.dot(n, u)
            if on_face:
                if time < h and contacts.meets[c] == 0.0 and _is_only_contact(graph, ball):
                    rows.gap[c] += _distance(radius, (h - time) * speed, cosine) - radius
                    if lasting[ball] and lasting[hull] and rows.impulse[c, 0] > 0.0:
                        _leave_face(kind, masses, contacts, rows, c, h, time, speed, radius, plan)
            elif touching > 2:
                nearest, last = _height_over_faces(shapes, shape, turned, point, start, end)
                nearer = max(last - height, 0.0)
                _pass(rows, c, radius, closes, nearest, nearer, tolerance, rest_speed * h)
            elif time < h:
                way = vec3.dot(across, end)
                nearest = _nearest(vec3.dot(n, start), vec3.dot(across, start), height, way)
                nearer = _distance(height, way, cosine) - height
                _pass(rows, c, radius, closes, nearest, nearer, tolerance, rest_speed * h)
