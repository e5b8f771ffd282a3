"""What the saved file shows in a Blender that knows nothing of Topple.

    python playback.py FILE.blend OUT.npz

Run in a process of its own: the add-on is not registered there, and its folder is not on the path.
"""

import sys

import bpy
import numpy as np


def record_poses(blend: str, output: str) -> None:
    """Play a file from first to last frame and save the world matrix of every mesh object."""
    assert not hasattr(bpy.types.Object, "topple"), "the add-on is registered in this process"
    bpy.ops.wm.open_mainfile(filepath=blend)
    scene = bpy.context.scene
    names = [obj.name for obj in scene.objects if obj.type == "MESH"]
    matrices = []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        matrices.append(
            [np.array(scene.objects[name].evaluated_get(depsgraph).matrix_world) for name in names]
        )
    np.savez(output, names=np.array(names), matrices=np.array(matrices))


if __name__ == "__main__":
    record_poses(sys.argv[1], sys.argv[2])
