"""What Topple stores in a .blend: `Object.topple`, `Scene.topple`.

Lengths and velocities are in Blender units and shown with the scene's unit scale; masses and
densities are in kg and kg/m³ whatever the unit scale. A mass that is not positive is not clamped
but refused by the bake, with the body's name.
"""

from collections.abc import Callable
from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    BoolVectorProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

KINDS = (
    ("DYNAMIC", "Dynamic", "Falls, collides and is pushed; gets keyframes"),
    ("STATIC", "Static", "Stays where it is at the first frame; others collide with it"),
    ("KINEMATIC", "Animated", "Follows its own animation and pushes dynamic bodies"),
)
SHAPES = (
    ("CONVEX_HULL", "Convex Hull", "Tight convex hull of the evaluated mesh", "MESH_ICOSPHERE", 0),
    (
        "CONVEX_PARTS",
        "Convex Parts",
        "Hulls of parts that keep the mesh's hollows; needs coacd",
        "MESH_TORUS",
        7,
    ),
    (
        "MESH",
        "Mesh",
        "The faces themselves, hollows and all; for objects that no force moves",
        "MESH_DATA",
        8,
    ),
    ("BOX", "Box", "Bounding box along the object's axes", "MESH_CUBE", 1),
    ("SPHERE", "Sphere", "Sphere around the object's origin, as wide as the bounds", "MESH_UVSPHERE", 2),
    (
        "PLANE",
        "Plane",
        "Endless ground through the origin, solid below local Z (static only)",
        "MESH_PLANE",
        3,
    ),
    (
        "CAPSULE",
        "Capsule",
        "Cylinder with round ends along local Z, as wide and high as the bounds",
        "MESH_CAPSULE",
        4,
    ),
    ("CYLINDER", "Cylinder", "Cylinder along local Z, as wide and high as the bounds", "MESH_CYLINDER", 5),
    ("CONE", "Cone", "Cone along local Z with its apex up, as wide and high as the bounds", "MESH_CONE", 6),
)
MASS_MODES = (
    ("DENSITY", "Density", "Mass from the volume of the shape"),
    ("MASS", "Mass", "The same mass whatever the volume"),
)
LAYERS = 20
OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}


class TopplePreviousAnimation(bpy.types.PropertyGroup):
    """What an object was animated by before the bake; Clear Bake gives it back.

    The pointer counts as a user, so the action survives saving even when nothing else uses it.
    """

    stored: BoolProperty()
    previewed: BoolProperty()
    has_animation_data: BoolProperty()
    use_nla: BoolProperty(default=True)
    action: PointerProperty(type=bpy.types.Action)
    slot_identifier: StringProperty()
    blend_type: StringProperty()
    extrapolation: StringProperty()
    influence: FloatProperty()
    location: FloatVectorProperty(size=3)
    rotation_euler: FloatVectorProperty(size=3)
    rotation_quaternion: FloatVectorProperty(size=4)
    rotation_axis_angle: FloatVectorProperty(size=4)


