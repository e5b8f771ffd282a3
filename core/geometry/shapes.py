"""Shapes a body can have: plain validated sizes, with their hull and mass properties on demand.

A shape knows nothing of bodies: its `ShapeError` gets the body's name from `Body`.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from ..errors import ShapeError, shown
from .hull import Hull, box_hull, build_hull
from .mass_properties import (
    MassProperties,
    box_mass_properties,
    capsule_mass_properties,
    cone_mass_properties,
    cylinder_mass_properties,
    hull_mass_properties,
    joined_mass_properties,
    sphere_mass_properties,
)
from .mesh import TriangleMesh, build_mesh


class Sphere:
    """Sphere about the body's origin."""

    def __init__(self, radius: float) -> None:
        """Store the radius.

        Args:
            radius: Radius [m], positive.

        Raises:
            ShapeError: The radius is not a positive finite number.
        """
        self.radius = float(_positive(radius, "radius", ()))

    def __repr__(self) -> str:
        return f"Sphere({self.radius:g})"

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Volume, centre of mass and inertia at density 1."""
        return _with_volume(sphere_mass_properties(self.radius))


class Box:
    """Box about the body's origin, its edges along the body's axes."""

    def __init__(self, size: ArrayLike) -> None:
        """Store the extents.

        Args:
            size: Full extents along x, y, z [m], shape (3,), positive.

        Raises:
            ShapeError: An extent is not a positive finite number.
        """
        self.size = _positive(size, "size", (3,))

    def __repr__(self) -> str:
        return f"Box(({', '.join(f'{extent:g}' for extent in self.size)}))"

    @cached_property
    def hull(self) -> Hull:
        """The box as a convex hull: 8 vertices, 6 faces, 12 edges."""
        return box_hull(self.size)

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Volume, centre of mass and inertia at density 1."""
        return _with_volume(box_mass_properties(self.size))


class Capsule:
    """Cylinder with a half sphere on each end, about the body's origin, along its z axis."""

    def __init__(self, radius: float, height: float) -> None:
        """Store the extents.

        Args:
            radius: Radius [m], positive.
            height: Height without the half spheres [m], positive.

        Raises:
            ShapeError: An extent is not a positive finite number.
        """
        self.radius = float(_positive(radius, "radius", ()))
        self.height = float(_positive(height, "height", ()))

    def __repr__(self) -> str:
        return f"Capsule({self.radius:g}, {self.height:g})"

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Volume, centre of mass and inertia at density 1."""
        return _with_volume(capsule_mass_properties(self.radius, self.height))


class Cylinder:
    """Cylinder, about the body's origin, along its z axis."""

    def __init__(self, radius: float, height: float) -> None:
        """Store the extents.

        Args:
            radius: Radius [m], positive.
            height: Full height [m], positive.

        Raises:
            ShapeError: An extent is not a positive finite number.
        """
        self.radius = float(_positive(radius, "radius", ()))
        self.height = float(_positive(height, "height", ()))

    def __repr__(self) -> str:
        return f"Cylinder({self.radius:g}, {self.height:g})"

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Volume, centre of mass and inertia at density 1."""
        return _with_volume(cylinder_mass_properties(self.radius, self.height))


class Cone:
    """Cone with its apex up, along the body's z axis; the origin lies at half its height."""

    def __init__(self, radius: float, height: float) -> None:
        """Store the extents.

        Args:
            radius: Radius [m], positive.
            height: Full height [m], positive.

        Raises:
            ShapeError: An extent is not a positive finite number.
        """
        self.radius = float(_positive(radius, "radius", ()))
        self.height = float(_positive(height, "height", ()))

    def __repr__(self) -> str:
        return f"Cone({self.radius:g}, {self.height:g})"

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Volume, centre of mass and inertia at density 1."""
        return _with_volume(cone_mass_properties(self.radius, self.height))


class ConvexHull:
    """Convex hull of points in the body's frame; built on first use of `hull`."""

    def __init__(self, points: ArrayLike) -> None:
        """Store the points.

        Args:
            points: Coordinates [m], shape (n, 3), at least 4 that are not in one plane.

        Raises:
            ShapeError: The points are not an array of numbers.
        """
        try:
            self.points = _read_only(points)
        except (TypeError, ValueError, OverflowError) as error:
            raise ShapeError("its points are not numbers; give an array of shape (n, 3)") from error

    def __repr__(self) -> str:
        return f"ConvexHull({len(self.points)} points)"

    @cached_property
    def hull(self) -> Hull:
        """Vertices, faces and edges.

        Raises:
            ShapeError: The points are not finite, too few, or span no volume.
        """
        return build_hull(self.points)

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Volume, centre of mass and inertia at density 1.

        Raises:
            ShapeError: The points are not finite, too few, or span no volume.
        """
        return _with_volume(hull_mass_properties(self.hull))


class Plane:
    """Half-space, solid where normal . x < offset, in the body's frame; for static bodies."""

    def __init__(self, normal: ArrayLike, offset: float) -> None:
        """Store the plane with its normal made unit.

        Args:
            normal: Direction out of the solid, shape (3,), any length but zero.
            offset: Distance of the plane from the body's origin along the unit normal [m].

        Raises:
            ShapeError: The normal is zero, or something is not finite.
        """
        direction = _numbers(normal, "normal", (3,))
        length = float(np.linalg.norm(direction))
        if not 0.0 < length < np.inf:
            raise ShapeError(
                f"its normal has length {length:g}; give the direction that points out of the solid"
            )
        # One that is unit already keeps its bits, so that saving and loading change nothing.
        self.normal = _read_only(direction if abs(length - 1.0) < 1e-15 else direction / length)
        self.offset = float(_numbers(offset, "offset", ()))

    def __repr__(self) -> str:
        return f"Plane(({', '.join(f'{x:g}' for x in self.normal)}), {self.offset:g})"


