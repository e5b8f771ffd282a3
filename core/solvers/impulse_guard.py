"""Nothing passes through: bodies that would jump over another within a step stop where they meet it.

Contacts are tested on the poses at the end of the step, with arms that turn but geometry that does not:
a body that spins wildly, or one that another has just knocked aside, can come out behind a thin plate.
Here the motion the solver has decided on is followed along its path; a body that gets deep into another
on the way ends its step there. Its velocity stays, so that the next step resolves the impact.

Bodies that move less than half way through the thinnest thing they may meet cannot get past it, and
are not looked at.
"""

import math

import numpy as np

from ..collision.contact_set import empty_contacts
from ..collision.manifold import MAX_POINTS
from ..collision.narrow_phase import Scratch, detect_contacts
from ..collision.pairs import HIGH, PairTable, empty_pairs
from ..collision.persistence import CARRIED, Trace, new_trace
from ..collision.triangles import SHALLOW
from ..crew import alone
from ..dynamics.body_state import DYNAMIC, BodyState, Masses
from ..geometry.shape_table import DISCS, HULL, MESH, PLANE, TRIANGLE, Colliders, ShapeTable
from ..jit import inlined, kernel
from ..math3 import vec3
from .impulse_contacts import without_roll

# Parts of the thinner one's thickness: a relative motion of less than FAST cannot pass it, and a body
# is stopped at the depth DEEP, which position repair takes back.
FAST, DEEP = 0.25, 0.1
# Each advance covers the way to the nearest possible touch, so few are needed unless bodies spin
# through many turns in a step; what is not through by then stops early, which is safe.
MAX_ADVANCES = 200
MAX_ROUNDS = 4  # a body that is stopped may be met by others: their motion is followed again


def shape_thickness(shapes: ShapeTable) -> np.ndarray:
    """Least width of each shape [m], shape (s,): from a face to the farthest vertex, or a diameter.

    Surfaces without thickness count as infinite: the other body's decides.
    """
    thickness = np.full(len(shapes.kind), np.inf)
    for s in np.flatnonzero((shapes.kind != TRIANGLE) & (shapes.kind != MESH) & (shapes.kind != PLANE)):
        kind = shapes.kind[s]
        vertex = shapes.vertex[shapes.vertex_start[s] : shapes.vertex_start[s + 1]]
        if kind == HULL:
            faces = slice(shapes.face_start[s], shapes.face_start[s + 1])
            height = shapes.face_normal[faces] @ vertex.T
            thickness[s] = (shapes.face_distance[faces] - height.min(axis=1)).min()
        elif kind == DISCS:
            length = np.linalg.norm(vertex[1] - vertex[0])
            thickness[s] = min(length, shapes.disc[s].sum())  # a cone is half as wide on the average
        else:
            thickness[s] = 2.0 * shapes.radius[s]
    return thickness


@inlined
def _stay_apart(pairs, slot, moved, way):
    """Whether a pair was farther apart when it was looked at than it has moved since, and moves now.

    Args:
        moved: The sum of both bodies' ways so far [m], as in `pairs.way`.
        way: The same of their ways in this step, at most: one may stop and the other go on.
    """
    return pairs.point_count[slot] == 0 and pairs.gap[slot] - (moved - pairs.way[slot]) > way


@kernel
def list_fast_pairs(
    body, shape, kind, sensor, masses, thickness, thinnest, arm, pairs, trace, h, mean, spin, slot_out
):  # fmt: skip
    """List the pairs that move far relative to each other in a step, for the thickness of the thinner one.

    Left out are those that are known to be farther apart than they move.

    Args:
        body, shape, thickness: Of each collider.
        thinnest: The least thickness.
        kind: Of each shape.
        sensor, arm: Of each body.
        trace: How far bodies have moved since pairs were looked at.
        spin: How fast its turning moves a point, at most [m/s], (n,): written if any moves far.
        slot_out: Written, as far as there is room.

    Returns:
        Their number, which may be more than there is room for.
    """
    way, turn, found = 0.0, 0.0, 0  # squares of the largest
    for i in range(mean.shape[0]):
        v, w = mean[i], vec3.scale((mean[i, 3], mean[i, 4], mean[i, 5]), arm[i])
        way, turn = max(way, v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), max(turn, vec3.dot(w, w))
    if 2.0 * h * (math.sqrt(way) + math.sqrt(turn)) <= FAST * thinnest:
        return 0
    for i in range(mean.shape[0]):
        w = (mean[i, 3], mean[i, 4], mean[i, 5])
        spin[i] = vec3.norm(without_roll(masses, i, w)) * arm[i]
    for slot in range(pairs.counter[HIGH]):
        i, j = pairs.collider[slot, 0], pairs.collider[slot, 1]
        if i < 0 or kind[shape[i]] == MESH or kind[shape[j]] == MESH:
            continue
        a, b = body[i], body[j]
        if sensor[a] or sensor[b]:
            continue
        v_a, v_b, spins = vec3.load(mean, a), vec3.load(mean, b), spin[a] + spin[b]
        if h * (vec3.norm(vec3.subtract(v_a, v_b)) + spins) <= FAST * min(thickness[i], thickness[j]):
            continue
        way = h * (vec3.norm(v_a) + vec3.norm(v_b) + spins)
        # The distance to one triangle hardly tells which of its triangles a mesh meets.
        if kind[shape[j]] == TRIANGLE or not _stay_apart(pairs, slot, trace.way[a] + trace.way[b], way):
            if found < slot_out.shape[0]:
                slot_out[found] = slot
            found += 1
    return found


