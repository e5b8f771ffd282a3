"""Stepping and recording: a scene goes in, a trajectory comes out."""

import copy
import math
import os
import time as clock
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .compilation import compile_kernels, compile_parts
from .diagnostics import spring_energy
from .dynamics.body_state import BodyState, origin_pose
from .errors import SceneError, SolverError, is_number, shown
from .files import write_whole
from .forces import Spring, UniformField
from .report import ContactEvent, Report
from .scene import Scene
from .snapshots import pack, unpack
from .solvers import analytic, impulse
from .solvers.analytic import AnalyticPipeline, AnalyticSolver
from .solvers.choice import Solver, SolverChoice, resolve_solver
from .solvers.impulse import ImpulsePipeline
from .solvers.impulse_start import forgive_overlaps
from .trajectory import Trajectory

Progress = Callable[[str, int, int], None]
# What lasts no longer than a step is given back so often [s]: to take it again takes half of a small step,
# and 5 ms in one of 30 000 contacts.
REST_EVERY = 1.0


class BodyMotion(NamedTuple):
    """Motion of all bodies in the order of the scene, world axes."""

    position: np.ndarray  # [m] (bodies, 3) origins of the bodies
    orientation: np.ndarray  # (bodies, 4) w, x, y, z
    linear_velocity: np.ndarray  # [m/s] (bodies, 3) of the centres of mass
    angular_velocity: np.ndarray  # [rad/s] (bodies, 3)


class Contacts(NamedTuple):
    """Contact points of this moment; normals point from b to a."""

    body_a: np.ndarray  # (c,) index in the scene
    body_b: np.ndarray  # (c,)
    point: np.ndarray  # [m] (c, 3) halfway between the surfaces
    normal: np.ndarray  # (c, 3)
    separation: np.ndarray  # [m] (c,) negative when penetrating
    impulse: np.ndarray  # [N s] (c, 3) impulse on a in the last step or part of one, or in a collision now
    force: np.ndarray  # [N] (c, 3) force on a of resting contact, by the analytic solver; else zero


def _refuse_empty(scene: Scene) -> None:
    if not isinstance(scene, Scene):
        raise SceneError(f"{shown(scene)} is no scene; give a topple.Scene")
    if not scene.bodies:
        raise SceneError("the scene has no bodies; add at least one")


def _compile(scene: Scene, solver: SolverChoice) -> None:
    compile_kernels(solver)
    if any(not isinstance(force, UniformField) for force in scene.forces):
        compile_parts("forces")
    if any(body.kind == "kinematic" or body.asleep for body in scene.bodies):
        compile_parts("paths")


def _build_pipeline(scene: Scene, solver: Solver) -> tuple[ImpulsePipeline | AnalyticPipeline, np.ndarray]:
    if isinstance(solver, AnalyticSolver):
        return analytic.build_pipeline(scene, solver)
    return impulse.build_pipeline(scene, solver)


