"""Keyframes from a bake, and the way back to what was animated before it."""

import math

import bpy
from bpy.props import BoolProperty, FloatProperty, IntProperty

from .. import live_bakes, messages
from ..previous_animation import bake_of, forget, give_back, is_baked, remove_unused
from .of_bake import OfBake


class WriteKeyframes(OfBake, bpy.types.Operator):
    bl_idname = "topple.write_keyframes"
    bl_label = "Write Keyframes"
    bl_description = "Turn the bake into ordinary keyframes, which need neither its cache nor Topple to play"

    selected_only: BoolProperty(name="Selected Only", description="Leave the other objects as they are")
    nla: BoolProperty(
        name="NLA Track",
        description="Put the keyframes into an NLA track above the others; else they are the object's action",
    )
    step: IntProperty(
        name="Every", description="Frames from one keyframe to the next", default=1, min=1, soft_max=10
    )
    simplify: BoolProperty(
        name="Simplify", description="Leave out keyframes that the curves do not need within a tolerance"
    )
    metres: FloatProperty(
        name="Tolerance (m)",
        description="Largest error of a place at any frame, in metres",
        default=0.001,
        min=0.0,
        precision=4,
        step=0.01,
    )
    radians: FloatProperty(
        name="Tolerance",
        description="Largest error of a rotation at any frame",
        default=math.radians(0.5),
        min=0.0,
        subtype="ANGLE",
    )

    def execute(self, context: bpy.types.Context) -> set[str]:
        from ..baking import KeyChoice, write_keyframes  # loads the solver, which Blender's start need not

        bake = live_bakes.of_scene(context.scene)
        choice = KeyChoice(step=self.step, simplify=self.simplify, metres=self.metres, radians=self.radians)
        count = write_keyframes(context, bake, choice, selected_only=self.selected_only, nla=self.nla)
        self.report({"INFO"}, messages.keyframes_written(count, len(bake.frames)))
        return {"FINISHED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "selected_only")
        layout.prop(self, "nla")
        layout.prop(self, "step")
        layout.prop(self, "simplify")
        column = layout.column()
        column.active = self.simplify
        column.prop(self, "metres")
        column.prop(self, "radians")


class ClearBake(bpy.types.Operator):
    bl_idname = "topple.clear_bake"
    bl_label = "Clear Bake"
    bl_description = (
        "Delete the bake with its keyframes and its cache, and give back the animation and poses from before"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if live_bakes.running() is not None:
            cls.poll_message_set(messages.ALREADY_BAKING)
            return False
        stored = any(obj.topple.previous.stored for obj in context.scene.objects)
        if not stored and not context.scene.topple.cache_path:
            cls.poll_message_set(messages.NOTHING_BAKED)
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        bakes, cleared = [], 0
        for obj in context.scene.objects:
            if is_baked(obj):
                bake = bake_of(obj)
                bakes += [bake] if bake is not None else []
                give_back(obj)
                cleared += 1
            elif obj.topple.previous.stored:
                forget(obj)  # the artist has put another action in the bake's place: it stays
        remove_unused(bakes)
        try:
            live_bakes.drop(context.scene)
        except OSError as error:
            self.report({"WARNING"}, messages.cannot_delete_cache(str(error.filename), error.strerror))
        context.view_layer.update()
        self.report({"INFO"}, messages.bodies_done("Cleared the bake of", cleared))
        return {"FINISHED"}


CLASSES = (WriteKeyframes, ClearBake)
