"""The bakes of the open file: the one that runs, and those read back from their folders.

A scene knows its bake by a key that is saved with the file; nothing of Blender is held on to, so undo and
loading another file cannot leave a stale pointer.
"""

from __future__ import annotations  # naming core's types must not load the solver

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import bpy

from .. import core
from . import messages, watch
from .bake_frames import BakedFrame, BodyPaths, paths_of, trajectory_of
from .bake_job import BakeJob
from .bake_work import BakeRequest
from .cache_store import BakeHeader, CacheStore, cache_folder
from .contact_data import Event, events_of
from .findings import Finding, findings
from .object_channels import KeyedObject, ObjectChannels, pack_objects, unpack_objects
from .scene_reader import SceneReading
from .units import LengthUnit

EXTENSION = __package__.rpartition(".")[0]


@dataclass
class LiveBake:
    """A scene's bake, running or done.

    Attributes:
        key: That of the scene.
        frames: The frames so far.
        keyed: What keyframes depend on besides the bodies' paths.
        unit: Length unit of the scene.
        first_frame: Frame number of the start.
        frame_count: Frames after the start that the whole bake has.
        watched: What the artist could change, as it was when the bake began.
        store: Where it is kept; None in memory alone.
        job: The job that makes or made it; None where it was read back.
        scene_uid: What Blender knows its scene by in this session, also after undo; 0 where it was read back.
        earlier: The scene's bake before, while this one may still come to nothing.
    """

    key: str
    frames: list[BakedFrame]
    keyed: tuple[KeyedObject, ...]
    unit: LengthUnit
    first_frame: int
    frame_count: int
    watched: dict[str, str]
    store: CacheStore | None = None
    job: BakeJob | None = None
    scene_uid: int = 0
    earlier: LiveBake | None = None
    stored_header: BakeHeader | None = None
    found: dict[str, Any] = field(default_factory=dict)
    _findings: tuple[float, list[Finding]] | None = None

    @property
    def header(self) -> BakeHeader | None:
        """What was solved; None until that is known."""
        return self.job.header if self.job is not None else self.stored_header

    @property
    def names(self) -> tuple[str, ...]:
        """Bodies in the order of the frames' arrays."""
        return self.header.names if self.header is not None else ()

    @property
    def running(self) -> bool:
        """Whether frames may still come."""
        return self.job is not None and not self.job.ended

    @property
    def complete(self) -> bool:
        """Whether all frames are there."""
        return len(self.frames) > self.frame_count

    @property
    def outcome(self) -> dict[str, Any]:
        """What the solver found: `report`, `events`, `notes`; empty while it runs."""
        return self.found if self.job is None else self.job.report or {}

    @property
    def disk_size(self) -> int:
        """Bytes of its folder; looked at once, when it no longer grows."""
        return 0 if self.store is None or self.running else self._final_size

    @cached_property
    def _final_size(self) -> int:
        assert self.store is not None
        return self.store.size()

    @cached_property
    def _channels(self) -> ObjectChannels:
        return ObjectChannels(self.keyed, self.names, self.unit)

    @property
    def channels(self) -> ObjectChannels | None:
        """From bodies to objects; None until it is known what is solved."""
        return self._channels if self.header is not None else None

    def objects(self) -> dict[str, bpy.types.Object]:
        """The objects of the bake by the names they had: renamed ones too, deleted ones not."""
        here = own_objects()
        found = {
            name: here[name] for name in self._wanted if name in here and here[name].topple.bake_name == name
        }
        if len(found) < len(self.keyed):
            for own_name, obj in here.items():
                name = obj.topple.bake_name
                if name and name != own_name and name not in found and name in self._wanted:
                    found[name] = obj
        return found

    @cached_property
    def _wanted(self) -> dict[str, None]:
        return dict.fromkeys(target.name for target in self.keyed)

    def solved_scene(self) -> core.Scene | None:
        """What was solved; None until it is known, or where its file is lost."""
        if self.job is not None:
            return self.job.scene
        return self._stored_scene

    @cached_property
    def _stored_scene(self) -> core.Scene | None:
        return self.store.load_scene() if self.store is not None else None

    def findings(self, tolerance: float) -> list[Finding]:
        """What the bake found; looked for once, when it has ended."""
        if self._findings is None or self._findings[0] != tolerance:
            assert self.header is not None
            report = self.outcome.get("report", {})
            found = findings(self.frames, self.names, self.first_frame, self.header.fps, report, tolerance)
            self._findings = tolerance, found
        return self._findings[1]

    def events(self) -> list[Event]:
        """Who touched whom, so far as the bake has ended."""
        assert self.header is not None
        return events_of(self.outcome.get("events", ()), self.first_frame, self.header.fps)

    def paths(self) -> BodyPaths:
        """The bodies' paths over the frames so far."""
        return paths_of(self.frames, self.names)

    def trajectory(self) -> core.Trajectory:
        """The frames so far as the core's trajectory."""
        assert self.header is not None
        report = core.Report.from_dict(self.outcome["report"]) if self.outcome else core.Report()
        events = tuple(map(core.ContactEvent.of_values, self.outcome.get("events", ())))
        return trajectory_of(self.frames, self.names, self.header.fps, report, events)


