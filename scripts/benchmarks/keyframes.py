"""How long keyframes take: 1000 objects x 250 frames written by the add-on in the bpy wheel.

As a script it is the process that is measured and prints its seconds as JSON.
"""

import json
import subprocess
import sys
import time

OBJECTS, FRAMES = 1000, 250


def measure_keyframes() -> dict[str, object]:
    """Seconds of `write_trajectory`, first and over an earlier bake, and the Blender it ran in."""
    finished = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    return json.loads(finished.stdout.splitlines()[-1])


def _measure() -> dict[str, object]:
    import bpy
    import numpy as np
    import topple
    from checkout import load_extension
    from scipy.spatial.transform import Rotation

    load_extension(topple).register()
    from topple_extension.addon.bake_frames import BodyPaths
    from topple_extension.addon.scene_reader import read_scene
    from topple_extension.addon.trajectory_writer import write_trajectory

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.frame_end = FRAMES
    bpy.ops.mesh.primitive_cube_add()
    mesh = bpy.context.object.data
    for index in range(OBJECTS):
        item = bpy.data.objects.new(f"cube {index}", mesh)
        item.location = (3.0 * (index % 32), 3.0 * (index // 32), 0.0)
        bpy.context.scene.collection.objects.link(item)
        item.topple.enabled = True
    reading = read_scene(bpy.context)
    random = np.random.default_rng(0)
    shape = (FRAMES + 1, len(reading.scene.bodies))
    turned = Rotation.random(shape[0] * shape[1], random_state=0).as_quat(scalar_first=True)
    paths = BodyPaths(
        tuple(body.name for body in reading.scene.bodies),
        random.normal(size=(*shape, 3)),
        turned.reshape(*shape, 4),
    )
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        write_trajectory(reading.keyed, paths, reading.unit, reading.first_frame)
        seconds.append(time.perf_counter() - start)
    return {
        "first": seconds[0],
        "again": max(seconds[1:]),
        "blender": bpy.app.version_string,
        "keys": OBJECTS * FRAMES,
    }


if __name__ == "__main__":
    print(json.dumps(_measure()))
