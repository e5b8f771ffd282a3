"""Poses and surfaces of objects as Blender evaluates them now, many at once."""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from .. import core
from . import messages
from .rigid_frames import flat_axes, stretch_of, wxyz_of

Surface = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class ObjectStart:
    """An object at the first frame; see `BodyReading`."""

    position: np.ndarray
    orientation: np.ndarray
    stretch: np.ndarray
    vertices: np.ndarray
    triangles: np.ndarray

    @property
    def radius(self) -> float:
        """How far it reaches from its origin."""
        return float(np.linalg.norm(self.vertices @ self.stretch.T, axis=1).max())


def read_starts(objects: Sequence[bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> list[ObjectStart]:
    """Objects as they are evaluated now.

    Raises:
        SceneError: An object has no pose or no surface that can be used.
    """
    evaluated = [obj.evaluated_get(depsgraph) for obj in objects]
    names = [obj.name_full for obj in objects]
    world = np.array([obj.matrix_world for obj in evaluated]).reshape(-1, 4, 4)
    scale = np.array([[obj.scale, obj.delta_scale] for obj in evaluated]).reshape(-1, 2, 3).prod(axis=1)
    _check_poses(names, world)
    orientations, stretches = wxyz_of(world), stretch_of(world, scale)
    surfaces = _surfaces(names, evaluated)
    return [
        ObjectStart(world[i, :3, 3], orientations[i], stretches[i], *surface)
        for i, surface in enumerate(surfaces)
    ]


def _check_poses(names: Sequence[str], world: np.ndarray) -> None:
    finite = np.isfinite(world).all(axis=(1, 2))
    if not finite.all():
        raise core.SceneError(messages.NOT_FINITE, body=names[int(finite.argmin())])
    flat = flat_axes(world)
    if flat.any():
        body = int(flat.any(axis=1).argmax())
        raise core.SceneError(messages.zero_scale(int(flat[body].argmax())), body=names[body])


def _surfaces(names: Sequence[str], evaluated: Sequence[bpy.types.Object]) -> list[Surface]:
    """The surface of each object; copies share the mesh that Blender evaluates, which is read once."""
    read: dict[int, Surface] = {}
    surfaces = []
    for name, obj in zip(names, evaluated, strict=True):
        mesh = obj.data.as_pointer() if obj.type == "MESH" else obj.as_pointer()
        if mesh not in read:
            read[mesh] = _surface(obj, name)
        surfaces.append(read[mesh])
    return surfaces


def _surface(evaluated: bpy.types.Object, name: str) -> Surface:
    """Vertices of the evaluated surface in object coordinates, shape (n, 3), and its triangles, (m, 3)."""
    try:
        mesh = evaluated.to_mesh()
    except RuntimeError as error:  # Blender's way to say that the type has no geometry
        raise core.SceneError(messages.NO_GEOMETRY, body=name) from error
    try:
        if not mesh.polygons:
            raise core.SceneError(messages.NO_FACES, body=name)
        vertices = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.vertices.foreach_get("co", vertices)
        mesh.calc_loop_triangles()
        triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
        mesh.loop_triangles.foreach_get("vertices", triangles)
    finally:
        evaluated.to_mesh_clear()
    return vertices.reshape(-1, 3).astype(np.float64), triangles.reshape(-1, 3).astype(np.int64)