_live: dict[str, LiveBake | None] = {}  # by key; None where the folder has no bake that can be read
problems: dict[str, str] = {}  # why, by key


def prepare(
    scene: bpy.types.Scene,
    reading: SceneReading,
    watched: dict[str, str],
    *,
    on_disk: bool,
    resume_at: int | None = None,
    until_rest: float | None = None,
) -> LiveBake:
    """A bake of what was read of a scene, ready to start; it takes the place of the scene's earlier one.

    Args:
        scene: The scene.
        reading: What was read of it.
        watched: What the artist can change, by `watch.watch`.
        on_disk: Whether it is kept in a folder.
        resume_at: Frame after the start to go on from, where it goes on.
        until_rest: See `BakeRequest`.
    """
    key, earlier = _own_key(scene), of_scene(scene)
    objects = pack_objects(reading.keyed)
    store, frames = None, []
    notes: list[str] = []
    if on_disk:
        folder, moved = cache_folder(bpy.data.filepath, user_folder(), key)
        store = CacheStore(folder)
        if moved:
            notes.append(messages.cache_moved(str(folder)))
        if resume_at is not None and earlier is not None:
            frames = list(earlier.frames)
            if earlier.store is not None and earlier.store.folder != folder:
                earlier.store.copy_to(folder)
    request = BakeRequest(
        build=lambda: reading.built,
        solver=solver_maker(scene.topple),
        first_frame=reading.first_frame,
        frames=reading.frames,
        fps=reading.fps,
        metres=reading.unit.metres,
        objects=objects,
        watched=watched,
        store=store,
        resume_at=resume_at,
        until_rest=until_rest,
    )
    job = BakeJob(request, frames=frames, notes=notes)
    bake = LiveBake(
        key=key,
        frames=job.frames,
        keyed=reading.keyed,
        unit=reading.unit,
        first_frame=reading.first_frame,
        frame_count=reading.frames,
        watched=watched,
        store=store,
        job=job,
        scene_uid=scene.session_uid,
        earlier=earlier,
    )
    _live[key] = bake
    problems.pop(key, None)
    _mark(scene, bake)
    watch.note_bake(key)
    return bake


def _mark(scene: bpy.types.Scene, bake: LiveBake) -> None:
    """Write into the file which bake is the scene's, and which objects are the bake's."""
    scene.topple.cache_key = bake.key
    scene.topple.cache_path = _stored_path(bake.store.folder) if bake.store is not None else ""
    here = own_objects()
    for target in bake.keyed:
        if target.name in here:
            here[target.name].topple.bake_name = target.name


def after_undo() -> LiveBake | None:
    """Mark what undo or redo has brought back from before the bake that runs; returns that bake."""
    bake = running()
    scene = scene_of(bake) if bake is not None else None
    if bake is None or scene is None:
        return None
    _mark(scene, bake)
    return bake


