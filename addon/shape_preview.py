"""The collision shape of an object as it is set up now, before any bake."""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from .. import core
from . import live_bakes, messages, watch
from .body_readings import vertex_budget
from .body_shapes import collision_shape
from .hull_budget import fewer_vertices
from .object_starts import ObjectStart, read_starts
from .overlay_geometry import shape_edges
from .rigid_frames import rotation_from_wxyz
from .units import LengthUnit

MOST = 100  # selected bodies whose shapes are drawn: each takes a fraction of a millisecond a redraw
KEPT = 200  # shapes that are remembered
DIGITS = 5  # of a stretch that count: those after them change as an object turns


@dataclass(frozen=True, eq=False)
class ShapePreview:
    """What a shape looks like.

    Attributes:
        edges: Pairs of ends in the body's frame [m], shape (2 n, 3).
        volume: [m³]; 0 where it has none or is not known.
        center: Its centre of mass in the body's frame [m]; None where it has none.
        notes: What the artist should know about it.
        problem: Why there is no shape; empty where there is one.
    """

    edges: np.ndarray
    volume: float = 0.0
    center: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, eq=False)
class PlacedPreview:
    """A shape where its object is: ends of edges in the world [m], shape (2 n, 3), and the centre of mass."""

    shape: ShapePreview
    edges: np.ndarray
    center: np.ndarray | None


_made: dict[tuple[Any, ...], ShapePreview] = {}
NO_EDGES = np.zeros((0, 3))


def forget() -> None:
    """Drop what is remembered."""
    _made.clear()


def to_show(
    scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer, selected: Iterable[bpy.types.Object]
) -> list[bpy.types.Object]:
    """The selected bodies that no bake shows as they are set up now."""
    bodies = [obj for obj in selected if obj.topple.enabled][:MOST]
    bake = live_bakes.of_scene(scene)
    if not bodies or bake is None or not bake.frames:
        return bodies
    if bake.running:
        return []
    baked, changed = set(bake.names), set(watch.changes_since(scene, view_layer, bake.watched))
    return [
        obj
        for obj in bodies
        if (obj.topple.bake_name or obj.name_full) not in baked
        or not changed.isdisjoint({messages.setup_of(obj.name), messages.mesh_of(obj.name)})
    ]


def placed(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: LengthUnit) -> PlacedPreview:
    """The shape of an object's body at the place that the object has now."""
    try:
        (start,) = read_starts([obj], depsgraph)
    except core.SceneError as error:
        return PlacedPreview(ShapePreview(NO_EDGES, problem=str(error)), NO_EDGES, None)
    body = obj.topple
    shape = _remembered(body.shape, start, unit, vertex_budget(body))
    turn, position = rotation_from_wxyz(start.orientation), unit.to_si(start.position)
    center = shape.center
    if center is not None and body.use_center_of_mass:
        center = unit.to_si(start.stretch @ np.array(body.center_of_mass))
    return PlacedPreview(
        shape,
        turn.apply(shape.edges) + position if len(shape.edges) else NO_EDGES,
        None if center is None else turn.apply(center) + position,
    )


def _remembered(choice: str, start: ObjectStart, unit: LengthUnit, budget: int | None) -> ShapePreview:
    largest = float(np.abs(start.stretch).max())
    stretch = start.stretch.round(DIGITS - int(np.floor(np.log10(largest)))) + 0.0  # no -0
    key = choice, budget, unit.metres, stretch.tobytes(), start.vertices.tobytes(), start.triangles.tobytes()
    if key not in _made:
        if len(_made) >= KEPT:
            _made.clear()
        _made[key] = _preview(choice, start, unit, budget)
    return _made[key]


def _preview(choice: str, start: ObjectStart, unit: LengthUnit, budget: int | None) -> ShapePreview:
    if choice == "CONVEX_PARTS":  # splitting a mesh takes seconds, which drawing must not
        return ShapePreview(NO_EDGES, notes=(messages.PARTS_NOT_SHOWN,))
    try:
        if choice == "CONVEX_HULL":
            points = unit.to_si(start.vertices @ start.stretch.T)
            hull = fewer_vertices(points, budget or len(points))
            shape, remark = core.ConvexHull(hull.points), messages.hull_vertices(*hull)
        else:
            shape, remark = collision_shape(
                choice, start.vertices, start.stretch, unit.metres, start.triangles
            )
        edges = shape_edges(shape)
        solid = None if isinstance(shape, core.Plane | core.Mesh) else shape.mass_properties
    except core.ShapeError as error:
        return ShapePreview(NO_EDGES, problem=error.reason)
    return ShapePreview(
        edges,
        volume=0.0 if solid is None else solid.volume,
        center=None if solid is None else solid.center_of_mass,
        notes=() if remark is None else (remark,),
    )
