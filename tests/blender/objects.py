"""Builders of small Blender scenes, and paths to write into them."""

import math
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
import topple
from scipy.spatial.transform import Rotation
from topple_extension.addon.keyframes import find_curve_holder
from topple_extension.addon.scene_reader import SceneReading

CUBE_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def add_mesh(name: str, vertices: Sequence, faces: Sequence = (), **channels: Any) -> bpy.types.Object:
    """A mesh object in the scene; channels such as location or scale are set on it."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([tuple(vertex) for vertex in vertices], [], [tuple(face) for face in faces])
    return _add(bpy.data.objects.new(name, mesh), channels)


def add_cube(name: str, *, offset: Sequence[float] = (0, 0, 0), **channels: Any) -> bpy.types.Object:
    """A cube with edges of 2 around the origin, or around an offset from it."""
    return add_mesh(name, CORNERS + np.array(offset), CUBE_FACES, **channels)


def add_channel(name: str, **channels: Any) -> bpy.types.Object:
    """A U of 2 x 2 x 2 around the origin; its groove is 1 wide and 1 deep, along y, open upwards."""
    outline = [(-1, -1), (1, -1), (1, 1), (0.5, 1), (0.5, 0), (-0.5, 0), (-0.5, 1), (-1, 1)]
    vertices = [(x, y, z) for y in (-1, 1) for x, z in outline]
    sides = [(i, i + 8, (i + 1) % 8 + 8, (i + 1) % 8) for i in range(8)]
    return add_mesh(name, vertices, [range(8), range(15, 7, -1), *sides], **channels)


def add_empty(name: str, **channels: Any) -> bpy.types.Object:
    return _add(bpy.data.objects.new(name, None), channels)


def make_body(obj: bpy.types.Object, **settings: Any) -> bpy.types.Object:
    """Give an object a Topple body with these settings."""
    for name, value in {"enabled": True, **settings}.items():
        setattr(obj.topple, name, value)
    return obj


def set_parent(child: bpy.types.Object, parent: bpy.types.Object, *, keep: bool = False) -> None:
    """Parent an object; with `keep` it stays where it is, as Ctrl P does."""
    bpy.context.view_layer.update()
    child.parent = parent
    if keep:
        child.matrix_parent_inverse = parent.matrix_world.inverted()
    bpy.context.view_layer.update()


def key(obj: bpy.types.Object, path: str, keys: dict[int, Any]) -> None:
    """Keyframes of a property by frame."""
    for frame, value in keys.items():
        setattr(obj, path, value)
        obj.keyframe_insert(path, frame=frame)


def curves_of(obj: bpy.types.Object) -> list[bpy.types.FCurve]:
    """The curves of an object's action."""
    animation = obj.animation_data
    slot = getattr(animation, "action_slot", None)
    holder = find_curve_holder(animation.action, slot.identifier if slot else "")
    return list(holder.fcurves)


def interpolate(obj: bpy.types.Object, how: str) -> None:
    """Between keyframes: LINEAR or BEZIER."""
    for curve in curves_of(obj):
        for point in curve.keyframe_points:
            point.interpolation = how


def world_path(obj: bpy.types.Object, frames: Sequence[float]) -> np.ndarray:
    """Evaluated world matrices at frames, shape (frames, 4, 4)."""
    matrices = []
    for frame in frames:
        part, whole = math.modf(frame)
        bpy.context.scene.frame_set(int(whole), subframe=part)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        matrices.append(np.array(obj.evaluated_get(depsgraph).matrix_world))
    return np.array(matrices)


def tumbling(reading: SceneReading) -> tuple[topple.Trajectory, dict[str, np.ndarray]]:
    """A made-up trajectory of a scene in which every dynamic body flies and turns more than twice.

    Returns:
        The trajectory, and for each body its rigid motion from the start in Blender units, shape
        (frames + 1, 4, 4).
    """
    count = reading.frames + 1
    time = np.linspace(0.0, 1.0, count)
    positions, orientations, motions = [], [], {}
    for i, body in enumerate(reading.scene.bodies):
        moves = body.kind == "dynamic"
        axis = np.array([0.3 + 0.2 * i, 0.9, 0.25])
        turn = Rotation.from_rotvec(moves * (14.0 + i) * time[:, None] * axis)
        path = np.stack([2.0 * time, -time * i, 3.0 * time - 5.0 * time**2], axis=1) * moves
        position = body.position + path
        w, x, y, z = body.orientation
        x, y, z, w = (turn * Rotation.from_quat((x, y, z, w))).as_quat().T
        positions.append(position)
        orientations.append(np.stack([w, x, y, z], axis=1))
        motion = np.tile(np.eye(4), (count, 1, 1))
        motion[:, :3, :3] = turn.as_matrix()
        motion[:, :3, 3] = reading.unit.from_si(position - turn.apply(np.array(body.position)))
        motions[body.name] = motion
    still = np.zeros((count, len(positions), 3))
    trajectory = topple.Trajectory(
        times=np.arange(count) / reading.fps,
        position=np.stack(positions, axis=1),
        orientation=np.stack(orientations, axis=1),
        linear_velocity=still,
        angular_velocity=still,
        names=tuple(body.name for body in reading.scene.bodies),
    )
    return trajectory, motions


def _add(obj: bpy.types.Object, channels: dict[str, Any]) -> bpy.types.Object:
    bpy.context.collection.objects.link(obj)
    for name, value in channels.items():
        setattr(obj, name, value)
    return obj
