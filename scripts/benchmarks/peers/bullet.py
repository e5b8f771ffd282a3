"""Bullet through PyBullet: 50 solver iterations and contact margins at their defaults.

PyBullet multiplies the coefficients of a pair. Its damping (0.04 by default) and sleeping are switched off.
`useMaximalCoordinates` makes plain rigid bodies of what would be articulated ones of one link: the same
result, two to three times faster.
"""

import numpy as np
import pybullet
import topple

from . import material_root


class World:
    def __init__(self, scene: topple.Scene, *, time_step: float, steps_per_frame: int) -> None:
        self.client = pybullet.connect(pybullet.DIRECT)
        self.steps_per_frame = steps_per_frame
        pybullet.setGravity(*scene.gravity, physicsClientId=self.client)
        pybullet.setTimeStep(time_step, physicsClientId=self.client)
        self.bodies = [self._add(body) for body in scene.bodies]

    def advance(self) -> None:
        for _ in range(self.steps_per_frame):
            pybullet.stepSimulation(physicsClientId=self.client)

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        poses = [
            pybullet.getBasePositionAndOrientation(body, physicsClientId=self.client) for body in self.bodies
        ]
        positions = np.array([position for position, _ in poses])
        x, y, z, w = np.array([orientation for _, orientation in poses]).T
        return positions, np.column_stack([w, x, y, z])

    def _add(self, body: topple.Body) -> int:
        w, x, y, z = body.orientation
        index = pybullet.createMultiBody(
            baseMass=body.mass if body.kind == "dynamic" else 0.0,
            baseCollisionShapeIndex=_shape(body.shape, self.client),
            basePosition=list(body.position),
            baseOrientation=[x, y, z, w],
            useMaximalCoordinates=True,
            physicsClientId=self.client,
        )
        pybullet.changeDynamics(
            index,
            -1,
            lateralFriction=material_root(body.friction),
            restitution=material_root(body.restitution),
            linearDamping=0.0,
            angularDamping=0.0,
            activationState=pybullet.ACTIVATION_STATE_DISABLE_SLEEPING,
            physicsClientId=self.client,
        )
        return index


def _shape(shape: topple.Box | topple.Sphere | topple.ConvexHull, client: int) -> int:
    if isinstance(shape, topple.Box):
        half = [0.5 * edge for edge in shape.size]
        return pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half, physicsClientId=client)
    if isinstance(shape, topple.Sphere):
        return pybullet.createCollisionShape(
            pybullet.GEOM_SPHERE, radius=shape.radius, physicsClientId=client
        )
    points = np.asarray(shape.points).tolist()
    return pybullet.createCollisionShape(pybullet.GEOM_MESH, vertices=points, physicsClientId=client)