class PassageGuard:
    """Follows fast bodies along their step."""

    def __init__(
        self,
        kind: np.ndarray,
        sensor: np.ndarray,
        shapes: ShapeTable,
        colliders: Colliders,
        masses: Masses,
        scratch: Scratch,
    ) -> None:
        """`kind`, `sensor` (n,): that of each body, and whether it lets all pass; kept by reference."""
        self.kind, self.sensor, self.shapes, self.colliders = kind, sensor, shapes, colliders
        self.masses = masses
        thickness = shape_thickness(shapes)[colliders.shape]
        self.thickness, self.thinnest = thickness, float(thickness.min())
        # How far turning can move a point: a centred sphere turns within itself.
        turning = shapes.bound - shapes.radius
        self.arm = np.zeros(len(kind))
        solid = shapes.kind[colliders.shape] != PLANE
        np.maximum.at(self.arm, colliders.body[solid], turning[colliders.shape[solid]])
        self.spin = np.zeros(len(kind))
        self.fast = np.zeros(64, np.int64)
        self.scratch = scratch

    def what_it_takes(self, pairs: PairTable, trace: Trace, h: float, mean: np.ndarray) -> tuple:
        """The arguments of `list_fast_pairs`."""
        return (
            self.colliders.body, self.colliders.shape, self.shapes.kind, self.sensor, self.masses,
            self.thickness, self.thinnest, self.arm, pairs, trace, h, mean, self.spin, self.fast,
        )  # fmt: skip

    def stop_at_obstacles(
        self, found: int, state: BodyState, pairs: PairTable, trace: Trace, h: float, mean: np.ndarray
    ) -> int:
        """Shorten the motion of bodies that would get through others.

        Args:
            found: How many pairs `list_fast_pairs` has found.
            state: Bodies at the start of the step.
            trace: How far they have moved.
            mean: Mean velocities over the step [m/s, rad/s], shape (n, 6); scaled where a body stops.

        Returns:
            Number of bodies that were stopped.
        """
        while found > len(self.fast):  # rarely are so many
            self.fast = np.zeros(2 * found, np.int64)
            found = list_fast_pairs(*self.what_it_takes(pairs, trace, h, mean))
        fast = collider = pairs.collider[self.fast[:found]]
        own = h * (_norm(mean[:, :3]) + self.spin)
        stop = np.ones(len(mean))
        for _ in range(MAX_ROUNDS):
            before = stop.copy()
            when = self._first_touch(state, collider, h, mean, stop)
            body = self.colliders.body[collider]
            thinner = self.thickness[collider].min(axis=1)
            for side in range(2):
                me, other = body[:, side], body[:, 1 - side]
                # What moves far stops; a slow one in its way goes on.
                far = (own[me] > 0.5 * FAST * thinner) | (own[me] >= own[other])
                stops = (self.kind[me] == DYNAMIC) & (far | (self.kind[other] != DYNAMIC))
                np.minimum.at(stop, me[stops], when[stops])
            collider = fast[(stop != before)[self.colliders.body[fast]].any(axis=1)]
            if not len(collider):
                break
        stopped = stop < 1.0
        mean[stopped] *= stop[stopped, None]
        return int(stopped.sum())

    def _depth_let_pass(self, collider: np.ndarray) -> np.ndarray:
        """How deep each pair may get before it is stopped [m], shape (k,): so that contacts find it."""
        shape = self.colliders.shape[collider]
        depth = DEEP * self.thickness[collider].min(axis=1)
        on_mesh = self.shapes.kind[shape[:, 1]] == TRIANGLE
        return np.where(on_mesh, np.minimum(depth, 0.5 * SHALLOW * self.shapes.bound[shape[:, 0]]), depth)

    def _first_touch(
        self, state: BodyState, collider: np.ndarray, h: float, mean: np.ndarray, stop: np.ndarray
    ) -> np.ndarray:
        """When each pair first gets DEEP, as a part of the step, shape (k,); 1 where it does not.

        Conservative advancement (Mirtich 1996, section 2.3) of all pairs side by side, on the
        separation plus the depth that is let pass; bodies rest from their part `stop` of the step on.
        """
        count = len(collider)
        body = self.colliders.body[collider]
        depth = self._depth_let_pass(collider)
        poses = _Poses(state, body, h * mean, h * self.spin, self.arm)
        own = Colliders(np.arange(2 * count), self.colliders.shape[collider].reshape(-1))
        pairs = empty_pairs(count, count)
        pairs.counter[HIGH] = count
        pairs.collider[:] = np.arange(2 * count).reshape(-1, 2)
        contacts = empty_contacts((count + 1) * MAX_POINTS)
        c, R = np.empty((count, 2, 3)), np.empty((count, 2, 9))
        still = np.zeros(2 * count)
        trace = new_trace(still)
        time, when = np.zeros(count), np.ones(count)
        limit = stop[body]
        active = np.arange(count)  # pairs whose way is not at its end
        for advance in range(MAX_ADVANCES):
            c[active], R[active] = poses.at(active, np.minimum(time[active, None], limit[active]))
            pairs.way[:] = -np.inf  # look at each, whatever was seen before
            found = detect_contacts(
                own, self.shapes, still > 0.0, c.reshape(-1, 3), R.reshape(-1, 9), trace, pairs, still,
                np.inf, CARRIED, contacts, self.scratch, *alone(),
            )  # fmt: skip
            gap, normal = (of_all[active] for of_all in _deepest(contacts, found, count))
            gap += depth[active]
            if advance == 0:  # who is deep from the start does not get through on this way
                gap[gap <= 0.0] = np.inf
            touching = gap <= 0.1 * depth[active]
            when[active[touching]] = time[active[touching]]
            rate = poses.approach(active, normal, time[active, None] < limit[active], limit[active] < 1.0)
            goes_on = ~touching & (gap < rate * (1.0 - time[active]))
            pairs.collider[active[~goes_on]] = -1
            active = active[goes_on]
            time[active] += gap[goes_on] / rate[goes_on]
            if not len(active):
                break
        when[active] = time[active]
        return when


