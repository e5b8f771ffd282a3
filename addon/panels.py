"""Panels: the body in the Physics tab, the simulation in the 3D View's sidebar."""

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


class _SidebarPanel:
    """Where the panels of the simulation lie."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Topple"


class BodiesPanel(_SidebarPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_bodies"
    bl_label = "Bodies"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.operator_menu_enum("topple.add_bodies", "kind", text="Add", icon="RIGID_BODY")
        layout.operator("topple.remove_bodies", text="Remove", icon="X")


class SimulationPanel(_SidebarPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_simulation"
    bl_label = "Simulation"

    def draw(self, context: bpy.types.Context) -> None:
        layout, scene = self.layout, context.scene
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(align=True)
        column.prop(scene, "frame_start", text="Frame Start")
        column.prop(scene, "frame_end", text="End")
        layout.prop(scene, "use_gravity")
        column = layout.column()
        column.active = scene.use_gravity
        column.prop(scene, "gravity", text="Gravity")
        column = layout.column()
        column.prop(scene.topple, "solver")
        if scene.topple.solver == "impulse":  # the other one has no steps, and is exact to its own tolerance
            column.prop(scene.topple, "steps_per_second")
            column.prop(scene.topple, "tolerance")
        column = layout.column(align=True)
        column.operator("topple.bake", icon="PHYSICS")
        column.operator("topple.clear_bake", icon="TRASH")


CLASSES = (BodyPanel, MassPanel, SurfacePanel, VelocityPanel, BodiesPanel, SimulationPanel)