class Simulation:
    """A scene in motion.

    Args:
        scene: What to simulate; it is read once and not changed.
        solver: "impulse", "analytic", or a solver object.

    Raises:
        SceneError: the scene has no bodies.
        SolverError: the solver cannot take this scene.
    """

    def __init__(self, scene: Scene, solver: SolverChoice = "impulse") -> None:
        _refuse_empty(scene)
        self.scene = scene
        self.solver = resolve_solver(solver)
        _compile(scene, self.solver)
        self._pipeline, self._order = _build_pipeline(scene, self.solver)
        self._model = self._pipeline.model
        self._rank = np.argsort(self._order)
        self._movable = np.array([scene.bodies[i].is_movable for i in self._order])
        self._warnings: list[str] = []
        self._rested = clock.perf_counter()
        self._report_overlaps()

    def _report_overlaps(self) -> None:
        p = self._pipeline
        if isinstance(p, AnalyticPipeline):
            overlaps, remedy = p.start(), "they were moved apart at once"
        else:
            overlaps, remedy = forgive_overlaps(p, p.settings.time_step), "they are pushed apart slowly"
        kinds = [self.scene.bodies[i].kind for i in self._order]
        for a, b, depth in overlaps:
            if "dynamic" not in (kinds[a], kinds[b]):
                continue  # nothing pushes what is animated; its release is looked at then
            self._warnings.append(
                f"bodies '{p.names[a]}' and '{p.names[b]}' overlap by {depth:.3g} m at the start (t = 0 s); "
                f"{remedy}: move them apart to avoid it"
            )

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self._pipeline.time

    @property
    def state(self) -> BodyMotion:
        """Copies of the bodies' motion, in the order of the scene."""
        s: BodyState = self._pipeline.state
        position, orientation = origin_pose(self._model, s.c, s.q)
        rank = self._rank
        return BodyMotion(*(np.take(rows, rank, axis=0) for rows in (position, orientation, s.v, s.w)))

    @property
    def contacts(self) -> Contacts:
        """Copies of the contact points of this moment that touch or nearly touch."""
        p = self._pipeline
        if isinstance(p, AnalyticPipeline):
            return self._analytic_contacts(p)
        near = np.flatnonzero(p.contacts.separation[: p.contact_count] <= p.tolerance)
        body, arm, normal, separation, slot, place = (
            np.take(values, near, axis=0)  # a quarter of the time of values[near]
            for values in (
                p.contacts.body, p.contacts.arm, p.contacts.normal, p.contacts.separation,
                p.contacts.slot, p.contacts.place,
            )
        )  # fmt: skip
        pairs = p.broad_phase.pairs
        point = arm + np.take(p.state.c, body, axis=0)
        return Contacts(
            body_a=self._order[body[:, 0]],
            body_b=self._order[body[:, 1]],
            point=0.5 * (point[:, 0] + point[:, 1]),
            normal=normal,
            separation=separation,
            impulse=pairs.impulse[pairs.room[slot], place],
            force=np.zeros((len(near), 3)),
        )

    def _analytic_contacts(self, p: AnalyticPipeline) -> Contacts:
        c = p.contacts
        return Contacts(
            body_a=self._order[c.body[:, 0]],
            body_b=self._order[c.body[:, 1]],
            point=0.5 * (c.arm + p.state.c[c.body]).sum(axis=1),
            normal=c.normal.copy(),
            separation=c.separation.copy(),
            impulse=np.einsum("mrk,mr->mk", c.frame, p.impulse),
            force=np.einsum("mrk,mr->mk", c.frame, p.force),
        )

    def energy(self) -> float:
        """Kinetic and potential energy of the bodies that move by forces, and of springs [J]."""
        m, s = self._model, self._pipeline.state
        w_P = np.einsum("nji,nj->ni", s.R.reshape(-1, 3, 3), s.w)  # in the axes of the principal moments
        kinetic = m.mass * np.einsum("ni,ni->n", s.v, s.v) + np.einsum("ni,ni,ni->n", m.inertia, w_P, w_P)
        potential = m.mass * np.einsum("ni,ni->n", s.c, self._pipeline.paths.gravity)
        energy = (0.5 * kinetic - potential)[self._movable].sum()
        if any(isinstance(force, Spring) for force in self.scene.forces):
            energy += spring_energy(self.scene, self.state)
        return float(energy)

    def advance(self, seconds: float) -> None:
        """Advance by a time [s]: in equal steps no longer than the solver's, or from event to event.

        Raises:
            SolverError: the time is negative or not a number, or the solver cannot go on.
        """
        if not (is_number(seconds) and seconds >= 0.0):
            raise SolverError(f"cannot advance by {shown(seconds)} s: give a time that is not negative")
        p = self._pipeline
        if isinstance(p, AnalyticPipeline):
            p.advance(seconds)
            return
        steps = math.ceil(seconds / p.settings.time_step - 1e-9)
        left = steps
        while left > 0:
            left -= p.step(seconds / steps, left)
        if clock.perf_counter() - self._rested > REST_EVERY:
            p.rest()
            self._rested = clock.perf_counter()

    def run(self, frames: int, fps: float) -> Iterator[BodyMotion]:
        """Yield the state after each of so many frames.

        Raises:
            SolverError: An argument is not usable, or the solver cannot go on.
        """
        for _ in range(_frame_count(frames, None, fps)):
            self.advance(1.0 / fps)
            yield self.state

    @property
    def report(self) -> Report:
        """What happened so far."""
        p = self._pipeline
        return Report(
            max_penetration=p.max_penetration,
            warnings=[*self._warnings, *p.warnings],
            unresolved=list(p.unresolved),
            solves=asdict(p.mover.count) if isinstance(p, AnalyticPipeline) else {},
            witness_survival=1.0 if isinstance(p, AnalyticPipeline) else p.witness_survival,
            stage_seconds=dict(p.stage_seconds),
        )

    @property
    def events(self) -> tuple[ContactEvent, ...]:
        """Who began or ceased to touch, or collided, so far."""
        p = self._pipeline
        return tuple(p.events if isinstance(p, AnalyticPipeline) else p.log.events)

    def snapshot(self) -> dict[str, Any]:
        """Everything the future depends on; `restore` brings it back to the bit."""
        return copy.deepcopy(self._pipeline.memory())

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to a snapshot of this simulation."""
        self._pipeline.recall(copy.deepcopy(snapshot))

    def save_snapshot(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot to a file, which appears whole or not at all."""
        write_whole(path, pack(self._pipeline.memory()))

    def load_snapshot(self, path: str | os.PathLike[str]) -> None:
        """Go back to a snapshot that a simulation of the same scene wrote, to the bit.

        Raises:
            OSError: The file cannot be read.
            SceneError: It is no whole snapshot by this very version of Topple.
        """
        self._pipeline.recall(unpack(Path(path).read_bytes(), self._pipeline.memory()))


