"""Panels of a body, in the Physics tab."""

import bpy


class _PhysicsPanel:
    """Where the panels of an object's body lie."""

    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "physics"


class BodyPanel(_PhysicsPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_body"
    bl_label = "Topple Rigid Body"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.object is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        if not context.object.topple.enabled:
            layout.operator_menu_enum("topple.add_bodies", "kind", text="Add", icon="RIGID_BODY")
            return
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(context.object.topple, "kind")
        layout.prop(context.object.topple, "shape")
        layout.operator("topple.remove_bodies", text="Remove", icon="X")


class _BodySubPanel(_PhysicsPanel):
    """A panel under the body's, shown for bodies only."""

    bl_parent_id = "TOPPLE_PT_body"
    dynamic_only = False

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        body = context.object.topple if context.object is not None else None
        return body is not None and body.enabled and (body.kind == "DYNAMIC" or not cls.dynamic_only)

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        self.layout.use_property_decorate = False
        self.draw_body(self.layout, context.object.topple)


class MassPanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_mass"
    bl_label = "Mass"
    dynamic_only = True

    def draw_body(self, layout: bpy.types.UILayout, body: bpy.types.PropertyGroup) -> None:
        layout.prop(body, "mass_mode", expand=True)
        column = layout.column()
        value, unit = ("mass", "kg") if body.mass_mode == "MASS" else ("density", "kg/m³")
        column.alert = getattr(body, value) <= 0.0
        column.prop(body, value, text=unit)


class SurfacePanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_surface"
    bl_label = "Surface Response"

    def draw_body(self, layout: bpy.types.UILayout, body: bpy.types.PropertyGroup) -> None:
        layout.prop(body, "friction")
        layout.prop(body, "restitution")


class VelocityPanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_velocity"
    bl_label = "Initial Velocity"
    dynamic_only = True

    def draw_body(self, layout: bpy.types.UILayout, body: bpy.types.PropertyGroup) -> None:
        layout.prop(body, "linear_velocity")
        layout.prop(body, "angular_velocity")


CLASSES = (BodyPanel, MassPanel, SurfacePanel, VelocityPanel)
