"""Events: which pairs are close, how long nothing can happen, and when something does.

A step may be taken as far as no pair that is apart can meet. Along the direction n that separates a pair the
gap cannot close faster than

    s(t) >= s + n . (v_a - v_b) t + n . (a_a - a_b) t^2 / 2 - (|w_a| r_a + |w_b| r_b) t,

with r the bodies' bounds, 0 for balls: for balls and planes in free flight this is the gap itself, so that
its root is the time of collision in closed form. For the others it is conservative advancement (Mirtich
1996, section 2.3). What the step's end shows to overlap is then located within the step by regula falsi,
with bisection as its guard (Baraff 1989, section 3; 1997, section 7.1), along what shows the overlap
(`analytic_witness`).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collision.broad_phase import BroadPhase
from ..collision.contact_set import ContactSet, empty_contacts
from ..collision.manifold import TIE
from ..collision.narrow_phase import CARRIED_BY_WORLD, detect_contacts, make_scratch
from ..collision.persistence import CARRIED, new_trace
from ..collision.separating_plane import EDGES
from ..crew import alone
from ..dynamics.body_state import BodyModel, BodyState, quat_multiply
from ..dynamics.motion import update_all_derived
from ..geometry.shape_table import SPHERE, Colliders, MeshTrees, ShapeTable
from .analytic_contacts import Array, ContactPoints, cross, read_contacts
from .analytic_rates import surfaces_of

# How far bodies that meet or touch may turn [rad] and move, relative to their size r, in a step. What meets
# within it and parts again shows in a cubic through the gaps at both ends, whose error is TURN^4 r / 384 =
# 1.6e-8 r. Bodies made of balls meet with the same points however they turn; they may go farther.
TURN, TURN_OF_BALLS, SHIFT = 0.05, 0.3, 0.02
BAND = 1e-4  # of the tolerance: a gap of a pair in touch
# Part of the tolerance within which a pair under load stays in touch, as long as the integrator's drift has
# not been taken back; one without load has BAND.
LASTING = 1e-3
SAME_DEPTH = 2.0 * TIE  # of the size: points as deep as that may stand for each other in a manifold
SEARCHES = 200
# Times to a meeting, or to the end of a slip, as it is foreseen for steady accelerations: how far a step
# goes. Above 1, so that one step mostly is enough; what lies beyond the event is integrated in vain.
BEYOND = 1.3
DIFFERENCE = 1e-2  # of the size: how far bodies move for a second difference of their gap


class Gaps(NamedTuple):
    """The closest point of each pair that is near, by pair slot."""

    separation: Array  # [m] (slots,), infinite where nothing is near
    normal: Array  # (slots, 3)
    rate: Array  # [m/s] (slots,) at which the closest point's gap changes
    body: NDArray[np.int64]  # (slots, 2)
    core: Array  # [m] (slots, 2, 3) the points from the centres of mass, without the rounding of balls
    carrier: NDArray[np.int64]  # (slots,) whose rotation turns the normal: see narrow_phase.py
    edge: NDArray[np.int64]  # (slots, 2) the edges of hulls that cross there, -1 elsewhere


class ContactFinder:
    """The broad and the narrow phase, asked about states at any moment of a step."""

    def __init__(
        self,
        model: BodyModel,
        shapes: ShapeTable,
        colliders: Colliders,
        trees: MeshTrees,
        state: BodyState,
        mobile: Array,
        apart: Array,
        sensor: Array,
        multiply: bool,
    ) -> None:
        self.sensor, self.trace = sensor, new_trace(model.bound)
        self.model, self.shapes, self.colliders, self.multiply = model, shapes, colliders, multiply
        self.broad_phase = BroadPhase(model, shapes, colliders, trees, state, mobile, apart)
        self.remember()
        self.scratch = make_scratch(shapes)
        self.surfaces = surfaces_of(shapes, colliders)
        self.found: ContactSet = empty_contacts(max(64, 16 * len(model.mass)))
        self.no_reach = np.zeros(len(model.mass))
        # How far the surface of a body moves by turning: not at all for a ball about its centre.
        self.turning_bound = model.bound.copy()
        for i in range(len(model.mass)):
            mine = colliders.shape[colliders.body == i]
            if len(mine) == 1 and shapes.kind[mine[0]] == SPHERE:
                self.turning_bound[i] = np.linalg.norm(shapes.vertex[shapes.vertex_start[mine[0]]])
        self.trusted_turn = np.array([
            TURN_OF_BALLS if (shapes.kind[colliders.shape[colliders.body == i]] == SPHERE).all() else TURN
            for i in range(len(model.mass))
        ])  # fmt: skip
        self.size = np.where(np.isfinite(model.bound), model.bound, np.inf)

    def update_pairs(self, state: BodyState, reach: Array) -> None:
        """Find the pairs that may meet while each body moves by up to `reach` [m], shape (n,)."""
        self._forget()
        self.broad_phase.update(state, reach)
        self.remember()

    def remember(self) -> None:
        """Let all queries from now on begin from what pairs know now.

        A pair keeps the plane that separates it as long as that one does, though another may by then show a
        wider gap. So that a gap is one function of the state, all states of a step are looked at from the
        planes of its start.
        """
        pairs = self.broad_phase.pairs
        self._witness, self._axis = pairs.witness.copy(), pairs.axis.copy()

    def _forget(self) -> None:
        pairs = self.broad_phase.pairs
        pairs.witness[:], pairs.axis[:] = self._witness, self._axis

    def detect(self, state: BodyState, slack: float, reach: Array | None = None) -> int:
        """Contact points of pairs up to `slack` and their reach apart, into `found`; returns their number."""
        self._forget()
        pairs = self.broad_phase.pairs
        while True:
            pairs.way[:] = -np.inf  # look at each pair, however little has moved
            count = detect_contacts(
                self.colliders, self.shapes, self.sensor, state.c, state.R, self.trace,
                pairs, self.no_reach if reach is None else reach, slack, CARRIED,
                self.found, self.scratch, *alone(),
            )  # fmt: skip
            if count >= 0:
                return count
            if self.broad_phase.grow_rooms():
                pairs = self.broad_phase.pairs
            else:
                self.found = empty_contacts(2 * len(self.found.slot))

    def points(self, state: BodyState, slack: float) -> ContactPoints:
        """Contact points up to `slack` [m] apart, with their rates."""
        count = self.detect(state, slack)
        contacts = read_contacts(
            self.found, count, slack, self.broad_phase.pairs, self.model, state, self.surfaces, self.multiply
        )
        if np.isnan(contacts.curve).all():
            return contacts
        pairs = self.broad_phase.pairs
        witness, axis = pairs.witness.copy(), pairs.axis.copy()
        contacts = contacts._replace(curve=self._measure_curves(state, slack, contacts))
        pairs.witness[:], pairs.axis[:] = witness, axis
        return contacts

    def _measure_curves(self, state: BodyState, slack: float, contacts: ContactPoints) -> Array:
        """s'' [m/s^2] while all bodies keep their velocities, by second differences of the narrow phase.

        For contacts for which there is no formula: the point of contact wanders over both surfaces.
        """
        odd = np.flatnonzero(~np.isnan(contacts.curve))
        body = contacts.body[odd]
        bound = np.where(np.isfinite(self.model.bound), self.model.bound, 0.0)[body]
        speed = np.linalg.norm(state.v[body], axis=2) + bound * np.linalg.norm(state.w[body], axis=2)
        fastest, size = float(speed.max()), float(self.size[body].min())
        curve = contacts.curve.copy()
        if fastest == 0.0:
            return curve
        h = DIFFERENCE * size / fastest
        gaps = []
        for t in (-h, h):
            moved = steady_state(self.model, state, t)
            count = self.detect(moved, slack + 4.0 * DIFFERENCE * size)
            pairs = self.broad_phase.pairs
            feature = pairs.feature[pairs.room[self.found.slot[:count]], self.found.place[:count]]
            keys = zip(self.found.slot[:count].tolist(), feature.tolist(), strict=True)
            gaps.append(dict(zip(keys, self.found.separation[:count].tolist(), strict=True)))
        identities = contacts.identities()
        for i in odd.tolist():
            key = identities[i]
            if key in gaps[0] and key in gaps[1]:
                curve[i] = (gaps[0][key] - 2.0 * float(contacts.separation[i]) + gaps[1][key]) / (h * h)
        return curve

    def gaps(self, state: BodyState, slack: float, reach: Array | None = None) -> Gaps:
        """The closest point of each pair at most `slack` and its reach apart."""
        slots = len(self.broad_phase.pairs.collider)
        gaps = Gaps(
            np.full(slots, np.inf), np.zeros((slots, 3)), np.zeros(slots), np.zeros((slots, 2), np.int64),
            np.zeros((slots, 2, 3)), np.zeros(slots, np.int64), np.full((slots, 2), -1),
        )  # fmt: skip
        crowded = self._note_gaps(gaps, self.detect(state, slack, reach), state)
        if crowded:
            self._note_gaps(gaps, self.detect(state, LASTING * slack), state)
        witness = self.broad_phase.pairs.witness
        cross_there = (witness[:, 0] == EDGES) & (gaps.carrier == CARRIED_BY_WORLD)
        gaps.edge[cross_there] = witness[cross_there, 1:]
        return gaps

    def _note_gaps(self, gaps: Gaps, count: int, state: BodyState) -> bool:
        """Note the closest point of each pair among `count` contacts.

        Returns:
            Whether a pair with several points touches: it may have left out its deepest point for others that
            are almost as deep and span more. Where only few points are within reach, none is left out.
        """
        found = self.found
        # Stable, so the first of equals: the same for every run.
        order = np.argsort(found.separation[:count], kind="stable")
        first = order[np.unique(found.slot[order], return_index=True)[1]]
        slot, body = found.slot[first], found.body[first]
        nearer = found.separation[first] < gaps.separation[slot]
        first, slot, body = first[nearer], slot[nearer], body[nearer]
        gaps.body[slot], gaps.normal[slot] = body, found.normal[first]
        gaps.separation[slot] = found.separation[first]
        rounding = found.rounding[first] * (1.0, -1.0)
        gaps.core[slot] = found.arm[first] + rounding[:, :, None] * found.normal[first][:, None]
        gaps.carrier[slot] = found.carrier[first]
        at = state.v[body] + cross(state.w[body], found.arm[first])
        gaps.rate[slot] = ((at[:, 0] - at[:, 1]) * found.normal[first]).sum(axis=1)
        several = found.slot[:count][found.place[:count] == 1]
        return bool((gaps.separation[several] < SAME_DEPTH * self.size[gaps.body[several]].min(axis=1)).any())

    def reach(self, state: BodyState, a: Array, h: float) -> Array:
        """How far any point of each body may move in the time h [m], shape (n,); a: accelerations [m/s^2]."""
        turn = np.linalg.norm(state.w, axis=1) * h
        swing = np.where(
            turn > 0.0, np.where(turn > 0.0, self.turning_bound, 0.0) * np.minimum(turn, 2.0), 0.0
        )
        return np.linalg.norm(state.v, axis=1) * h + 0.5 * np.linalg.norm(a, axis=1) * h * h + swing

    def safe_time(
        self, gaps: Gaps, state: BodyState, a: Array, alpha: Array, slack: Array, depth: float,
        lasting: NDArray[np.int64],
    ) -> float:  # fmt: skip
        """How long no pair gets deeper than `depth` [m], or how far pairs in touch may go [s].

        Args:
            a, alpha: Accelerations [m/s^2], [rad/s^2], shape (n, 3).
            slack: How much each body's acceleration may be off or vary [m/s^2], shape (n,).
            depth: How far past the contact the step may go [m].
            lasting: Slots of pairs that forces keep in touch.
        """
        near = np.flatnonzero(np.isfinite(gaps.separation))
        if len(near) == 0:
            return np.inf
        body, n, s = gaps.body[near], gaps.normal[near], gaps.separation[near]
        v, w = state.v[body], np.linalg.norm(state.w[body], axis=2)
        turning = np.where(w > 0.0, self.turning_bound[body], 0.0)
        rate = np.einsum("mk,mk->m", n, v[:, 0] - v[:, 1]) - (w * turning).sum(axis=1)
        curve = np.einsum("mk,mk->m", n, a[body[:, 0]] - a[body[:, 1]]) - slack[body].sum(axis=1)
        room = np.maximum(s, 0.0) + depth
        bound = _first_root(0.5 * curve, rate, room)
        uneven = (self.turning_bound[body] > 0.0) * 1.0  # a ball may turn as it likes
        spin_up = np.linalg.norm(alpha[body], axis=2)
        # Balls that part are told from those that meet again by looking at them while they are apart.
        exact = ((w + spin_up) * uneven).sum(axis=1) == 0.0
        bound = np.where(exact & (s <= depth) & (rate > 0.0), 0.5 * bound, bound)
        bound = np.where(exact & np.isin(near, lasting), np.inf, bound)
        # Others may go as far as the search for the event can be trusted to find its way back.
        size = self.size[body].min(axis=1)
        shift = _time_to_go(SHIFT * size, np.linalg.norm(v[:, 0] - v[:, 1], axis=1),
                            np.linalg.norm(a[body[:, 0]] - a[body[:, 1]], axis=1))  # fmt: skip
        allowed = self.trusted_turn[body]
        turn = _time_to_go(1.0, (w * uneven / allowed).max(axis=1), (spin_up * uneven / allowed).max(axis=1))
        trusted = np.minimum(shift, turn)
        bound = np.where(exact, bound, np.maximum(bound, trusted))
        # Where a meeting is in sight, the step goes little farther: what comes after it need not be found.
        meeting = _first_root(0.5 * curve, gaps.rate[near], room)
        bound = np.where(exact | np.isin(near, lasting), bound, np.minimum(bound, BEYOND * meeting))
        return float(bound.min())


def steady_state(model: BodyModel, state: BodyState, t: float) -> BodyState:
    """The bodies after the time t [s], or before, if they kept their velocities."""
    half = 0.5 * t * state.w
    angle = np.linalg.norm(half, axis=1, keepdims=True)
    turn = np.concatenate([np.cos(angle), half * np.sinc(angle / np.pi)], axis=1)
    moved = BodyState(*(column.copy() for column in state))
    moved.c[:] += t * state.v
    moved.q[:] = quat_multiply(turn, state.q)
    update_all_derived(model, moved)
    return moved


def _time_to_go(distance, speed: Array, acceleration: Array) -> Array:
    """Time in which speed t + acceleration t^2 / 2 reaches a distance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        time = 2.0 * distance / (speed + np.sqrt(speed * speed + 2.0 * acceleration * distance))
    return np.where(np.isfinite(time), time, np.inf)


