"""The folder in which a bake is kept: written frame by frame, read back whole. Pure: no bpy.

    bake.json           what was baked: names, rate, a fingerprint of the inputs, a version stamp
    scene.json          what was solved, for topple.Scene.load
    objects.npz         what keyframes depend on besides the bodies' paths (see `object_channels`)
    frames              one after the other, so that a bake that is killed keeps those it wrote (`frame_file`)
    checkpoint_000020   all that the coming steps depend on; a bake resumes from one of these
    report.json         what the solver found, and who touched whom

Each but the frames appears whole or not at all.
"""

from __future__ import annotations  # naming core's types must not load the solver

import io
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import core
from . import messages
from .bake_frames import BakedFrame
from .frame_file import append_frame, cut_frames, read_frames

SCHEMA, VERSION = "topple-bake", 4
# Frames between checkpoints at first (one takes as long as many frames take to be written); twice as many
# whenever more than this many checkpoints would be kept:
CHECKPOINT_EVERY = 50
CHECKPOINTS = 8

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True)
class BakeHeader:
    """What a bake is of.

    Attributes:
        names: Bodies, in the order of the arrays of each frame.
        dynamic: Those that a force can move.
        first_frame: Frame number of the start.
        frames: Frames after the start that a whole bake has.
        fps: Frames per second.
        metres: Metres per Blender unit.
        inputs: What went into the solver, as `fingerprint.of_scene` describes it.
        watched: What the artist can change, as `fingerprint` describes it when the bake began.
    """

    names: tuple[str, ...]
    dynamic: tuple[str, ...]
    first_frame: int
    frames: int
    fps: float
    metres: float
    inputs: dict[str, Any]
    watched: dict[str, str]


@dataclass
class StoredBake:
    """A bake as it lies in its folder."""

    header: BakeHeader
    objects: dict[str, np.ndarray]
    frames: list[BakedFrame]
    report: dict[str, Any]


