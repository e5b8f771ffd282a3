"""Bakes with the extension as it is installed; see scripts/test_extension, which runs this in Blender."""

import os
from pathlib import Path

import bpy
import llvmlite
import numba
import scipy

FRAMES, FPS, HEIGHT, GRAVITY = 4, 24.0, 5.0, 9.81
PLACE_ERROR = 1e-6  # [m] keyframes have single precision, of numbers up to 5


def crate() -> bpy.types.Object:
    """Blender's own cube as a body in the air, above a ground."""
    obj = bpy.data.objects["Cube"]
    obj.location = (0, 0, HEIGHT)
    obj.topple.enabled = True
    bpy.ops.mesh.primitive_plane_add(size=10)
    ground = bpy.context.object.topple
    ground.enabled, ground.kind, ground.shape = True, "STATIC", "PLANE"
    return obj


def main() -> None:
    profile = Path(os.environ["BLENDER_USER_RESOURCES"]).resolve()
    for module in (numba, llvmlite, scipy):
        assert Path(module.__file__).resolve().is_relative_to(profile), (
            f"{module.__file__} is not the wheel's"
        )
    numba.config.DISABLE_JIT = False  # the solver's kernels are plain Python here; that the compiler works:
    assert numba.njit(lambda x: 2.0 * x + 1.0)(3.0) == 7.0
    numba.config.DISABLE_JIT = True

    obj = crate()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = 1, 1 + FRAMES, int(FPS)
    assert bpy.ops.topple.bake() == {"FINISHED"}
    scene.frame_set(1 + FRAMES)
    expected = HEIGHT - 0.5 * GRAVITY * (FRAMES / FPS) ** 2
    assert abs(obj.location.z - expected) < PLACE_ERROR, (obj.location.z, expected)
    assert len(obj.animation_data.action.layers[0].strips[0].channelbags[0].fcurves[0].keyframe_points) == 5
    print(f"the installed extension has baked: {obj.location.z:.6f} m after {FRAMES} frames")


main()
