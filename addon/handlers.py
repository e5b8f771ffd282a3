"""What Topple does when Blender changes the frame, the scene, or the file."""

from typing import Any

import bpy
from bpy.app.handlers import persistent

from . import live_bakes, preview, watch


@persistent
def show_preview(scene: bpy.types.Scene, *_: Any) -> None:
    """Put the bodies where their bake has them, before Blender evaluates the frame."""
    bake = live_bakes.of_scene(scene)
    if bake is not None:
        preview.show(scene, bake)


@persistent
def note_change(*_: Any) -> None:
    """Something may differ from what was baked."""
    watch.mark_dirty()


@persistent
def go_on_after_undo(*_: Any) -> None:
    """Undo or redo has put other data in place: a bake that runs goes on with them."""
    watch.mark_dirty()
    bake = live_bakes.after_undo()
    if bake is not None and bake.frames:
        preview.begin(bake)


@persistent
def forget_file(*_: Any) -> None:
    """Another file is about to be loaded."""
    live_bakes.forget_all()


HANDLERS = {
    "frame_change_pre": show_preview,
    "depsgraph_update_post": note_change,
    "undo_post": go_on_after_undo,
    "redo_post": go_on_after_undo,
    "load_pre": forget_file,
}


def add() -> None:
    """Have Blender call them."""
    for event, handler in HANDLERS.items():
        getattr(bpy.app.handlers, event).append(handler)


def remove() -> None:
    """Take them back."""
    for event, handler in HANDLERS.items():
        getattr(bpy.app.handlers, event).remove(handler)
