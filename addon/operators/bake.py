"""Bake the simulation into keyframes, and take the bake away again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import bpy

from ... import core
from .. import messages
from ..previous_animation import bake_of, forget, give_back, remove_unused

PROGRESS_STEPS = 1000


class Bake(bpy.types.Operator):
    bl_idname = "topple.bake"
    bl_label = "Bake"
    bl_description = "Simulate all Topple bodies over the scene's frame range and key the result"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        from ..baking import bake_scene  # loads the solver, for which Blender's start need not wait

        try:
            with _progress_shown(context.window_manager) as progress:
                summary = bake_scene(context, progress)
        except core.ToppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        for warning in summary.warnings:
            self.report({"WARNING"}, warning)
        self.report({"INFO"}, messages.bake_finished(summary.bodies, summary.frames, summary.max_penetration))
        return {"FINISHED"}


class ClearBake(bpy.types.Operator):
    bl_idname = "topple.clear_bake"
    bl_label = "Clear Bake"
    bl_description = "Remove the keyframes of the bake and give back the animation and poses from before"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not any(obj.topple.previous.stored for obj in context.scene.objects):
            cls.poll_message_set(messages.NOTHING_BAKED)
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        bakes = []
        for obj in context.scene.objects:
            bake = bake_of(obj)
            if bake is not None:
                bakes.append(bake)
                give_back(obj)
            elif obj.topple.previous.stored:
                forget(obj)  # the artist has put another action in the bake's place: it stays
        remove_unused(bakes)
        context.view_layer.update()
        self.report({"INFO"}, messages.bake_cleared(len(bakes)))
        return {"FINISHED"}


@contextmanager
def _progress_shown(manager: bpy.types.WindowManager) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress at the cursor for the time of the block."""
    manager.progress_begin(0, PROGRESS_STEPS)
    try:
        yield lambda _stage, done, total: manager.progress_update(PROGRESS_STEPS * done // max(total, 1))
    finally:
        manager.progress_end()


CLASSES = (Bake, ClearBake)
