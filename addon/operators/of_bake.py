"""What operators that take something out of a bake have in common."""

import bpy

from .. import live_bakes, messages


class OfBake:
    """Needs a bake that has ended; a base of operators."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        bake = live_bakes.of_scene(context.scene)
        if bake is None or not bake.frames or bake.running:
            cls.poll_message_set(messages.NO_BAKE_TO_WRITE)
            return False
        return True
