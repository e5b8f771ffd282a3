"""Drop and Settle: the selected objects fall as they are now, onto all that is visible, until they rest."""

from __future__ import annotations  # naming core's types must not load the solver

from collections.abc import Set
from types import SimpleNamespace

import bpy
import numpy as np
from mathutils import Matrix

from .. import core
from . import messages
from .bake_job import BakeJob
from .bake_work import BakeRequest
from .body_readings import BodyReading, body_options, build_scene, vertex_budget
from .keyed_object import NO_PARENT, Parenting, check_can_be_keyed, parent_space, read_keyed_objects
from .live_bakes import solver_maker
from .object_channels import ObjectChannels
from .object_starts import ObjectStart, read_starts
from .operators.bodies import SOLID_TYPES
from .properties import BODY_SETTINGS
from .rotation_channels import rotation_channels, rotation_path
from .scene_reader import gravity_of
from .units import LengthUnit

REST = 0.25  # seconds that all objects must have been at rest
FPS = 24.0


class Settling:
    """The fall of some objects; `job` does the work, `apply` puts the objects where it has brought them."""

    def __init__(self, context: bpy.types.Context, seconds: float) -> None:
        """Read the scene as it is at the current frame.

        Args:
            seconds: Longest time to simulate [s].

        Raises:
            SceneError: An object cannot be moved or has no usable solid; names it and the remedy.
        """
        scene = context.scene
        settings = scene.unit_settings
        self.unit = LengthUnit.of_scene(settings.system, settings.scale_length)
        frames = max(round(seconds * FPS), 1)
        depsgraph = context.evaluated_depsgraph_get()
        falling = [obj for obj in context.selected_objects if obj.type in SOLID_TYPES]
        for obj in falling:
            check_can_be_keyed(obj)
            if _is_animated(obj):
                raise core.SceneError(messages.ANIMATED_PLACE, body=obj.name)
        among = frozenset(falling)
        obstacles = [obj for obj in context.view_layer.objects if _is_obstacle(obj, among)]
        solid = [*falling, *obstacles]
        kinds = ["DYNAMIC"] * len(falling) + ["STATIC"] * len(obstacles)
        readings = [
            _reading(obj, start, self.unit, kind)
            for obj, start, kind in zip(solid, read_starts(solid, depsgraph), kinds, strict=True)
        ]
        evaluated = [obj.evaluated_get(depsgraph) for obj in falling]
        self.keyed = read_keyed_objects(
            evaluated,
            [reading.orientation for reading in readings[: len(falling)]],
            [_parenting(obj, depsgraph, among, frames) for obj in falling],
        )
        gravity, combine, unit = gravity_of(scene, self.unit), scene.topple.combine, self.unit
        self.job = BakeJob(
            BakeRequest(
                build=lambda: build_scene(readings, gravity, combine, unit, FPS),
                solver=solver_maker(scene.topple),
                first_frame=0,
                frames=frames,
                fps=FPS,
                until_rest=REST,
            )
        )

    def apply(self) -> int:
        """Put the objects where the last frame has them; returns how many still exist."""
        assert self.job.header is not None
        last = self.job.frames[-1]
        channels = ObjectChannels(self.keyed, self.job.header.names, self.unit)
        location, rotation = channels.at(last.position[None], last.orientation[None], 0)
        count = 0
        for i, target in enumerate(self.keyed):
            obj = bpy.data.objects.get(target.name)
            if obj is None:
                continue
            start = target.rotation_start[None]
            turned = rotation_channels(rotation[:, i : i + 1], target.rotation_mode, start)[0, 0]
            obj.location = location[0, i].tolist()
            setattr(obj, rotation_path(target.rotation_mode), turned.tolist())
            count += 1
        return count

    @property
    def at_rest(self) -> bool:
        """Whether all objects came to rest within the time."""
        return bool(self.job.frames) and self.job.moving == 0


def _is_animated(obj: bpy.types.Object) -> bool:
    animation = obj.animation_data
    return animation is not None and (animation.action is not None or len(animation.nla_tracks) > 0)


def _is_obstacle(obj: bpy.types.Object, falling: Set[bpy.types.Object]) -> bool:
    """Visible objects with a surface are, but for those that hang on a falling one."""
    if obj in falling or obj.type not in SOLID_TYPES or not obj.visible_get() or obj.hide_viewport:
        return False
    parent = obj.parent
    while parent is not None:
        if parent in falling:
            return False
        parent = parent.parent
    return not isinstance(obj.data, bpy.types.Mesh) or len(obj.data.polygons) > 0 or len(obj.modifiers) > 0


def _reading(obj: bpy.types.Object, start: ObjectStart, unit: LengthUnit, kind: str) -> BodyReading:
    """An object with the settings of its body; one that is no body falls as its hull, or lies as its mesh."""
    body = obj.topple
    settings = SimpleNamespace(**{name: getattr(body, name) for name in BODY_SETTINGS})
    settings.kind, settings.asleep = kind, False
    settings.linear_velocity = settings.angular_velocity = (0.0, 0.0, 0.0)
    shape = body.shape if body.enabled else "MESH"
    if kind == "DYNAMIC" and shape in ("MESH", "PLANE"):
        shape = "CONVEX_HULL"
    return BodyReading(
        name=obj.name_full,
        shape=shape,
        **vars(start),
        vertex_budget=vertex_budget(settings),
        path=None,
        options=body_options(settings, start.stretch, unit, None),
    )


def _parenting(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, falling: Set[bpy.types.Object], frames: int
) -> Parenting:
    """An object's parents stay, but for those that fall, too."""
    if obj.parent is None:
        return NO_PARENT
    carrier = obj.parent
    while carrier is not None and carrier not in falling:
        carrier = carrier.parent
    world = None if carrier is None else _still(carrier.evaluated_get(depsgraph).matrix_world, frames)
    parent = _still(parent_space(obj.evaluated_get(depsgraph)), frames)
    return Parenting(parent, carrier.name if carrier else None, world)


def _still(matrix: Matrix, frames: int) -> np.ndarray:
    """The same matrix at every frame, shape (frames + 1, 4, 4)."""
    return np.broadcast_to(np.array(matrix), (frames + 1, 4, 4))
