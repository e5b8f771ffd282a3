"""Support points of round shapes: as far along a direction as any point of the shape, and no farther."""

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation
from topple.geometry.shape_table import build_shape_table
from topple.geometry.support import support_point
from topple.jit import kernel
from topple.math3 import mat3, vec3


@kernel
def support_along(shapes, r, n, found_out):
    """Write the point of the first shape, turned by r, that is farthest along n, world axes."""
    turned = mat3.load(r, 0)
    local = mat3.transform_transposed(turned, vec3.load(n, 0))
    found_out[0], found_out[1], found_out[2] = mat3.transform(
        turned, support_point(shapes, np.int64(0), local)
    )


@pytest.mark.parametrize("shape", [topple.Cylinder(0.7, 0.3), topple.Cone(0.7, 0.3)], ids=repr)
def test_along_the_axis(shape):
    """A cap faces along its axis but for round-off: a point of its rim, or its centre, is farthest.

    The rim's plane is h / 2 from the middle, and its points r from its centre.
    """
    rng = np.random.default_rng(1)
    table, _, _ = build_shape_table([(shape, np.zeros(3), Rotation.random(random_state=rng).as_matrix())])
    for tilt in (0.0, 1e-17, 1e-14, 1e-11, 1e-9, 1e-7, 1e-3):
        for _ in range(50):
            rotation = Rotation.random(random_state=rng).as_matrix()
            axis = rotation @ table.axis[0]
            across = np.cross(axis, rng.normal(size=3))
            n = -axis + tilt * across / np.linalg.norm(across)
            n /= np.linalg.norm(n)
            found = np.zeros(3)
            support_along(table, rotation.reshape(1, 9), n[None], found)
            width = np.linalg.norm(n - (n @ axis) * axis)
            farthest = 0.5 * shape.height * abs(n @ axis) + shape.radius * width
            assert abs(found @ n - farthest) <= 2e-8 * shape.radius
            assert abs(found @ axis + 0.5 * shape.height) <= 2e-8 * shape.radius


def test_capsule_falls_onto_a_cap_turned_anyhow():
    """A cylinder's cap that is part of a body holds a capsule, whatever way both are turned."""
    cap = topple.Cylinder(0.6, 0.4)
    for seed in range(6):
        part = Rotation.random(random_state=seed)
        up = part.inv()  # turns the cap's axis up
        shape = topple.Compound([(cap, (0.1, 0.2, -0.1), part.as_quat(scalar_first=True))])
        stand = topple.Body(
            "stand", shape, kind="static", orientation=up.as_quat(scalar_first=True),
            position=-up.apply((0.1, 0.2, -0.1)),
        )  # fmt: skip
        turn = Rotation.from_euler("zx", (0.7 * seed, np.pi / 2))
        capsule = topple.Body(
            "capsule", topple.Capsule(0.1, 0.5), position=(0.0, 0.0, 0.5), friction=1.0,
            orientation=turn.as_quat(scalar_first=True),
        )  # fmt: skip
        scene = topple.Scene(bodies=[stand, capsule])
        trajectory = topple.simulate(scene, seconds=0.5)
        assert abs(trajectory.position[-1, 1, 2] - 0.3) < 1e-4