class _Poses:
    """Poses of the bodies of k pairs at any moment of the step.

    Args:
        body: Of each pair, shape (k, 2).
        displacement: By what each body moves and turns in the step [m, rad], shape (n, 6).
        turning: How far its turning moves a point in the step [m], shape (n,),
        arm: and how far any turning can [m], shape (n,).
    """

    def __init__(
        self,
        state: BodyState,
        body: np.ndarray,
        displacement: np.ndarray,
        turning: np.ndarray,
        arm: np.ndarray,
    ) -> None:
        self.turning, self.arm = turning[body], arm[body]
        # Positions from b's, which may be far from the origin.
        self.c = state.c[body] - state.c[body[:, 1:]]
        self.displacement = displacement[body]
        self.angle = _norm(self.displacement[:, :, 3:])
        axis = self.displacement[:, :, 3:] / np.where(self.angle > 0.0, self.angle, 1.0)[:, :, None]
        # Of Rodrigues' formula, exp(angle [axis]) = 1 + sin(angle) [axis] + (1 - cos(angle)) [axis]^2.
        self.R = state.R[body].reshape(-1, 2, 3, 3)
        self.across = np.cross(axis[:, :, None, :], self.R, axisb=2, axisc=2)
        self.back = np.cross(axis[:, :, None, :], self.across, axisb=2, axisc=2)

    def at(self, pair: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres of mass (p, 2, 3) and rotation matrices (p, 2, 9) of some pairs.

        Args:
            pair: Which, shape (p,).
            time: For each of their bodies, as a part of the step, shape (p, 2).
        """
        angle = (time * self.angle[pair])[:, :, None, None]
        R = self.R[pair] + np.sin(angle) * self.across[pair] + (1.0 - np.cos(angle)) * self.back[pair]
        return self.c[pair] + time[:, :, None] * self.displacement[pair, :, :3], R.reshape(-1, 2, 9)

    def approach(
        self, pair: np.ndarray, normal: np.ndarray, moving: np.ndarray, stops: np.ndarray
    ) -> np.ndarray:
        """Bound on how fast the separation along a fixed direction falls [m per step], shape (p,).

        Turning about that direction does not change it.

        Args:
            pair: Which pairs, shape (p,).
            normal: Of their closest points, from b to a, shape (p, 3).
            moving, stops: Whether each body still moves, and whether it will stop, shape (p, 2).
        """
        way, angle = self.displacement[pair], self.angle[pair]
        along = (way[:, :, :3] * normal[:, None, :]).sum(axis=2) * np.array([-1.0, 1.0])
        about = (way[:, :, 3:] * normal[:, None, :]).sum(axis=2)
        turning = np.sqrt(np.maximum(angle * angle - about * about, 0.0)) * self.arm[pair]
        rate = along + np.minimum(turning, self.turning[pair])
        rate = np.where(stops, np.maximum(rate, 0.0), rate)  # moving away ends when it stops
        return np.where(moving, rate, 0.0).sum(axis=1)


def _norm(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt((vectors * vectors).sum(axis=-1))


def _deepest(contacts, found: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Separation and normal of each slot's deepest contact; infinite where it has none."""
    gap, normal = np.full(count, np.inf), np.zeros((count, 3))
    slot, separation = contacts.slot[:found], contacts.separation[:found]
    order = np.lexsort((-separation, slot))
    gap[slot[order]], normal[slot[order]] = separation[order], contacts.normal[:found][order]
    return gap, normal
