"""From a Blender scene to what is solved, and what the writer must know to write it back.

Each object is read as it looks at the first frame: its evaluated mesh with modifiers, its world
matrix with parents, scale, mirror and shear. Animated bodies and the parents of dynamic ones are
then sampled at every frame, and animated bodies between frames where they are fast on a curve. The
scene is left as it was, on errors too; as on any change of frame, a changed value that is animated
but not keyed falls back to its animation.
"""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import bpy
import numpy as np
from mathutils import Matrix

from .. import core
from . import messages
from .body_readings import BodyReading, Path, body_options, build_scene, vertex_budget
from .keyed_object import Parenting, check_can_be_keyed, parent_space, read_keyed_objects
from .object_channels import KeyedObject
from .object_starts import ObjectStart, read_starts
from .path_sampling import curved_frames, parts_of_a_frame
from .previous_animation import originals_shown
from .properties import KINDS
from .rigid_frames import is_even, is_singular
from .slices import Steps, batches, completed
from .units import LengthUnit

# Matrices to sample at each frame: what is wanted of which object.
PathKey = tuple[str, str]
WORLD, PARENT = "world", "parent"
MATRIX_OF: dict[str, Callable[[bpy.types.Object], Matrix]] = {
    WORLD: lambda evaluated: evaluated.matrix_world,
    PARENT: parent_space,
}


