"""The start of a run: overlaps are forgiven, as at a release, and what is in equilibrium rests at once.

A step finds impulses that change little from the last one's; before the first there is none. Bodies would
fall a little into each other, slip before the load that holds them is there, and take up a speed. So bodies
in equilibrium are first let into the springs of their contacts, which takes no time, and the loads of all
others are found.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from ..dynamics.body_state import quat_multiply
from ..dynamics.motion import update_all_derived
from . import impulse_stages as stages
from .impulse_contacts import write_impulses
from .impulse_settle import AT_START, IN_MOTION, NOWHERE

if TYPE_CHECKING:
    from .impulse import ImpulsePipeline

LOAD_ROUNDS, LOAD_ACCURACY = 20, 1e-6  # of the loads, relative
SETTLE_ROUNDS = 20


def forgive_overlaps(pipeline: "ImpulsePipeline", h: float) -> list[tuple[int, int, float]]:
    """Let bodies that overlap at the start part slowly; returns (a, b, depth [m]) of each pair."""
    pipeline.look_ahead(h)
    return _forgive(pipeline, np.ones(len(pipeline.names), bool))


def forgive_released(pipeline: "ImpulsePipeline", released: list[int]) -> list[tuple[int, int, float]]:
    """The same for what bodies overlap that have just been released."""
    mine = np.zeros(len(pipeline.names), bool)
    mine[released] = True
    overlaps = _forgive(pipeline, mine)
    if overlaps:
        pipeline.forgives = True
        pipeline.runner.do(stages.measure_depth(pipeline, pipeline.contact_count))
    return overlaps


def _forgive(pipeline: "ImpulsePipeline", mine: np.ndarray) -> list[tuple[int, int, float]]:
    """Let pairs of some bodies (n,) that overlap part slowly; returns (a, b, depth [m]) of each."""
    contacts, pairs, count = pipeline.contacts, pipeline.broad_phase.pairs, pipeline.contact_count
    deep = (contacts.separation[:count] < -pipeline.tolerance) & mine[contacts.body[:count]].any(axis=1)
    depth: dict[int, float] = {}
    for c in np.flatnonzero(deep):
        slot = int(contacts.slot[c])
        depth[slot] = max(depth.get(slot, 0.0), -float(contacts.separation[c]))
    for slot, value in depth.items():
        pairs.allowance[slot] = value
    bodies = pipeline.colliders.body[pairs.collider]
    deepest: dict[tuple[int, int], float] = {}
    for slot, value in sorted(depth.items()):
        a, b = int(bodies[slot, 0]), int(bodies[slot, 1])
        deepest[a, b] = max(deepest.get((a, b), 0.0), value)
    return [(a, b, value) for (a, b), value in deepest.items()]


def start_at_rest(pipeline: "ImpulsePipeline", h: float) -> None:
    """Let what is in equilibrium settle, and find the loads at the start of what is not."""
    _settle(pipeline, h)
    pipeline.equilibrium = NOWHERE
    for _ in range(LOAD_ROUNDS):
        if _find_loads(pipeline, h, preloaded=True) <= LOAD_ACCURACY:
            break
        _note_loads(pipeline)
        pipeline.plan_motion(h)
    pipeline.equilibrium = IN_MOTION
    resting = pipeline.solve.held.any()
    pipeline.plan_motion(h)
    if resting:
        _settle(pipeline, h)


def _settle(pipeline: "ImpulsePipeline", h: float) -> None:
    """Let bodies into the equilibrium of their springs; those that find none stay where they are."""
    state = pipeline.state
    c, q, displaced = state.c.copy(), state.q.copy(), np.zeros(len(state.c), np.bool_)
    pipeline.equilibrium = AT_START
    for _ in range(SETTLE_ROUNDS):
        _find_loads(pipeline, h, preloaded=False)
        solve = pipeline.solve
        solve.last_mean[:], solve.wait[:] = pipeline.plan.start, 0  # for this was no step
        if not solve.settles.any():
            break
        _displace(pipeline, np.flatnonzero(solve.settles), h)
        displaced |= solve.settles
        pipeline.look_ahead(h)
    pipeline.equilibrium = IN_MOTION
    back = np.flatnonzero(displaced & ~pipeline.solve.held)
    if len(back):
        state.c[back], state.q[back] = c[back], q[back]
        update_all_derived(pipeline.model, state)
    pipeline.look_ahead(h)


def preload(pipeline: "ImpulsePipeline", h: float) -> None:
    """Take springs for as compressed as their load asks: bodies that touch then do not move under it."""
    count, rows = pipeline.contact_count, pipeline.rows
    load = rows.impulse[:count, 0]
    gap = rows.gap[:count]
    touching = (load > 0.0) & (gap <= 0.5 * pipeline.tolerance)
    np.copyto(gap, -h * rows.compliance[:count] * load, where=touching)


def _find_loads(pipeline: "ImpulsePipeline", h: float, *, preloaded: bool) -> float:
    """One round; returns the largest change of an impulse, in parts of the largest impulse.

    Impulses p that follow from those of the round before, b, are sought so that p = b. An impulse that acts
    all through the step moves a body by half of it, so the next round takes 2 p - b, not p, unless bodies are
    moved into springs, which push by where they are and not as they did.
    """
    pipeline.find_impulses(h, pipeline.prepare_contacts(h), preloaded)
    count, rows = pipeline.contact_count, pipeline.rows
    acted = rows.acted[:count, None]
    before = rows.before[:count] / (1.0 - acted)
    found = rows.impulse[:count] + acted * before
    wanted = 2.0 * found - before if preloaded else found
    write_impulses(pipeline.geometry, wanted, pipeline.impulse)
    pipeline.store_impulses()
    largest = np.abs(found).max(initial=0.0)
    return float(np.abs(found - before).max(initial=0.0) / largest) if largest > 0.0 else 0.0


def _note_loads(pipeline: "ImpulsePipeline") -> None:
    """Take the loads for those of a step before the first."""
    count, plan = pipeline.contact_count, pipeline.plan
    force, torque = plan.push[:, :3], plan.push[:, 3:]
    body, arm, load = pipeline.contacts.body[:count], pipeline.geometry.arm[:count], pipeline.impulse[:count]
    plan.push[:], plan.lasts[:] = 0.0, True
    np.add.at(force, body[:, 0], load)
    np.subtract.at(force, body[:, 1], load)
    np.add.at(torque, body[:, 0], np.cross(arm[:, 0], load))
    np.subtract.at(torque, body[:, 1], np.cross(arm[:, 1], load))


def _displace(pipeline: "ImpulsePipeline", bodies: np.ndarray, duration: float) -> None:
    """Move bodies by what their mean velocities make in `duration` [s], without taking these up."""
    state, way = pipeline.state, duration * pipeline.plan.mean[bodies]
    state.c[bodies] += way[:, :3]
    x, y, z, w = Rotation.from_rotvec(way[:, 3:]).as_quat().T
    state.q[bodies] = quat_multiply(np.stack([w, x, y, z], axis=1), state.q[bodies])
    update_all_derived(pipeline.model, state)
