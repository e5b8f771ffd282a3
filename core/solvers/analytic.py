"""The event-driven solver of Baraff (1989, 1997): from event to event, with exact contact forces.

`AnalyticSolver` holds the settings, `AnalyticPipeline` the stages: move to the next event; find what touches;
resolve collisions; find the forces of what rests.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..dynamics.body_state import (
    DYNAMIC,
    BodyModel,
    BodyState,
    build_bodies,
    gravity_of,
    ignored_pairs,
    initial_state,
)
from ..dynamics.forces import AppliedForces
from ..dynamics.integrators import IntegratorName
from ..dynamics.kinematic import KinematicPaths
from ..dynamics.motion import update_all_derived
from ..errors import SolverError, is_number, shown
from ..geometry.shape_table import Colliders, MeshTrees, ShapeTable
from ..report import ContactEvent, EventKind, Stage
from ..scene import Scene
from ..settings import RELATIVE_TOLERANCE
from .analytic_contacts import (
    Array,
    ContactPoints,
    apply_impulses,
    build_system,
    find_islands,
    frame_velocity,
    relative_acceleration,
)
from .analytic_events import BAND, LASTING, ContactFinder
from .analytic_guard import Guard
from .analytic_impacts import MAX_PASSES, collision_events, sequential_impulses, simultaneous_impulses
from .analytic_motion import Mover, Touch, copy_state
from .analytic_rest import (
    hold_contacts,
    impulse_without_collision,
    part_overlaps,
    slip_along,
    slip_velocity,
    solve_forces,
    stop_normals,
)
from .analytic_search import NO_GAP, NO_SPEED, EventSearch
from .friction_cone import ACCEPTED

ImpactModel = Literal["sequential", "simultaneous"]
ContactModel = Literal["lcp", "lp"]

# A bounce that would rise by less than this part of the tolerance is resting contact (Mirtich's criterion).
LOWEST_BOUNCE = 1e-3
NOISE = 1e-3  # of the resting speed: velocities below it are the integrator's error
LONGEST_STEP = 0.25  # [s]
# Of the tolerance: how deep a load may stay that was taken up at a gap below zero. Where no collision pays
# for lifting it, it is DEPTH deeper with each corner that meets the ground while another one rests on it.
SUNK = 0.1
# Of the acceleration by contact: a slip that grows by less is none. In the longest step it makes 2.5e-5 m/s
# in g, a twentieth of the resting speed; what systems are solved to is 1e-9.
BEGINS = 1e-5
STILL = 1e-9  # of gravity: accelerations below it are round-off
SLOWEST = 1e-12  # of the speeds of the bodies: velocities below it are round-off
ROUNDS = 100  # of collisions at one time


@dataclass(frozen=True, kw_only=True)
class AnalyticSolver:
    """Settings of the event-driven solver.

    Attributes:
        tolerance: Largest penetration it leaves [m]. Small bodies get a smaller one.
        rtol: Relative error of one integrated step; flight under gravity needs none.
        impact: "sequential" resolves colliding contacts one by one, "simultaneous" all at once; they differ
            where several bodies touch.
        contact: Resting forces without friction by "lcp" (pivoting) or "lp" (the heuristic of 1989).
        integrator: For bodies under forces: "dop853", "adaptive", "rk4", "midpoint", "euler", or
            "backward_euler", which stiff springs do not make explode.
        contact_radius: Radius [m] of the patches at which bodies touch. Its friction brakes a spin about the
            normal, and a spin softens its friction against slip (Leine & Glocker 2003). 0 is a point.
    """

    tolerance: float = 1e-5
    rtol: float = 1e-8
    impact: ImpactModel = "sequential"
    contact: ContactModel = "lcp"
    integrator: IntegratorName = "dop853"
    contact_radius: float = 0.0

    def __post_init__(self) -> None:
        for name in ("tolerance", "rtol"):
            value = getattr(self, name)
            if not (is_number(value) and value > 0.0):
                raise SolverError(f"AnalyticSolver: {name} must be a positive number, not {shown(value)}")
        radius = self.contact_radius
        if not (is_number(radius) and radius >= 0.0):
            raise SolverError(
                f"AnalyticSolver: contact_radius must be zero or a positive number, not {shown(radius)}"
            )
        choices = {"impact": ImpactModel, "contact": ContactModel, "integrator": IntegratorName}
        for name, options in choices.items():
            value = getattr(self, name)
            if not (isinstance(value, str) and value in get_args(options)):
                wanted = ", ".join(map(repr, get_args(options)))
                raise SolverError(f"AnalyticSolver: {name} must be one of {wanted}, not {shown(value)}")


def build_pipeline(scene: Scene, settings: AnalyticSolver) -> tuple["AnalyticPipeline", np.ndarray]:
    """The pipeline of a scene and `order`: the scene's index of each body."""
    model, shapes, colliders, trees, order = build_bodies(scene)
    state = initial_state(scene, order, model)
    return AnalyticPipeline(scene, settings, model, shapes, colliders, trees, state, order), order


