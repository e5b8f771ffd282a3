"""Random shapes and orientations for tests that try every pair of shapes."""

import numpy as np
import topple
from scipy.spatial.transform import Rotation

SHAPES = ("sphere", "box", "capsule", "cylinder", "cone", "hull", "needle", "plate")


def random_shape(kind: str, rng: np.random.Generator, size: float = 1.0) -> topple.Shape:
    """A shape of one of the SHAPES, of random proportions, about `size` [m] large.

    A needle is thin along one or two axes, a plate wide and thin.
    """
    radius, height = size * rng.uniform(0.2, 0.6), size * rng.uniform(0.3, 1.2)
    return {
        "sphere": lambda: topple.Sphere(radius),
        "box": lambda: topple.Box(size * rng.uniform(0.3, 1.2, 3)),
        "needle": lambda: topple.Box(size * np.array([0.004, *rng.uniform(0.02, 1.5, 2)])),
        "plate": lambda: topple.Box(size * np.array([0.01, *rng.uniform(2.0, 4.0, 2)])),
        "capsule": lambda: topple.Capsule(radius, height),
        "cylinder": lambda: topple.Cylinder(radius, height),
        "cone": lambda: topple.Cone(radius, height),
        "hull": lambda: topple.ConvexHull(rng.normal(size=(rng.integers(4, 40), 3)) * 0.4 * size),
    }[kind]()


def random_orientation(rng: np.random.Generator) -> np.ndarray:
    """A unit quaternion (w, x, y, z), uniform over rotations."""
    quaternion = rng.normal(size=4)
    return quaternion / np.linalg.norm(quaternion)


def random_turn(rng: np.random.Generator) -> Rotation:
    """The same as a rotation."""
    return Rotation.from_quat(random_orientation(rng), scalar_first=True)


def any_solid(rng: np.random.Generator, size: float = 1.0) -> topple.Shape:
    """A shape of ordinary proportions, or two or three of them as one body."""
    ordinary = SHAPES[:6]
    if rng.random() < 0.7:
        return random_shape(rng.choice(ordinary), rng, size)
    return topple.Compound(
        [
            (random_shape(rng.choice(ordinary), rng, 0.6 * size), rng.uniform(-0.4, 0.4, 3) * size,
             random_orientation(rng))
            for _ in range(rng.integers(2, 4))
        ]
    )  # fmt: skip
