"""Scenes and bodies: plain, validated descriptions of what is to be simulated.

Everything a user can get wrong is refused here, with the name of the body and the remedy; solvers
trust what they are given. Nothing here moves.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import SceneError, ShapeError, shown
from .files import write_whole
from .forces import Force, bodies_of, force_from_dict, force_to_dict
from .geometry.shapes import Box, Compound, ConvexHull, Mesh, Plane, Shape, shape_from_dict, shape_to_dict
from .reader import Reader

SCHEMA, SCHEMA_VERSION = "topple-scene", 1
DEFAULT_DENSITY = 1000.0  # water [kg/m^3]

BodyKind = Literal["dynamic", "static", "kinematic"]
Combine = Literal["geometric_mean", "multiply"]


class Motion(NamedTuple):
    """Prescribed motion of a kinematic body, held before the first and after the last time.

    Attributes:
        times: Increasing times [s], shape (k,).
        positions: Body origin at these times, world frame [m], shape (k, 3).
        orientations: Unit quaternions (w, x, y, z), shape (k, 4), each on the side of the one before.
    """

    times: NDArray[np.float64]
    positions: NDArray[np.float64]
    orientations: NDArray[np.float64]


class Body:
    """One rigid body: its shape, material, and state at the start.

    All attributes are validated and read-only; make a new body to change one. They have the names of
    the constructor's arguments, arrays as float64, and `mass`, `center_of_mass` and `inertia` filled
    in: for static bodies `mass` and `inertia` are zero, which reads as "cannot be moved".
    """

    name: str
    shape: Shape
    kind: BodyKind
    mass: float
    center_of_mass: NDArray[np.float64]
    inertia: NDArray[np.float64]
    position: NDArray[np.float64]
    orientation: NDArray[np.float64]
    linear_velocity: NDArray[np.float64]
    angular_velocity: NDArray[np.float64]
    restitution: float
    friction: float
    friction_dynamic: float
    linear_damping: float
    angular_damping: float
    layers: int
    collides_with: int
    lock_linear: tuple[bool, bool, bool]
    lock_angular: tuple[bool, bool, bool]
    asleep: bool
    motion: Motion | None
    release_time: float | None
    sensor: bool

    def __init__(
        self,
        name: str,
        shape: Shape,
        *,
        kind: BodyKind = "dynamic",
        mass: float | None = None,
        density: float | None = None,
        inertia: ArrayLike | None = None,
        center_of_mass: ArrayLike | None = None,
        position: ArrayLike = (0, 0, 0),
        orientation: ArrayLike = (1, 0, 0, 0),
        linear_velocity: ArrayLike = (0, 0, 0),
        angular_velocity: ArrayLike = (0, 0, 0),
        restitution: float = 0.0,
        friction: float = 0.5,
        friction_dynamic: float | None = None,
        linear_damping: float = 0.0,
        angular_damping: float = 0.0,
        layers: int = 1,
        collides_with: int = -1,
        lock_linear: Iterable[bool] = (False, False, False),
        lock_angular: Iterable[bool] = (False, False, False),
        asleep: bool = False,
        motion: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        release_time: float | None = None,
        sensor: bool = False,
    ) -> None:
        """Validate and store a body.

        Args:
            name: Unique in its scene.
            shape: Solid in the body's frame; a `Plane` must be static, a `Mesh` static or kinematic.
            kind: "dynamic" obeys forces, "static" never moves, "kinematic" follows `motion`.
            mass: Mass [kg]; wins over density.
            density: Density [kg/m^3]; 1000 where neither is given.
            inertia: Inertia about the centre of mass in body axes [kg m^2], shape (3, 3); by default
                that of the shape filled evenly.
            center_of_mass: Centre of mass in the body's frame [m], shape (3,); by default the shape's.
            position: Body origin, world frame [m], shape (3,).
            orientation: Quaternion (w, x, y, z) from body to world axes, shape (4,); made unit.
            linear_velocity: Velocity of the centre of mass, world frame [m/s], shape (3,).
            angular_velocity: World frame [rad/s], shape (3,).
            restitution: 0 (does not bounce) to 1 (keeps its speed).
            friction: Static Coulomb coefficient.
            friction_dynamic: Dynamic Coulomb coefficient, at most `friction`; equal to it by default.
            linear_damping: Rate at which linear velocity decays [1/s].
            angular_damping: Rate at which angular velocity decays [1/s].
            layers: Bits of the layers the body is in.
            collides_with: Bits of the layers it touches; a pair meets where both sides allow it.
            lock_linear: World axes x, y, z along which the body cannot move.
            lock_angular: World axes x, y, z about which the body cannot turn.
            asleep: Start at rest, held against gravity, until something that moves touches it.
            motion: Times [s] (k,), positions [m] (k, 3) and orientations (k, 4) of a kinematic body.
                It replaces `position` and `orientation`.
            release_time: When a kinematic body turns dynamic with the velocity it has then [s].
            sensor: Lets everything pass and only reports it, as events of the trajectory.

        Raises:
            SceneError: A value is not usable; names the body and the field.
            ShapeError: The shape has no usable solid; names the body.
        """
        if not isinstance(name, str) or not name:
            raise SceneError(f"a body's name is {name!r}; give it a non-empty string", field="name")
        if not isinstance(shape, Shape):
            raise SceneError(
                f"its shape is {shown(shape)}; use one of the shapes that topple has, such as topple.Box",
                body=name,
                field="shape",
            )
        read = Reader(name)
        kind = read.choice("kind", kind, get_args(BodyKind))
        if isinstance(shape, Plane) and kind != "static":
            raise SceneError("a plane has no end and cannot move; use kind='static'", body=name, field="kind")
        if isinstance(shape, Mesh) and (kind == "dynamic" or release_time is not None):
            raise SceneError(
                "a mesh has no inside to weigh and cannot be moved by forces; make it static or kinematic, "
                "or use a ConvexHull or a Compound",
                body=name,
                field="kind",
            )
        values: dict[str, Any] = {
            "name": name,
            "shape": shape,
            "kind": kind,
            **_mass_values(read, shape, kind, mass, density, inertia, center_of_mass),
            "position": read.array("position", position, (3,)),
            "orientation": read.quaternions("orientation", orientation, (4,)),
            "linear_velocity": read.array("linear_velocity", linear_velocity, (3,)),
            "angular_velocity": read.array("angular_velocity", angular_velocity, (3,)),
            "restitution": read.number("restitution", restitution, low=0.0, high=1.0),
            "friction": read.number("friction", friction, low=0.0),
            "linear_damping": read.number("linear_damping", linear_damping, low=0.0),
            "angular_damping": read.number("angular_damping", angular_damping, low=0.0),
            "layers": read.mask("layers", layers),
            "collides_with": read.mask("collides_with", collides_with),
            "lock_linear": read.flags("lock_linear", lock_linear),
            "lock_angular": read.flags("lock_angular", lock_angular),
            "asleep": bool(asleep),
            "sensor": bool(sensor),
        }
        values["friction_dynamic"] = read.number(
            "friction_dynamic",
            values["friction"] if friction_dynamic is None else friction_dynamic,
            low=0.0,
            high=values["friction"],
        )
        for field in ("linear_velocity", "angular_velocity"):
            if kind != "dynamic" and values[field].any():
                remedy = "use kind='kinematic' with motion" if kind == "static" else "give motion instead"
                raise SceneError(f"it is {kind} and takes no {field}; {remedy}", body=name, field=field)
            if asleep and values[field].any():
                raise SceneError(
                    f"it starts asleep and takes no {field}; leave out one", body=name, field=field
                )
        for field, given in (("motion", motion), ("release_time", release_time)):
            if given is not None and kind != "kinematic":
                raise SceneError(f"{field} needs kind='kinematic', not '{kind}'", body=name, field=field)
        values["motion"] = None if motion is None else _read_motion(read, motion)
        values["release_time"] = (
            None if release_time is None else read.number("release_time", release_time, low=0.0)
        )
        self.__dict__.update(values)

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(
            f"body '{self.name}': its fields are read-only (mass, inertia and shape belong together); "
            f"make a new Body to change {field}"
        )

    def __repr__(self) -> str:
        return f"Body({self.name!r}, {self.shape!r}, kind={self.kind!r}, mass={self.mass:g})"

    @property
    def is_movable(self) -> bool:
        """Whether forces can move the body, now or after its release."""
        return self.kind == "dynamic" or self.release_time is not None

    def to_dict(self) -> dict[str, Any]:
        """Describe the body by plain values for JSON, from which `Body` is made again to the bit."""
        values = dict(vars(self))
        values["shape"] = shape_to_dict(self.shape)
        for field, value in values.items():
            if isinstance(value, np.ndarray):
                values[field] = value.tolist()
        if self.motion is not None:
            values["motion"] = [array.tolist() for array in self.motion]
        if self.mass == 0.0:
            del values["mass"], values["inertia"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Body":
        """Make the body that `to_dict` described.

        Raises:
            SceneError: A field is unknown, missing or not usable.
            ShapeError: The shape is not usable.
        """
        values = dict(values) if isinstance(values, dict) else {}
        name = values.get("name")
        if not isinstance(name, str) or not isinstance(values.get("shape"), dict):
            raise SceneError("every body needs a name and a shape with a type; add them", body=name)
        try:
            shape = shape_from_dict(values.pop("shape"))
        except ShapeError as error:
            raise ShapeError(error.reason, body=name) from error
        try:
            return cls(shape=shape, **values)
        except TypeError as error:
            field = str(error).partition("argument ")[2] or str(error)
            raise SceneError(f"it has an unknown field {field}; remove it", body=name) from error


Item = TypeVar("Item", bound="Body | Force")


class Scene:
    """Bodies, the gravity they live in, and further forces."""

    def __init__(
        self,
        gravity: ArrayLike = (0, 0, -9.81),
        bodies: Iterable[Body] = (),
        *,
        forces: Iterable[Force] = (),
        combine: Combine = "geometric_mean",
    ) -> None:
        """Make a scene.

        Args:
            gravity: World frame [m/s^2], shape (3,).
            bodies: Bodies with different names.
            forces: Thrusters, springs and the like, of bodies that are in `bodies`.
            combine: How friction and restitution of two bodies make those of their contact;
                "geometric_mean" keeps equal values, "multiply" is what Blender does.

        Raises:
            SceneError: A value is not usable or a body's name is taken.
        """
        read = Reader(None)
        self.gravity = read.array("gravity", gravity, (3,))
        self.combine: Combine = read.choice("combine", combine, get_args(Combine))
        self.bodies: list[Body] = []
        self._names: set[str] = set()
        self.ignored: set[frozenset[str]] = set()
        self.forces: list[Force] = []
        for item in (*bodies, *forces):
            self.add(item)

    def __repr__(self) -> str:
        return f"Scene(gravity={tuple(self.gravity.tolist())}, {len(self.bodies)} bodies)"

    def add(self, item: Item) -> Item:
        """Add a body or a force and return it.

        Raises:
            SceneError: This is neither, a body's name is taken, or a force's body is missing.
        """
        if isinstance(item, Body):
            if len(self._names) != len(self.bodies):  # the list was edited by hand
                self._names = {body.name for body in self.bodies}
            if item.name in self._names:
                raise SceneError(
                    "the scene already has a body of this name; rename one", body=item.name, field="name"
                )
            self.bodies.append(item)
            self._names.add(item.name)
        elif isinstance(item, Force):
            names = {body.name for body in self.bodies}
            missing = [name for name in bodies_of(item) if name not in names]
            if missing:
                raise SceneError(
                    f"a {type(item).__name__} acts on '{missing[0]}', which the scene does not have; "
                    "add the body first",
                    field="forces",
                )
            self.forces.append(item)
        else:
            raise SceneError(f"{shown(item)} is no body; add a topple.Body or a force", field="bodies")
        return item

    def ignore(self, one: str, other: str) -> None:
        """Let two bodies pass through each other.

        Raises:
            SceneError: The scene has no body of one of these names, or they are the same.
        """
        names = {body.name for body in self.bodies}
        for name in (one, other):
            if name not in names:
                raise SceneError("the scene has no such body to ignore; add it first", body=name)
        if one == other:
            raise SceneError("a body cannot ignore itself; give two bodies", body=one)
        self.ignored.add(frozenset((one, other)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the scene as JSON; the file appears whole or not at all."""
        document = {
            "schema": SCHEMA,
            "version": SCHEMA_VERSION,
            "gravity": self.gravity.tolist(),
            "combine": self.combine,
            "bodies": [body.to_dict() for body in self.bodies],
            "ignored": sorted(sorted(pair) for pair in self.ignored),
        }
        if self.forces:
            document["forces"] = [force_to_dict(force) for force in self.forces]
        write_whole(path, _one_a_line(document).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Scene":
        """Read a scene that `save` wrote.

        Raises:
            OSError: The file cannot be read.
            SceneError: It is no scene of this version, or something in it is not usable.
            ShapeError: A shape is not usable.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise SceneError(f"{path} is not JSON ({error}); save it with Scene.save") from error
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise SceneError(f"{path} is no Topple scene; save it with Scene.save")
        version = document.get("version")
        if version != SCHEMA_VERSION:
            raise SceneError(
                f"{path} has scene version {shown(version)}, this Topple reads {SCHEMA_VERSION}; "
                "update Topple or save the scene again"
            )
        known = {"schema", "version", "gravity", "combine", "bodies", "forces", "ignored"}
        unknown = document.keys() - known
        if unknown:
            raise SceneError(f"{path} has unknown entries {', '.join(sorted(unknown))}; remove them")
        bodies, forces, ignored = (
            Reader(None).listing(field, document.get(field, [])) for field in ("bodies", "forces", "ignored")
        )
        scene = cls(
            document.get("gravity", (0, 0, -9.81)),
            [Body.from_dict(values) for values in bodies],
            forces=[force_from_dict(values) for values in forces],
            combine=document.get("combine", "geometric_mean"),
        )
        for pair in ignored:
            if not (isinstance(pair, list) and [type(name) for name in pair] == [str, str]):
                raise SceneError(f"ignored has {shown(pair)}; give pairs of names", field="ignored")
            scene.ignore(*pair)
        return scene


def _mass_values(
    read: Reader,
    shape: Shape,
    kind: BodyKind,
    mass: float | None,
    density: float | None,
    inertia: ArrayLike | None,
    center_of_mass: ArrayLike | None,
) -> dict[str, Any]:
    """Mass, centre of mass and inertia from what was given and from the shape."""
    try:
        if isinstance(shape, Mesh):
            _ = shape.surface
        solid = None if isinstance(shape, Plane | Mesh) else shape.mass_properties
        parts = [part for part, _, _ in shape.placed_parts()] if isinstance(shape, Compound) else [shape]
        for part in parts:
            if isinstance(part, Box | ConvexHull):
                _ = part.hull
    except ShapeError as error:
        raise ShapeError(error.reason, body=read.body) from error
    center = np.zeros(3) if solid is None else solid.center_of_mass
    values = {
        "center_of_mass": read.array(
            "center_of_mass", center if center_of_mass is None else center_of_mass, (3,)
        )
    }
    if mass is not None:
        mass = read.number("mass", mass, above=0.0)
    if density is not None:
        density = read.number("density", density, above=0.0)
    if inertia is not None:
        inertia = _read_inertia(read, inertia)
    if kind == "static" or solid is None:
        return {**values, "mass": 0.0, "inertia": read.array("inertia", np.zeros((3, 3)), (3, 3))}
    if mass is None:
        mass = (DEFAULT_DENSITY if density is None else density) * solid.volume
    if inertia is None:
        inertia = read.array("inertia", solid.inertia * (mass / solid.volume), (3, 3))
    return {**values, "mass": mass, "inertia": inertia}


def _one_a_line(document: dict[str, Any]) -> str:
    """JSON with a line for each item of a list: quick to write, and a body that changes, changes its line."""
    return (
        "{\n"
        + ",\n".join(f"{json.dumps(name)}: {_lines(value)}" for name, value in document.items())
        + "\n}\n"
    )


def _lines(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"


def _read_inertia(read: Reader, value: ArrayLike) -> NDArray[np.float64]:
    inertia = read.array("inertia", value, (3, 3))
    if np.abs(inertia - inertia.T).max() > 1e-9 * np.abs(inertia).max():
        raise read.error("inertia", "is not symmetric; give the full (3, 3) matrix about the centre of mass")
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] <= 1e-12 * moments[2]:
        raise read.error("inertia", "is not positive definite; every principal moment must be above zero")
    if moments[0] + moments[1] < moments[2] * (1 - 1e-6):
        raise read.error("inertia", "belongs to no body: its largest moment exceeds the sum of the other two")
    return inertia


def _read_motion(read: Reader, motion: tuple[ArrayLike, ArrayLike, ArrayLike]) -> Motion:
    try:
        times, positions, orientations = motion
    except (TypeError, ValueError) as error:
        raise read.error("motion", "is not (times, positions, orientations); give these three") from error
    times = read.array("motion", times, (-1,))
    positions = read.array("motion", positions, (-1, 3))
    orientations = read.quaternions("motion", orientations, (-1, 4)).copy()
    if not len(times) == len(positions) == len(orientations) > 0:
        raise read.error("motion", "needs equally many times, positions and orientations, at least one")
    if not (np.diff(times) > 0).all():
        raise read.error("motion", "has times that do not increase; sort them and drop doubles")
    # q and -q are one orientation; the nearer of the two makes interpolation take the short way.
    turns = np.einsum("ij,ij->i", orientations[1:], orientations[:-1]) < 0
    orientations[1:] *= np.where(np.cumsum(turns) % 2, -1.0, 1.0)[:, None]
    orientations += 0.0
    orientations.flags.writeable = False
    return Motion(times, positions, orientations)