def _note_change(group: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
    """A bake may be out of date now: Blender tells of what artists set, and not of what scripts do."""
    from . import watch  # which has to know the settings

    watch.mark_dirty()


def _setting(make: Callable[..., Any], name: str, description: str, **options: Any) -> Any:
    """A property of a body, which a library override may change."""
    return make(name=name, description=description, override=OVERRIDABLE, update=_note_change, **options)


class ToppleBody(bpy.types.PropertyGroup):
    """The rigid body of an object."""

    enabled: _setting(BoolProperty, "Topple Body", "The object takes part in Topple's simulation")
    kind: _setting(EnumProperty, "Type", "Role in the simulation", items=KINDS, default="DYNAMIC")
    shape: _setting(EnumProperty, "Shape", "Collision shape", items=SHAPES, default="CONVEX_HULL")
    use_vertex_budget: _setting(
        BoolProperty,
        "Limit Vertices",
        "Leave out vertices of the hull, those first that change it least; collisions take less time",
    )
    vertex_budget: _setting(
        IntProperty,
        "Vertex Budget",
        "Most vertices that the convex hull may have",
        default=64,
        min=4,
        soft_max=256,
    )
    mass_mode: _setting(
        EnumProperty, "Mass From", "Where the mass comes from", items=MASS_MODES, default="DENSITY"
    )
    density: _setting(
        FloatProperty,
        "Density",
        "Mass per volume in kg/m³; water has 1000",
        default=1000.0,
        soft_min=1.0,
        soft_max=20000.0,
    )
    mass: _setting(
        FloatProperty,
        "Mass",
        "Mass of the whole body in kg",
        default=1.0,
        soft_min=0.001,
        soft_max=10000.0,
        precision=3,
    )
    friction: _setting(
        FloatProperty,
        "Friction",
        "Resistance to sliding; two bodies combine by the geometric mean",
        default=0.5,
        min=0.0,
        soft_max=1.0,
    )
    restitution: _setting(
        FloatProperty,
        "Bounciness",
        "Speed kept in a bounce, 0 to 1; two bodies combine by the geometric mean",
        default=0.0,
        min=0.0,
        max=1.0,
    )
    linear_velocity: _setting(
        FloatVectorProperty,
        "Velocity",
        "Velocity of the centre of mass at the first frame, along the world axes",
        subtype="VELOCITY",
        unit="VELOCITY",
    )
    angular_velocity: _setting(
        FloatVectorProperty,
        "Spin",
        "Angular velocity at the first frame in radians per second, about the world axes",
        subtype="XYZ",
    )
    asleep: _setting(
        BoolProperty,
        "Start Asleep",
        "Stay at rest, even in the air, until something touches the body; its velocity is left out",
    )
    use_friction_dynamic: _setting(
        BoolProperty, "Less When Sliding", "Use another friction while the body slides"
    )
    friction_dynamic: _setting(
        FloatProperty,
        "Sliding Friction",
        "Friction while the body slides; at most the friction at rest",
        default=0.4,
        min=0.0,
        soft_max=1.0,
    )
    use_center_of_mass: _setting(
        BoolProperty,
        "Own Centre of Mass",
        "Place the centre of mass by hand; else it is that of the solid, wherever the origin is",
    )
    center_of_mass: _setting(
        FloatVectorProperty,
        "Centre of Mass",
        "Place of the centre of mass in the object's own coordinates",
        subtype="TRANSLATION",
        unit="LENGTH",
    )
    use_release: _setting(
        BoolProperty,
        "Release",
        "Follow the object's own animation first, and fall with the velocity it has then",
    )
    release_frame: _setting(
        IntProperty, "Release Frame", "Frame at which the body lets go of its animation", default=24
    )
    linear_damping: _setting(
        FloatProperty,
        "Damping Move",
        "Rate at which the velocity decays, per second; 0 is free flight as in a vacuum",
        min=0.0,
        soft_max=1.0,
    )
    angular_damping: _setting(
        FloatProperty,
        "Turn",
        "Rate at which the spin decays, per second; 0 is free flight as in a vacuum",
        min=0.0,
        soft_max=1.0,
    )
    layers: _setting(
        BoolVectorProperty,
        "In Layers",
        "Layers the body is in",
        size=LAYERS,
        default=(True, *(False,) * (LAYERS - 1)),
        subtype="LAYER",
    )
    collides_with: _setting(
        BoolVectorProperty,
        "Touches Layers",
        "Layers the body touches; two bodies meet where each touches a layer of the other",
        size=LAYERS,
        default=(True,) * LAYERS,
        subtype="LAYER",
    )
    lock_linear: _setting(
        BoolVectorProperty, "Lock Move", "World axes along which no force moves the body", subtype="XYZ"
    )
    lock_angular: _setting(
        BoolVectorProperty, "Lock Turn", "World axes about which no force turns the body", subtype="XYZ"
    )
    sensor: _setting(
        BoolProperty,
        "Sensor",
        "Let everything pass through, and report only what touches it (see Contact Events)",
    )
    bake_name: StringProperty()  # the body's name in the bake: the object may be renamed afterwards
    previous: PointerProperty(type=TopplePreviousAnimation, override=OVERRIDABLE)


BODY_SETTINGS = tuple(name for name in ToppleBody.__annotations__ if name not in ("bake_name", "previous"))


class ToppleWorld(bpy.types.PropertyGroup):
    """How a scene is solved; gravity and frame range are the scene's own."""

    solver: EnumProperty(
        name="Solver",
        description="How the motion is computed",
        items=(
            ("impulse", "Impulse", "In small steps: for many bodies, heaps and walls"),
            ("analytic", "Analytic", "From collision to collision, exactly: for few bodies; slower"),
        ),
        default="impulse",
        update=_note_change,
    )
    steps_per_second: IntProperty(
        name="Step Rate",
        description="Solver steps in a second of simulated time; more for very fast or very small bodies",
        default=240,
        min=1,
        soft_min=24,
        soft_max=2000,
        update=_note_change,
    )
    tolerance: FloatProperty(
        name="Tolerance (m)",
        description="Deepest overlap between bodies the solver leaves, in metres",
        default=1e-4,
        min=1e-9,
        soft_max=0.01,
        precision=6,
        step=0.01,
        update=_note_change,
    )
    follow: BoolProperty(
        name="Show While Baking",
        description="Go to the latest frame while a bake runs",
        default=True,
    )
    combine: EnumProperty(
        name="Combine",
        description="How the friction and the bounciness of two bodies make those of their contact",
        items=(
            ("geometric_mean", "Mean", "Geometric mean: two equal values give that value"),
            ("multiply", "Product", "Product, as Blender's own rigid bodies do"),
        ),
        default="geometric_mean",
        update=_note_change,
    )
    show_overlay: BoolProperty(
        name="Overlay", description="Draw what the bake knows over the 3D View", default=False
    )
    overlay_in_front: BoolProperty(name="In Front", description="Draw also what objects hide", default=True)
    overlay_shapes: BoolProperty(
        name="Shapes",
        description="Edges of the collision shapes: orange moves, blue rests, grey is fixed, red overlaps",
        default=True,
    )
    overlay_contacts: BoolProperty(
        name="Contacts", description="Contact points, each with its normal", default=True
    )
    overlay_forces: BoolProperty(
        name="Forces",
        description="Contact forces; the longest of a frame is half as long as a usual body",
        default=True,
    )
    overlay_velocities: BoolProperty(
        name="Velocities", description="The way that each body goes in a tenth of a second", default=False
    )
    drag_velocity: BoolProperty(
        name="Drag in View",
        description="Show the active body's velocity as an arrow in the 3D View, with a tip to drag",
        default=False,
    )
    cache_key: StringProperty()  # names this scene's bake; a copy of the scene gets one of its own
    cache_path: StringProperty()  # its folder, relative to the file where it lies beside it


WORLD_SETTINGS = ("solver", "steps_per_second", "tolerance", "combine")

CLASSES = (TopplePreviousAnimation, ToppleBody, ToppleWorld)


def register_pointers() -> None:
    """Attach the groups to Blender's types."""
    bpy.types.Object.topple = PointerProperty(type=ToppleBody, override=OVERRIDABLE)
    bpy.types.Scene.topple = PointerProperty(type=ToppleWorld)


def unregister_pointers() -> None:
    """Detach the groups from Blender's types."""
    del bpy.types.Object.topple
    del bpy.types.Scene.topple
