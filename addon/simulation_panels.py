"""Panels of the simulation, in the 3D View's sidebar."""

from __future__ import annotations  # naming core's types must not load the solver

import bpy

from . import fingerprint, live_bakes, messages, plot_icons, watch
from .layouts import ICON, draw_lines, draw_note
from .operators.inspect import SEPARATOR


class _SidebarPanel:
    """Where the panels of the simulation lie."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Topple"


class BodiesPanel(_SidebarPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_bodies"
    bl_label = "Bodies"

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        column.operator_menu_enum("topple.add_bodies", "kind", text="Add", icon="RIGID_BODY")
        column.operator("topple.remove_bodies", text="Remove", icon="X")
        column = self.layout.column(align=True)
        column.operator("topple.settle", icon="TRIA_DOWN_BAR")
        if any(obj.rigid_body for obj in context.selected_objects):
            column.operator("topple.use_rigid_bodies", icon="IMPORT")


class BakePanel(_SidebarPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_bake"
    bl_label = "Bake"

    def draw(self, context: bpy.types.Context) -> None:
        bake = live_bakes.of_scene(context.scene)
        if bake is not None and bake.running:
            _draw_progress(self.layout, bake)
        else:
            _draw_result(self.layout, context, bake)


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
        layout.prop(scene.topple, "combine")
        column = layout.column()
        column.prop(scene.topple, "solver")
        if scene.topple.solver == "impulse":  # the other one has no steps, and is exact to its own tolerance
            column.prop(scene.topple, "steps_per_second")
            column.prop(scene.topple, "tolerance")


def _draw_progress(layout: bpy.types.UILayout, bake: live_bakes.LiveBake) -> None:
    job = bake.job
    part = job.done / job.request.frames
    layout.progress(factor=part, text=messages.progress(job))
    column = layout.column(align=True)
    for line in messages.progress_details(job):
        column.label(text=line)
    for note in job.notes:
        draw_note(layout, note)
    layout.operator("topple.cancel_bake", icon="CANCEL")


def _draw_result(
    layout: bpy.types.UILayout, context: bpy.types.Context, bake: live_bakes.LiveBake | None
) -> None:
    column = layout.column(align=True)
    column.scale_y = 1.4
    button = column.operator("topple.bake", text="Bake", icon="PHYSICS")
    button.keyframes, button.cache, button.resume = False, True, "START"
    problem = live_bakes.problems.get(context.scene.topple.cache_key)
    if problem:
        draw_note(layout, problem)
    if bake is not None and bake.frames:
        changed = watch.changes_since(context.scene, context.view_layer, bake.watched)
        if changed:
            draw_note(layout, f"Out of date: {fingerprint.sentence(changed)}")
        row = layout.row(align=True)
        button = row.operator("topple.bake", text="Resume", icon="PLAY")
        button.keyframes, button.cache, button.resume = False, True, "LAST"
        button = row.operator("topple.bake", text="From This Frame", icon="TIME")
        button.keyframes, button.cache, button.resume = False, True, "CURRENT"
        layout.label(text=messages.baked(len(bake.frames) - 1, bake.frame_count), icon="CHECKMARK")
        where = "in memory" if bake.store is None else f"on disk, {messages.size(bake.disk_size)}"
        layout.label(text=f"Kept {where}", icon="DISK_DRIVE")
    column = layout.column(align=True)
    column.operator("topple.write_keyframes", icon="KEY_HLT")
    column.operator("topple.clear_bake", icon="TRASH")
    layout.prop(context.scene.topple, "follow")


class ReportPanel(_SidebarPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_report"
    bl_label = "Report"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        bake = live_bakes.of_scene(context.scene)
        return bake is not None and bool(bake.frames) and not bake.running

    def draw(self, context: bpy.types.Context) -> None:
        layout, bake = self.layout, live_bakes.of_scene(context.scene)
        for finding in bake.findings(context.scene.topple.tolerance):
            row = layout.row()
            draw_lines(row, finding.text, "ERROR" if finding.bad else "DOT", beside=ICON)
            if finding.frame is not None:
                button = row.operator("topple.go_to", text="", icon="VIEWZOOM")
                button.frame, button.bodies = finding.frame, SEPARATOR.join(finding.bodies)
        _draw_energy(layout, bake)


def _draw_energy(layout: bpy.types.UILayout, bake: live_bakes.LiveBake) -> None:
    """The plot of the energies, with a line for each curve."""
    plot = plot_icons.energy(bake)
    if plot is None:
        draw_note(layout, messages.SCENE_LOST)
        return
    icon, curves = plot
    column = layout.box().column(align=True)
    column.label(text=messages.energy_range(float(curves.total.max())))
    column.template_icon(icon_value=icon, scale=8.0)
    row = column.row(align=True)
    for name, colour in plot_icons.LEGEND.items():
        row.label(text=name.capitalize(), icon=colour)


class OverlayPanel(_SidebarPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_overlay"
    bl_label = "Overlay"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.prop(context.scene.topple, "show_overlay", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, context.scene.topple
        layout.active = settings.show_overlay
        grid = layout.grid_flow(columns=2, even_columns=True)
        for name in ("shapes", "contacts", "forces", "velocities", "in_front"):
            grid.prop(settings, f"overlay_{name}")


class DataPanel(_SidebarPanel, bpy.types.Panel):
    bl_idname = "TOPPLE_PT_data"
    bl_label = "Data Out"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        column.operator_menu_enum("topple.export", "content", text="Export", icon="EXPORT")
        column.operator("topple.mark_impacts", icon="MARKER_HLT")
        column.operator("topple.write_properties", icon="PROPERTIES")


CLASSES = (BodiesPanel, BakePanel, SimulationPanel, ReportPanel, OverlayPanel, DataPanel)