def _first_root(c2: Array, c1: Array, c0: Array) -> Array:
    """Smallest positive root of c2 t^2 + c1 t + c0 with c0 > 0; infinite without one, 0 for c0 <= 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        disc = c1 * c1 - 4.0 * c2 * c0
        # The form that loses no digits: 2 c0 / (-c1 + sqrt) is the smaller positive root.
        root = 2.0 * c0 / (-c1 + np.sqrt(np.maximum(disc, 0.0)))
    root = np.where((disc < 0.0) | ~(root > 0.0), np.inf, root)
    return np.where(c0 <= 0.0, 0.0, root)


def find_root(
    g: Callable[[float], float], low: float, high: float, g_low: float, g_high: float, accuracy: float,
    narrow: float = 0.0,
) -> float:  # fmt: skip
    """Where g falls from g_low > 0 at `low` to g_high < 0 at `high`: regula falsi, guarded by bisection.

    The Illinois variant halves the value of an end that stays, so both ends move; where two steps have not
    halved the bracket, it is halved. Ends where |g| is at most `accuracy`, or where the bracket is narrower
    than `narrow` [s], at least round-off of the time.

    Returns:
        The time at which g is nearest to zero among those looked at. Where g has jumped across zero, so that
        none is nearer than the start, or, with such a width, none near enough, the time after that.
    """
    first = low
    best, best_size = low, abs(g_low)
    if abs(g_high) < best_size:
        best, best_size = high, abs(g_high)
    value_low, value_high = g_low, g_high
    side, width = 0, high - low
    for k in range(SEARCHES):
        if high - low <= max(narrow, 4.0 * np.spacing(high)) or best_size <= accuracy:
            break
        middle = high - value_high * (high - low) / (value_high - value_low)
        if k % 3 == 2 and high - low > 0.5 * width:
            middle = 0.5 * (low + high)
        if k % 3 == 2:
            width = high - low
        if not low < middle < high:
            middle = 0.5 * (low + high)
        value = g(middle)
        if abs(value) < best_size:
            best, best_size = middle, abs(value)
        if value > 0.0:
            low, value_low = middle, value
            value_high *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            high, value_high = middle, value
            value_low *= 0.5 if side == -1 else 1.0
            side = -1
    return best if best_size <= accuracy or (narrow == 0.0 and best > first) else high
