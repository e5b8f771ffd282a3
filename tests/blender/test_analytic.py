"""Scenes of Baraff's papers from a .blend, baked with the analytic solver."""

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
import scenes
import topple
from blender.objects import add_cube, add_mesh, make_body, world_path

SHEET = [(-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)]


def build_in_blender(scene: topple.Scene) -> None:
    """The boxes of a scene as scaled cubes on a ground plane."""
    make_body(add_mesh("ground", SHEET, [(0, 1, 2, 3)]), kind="STATIC", shape="PLANE", friction=0.6)
    for body in scene.bodies:
        if body.kind == "dynamic":
            cube = add_cube(body.name, location=body.position, scale=np.array(body.shape.size) / 2)
            make_body(
                cube, shape="BOX", mass_mode="MASS", mass=body.mass, friction=body.friction,
                linear_velocity=body.linear_velocity, angular_velocity=body.angular_velocity,
            )  # fmt: skip


@pytest.mark.parametrize(
    ("build", "frames", "faller"),
    [
        pytest.param(lambda: scenes.dominoes(2), 13, "domino_00", id="dominoes"),
        pytest.param(scenes.overbalanced_stack, 8, "brick_4", id="overbalanced stack"),
    ],
)
def test_bake_from_a_file(
    build: Callable[[], topple.Scene], frames: int, faller: str, tmp_path: Path
) -> None:
    """Saved with the solver chosen, opened again, baked: the path is that of the core, and it falls."""
    scene = build()
    build_in_blender(scene)
    bpy.context.scene.topple.solver = "analytic"
    bpy.context.scene.frame_end = frames
    path = str(tmp_path / "scene.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert bpy.context.scene.topple.solver == "analytic"
    assert bpy.ops.topple.bake() == {"FINISHED"}
    heights = world_path(bpy.data.objects[faller], range(1, frames + 1))[:, 2, 3]
    assert heights[-1] < heights[0] - 0.01
    trajectory = topple.simulate(scene, frames=frames - 1, fps=24, solver="analytic")
    expected = trajectory.position[:, trajectory.names.index(faller), 2]
    np.testing.assert_allclose(heights, expected, atol=1e-4)
