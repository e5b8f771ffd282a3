"""Drop and Settle: let objects fall where they are, for set dressing."""

import time as clock

import bpy
from bpy.props import FloatProperty

from ... import core
from .. import live_bakes, messages
from .behind_window import BehindWindow
from .bodies import SOLID_TYPES


class Settle(BehindWindow, bpy.types.Operator):
    bl_idname = "topple.settle"
    bl_label = "Drop and Settle"
    bl_description = (
        "Let the selected objects fall onto everything else until they rest, and leave them there; they need "
        "not be Topple bodies"
    )
    bl_options = {"REGISTER", "UNDO"}

    seconds: FloatProperty(
        name="Time Limit",
        description="Longest time that the objects may fall, in seconds of their time",
        default=10.0,
        min=0.1,
        soft_max=60.0,
        unit="TIME_ABSOLUTE",
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if live_bakes.running() is not None:
            cls.poll_message_set(messages.ALREADY_BAKING)
            return False
        if context.mode != "OBJECT" or not any(obj.type in SOLID_TYPES for obj in context.selected_objects):
            cls.poll_message_set(messages.SELECT_OBJECTS)
            return False
        return True

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if bpy.app.background:
            return self.execute(context)
        if not self._read(context):
            return {"CANCELLED"}
        self._settling.job.start()
        return self._listen(context)

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        job = self._settling.job
        if event.type == "ESC" and event.value == "PRESS":
            job.cancel()
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}  # nothing may change under the falling objects
        ended = job.tick()
        context.workspace.status_text_set(None if ended else messages.settling(job))
        if not ended:
            return {"RUNNING_MODAL"}
        self._stop(context)
        if job.state == "cancelled":
            self.report({"INFO"}, messages.SETTLE_CANCELLED)
            return {"CANCELLED"}
        return self._apply(context)

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender closes, or loads another file."""
        self._stop(context)
        self._settling.job.cancel()
        self._settling.job.join(live_bakes.LONGEST_FRAME)

    def execute(self, context: bpy.types.Context) -> set[str]:
        if not self._read(context):
            return {"CANCELLED"}
        self._settling.job.run(lambda _stage, _done, _total: None)
        return self._apply(context)

    def _read(self, context: bpy.types.Context) -> bool:
        from ..settling import Settling  # loads the solver, which Blender's start need not

        self._begin = clock.monotonic()
        try:
            self._settling = Settling(context, self.seconds)
        except core.ToppleError as error:
            self.report({"ERROR"}, str(error))
            return False
        return True

    def _apply(self, context: bpy.types.Context) -> set[str]:
        settling = self._settling
        if settling.job.state == "failed":
            self.report({"ERROR"}, settling.job.error)
            return {"CANCELLED"}
        count = settling.apply()
        context.view_layer.update()
        if not settling.at_rest:
            self.report({"WARNING"}, messages.not_at_rest(settling.job.moving, self.seconds))
        self.report({"INFO"}, messages.settled(count, clock.monotonic() - self._begin))
        return {"FINISHED"}


CLASSES = (Settle,)
