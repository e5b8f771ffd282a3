"""Small scenes that are run by Blender's own rigid bodies and by Topple alike."""

import time
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2
FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
RELEASE = 4  # frame at which a thrown body is let go


@dataclass
class Thing:
    """One object of a scene, scaled.

    Forms: a cube of edge 1, a ball of radius 1, a square sheet of edge 1, a pyramid of edge and height 1
    around its centre of mass.
    """

    name: str
    form: str = "cube"
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    turned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    active: bool = True
    shape: str = "CONVEX_HULL"
    friction: float = 0.5
    restitution: float = 0.0
    mass: float = 1.0
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    builtin: dict[str, Any] = field(default_factory=dict)
    topple: dict[str, Any] = field(default_factory=dict)


@dataclass
class Settings:
    """How a scene is run."""

    frames: int = 100
    fps: int = 24
    substeps: int = 10


def build(things: list[Thing], settings: Settings) -> None:
    """An empty file with these objects."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.frame_end, scene.render.fps = settings.frames + 1, settings.fps
    for thing in things:
        mesh = _mesh(thing)
        obj = bpy.data.objects.new(thing.name, mesh)
        bpy.context.collection.objects.link(obj)
        obj.scale, obj.location, obj.rotation_euler = thing.scale, thing.at, thing.turned
    bpy.context.view_layer.update()


def _mesh(thing: Thing) -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new(thing.name)
    if thing.form == "ball":
        import bmesh

        ball = bmesh.new()
        bmesh.ops.create_uvsphere(ball, u_segments=32, v_segments=16, radius=1.0)
        ball.to_mesh(mesh)
        ball.free()
    elif thing.form == "sheet":
        mesh.from_pydata([(-0.5, -0.5, 0), (0.5, -0.5, 0), (0.5, 0.5, 0), (-0.5, 0.5, 0)], [], [(0, 1, 2, 3)])
    elif thing.form == "pyramid":
        base = [(-0.5, -0.5, -0.25), (0.5, -0.5, -0.25), (0.5, 0.5, -0.25), (-0.5, 0.5, -0.25)]
        sides = [(i, (i + 1) % 4, 4) for i in range(4)]
        mesh.from_pydata([*base, (0, 0, 0.75)], [], [(3, 2, 1, 0), *sides])
    else:
        mesh.from_pydata((CORNERS + np.array(thing.offset)).tolist(), [], FACES)
    return mesh


def run_builtin(things: list[Thing], settings: Settings, *, jump: bool = False) -> dict[str, np.ndarray]:
    """Paths by Blender's own rigid bodies at their defaults: world matrices, shape (frames + 1, 4, 4)."""
    build(things, settings)
    bpy.ops.rigidbody.world_add()
    world = bpy.context.scene.rigidbody_world
    world.substeps_per_frame = settings.substeps
    world.point_cache.frame_end = settings.frames + 1
    for thing in things:
        obj = bpy.data.objects[thing.name]
        bpy.context.view_layer.objects.active = obj
        obj.select_set(True)
        bpy.ops.rigidbody.object_add(type="ACTIVE" if thing.active else "PASSIVE")
        body = obj.rigid_body
        body.collision_shape, body.mass = thing.shape, thing.mass
        body.friction, body.restitution = thing.friction, thing.restitution
        for name, value in thing.builtin.items():
            setattr(body, name, value)
        obj.select_set(False)
        if any(thing.velocity) or any(thing.spin):
            _throw(obj, thing, settings)
    return _paths(things, settings, jump=jump)


def _throw(obj: bpy.types.Object, thing: Thing, settings: Settings) -> None:
    """The built-in has no initial velocity: three animated steps give it one; after two it stands still."""
    seconds = (RELEASE - 1) / settings.fps
    way, turn = np.array(thing.velocity) * seconds, np.array(thing.spin) * seconds
    if turn.any():
        obj.rotation_mode = "AXIS_ANGLE"
    for frame, part in ((1, 0.0), (RELEASE, 1.0)):
        obj.location = np.array(thing.at) + part * way
        obj.keyframe_insert("location", frame=frame)
        if turn.any():
            angle = np.linalg.norm(turn)
            obj.rotation_axis_angle = (part * angle, *turn / angle)
            obj.keyframe_insert("rotation_axis_angle", frame=frame)
    animation = obj.animation_data
    curves = animation.action.layers[0].strips[0].channelbag(animation.action_slot).fcurves
    for curve in curves:
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
        curve.extrapolation = "LINEAR"
    obj.rigid_body.kinematic = True
    obj.rigid_body.keyframe_insert("kinematic", frame=1)
    obj.rigid_body.kinematic = False
    obj.rigid_body.keyframe_insert("kinematic", frame=RELEASE)


def run_topple(things: list[Thing], settings: Settings, *, jump: bool = False) -> dict[str, np.ndarray]:
    """The same paths by Topple, at its defaults."""
    build(things, settings)
    for thing in things:
        body = bpy.data.objects[thing.name].topple
        body.enabled, body.kind = True, "DYNAMIC" if thing.active else "STATIC"
        body.shape, body.mass_mode, body.mass = thing.shape, "MASS", thing.mass
        body.friction, body.restitution = thing.friction, thing.restitution
        if thing.active:
            body.linear_velocity, body.angular_velocity = thing.velocity, thing.spin
        for name, value in thing.topple.items():
            setattr(body, name, value)
    bpy.ops.topple.bake()
    return _paths(things, settings, jump=jump)


def _paths(things: list[Thing], settings: Settings, *, jump: bool) -> dict[str, np.ndarray]:
    frames = (1, settings.frames + 1) if jump else range(1, settings.frames + 2)
    paths: dict[str, list] = {thing.name: [] for thing in things}
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for name, path in paths.items():
            path.append(np.array(bpy.data.objects[name].evaluated_get(depsgraph).matrix_world))
    return {name: np.array(path) for name, path in paths.items()}


def seconds(action) -> float:
    """How long something takes [s]."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin
