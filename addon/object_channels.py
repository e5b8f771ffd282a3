"""From the paths of bodies to the channels of objects: parents, deltas and rotation modes. Pure: no bpy."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .rigid_frames import conjugate, multiply_quaternions, rotation_from_wxyz, rotation_of, wxyz_of
from .units import LengthUnit


@dataclass(frozen=True)
class KeyedObject:
    """A dynamic object at the first frame, and its parent space at every frame.

    Attributes:
        name: Object and body name.
        rotation_mode: Blender's rotation mode.
        rotation_start: Rotation channels before the bake, shape (3,) or (4,).
        rotation: The object's unscaled rotation in its parent space, delta rotation included; this and the
            two below are quaternions (w, x, y, z), shape (4,).
        delta_location: Added by Blender to the location [Blender units], shape (3,).
        delta_rotation: Applied by Blender after the rotation.
        body_rotation: The body frame's rotation in the world.
        parent: Parent space to world [Blender units], shape (frames + 1, 4, 4); None without parent.
        carrier: Nearest dynamic body among the parents: it moves the parent space once more.
        carrier_world: The carrier's world matrices that `parent` was sampled with, same shape.
    """

    name: str
    rotation_mode: str
    rotation_start: np.ndarray
    rotation: np.ndarray
    delta_location: np.ndarray
    delta_rotation: np.ndarray
    body_rotation: np.ndarray
    parent: np.ndarray | None
    carrier: str | None
    carrier_world: np.ndarray | None


class ObjectChannels:
    """Turns states of bodies into location and rotation of objects, many at once.

    A rotation channel is before * orientation * after: `before` takes out the turn of the parent space and
    the delta, `after` is the fixed turn from the body frame to the object's rotation.
    """

    def __init__(self, keyed: Sequence[KeyedObject], names: Sequence[str], unit: LengthUnit) -> None:
        """Prepare what does not change from frame to frame.

        Args:
            keyed: The objects.
            names: Bodies, in the order of the states.
            unit: Length unit of the scene.
        """
        self.keyed, self.unit = tuple(keyed), unit
        index = {name: i for i, name in enumerate(names)}
        self._column = np.array([index[target.name] for target in self.keyed], dtype=int)
        self._place = {target.name: i for i, target in enumerate(self.keyed)}
        self._delta = np.array([target.delta_location for target in self.keyed]).reshape(-1, 3)
        rotation, delta_rotation, body_rotation = _turns(self.keyed)
        self._before, self._after = conjugate(delta_rotation), conjugate(body_rotation)
        self._parented = [i for i, target in enumerate(self.keyed) if target.parent is not None]
        self._carried = [i for i in self._parented if self.keyed[i].carrier is not None]
        if self._parented:
            at_start = _paths([self.keyed[i].parent for i in self._parented], 0, 1)[0]
            self._after[self._parented] = multiply_quaternions(self._after[self._parented], wxyz_of(at_start))
        self._after = multiply_quaternions(self._after, rotation)

    def at(self, position: np.ndarray, orientation: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Channels at some frames.

        Args:
            position: Of all bodies [m], shape (frames, bodies, 3).
            orientation: Quaternions (w, x, y, z), shape (frames, bodies, 4).
            first: Number of the first of these frames, counted from the start of the bake.

        Returns:
            Locations [Blender units], shape (frames, objects, 3), and rotations as quaternions
            (w, x, y, z), shape (frames, objects, 4).
        """
        position = self.unit.from_si(position[:, self._column])
        orientation = orientation[:, self._column]
        before = np.broadcast_to(self._before, orientation.shape)
        location = position
        if self._parented:
            location, before, members = position.copy(), before.copy(), self._parented
            parent = self._parent_paths(position, orientation, first)
            location[:, members] = _inverse_transform(parent, position[:, members])
            before[:, members] = multiply_quaternions(before[:, members], conjugate(wxyz_of(parent)))
        rotation = orientation if _turn_nothing(before) else multiply_quaternions(before, orientation)
        if not _turn_nothing(self._after):  # most objects have neither deltas nor shear
            rotation = multiply_quaternions(rotation, self._after)
        return location - self._delta, rotation

    def _parent_paths(self, position: np.ndarray, orientation: np.ndarray, first: int) -> np.ndarray:
        """Parent spaces at each frame, shape (frames, parented, 4, 4), moved as their carriers are."""
        frames = len(position)
        parents = _paths([self.keyed[i].parent for i in self._parented], first, frames)
        if not self._carried:
            return parents
        sampled = _paths([self.keyed[i].carrier_world for i in self._carried], first, frames)
        carriers = [self._place[self.keyed[i].carrier or ""] for i in self._carried]
        members = [self._parented.index(i) for i in self._carried]
        now = rotation_from_wxyz(orientation[:, carriers].reshape(-1, 4)).as_matrix()
        turn = now.reshape(frames, -1, 3, 3) @ np.swapaxes(rotation_of(sampled), -1, -2)
        moved = parents[:, members]
        arm = moved[..., :3, 3] - sampled[..., :3, 3]
        moved[..., :3, :3] = turn @ moved[..., :3, :3]
        moved[..., :3, 3] = position[:, carriers] + _transform(turn, arm)
        parents[:, members] = moved
        return parents