class CacheStore:
    """Reads and writes one bake's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._interval = CHECKPOINT_EVERY
        self._newest: int | None = None  # frame of the checkpoint that was written last

    # Writing ---------------------------------------------------------------------------------

    def begin(self, header: BakeHeader, scene: core.Scene, objects: dict[str, np.ndarray]) -> None:
        """Make the folder, empty but for what is baked.

        Raises:
            OSError: The disk refuses.
        """
        self.clear()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._interval, self._newest = CHECKPOINT_EVERY, None
        core.write_whole(self.folder / "objects.npz", _npz(objects))
        core.write_whole(self._frames, b"")
        self.keep_scene(scene)
        self.keep_header(header)

    def keep_scene(self, scene: core.Scene) -> None:
        """Write what is solved."""
        scene.save(self.folder / "scene.json")

    def keep_header(self, header: BakeHeader) -> None:
        """Write the header anew."""
        stamp = {"schema": SCHEMA, "version": VERSION, "topple": core.__version__}
        self._write_json("bake.json", {**stamp, **asdict(header)})

    def keep_frame(self, frame: BakedFrame) -> None:
        """Write one more frame."""
        append_frame(self._frames, frame)

    def keep_checkpoint(self, index: int, save: Callable[[Path], None], *, always: bool = False) -> None:
        """Write what a bake resumes from, at some of the frames; `save` writes it to a path.

        The start needs none: it is what is simulated.
        """
        if index in (0, self._newest) or (index % self._interval and not always):
            return
        save(self._checkpoint(index))
        self._newest = index
        while len(self.checkpoints()) > CHECKPOINTS:
            self._interval *= 2
            for kept in self.checkpoints():
                if kept % self._interval and kept != index:
                    self._checkpoint(kept).unlink(missing_ok=True)

    def keep_report(self, report: dict[str, Any]) -> None:
        """Write what the solver found."""
        self._write_json("report.json", report)

    def drop_after(self, index: int) -> None:
        """Delete the frames and checkpoints after a frame."""
        self._newest = None
        cut_frames(self._frames, index + 1)
        for kept in self.checkpoints():
            if kept > index:
                self._checkpoint(kept).unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete the bake, and the folders that it leaves empty."""
        if not self.folder.exists():
            return
        shutil.rmtree(self.folder)
        if self.folder.parent.name.endswith(FOLDER_SUFFIX) and not any(self.folder.parent.iterdir()):
            self.folder.parent.rmdir()

    def copy_to(self, folder: Path) -> None:
        """Copy the bake into the folder of a file of another name."""
        if self.folder.exists():
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)

    # Reading ---------------------------------------------------------------------------------

    def checkpoints(self) -> list[int]:
        """Frames from which a bake can go on, in order."""
        return sorted(_number(path) for path in self.folder.glob("checkpoint_*"))

    def checkpoint(self, index: int) -> Path:
        """The file to go on from at a frame."""
        return self._checkpoint(index)

    def read_header(self) -> BakeHeader:
        """What the folder holds a bake of.

        Raises:
            SceneError: There is no bake that this version reads.
        """
        try:
            values = json.loads((self.folder / "bake.json").read_text(encoding="utf-8"))
            if values.pop("schema") != SCHEMA or values.pop("version") != VERSION:
                raise core.SceneError(messages.foreign_cache(str(self.folder)))
            values.pop("topple")
            values["names"], values["dynamic"] = tuple(values["names"]), tuple(values["dynamic"])
            return BakeHeader(**values)
        except _UNREADABLE as error:
            if isinstance(error, core.SceneError):
                raise
            raise core.SceneError(messages.unreadable_cache(str(self.folder))) from error

    def load(self) -> StoredBake:
        """The whole bake.

        Raises:
            SceneError: There is no bake that this version reads.
        """
        header = self.read_header()
        try:
            objects = _arrays(self.folder / "objects.npz")
            frames = read_frames(self._frames)
            report = self.folder / "report.json"
            found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        except _UNREADABLE as error:
            raise core.SceneError(messages.unreadable_cache(str(self.folder))) from error
        return StoredBake(header, objects, frames, found)

    def load_scene(self) -> core.Scene | None:
        """What was solved; None where the file is missing or damaged."""
        try:
            return core.Scene.load(self.folder / "scene.json")
        except (OSError, core.SceneError, core.ShapeError):
            return None

    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.glob("*") if path.is_file())

    @property
    def _frames(self) -> Path:
        return self.folder / "frames"

    def _checkpoint(self, index: int) -> Path:
        return self.folder / f"checkpoint_{index:06}"

    def _write_json(self, name: str, values: dict[str, Any]) -> None:
        core.write_whole(self.folder / name, (json.dumps(values) + "\n").encode())


FOLDER_SUFFIX = ".topple"  # of the folder beside the .blend that holds the bakes of its scenes


def cache_folder(blend_path: str, user_folder: Path, key: str) -> tuple[Path, bool]:
    """Where a bake of a file is to be kept: beside the file, or where that cannot be in the user's folder.

    Args:
        blend_path: The open file; empty where it was never saved.
        user_folder: A folder that the user can write to.
        key: Names the scene among those of all files.

    Returns:
        The bake's folder, and whether the file's own folder could not be used.
    """
    if not blend_path:
        return user_folder / key, False
    blend = Path(blend_path)
    beside = blend.parent / f"{blend.stem}{FOLDER_SUFFIX}"
    if _can_write(beside):
        return beside / key, False
    return user_folder / key, True


def _can_write(folder: Path) -> bool:
    """Whether files can be made in a folder, or in that above where it does not exist yet."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # pyright: ignore[reportArgumentType]
    return buffer.getvalue()


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _number(path: Path) -> int:
    found = re.search(r"_(\d+)", path.name)
    return int(found[1]) if found else -1
