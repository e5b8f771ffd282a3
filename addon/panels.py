"""Panels of a body, in the Physics tab, and the menu of the 3D View."""

from typing import TYPE_CHECKING

import bpy

from . import messages
from .layouts import draw_lines, draw_switched
from .units import LengthUnit

if TYPE_CHECKING:
    from .shape_preview import ShapePreview


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
        row = layout.row(align=True)
        row.operator("topple.copy_to_selected", text="Copy", icon="COPYDOWN")
        row.operator("topple.remove_bodies", text="Remove", icon="X")


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
        self.draw_body(self.layout, context)


def _preview(context: bpy.types.Context) -> "ShapePreview":
    from . import shape_preview  # loads what builds hulls, for which Blender's start need not wait

    units = context.scene.unit_settings
    unit = LengthUnit.of_scene(units.system, units.scale_length)
    return shape_preview.placed(context.object, context.evaluated_depsgraph_get(), unit).shape


class ShapePanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_shape"
    bl_label = "Shape"

    def draw_body(self, layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
        body = context.object.topple
        layout.prop(body, "shape")
        if body.shape == "CONVEX_HULL":
            draw_switched(layout, body, "use_vertex_budget", "vertex_budget", heading="Limit Vertices")
        preview = _preview(context)
        for text in preview.notes:
            draw_lines(layout, text)
        if preview.problem:
            draw_lines(layout, preview.problem, "ERROR")
        layout.prop(context.scene.topple, "show_overlay", text="Show in Overlay")


class SurfacePanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_surface"
    bl_label = "Surface"

    def draw_body(self, layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
        body = context.object.topple
        layout.operator_menu_enum("topple.apply_material", "material", text="Material", icon="MATERIAL")
        layout.prop(body, "friction")
        draw_switched(layout, body, "use_friction_dynamic", "friction_dynamic", heading="Sliding")
        layout.prop(body, "restitution", slider=True)


class MassPanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_mass"
    bl_label = "Mass"
    dynamic_only = True

    def draw_body(self, layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
        body = context.object.topple
        layout.prop(body, "mass_mode", expand=True)
        column = layout.column()
        value, unit = ("mass", "kg") if body.mass_mode == "MASS" else ("density", "kg/m³")
        column.alert = getattr(body, value) <= 0.0
        column.prop(body, value, text=unit)
        volume = _preview(context).volume
        if body.mass_mode == "DENSITY" and volume > 0.0:
            draw_lines(layout, messages.mass_of(volume, body.density))
        layout.prop(body, "use_center_of_mass", text="Own Centre")
        if body.use_center_of_mass:
            layout.column().prop(body, "center_of_mass", text="At")


class MotionPanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_motion"
    bl_label = "Motion"
    dynamic_only = True

    def draw_body(self, layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
        body = context.object.topple
        layout.prop(body, "use_release", text="Animated First")
        if body.use_release:
            layout.prop(body, "release_frame")
            return
        layout.prop(body, "asleep")
        column = layout.column()
        column.active = not body.asleep
        column.column().prop(body, "linear_velocity")
        row = column.row()
        row.use_property_split = False
        row.prop(context.scene.topple, "drag_velocity", toggle=True, icon="EMPTY_SINGLE_ARROW")
        column.column().prop(body, "angular_velocity")


class CollisionsPanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_collisions"
    bl_label = "Collisions"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_body(self, layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
        body = context.object.topple
        layout.column().prop(body, "layers")
        layout.column().prop(body, "collides_with")
        layout.prop(body, "sensor")


class AdvancedPanel(_BodySubPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_advanced"
    bl_label = "Advanced"
    bl_options = {"DEFAULT_CLOSED"}
    dynamic_only = True

    def draw_body(self, layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
        body = context.object.topple
        column = layout.column(align=True)
        column.prop(body, "linear_damping")
        column.prop(body, "angular_damping")
        layout.row().prop(body, "lock_linear", toggle=True)
        layout.row().prop(body, "lock_angular", toggle=True)


class ObjectMenu(bpy.types.Menu):
    bl_idname = "TOPPLE_MT_object"
    bl_label = "Topple"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.operator_menu_enum("topple.add_bodies", "kind", text="Add Bodies", icon="RIGID_BODY")
        layout.operator("topple.remove_bodies", text="Remove Bodies", icon="X")
        layout.operator("topple.copy_to_selected", icon="COPYDOWN")
        layout.operator_menu_enum("topple.apply_material", "material", text="Material", icon="MATERIAL")
        layout.separator()
        layout.operator("topple.use_rigid_bodies")
        layout.separator()
        layout.operator("topple.settle", icon="TRIA_DOWN_BAR")


def draw_object_menu(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    """Object > Topple."""
    menu.layout.menu(ObjectMenu.bl_idname, icon="PHYSICS")


PANELS = (BodyPanel, ShapePanel, SurfacePanel, MassPanel, MotionPanel, CollisionsPanel, AdvancedPanel)
CLASSES = (*PANELS, ObjectMenu)
