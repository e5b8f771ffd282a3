"""What an object was animated by before its bake: kept, shown for a while, given back.

`Object.topple.previous` keeps it in the .blend from the first bake until Clear Bake; baking again
replaces the bake alone. An action made by a bake carries a mark, so that an action the artist put
in its place is never taken for a bake. The same keeps what a preview (`preview`) puts away.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import bpy

from .keyframes import assign_with_curve_holder, find_curve_holder, has_slots

BAKE_MARK = "topple_bake"
TRANSFORM_PATHS = ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle")


@dataclass(frozen=True)
class AnimationState:
    """Action, slot, place in the NLA stack and pose; the names are those of `previous`."""

    has_animation_data: bool
    use_nla: bool
    action: bpy.types.Action | None
    slot_identifier: str
    blend_type: str
    extrapolation: str
    influence: float
    location: tuple[float, ...]
    rotation_euler: tuple[float, ...]
    rotation_quaternion: tuple[float, ...]
    rotation_axis_angle: tuple[float, ...]


STATE = tuple(field.name for field in fields(AnimationState))


def current_state(obj: bpy.types.Object) -> AnimationState:
    """How an object is animated and placed now."""
    animation = obj.animation_data
    action = animation.action if animation else None
    slot = animation.action_slot if action and has_slots(action) else None
    return AnimationState(
        has_animation_data=animation is not None,
        use_nla=animation.use_nla if animation else True,
        action=action,
        slot_identifier=slot.identifier if slot else "",
        blend_type=animation.action_blend_type if animation else "REPLACE",
        extrapolation=animation.action_extrapolation if animation else "HOLD",
        influence=animation.action_influence if animation else 1.0,
        location=tuple(obj.location),
        rotation_euler=tuple(obj.rotation_euler),
        rotation_quaternion=tuple(obj.rotation_quaternion),
        rotation_axis_angle=tuple(obj.rotation_axis_angle),
    )


def apply_state(obj: bpy.types.Object, state: AnimationState) -> None:
    """Animate and place an object as it was."""
    if state.has_animation_data:
        animation = obj.animation_data_create()
        animation.use_nla = state.use_nla
        animation.action = state.action
        if state.action and state.slot_identifier:
            animation.action_slot = state.action.slots.get(state.slot_identifier)
        animation.action_blend_type = state.blend_type
        animation.action_extrapolation = state.extrapolation
        animation.action_influence = state.influence
    else:
        _drop_animation_data(obj)
    obj.location = state.location
    obj.rotation_euler = state.rotation_euler
    obj.rotation_quaternion = state.rotation_quaternion
    obj.rotation_axis_angle = state.rotation_axis_angle


def bake_of(obj: bpy.types.Object) -> bpy.types.Action | None:
    """The action of an object's bake, or None where it has no bake that can be cleared."""
    if obj.animation_data is None or not obj.topple.previous.stored:
        return None
    track = bake_track(obj)
    action = obj.animation_data.action if track is None else track.strips[0].action
    return action if action and action.get(BAKE_MARK) else None


def bake_track(obj: bpy.types.Object) -> bpy.types.NlaTrack | None:
    """The NLA track of an object's bake, or None."""
    for track in obj.animation_data.nla_tracks if obj.animation_data else ():
        if any(strip.action and strip.action.get(BAKE_MARK) for strip in track.strips):
            return track
    return None


def push_down(obj: bpy.types.Object, first_frame: int) -> None:
    """Move the action of an object's bake into an NLA track of its own, above those there are."""
    animation = obj.animation_data
    action, slot = animation.action, animation.action_slot if has_slots(animation.action) else None
    track = animation.nla_tracks.new()
    track.name = "Topple Bake"
    strip = track.strips.new(action.name, first_frame, action)
    if slot is not None:
        strip.action_slot = slot
    animation.action = None
    animation.use_nla = True


def remove_bake_track(obj: bpy.types.Object) -> None:
    """Take away what `push_down` made."""
    track = bake_track(obj)
    if track is not None:
        obj.animation_data.nla_tracks.remove(track)


def is_previewed(obj: bpy.types.Object) -> bool:
    """Whether an object is put where its bake has it, without keyframes."""
    previous = obj.topple.previous
    return previous.stored and previous.previewed


def is_baked(obj: bpy.types.Object) -> bool:
    """Whether an object moves by a bake that can be cleared."""
    return is_previewed(obj) or bake_of(obj) is not None


