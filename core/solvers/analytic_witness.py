"""Interpenetration witnesses: what shows that bodies overlap, followed back to where it ceases to.

A vertex in a body lies behind the plane of one of its faces, an edge through a face lies behind an edge of
the other body. Both are fixed to the bodies, so that their depth at another moment costs a few products,
where the narrow phase would look at all pairs again:

    s(t) = n(t) . (p_a(t) - p_b(t)) - rounding,

with p_a and p_b carried by their bodies and n by the body that has the face; by both where two edges cross
(n along u x v), or two balls meet (n along p_a - p_b). No plane shows a wider gap than there is, so bodies
are apart where s is positive; where the witness still decides, the root of s is the time of collision.

Source: Baraff 1997, section 7.1; Baraff 1992, section 2.3 (backing up to the time of collision).
"""

import numpy as np
from numpy.typing import NDArray

from ..collision.narrow_phase import CARRIED_BY_A, CARRIED_BY_B
from ..dynamics.body_state import BodyState
from .analytic_contacts import Array, cross
from .analytic_events import ContactFinder, Gaps


class Witnesses:
    """The witnesses of k pairs at one moment, to be asked about others."""

    def __init__(self, finder: ContactFinder, gaps: Gaps, slots: NDArray[np.int64], state: BodyState) -> None:
        """From the closest points of these pairs, all of which have some, in the state they belong to."""
        self._body = gaps.body[slots]
        rotation = state.R[self._body].reshape(-1, 2, 3, 3)
        normal, core = gaps.normal[slots], gaps.core[slots]
        self._point = np.einsum("ksji,ksj->ksi", rotation, core)  # in the bodies' own axes
        apart = state.c[self._body[:, 0]] - state.c[self._body[:, 1]] + core[:, 0] - core[:, 1]
        self._rounding = (normal * apart).sum(axis=1) - gaps.separation[slots]
        carrier = gaps.carrier[slots]
        self._carrying = [carrier == CARRIED_BY_A, carrier == CARRIED_BY_B]
        self._normal = [normal, *(np.einsum("kji,kj->ki", rotation[:, side], normal) for side in range(2))]
        edge = gaps.edge[slots]
        self._crossing = edge[:, 0] >= 0
        self._edge = np.zeros((len(slots), 2, 3))
        if self._crossing.any():
            shapes = finder.shapes
            own = finder.colliders.shape[finder.broad_phase.pairs.collider[slots[self._crossing]]]
            ends = shapes.vertex_start[own][:, :, None] + shapes.edge[edge[self._crossing], :2]
            self._edge[self._crossing] = shapes.vertex[ends[:, :, 1]] - shapes.vertex[ends[:, :, 0]]
        along = np.einsum("ksij,ksj->ksi", rotation, self._edge)
        self._sign = np.where((cross(along[:, 0], along[:, 1]) * normal).sum(axis=1) < 0.0, -1.0, 1.0)
        self._between = ~(self._carrying[0] | self._carrying[1] | self._crossing) & (self._rounding > 0.0)

    def separation(self, state: BodyState) -> Array:
        """Of each pair along its witness, at another moment [m], shape (k,)."""
        rotation = state.R[self._body].reshape(-1, 2, 3, 3)
        point = state.c[self._body] + np.einsum("ksij,ksj->ksi", rotation, self._point)
        apart = point[:, 0] - point[:, 1]
        normal = self._normal[0].copy()
        for side in range(2):
            carried = self._carrying[side]
            normal[carried] = np.einsum(
                "kij,kj->ki", rotation[carried, side], self._normal[1 + side][carried]
            )
        if self._crossing.any():
            along = np.einsum("ksij,ksj->ksi", rotation, self._edge)[self._crossing]
            n = self._sign[self._crossing, None] * cross(along[:, 0], along[:, 1])
            normal[self._crossing] = _unit(n)
        if self._between.any():
            normal[self._between] = _unit(apart[self._between])
        return (normal * apart).sum(axis=1) - self._rounding


def _unit(vectors: Array) -> Array:
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors / np.where(length > 0.0, length, 1.0)
