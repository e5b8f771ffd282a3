"""From the paths of bodies to the channels of objects: parents, deltas and rotation modes. Pure: no bpy."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from .rigid_frames import multiply_quaternions, rotation_from_wxyz, rotation_of, wxyz_from_rotation
from .units import LengthUnit


@dataclass(frozen=True)
class KeyedObject:
    """A dynamic object at the first frame, and its parent space at every frame.

    Attributes:
        name: Object and body name.
        rotation_mode: Blender's rotation mode.
        rotation_start: Rotation channels before the bake, shape (3,) or (4,).
        rotation: The object's unscaled rotation in its parent space, delta rotation included.
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
    rotation: Rotation
    delta_location: np.ndarray
    delta_rotation: Rotation
    body_rotation: Rotation
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
        self._before = np.empty((len(self.keyed), 4))
        self._after = np.empty((len(self.keyed), 4))
        self._delta = np.array([target.delta_location for target in self.keyed]).reshape(-1, 3)
        for i, target in enumerate(self.keyed):
            after = target.body_rotation.inv() * target.rotation
            if target.parent is not None:
                turn = rotation_of(self._parent_at_start(target))
                after = target.body_rotation.inv() * turn * target.rotation
            self._before[i] = wxyz_from_rotation(target.delta_rotation.inv())
            self._after[i] = wxyz_from_rotation(after)

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
        location = position.copy()
        before = np.broadcast_to(self._before, orientation.shape).copy()
        for i, target in enumerate(self.keyed):
            if target.parent is None:
                continue
            parent = self._parent_path(target, position, orientation, first)
            location[:, i] = _inverse_transform(parent, position[:, i])
            before[:, i] = wxyz_from_rotation(target.delta_rotation.inv() * rotation_of(parent).inv())
        rotation = multiply_quaternions(multiply_quaternions(before, orientation), self._after)
        return location - self._delta, rotation

    def _parent_at_start(self, target: KeyedObject) -> np.ndarray:
        """Parent space at the start, where a carrier's bake is where the carrier was sampled."""
        assert target.parent is not None
        return target.parent[0]

    def _parent_path(
        self, target: KeyedObject, position: np.ndarray, orientation: np.ndarray, first: int
    ) -> np.ndarray:
        """Parent space at each frame; with a dynamic carrier, moved as the carrier's bake moves it."""
        assert target.parent is not None
        parent = target.parent[first : first + len(position)]
        if target.carrier is None or target.carrier_world is None:
            return parent
        sampled = target.carrier_world[first : first + len(position)]
        carrier = self._place[target.carrier]
        turn = (rotation_from_wxyz(orientation[:, carrier]) * rotation_of(sampled).inv()).as_matrix()
        moved = parent.copy()
        moved[:, :3, :3] = turn @ parent[:, :3, :3]
        moved[:, :3, 3] = position[:, carrier] + _transform(turn, parent[:, :3, 3] - sampled[:, :3, 3])
        return moved


def pack_objects(keyed: Sequence[KeyedObject]) -> dict[str, np.ndarray]:
    """The objects as arrays for an npz, from which `unpack_objects` makes them again."""
    described = [[target.name, target.rotation_mode, target.carrier] for target in keyed]
    turns = [(target.rotation, target.delta_rotation, target.body_rotation) for target in keyed]
    start = np.zeros((len(keyed), 4))
    for row, target in zip(start, keyed, strict=True):
        row[: len(target.rotation_start)] = target.rotation_start
    arrays = {
        "objects": np.array(json.dumps(described)),
        "turns": np.array([[wxyz_from_rotation(turn) for turn in row] for row in turns]).reshape(-1, 3, 4),
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
        rotation, delta_rotation, body_rotation = map(rotation_from_wxyz, arrays["turns"][i])
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


def _transform(linear: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Apply a stack of 3x3 matrices to a stack of vectors."""
    return np.einsum("fij,fj->fi", linear, vectors)


def _inverse_transform(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    """World points in the spaces of a stack of 4x4 matrices."""
    return _transform(np.linalg.inv(matrices[:, :3, :3]), points - matrices[:, :3, 3])