def begin_preview(obj: bpy.types.Object) -> bpy.types.Action | None:
    """Put the animation of an object's place away; the rest goes on. Returns that of an earlier bake."""
    if is_previewed(obj):
        return None
    before, earlier = state_before_bake(obj), bake_of(obj)
    if obj.animation_data is not None:
        obj.animation_data.use_tweak_mode = False
        remove_bake_track(obj)
        assign_action_without_place(obj, before)
        obj.animation_data.use_nla = False
    store_state(obj, before)
    obj.topple.previous.previewed = True
    return earlier


def assign_action_without_place(obj: bpy.types.Object, before: AnimationState) -> Any:
    """Give an object an action of ours, with the curves of the one before but for the place; its holder."""
    name = f"{obj.name} Topple Bake"
    if animates_more(before):
        assert before.action is not None
        action = before.action.copy()
        assert action is not None
        action.name = name
    else:
        action = bpy.data.actions.new(name)
    action[BAKE_MARK] = True
    holder = assign_with_curve_holder(obj, action, before.slot_identifier)
    for curve in [curve for curve in holder.fcurves if curve.data_path in TRANSFORM_PATHS]:
        holder.fcurves.remove(curve)
    return holder


def assign_copy(obj: bpy.types.Object, pattern: bpy.types.Action) -> Any:
    """Give an object a copy of another one's bake, whose curves are about to be filled anew; its holder."""
    action = pattern.copy()
    action.name = f"{obj.name} Topple Bake"
    slot = ""
    if has_slots(action):
        action.slots[0].name_display = obj.name
        slot = action.slots[0].identifier
    return assign_with_curve_holder(obj, action, slot)


def animates_more(state: AnimationState) -> bool:
    """Whether an action animates more than the place."""
    if state.action is None:
        return False
    holder = find_curve_holder(state.action, state.slot_identifier)
    return bool(holder) and any(curve.data_path not in TRANSFORM_PATHS for curve in holder.fcurves)


def state_before_bake(obj: bpy.types.Object) -> AnimationState:
    """What Clear Bake will give back: the stored state of a baked object, else the current one."""
    return _load(obj.topple.previous) if is_baked(obj) else current_state(obj)


def store_state(obj: bpy.types.Object, state: AnimationState) -> None:
    """Keep a state in the .blend; the bake must have been assigned."""
    previous = obj.topple.previous
    for name, value in vars(state).items():
        setattr(previous, name, value)
    previous.stored, previous.previewed = True, False


def give_back(obj: bpy.types.Object) -> None:
    """Animate an object as before its bake."""
    remove_bake_track(obj)
    apply_state(obj, _load(obj.topple.previous))
    forget(obj)


def forget(obj: bpy.types.Object) -> None:
    """Drop what is stored; the object keeps the animation it has."""
    obj.topple.property_unset("previous")


def remove_unused(actions: Iterable[bpy.types.Action]) -> None:
    """Delete actions of bakes, except those that something else uses by now."""
    # One by one, each removal would search the whole file for users.
    unused = [action for action in actions if action.users == 0]
    if unused:
        bpy.data.batch_remove(unused)


@contextmanager
def originals_shown(objects: Iterable[bpy.types.Object]) -> Iterator[None]:
    """Animate baked objects as before their bake for the time of the block."""
    bakes = [(obj, current_state(obj), is_previewed(obj)) for obj in objects if is_baked(obj)]
    for obj, _, _ in bakes:
        obj.topple.previous.previewed = False  # else the preview would put it where the bake has it
        _mute(obj, True)
        apply_state(obj, _load(obj.topple.previous))
    try:
        yield
    finally:
        for obj, state, previewed in bakes:
            apply_state(obj, state)
            _mute(obj, False)
            obj.topple.previous.previewed = previewed


def _mute(obj: bpy.types.Object, mute: bool) -> None:
    track = bake_track(obj)
    if track is not None:
        track.mute = mute


def _load(previous: Any) -> AnimationState:
    values = {name: getattr(previous, name) for name in STATE}
    for name in ("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle"):
        values[name] = tuple(values[name])
    return AnimationState(**values)


def _drop_animation_data(obj: bpy.types.Object) -> None:
    """Remove animation data, unless the artist added drivers or NLA tracks since."""
    animation = obj.animation_data
    if animation is None:
        return
    animation.action = None
    if not animation.drivers and not animation.nla_tracks:
        obj.animation_data_clear()
