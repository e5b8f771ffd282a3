"""The time-stepping solver of Bender & Schmitt (2006): collisions, then contacts, by impulses.

`ImpulsePipeline` has the stages of a step over compiled kernels.
"""

import math
from typing import Any

import numpy as np

from ..calls import Calls
from ..collision.broad_phase import BroadPhase
from ..collision.contact_set import CARRIED_ON, QUERIES, SURVIVED, contact_geometry, empty_contacts
from ..collision.narrow_phase import PIECE, detect_contacts, make_scratch
from ..collision.pairs import HIGH
from ..collision.persistence import CARRIED, CARRIED_IN_STEP, new_trace, store_impulses
from ..crew import LEADER, Crew
from ..dynamics.body_state import (
    BodyModel,
    BodyState,
    body_masses,
    build_bodies,
    gravity_of,
    ignored_pairs,
    initial_state,
)
from ..dynamics.contact_rows import empty_rows, grown_rows
from ..dynamics.islands import empty_graph, empty_islands
from ..dynamics.kinematic import KinematicPaths
from ..dynamics.motion import empty_plan, plan_motion, update_all_derived
from ..errors import SolverError
from ..geometry.shape_table import Colliders, MeshTrees, ShapeTable
from ..report import Stage
from ..scene import Scene
from ..settings import OVERLAP_SPEED, RELATIVE_TOLERANCE
from ..tables import is_short, larger, release, scratch_tables
from .collision_round import empty_round
from .contact_events import EventLog
from .impulse_collisions import empty_collisions, resolve_collisions
from .impulse_energy import EnergyScratch, end_spent_climbs, hold_energy
from .impulse_guard import PassageGuard
from .impulse_islands import (
    NEWTON_ACCURACY,
    RESIDUAL,
    UNSETTLED,
    recall_solve,
    remembered,
    solve_contacts,
    solve_scratch,
)
from .impulse_meeting import surfaces_of
from .impulse_memory import memory_of, recall
from .impulse_motion import advance_bodies
from .impulse_prepare import prepare_contacts
from .impulse_pressed import PressedPairs
from .impulse_repair import PastContacts, deepest, project_positions, repair_scratch
from .impulse_rest import REST_FORCE, settle_held
from .impulse_settings import ImpulseSolver
from .impulse_settle import IN_MOTION
from .impulse_squeezed import follow_mean
from .impulse_start import preload, start_at_rest
from .packed_contacts import packed_contacts

REPAIR_ROUNDS, DEEP = 60, 0.7  # what is deeper than this part of the tolerance is repaired
REPAIRED, IDLE_ROUNDS = 0.95, 6  # what is squeezed cannot be repaired: rounds that took no such part end it
REST_SINK, SINK = 0.002, 0.05
LEAST_SHARED = 1024  # contacts: the work of fewer is done before another thread has heard of it
SOFTEST = 0.1  # compliance of a contact in units of its effective mass' inverse, where gravity is weak


def build_pipeline(scene: Scene, settings: ImpulseSolver) -> tuple["ImpulsePipeline", np.ndarray]:
    """The pipeline of a scene, before its first look ahead, and `order`: the scene's index of each body."""
    model, shapes, colliders, trees, order = build_bodies(scene)
    state = initial_state(scene, order, model)
    bodies = [scene.bodies[i] for i in order]
    paths = KinematicPaths(bodies, model, gravity_of(scene, bodies))
    paths.set_poses(state, 0.0)
    update_all_derived(model, state)
    pipeline = ImpulsePipeline(
        settings, model, shapes, colliders, trees, state, paths,
        gravity=paths.gravity, multiply=scene.combine == "multiply",
        mobile=np.array([b.is_movable for b in bodies]), sensor=np.array([b.sensor for b in bodies]),
        apart=ignored_pairs(scene, bodies), names=[b.name for b in bodies],
    )  # fmt: skip
    return pipeline, order


