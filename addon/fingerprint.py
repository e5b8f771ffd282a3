"""What a bake depends on, part by part, so that a change can be told and named. Pure: no bpy."""

from __future__ import annotations  # naming core's types must not load the solver

import hashlib
import json
from functools import cached_property
from typing import Any

import numpy as np

from .. import core
from . import messages

MAX_NAMED = 3  # changes told one by one; the rest is counted


def digest(value: Any) -> str:
    """A short hash of nested plain values and arrays."""
    return hashlib.blake2b(_ENCODER.encode(value).encode(), digest_size=8).hexdigest()


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
        inputs[f"body '{body.name}'"] = _digest_of_plain(values, shapes[id(shape)])
        if motion is not None:
            inputs[f"animation of '{body.name}'"] = [digest(row) for row in zip(*motion, strict=True)]
    return inputs


def _digest_of_plain(values: dict[str, Any], more: str) -> str:
    """A short hash of plain values and arrays by their names; `digest` would take thrice as long."""
    found = hashlib.blake2b(more.encode(), digest_size=8)
    for name, value in values.items():
        found.update(name.encode())
        found.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return found.hexdigest()


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


def _plainer(value: Any) -> Any:
    """What stands for a value that JSON does not know."""
    if isinstance(value, np.ndarray):
        content = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=8).hexdigest()
        return [value.dtype.str, value.shape, content]
    if isinstance(value, core.Shape):
        # What a shape works out and keeps (hull, mass) follows from what it was made from.
        kept = {name for name, item in vars(type(value)).items() if isinstance(item, cached_property)}
        given = {name: item for name, item in vars(value).items() if name not in kept}
        return [type(value).__name__, given]
    if isinstance(value, set | frozenset):
        return sorted(value)
    return list(value) if hasattr(value, "__len__") else f"{type(value).__name__}:{value!r}"


_ENCODER = json.JSONEncoder(default=_plainer, sort_keys=True)
