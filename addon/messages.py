"""Every sentence the add-on says, in one place. Pure: no bpy.

An error says what is wrong and what to change; the error type puts the body's name in front.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sized
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bake_job import BakeJob

SPACE = "\u00a0"  # before a unit, where no line may break
STAGES = {
    "waiting": "starting",
    "compile": "compiling the solver, once per machine and version",
    "prepare": "preparing the scene",
    "simulate": "simulating",
    "finished": "finished",
    "cancelled": "cancelled",
    "failed": "failed",
}

NO_BODIES = "no Topple bodies in this view layer: select objects and choose Add Topple Bodies"
NO_DYNAMIC_BODIES = "no dynamic Topple body in this view layer, so nothing would move: make a body Dynamic"
EMPTY_FRAME_RANGE = "the scene's frame range has a single frame: set the end after the start"

NO_GEOMETRY = "objects of this type have no surface: add Topple bodies to meshes, curves, texts or metaballs"
NO_FACES = "it has no faces: give it a solid mesh, or remove it from Topple"
NOT_FINITE = "its transform contains a value that is not a number: clear its location, rotation and scale"
LINKED = "it is linked from a library and cannot get keyframes: make it local or a library override"
DRIVEN = "its transform has a driver, which would win over keyframes: remove it or make the body Animated"
ANIMATED_DELTA = "its delta transform is animated, which would move the bake: remove those keyframes"
SOLO_TRACK = "an NLA track of it is set to solo, which would hide the bake: switch solo off"
FLATTENED = "its scale is zero somewhere in the frame range: keep it above zero"
FLAT_PARENT = "its parent has a zero scale in the frame range, so no keyframe can place it: scale the parent"

NOT_A_BOX_CENTRE = "its bounds are not centred on its origin or are sheared: the corners' hull is used"
NOT_A_SPHERE_CENTRE = "its bounds are not centred on its origin, as a Sphere needs: its convex hull is used"
NOT_ROUND_ABOUT_Z = (
    "its bounds are not as wide along X as along Y, as this shape needs: its convex hull is used"
)
NOT_CENTRED_ABOUT_Z = "its bounds are not centred on its origin, as this shape needs: its convex hull is used"
TOO_SHORT_FOR_CAPSULE = "it is not higher than wide, as a Capsule along Z needs: its convex hull is used"
NOT_ROUND = "its bounds are not as wide as high, as a Sphere needs: its convex hull is used"
SHEARING_PARENT = "its parent is scaled unevenly, so keyframes can show its rotation only nearly"
PARTS_NOT_SHOWN = "its parts are shown when it is baked: splitting the mesh takes a while"
DISABLED = "it is disabled in viewports and is left out"

WORKER_DIED = "the bake stopped on an error in Topple; please report what Blender's console says"

ALREADY_BAKING = "a bake is running: wait for it, or cancel it with Esc"
NO_BAKE_TO_WRITE = "there is no bake to write: bake first"
SCENE_LOST = "the file of what was solved is lost: bake again"
SCENE_GONE = "the scene of the bake was deleted or undone away, so the bake was ended: bake again"

ACTIVE_MESH = "a Mesh that forces move is not kept: Convex Parts are used, which keep its hollows"
NOT_DYNAMIC = "it was Active but not Dynamic, and is Static (or Animated) now"
NO_MARGIN = "its collision margin is left out: bodies touch where they touch"
NO_DEFORMING = "its mesh deforms, which is left out: its shape is that of the first frame"
NO_RIGID_BODIES = "no object of this scene has a rigid body of Blender's own"
WORLD_SWITCHED_OFF = "the scene's own rigid body world is switched off: Scene properties switch it on again"
OWN_RIGID_BODY = (
    "it is also a rigid body of Blender's own, which would win over keyframes: switch the scene's rigid body "
    "world off, or use Use My Rigid Bodies"
)
NO_KEYFRAMES = "only objects with the bake's keyframes can have these: Write Keyframes first"
TIME_SCALE = "the rigid body world's speed is left out: change the frame rate or the animation instead"

ANIMATED_PLACE = (
    "it is animated and would jump back at the next frame: bake it instead, or clear its animation"
)
SETTLE_CANCELLED = "nothing was moved"

SELECT_OBJECTS = "select objects with a surface first"
NOTHING_BAKED = "nothing is baked in this scene"


def zero_scale(axis: int) -> str:
    """A scale axis of zero leaves no solid."""
    return f"its scale along {'XYZ'[axis]} is zero: give it (or its parent) a scale there"


def constrained(constraint: str) -> str:
    """An object constraint acts after keyframes."""
    return f"its constraint '{constraint}' would win over keyframes: mute it or make the body Animated"


def carried(kind: str, ancestor: str) -> str:
    """A body whose path is given hangs on one whose path is computed."""
    return f"it is {kind} but follows its dynamic parent '{ancestor}': make it Dynamic or clear the parent"


def constraints_left_out(names: list[str]) -> str:
    """Rigid body constraints that have no counterpart."""
    return f"these rigid body constraints are left out, as Topple's bodies have none yet: {_listed(names)}"


def bodies_done(what: str, bodies: int) -> str:
    """What an operator has done, and to how many bodies."""
    return f"{what} {_count(bodies, 'body', 'bodies')}"


def converted(bodies: int) -> str:
    """Summary of Use My Rigid Bodies."""
    return f"Took over {_count(bodies, 'rigid body', 'rigid bodies')}; the originals are as they were"


def skipped_linked(name: str) -> str:
    """An object that cannot be changed here."""
    return f"'{name}' is linked from a library and was left as it is: make it local or a library override"


def setup_of(name: str) -> str:
    """An object's settings, as something that may have changed."""
    return f"the set-up of '{name}'"


