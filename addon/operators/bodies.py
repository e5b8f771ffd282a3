"""Add and remove Topple bodies."""

import bpy
from bpy.props import EnumProperty

from .. import messages
from ..properties import KINDS

SOLID_TYPES = {"MESH", "CURVE", "SURFACE", "FONT", "META"}
FLAT = 1e-6  # thickness relative to width below which an object counts as a sheet


class AddBodies(bpy.types.Operator):
    bl_idname = "topple.add_bodies"
    bl_label = "Add Topple Bodies"
    bl_description = "Let the selected objects take part in Topple's rigid body simulation"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(name="Type", description="Role in the simulation", items=KINDS, default="DYNAMIC")

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not _solid_objects(context):
            cls.poll_message_set(messages.SELECT_OBJECTS)
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        added = 0
        for obj in _solid_objects(context):
            if obj.library is not None:
                self.report({"WARNING"}, messages.skipped_linked(obj.name_full))
                continue
            obj.topple.enabled = True
            obj.topple.kind = self.kind
            if self.kind == "STATIC" and _is_sheet(obj):
                obj.topple.shape = "PLANE"
            added += 1
        self.report({"INFO"}, messages.bodies_done("Added", added))
        return {"FINISHED"} if added else {"CANCELLED"}


class RemoveBodies(bpy.types.Operator):
    bl_idname = "topple.remove_bodies"
    bl_label = "Remove Topple Bodies"
    bl_description = "Take the selected objects out of Topple's simulation; keyframes stay until Clear Bake"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return any(obj.topple.enabled for obj in chosen_objects(context))

    def execute(self, context: bpy.types.Context) -> set[str]:
        removed = 0
        for obj in chosen_objects(context):
            if not obj.topple.enabled:
                continue
            if obj.library is not None:
                self.report({"WARNING"}, messages.skipped_linked(obj.name_full))
                continue
            obj.topple.enabled = False
            removed += 1
        self.report({"INFO"}, messages.bodies_done("Removed", removed))
        return {"FINISHED"} if removed else {"CANCELLED"}


def chosen_objects(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected objects, and the active one, whose panel may have been used."""
    chosen = list(context.selected_objects)
    if context.object is not None and context.object not in chosen:
        chosen.append(context.object)
    return chosen


def _solid_objects(context: bpy.types.Context) -> list[bpy.types.Object]:
    return [obj for obj in chosen_objects(context) if obj.type in SOLID_TYPES]


def _is_sheet(obj: bpy.types.Object) -> bool:
    """Whether an object lies flat in its own XY plane, as a ground plane does."""
    width, depth, height = obj.dimensions
    return height <= FLAT * max(width, depth) and abs(obj.bound_box[0][2]) <= FLAT


CLASSES = (AddBodies, RemoveBodies)