class Mesh:
    """Triangles in the body's frame, of any form, for static and kinematic bodies; two-sided or one-sided."""

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike, *, two_sided: bool | None = None) -> None:
        """Store the triangles.

        Args:
            vertices: Coordinates [m], shape (v, 3).
            triangles: Indices of vertices, counter-clockwise from the front, shape (t, 3).
            two_sided: Whether bodies touch the backs, too. By default they do where the surface is
                open; a closed one is a solid, whose inside nothing can touch.

        Raises:
            ShapeError: These are not arrays of such numbers.
        """
        try:
            self.vertices = _read_only(vertices)
            numbers = np.array(triangles)
            with np.errstate(invalid="ignore"):  # what is no whole number is refused below
                self.triangles = numbers.astype(np.int64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ShapeError("its vertices or triangles are not numbers; give two arrays (n, 3)") from error
        if self.vertices.ndim != 2 or self.vertices.shape[1] != 3:
            raise ShapeError(f"its vertices have shape {self.vertices.shape}; give an array (n, 3)")
        if self.triangles.size and (self.triangles.ndim != 2 or self.triangles.shape[1] != 3):
            raise ShapeError(f"its triangles have shape {self.triangles.shape}; give an array (n, 3)")
        if (self.triangles != numbers).any():
            raise ShapeError("its triangles are not whole numbers; give indices of vertices")
        self.triangles.flags.writeable = False
        self.two_sided = two_sided

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices)} vertices, {len(self.triangles)} triangles)"

    @cached_property
    def surface(self) -> TriangleMesh:
        """The triangles with their planes and neighbours.

        Raises:
            ShapeError: No triangle is usable, or indices or coordinates are not.
        """
        return build_mesh(self.vertices, self.triangles)

    @property
    def is_two_sided(self) -> bool:
        """Whether bodies touch the backs of the triangles."""
        return not self.surface.is_closed if self.two_sided is None else self.two_sided


class Compound:
    """Rigid union of shapes at fixed places in the body's frame, such as the parts of a concave body."""

    def __init__(self, parts: Iterable[tuple["Shape", ArrayLike, ArrayLike]]) -> None:
        """Store the parts.

        Args:
            parts: (shape, position [m] (3,), orientation (w, x, y, z)) of each part; solid shapes.
                Where parts overlap, their mass counts twice.

        Raises:
            ShapeError: There is no part, or one is not usable.
        """
        if not isinstance(parts, Iterable):
            raise ShapeError(f"its parts are {shown(parts)}; give (shape, position, orientation) of each")
        self.parts: tuple[tuple[ConvexSolid | Compound, NDArray[np.float64], NDArray[np.float64]], ...] = (
            tuple(_part(part) for part in parts)
        )
        if not self.parts:
            raise ShapeError("it is a compound without parts; give at least one shape")

    def __repr__(self) -> str:
        return f"Compound({len(self.parts)} parts)"

    def placed_parts(self) -> list[tuple["ConvexSolid", NDArray[np.float64], NDArray[np.float64]]]:
        """(shape, position, rotation matrix) of every part; compounds within are taken apart."""
        placed: list[tuple[ConvexSolid, NDArray[np.float64], NDArray[np.float64]]] = []
        for shape, position, orientation in self.parts:
            rotation = Rotation.from_quat(np.roll(orientation, -1)).as_matrix()
            if not isinstance(shape, Compound):
                placed.append((shape, position, rotation))
                continue
            for part, inner_position, inner_rotation in shape.placed_parts():
                placed.append((part, position + rotation @ inner_position, rotation @ inner_rotation))
        return placed

    @cached_property
    def mass_properties(self) -> MassProperties:
        """Volume, centre of mass and inertia at density 1: those of the parts together."""
        return _with_volume(
            joined_mass_properties(
                [
                    (part.mass_properties, position, rotation)
                    for part, position, rotation in self.placed_parts()
                ]
            )
        )