class ImpulsePipeline:
    """One step as a list of stages. Owns scratch and the pair cache; moves the `state` it is given."""

    def __init__(
        self,
        settings: ImpulseSolver,
        model: BodyModel,
        shapes: ShapeTable,
        colliders: Colliders,
        trees: MeshTrees,
        state: BodyState,
        paths: KinematicPaths,
        *,
        gravity: np.ndarray,
        multiply: bool,
        mobile: np.ndarray,
        sensor: np.ndarray,
        apart: np.ndarray,
        names: list[str],
    ) -> None:
        """Allocate scratch.

        Args:
            gravity: Of each body, other uniform fields included [m/s^2], shape (n, 3).
            multiply: How coefficients combine.
            mobile: Bodies that move by forces now or later, shape (n,).
            sensor: Bodies that only report what overlaps them, shape (n,).
            apart: Pairs that ignore each other; see `broad_phase`.
        """
        self.settings, self.model, self.shapes, self.colliders = settings, model, shapes, colliders
        self.state, self.paths = state, paths
        self.gravity, self.multiply = gravity, multiply
        self.gravity_size = float(np.linalg.norm(gravity, axis=1).max())
        self.equilibrium = IN_MOTION
        self.names = names
        self.crew, self.call = Crew(settings.threads), Calls()
        self.masses, self.time = body_masses(model, state), 0.0
        n = len(state.c)
        self.tolerance = min([settings.tolerance, *(RELATIVE_TOLERANCE * model.bound[mobile])])
        self.surfaces = surfaces_of(model.restitution, multiply, self.gravity_size, self.tolerance)
        self.broad_phase = BroadPhase(model, shapes, colliders, trees, state, mobile, apart)
        self.plan = empty_plan(n)
        self.sensor = sensor
        self.trace = new_trace(model.bound)
        self.scratch = [(make_scratch(shapes),) for _ in range(self.crew.threads)]
        self.guard = PassageGuard(model.kind, sensor, shapes, colliders, self.masses, self.scratch[LEADER][0])
        self.log = EventLog(names, colliders.body, settings.event_impulse, self.crew)
        self.pressed = PressedPairs(names)
        self.net, self.end_velocity, self.start_energy = scratch_tables(
            ((n, 6), float), ((n, 6), float), ((n,), float)
        )
        self.sums = self.net, self.end_velocity
        self.lasting, self.at_rest = np.ones(n, bool), np.zeros(n, bool)
        self.reach_by_thread, self.own_reach = np.zeros((self.crew.threads, n)), np.zeros(n)
        self.reach, self.contacts, self.rows = self.reach_by_thread[LEADER], empty_contacts(n), empty_rows(n)
        self.solve = solve_scratch(packed_contacts(n, n), self.model.friction)
        self.contact_count = 0
        self._grow()
        self.solve.last_mean[:, :3], self.solve.last_mean[:, 3:] = state.v, state.w
        self.solve_report = np.zeros(4)
        self.stage_seconds: dict[str, float] = {}
        self.max_penetration = 0.0
        self.unresolved: list[tuple[float, int, float]] = []
        self.step_length, self._may_sleep = 0.0, False
        self.forgives = True  # some overlap of the start, as far as is known

    def _grow(self) -> None:
        """Make room for more contact points; keeps rows and the witness counters."""
        self.resize(larger(len(self.contacts.slot)))

    def resize(self, capacity: int) -> None:
        """Make room for so many contact points."""
        n = len(self.state.c)
        self.contacts = empty_contacts(capacity)._replace(counter=self.contacts.counter)
        self.geometry = contact_geometry(self.contacts)
        self.rows = grown_rows(self.rows, capacity)
        self.islands = empty_islands(n, capacity)
        self.graph = empty_graph(n, capacity)
        self.packed = packed_contacts(n, capacity)
        memory = remembered(self.solve)
        self.solve = solve_scratch(self.packed, self.model.friction)
        recall_solve(self.solve, memory)
        # Collisions come before the solve and energy after it: they take the same scratch.
        self.collisions = empty_collisions(self.solve.newton.error, self.solve.newton.step)
        self.energy = EnergyScratch(self.start_energy, self.solve.newton.error, self.solve.impulse)
        self.impulse = self.packed.impulse  # [N s] of the contacts, for the next step, once all are solved
        self.round = empty_round(self.packed)

    def rest(self) -> None:
        """Give back the memory that lasts no longer than a step."""
        release(
            [self.net, self.geometry.arm], self.packed, self.packed.parts, self.packed.batches, self.rows,
            self.packed.quiet, self.round, self.solve, self.solve.newton, self.islands, self.graph,
            self.collisions,
        )  # fmt: skip
        self.log.rest()

    def _stage(self, name: str) -> Stage:
        return Stage(name, self.stage_seconds)

    @property
    def _is_small(self) -> bool:
        """Whether the contacts are too few to share the work."""
        return self.contact_count < LEAST_SHARED

    @property
    def _parts(self) -> int:
        """In how many parts contacts are divided where sums over them are: with any number of threads."""
        return 1 if self._is_small else len(self.sums)

    @property
    def _shares(self) -> int:
        """In how many parts bodies are divided where work is shared by bodies."""
        return 1 if self._is_small else self.crew.threads

    # The step --------------------------------------------------------------------------------

    def step(self, h: float) -> None:
        """Advance the state by the time h [s]."""
        self._may_sleep = self.settings.sleeping and h == self.step_length and self.time > 0.0
        if h != self.step_length:
            self.look_ahead(h)
        if self.time == 0.0:
            start_at_rest(self, h)
        island_count = self.prepare_contacts(h)
        self.find_impulses(h, island_count)
        self.stop_early(h, island_count)
        self.move(h, island_count)
        self.note_events()
        self.put_pairs_in_order()
        self.look_ahead(h)
        self.repair_positions(h)
        self._check_finite()

    def find_impulses(self, h: float, island_count: int, preloaded: bool = False) -> None:
        """Find the impulses at all contacts in the coming step; see `preload` in `impulse_start`."""
        with self._stage("solve"):
            if preloaded:
                preload(self, h)
            self._resolve_collisions(h, island_count)
            self._solve_contacts(h, island_count)

    def stop_early(self, h: float, island_count: int) -> None:
        """End the step early for bodies that would get through others, or rise without the speed for it."""
        with self._stage("guard"):
            self.guard.stop_at_obstacles(self.state, self.broad_phase.pairs, h, self.plan.mean)
            self.call(
                end_spent_climbs,
                self.model.kind, self.masses, self.state, self.geometry, self.contacts.slot,
                self.broad_phase.pairs.allowance, self.forgives, self.islands, island_count, self.plan,
                self.gravity, h, self._sink(h), self._at_rest(),
            )  # fmt: skip

    def move(self, h: float, island_count: int) -> None:
        """Apply the impulses and move all bodies through the step."""
        with self._stage("integrate"):
            self._advance_bodies(h)
            self._hold_energy(h, island_count)
            self.store_impulses()

    def note_events(self) -> None:
        """Note which bodies began or ceased to touch in this step."""
        with self._stage("events"):
            self.log.note(
                self.contacts, self.contact_count, self.rows, self.broad_phase.pairs, self.tolerance,
                self.time, self.state.c, self.plan.start, alone=self._is_small,
            )  # fmt: skip

    def put_pairs_in_order(self) -> None:
        """Give pairs other slots where many came or went: what is read together is to lie together."""
        with self._stage("broad phase"):
            slots = self.broad_phase.put_in_order()
            if slots is not None:
                self.contacts.look[:], self.rows.slot[:] = -1, -1
                self.log.renumber(slots)

    def look_ahead(self, h: float, kept: float = CARRIED) -> None:
        """Plan the coming step as free motion and find the contacts it may meet."""
        self.plan_motion(h)
        self.find_contacts(kept)
        while self.wake_touched(h):
            self.plan_motion(h)
            self.find_contacts()

    def wake_touched(self, h: float) -> bool:
        """Wake bodies that started asleep and that others touch or will touch in this step; whether any."""
        if not self.paths.asleep.any():
            return False
        count, mean = self.contact_count, self.plan.mean
        body, arm = self.contacts.body[:count], self.contacts.arm[:count]
        velocity = mean[body, :3] + np.cross(mean[body, 3:], arm)
        closing = ((velocity[:, 1] - velocity[:, 0]) * self.contacts.normal[:count]).sum(axis=1)
        meets = self.contacts.separation[:count] - h * closing <= self.tolerance
        if not self.paths.wake_touched(body[meets], self.state, mean):
            return False
        self._respond_anew()
        return True

    def _respond_anew(self) -> None:
        """Bodies respond to forces that did not: forget what is known of how contacts respond."""
        update_all_derived(self.model, self.state)
        self.rows.slot[:] = -1

    def plan_motion(self, h: float) -> None:
        """Plan the coming step as free motion."""
        self.step_length = h
        with self._stage("integrate"):
            if self.paths.release_due(self.state, self.time):
                self._respond_anew()
            self.paths.set_velocities(self.state, self.time, h)
            self.crew.run(
                plan_motion,
                self.model, self.state, self.gravity, h, self.plan, self.colliders.body, self.trace,
                self.broad_phase.pairs, self.own_reach, self.reach_by_thread, self._shares,
                alone=self._is_small,
            )  # fmt: skip

    def find_contacts(self, kept: float = CARRIED) -> None:
        """Find the pairs and their contact points that the planned motion may meet."""
        self.find_pairs()
        self.detect_contacts(kept)

    def find_pairs(self) -> None:
        """Find the pairs of colliders whose boxes overlap."""
        with self._stage("broad phase"):
            self.broad_phase.update(self.state, self.reach)

    def detect_contacts(self, kept: float) -> None:
        """Find the contact points of these pairs."""
        with self._stage("narrow phase"):
            self.broad_phase.grow_rooms()
            if is_short(len(self.contacts.slot), self.contact_count):
                self._grow()
            while True:
                count = self.crew.run(
                    detect_contacts,
                    self.colliders, self.shapes, self.sensor, self.state.c, self.state.R, self.trace,
                    self.broad_phase.pairs, self.reach, self.tolerance, kept, self.contacts,
                    own=self.scratch, alone=self.broad_phase.pairs.counter[HIGH] < 2 * PIECE,
                )  # fmt: skip
                if count >= 0:
                    self.contact_count = count
                    return
                if not self.broad_phase.grow_rooms():
                    self._grow()

    def prepare_contacts(self, h: float) -> int:
        """Group the contacts by island, fill their rows, let last impulses act; the number of islands."""
        # A body that rests alone sinks in by a part of the tolerance, under any load by SINK of it.
        fall = self._gravity_speed(h) * h
        softness = min(SOFTEST, REST_SINK * self.tolerance / fall) if fall > 0.0 else SOFTEST
        with self._stage("islands"):
            return self.crew.run(
                prepare_contacts,
                self.model.kind, self.model.friction, self.masses, self.geometry, self.contacts.slot,
                self.contacts.place, self.contact_count, self.broad_phase.pairs, self.multiply, softness,
                self._sink(h), h, self._gravity_speed(h), self.settings.shock_propagation, self._may_sleep,
                self.plan, self.islands, self.graph, self.solve, self.packed.parts, self.rows,
                self.solve.impulse, self.sums, self._parts, self.lasting, self._shares, alone=self._is_small,
            )  # fmt: skip

    def _gravity_speed(self, h: float) -> float:
        """What gravity adds to a velocity in a step [m/s]."""
        return h * self.gravity_size

    def _sink(self, h: float) -> float:
        """How far a spring may give under any load, per step [m/s]: less than gravity would in a step."""
        return min(SINK * self.tolerance / h, SINK * h * self.gravity_size or math.inf)

    def _resolve_collisions(self, h: float, island_count: int) -> None:
        # Where there is no gravity what is slower than a tenth of the tolerance in a step is touching.
        speed = max(self._gravity_speed(h), 0.1 * self.tolerance / h)
        self.crew.run(
            resolve_collisions,
            self.model, self.state, self.surfaces, self.masses, self.plan, self.geometry,
            self.rows, self.islands, island_count, h, speed, self.lasting, self.graph, self.round,
            self.collisions, alone=self._is_small,
        )  # fmt: skip

    def _solve_contacts(self, h: float, island_count: int) -> None:
        accuracy = NEWTON_ACCURACY * self.tolerance / h
        if self.gravity_size > 0.0:
            accuracy = min(accuracy, 0.5 * REST_FORCE * self._gravity_speed(h))
        report = self.solve_report
        self.crew.run(
            solve_contacts,
            self.masses, self.geometry, self.rows, self.islands, island_count, h, self._gravity_speed(h),
            self.tolerance, accuracy, self._sink(h), self.settings.max_iterations, self.equilibrium, self.net,
            self.plan, self.solve, self.packed, report, self.end_velocity,
            alone=self._is_small,
        )  # fmt: skip
        if report[UNSETTLED]:
            self.unresolved.append((self.time, int(report[UNSETTLED]), float(report[RESIDUAL])))

    def _advance_bodies(self, h: float) -> None:
        self.crew.run(
            advance_bodies,
            self.model, self.masses, self.state, self.geometry, self.rows, self.contact_count, self.plan,
            self.gravity, h, self.impulse, self.solve.impulse, self.sums, self._parts, self.energy.start,
            self._shares, alone=self._is_small,
        )  # fmt: skip
        self.time += h
        self.paths.set_poses(self.state, self.time)
        if self.forgives:
            allowance = self.broad_phase.pairs.allowance
            np.maximum(allowance - OVERLAP_SPEED * h, 0.0, out=allowance)
            self.forgives = bool(allowance.any())

    def _at_rest(self) -> np.ndarray:
        """Bodies held at rest or about to be, shape (n,)."""
        return np.logical_or(self.solve.held, self.solve.settles, out=self.at_rest)

    def _hold_energy(self, h: float, island_count: int) -> None:
        at_rest = self._at_rest()
        self.call(
            hold_energy,
            self.model.kind, self.masses, self.state, self.geometry, self.impulse,
            self.contacts.slot, self.broad_phase.pairs.allowance, self.forgives, self.rows, self.islands,
            island_count, self.plan, self.gravity, h, self.lasting, at_rest, self.energy,
        )  # fmt: skip
        self.call(settle_held, self.state, at_rest)
        self.call(follow_mean, self.masses, self.state, self.plan.mean, self.solve.limit)

    def store_impulses(self) -> None:
        """Remember the impulses of the contacts with their pairs."""
        self.call(
            store_impulses,
            self.contacts, self.impulse, self.rows.slips, self.contact_count, self.rows.kept,
            self.solve.jammed, self.broad_phase.pairs,
        )  # fmt: skip

    def repair_positions(self, h: float) -> None:
        """Project out what the step left too deep."""
        least, idle, past = math.inf, 0, PastContacts()
        for _ in range(REPAIR_ROUNDS):
            beyond, worst = self.call(
                deepest,
                self.model.kind, self.contacts.body, self.contacts.separation, self.contacts.slot,
                self.contact_count, self.broad_phase.pairs.allowance,
            )  # fmt: skip
            idle = 0 if beyond < REPAIRED * least else idle + 1
            if beyond <= DEEP * self.tolerance or idle > IDLE_ROUNDS:
                break
            least = min(least, beyond)
            self.project_positions(past)
            self.look_ahead(h, CARRIED_IN_STEP)
        self.max_penetration = max(self.max_penetration, worst)
        if beyond > self.tolerance:
            self.pressed.note(
                self.model.kind, self.contacts, self.contact_count, self.broad_phase.pairs.allowance,
                self.tolerance, self.time,
            )  # fmt: skip

    def project_positions(self, past: PastContacts) -> None:
        """Move overlapping bodies apart, and not into what they were moved out of before."""
        allowance, limit = self.broad_phase.pairs.allowance, 0.25 * self.tolerance
        with self._stage("repair"):
            count = self.contact_count + past.write(self.state, self.contacts, self.contact_count)
            past.note(self.state, self.contacts, self.contact_count, allowance, limit)
            project_positions(
                self.model, self.state, self.masses, self.geometry.at_start(), self.contacts.slot, count,
                allowance, limit, self.gravity, self.plan, repair_scratch(len(self.net), count),
                self.end_velocity,
            )  # fmt: skip

    def _check_finite(self) -> None:
        if math.isfinite(self.state.c.sum() + self.state.L.sum()):
            return
        bad = np.flatnonzero(~np.isfinite(self.state.c + self.state.L).all(axis=1))
        if len(bad):  # or the sums only are too large
            names = ", ".join(f"'{self.names[i]}'" for i in bad[:5])
            raise SolverError(
                f"bodies {names} have no finite motion at {self.time:.6g} s; look for extreme masses, "
                "sizes or speeds among them"
            )

    @property
    def warnings(self) -> list[str]:
        """What the steps so far could not put right, one sentence each."""
        return self.pressed.warnings

    @property
    def witness_survival(self) -> float:
        """Part of the pairs looked at so far, or not for want of motion, that the last witness answered."""
        queries, survived, carried = (int(self.contacts.counter[k]) for k in (QUERIES, SURVIVED, CARRIED_ON))
        return (survived + carried) / (queries + carried) if queries + carried else 1.0

    def memory(self) -> dict[str, Any]:
        """The arrays that the coming steps depend on (not copies)."""
        return memory_of(self)

    def recall(self, memory: dict[str, Any]) -> None:
        """Take over what `memory` returned earlier; the arrays become the pipeline's."""
        recall(self, memory)
