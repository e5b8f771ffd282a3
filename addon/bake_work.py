"""The work of a bake, as a sequence of events: what is drawn, shown and kept follows from these.

The same generator runs in a thread behind Blender's window and in a plain loop without one, so both give the
same bits. Pure: no bpy.
"""

from __future__ import annotations  # naming core's types must not load the solver

import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from .. import core
from . import fingerprint, messages
from .bake_frames import BakedFrame, capture
from .cache_store import BakeHeader, CacheStore

Stage = Literal["compile", "prepare", "simulate"]


@dataclass(frozen=True, kw_only=True)
class BakeRequest:
    """What is to be baked.

    Attributes:
        build: Makes the scene and remarks about it; takes its time, needs no Blender.
        solver: Makes a solver object of the core; takes its time, needs no Blender.
        first_frame: Frame number of the start.
        frames: Frames after the start.
        fps: Frames per second.
        metres: Metres per Blender unit.
        objects: What keyframes depend on besides the bodies' paths.
        watched: What the artist can change, as `fingerprint` describes it.
        store: Where to keep the bake; None keeps it in memory alone.
        resume_at: Go on from the last checkpoint up to this frame; None begins at the start.
        until_rest: Seconds that all bodies must have been at rest for the bake to end early; None never does.
    """

    build: Callable[[], tuple[core.Scene, tuple[str, ...]]]
    solver: Callable[[], core.ImpulseSolver | core.AnalyticSolver]
    first_frame: int
    frames: int
    fps: float
    metres: float = 1.0
    objects: dict[str, np.ndarray] = field(default_factory=dict)
    watched: dict[str, str] = field(default_factory=dict)
    store: CacheStore | None = None
    resume_at: int | None = None
    until_rest: float | None = None


class StageBegan(NamedTuple):
    """The work has come to another stage."""

    stage: Stage


class SceneBuilt(NamedTuple):
    """What is solved is known; frames up to `kept` are those of an earlier bake (-1: none)."""

    header: BakeHeader
    scene: core.Scene
    kept: int


class FrameBaked(NamedTuple):
    """One more frame."""

    frame: BakedFrame


class Noted(NamedTuple):
    """Something the artist should know, while the work goes on."""

    message: str


class Ended(NamedTuple):
    """The last event: how it ended, the error in words, and what the solver found."""

    outcome: Literal["finished", "cancelled", "failed"]
    message: str = ""
    report: dict[str, Any] | None = None


Event = StageBegan | SceneBuilt | FrameBaked | Noted | Ended


def bake(request: BakeRequest, cancelled: Callable[[], bool]) -> Iterator[Event]:
    """Do the work; errors of the input end it with an `Ended` that says what to change."""
    try:
        yield from _bake(request, cancelled)
    except core.ToppleError as error:
        yield Ended("failed", str(error))


def _bake(request: BakeRequest, cancelled: Callable[[], bool]) -> Iterator[Event]:
    yield StageBegan("compile")
    solver = request.solver()
    core.compile_kernels(solver)
    yield StageBegan("prepare")
    scene, notes = request.build()
    simulation = core.Simulation(scene, solver)
    header = BakeHeader(
        names=tuple(body.name for body in scene.bodies),
        dynamic=tuple(body.name for body in scene.bodies if body.is_movable),
        first_frame=request.first_frame,
        frames=request.frames,
        fps=request.fps,
        metres=request.metres,
        inputs=fingerprint.of_scene(scene, solver, request.fps),
        watched=request.watched,
    )
    keeper = _Keeper(request.store)
    start, why = _go_on(request, header, simulation)
    if why:
        yield Noted(why)
    yield SceneBuilt(header, scene, start if start is not None else -1)
    earlier = keeper.open(header, scene, request.objects, start)
    yield from keeper.notes()
    yield StageBegan("simulate")

    worst, seconds, still = earlier.deepest if earlier else 0.0, earlier.seconds if earlier else 0.0, 0
    if start is None:
        start, frame = 0, capture(simulation, request.fps, 0.0, 0.0)
        keeper.keep(0, frame, simulation)
        yield FrameBaked(frame)
    outcome: Literal["finished", "cancelled"] = "finished"
    index, movable = start, _movable(scene)
    for index in range(start + 1, request.frames + 1):
        if cancelled():
            index, outcome = index - 1, "cancelled"
            break
        begin = clock.perf_counter()
        simulation.advance(1.0 / request.fps)
        frame = capture(simulation, request.fps, worst, seconds + clock.perf_counter() - begin)
        worst, seconds = frame.deepest, frame.seconds
        keeper.keep(index, frame, simulation)
        yield from keeper.notes()
        yield FrameBaked(frame)
        if request.until_rest is not None:
            still = 0 if frame.moving[movable].any() else still + 1
            if still >= request.until_rest * request.fps:
                break
    report = _report(simulation, notes, worst)
    keeper.close(index, report, simulation)
    yield from keeper.notes()
    yield Ended(outcome, "", report)


