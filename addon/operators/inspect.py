"""Look at what a bake found."""

import bpy
from bpy.props import IntProperty, StringProperty

from .. import live_bakes

SEPARATOR = "\n"  # between names of bodies: Blender's names hold none


class GoTo(bpy.types.Operator):
    bl_idname = "topple.go_to"
    bl_label = "Go There"
    bl_description = "Go to the frame and select the bodies concerned"
    bl_options = {"REGISTER", "UNDO"}

    frame: IntProperty(options={"HIDDEN"})
    bodies: StringProperty(options={"HIDDEN"})

    def execute(self, context: bpy.types.Context) -> set[str]:
        context.scene.frame_set(self.frame)
        bake = live_bakes.of_scene(context.scene)
        renamed = bake.objects() if bake is not None else {}
        found = [
            renamed.get(name) or context.scene.objects.get(name) for name in self.bodies.split(SEPARATOR)
        ]
        objects = [obj for obj in found if obj is not None]
        if objects and context.mode == "OBJECT":
            for obj in context.view_layer.objects:
                obj.select_set(obj in objects)
            context.view_layer.objects.active = objects[0]
        return {"FINISHED"}


CLASSES = (GoTo,)
