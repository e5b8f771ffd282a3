"""Bake the simulation: behind the window, or in a plain loop where there is none."""

import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty

from ... import core
from .. import live_bakes, messages, watch
from ..show_pace import ShowPace
from ..slices import Slices, completed
from .behind_window import BehindWindow

if TYPE_CHECKING:
    from ..slices import Steps

PROGRESS_STEPS = 1000
LOOK_LATER = 0.5  # seconds from a bake's end, when all is drawn, until what changed meanwhile is looked at
SLICE = 0.04  # seconds of reading between two redraws of the window
PROGRESS_EVERY = 0.25  # seconds between two pictures of the progress: drawing a sidebar takes a tenth of them


class Bake(BehindWindow, bpy.types.Operator):
    bl_idname = "topple.bake"
    bl_label = "Bake"
    bl_description = "Simulate all Topple bodies over the scene's frame range"
    bl_options = {"REGISTER", "UNDO"}

    keyframes: BoolProperty(
        name="Keyframes",
        description="Write keyframes when the bake is complete; else it is shown from its cache",
        default=True,
    )
    cache: BoolProperty(
        name="Keep on Disk",
        description="Keep the bake in a folder beside the file, to show it or go on with it after a restart",
        default=False,
    )
    resume: EnumProperty(
        name="Begin",
        description="Where the bake begins",
        items=(
            ("START", "At the Start", "Bake all frames"),
            ("LAST", "After the Last Frame", "Go on after the last frame there is"),
            ("CURRENT", "At the Current Frame", "Bake the frames after the current one again"),
        ),
        default="START",
    )

    _reading = None  # the work before the bake, until it is done
    _pace = None  # when to show frames, from the first one on
    _next_progress = 0.0  # time of the next picture of the progress

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if live_bakes.running() is not None:
            cls.poll_message_set(messages.ALREADY_BAKING)
            return False
        return True

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Bake in the background of the window."""
        if bpy.app.background:
            return self.execute(context)
        self._reading = Slices(self._prepare(context))
        self._frame = context.scene.frame_current
        return self._listen(context)

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if self._reading is not None:
            return self._read(context, event, self._reading)
        bake = live_bakes.running()
        if bake is not None and event.type == "ESC" and event.value == "PRESS":
            bake.job.cancel()
            return {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        bake = self._bake
        scene = live_bakes.scene_of(bake)
        if scene is None:
            self._stop(context)
            live_bakes.forget_all()
            self.report({"WARNING"}, messages.SCENE_GONE)
            return {"CANCELLED"}
        ended = bake.job.tick()
        self._show(scene, bake)
        if ended:
            return self._finish(context, scene, bake)
        if clock.monotonic() > self._next_progress:
            self._next_progress = clock.monotonic() + PROGRESS_EVERY
            redraw_panels(context)
            context.workspace.status_text_set(messages.baking(bake.job))
        return {"PASS_THROUGH"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender closes, or loads another file."""
        if self._reading is not None:
            self._reading.close()
        self._stop(context)
        live_bakes.forget_all()

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Bake here and now, as scripts want it."""
        from ..baking import bake_now  # loads the solver, for which Blender's start need not wait

        try:
            bake = completed(self._prepare(context))
        except core.ToppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        try:
            with _progress_shown(context.window_manager) as progress:
                bake_now(bake, progress)
        except core.ToppleError as error:
            live_bakes.withdraw(context.scene)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return self._complete(context, context.scene, bake)

    def _prepare(self, context: bpy.types.Context) -> "Steps[live_bakes.LiveBake]":
        """Read the scene, bit by bit; the bake is ready to start then."""
        from ..scene_reader import read_steps

        reading = yield from read_steps(context)
        watched = yield from watch.watch_steps(context.scene, context.view_layer)
        resume_at = self._resume_frame(context.scene)
        return live_bakes.prepare(context.scene, reading, watched, on_disk=self.cache, resume_at=resume_at)

    def _read(
        self, context: bpy.types.Context, event: bpy.types.Event, reading: "Slices[live_bakes.LiveBake]"
    ) -> set[str]:
        """Go on reading at each tick; until that is done, nothing else is listened to but Esc."""
        if event.type == "ESC" and event.value == "PRESS":
            reading.close()
            self._stop(context)
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        context.workspace.status_text_set(messages.READING)
        watch.postpone(seconds=1.0)
        try:
            if not reading.advance(SLICE):
                return {"RUNNING_MODAL"}
        except core.ToppleError as error:
            self._stop(context)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self._reading = None
        self._bake = reading.result
        self._bake.job.start()
        return {"RUNNING_MODAL"}

    def _resume_frame(self, scene: bpy.types.Scene) -> int | None:
        bake = live_bakes.of_scene(scene)
        if self.resume == "START" or bake is None or not bake.frames:
            return None
        last = len(bake.frames) - 1
        if self.resume == "LAST":
            return last
        return min(max(scene.frame_current - bake.first_frame, 0), last)

    def _show(self, scene: bpy.types.Scene, bake: "live_bakes.LiveBake") -> None:
        """Show the latest frame while more come, no oftener than the window can draw it with ease."""
        from .. import preview

        if self._pace is None:
            if not bake.frames or not (bake.job.rest() or bake.job.ended):
                return
            preview.begin(bake)  # takes five times as long while the thread computes
            bake.job.go_on()
            self._pace = ShowPace(bake.job, clock.monotonic())
        if self._pace.due(clock.monotonic(), wanted=scene.topple.follow):
            scene.frame_set(bake.first_frame + len(bake.frames) - 1)

    def _finish(
        self, context: bpy.types.Context, scene: bpy.types.Scene, bake: "live_bakes.LiveBake"
    ) -> set[str]:
        self._stop(context)
        redraw_panels(context)
        watch.postpone(seconds=LOOK_LATER)
        bpy.app.timers.register(look_again, first_interval=2 * LOOK_LATER)
        if scene.topple.follow:
            scene.frame_set(self._frame)
        if bake.job.state == "failed":
            if not bake.frames:
                live_bakes.withdraw(scene)
            self.report({"ERROR"}, bake.job.error)
            return {"CANCELLED"} if not bake.frames else {"FINISHED"}
        return self._complete(context, scene, bake)

    def _complete(
        self, context: bpy.types.Context, scene: bpy.types.Scene, bake: "live_bakes.LiveBake"
    ) -> set[str]:
        from .. import preview
        from ..baking import summary, write_keyframes

        told = summary(bake)
        if self.keyframes and bake.job.state == "finished":
            write_keyframes(context, bake)
        elif bake.frames:
            preview.begin(bake)
            preview.show(scene, bake)
        for warning in told.warnings:
            self.report({"WARNING"}, warning)
        if bake.job.state == "cancelled":
            self.report({"INFO"}, messages.bake_cancelled(told.frames, bake.frame_count))
        else:
            self.report({"INFO"}, messages.bake_finished(told.bodies, told.frames, told.max_penetration))
        return {"FINISHED"}


class CancelBake(bpy.types.Operator):
    bl_idname = "topple.cancel_bake"
    bl_label = "Cancel"
    bl_description = "End the bake after the frame it is at; the frames so far are kept (Esc)"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return live_bakes.running() is not None

    def execute(self, context: bpy.types.Context) -> set[str]:
        live_bakes.running().job.cancel()
        return {"FINISHED"}


def redraw_panels(context: bpy.types.Context) -> None:
    """Have the sidebars that show a bake's progress drawn again, and not the views beside them."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions if area.type == "VIEW_3D" else ():
                if region.type == "UI":
                    region.tag_redraw()


def look_again() -> None:
    """A while after a bake: have the sidebars say what changed while it ran."""
    redraw_panels(bpy.context)


@contextmanager
def _progress_shown(manager: bpy.types.WindowManager) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress at the cursor for the time of the block."""
    manager.progress_begin(0, PROGRESS_STEPS)
    try:
        yield lambda _stage, done, total: manager.progress_update(PROGRESS_STEPS * done // max(total, 1))
    finally:
        manager.progress_end()


CLASSES = (Bake, CancelBake)
