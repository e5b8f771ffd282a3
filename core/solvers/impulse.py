"""The time-stepping solver of Bender & Schmitt (2006): collisions, then contacts, by impulses.

`ImpulsePipeline` owns the tables of the stages that `impulse_stages` lists, runs these, and does what is left
to Python.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from ..collision.broad_phase import BroadPhase, fit_boxes, update_pairs
from ..collision.contact_set import CARRIED_ON, QUERIES, SURVIVED, contact_geometry, empty_contacts
from ..collision.narrow_phase import detect_contacts, make_scratch
from ..collision.pairs import HIGH, STATUS_OK
from ..collision.persistence import new_trace
from ..crew import LEADER, Crew
from ..dynamics.body_state import (
    BodyModel,
    BodyState,
    body_masses,
    build_bodies,
    gravity_of,
    ignored_pairs,
    initial_state,
    usual_gravity,
)
from ..dynamics.contact_rows import empty_rows, grown_rows
from ..dynamics.islands import empty_graph, empty_islands
from ..dynamics.kinematic import KinematicPaths
from ..dynamics.motion import empty_plan, update_all_derived
from ..errors import SolverError
from ..forces import Force
from ..geometry.shape_table import Colliders, MeshTrees, ShapeTable
from ..report import Stage
from ..scene import Scene
from ..sequence import Runner, Sequence
from ..settings import OVERLAP_SPEED, RELATIVE_TOLERANCE
from ..tables import is_short, larger, release, scratch_tables
from . import impulse_stages as stages
from .collision_round import empty_round
from .contact_events import EventLog, list_events
from .impulse_collisions import empty_collisions
from .impulse_energy import EnergyScratch, balance_forces
from .impulse_forces import Drive
from .impulse_guard import PassageGuard, list_fast_pairs
from .impulse_islands import recall_solve, remembered, solve_scratch
from .impulse_meeting import surfaces_of
from .impulse_memory import memory_of, recall
from .impulse_pressed import PressedPairs
from .impulse_progress import (
    BEFORE,
    LEAST_CONTACTS,
    LEAST_PAIRS,
    MOST,
    NOW,
    UNSETTLED,
    unsettled,
)
from .impulse_repair import past_contacts, project_positions, repair_positions, repair_scratch
from .impulse_rest import count_lost
from .impulse_settings import ImpulseSolver
from .impulse_settle import IN_MOTION
from .impulse_start import forgive_released, preload, start_at_rest
from .packed_contacts import packed_contacts

PAST, PAST_OF_BODY = 4096, 8  # room for contacts of earlier rounds, and for each body
LONGEST = 0.1  # s that steps may take at one go: until then nothing stops them


def build_pipeline(scene: Scene, settings: ImpulseSolver) -> tuple["ImpulsePipeline", np.ndarray]:
    """The pipeline of a scene, before its first look ahead, and `order`: the scene's index of each body."""
    model, shapes, colliders, trees, order = build_bodies(scene)
    state = initial_state(scene, order, model)
    bodies = [scene.bodies[i] for i in order]
    paths = KinematicPaths(bodies, model, gravity_of(scene, bodies))
    paths.set_poses(state, 0.0)
    update_all_derived(model, state)
    pipeline = ImpulsePipeline(
        settings, model, shapes, colliders, trees, state, paths, scene.forces,
        gravity=paths.gravity, gravity_size=usual_gravity(scene), multiply=scene.combine == "multiply",
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
        forces: list[Force],
        *,
        gravity: np.ndarray,
        gravity_size: float,
        multiply: bool,
        mobile: np.ndarray,
        sensor: np.ndarray,
        apart: np.ndarray,
        names: list[str],
    ) -> None:
        """Allocate scratch.

        Args:
            gravity: Of each body, other uniform fields included [m/s^2], shape (n, 3).
            gravity_size: By which it is told what is slow [m/s^2].
            multiply: How coefficients combine.
            mobile: Bodies that move by forces now or later, shape (n,).
            sensor: Bodies that only report what overlaps them, shape (n,).
            apart: Pairs that ignore each other; see `broad_phase`.
        """
        self.settings, self.model, self.shapes, self.colliders = settings, model, shapes, colliders
        self.state, self.paths, self.names, self.multiply = state, paths, names, multiply
        self.gravity, self.gravity_size, self.equilibrium = gravity, gravity_size, IN_MOTION
        self.crew = Crew(settings.threads)
        self.runner = Runner(self.crew)
        self._sequences = [Sequence(self.runner) for _ in range(4)]
        self._stepping, self._moving, self._looking, self._repairing = self._sequences
        self._tables: tuple[int, ...] = ()
        self.masses, self.clock, self._pace = body_masses(model, state), np.zeros(2), LONGEST
        n = len(state.c)
        self.tolerance = min([settings.tolerance, *(RELATIVE_TOLERANCE * model.bound[mobile])])
        self.surfaces = surfaces_of(model.restitution, multiply, self.gravity_size, self.tolerance)
        self.broad_phase = BroadPhase(model, shapes, colliders, trees, state, mobile, apart)
        self.drive = Drive(forces, names, model, gravity, self.tolerance)
        self.plan = empty_plan(n, bool(self.drive))
        self.sensor, self.trace = sensor, new_trace(model.bound)
        self.scratch = [(make_scratch(shapes),) for _ in range(self.crew.threads)]
        self.guard = PassageGuard(model.kind, sensor, shapes, colliders, self.masses, self.scratch[LEADER][0])
        self.log = EventLog(names, colliders.body, settings.event_impulse)
        self.pressed = PressedPairs(names)
        self.released: list[int] = []  # in this look ahead
        self.net, self.end_velocity, self.start_energy, inv_I = scratch_tables(
            ((n, 6), float), ((n, 6), float), ((n,), float), ((n, 9), float)
        )
        self.half_way = self.masses._replace(inv_I=inv_I)  # as bodies stand half way through the step
        self.sums = self.net, self.end_velocity
        self.lasting, self.at_rest = np.ones(n, bool), np.zeros(n, bool)
        self.reach_by_thread, self.own_reach = np.zeros((self.crew.threads, n)), np.zeros(n)
        self.reach, self.contacts, self.rows = self.reach_by_thread[LEADER], empty_contacts(n), empty_rows(n)
        self.solve = solve_scratch(packed_contacts(n, n), self.model.friction)
        self.contact_count, self.depth, self.solve_report = 0, np.zeros(3), np.zeros(6)
        self.past = past_contacts(PAST + PAST_OF_BODY * n)
        self._grow()
        self.solve.last_mean[:, :3], self.solve.last_mean[:, 3:] = state.v, state.w
        self.unresolved: list[dict[str, Any]] = []
        self.step_length, self.may_sleep = 0.0, False
        self.forgives = True  # some overlap of the start, as far as is known

    def _grow(self) -> None:
        """Make room for more contact points; keeps rows and the witness counters."""
        self.resize(larger(len(self.contacts.slot)))

    def resize(self, capacity: int) -> None:
        """Make room for so many contact points."""
        n = len(self.state.c)
        self.contacts = empty_contacts(capacity)._replace(counter=self.contacts.counter)
        self.geometry, self.rows = contact_geometry(self.contacts), grown_rows(self.rows, capacity)
        self.islands = empty_islands(n, capacity)
        self.graph = empty_graph(n, capacity)
        self.packed = packed_contacts(n, capacity)
        memory = remembered(self.solve)
        self.solve = solve_scratch(self.packed, self.model.friction)
        recall_solve(self.solve, memory)
        # Collisions come before the solve and energy after it: they take the same scratch.
        self.collisions = empty_collisions(self.half_way, self.solve.newton.error, self.solve.newton.step)
        self.energy = EnergyScratch(self.start_energy, self.solve.newton.error, self.solve.impulse)
        self.impulse = self.packed.impulse  # [N s] of the contacts, for the next step, once all are solved
        self.round = empty_round(self.packed)
        self.repair = repair_scratch(n, capacity)

    def rest(self) -> None:
        """Give back the memory that lasts no longer than a step."""
        release(
            [self.net, self.geometry.normal, self.geometry.arm], self.packed, self.round, self.packed.parts,
            self.packed.batches, self.packed.quiet, self.rows, self.solve, self.repair, self.solve.newton,
            self.islands, self.graph, self.collisions, self.collisions.motion, self.past,
        )  # fmt: skip
        self.log.rest()

    def _stage(self, name: str) -> Stage:
        return self.runner.stage(name)

    @property
    def stage_seconds(self) -> dict[str, float]:
        """Wall-clock seconds spent in each named stage so far."""
        for sequence in self._sequences:
            sequence.add_times()
        return self.runner.seconds

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return float(self.clock[NOW])

    @time.setter
    def time(self, now: float) -> None:
        self.clock[NOW] = now

    @property
    def max_penetration(self) -> float:
        """The deepest that bodies were in each other after any step [m]."""
        return float(self.depth[MOST])

    @property
    def is_small(self) -> bool:
        """Whether the contacts are too few to share the work."""
        return self.contact_count < LEAST_CONTACTS

    @property
    def has_many_pairs(self) -> bool:
        """Whether the pairs are enough to share the work."""
        return bool(self.broad_phase.pairs.counter[HIGH] >= LEAST_PAIRS)

    @property
    def parts(self) -> int:
        """In how many parts contacts are divided where sums over them are: with any number of threads."""
        return 1 if self.is_small else len(self.sums)

    @property
    def shares(self) -> int:
        """In how many parts bodies are divided where work is shared by bodies."""
        return 1 if self.is_small else self.crew.threads

    # The step --------------------------------------------------------------------------------

    def step(self, h: float, most: int = 1) -> int:
        """Advance the state by the time h [s], once or more often.

        Args:
            most: So often at most; what many steps do at one go takes no longer than LONGEST.

        Returns:
            How often.

        Raises:
            SolverError: Forces are too wild, or the motion is no longer finite.
        """
        last, end = self.step_length or h, self.time + h
        self._begin(h)
        parts = self.drive.parts(self.contacts.body[: self.contact_count], h, last) if self.drive else 1
        if parts == 1:
            return self._make(h, most)
        for _ in range(parts):
            self._begin(h / parts)
            self._make(h / parts)
        self.time = end
        return 1

    def _begin(self, h: float) -> None:
        """Look ahead again, if the step is not as long as the last one was."""
        self.may_sleep = self.settings.sleeping and h == self.step_length and self.time > 0.0
        if h != self.step_length:
            for impulse in (self.broad_phase.pairs.impulse, self.plan.push):
                impulse *= h / (self.step_length or h)  # of forces that last
            self.look_ahead(h)

    def _make(self, h: float, most: int = 1) -> int:
        """Make a step, or more: as many as were made is returned."""
        if self.time == 0.0:
            start_at_rest(self, h)
        self.log.make_room(len(self.broad_phase.pairs.collider))
        begin, made = perf_counter(), 1
        before_release = (self.paths.next_release - self.time) / h - 1.0  # steps after which none is due
        if before_release < 1.0 or self.drive or self.forgives:
            self._run(self._moving, partial(stages.of_a_step, self, h), h)
            collisions = self.rows.collision[: self.contact_count]
            self.drive.make_up(self.geometry, collisions, self.state, self.time, h, self.plan)
            balance_forces(self, h)
            self._end_step(h)
            self.look_ahead(h)
        else:
            at_one_go = max(1, int(min(most, LONGEST / self._pace, before_release)))
            if self.settings.sleeping and not self.may_sleep:
                at_one_go = 1  # from the next step on some may
            self._run(self._stepping, partial(stages.of_a_step_and_look_ahead, self, h), h, at_one_go)
            self._note_contacts(self._stepping)
            self._note_unsettled(float(self.clock[BEFORE]))
            made = self._stepping.passes
            while self.wake_touched(h):
                self._look_ahead(h)
        repair_positions(self, h)
        self._pace = (perf_counter() - begin) / made
        return made

    @property
    def _is_short(self) -> bool:
        """Whether there is little room for more pairs or contact points."""
        return self.broad_phase.is_short or is_short(len(self.contacts.slot), self.contact_count)

    def _run(self, sequence: Sequence, calls: Callable[[], stages.Calls], h: float, most: int = 1) -> None:
        """Go through the stages of a step of length h [s], and do what is left to Python where they halt."""
        self._let_go_of_old_tables()
        known = partial(self._arguments_known, h)
        tidy_up = list_events if self._is_short or self.broad_phase.is_out_of_order else None
        for kernel in sequence.run(known, calls, self.contact_count, most, detect_contacts, tidy_up):
            if kernel is list_events:
                if sequence.result(kernel):  # for so many there is no room
                    self.log.append(self.time + h)
                self._tidy_up()
            elif kernel is list_fast_pairs:
                self._stop_at_obstacles(sequence.result(kernel), h)
            elif kernel is count_lost:
                self._raise_lost()
            elif kernel is detect_contacts:  # for whose points there is no room
                if not self.broad_phase.grow_rooms():
                    self._grow()
                sequence.call_again()
            else:
                self._find_other_pairs(sequence, kernel)

    def _end_step(self, h: float) -> None:
        """Note what a step has left, and that time has passed."""
        self._note_unsettled(self.time)
        self.time += h
        if self.forgives:
            allowance = self.broad_phase.pairs.allowance
            np.maximum(allowance - OVERLAP_SPEED * h, 0.0, out=allowance)
            self.forgives = bool(allowance.any())

    def _note_contacts(self, sequence: Sequence) -> None:
        """Note how many contacts were found."""
        self.contact_count = sequence.result(detect_contacts)

    def _arguments_known(self, h: float) -> tuple:
        """What the arguments of the kernels follow from: while it is the same, they are the same objects."""
        return self._tables_known(), h, self.may_sleep, self.forgives, self.is_small, self.has_many_pairs

    def _tables_known(self) -> tuple[int, ...]:
        """The same of the objects that are replaced in time."""
        pairs = self.broad_phase.pairs
        replaced = (
            self.contacts, self.geometry, self.rows, self.solve, self.plan, self.trace, pairs,
            self.broad_phase.boxes, self.log.found, self.log.touching, self.guard.fast, self.equilibrium,
        )  # fmt: skip
        return tuple(map(id, replaced))

    def _let_go_of_old_tables(self) -> None:
        """Have sequences that have not run since tables grew let go of those that were there before."""
        now = self._tables_known()
        if now != self._tables:
            self._tables = now
            for sequence in self._sequences:
                if sequence.key and sequence.key[0] != now:
                    sequence.forget()

    def prepare_contacts(self, h: float) -> int:
        """Group the contacts by island, fill their rows, let last impulses act; the number of islands."""
        return self.runner.do(stages.prepare(self, h, self.contact_count))

    def find_impulses(self, h: float, island_count: int, preloaded: bool = False) -> None:
        """Find the impulses at all contacts in the coming step; see `preload` in `impulse_start`."""
        if preloaded:
            preload(self, h)
        for call in stages.find_impulses(self, h, island_count):
            self.runner.do(call)
        self._note_unsettled(self.time)

    def store_impulses(self) -> None:
        """Remember the impulses of the contacts with their pairs."""
        self.runner.do(stages.store(self, self.contact_count))

    def _note_unsettled(self, time: float) -> None:
        """Note what the last solve did not settle, in the step that begins at this time [s]."""
        if self.solve_report[UNSETTLED]:
            self.unresolved.append({"time": time, **unsettled(self.solve_report, self.names)})

    def _stop_at_obstacles(self, found: int, h: float) -> None:
        with self._stage("guard"):
            pairs = self.broad_phase.pairs
            self.guard.stop_at_obstacles(found, self.state, pairs, self.trace, h, self.plan.mean)

    def _tidy_up(self) -> None:
        """Between a step and the look ahead: put pairs in order, and make room where there is little.

        Pairs get other slots where many came or went: what is read together is to lie together.
        """
        with self._stage("broad phase"):
            slots = self.broad_phase.put_in_order()
            if slots is not None:
                self.contacts.look[:], self.rows.slot[:] = -1, -1
                self.log.renumber(slots)
        self._make_room()

    def look_ahead(self, h: float) -> None:
        """Plan the coming step as free motion and find the contacts it may meet."""
        if self.paths.wake(self.drive.woken(self.paths.asleep, self.state, self.time + 0.5 * h), self.state):
            self._respond_anew()
        self._look_ahead(h)
        while self.wake_touched(h):
            self._look_ahead(h)
        if self.released and self.time > 0.0:
            for a, b, depth in forgive_released(self, self.released):
                self.pressed.note_release(a, b, depth, self.time)
        self.released = []

    def _look_ahead(self, h: float) -> None:
        self._follow_paths(h)
        if not self.broad_phase.is_sorted:
            self.plan_motion(h)
            self.broad_phase.update(self.state, self.reach)
        self._make_room()
        self._run(self._looking, partial(stages.of_a_look_ahead, self, h), h)
        self._note_contacts(self._looking)

    def _find_other_pairs(self, sequence: Sequence, kernel: Callable) -> None:
        """Find pairs of triangles, and those that found no room; after `fit_boxes` if no update follows."""
        changed = bool(sequence.result(fit_boxes))
        if kernel is update_pairs or not changed:
            status = sequence.result(update_pairs) if changed else STATUS_OK
            with self._stage("broad phase"):
                self.broad_phase.finish_update(status, changed, self.state, self.reach)

    def _make_room(self) -> None:
        """Make room for more pairs and contact points in time, where there is little."""
        self.broad_phase.grow_in_time()
        self.broad_phase.grow_rooms()
        if is_short(len(self.contacts.slot), self.contact_count):
            self._grow()

    def wake_touched(self, h: float) -> bool:
        """Wake bodies that started asleep and that others touch or will touch in this step; whether any."""
        if not self.paths.any_asleep:
            return False
        self.runner.do(stages.list_who_wakes(self, h, self.contact_count))
        if not self.paths.wake(np.flatnonzero(self.paths.touched), self.state):
            return False
        self._respond_anew()
        return True

    def _respond_anew(self) -> None:
        """Bodies respond to forces that did not: forget what is known of how contacts respond."""
        update_all_derived(self.model, self.state)
        self.rows.slot[:] = -1

    def plan_motion(self, h: float) -> None:
        """Plan the coming step as free motion."""
        self._follow_paths(h)
        self.runner.do(stages.plan(self, h))

    def _follow_paths(self, h: float) -> None:
        """Release animated bodies that are due, and give the others the velocities of the coming step."""
        self.step_length = h
        with self._stage("integrate"):
            due = self.paths.release_due(self.state, self.time)
            if due:
                self.released += due
                self._respond_anew()
            self.paths.set_velocities(self.state, self.time, h, self.plan.change)
            if self.drive:
                last = self.geometry, self.contact_count, self.at_rest
                self.solve.held[self.drive.plan(self.state, self.time, h, *last, self.plan)] = False

    def move_apart(self, h: float) -> bool:
        """Move overlapping bodies apart, find the contacts the coming step may then meet; is there room?"""
        self.drive.note_pull(self.state, self.time)
        self._run(self._repairing, partial(stages.of_a_repair, self, h), h)
        self._note_contacts(self._repairing)
        has_room = bool(self._repairing.result(project_positions))
        if self.wake_touched(h):
            self.look_ahead(h)
        return has_room

    def _raise_lost(self) -> None:
        bad = np.flatnonzero(~np.isfinite(self.state.c + self.state.L).all(axis=1))
        names = ", ".join(f"'{self.names[i]}'" for i in bad[:5])
        raise SolverError(
            f"bodies {names} have no finite motion after {self.time:.6g} s; look for extreme masses, "
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