class AnalyticPipeline:
    """One step as a list of stages, from event to event. Moves the `state` it has."""

    def __init__(
        self, scene: Scene, settings: AnalyticSolver, model: BodyModel, shapes: ShapeTable,
        colliders: Colliders, trees: MeshTrees, state: BodyState, order: np.ndarray,
    ) -> None:  # fmt: skip
        """Bodies in the order of the model: `order` gives their index in the scene."""
        bodies = [scene.bodies[i] for i in order]
        self.settings, self.model, self.state = settings, model, state
        self.names = [body.name for body in bodies]
        self.gravity = np.array(scene.gravity, float)
        self.paths = KinematicPaths(bodies, model, gravity_of(scene, bodies))
        self.paths.set_poses(state, 0.0)
        update_all_derived(model, state)
        mobile = np.array([body.is_movable for body in bodies])
        self.tolerance = min([settings.tolerance, *(RELATIVE_TOLERANCE * model.bound[mobile])])
        self.finder = ContactFinder(
            model, shapes, colliders, trees, state, mobile, ignored_pairs(scene, bodies),
            np.array([body.sensor for body in bodies]), scene.combine == "multiply",
        )  # fmt: skip
        self.forces = AppliedForces(list(scene.forces), self.names, model)
        self.mover = Mover(
            model, self.gravity, self.finder, self.forces, integrator=settings.integrator,
            rtol=settings.rtol, tolerance=self.tolerance, method=settings.contact,
            contact_radius=settings.contact_radius,
        )  # fmt: skip
        self.search = EventSearch(self.finder, self.mover, self.tolerance)
        motions = [body.motion.times.tolist() for body in bodies if body.motion is not None]
        releases = [body.release_time for body in bodies if body.release_time is not None]
        self.breaks = np.unique([t for times in motions for t in times] + releases)
        self.time = 0.0
        self.events: list[ContactEvent] = []
        self.stage_seconds: dict[str, float] = {}
        self.max_penetration = 0.0
        self.unresolved: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self.guard = Guard(self.names)
        self._clear_touch()

    def _clear_touch(self) -> None:
        n = len(self.model.mass)
        self.contacts = self.finder.points(self.state, -np.inf)
        self.force, self.impulse = np.zeros((2, 0, 3))
        self.level = np.zeros(0)
        self.slips, self.lasting = np.zeros((2, 0), bool)
        self.acceleration, self.spin_up, self.free = np.zeros((3, n, 3))
        self.driven, self.held = np.zeros(n, bool), np.zeros(n, bool)

    def _stage(self, name: str) -> Stage:
        return Stage(name, self.stage_seconds)

    # The step --------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Advance the state by a time [s], over all events in it."""
        end = self.time + seconds
        while self.time < end:
            self.step(end)

    def step(self, end: float) -> None:
        """Go to the next event, to the end of what one step may look ahead, or to the time `end`."""
        state, h = self.find_next_state(self._longest_step(end))
        self.go_to(state, h, end)
        self.find_contacts()
        self.resolve_collisions()
        self.find_forces()
        self.hold_contacts()
        self.guard.check(self.state, self.time, self.mover.count.systems, self.events)

    def start(self) -> list[tuple[int, int, float]]:
        """Look at the start; parts what overlaps and returns (a, b, depth [m]) of each such pair."""
        parted = part_overlaps(self.finder, self.model, self.state, self.tolerance, self.names)
        self.find_contacts()
        self.resolve_collisions()
        self.find_forces()
        return parted

    def find_next_state(self, longest: float) -> tuple[BodyState, float]:
        """The state at the next event and the time to it [s], at most `longest`."""
        with self._stage("motion"):
            return self.search.next_state(
                self.state,
                self.time,
                self.acceleration,
                self.spin_up,
                self.driven,
                self.held,
                self._touch(),
                longest,
            )

    def go_to(self, state: BodyState, h: float, end: float) -> None:
        """Take over the state after the time h."""
        self.guard.note_step(moved=self.time + h > self.time)
        self.state = state
        self.time = end if self.time + h >= end - 2.0 * np.spacing(end) else self.time + h
        self.paths.set_poses(self.state, self.time)
        self.paths.release_due(self.state, self.time)
        update_all_derived(self.model, self.state)

    def find_contacts(self) -> None:
        """Find what touches now; pairs that were under load stay in touch a little longer."""
        with self._stage("narrow phase"):
            if self.paths.wake(self.forces.woken(self.paths.asleep, self.state, self.time), self.state):
                update_all_derived(self.model, self.state)
            self.paths.set_velocities(self.state, self.time, self._until_break(1e-3))
            self.finder.update_pairs(self.state, np.full(len(self.names), self.tolerance))
            is_loaded = self.force[:, 0] > 0.0
            loaded = self.contacts.slot[is_loaded]
            found = self.finder.points(self.state, LASTING * self.tolerance)
            self.finder.remember()
            band = BAND * self.tolerance
            touches = (found.separation <= band) | np.isin(found.slot, loaded)
            last = dict(zip(self.contacts.identities(), self.force, strict=True))
            level = dict(
                zip(self.contacts.select(is_loaded).identities(), self.level[is_loaded], strict=True)
            )
            self.contacts = found.select(touches)
            motion = np.hstack([self.state.v, self.state.w])
            while self.paths.wake_touched(self.contacts.body, self.state, motion):
                update_all_derived(self.model, self.state)  # what it woke may touch others
            zero, keys = np.zeros(3), self.contacts.identities()
            self.force = np.array([last.get(key, zero) for key in keys]).reshape(-1, 3)
            # A load keeps the gap it was taken up at: to close it would lift what it carries, from nothing.
            gaps = np.clip(self.contacts.separation, -SUNK * self.tolerance, band).tolist()
            self.level = np.array([level.get(key, gap) for key, gap in zip(keys, gaps, strict=True)])
            self.impulse = np.zeros_like(self.force)
            self.max_penetration = max(self.max_penetration, -self.contacts.separation.min(initial=0.0))

    def resolve_collisions(self) -> None:
        """Give colliding contacts their impulses, and stop what approaches too slowly to collide."""
        with self._stage("collisions"):
            if len(self.contacts.slot) == 0:
                return
            speed = self._resting_speed()
            for _ in range(ROUNDS):
                u = frame_velocity(self.contacts, self.state)
                if not (u[:, 0] < -speed).any():
                    break
                self._collide(u, speed, self.settings.impact)
            u = frame_velocity(self.contacts, self.state)
            if (u[:, 0] < -NO_SPEED * speed).any():  # slower than a collision: rest
                self._collide(u, 0.0, "rest")

    def _collide(self, u: Array, speed: float, impact: str) -> None:
        """Impulses of every island in which something approaches faster than `speed`."""
        for rows in find_islands(self.contacts, self.model):
            if not (u[rows, 0] < -speed).any():
                continue
            contacts = self.contacts.select(rows)
            A = build_system(contacts, self.model, self.state)
            velocity, impulse, passes = u[rows].copy(), np.zeros((len(rows), 3)), 0
            self.guard.refuse_locked(contacts.body, velocity[:, 0] < -speed, A, self.time)
            if impact == "sequential":
                impulse, passes = sequential_impulses(contacts, A, velocity, speed)
            if impact != "sequential" or passes == MAX_PASSES:
                bounces = (velocity[:, 0] < -speed) & (impact == "simultaneous")
                more, residual = simultaneous_impulses(
                    contacts, A, velocity, np.where(bounces, contacts.restitution, 0.0)
                )
                self.mover.count.note(residual)
                impulse = impulse + more
                left = velocity[:, 0] + (A @ more.ravel())[::3]
                if residual > ACCEPTED and (left < -self._resting_speed()).any():
                    self.guard.refuse_squeeze(contacts.body, self.time)
            apply_impulses(contacts, impulse, self.model, self.state)
            update_all_derived(self.model, self.state)
            self.impulse[rows] += impulse
            p = impulse.ravel()
            self._pay_for_lifting(rows, -float(p @ (u[rows].ravel() + 0.5 * (A @ p))))
            if impact != "rest":
                self._note_collisions("collision", contacts, u[rows], impulse)

    def _pay_for_lifting(self, rows: NDArray[np.int64], lost: float) -> None:
        """Let contacts of an island be lifted to no gap if the energy lost in a collision [J] is worth it.

        No body moves farther than twice the deepest gap.
        """
        body = np.unique(self.contacts.body[rows])
        weight = (self.model.mass * np.linalg.norm(self.free, axis=1))[body[self.model.kind[body] == DYNAMIC]]
        if lost > 2.0 * float(weight.sum()) * -self.level[rows].min():
            self.level[rows] = np.maximum(self.level[rows], 0.0)

    def find_forces(self) -> None:
        """Find the forces of resting contact, who is driven by them, and who is at rest."""
        with self._stage("forces"):
            u = frame_velocity(self.contacts, self.state)
            self.lasting = u[:, 0] <= NOISE * self._resting_speed()
            b, unsolved = self._solve_forces(self.force)
            if unsolved:  # first without the slow slips that cannot all stay as they are
                self.hold_contacts()
                b, unsolved = self._solve_forces(self.force)
            if unsolved:
                self._end_slip(b, unsolved)
                _, unsolved = self._solve_forces(np.zeros_like(self.force))
                resting = self.contacts.select(self.lasting)
                for rows in unsolved:
                    self._note_unsolved(resting.body[rows])
            if self._capture():
                self._solve_forces(self.force)
            self._find_driven()

    def _solve_forces(self, guess: Array) -> tuple[Array, list[NDArray[np.int64]]]:
        """Forces of the contacts that last, and the accelerations with them.

        Returns:
            b of these contacts, shape (k, 3), and the islands among them that have no forces.
        """
        state, lasting = self.state, self.lasting
        resting = self.contacts.select(lasting)
        u = frame_velocity(self.contacts, state)
        slip = slip_velocity(self.contacts, state, u, self.mover.drill_arm)
        self.slips = np.linalg.norm(slip, axis=1) > self._resting_speed()
        self.free, alpha, _ = self.mover.free_acceleration(state, self.time)
        b = relative_acceleration(resting, state, self.free, alpha)
        force, drill, unsolved = solve_forces(
            resting, self.model, state, b, slip_along(resting, slip[lasting], self.slips[lasting]),
            guess[lasting], method=self.settings.contact, count=self.mover.count,
            arm=self.mover.drill_arm,
        )  # fmt: skip
        self.force = np.zeros((len(lasting), 3))
        self.force[lasting] = force
        self.acceleration, self.spin_up = self.mover.with_contact(
            resting, force, drill, state, self.free, alpha
        )
        return b, unsolved

    def _capture(self) -> bool:
        """Stop contacts that part so slowly that they come back from less than the lowest bounce.

        A block that comes to rest rocks from corner to corner, each of which lifts the other, ever faster.
        """
        u = frame_velocity(self.contacts, self.state)[:, 0]
        curve = relative_acceleration(self.contacts, self.state, self.acceleration, self.spin_up)[:, 0]
        height = 2.0 * LOWEST_BOUNCE * self.tolerance
        back = ~self.lasting & (curve < 0.0) & (u * u <= -height * curve)
        if not back.any():
            return False
        self.lasting |= back
        stop_normals(self.contacts.select(self.lasting), self.model, self.state, back[self.lasting])
        update_all_derived(self.model, self.state)
        return True

    def _end_slip(self, b: Array, unsolved: list[NDArray[np.int64]]) -> None:
        """Impulses for islands that no force satisfies: see `analytic_rest`."""
        resting = self.contacts.select(self.lasting)
        for rows in unsolved:
            island = resting.select(rows)
            u = frame_velocity(island, self.state)
            impulse, _ = impulse_without_collision(island, self.model, self.state, b[rows])
            apply_impulses(island, impulse, self.model, self.state)
            update_all_derived(self.model, self.state)
            self._note_collisions("impact without collision", island, u, impulse)

    def _note_unsolved(self, body: NDArray[np.int64]) -> None:
        """Warn of an island that has no forces, by its bodies, shape (k, 2)."""
        pair = self.names[body[0, 0]], self.names[body[0, 1]]
        self.unresolved.append({"time": self.time, "islands": 1, "residual": 1.0, "pair": pair})
        self.warnings.append(
            f"no contact forces were found at {self.time:.6g} s between {self.guard.listed(body)}; lower "
            "their friction or use solver='impulse'"
        )

    def _find_driven(self) -> None:
        """Bodies under forces are integrated; islands in which nothing moves or will move are held."""
        model, state, a, alpha = self.model, self.state, self.acceleration, self.spin_up
        resting = self.contacts.select(self.lasting)
        dynamic, in_touch = model.kind == DYNAMIC, np.zeros(len(model.kind), bool)
        in_touch[resting.body.ravel()] = True
        self.driven = dynamic & (in_touch | self.forces.acts_on)
        bound = np.where(np.isfinite(model.bound), model.bound, 0.0)
        speed = self._surface_speed()
        change = np.linalg.norm(a, axis=1) + bound * np.linalg.norm(alpha, axis=1)
        strongest = max(float(np.linalg.norm(self.gravity)), float(np.abs(self.free).max(initial=0.0)))
        still = (speed <= NOISE * self._resting_speed()) & (change <= STILL * strongest)
        still &= ~self.forces.may_change(~still)
        self.held = self.driven & in_touch & still
        for rows in find_islands(resting, model):
            bodies = np.unique(resting.body[rows])
            if not (self.held | (speed == 0.0) & ~dynamic)[bodies].all():
                self.held[bodies] = False
        self.driven &= ~self.held
        state.v[self.held], state.L[self.held], state.w[self.held] = 0.0, 0.0, 0.0

    def hold_contacts(self) -> None:
        """Take back the drift of contacts that carry a load."""
        with self._stage("drift"):
            loaded = self.lasting & (self.force[:, 0] > 0.0) & ~self.held[self.contacts.body].any(axis=1)
            if not loaded.any():
                return
            w = relative_acceleration(self.contacts, self.state, self.acceleration, self.spin_up)
            strongest = float(np.linalg.norm(self.acceleration - self.free, axis=1).max())
            sticks = ~self.slips & (np.hypot(w[:, 1], w[:, 2]) <= BEGINS * strongest)
            drift = self.contacts._replace(separation=self.contacts.separation - self.level)
            hold_contacts(
                drift.select(loaded), self.model, self.state, sticks[loaded],
                NO_GAP * self.tolerance, NO_SPEED * self._resting_speed(),
            )  # fmt: skip
            update_all_derived(self.model, self.state)

    # Looking ahead ---------------------------------------------------------------------------

    def _touch(self) -> Touch:
        rows = self.lasting & self.driven[self.contacts.body].any(axis=1)
        contacts = self.contacts.select(rows)
        u = frame_velocity(contacts, self.state)
        slip = slip_velocity(contacts, self.state, u, self.mover.drill_arm)
        along = np.einsum("mrk,mr->mk", contacts.frame, slip_along(contacts, slip, self.slips[rows]))
        return Touch(contacts, self.force[rows], self.slips[rows], along, self._resting_speed())

    def _longest_step(self, end: float) -> float:
        longest = min(end - self.time, LONGEST_STEP, self._until_break(np.inf))
        change = self.forces.next_change(self.time)
        return min(longest, change - self.time)

    def _until_break(self, longest: float) -> float:
        """Time until an animated body changes its motion [s]."""
        k = int(np.searchsorted(self.breaks, self.time + 1e-12))
        return min(longest, float(self.breaks[k]) - self.time) if k < len(self.breaks) else longest

    def _resting_speed(self) -> float:
        """Approach slower than this rests [m/s]: v^2 / (2 g) is the height of the bounce.

        Source: Mirtich 1996, section 3.3.4, as in Bender & Schmitt 2006, section 3.
        """
        strongest = max(
            float(np.linalg.norm(self.gravity)), float(np.abs(self.acceleration).max(initial=0.0))
        )
        return math.sqrt(2.0 * strongest * LOWEST_BOUNCE * self.tolerance) + SLOWEST * float(
            self._surface_speed().max(initial=0.0)
        )

    def _surface_speed(self) -> Array:
        """How fast the points of each body may be [m/s], shape (n,)."""
        state, bound = self.state, np.where(np.isfinite(self.model.bound), self.model.bound, 0.0)
        return np.linalg.norm(state.v, axis=1) + bound * np.linalg.norm(state.w, axis=1)

    # Reports ---------------------------------------------------------------------------------

    def _note_collisions(self, kind: EventKind, contacts: ContactPoints, u: Array, impulse: Array) -> None:
        """Note who collided with whom; u: velocities before, in the contacts' frames [m/s], shape (k, 3)."""
        self.events += collision_events(kind, self.time, self.names, contacts, u, impulse, self.state.c)
        self.guard.note_collision(self.time)

    # Saving and resuming ---------------------------------------------------------------------

    _KEPT = ("time", "contacts", "force", "impulse", "level", "slips", "lasting", "acceleration", "spin_up",
             "driven", "held", "events", "unresolved", "warnings", "max_penetration")  # fmt: skip

    def memory(self) -> dict[str, Any]:
        """All that the coming steps depend on (not copies)."""
        return {
            "state": self.state,
            "kind": self.model.kind,
            "inv_mass": self.model.inv_mass,
            "inv_inertia": self.model.inv_inertia,
            "released": self.paths.released,
            "pairs": self.finder.broad_phase.pairs,
            "boxes": self.finder.broad_phase.boxes,
            "busy": self.guard.busy,
            "stalled": self.guard.stalled,
            **{name: getattr(self, name) for name in self._KEPT},
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Take over what `memory` returned earlier; the arrays become the pipeline's."""
        self.state = copy_state(memory["state"])
        self.model.kind[:] = memory["kind"]
        self.model.inv_mass[:] = memory["inv_mass"]
        self.model.inv_inertia[:] = memory["inv_inertia"]
        self.paths.recall(memory["released"])
        self.finder.broad_phase.pairs, self.finder.broad_phase.boxes = memory["pairs"], memory["boxes"]
        self.finder.remember()
        for name in self._KEPT:
            setattr(self, name, memory[name])
        self.guard.resume(memory["busy"], memory["stalled"], self.time, self.mover.count.systems)
