"""A body's velocity at the first frame as an arrow in the 3D View, whose tip can be dragged."""

import bpy
import numpy as np
from bpy_extras.view3d_utils import region_2d_to_location_3d
from mathutils import Matrix, Vector

from . import messages, overlay_geometry

SECONDS = 0.5  # the arrow is the way of so much time [s]
TIP_PIXELS = 0.12  # size of the tip in Blender's units for gizmos
COLOUR, HIGHLIGHT = (0.9, 0.35, 1.0), (1.0, 0.75, 1.0)
OCTAHEDRON = [
    corner for x in (-1, 1) for y in (-1, 1) for z in (-1, 1) for corner in ((x, 0, 0), (0, y, 0), (0, 0, z))
]


def can_be_thrown(obj: bpy.types.Object | None) -> bool:
    """Whether an object's body has a velocity of its own at the first frame."""
    if obj is None:
        return False
    body = obj.topple
    return body.enabled and body.kind == "DYNAMIC" and not body.use_release and not body.asleep


def has_velocity(obj: bpy.types.Object) -> bool:
    """Whether there is an arrow to draw."""
    return can_be_thrown(obj) and any(obj.topple.linear_velocity)


def start_of_arrow(obj: bpy.types.Object) -> Vector:
    """The middle of an object's bounds, in the world."""
    corners = [Vector(corner) for corner in obj.bound_box]
    return obj.matrix_world @ (sum(corners, Vector()) / len(corners))


def end_of_arrow(obj: bpy.types.Object) -> Vector:
    """Where the velocity takes the middle in `SECONDS`."""
    return start_of_arrow(obj) + SECONDS * Vector(obj.topple.linear_velocity)


def drag(obj: bpy.types.Object, tip: Vector) -> None:
    """Give a body the velocity whose arrow ends there."""
    obj.topple.linear_velocity = (tip - start_of_arrow(obj)) / SECONDS


def arrow(obj: bpy.types.Object) -> np.ndarray:
    """The arrow as ends of lines, shape (2 n, 3)."""
    return overlay_geometry.arrow(np.array(start_of_arrow(obj)), np.array(end_of_arrow(obj)))


class VelocityTip(bpy.types.Gizmo):
    """The tip; it moves in the plane of the view."""

    bl_idname = "TOPPLE_GT_velocity_tip"

    def setup(self) -> None:
        self.tip = self.new_custom_shape("TRIS", OCTAHEDRON)

    def draw(self, context: bpy.types.Context) -> None:
        if has_velocity(context.object):
            lines = self.new_custom_shape("LINES", arrow(context.object).tolist())
            self.draw_custom_shape(lines, matrix=Matrix())
        self.draw_custom_shape(self.tip)

    def draw_select(self, context: bpy.types.Context, select_id: int) -> None:
        self.draw_custom_shape(self.tip, select_id=select_id)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        self.before = tuple(context.object.topple.linear_velocity)
        self.grabbed = end_of_arrow(context.object) - self._under_mouse(context, event)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event, tweak: set[str]) -> set[str]:
        drag(context.object, self._under_mouse(context, event) + self.grabbed)
        velocity = Vector(context.object.topple.linear_velocity)
        context.area.header_text_set(messages.dragged(tuple(velocity), velocity.length))
        return {"RUNNING_MODAL"}

    def exit(self, context: bpy.types.Context, cancel: bool) -> None:
        context.area.header_text_set(None)
        if cancel:
            context.object.topple.linear_velocity = self.before
        else:
            bpy.ops.ed.undo_push(message="Drag Velocity")

    def _under_mouse(self, context: bpy.types.Context, event: bpy.types.Event) -> Vector:
        """The place under the mouse, as deep in the view as the tip is."""
        mouse = event.mouse_region_x, event.mouse_region_y
        return region_2d_to_location_3d(
            context.region, context.region_data, mouse, end_of_arrow(context.object)
        )


class VelocityGizmos(bpy.types.GizmoGroup):
    """The arrow of the active body, where the artist has asked for it."""

    bl_idname = "TOPPLE_GGT_velocity"
    bl_label = "Topple Velocity"
    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"3D", "PERSISTENT", "SHOW_MODAL_ALL"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return (
            context.scene.topple.drag_velocity and context.mode == "OBJECT" and can_be_thrown(context.object)
        )

    def setup(self, context: bpy.types.Context) -> None:
        self.tip = self.gizmos.new(VelocityTip.bl_idname)
        self.tip.color, self.tip.color_highlight = COLOUR, HIGHLIGHT
        self.tip.alpha = self.tip.alpha_highlight = 0.9
        self.tip.scale_basis = TIP_PIXELS
        self.tip.use_draw_modal = True

    def draw_prepare(self, context: bpy.types.Context) -> None:
        self.tip.matrix_basis = Matrix.Translation(end_of_arrow(context.object))


CLASSES = (VelocityTip, VelocityGizmos)
