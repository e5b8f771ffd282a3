"""Energy and momentum of a scene in given states.

Every function takes a scene and states with arrays of shape (..., bodies, 3 or 4), bodies in the
scene's order: a `Trajectory`, or `Simulation.state`. Only bodies that forces can move count: dynamic
ones, and kinematic ones that are released at some time.

Legend: p_WC centre of mass in the world, v_WC its velocity, R_WB body to world axes, w_WB angular velocity.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .forces import Spring, UniformField
from .scene import Scene

Array = NDArray[np.float64]


class States(Protocol):
    """Positions [m], orientations, and velocities [m/s], [rad/s], as in `Trajectory`."""

    @property
    def position(self) -> Array: ...  # noqa: D102
    @property
    def orientation(self) -> Array: ...  # noqa: D102
    @property
    def linear_velocity(self) -> Array: ...  # noqa: D102
    @property
    def angular_velocity(self) -> Array: ...  # noqa: D102


def rotation_matrices(orientation: Array) -> Array:
    """Rotation matrices R_WB, shape (..., 3, 3), of unit quaternions (w, x, y, z), shape (..., 4)."""
    w, x, y, z = np.moveaxis(orientation, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


class MassTable(NamedTuple):
    """What energy and momentum need of a scene's bodies; those that no force moves have no mass.

    Attributes:
        mass: [kg], shape (bodies,).
        inertia: About the centres of mass in body axes [kg m^2], shape (bodies, 3, 3).
        center: Centres of mass in the bodies' frames [m], shape (bodies, 3).
        gravity: Of each body, uniform fields included [m/s^2], shape (bodies, 3).
    """

    mass: Array
    inertia: Array
    center: Array
    gravity: Array

    @classmethod
    def of(cls, scene: Scene) -> "MassTable":
        """That of a scene as it is now."""
        bodies = scene.bodies
        return cls(
            np.array([body.mass if body.is_movable else 0.0 for body in bodies]),
            np.array([body.inertia * body.is_movable for body in bodies]).reshape(-1, 3, 3),
            np.array([body.center_of_mass for body in bodies]).reshape(-1, 3),
            np.array([_gravity_of(scene, body.name) for body in bodies]).reshape(-1, 3),
        )

    def centers_of_mass(self, states: States) -> Array:
        """As the function of this name."""
        R_WB = rotation_matrices(states.orientation)
        return states.position + np.einsum("...nij,nj->...ni", R_WB, self.center)

    def kinetic_energy(self, states: States) -> Array:
        """As the function of this name."""
        v_WC = states.linear_velocity
        spin = (states.angular_velocity * self.spin_momenta(states)).sum(axis=-1)
        return ((self.mass * (v_WC * v_WC).sum(axis=-1) + spin) / 2).sum(axis=-1)

    def potential_energy(self, states: States) -> Array:
        """As the function of this name."""
        return -(self.mass * (self.centers_of_mass(states) * self.gravity).sum(axis=-1)).sum(axis=-1)

    def spin_momenta(self, states: States) -> Array:
        """R I R^T w_WB of each body [kg m^2/s], shape (..., bodies, 3)."""
        R_WB = rotation_matrices(states.orientation)
        w_B = np.einsum("...nji,...nj->...ni", R_WB, states.angular_velocity)
        return np.einsum("...nij,njk,...nk->...ni", R_WB, self.inertia, w_B)


def _gravity_of(scene: Scene, name: str) -> Array:
    """Gravity and the uniform fields that act on a body [m/s^2], shape (3,)."""
    fields = [force for force in scene.forces if isinstance(force, UniformField)]
    own = [
        np.asarray(field.acceleration, float)
        for field in fields
        if field.bodies is None or name in field.bodies
    ]
    return np.sum([scene.gravity, *own], axis=0)


def centers_of_mass(scene: Scene, states: States) -> Array:
    """Centres of mass p_WC, world frame [m], shape (..., bodies, 3); `position` is the body origin."""
    return MassTable.of(scene).centers_of_mass(states)


def kinetic_energy(scene: Scene, states: States) -> Array:
    """Kinetic energy of all bodies [J], shape (...).

    Equation: T = sum of (m v_WC^2 + w_WB . I w_WB) / 2
    """
    return MassTable.of(scene).kinetic_energy(states)


def potential_energy(scene: Scene, states: States) -> Array:
    """Energy of bodies in gravity and uniform fields, and of springs [J], shape (...).

    That in gravity is zero at the world's origin, that of a spring where it has its length.

    Equation: U = -sum of m g . p_WC + sum of k (|p_a - p_b| - length)^2 / 2
    """
    return MassTable.of(scene).potential_energy(states) + spring_energy(scene, states)


def spring_energy(scene: Scene, states: States) -> Array:
    """Energy of all springs [J], shape (...)."""
    index = {body.name: i for i, body in enumerate(scene.bodies)}
    total = np.zeros(states.position.shape[:-2])
    for spring in scene.forces:
        if isinstance(spring, Spring):
            ends = [
                np.asarray(point, float) if name is None else _point_of(states, index[name], point)
                for name, point in ((spring.body_a, spring.point_a), (spring.body_b, spring.point_b))
            ]
            stretch = np.linalg.norm(ends[0] - ends[1], axis=-1) - spring.length
            total += 0.5 * spring.stiffness * stretch**2
    return total


def _point_of(states: States, body: int, point: ArrayLike) -> Array:
    """A point of a body's frame in the world [m], shape (..., 3)."""
    R_WB = rotation_matrices(states.orientation[..., body, :])
    return states.position[..., body, :] + R_WB @ np.asarray(point, float)


def total_energy(scene: Scene, states: States) -> Array:
    """Kinetic plus potential energy [J], shape (...)."""
    return kinetic_energy(scene, states) + potential_energy(scene, states)


def linear_momentum(scene: Scene, states: States) -> Array:
    """Linear momentum of all bodies, world frame [kg m/s], shape (..., 3)."""
    return (MassTable.of(scene).mass[:, None] * states.linear_velocity).sum(axis=-2)


def angular_momentum(scene: Scene, states: States) -> Array:
    """Angular momentum of all bodies about the world's origin [kg m^2/s], shape (..., 3).

    Equation: L = sum of p_WC x m v_WC + I w_WB
    """
    table = MassTable.of(scene)
    momenta = table.mass[:, None] * states.linear_velocity
    return (np.cross(table.centers_of_mass(states), momenta) + table.spin_momenta(states)).sum(axis=-2)
