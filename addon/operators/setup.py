"""Set bodies up: materials, settings of one for many, and what Blender's own rigid bodies have."""

import bpy
from bpy.props import EnumProperty

from .. import messages
from ..materials import MATERIALS
from ..properties import BODY_SETTINGS
from ..rigid_body_world import converted
from .bodies import SOLID_TYPES, chosen_objects

MATERIAL_ITEMS = tuple(
    (
        name,
        material.label,
        f"{material.density:g} kg/m³, friction {material.friction:g}, bounciness {material.restitution:g}",
    )
    for name, material in MATERIALS.items()
)


class ApplyMaterial(bpy.types.Operator):
    bl_idname = "topple.apply_material"
    bl_label = "Material"
    bl_description = "Give the selected bodies the density, friction and bounciness of a material"
    bl_options = {"REGISTER", "UNDO"}

    material: EnumProperty(
        name="Material", description="What the bodies are made of", items=MATERIAL_ITEMS, default="WOOD"
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return any(_editable_bodies(context))

    def execute(self, context: bpy.types.Context) -> set[str]:
        material = MATERIALS[self.material]
        for obj in _editable_bodies(context):
            body = obj.topple
            body.mass_mode, body.density = "DENSITY", material.density
            body.friction, body.restitution = material.friction, material.restitution
        return {"FINISHED"}


class CopyToSelected(bpy.types.Operator):
    bl_idname = "topple.copy_to_selected"
    bl_label = "Copy to Selected"
    bl_description = "Give the selected objects all settings of the active one's body"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return (
            context.object is not None and context.object.topple.enabled and len(context.selected_objects) > 1
        )

    def execute(self, context: bpy.types.Context) -> set[str]:
        source, count = context.object.topple, 0
        for obj in context.selected_objects:
            if obj == context.object or obj.library is not None or obj.type not in SOLID_TYPES:
                continue
            for name in BODY_SETTINGS:
                setattr(obj.topple, name, getattr(source, name))
            count += 1
        self.report({"INFO"}, messages.bodies_done("Copied to", count))
        return {"FINISHED"}


class UseRigidBodies(bpy.types.Operator):
    bl_idname = "topple.use_rigid_bodies"
    bl_label = "Use My Rigid Bodies"
    bl_description = (
        "Make Topple bodies of the scene's own rigid bodies, with their settings; these stay as they are, "
        "and their world is switched off"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not any(obj.rigid_body for obj in context.scene.objects):
            cls.poll_message_set(messages.NO_RIGID_BODIES)
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
        count = 0
        for obj in context.scene.objects:
            if obj.rigid_body is None or obj.library is not None:
                continue
            properties = obj.rigid_body.bl_rna.properties
            values = {item.identifier: getattr(obj.rigid_body, item.identifier) for item in properties}
            settings, remarks = converted(values)
            for name, value in settings.items():
                setattr(obj.topple, name, value)
            for remark in remarks:
                self.report({"WARNING"}, messages.note(obj.name, remark))
            count += 1
        world = context.scene.rigidbody_world
        context.scene.topple.combine = "multiply"
        if world is not None and world.enabled:
            world.enabled = False  # else it would go on moving the same objects
            self.report({"INFO"}, messages.WORLD_SWITCHED_OFF)
        if world is not None and world.time_scale != 1.0:
            self.report({"WARNING"}, messages.TIME_SCALE)
        constraints = [obj.name for obj in context.scene.objects if obj.rigid_body_constraint]
        if constraints:
            self.report({"WARNING"}, messages.constraints_left_out(constraints))
        self.report({"INFO"}, messages.converted(count))
        return {"FINISHED"}


def _editable_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    return [obj for obj in chosen_objects(context) if obj.topple.enabled and obj.library is None]


CLASSES = (ApplyMaterial, CopyToSelected, UseRigidBodies)
