"""Rapier through its own Python package: default integration parameters, one thread.

Rapier combines coefficients by the average unless told otherwise; told here to use the geometric mean.
"""

import numpy as np
import rapier3d
import topple


class World:
    def __init__(self, scene: topple.Scene, *, time_step: float, steps_per_frame: int) -> None:
        self.world = rapier3d.PhysicsWorld(gravity=tuple(scene.gravity))
        self.world.set_num_threads(1)
        self.world.integration_parameters.dt = time_step
        self.steps_per_frame = steps_per_frame
        self.handles = [self.world.add_body(_body(body), [_collider(body)]) for body in scene.bodies]

    def advance(self) -> None:
        for _ in range(self.steps_per_frame):
            self.world.step()

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        bodies = [self.world.rigid_bodies[handle] for handle in self.handles]
        positions = [(b.translation.x, b.translation.y, b.translation.z) for b in bodies]
        orientations = [(b.rotation.w, b.rotation.i, b.rotation.j, b.rotation.k) for b in bodies]
        return np.array(positions), np.array(orientations)


def _body(body: topple.Body) -> rapier3d.RigidBodyBuilder:
    kind = rapier3d.RigidBodyType.DYNAMIC if body.kind == "dynamic" else rapier3d.RigidBodyType.FIXED
    pose = rapier3d.Isometry3(tuple(body.position), rapier3d.Rotation3.from_quaternion(*body.orientation))
    return rapier3d.RigidBodyBuilder(kind).position(pose).can_sleep(False)


def _collider(body: topple.Body) -> rapier3d.ColliderBuilder:
    shape = body.shape
    if isinstance(shape, topple.Box):
        collider = rapier3d.Collider.cuboid(*(0.5 * edge for edge in shape.size))
    elif isinstance(shape, topple.Sphere):
        collider = rapier3d.Collider.ball(shape.radius)
    else:
        collider = rapier3d.Collider.convex_hull(np.asarray(shape.points, dtype=np.float32))
    if body.kind == "dynamic":
        collider = collider.mass(body.mass)
    mean = rapier3d.CoefficientCombineRule.GEOMETRIC_MEAN
    collider = collider.friction(body.friction).friction_combine_rule(mean)
    return collider.restitution(body.restitution).restitution_combine_rule(mean)
