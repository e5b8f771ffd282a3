"""Data out of a bake: tables of contacts, files for Python users, markers, custom properties."""

from pathlib import Path

import bpy
import numpy as np
from bpy.props import EnumProperty, FloatProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from ... import core
from .. import contact_data, live_bakes, messages
from ..keyframes import find_curve_holder, has_slots, write_curves
from ..previous_animation import bake_of
from .of_bake import OfBake

MARKER = "Impact"


class ExportBake(OfBake, ExportHelper, bpy.types.Operator):
    bl_idname = "topple.export"
    bl_label = "Export Bake"
    bl_description = "Write contact events, the trajectory or the scene to a file, in SI units"
    bl_options = {"REGISTER"}

    content: EnumProperty(
        name="Content",
        description="What to write, and in which form",
        items=(
            ("CSV", "Contact Events (.csv)", "Who began and ceased to touch whom, and how hard, as a table"),
            ("JSON", "Contact Events (.json)", "The same for programs"),
            ("NPZ", "Trajectory (.npz)", "All bodies at all frames, for topple.Trajectory.load"),
            ("SCENE", "Scene (.json)", "What was simulated, for topple.Scene.load"),
        ),
        default="CSV",
    )
    filter_glob: StringProperty(default="*.csv;*.json;*.npz", options={"HIDDEN"})
    check_extension = None
    filename_ext = ""

    def execute(self, context: bpy.types.Context) -> set[str]:
        suffix = {"CSV": ".csv", "JSON": ".json", "NPZ": ".npz", "SCENE": ".json"}[self.content]
        path = Path(bpy.path.abspath(self.filepath)).with_suffix(suffix)
        try:
            self._write(context, path)
        except (OSError, core.ToppleError) as error:
            self.report({"ERROR"}, messages.cannot_export(str(path), str(error)))
            return {"CANCELLED"}
        self.report({"INFO"}, messages.exported(str(path)))
        return {"FINISHED"}

    def _write(self, context: bpy.types.Context, path: Path) -> None:
        bake = live_bakes.of_scene(context.scene)
        if self.content == "NPZ":
            bake.trajectory().save(path)
        elif self.content == "SCENE":
            scene = bake.solved_scene()
            if scene is None:
                raise core.SceneError(messages.SCENE_LOST)
            scene.save(path)
        else:
            make = contact_data.as_csv if self.content == "CSV" else contact_data.as_json
            core.write_whole(path, make(bake.events()))


class MarkImpacts(OfBake, bpy.types.Operator):
    bl_idname = "topple.mark_impacts"
    bl_label = "Mark Impacts"
    bl_description = "Put a marker on the timeline at each frame with a hard hit; earlier ones of ours go"

    threshold: FloatProperty(
        name="Impulse (N s)",
        description="Smallest impulse that counts, in newton seconds",
        default=1.0,
        min=0.0,
    )

    def execute(self, context: bpy.types.Context) -> set[str]:
        markers = context.scene.timeline_markers
        for marker in [marker for marker in markers if marker.name.startswith(MARKER)]:
            markers.remove(marker)
        found = contact_data.impacts(live_bakes.of_scene(context.scene).events(), self.threshold)
        for frame, event in found.items():
            markers.new(f"{MARKER} {event.body_a} {event.impulse:.3g}", frame=frame)
        self.report({"INFO"}, messages.impacts_marked(len(found)))
        return {"FINISHED"}


class WriteProperties(OfBake, bpy.types.Operator):
    bl_idname = "topple.write_properties"
    bl_label = "Speed and Impact Properties"
    bl_description = (
        "Key the custom properties topple_speed (m/s) and topple_impact (N s) on the bodies, for materials "
        "(Attribute node, type Object) and geometry nodes; write the keyframes first"
    )

    def execute(self, context: bpy.types.Context) -> set[str]:
        bake = live_bakes.of_scene(context.scene)
        speed = contact_data.speeds(bake.frames)
        count = len(bake.frames)
        impact = contact_data.impact_impulses(bake.events(), bake.names, bake.first_frame, count)
        frames = bake.first_frame + np.arange(count)
        column, keyed = {name: i for i, name in enumerate(bake.names)}, 0
        for name, obj in bake.objects().items():
            action = bake_of(obj)
            if action is None:
                continue
            keyed += 1
            slot = obj.animation_data.action_slot.identifier if has_slots(action) else ""
            holder = find_curve_holder(action, slot)
            for label, values in (("topple_speed", speed), ("topple_impact", impact)):
                obj[label] = float(values[0, column[name]])
                path = f'["{label}"]'
                for curve in [curve for curve in holder.fcurves if curve.data_path == path]:
                    holder.fcurves.remove(curve)
                write_curves(holder, path, frames, values[:, column[name], None])
            obj.update_tag()  # a new custom property is not there yet where Blender evaluates
        if not keyed:
            self.report({"WARNING"}, messages.NO_KEYFRAMES)
            return {"CANCELLED"}
        self.report({"INFO"}, messages.keyframes_written(keyed, count))
        return {"FINISHED"}


CLASSES = (ExportBake, MarkImpacts, WriteProperties)