@dataclass(frozen=True, eq=False)
class SceneReading:
    """What the bake needs of a scene: plain values, nothing of Blender's."""

    bodies: tuple[BodyReading, ...]
    gravity: np.ndarray
    combine: str
    keyed: tuple[KeyedObject, ...]
    unit: LengthUnit
    first_frame: int
    frames: int
    fps: float
    remarks: tuple[str, ...]

    @cached_property
    def built(self) -> tuple[core.Scene, tuple[str, ...]]:
        """The scene to solve, and all remarks; takes its time, so a thread may ask for it.

        Raises:
            SceneError: A body has a value that cannot be used.
            ShapeError: An object has no usable solid.
        """
        scene, notes = build_scene(self.bodies, self.gravity, self.combine, self.unit, self.fps)
        return scene, (*self.remarks, *notes)

    @property
    def scene(self) -> core.Scene:
        """The scene to solve."""
        return self.built[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the artist should know about the set-up."""
        return self.built[1]


def read_scene(context: bpy.types.Context) -> SceneReading:
    """Read the Topple bodies of the context's view layer at once; see `read_steps`."""
    return completed(read_steps(context))


def read_steps(context: bpy.types.Context) -> Steps[SceneReading]:
    """Read the Topple bodies of the context's view layer bit by bit; nothing may change meanwhile.

    Raises:
        SceneError: The scene cannot be simulated or written back; names the body and the remedy.
        ShapeError: An object has no usable solid.
    """
    blender_scene = context.scene
    first_frame, frames = blender_scene.frame_start, blender_scene.frame_end - blender_scene.frame_start
    if frames < 1:
        raise core.SceneError(messages.EMPTY_FRAME_RANGE)
    fps = blender_scene.render.fps / blender_scene.render.fps_base
    unit = LengthUnit.of_scene(blender_scene.unit_settings.system, blender_scene.unit_settings.scale_length)
    context.view_layer.update()  # objects a script has just linked are listed only then
    objects, notes = _bodies(context.view_layer)
    yield
    dynamic = {obj.name: obj for obj in objects if obj.topple.kind == "DYNAMIC"}
    carriers = {obj.name_full: _carrier(obj, dynamic) for obj in objects}
    yield
    _check(objects, dynamic, carriers)
    yield

    with _frame_kept(blender_scene), originals_shown(dynamic.values()):
        yield
        blender_scene.frame_set(first_frame)
        yield
        starts: dict[str, ObjectStart] = {}
        for some in batches(objects):
            found = read_starts(some, context.evaluated_depsgraph_get())
            starts |= zip((obj.name_full for obj in some), found, strict=True)
            yield
        wanted = _wanted_paths(objects, dynamic, carriers, first_frame)
        paths = yield from _sample(wanted, context, first_frame, frames)
        animated = {obj.name_full: obj for obj in objects if _is_animated(obj, first_frame)}
        parts = parts_of_a_frame(blender_scene.topple.steps_per_second, fps)
        tolerance = float(unit.from_si(blender_scene.topple.tolerance))
        curved = _curved(animated, paths, starts, first_frame, tolerance) if parts > 1 else {}
        between = yield from _sample_between(animated, curved, parts, context, first_frame)
        if paths:
            blender_scene.frame_set(first_frame)
        keyed: list[KeyedObject] = []
        for some in batches(list(dynamic)):
            depsgraph = context.evaluated_depsgraph_get()
            keyed += read_keyed_objects(
                [dynamic[name].evaluated_get(depsgraph) for name in some],
                [starts[name].orientation for name in some],
                [
                    Parenting(
                        paths.get((name, PARENT)), carriers[name], paths.get((carriers[name] or "", WORLD))
                    )
                    for name in some
                ],
            )
            yield
    notes += [
        messages.note(target.name, messages.SHEARING_PARENT)
        for target in keyed
        if target.parent is not None and not is_even(target.parent)
    ]
    bodies: list[BodyReading] = []
    for some in batches(objects):
        bodies += [
            _body(obj, starts[obj.name_full], _path(obj.name_full, paths, between), unit, first_frame, fps)
            for obj in some
        ]
        yield
    return SceneReading(
        tuple(bodies),
        gravity_of(blender_scene, unit),
        blender_scene.topple.combine,
        tuple(keyed),
        unit,
        first_frame,
        frames,
        fps,
        tuple(notes),
    )


def body_objects(view_layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Objects of a view layer that are Topple bodies."""
    return [obj for obj in view_layer.objects if obj.topple.enabled]


def _bodies(view_layer: bpy.types.ViewLayer) -> tuple[list[bpy.types.Object], list[str]]:
    """The bodies to simulate, and a note for each left out because Blender does not evaluate it."""
    bodies = body_objects(view_layer)
    disabled = [obj for obj in bodies if obj.hide_viewport]
    notes = [messages.note(obj.name_full, messages.DISABLED) for obj in disabled]
    bodies = [obj for obj in bodies if not obj.hide_viewport]
    if not bodies:
        raise core.SceneError(messages.NO_BODIES)
    return bodies, notes


def _carrier(obj: bpy.types.Object, dynamic: Mapping[str, bpy.types.Object]) -> str | None:
    """Nearest dynamic body among the parents."""
    parent = obj.parent
    while parent is not None:
        if dynamic.get(parent.name) == parent:
            return parent.name
        parent = parent.parent
    return None


def _check(
    objects: Sequence[bpy.types.Object],
    dynamic: Mapping[str, bpy.types.Object],
    carriers: Mapping[str, str | None],
) -> None:
    """Refuse what can be seen without evaluating the scene."""
    if not dynamic:
        raise core.SceneError(messages.NO_DYNAMIC_BODIES)
    for obj in objects:
        carrier = carriers[obj.name_full]
        if obj.topple.kind == "DYNAMIC":
            check_can_be_keyed(obj)
        elif carrier is not None:
            kind = next(label for value, label, _ in KINDS if value == obj.topple.kind)
            raise core.SceneError(messages.carried(kind, carrier), body=obj.name_full)


def gravity_of(blender_scene: bpy.types.Scene, unit: LengthUnit) -> np.ndarray:
    """Gravity of a scene [m/s²], shape (3,)."""
    return unit.to_si(blender_scene.gravity) if blender_scene.use_gravity else np.zeros(3)


def _body(
    obj: bpy.types.Object,
    start: ObjectStart,
    path: Path | None,
    unit: LengthUnit,
    first_frame: int,
    fps: float,
) -> BodyReading:
    """An object by its pose at the first frame and its settings."""
    settings = obj.topple
    released = is_released(obj, first_frame)
    return BodyReading(
        name=obj.name_full,
        shape=settings.shape,
        **vars(start),
        vertex_budget=vertex_budget(settings),
        path=path if _is_animated(obj, first_frame) else None,
        options=body_options(settings, start.stretch, unit, (first_frame, fps) if released else None),
    )


def is_released(obj: bpy.types.Object, first_frame: int) -> bool:
    """Whether a dynamic body follows its own animation at first."""
    body = obj.topple
    return body.kind == "DYNAMIC" and body.use_release and body.release_frame > first_frame


def _is_animated(obj: bpy.types.Object, first_frame: int) -> bool:
    """Whether a body follows its own animation, at first or all the time."""
    return obj.topple.kind == "KINEMATIC" or is_released(obj, first_frame)


def _wanted_paths(
    objects: Sequence[bpy.types.Object],
    dynamic: Mapping[str, bpy.types.Object],
    carriers: Mapping[str, str | None],
    first_frame: int,
) -> dict[PathKey, bpy.types.Object]:
    """Which matrices must be known at every frame."""
    wanted = {}
    for obj in objects:
        if _is_animated(obj, first_frame):
            wanted[obj.name_full, WORLD] = obj
        if obj.topple.kind == "DYNAMIC" and obj.parent is not None:
            wanted[obj.name, PARENT] = obj
            carrier = carriers[obj.name]
            if carrier is not None:
                wanted[carrier, WORLD] = dynamic[carrier]
    return wanted


def _sample(
    wanted: Mapping[PathKey, bpy.types.Object], context: bpy.types.Context, first_frame: int, frames: int
) -> Steps[dict[PathKey, np.ndarray]]:
    """Matrices at every frame, each shape (frames + 1, 4, 4); no frame is visited without need."""
    if not wanted:
        return {}
    paths = {key: np.empty((frames + 1, 4, 4)) for key in wanted}
    for frame in range(frames + 1):
        context.scene.frame_set(first_frame + frame)
        depsgraph = context.evaluated_depsgraph_get()
        for key, obj in wanted.items():
            paths[key][frame] = np.array(MATRIX_OF[key[1]](obj.evaluated_get(depsgraph)))
        yield
    for (name, kind), path in paths.items():
        _check_path(name, kind, path)
    return paths


def _curved(
    animated: Mapping[str, bpy.types.Object],
    paths: Mapping[PathKey, np.ndarray],
    starts: Mapping[str, ObjectStart],
    first_frame: int,
    tolerance: float,
) -> dict[str, np.ndarray]:
    """From which frames to the next each body is fast on a curve, as long as it follows its animation."""
    curved = {}
    for name, obj in animated.items():
        curved[name] = curved_frames(paths[name, WORLD], starts[name].radius, tolerance)
        if is_released(obj, first_frame):
            curved[name][obj.topple.release_frame - first_frame :] = False
    return curved


def _sample_between(
    animated: Mapping[str, bpy.types.Object],
    curved: Mapping[str, np.ndarray],
    parts: int,
    context: bpy.types.Context,
    first_frame: int,
) -> Steps[dict[str, Path]]:
    """World matrices between frames, each of `parts` parts, from which bodies are on a curve."""
    found: dict[str, tuple[list[float], list[np.ndarray]]] = {name: ([], []) for name in curved}
    for frame in np.flatnonzero(np.any(list(curved.values()), axis=0) if curved else ()):
        for part in np.arange(1, parts) / parts:
            context.scene.frame_set(first_frame + int(frame), subframe=float(part))
            depsgraph = context.evaluated_depsgraph_get()
            for name, (frames, matrices) in found.items():
                if curved[name][frame]:
                    frames.append(frame + part)
                    matrices.append(np.array(animated[name].evaluated_get(depsgraph).matrix_world))
            yield
    between = {name: Path(np.array(f), np.array(m)) for name, (f, m) in found.items() if f}
    for name, path in between.items():
        _check_path(name, WORLD, path.matrices)
    return between


def _check_path(name: str, kind: str, matrices: np.ndarray) -> None:
    """Refuse poses that are none."""
    if not np.isfinite(matrices).all():
        raise core.SceneError(messages.NOT_FINITE, body=name)
    if is_singular(matrices):
        raise core.SceneError(messages.FLAT_PARENT if kind == PARENT else messages.FLATTENED, body=name)


def _path(name: str, paths: Mapping[PathKey, np.ndarray], between: Mapping[str, Path]) -> Path | None:
    """All poses of a body that were looked at, in the order of time."""
    at_frames = paths.get((name, WORLD))
    if at_frames is None:
        return None
    frames, matrices = np.arange(len(at_frames), dtype=float), at_frames
    if name in between:
        frames = np.concatenate([frames, between[name].frames])
        matrices = np.concatenate([matrices, between[name].matrices])
    order = np.argsort(frames)
    return Path(frames[order], matrices[order])


@contextmanager
def _frame_kept(scene: bpy.types.Scene) -> Iterator[None]:
    """Return to the current frame after the block."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(frame, subframe=subframe)
