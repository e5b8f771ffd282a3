"""The kernels of a step, in the order in which they follow each other, with what each takes."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..collision.broad_phase import fit_boxes, update_pairs
from ..collision.narrow_phase import detect_contacts
from ..collision.persistence import CARRIED, CARRIED_IN_STEP, store_impulses
from ..dynamics.kinematic import head_along_paths, list_touched, put_on_paths
from ..dynamics.motion import plan_motion
from ..geometry.shape_table import SPHERE
from ..sequence import ALWAYS, NEGATIVE, NEVER, NOT_ZERO, Given, KernelCall, Result
from .contact_events import list_events
from .impulse_collisions import resolve_collisions
from .impulse_edges import leave_faces
from .impulse_energy import end_spent_climbs, hold_energy
from .impulse_guard import list_fast_pairs
from .impulse_islands import NEWTON_ACCURACY, solve_contacts
from .impulse_meeting import REST_STEPS
from .impulse_motion import advance_bodies
from .impulse_prepare import prepare_contacts
from .impulse_progress import end_step
from .impulse_repair import DEEP, LEFT, add_past, deepest, project_positions
from .impulse_rest import REST_FORCE, count_lost, list_at_rest, settle_held
from .impulse_squeezed import follow_mean

if TYPE_CHECKING:
    from .impulse import ImpulsePipeline

REST_SINK, SINK = 0.002, 0.05
SOFTEST = 0.1  # compliance of a contact in units of its effective mass' inverse, where gravity is weak
NONE = np.int64(0)
CONTACTS = Given()  # how many contacts there are
FOUND = Result(detect_contacts)  # and how many the look ahead has found
ISLANDS = Result(prepare_contacts)  # and islands
WITH_PAST = Result(add_past)  # and contacts that a repair takes into account

Calls = list[KernelCall]


def gravity_speed(p: "ImpulsePipeline", h: float) -> float:
    """What gravity adds to a velocity in a step [m/s]."""
    return h * p.gravity_size


def sink(p: "ImpulsePipeline", h: float) -> float:
    """How far a spring may give under any load, per step [m/s]: less than gravity would in a step."""
    return min(SINK * p.tolerance / h, SINK * h * p.gravity_size or math.inf)


def prepare(p: "ImpulsePipeline", h: float, count: int | Given = CONTACTS) -> KernelCall:
    """Group the contacts by island, fill their rows, let last impulses act; finds the number of islands."""
    # A body that rests alone sinks in by a part of the tolerance, under any load by SINK of it.
    fall = gravity_speed(p, h) * h
    softness = min(SOFTEST, REST_SINK * p.tolerance / fall) if fall > 0.0 else SOFTEST
    return KernelCall(
        "islands", prepare_contacts,
        (
            p.model.kind, p.model.friction, p.masses, p.half_way, p.shapes, p.colliders, p.tolerance,
            p.geometry, p.contacts.slot,
            p.contacts.place, count, p.broad_phase.pairs, p.multiply, softness, sink(p, h), h,
            gravity_speed(p, h), p.settings.shock_propagation, p.may_sleep, p.plan, p.islands, p.graph,
            p.solve, p.packed.parts, p.rows, p.solve.impulse, p.sums, p.parts, p.lasting, p.shares,
        ),
        shared=not p.is_small,
    )  # fmt: skip


def part_at_edges(p: "ImpulsePipeline", h: float, count: int | Given = CONTACTS) -> Calls:
    """Let balls that get beyond the edge of a face leave it there, if there are any balls."""
    arguments = (
        p.model.kind, p.half_way, p.state.R, p.shapes, p.colliders, p.broad_phase.pairs, p.geometry,
        p.contacts.slot, count, h, p.tolerance, REST_STEPS * slow_speed(p, h), p.graph, p.lasting,
        p.rows, p.plan,
    )  # fmt: skip
    return [KernelCall("islands", leave_faces, arguments)] if (p.shapes.kind == SPHERE).any() else []


def slow_speed(p: "ImpulsePipeline", h: float) -> float:
    """What gravity adds to a velocity in a step [m/s], or what is slow where there is none.

    Where there is no gravity what is slower than a tenth of the tolerance in a step is touching.
    """
    return max(gravity_speed(p, h), 0.1 * p.tolerance / h)


def find_impulses(p: "ImpulsePipeline", h: float, islands: int | Result = ISLANDS) -> Calls:
    """Find the impulses at all contacts in the coming step: collisions, then contacts."""
    accuracy = NEWTON_ACCURACY * p.tolerance / h
    if p.gravity_size > 0.0:
        accuracy = min(accuracy, 0.5 * REST_FORCE * gravity_speed(p, h))
    return [
        KernelCall(
            "solve", resolve_collisions,
            (
                p.model, p.state, p.surfaces, p.masses, p.plan, p.geometry, p.rows, p.islands, islands, h,
                slow_speed(p, h), p.lasting, p.graph, p.round, p.collisions,
            ),
            shared=not p.is_small,
        ),
        KernelCall(
            "solve", solve_contacts,
            (
                p.half_way, p.geometry, p.rows, p.islands, islands, h, gravity_speed(p, h), p.tolerance,
                accuracy, sink(p, h), p.settings.max_iterations, p.equilibrium, p.net, p.plan, p.solve,
                p.packed, p.solve_report, p.end_velocity,
            ),
            shared=not p.is_small,
        ),
    ]  # fmt: skip


def stop_early(p: "ImpulsePipeline", h: float, islands: int | Result = ISLANDS) -> Calls:
    """End the step early for bodies that would get through others, or rise without the speed for it."""
    fast = list_fast_pairs, p.guard.what_it_takes(p.broad_phase.pairs, p.trace, h, p.plan.mean)
    climbs = (
        p.model.kind, p.masses, p.state, p.geometry, p.contacts.slot, p.broad_phase.pairs.allowance,
        p.forgives, p.islands, islands, p.plan, p.gravity, h, sink(p, h), p.at_rest,
    )  # fmt: skip
    return [
        KernelCall("guard", *fast, halts=NOT_ZERO),
        KernelCall("guard", list_at_rest, (p.solve.held, p.solve.settles, p.at_rest)),
        KernelCall("guard", end_spent_climbs, climbs),
    ]


def move(
    p: "ImpulsePipeline", h: float, islands: int | Result = ISLANDS, count: int | Given = CONTACTS
) -> Calls:
    """Apply the impulses, move all bodies through the step, and remember the impulses with their pairs."""
    bodies = (
        p.model, p.masses, p.state, p.geometry, p.rows, count, p.plan, p.gravity, h, p.impulse,
        p.solve.impulse, p.sums, p.parts, p.energy.start, p.shares,
    )  # fmt: skip
    energy = (
        p.model.kind, p.masses, p.state, p.geometry, p.impulse, p.contacts.slot,
        p.broad_phase.pairs.allowance, p.forgives, p.rows, p.islands, islands, p.plan, p.gravity, h,
        p.lasting, p.at_rest, p.energy,
    )  # fmt: skip
    return [
        KernelCall("integrate", advance_bodies, bodies, shared=not p.is_small),
        KernelCall("integrate", hold_energy, energy),
        KernelCall("integrate", settle_held, (p.state, p.at_rest)),
        KernelCall("integrate", follow_mean, (p.masses, p.state, p.plan.mean, p.solve.limit)),
        KernelCall("integrate", count_lost, (p.state.c, p.state.L), halts=NOT_ZERO),
        store(p, count),
        *animate(p, put_on_paths, h, p.state),
    ]


def animate(p: "ImpulsePipeline", kernel: Callable, *others: Any) -> Calls:
    """Have animated bodies follow their paths, if there are any."""
    arguments = p.model, p.paths.table, p.clock, *others
    return [KernelCall("integrate", kernel, arguments)] if p.paths.paths else []


def store(p: "ImpulsePipeline", count: int | Given = CONTACTS) -> KernelCall:
    """Remember the impulses of the contacts with their pairs."""
    return KernelCall(
        "integrate", store_impulses,
        (p.contacts, p.impulse, p.rows.slips, count, p.rows.kept, p.solve.jammed, p.broad_phase.pairs),
    )  # fmt: skip


def note_events(p: "ImpulsePipeline", h: float, count: int | Given = CONTACTS) -> KernelCall:
    """Note which bodies began or ceased to touch in this step."""
    return KernelCall(
        "events", list_events,
        (
            p.contacts, p.rows.impulse, p.rows.collision, count, p.tolerance, p.colliders.body,
            p.broad_phase.pairs, len(p.names), p.log.has_compounds, p.log.persisting, p.state.c, p.plan.start,
            p.clock, h, p.log.touching, p.log.found, p.log.recent,
        ),
        shared=not p.is_small, halts=NOT_ZERO,
    )  # fmt: skip


def of_a_step(p: "ImpulsePipeline", h: float) -> Calls:
    """The stages of a step whose contacts are known."""
    return [
        prepare(p, h),
        *part_at_edges(p, h),
        *find_impulses(p, h),
        *stop_early(p, h),
        *move(p, h),
        note_events(p, h),
    ]


def of_a_look_ahead(p: "ImpulsePipeline", h: float) -> Calls:
    """The stages that plan the coming step and find the contacts it may meet."""
    return [plan(p, h), *find_contacts(p)]


def of_a_step_and_look_ahead(p: "ImpulsePipeline", h: float) -> Calls:
    """Both, where nothing is to be done in between; tells whether something is before the next step."""
    sleepers = [list_who_wakes(p, h)] if p.paths.have_slept else []
    ahead = *animate(p, head_along_paths, h, h, p.state, p.plan.change), *of_a_look_ahead(p, h), *sleepers
    return [*of_a_step(p, h), *ahead, end(p, h, who_wakes=Result(list_touched) if sleepers else NONE)]


def of_a_repair(p: "ImpulsePipeline", h: float) -> Calls:
    """The stages that move overlapping bodies apart and find where contacts are then."""
    return [*move_apart(p), plan(p, h), *find_contacts(p, CARRIED_IN_STEP)]


def move_apart(
    p: "ImpulsePipeline", count: int | Given = CONTACTS, in_all: int | Result = WITH_PAST
) -> Calls:
    """Move overlapping bodies apart, and not into what they were moved out of before."""
    contacts, slots, allowance = p.geometry.at_start(), p.contacts.slot, p.broad_phase.pairs.allowance
    limit = LEFT * p.tolerance
    return [
        KernelCall("repair", add_past, (p.state, contacts, slots, count, allowance, limit, p.past)),
        KernelCall(
            "repair", project_positions,
            (
                p.model, p.state, p.masses, contacts, slots, in_all, allowance, limit, p.gravity,
                p.drive.pull, p.plan, p.repair, p.end_velocity,
            ),
        ),
    ]  # fmt: skip


def plan(p: "ImpulsePipeline", h: float) -> KernelCall:
    """Plan the coming step as free motion."""
    return KernelCall(
        "integrate", plan_motion,
        (
            p.model, p.state, p.gravity, h, p.plan, p.colliders.body, p.trace, p.broad_phase.pairs,
            p.own_reach, p.reach_by_thread, p.shares,
        ),
        shared=not p.is_small,
    )  # fmt: skip


def find_contacts(p: "ImpulsePipeline", kept: float = CARRIED) -> Calls:
    """Find the pairs that the planned motion may meet, their contact points, and how deep these are."""
    boxes, pairs = p.broad_phase.boxes, p.broad_phase.pairs
    has_meshes = p.broad_phase.has_meshes
    return [
        KernelCall(
            "broad phase", fit_boxes, (p.colliders, p.shapes, p.state.c, p.state.R, p.reach, boxes),
            halts=ALWAYS if has_meshes else NEVER,
        ),
        KernelCall(
            "broad phase", update_pairs, (*p.broad_phase.who, boxes, pairs), only_after=fit_boxes,
            halts=ALWAYS if has_meshes else NOT_ZERO,
        ),
        KernelCall(
            "narrow phase", detect_contacts,
            (
                p.colliders, p.shapes, p.sensor, p.state.c, p.state.R, p.trace, pairs, p.reach, p.tolerance,
                kept, p.contacts,
            ),
            own=p.scratch, shared=p.has_many_pairs, halts=NEGATIVE,
        ),
        measure_depth(p, FOUND),
    ]  # fmt: skip


def measure_depth(p: "ImpulsePipeline", count: int | Result) -> KernelCall:
    """Find how deep bodies are in each other."""
    return KernelCall(
        "repair", deepest,
        (
            p.model.kind, p.contacts.body, p.contacts.separation, p.contacts.slot, count,
            p.broad_phase.pairs.allowance, p.depth,
        ),
    )  # fmt: skip


def list_who_wakes(p: "ImpulsePipeline", h: float, count: int | Result = FOUND) -> KernelCall:
    """Find which bodies that started asleep others touch or will in the coming step."""
    return KernelCall(
        "narrow phase", list_touched,
        (
            p.model.kind, p.paths.asleep, p.contacts, count, p.plan.mean, h, p.tolerance, p.paths.touched,
        ),
    )  # fmt: skip


def end(
    p: "ImpulsePipeline", h: float, count: int | Result = FOUND, who_wakes: np.int64 | Result = NONE
) -> KernelCall:
    """Note that a step is over."""
    return KernelCall(
        "integrate", end_step,
        (
            h, p.clock, p.depth, DEEP * p.tolerance, p.solve_report, p.contacts.slot, count,
            p.broad_phase.pairs, p.is_small, p.has_many_pairs, who_wakes,
        ),
    )  # fmt: skip
