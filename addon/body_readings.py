"""From what was read of objects to a `core.Scene`; takes its time, so a thread may do it. Pure: no bpy."""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import core
from . import messages
from .body_shapes import collision_shape
from .rigid_frames import continuous_signs, wxyz_of
from .units import LengthUnit


class Path(NamedTuple):
    """Poses of an animated body: straight from one to the next.

    Attributes:
        frames: When, in frames after the first, shape (k,).
        matrices: World matrices then, shape (k, 4, 4).
    """

    frames: np.ndarray
    matrices: np.ndarray


@dataclass(frozen=True, eq=False)
class BodyReading:
    """A body as Blender shows it at the first frame.

    Attributes:
        name: Name of the object and of its body.
        shape: The shape chosen; see `body_shapes.collision_shape`.
        position: Origin in the world [Blender units], shape (3,).
        orientation: Of the body in the world (w, x, y, z), shape (4,).
        stretch: From object coordinates to the axes of the body, shape (3, 3).
        vertices: Vertices in object coordinates, shape (n, 3).
        triangles: Rows of three indices of vertices, shape (m, 3).
        vertex_budget: Most vertices of its convex hull; None leaves all.
        path: Of animated bodies.
        options: Arguments of `core.Body`, in SI units.
    """

    name: str
    shape: str
    position: np.ndarray
    orientation: np.ndarray
    stretch: np.ndarray
    vertices: np.ndarray
    triangles: np.ndarray
    vertex_budget: int | None
    path: Path | None
    options: dict[str, Any]


def build_scene(
    readings: Iterable[BodyReading], gravity: np.ndarray, combine: Any, unit: LengthUnit, fps: float
) -> tuple[core.Scene, tuple[str, ...]]:
    """The scene to solve, and a remark about each shape that is not the one chosen.

    Raises:
        SceneError: A body has a value that cannot be used.
        ShapeError: An object has no usable solid.
    """
    scene, notes = core.Scene(gravity=gravity, combine=combine), []
    made: dict[tuple, tuple[core.Shape, str | None]] = {}  # copies of an object share a shape, built once
    for reading in readings:
        key = (
            reading.shape,
            reading.stretch.tobytes(),
            reading.vertices.tobytes(),
            reading.triangles.tobytes(),
            reading.vertex_budget,
        )
        if key not in made:
            made[key] = _shape(reading, unit)
        shape, remark = made[key]
        if remark is not None:
            notes.append(messages.note(reading.name, remark))
        scene.add(_body(reading, shape, unit, fps))
    return scene, tuple(notes)


def body_options(
    settings: Any, stretch: np.ndarray, unit: LengthUnit, release: tuple[int, float] | None
) -> dict[str, Any]:
    """Arguments of `core.Body` from an object's settings.

    Args:
        settings: `Object.topple`, or anything with its attributes.
        stretch: From object coordinates to the axes of the body, shape (3, 3).
        unit: Length unit of the scene.
        release: First frame and frames per second where the body follows its animation first, else None.
    """
    options: dict[str, Any] = {
        "kind": settings.kind.lower(),
        "restitution": settings.restitution,
        "friction": settings.friction,
        "layers": bits(settings.layers),
        "collides_with": bits(settings.collides_with),
        "sensor": settings.sensor,
    }
    if settings.use_friction_dynamic:
        options["friction_dynamic"] = min(settings.friction_dynamic, settings.friction)
    if settings.kind != "DYNAMIC":
        return options
    mass = settings.mass_mode.lower()
    options |= {
        mass: getattr(settings, mass),
        "linear_damping": settings.linear_damping,
        "angular_damping": settings.angular_damping,
        "lock_linear": tuple(settings.lock_linear),
        "lock_angular": tuple(settings.lock_angular),
    }
    if settings.use_center_of_mass:
        options["center_of_mass"] = unit.to_si(stretch @ np.array(settings.center_of_mass))
    if release is not None:
        first_frame, fps = release
        options |= {"kind": "kinematic", "release_time": (settings.release_frame - first_frame) / fps}
    elif settings.asleep:
        options["asleep"] = True
    else:
        options["linear_velocity"] = unit.to_si(settings.linear_velocity)
        options["angular_velocity"] = np.array(settings.angular_velocity)
    return options


def vertex_budget(settings: Any) -> int | None:
    """Most vertices that an object's settings allow its convex hull; None where they leave all."""
    return settings.vertex_budget if settings.use_vertex_budget else None


def bits(flags: Iterable[bool]) -> int:
    """Layers as bits of an integer, the first the lowest."""
    return _bits(tuple(flags))


@cache  # few combinations are used, by many bodies
def _bits(flags: tuple[bool, ...]) -> int:
    return sum(1 << i for i, flag in enumerate(flags) if flag)


def _shape(reading: BodyReading, unit: LengthUnit) -> tuple[core.Shape, str | None]:
    try:
        return collision_shape(
            reading.shape,
            reading.vertices,
            reading.stretch,
            unit.metres,
            reading.triangles,
            reading.vertex_budget,
        )
    except core.ShapeError as error:
        raise core.ShapeError(str(error), body=reading.name) from error


def _body(reading: BodyReading, shape: core.Shape, unit: LengthUnit, fps: float) -> core.Body:
    return core.Body(
        reading.name,
        shape,
        position=unit.to_si(reading.position),
        orientation=reading.orientation,
        motion=None if reading.path is None else _motion(reading.path, unit, fps),
        **reading.options,
    )


def _motion(path: Path, unit: LengthUnit, fps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times [s], positions [m] and orientations of an animated body."""
    orientations = continuous_signs(wxyz_of(path.matrices))
    return path.frames / fps, unit.to_si(path.matrices[:, :3, 3]), orientations