def mesh_of(name: str) -> str:
    """An object's mesh, as something that may have changed."""
    return f"the mesh of '{name}'"


def place_of(name: str) -> str:
    """An object's place, as something that may have changed."""
    return f"the place of '{name}'"


def hull_vertices(points: Sized, total: int, error: float) -> str:
    """How many vertices a hull has of those it could have, and what the others cost [m]."""
    if len(points) == total:
        return f"all {total} vertices"
    return f"{len(points)} of {total} vertices; the others lie up to {length(error)} outside"


def dragged(velocity: tuple[float, ...], speed: float) -> str:
    """A velocity while it is dragged [Blender units a second]."""
    x, y, z = velocity
    return f"Velocity {x:.3g}, {y:.3g}, {z:.3g}   Speed {speed:.3g}"


def energy_range(most: float) -> str:
    """The scale of the plot of energies [J]."""
    return f"Energy above the least, up to {energy(most)}"


def mass_of(volume: float, density: float) -> str:
    """A volume [m³] and the mass it has at a density [kg/m³]."""
    return f"Volume {volume:.3g}{SPACE}m³, mass {volume * density:.4g}{SPACE}kg"


def length(metres: float) -> str:
    """A length in the unit that suits it."""
    for unit, size in (("m", 1.0), ("cm", 1e-2), ("mm", 1e-3)):
        if metres >= size:
            return f"{metres / size:.3g}{SPACE}{unit}"
    return f"{metres * 1e6:.3g}{SPACE}µm"


def energy(joules: float) -> str:
    """An energy in the unit that suits it."""
    for unit, size in (("GJ", 1e9), ("MJ", 1e6), ("kJ", 1e3)):
        if abs(joules) >= size:
            return f"{joules / size:.4g}{SPACE}{unit}"
    return f"{joules:.4g}{SPACE}J"


def overlap(depth: float) -> str:
    """How deep two bodies overlap [m]."""
    return f"overlap {length(depth)}"


def note(name: str, text: str) -> str:
    """A remark about one body, in the form of the errors."""
    return f"body '{name}': {text}"


def bake_finished(bodies: int, frames: int, max_penetration: float) -> str:
    """Summary of a bake."""
    baked = _count(bodies, "body", "bodies")
    return f"Baked {baked} over {frames} frames, deepest overlap {length(max_penetration)}"


def bake_cancelled(done: int, frames: int) -> str:
    """What a cancelled bake leaves."""
    return f"Cancelled after {done} of {frames} frames, which are kept: Resume goes on from there"


def baking(job: BakeJob) -> str:
    """One line on a bake that runs."""
    if job.cancelling:
        return "Topple: ending after this frame"
    if job.state != "simulate":
        return f"Topple: {STAGES.get(job.state, job.state)}   (Esc cancels)"
    left = job.seconds_left
    line = f"Topple: frame {job.done} of {job.request.frames}, {_count(job.moving, 'body', 'bodies')} moving"
    return line + (f", {duration(left)} left" if left is not None else "") + "   (Esc cancels)"


READING = "Topple: reading the scene   (Esc cancels)"


def progress(job: BakeJob) -> str:
    """The text of the progress bar."""
    if job.state != "simulate":
        return STAGES[job.state].split(",")[0].capitalize()
    return f"Frame {job.done} of {job.request.frames}"


