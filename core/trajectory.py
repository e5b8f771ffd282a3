"""The result of a run: the state of every body in every frame, in memory and on disk."""

import hashlib
import io
import json
import os
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .errors import SceneError, shown
from .files import write_whole
from .report import ContactEvent, Report, event_table

SCHEMA, SCHEMA_VERSION = "topple-trajectory", 1
# What numpy, zipfile and json raise where a file is not what it should be.
UNREADABLE = (ValueError, KeyError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
STATE_WIDTHS = {"position": 3, "orientation": 4, "linear_velocity": 3, "angular_velocity": 3}


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States of all bodies frame by frame; frame 0 is the start. Arrays are read-only.

    Attributes:
        times: Times of the frames [s], shape (frames + 1,).
        position: Body origins, world frame [m], shape (frames + 1, bodies, 3).
        orientation: Unit quaternions (w, x, y, z), body to world axes, shape (frames + 1, bodies, 4).
        linear_velocity: Of the centres of mass, world frame [m/s], shape (frames + 1, bodies, 3).
        angular_velocity: World frame [rad/s], shape (frames + 1, bodies, 3).
        names: Names of the bodies, in the order they were added to the scene.
        report: What the run found.
        events: Bodies that began or ceased to touch (impulse solver) or collided (analytic solver), in the
            order of time.
    """

    times: NDArray[np.float64]
    position: NDArray[np.float64]
    orientation: NDArray[np.float64]
    linear_velocity: NDArray[np.float64]
    angular_velocity: NDArray[np.float64]
    names: tuple[str, ...]
    report: Report = field(default_factory=Report)
    events: tuple[ContactEvent, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        count = np.size(self.times)
        shapes = {"times": (count,)}
        shapes |= {name: (count, len(self.names), width) for name, width in STATE_WIDTHS.items()}
        for name, shape in shapes.items():
            value = getattr(self, name)
            try:
                array = np.array(value, dtype=np.float64)  # a copy nobody else can write to
            except (TypeError, ValueError, OverflowError) as error:
                raise SceneError(
                    f"the trajectory's {name} is {shown(value)}; give numbers of shape {shape}", field=name
                ) from error
            if array.shape != shape:
                raise SceneError(
                    f"the trajectory's {name} has shape {array.shape}, expected {shape}", field=name
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self.report.state_hash = self.state_hash

    @cached_property
    def state_hash(self) -> str:
        """SHA-256 of names and states, bodies sorted by name: the order of adding does not matter."""
        order = sorted(range(len(self.names)), key=lambda body: self.names[body])
        digest = hashlib.sha256(json.dumps([self.names[body] for body in order]).encode())
        for name in STATE_WIDTHS:
            digest.update(np.ascontiguousarray(getattr(self, name)[:, order], dtype="<f8").tobytes())
        return digest.hexdigest()

    def event_table(self, impulse: float = 0.0) -> NDArray[np.void]:
        """The events of at least so much impulse [N s] as a structured array, a field for each attribute."""
        table = event_table(self.events)
        return table[table["impulse"] >= impulse]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a compressed npz without pickle; the file appears whole or not at all."""
        header = {"schema": SCHEMA, "version": SCHEMA_VERSION, "names": self.names}
        header["report"] = self.report.to_dict()
        header["events"] = self.events
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            header=np.array(json.dumps(header)),
            times=self.times,
            **{name: getattr(self, name) for name in STATE_WIDTHS},
        )
        write_whole(path, buffer.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Trajectory":
        """Read a trajectory that `save` wrote.

        Raises:
            OSError: The file cannot be read.
            SceneError: It is no whole trajectory of this version.
        """
        content = Path(path).read_bytes()
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                header = json.loads(str(archive["header"]))
                arrays = {name: archive[name] for name in ("times", *STATE_WIDTHS)}
        except UNREADABLE as error:
            raise SceneError(f"{path} is no whole Topple trajectory; bake it again") from error
        if not isinstance(header, dict) or header.get("schema") != SCHEMA:
            raise SceneError(f"{path} is no Topple trajectory; bake it again")
        version = header.get("version")
        if version != SCHEMA_VERSION:
            raise SceneError(
                f"{path} has version {shown(version)}, this Topple reads {SCHEMA_VERSION}; "
                "update Topple or bake again"
            )
        try:
            names, report = tuple(header["names"]), Report.from_dict(dict(header["report"]))
            events = tuple(map(ContactEvent.of_values, header.get("events", ())))
        except UNREADABLE as error:
            raise SceneError(f"{path} is no whole Topple trajectory; bake it again") from error
        return cls(**arrays, names=names, report=report, events=events)