ConvexSolid = Sphere | Box | Capsule | Cylinder | Cone | ConvexHull
Shape = ConvexSolid | Plane | Compound | Mesh


def shape_to_dict(shape: Shape) -> dict[str, Any]:
    """Describe a shape by plain values for JSON."""
    match shape:
        case Sphere():
            return {"type": "sphere", "radius": shape.radius}
        case Box():
            return {"type": "box", "size": shape.size.tolist()}
        case Capsule():
            return {"type": "capsule", "radius": shape.radius, "height": shape.height}
        case Cylinder():
            return {"type": "cylinder", "radius": shape.radius, "height": shape.height}
        case Cone():
            return {"type": "cone", "radius": shape.radius, "height": shape.height}
        case ConvexHull():
            return {"type": "convex_hull", "points": shape.points.tolist()}
        case Plane():
            return {"type": "plane", "normal": shape.normal.tolist(), "offset": shape.offset}
        case Mesh():
            return {"type": "mesh", "vertices": shape.vertices.tolist(),
                    "triangles": shape.triangles.tolist(), "two_sided": shape.two_sided}  # fmt: skip
        case Compound():
            parts = [
                {"shape": shape_to_dict(part), "position": position.tolist(), "orientation": q.tolist()}
                for part, position, q in shape.parts
            ]
            return {"type": "compound", "parts": parts}


def shape_from_dict(values: dict[str, Any]) -> Shape:
    """Make the shape that `shape_to_dict` described.

    Raises:
        ShapeError: The type is unknown or a value is missing or not usable.
    """
    if not isinstance(values, dict):
        raise ShapeError(f"one of its shapes is {shown(values)}; give a type and its values")
    makers = {
        "sphere": lambda: Sphere(values["radius"]),
        "box": lambda: Box(values["size"]),
        "capsule": lambda: Capsule(values["radius"], values["height"]),
        "cylinder": lambda: Cylinder(values["radius"], values["height"]),
        "cone": lambda: Cone(values["radius"], values["height"]),
        "convex_hull": lambda: ConvexHull(values["points"]),
        "plane": lambda: Plane(values["normal"], values["offset"]),
        "mesh": lambda: Mesh(values["vertices"], values["triangles"], two_sided=values.get("two_sided")),
        "compound": lambda: Compound(_parts_from_dicts(values["parts"])),
    }
    maker = makers.get(str(values.get("type", "")))
    if maker is None:
        kind = shown(values.get("type"))
        raise ShapeError(f"its shape type {kind} is unknown; use one of {', '.join(makers)}")
    try:
        return maker()
    except KeyError as error:
        raise ShapeError(f"its {values['type']} has no value {error}; add it") from error


def _parts_from_dicts(parts: Any) -> list[tuple[Shape, ArrayLike, ArrayLike]]:
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ShapeError(f"its parts are {shown(parts)}; give a list of shape, position and orientation")
    return [(shape_from_dict(part["shape"]), part["position"], part["orientation"]) for part in parts]


def _part(
    part: tuple["Shape", ArrayLike, ArrayLike],
) -> "tuple[ConvexSolid | Compound, NDArray[np.float64], NDArray[np.float64]]":
    try:
        shape, position, orientation = part
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(f"a part of it is {shown(part)}; give (shape, position, orientation)") from error
    if not isinstance(shape, Shape) or isinstance(shape, Plane | Mesh):
        raise ShapeError(f"a part of it is {shown(shape)}; give a solid shape such as topple.Box")
    quaternion = _numbers(orientation, "part's orientation", (4,))
    length = float(np.linalg.norm(quaternion))
    if not 0.0 < length < np.inf:
        raise ShapeError(f"a part's orientation has length {length:g}; the identity is (1, 0, 0, 0)")
    # One that is unit already keeps its bits, so that saving and loading change nothing.
    quaternion = quaternion if abs(length - 1.0) < 1e-15 else quaternion / length
    return shape, _read_only(_numbers(position, "part's position", (3,))), _read_only(quaternion)


def _numbers(value: ArrayLike, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    wanted = f"{shape[0]} numbers" if shape else "one number"
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(f"its {name} is {shown(value)}; give {wanted}") from error
    if array.shape != shape or not np.isfinite(array).all():
        raise ShapeError(f"its {name} is {shown(value)}; give {wanted}, finite")
    return array


def _positive(value: ArrayLike, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = _numbers(value, name, shape)
    if not (array > 0).all():
        raise ShapeError(f"its {name} is {shown(value)} m; make every extent greater than zero")
    return _read_only(array)


def _read_only(value: ArrayLike) -> NDArray[np.float64]:
    array = np.array(value, dtype=np.float64)
    array.flags.writeable = False
    return array


def _with_volume(properties: MassProperties) -> MassProperties:
    if not np.isfinite(properties.inertia).all() or not (np.diag(properties.inertia) > 0).all():
        raise ShapeError(f"its volume of {properties.volume:.3g} m^3 is beyond double precision; rescale it")
    return properties