def progress_details(job: BakeJob) -> list[str]:
    """What the panel says below the bar."""
    if job.cancelling:
        return ["Ending after this frame"]
    if job.state == "compile":
        return ["Only once per machine and version;", "it takes a minute or two"]
    if not job.frames:
        return []
    left = job.seconds_left
    return [
        f"{_count(job.moving, 'body', 'bodies')} moving",
        f"Deepest overlap {length(job.frames[-1].deepest)}",
        f"About {duration(left)} left" if left is not None else "",
    ]


def baked(done: int, frames: int) -> str:
    """How much of a bake there is."""
    return (
        f"{_count(frames, 'frame', 'frames')} baked" if done >= frames else f"{done} of {frames} frames baked"
    )


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most so many characters."""
    return textwrap.wrap(text, width)


def duration(seconds: float) -> str:
    """A length of time in words."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole // 60 % 60:02} min"


def size(count: int) -> str:
    """Bytes in words."""
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"


def settling(job: BakeJob) -> str:
    """One line on objects that fall."""
    if job.state != "simulate":
        return f"Topple: {STAGES[job.state]}   (Esc leaves all as it is)"
    bodies = _count(job.moving, "object", "objects")
    return f"Topple: {bodies} moving after {job.done / job.request.fps:.1f} s   (Esc leaves all as it is)"


def settled(objects: int, seconds: float) -> str:
    """Summary of Drop and Settle."""
    time = duration(seconds) if seconds >= 10.0 else f"{seconds:.1f} s"
    return f"Settled {_count(objects, 'object', 'objects')} in {time}"


def not_at_rest(moving: int, seconds: float) -> str:
    """Objects that were stopped by the time limit."""
    objects = _count(moving, "object", "objects")
    return f"{objects} still moved after {seconds:g} s: settle again, or allow more time"


def exported(path: str) -> str:
    """Summary of Export Bake."""
    return f"Wrote '{path}'"


def cannot_export(path: str, reason: str) -> str:
    """The disk refuses, or there is nothing to write."""
    return f"'{path}' could not be written: {reason}"


def impacts_marked(frames: int) -> str:
    """Summary of Mark Impacts."""
    return f"Marked {_count(frames, 'frame', 'frames')}"


def keyframes_written(objects: int, frames: int) -> str:
    """Summary of Write Keyframes."""
    return f"Keyed {_count(objects, 'object', 'objects')} over {_count(frames, 'frame', 'frames')}"


def objects_gone(names: list[str]) -> str:
    """Objects that were deleted while their bodies were baked."""
    return f"{_listed(names)} no longer exist and were left out: bake again, or undo the deletion and resume"


def cannot_delete_cache(path: str, reason: str) -> str:
    """The disk refuses to delete a cache."""
    return f"the cache '{path}' could not be deleted ({reason}): delete its folder by hand"


def missing_folder(folder: str) -> str:
    """The output's folder does not exist."""
    return f"the folder '{folder}' does not exist: create it or choose another --output"


def cannot_save(path: str, reason: str) -> str:
    """The disk refuses the baked file."""
    return f"'{path}' could not be saved ({reason}): make room, or choose another --output"


def cache_moved(folder: str) -> str:
    """The file's own folder is read-only."""
    return f"the folder of this file cannot be written to, so the bake is kept in '{folder}'"


def foreign_cache(folder: str) -> str:
    """A cache folder of another version."""
    return f"the cache '{folder}' was made by another version of Topple: bake again"


def unreadable_cache(folder: str) -> str:
    """A cache folder that is damaged or gone."""
    return f"the cache '{folder}' is missing or damaged: bake again"


def cannot_write_cache(folder: str, reason: str) -> str:
    """The disk refuses; the bake goes on in memory."""
    return (
        f"the cache '{folder}' cannot be written ({reason}): this bake is in memory only; "
        "write its keyframes before you close Blender"
    )


def changed(names: list[str], more: int) -> str:
    """What is no longer as it was when the bake began."""
    listed = ", ".join(names)
    return f"{listed} changed" if more <= 0 else f"{listed} and {more} more changed"


def cannot_go_on(changes: str) -> str:
    """A bake that cannot be resumed and begins anew."""
    return f"baked from the start: {changes or 'no frame to go on from was found'}"


def _listed(names: list[str]) -> str:
    """Names of objects, the first few."""
    return ", ".join(f"'{name}'" for name in names[:4]) + (" and others" if len(names) > 4 else "")


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"