def _movable(scene: core.Scene) -> np.ndarray:
    return np.array([body.is_movable for body in scene.bodies])


def _go_on(request: BakeRequest, header: BakeHeader, simulation: core.Simulation) -> tuple[int | None, str]:
    """The frame to go on from, the simulation brought there, and why it is not the one that was asked for."""
    store = request.store
    if request.resume_at is None or store is None:
        return None, ""
    try:
        earlier = store.read_header().inputs
    except core.SceneError as error:
        return None, str(error)
    for frame in (*reversed(store.checkpoints()), 0):
        if frame <= min(request.resume_at, request.frames) and fingerprint.same_until(
            earlier, header.inputs, frame
        ):
            try:
                if frame > 0:
                    simulation.load_snapshot(store.checkpoint(frame))
            except (core.SceneError, OSError):
                continue  # a spoiled file, or an earlier version's: an earlier one may do
            return frame, ""
    changed = fingerprint.changes(earlier, header.inputs)
    return None, messages.cannot_go_on(fingerprint.sentence(changed))


def _report(simulation: core.Simulation, notes: tuple[str, ...], worst: float) -> dict[str, Any]:
    report = replace(simulation.report, max_penetration=worst)
    return {
        "report": report.to_dict(),
        "events": [list(event) for event in simulation.events],
        "notes": list(notes),
    }


class _Keeper:
    """Keeps a bake on disk as long as the disk allows it; when it refuses, memory has the frames."""

    def __init__(self, store: CacheStore | None) -> None:
        self.store = store
        self._notes: list[str] = []

    def open(
        self, header: BakeHeader, scene: core.Scene, objects: dict[str, np.ndarray], kept: int | None
    ) -> BakedFrame | None:
        """Begin a bake, or go on with one after a frame; returns that frame."""
        if kept is None:
            self._write(lambda store: store.begin(header, scene, objects))
            return None
        assert self.store is not None
        frame = self.store.load().frames[kept]
        self._write(lambda store: store.drop_after(kept))
        self._write(lambda store: store.keep_header(header))
        self._write(lambda store: store.keep_scene(scene))
        return frame

    def keep(self, index: int, frame: BakedFrame, simulation: core.Simulation) -> None:
        """Keep a frame, and now and then what a bake goes on from."""
        self._write(lambda store: store.keep_frame(frame))
        self._write(lambda store: store.keep_checkpoint(index, simulation.save_snapshot))

    def close(self, index: int, report: dict[str, Any], simulation: core.Simulation) -> None:
        """Keep the report, and the last frame as one to go on from."""
        self._write(lambda store: store.keep_checkpoint(index, simulation.save_snapshot, always=True))
        self._write(lambda store: store.keep_report(report))

    def notes(self) -> Iterator[Noted]:
        """What has gone wrong since the last call."""
        yield from (Noted(note) for note in self._notes)
        self._notes.clear()

    def _write(self, action: Callable[[CacheStore], None]) -> None:
        if self.store is None:
            return
        try:
            action(self.store)
        except OSError as error:
            self._notes.append(
                messages.cannot_write_cache(str(self.store.folder), error.strerror or str(error))
            )
            self.store = None
