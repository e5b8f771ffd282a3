"""What a bake depends on, part by part, so that a change can be told and named. Pure: no bpy."""

from __future__ import annotations  # naming core's types must not load the solver

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from .. import core
from . import messages

MAX_NAMED = 3  # changes told one by one; the rest is counted


def digest(value: Any) -> str:
    """A short hash of nested plain values and arrays."""
    state = hashlib.blake2b(digest_size=8)
    _feed(value, state)
    return state.hexdigest()


def of_scene(scene: core.Scene, solver: object, fps: float) -> dict[str, Any]:
    """What the motion depends on: one entry for each input of the solver.

    The path of an animated body is a list, one entry a frame: a bake can go on where only frames to
    come have changed.
    """
    inputs: dict[str, Any] = {
        "solver": repr(solver),
        "frame rate": repr(fps),
        "gravity": digest(scene.gravity),
        "bodies": digest([body.name for body in scene.bodies]),
    }
    shapes: dict[int, str] = {}  # copies share a shape, which is digested once
    for body in scene.bodies:
        values = dict(vars(body))
        motion, shape = values.pop("motion"), values.pop("shape")
        shapes[id(shape)] = shapes.get(id(shape)) or digest(shape)
        inputs[f"body '{body.name}'"] = digest([sorted(values.items()), shapes[id(shape)]])
        if motion is not None:
            inputs[f"animation of '{body.name}'"] = [digest(row) for row in zip(*motion, strict=True)]
    return inputs


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Names of the entries that differ, that are new, or that are gone."""
    return [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]


def same_until(old: dict[str, Any], new: dict[str, Any], frame: int) -> bool:
    """Whether the state at a frame, and what it foresees of the next, comes from the same inputs."""
    for name in dict.fromkeys([*old, *new]):
        one, other = old.get(name), new.get(name)
        if isinstance(one, list) and isinstance(other, list):
            one, other = one[: frame + 2], other[: frame + 2]
        if one != other:
            return False
    return True


def sentence(names: list[str]) -> str:
    """The first few changes in words; empty where nothing changed."""
    if not names:
        return ""
    return messages.changed(names[:MAX_NAMED], len(names) - MAX_NAMED)


def _feed(value: Any, state: Any) -> None:
    if isinstance(value, np.ndarray):
        state.update(f"{value.dtype.str}{value.shape}".encode())
        state.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, dict):
        _feed(sorted(value.items()), state)
    elif isinstance(value, list | tuple):
        state.update(f"{len(value)}(".encode())
        for item in value:
            _feed(item, state)
    elif isinstance(value, core.Shape):
        state.update(type(value).__name__.encode())
        # What a shape works out and keeps (hull, mass) follows from what it was made from.
        kept = {name for name, item in vars(type(value)).items() if isinstance(item, cached_property)}
        _feed({name: item for name, item in vars(value).items() if name not in kept}, state)
    else:
        state.update(f"{type(value).__name__}:{value!r};".encode())