def scene_of(bake: LiveBake) -> bpy.types.Scene | None:
    """The scene of a bake of this session, whatever it is called by now; None where it was deleted."""
    return next((scene for scene in bpy.data.scenes if scene.session_uid == bake.scene_uid), None)


def own_objects() -> dict[str, bpy.types.Object]:
    """The file's objects by name, but for linked ones; Blender itself searches all of them for each name."""
    return {obj.name: obj for obj in bpy.data.objects if obj.library is None}


def of_scene(scene: bpy.types.Scene) -> LiveBake | None:
    """The bake of a scene, read back from its folder where it is not in memory."""
    key = scene.topple.cache_key
    if not key:
        return None
    if key not in _live:
        _live[key] = _read_back(key, scene.topple.cache_path)
    return _live[key]


def running() -> LiveBake | None:
    """The bake that runs, if one does."""
    return next((bake for bake in _live.values() if bake is not None and bake.running), None)


def drop(scene: bpy.types.Scene) -> None:
    """Forget the bake of a scene and delete its folder.

    Raises:
        OSError: The disk refuses.
    """
    bake = of_scene(scene)
    _live.pop(scene.topple.cache_key, None)
    scene.topple.cache_path = ""
    scene.topple.cache_key = ""
    if bake is not None and bake.store is not None:
        bake.store.clear()


def withdraw(scene: bpy.types.Scene) -> None:
    """Forget a bake that never came to its first frame; the scene's earlier one, if any, is read back."""
    bake = _live.pop(scene.topple.cache_key, None)
    if bake is not None and bake.earlier is not None:
        _live[bake.key] = bake.earlier
        _mark(scene, bake.earlier)
    else:
        scene.topple.cache_path = scene.topple.cache_key = ""


def forget_all() -> None:
    """End what runs and forget everything: another file is about to be loaded, or Topple taken out."""
    bake = running()
    if bake is not None and bake.job is not None:
        bake.job.cancel()
        bake.job.join(LONGEST_FRAME)
    _live.clear()
    problems.clear()
    watch.forget()


LONGEST_FRAME = 10.0  # seconds that are waited for a frame to end, where Blender is about to close


def user_folder() -> Path:
    """Where bakes of files that were never saved are kept."""
    if EXTENSION.startswith("bl_ext."):
        return Path(bpy.utils.extension_path_user(EXTENSION, path="bakes", create=True))
    return Path(bpy.app.tempdir) / "topple_bakes"


def solver_maker(
    settings: bpy.types.PropertyGroup,
) -> Callable[[], core.ImpulseSolver | core.AnalyticSolver]:
    """Makes the solver that a scene's settings describe; it has to be loaded first, which takes its time."""
    if settings.solver == "analytic":
        return lambda: core.AnalyticSolver()
    time_step, tolerance = 1.0 / settings.steps_per_second, settings.tolerance
    return lambda: core.ImpulseSolver(time_step=time_step, tolerance=tolerance)


def _own_key(scene: bpy.types.Scene) -> str:
    """The scene's key; a copy of a scene has that of its original and gets one of its own."""
    key = scene.topple.cache_key
    if not key or any(other != scene and other.topple.cache_key == key for other in bpy.data.scenes):
        scene.topple.cache_key = uuid.uuid4().hex[:12]
    return scene.topple.cache_key


def _read_back(key: str, path: str) -> LiveBake | None:
    if not path:
        return None
    store = CacheStore(Path(bpy.path.abspath(path)))
    try:
        stored = store.load()
    except core.SceneError as error:
        problems[key] = str(error)
        return None
    header = stored.header
    return LiveBake(
        key=key,
        frames=stored.frames,
        keyed=unpack_objects(stored.objects),
        unit=LengthUnit(header.metres),
        first_frame=header.first_frame,
        frame_count=header.frames,
        watched=header.watched,
        store=store,
        stored_header=header,
        found=stored.report,
    )


def _stored_path(folder: Path) -> str:
    """The folder as the file keeps it: relative where it lies beside the file."""
    if bpy.data.filepath and folder.is_relative_to(Path(bpy.data.filepath).parent):
        return bpy.path.relpath(str(folder))
    return str(folder)