def simulate(
    scene: Scene,
    *,
    frames: int | None = None,
    seconds: float | None = None,
    fps: float = 24,
    solver: SolverChoice = "impulse",
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Trajectory:
    """Simulate a scene and record every frame.

    Args:
        frames: Number of frames after the start; or give `seconds`, rounded to whole frames.
        seconds: Time to simulate [s].
        fps: Frames per second.
        solver: "impulse", "analytic", or a solver object.
        progress: Called as progress(stage, done, total) after each frame.
        cancelled: Asked after each frame; true ends early with the frames so far.

    Returns:
        The trajectory; index 0 is the start.

    Raises:
        SceneError, SolverError: the scene or an argument is not usable; the message says what to change.
            Where a solver cannot go on, the error's `trajectory` has the frames so far.
    """
    _refuse_empty(scene)
    count = _frame_count(frames, seconds, fps)
    if progress:
        progress("compile", 0, count)
    _compile(scene, solver)
    if progress:
        progress("prepare", 0, count)
    simulation = Simulation(scene, solver)
    recorded = [simulation.state]
    motions = simulation.run(count, fps)
    for frame in range(1, count + 1):
        try:
            motion = next(motions)
        except SolverError as error:
            error.trajectory = _trajectory(simulation, recorded, fps)
            raise
        begin = clock.perf_counter()
        recorded.append(motion)
        if progress:
            progress("simulate", frame, count)
        stages = simulation._pipeline.stage_seconds
        stages["record"] = stages.get("record", 0.0) + clock.perf_counter() - begin
        if cancelled is not None and cancelled():
            break
    return _trajectory(simulation, recorded, fps)


def _frame_count(frames: int | None, seconds: float | None, fps: float) -> int:
    """How many frames are asked for."""
    if (frames is None) == (seconds is None):
        raise SolverError("give either frames or seconds")
    if not (is_number(fps) and fps > 0.0):
        raise SolverError(f"fps must be a positive number, not {shown(fps)}")
    if frames is not None:
        if not (is_number(frames) and frames >= 0 and int(frames) == frames):
            raise SolverError(f"frames must be a whole number that is not negative, not {shown(frames)}")
        return int(frames)
    time = 0.0 if seconds is None else seconds
    if not (is_number(time) and time >= 0.0):
        raise SolverError(f"seconds must be a number that is not negative, not {shown(time)}")
    return round(time * fps)


def _trajectory(simulation: Simulation, recorded: list[BodyMotion], fps: float) -> Trajectory:
    return Trajectory(
        times=np.arange(len(recorded)) / fps,
        position=np.stack([m.position for m in recorded]),
        orientation=np.stack([m.orientation for m in recorded]),
        linear_velocity=np.stack([m.linear_velocity for m in recorded]),
        angular_velocity=np.stack([m.angular_velocity for m in recorded]),
        names=tuple(body.name for body in simulation.scene.bodies),
        report=simulation.report,
        events=simulation.events,
    )
