"""Everything Topple adds to Blender, and takes away again."""

import os

import bpy

from . import (
    cli,
    handlers,
    live_bakes,
    operators,
    overlay,
    overlay_labels,
    panels,
    plot_icons,
    properties,
    simulation_panels,
    velocity_gizmo,
)
from .operators.bake import look_again

CLASSES = (
    *properties.CLASSES,
    *operators.CLASSES,
    *panels.CLASSES,
    *simulation_panels.CLASSES,
    *velocity_gizmo.CLASSES,
)
EXTENSION = __package__.rpartition(".")[0]

_commands: list = []  # handles of registered command line commands


def register() -> None:
    """Add classes, properties and the command."""
    _choose_kernel_cache()
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    properties.register_pointers()
    bpy.types.VIEW3D_MT_object.append(panels.draw_object_menu)
    handlers.add()
    overlay.add()
    overlay_labels.add()
    plot_icons.add()
    _commands.append(bpy.utils.register_cli_command(cli.COMMAND, cli.run))


def unregister() -> None:
    """Remove what `register` added, in reverse order."""
    bpy.utils.unregister_cli_command(_commands.pop())
    plot_icons.remove()
    overlay_labels.remove()
    overlay.remove()
    handlers.remove()
    bpy.types.VIEW3D_MT_object.remove(panels.draw_object_menu)
    live_bakes.forget_all()
    if bpy.app.timers.is_registered(look_again):
        bpy.app.timers.unregister(look_again)
    properties.unregister_pointers()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)


def _choose_kernel_cache() -> None:
    """Keep compiled kernels in the extension's user folder: its own is cleared on upgrades.

    Outside an installed extension, as in tests, the core's own choice stands.
    """
    if EXTENSION.startswith("bl_ext."):
        folder = bpy.utils.extension_path_user(EXTENSION, path="numba_cache", create=True)
        os.environ.setdefault("TOPPLE_CACHE_DIR", folder)
