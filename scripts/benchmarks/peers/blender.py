"""Blender's own rigid bodies (Bullet) through bpy: 10 solver iterations and margins at their defaults.

One `frame_set` is one frame; substeps make the step equal. Blender multiplies the coefficients of a pair.
Its damping (0.04 and 0.1 by default) is switched off; deactivation is off by default. With `boxes`, boxes are
given the shape Box, else every body is a Convex Hull, which is Blender's default.
"""

import bpy
import numpy as np
import topple
from scipy.spatial import ConvexHull

from . import material_root

LAST_FRAME = 100_000  # of the simulation's cache; only has to be larger than any run


class World:
    def __init__(
        self, scene: topple.Scene, *, time_step: float, steps_per_frame: int, boxes: bool = True
    ) -> None:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        self.scene = bpy.context.scene
        self.scene.gravity = scene.gravity
        frame_seconds = time_step * steps_per_frame
        self.scene.render.fps = 1000
        self.scene.render.fps_base = 1000 * frame_seconds  # frames a second = fps / fps_base
        bpy.ops.rigidbody.world_add()
        world = self.scene.rigidbody_world
        world.collection = bpy.data.collections.new("bodies")
        world.substeps_per_frame = steps_per_frame
        world.point_cache.frame_end = LAST_FRAME
        self.objects = [_add_object(body, world.collection, boxes) for body in scene.bodies]
        self.frame = 1
        self.scene.frame_set(self.frame)

    def advance(self) -> None:
        self.frame += 1
        self.scene.frame_set(self.frame)

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        depsgraph = bpy.context.evaluated_depsgraph_get()
        positions, orientations = [], []
        for item in self.objects:
            location, rotation, _ = item.evaluated_get(depsgraph).matrix_world.decompose()
            positions.append(tuple(location))
            orientations.append(tuple(rotation))
        return np.array(positions), np.array(orientations)


def _add_object(body: topple.Body, collection: bpy.types.Collection, boxes: bool) -> bpy.types.Object:
    item = bpy.data.objects.new(body.name, _mesh(body.shape))
    item.rotation_mode = "QUATERNION"
    item.location = body.position
    item.rotation_quaternion = body.orientation
    bpy.context.scene.collection.objects.link(item)
    collection.objects.link(item)  # makes it a rigid body
    rigid_body = item.rigid_body
    rigid_body.type = "ACTIVE" if body.kind == "dynamic" else "PASSIVE"
    if isinstance(body.shape, topple.Sphere):
        rigid_body.collision_shape = "SPHERE"
    elif boxes and isinstance(body.shape, topple.Box):
        rigid_body.collision_shape = "BOX"
    else:
        rigid_body.collision_shape = "CONVEX_HULL"
    if body.kind == "dynamic":
        rigid_body.mass = body.mass
    rigid_body.friction = material_root(body.friction)
    rigid_body.restitution = material_root(body.restitution)
    rigid_body.linear_damping = 0.0
    rigid_body.angular_damping = 0.0
    return item


def _mesh(shape: topple.Box | topple.Sphere | topple.ConvexHull) -> bpy.types.Mesh:
    """The mesh an artist would have; boxes and spheres take their collision shape from its bounds."""
    if isinstance(shape, topple.ConvexHull):
        points = np.asarray(shape.points)
    else:
        half = 0.5 * np.asarray(shape.size) if isinstance(shape, topple.Box) else np.full(3, shape.radius)
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        points = signs * half
    mesh = bpy.data.meshes.new("hull")
    mesh.from_pydata(points.tolist(), [], ConvexHull(points).simplices.tolist())
    return mesh
