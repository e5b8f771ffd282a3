"""What operators that work behind the window have in common."""

import bpy

TICK = 0.05  # seconds between looks at the worker


class BehindWindow:
    """Listens to the window while a thread works; a base of operators."""

    _timer = None

    def _listen(self, context: bpy.types.Context) -> set[str]:
        """Have `modal` called at every tick and for every event."""
        self._timer = context.window_manager.event_timer_add(TICK, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def _stop(self, context: bpy.types.Context) -> None:
        """Take the timer and the line at the bottom of the window away."""
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
            self._timer = None
        if context.workspace is not None:
            context.workspace.status_text_set(None)
