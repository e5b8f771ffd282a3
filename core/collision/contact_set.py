"""Contact points of one moment as a struct of arrays: what the narrow phase gives and solvers take."""

from typing import NamedTuple

import numpy as np

from ..jit import inlined
from ..math3 import vec3
from ..tables import scratch_tables, table, table_of

QUERIES, SURVIVED, CARRIED_ON, PAIRS = 0, 1, 2, 3  # indices into ContactSet.counter


class ContactSet(NamedTuple):
    """Contact points of one moment, in the order of pair slots."""

    slot: np.ndarray  # (capacity,) pair
    body: np.ndarray  # (capacity, 2) a, b
    normal: np.ndarray  # (capacity, 3) world axes, from b to a
    arm: np.ndarray  # [m] (capacity, 2, 3) points of a and b from their centres of mass
    rounding: np.ndarray  # [m] (capacity, 2) of spheres and capsules: see `cores`
    separation: np.ndarray  # [m] (capacity,)
    carrier: np.ndarray  # (capacity,) whose rotation turns the normal: CARRIED_BY_...
    meets: np.ndarray  # (capacity,) part of the step after which the bodies are as it has them, if they meet
    place: np.ndarray  # (capacity,) index among the points of its pair
    carried: np.ndarray  # (capacity,) whether the point was carried on, for want of motion
    look: np.ndarray  # (capacity,) at which it was found: see PairTable.looks; -1 where none was
    moves: np.ndarray  # (capacity,) of both bodies when it was written: see Trace
    counter: np.ndarray  # (4,) witness queries, those answered by the cached witness, pairs carried on, all


class ContactGeometry(NamedTuple):
    """The part of a contact set that solvers need; see there."""

    body: np.ndarray
    normal: np.ndarray  # (capacity, 3) in the mean over the step: see solvers/impulse_arms.py
    normal_at_start: np.ndarray  # the contact set's
    arm: np.ndarray  # [m] (capacity, 2, 3) in the mean over the step
    arm_at_start: np.ndarray  # the contact set's
    rounding: np.ndarray
    separation: np.ndarray
    carrier: np.ndarray
    meets: np.ndarray
    carried: np.ndarray
    look: np.ndarray

    def at_start(self) -> "ContactGeometry":
        """The same with normals and arms of the beginning of the step."""
        return self._replace(normal=self.normal_at_start, arm=self.arm_at_start)


def contact_geometry(contacts: ContactSet) -> ContactGeometry:
    """Where the contacts are: arrays of the contact set, not copies, but for what is in the mean."""
    mean_normal, mean_arm = scratch_tables((contacts.normal.shape, float), (contacts.arm.shape, float))
    return ContactGeometry(
        contacts.body,
        mean_normal,
        contacts.normal,
        mean_arm,
        contacts.arm,
        contacts.rounding,
        contacts.separation,
        contacts.carrier,
        contacts.meets,
        contacts.carried,
        contacts.look,
    )


@inlined
def cores(arm, normal, rounding, c):
    """Where the surfaces of contact `c` are rounded about, from the centres of mass of a and b [m].

    A body carries it as it turns; what is between it and the arm stays with the normal.
    """
    n = vec3.load(normal, c)
    core_a = vec3.add(vec3.load(arm[c], 0), vec3.scale(n, rounding[c, 0]))
    return core_a, vec3.subtract(vec3.load(arm[c], 1), vec3.scale(n, rounding[c, 1]))


def empty_contacts(capacity: int) -> ContactSet:
    """A contact set with room for `capacity` points."""
    return ContactSet(
        slot=table(capacity, np.int32),
        body=table((capacity, 2), np.int64),
        normal=table((capacity, 3)),
        arm=table((capacity, 2, 3)),
        rounding=table((capacity, 2)),
        separation=table(capacity),
        carrier=table(capacity, np.int8),
        meets=table(capacity, np.float32),
        place=table(capacity, np.int8),
        carried=table(capacity, np.bool_),
        look=table_of(-1, capacity, np.int32),
        moves=table(capacity, np.int32),
        counter=np.zeros(4, np.int64),
    )
