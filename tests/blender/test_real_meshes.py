"""Meshes nobody made for this project: those that come with PyBullet, dropped in a heap and baked.

They are what artists' meshes are: of several parts, with the origin anywhere, far from convex.
"""

from pathlib import Path

import bpy
import numpy as np
import pytest
import topple
from blender.objects import make_body, world_path
from topple_extension.addon.scene_reader import read_scene

data = pytest.importorskip("pybullet_data", reason="LEFT OUT: `pip install pybullet` brings these meshes")
FOLDER = Path(data.getDataPath())
# Some of the thousand random objects, and the bunny.
MESHES = [FOLDER / "random_urdfs" / name / f"{name}.obj" for name in ("000", "150", "450", "800")]
MESHES += [FOLDER / "bunny.obj"]
FRAMES = 20
WIDTH = 0.09  # [m] of the widest side of each, once scaled


@pytest.fixture
def heap() -> None:
    """The meshes above each other over a plane, each turned another way."""
    bpy.ops.mesh.primitive_plane_add(size=4.0)
    make_body(bpy.context.object, kind="STATIC", shape="PLANE")
    for level, path in enumerate(MESHES):
        bpy.ops.wm.obj_import(filepath=str(path), use_split_objects=False)
        [obj] = bpy.context.selected_objects
        obj.scale = [WIDTH / max(obj.dimensions)] * 3
        obj.rotation_euler = (0.7 * level, 1.1 * level, 0.0)
        bpy.context.view_layer.update()
        middle = np.array(obj.matrix_world)[:3, :3] @ np.mean(obj.bound_box, axis=0)
        obj.location = (0.01 * (level % 2), 0.0, 0.07 + 0.13 * level) - middle
        make_body(obj, density=700.0)
    bpy.context.scene.frame_end = bpy.context.scene.frame_start + FRAMES


@pytest.mark.slow
@pytest.mark.usefixtures("heap")
def test_heap_of_real_meshes() -> None:
    reading = read_scene(bpy.context)
    assert bpy.ops.topple.bake() == {"FINISHED"}

    trajectory = topple.simulate(reading.scene, frames=FRAMES, fps=reading.fps)
    check = topple.verify(reading.scene, trajectory)
    assert check.max_penetration <= 1e-4
    assert not check.warnings

    first = bpy.context.scene.frame_start
    for target in reading.keyed:
        body = trajectory.names.index(target.name)
        played = world_path(bpy.data.objects[target.name], range(first, first + FRAMES + 1))
        np.testing.assert_allclose(played[:, :3, 3], trajectory.position[:, body], atol=1e-6)