def _turn_nothing(quaternions: np.ndarray) -> bool:
    return bool((quaternions == (1.0, 0.0, 0.0, 0.0)).all())


def pack_objects(keyed: Sequence[KeyedObject]) -> dict[str, np.ndarray]:
    """The objects as arrays for an npz, from which `unpack_objects` makes them again."""
    described = [[target.name, target.rotation_mode, target.carrier] for target in keyed]
    start = np.zeros((len(keyed), 4))
    for row, target in zip(start, keyed, strict=True):
        row[: len(target.rotation_start)] = target.rotation_start
    arrays = {
        "objects": np.array(json.dumps(described)),
        "turns": np.stack(_turns(keyed), axis=1),
        "rotation_start": start,
        "delta_location": np.array([target.delta_location for target in keyed]).reshape(-1, 3),
    }
    for i, target in enumerate(keyed):
        for field in ("parent", "carrier_world"):
            if getattr(target, field) is not None:
                arrays[f"{field}_{i}"] = getattr(target, field)
    return arrays


def unpack_objects(arrays: dict[str, np.ndarray]) -> tuple[KeyedObject, ...]:
    """The objects that `pack_objects` packed."""
    keyed = []
    for i, (name, rotation_mode, carrier) in enumerate(json.loads(str(arrays["objects"]))):
        rotation, delta_rotation, body_rotation = arrays["turns"][i]
        width = 4 if rotation_mode in ("QUATERNION", "AXIS_ANGLE") else 3
        keyed.append(
            KeyedObject(
                name=name,
                rotation_mode=rotation_mode,
                rotation_start=arrays["rotation_start"][i, :width],
                rotation=rotation,
                delta_location=arrays["delta_location"][i],
                delta_rotation=delta_rotation,
                body_rotation=body_rotation,
                parent=arrays.get(f"parent_{i}"),
                carrier=carrier,
                carrier_world=arrays.get(f"carrier_world_{i}"),
            )
        )
    return tuple(keyed)


def _turns(keyed: Sequence[KeyedObject]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`rotation`, `delta_rotation` and `body_rotation` of all objects, each shape (objects, 4)."""
    turns = [(target.rotation, target.delta_rotation, target.body_rotation) for target in keyed]
    rotation, delta_rotation, body_rotation = np.array(turns).reshape(-1, 3, 4).swapaxes(0, 1)
    return rotation, delta_rotation, body_rotation


def _paths(paths: Sequence[np.ndarray | None], first: int, frames: int) -> np.ndarray:
    """Some frames of the matrices of many objects, shape (frames, objects, 4, 4)."""
    return np.stack([path[first : first + frames] for path in paths if path is not None], axis=1)


def _transform(linear: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Apply a stack of 3x3 matrices to a stack of vectors."""
    return (linear @ vectors[..., None])[..., 0]


def _inverse_transform(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    """World points in the spaces of a stack of 4x4 matrices."""
    return _transform(np.linalg.inv(matrices[..., :3, :3]), points - matrices[..., :3, 3])
