"""Forces besides gravity: plain, validated descriptions that a scene holds; `dynamics/forces.py` evaluates.

They are those of the papers: thrusters, springs between points of bodies (the rubber band), viscous drag,
uniform fields (Baraff 1989; Witkin, Baraff & Kass 1999; myPhysicsLab), and functions of time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import SceneError, is_number, shown

Array = NDArray[np.float64]


class PointMotion(NamedTuple):
    """Motion of one body, world axes, as a force's function sees it."""

    position: Array  # [m] (3,) centre of mass
    orientation: Array  # (4,) w, x, y, z
    linear_velocity: Array  # [m/s] (3,)
    angular_velocity: Array  # [rad/s] (3,)


def _vector(owner: str, field: str, value: ArrayLike) -> tuple[float, float, float]:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise SceneError(
            f"{field} of the {owner} is {shown(value)}; give three numbers", field="forces"
        ) from error
    if array.shape != (3,) or not np.isfinite(array).all():
        raise SceneError(
            f"{field} of the {owner} is {shown(value)}; give three finite numbers", field="forces"
        )
    x, y, z = (array + 0.0).tolist()
    return x, y, z


def _number(owner: str, field: str, value: float, low: float = 0.0) -> float:
    if not (is_number(value) and value >= low):
        raise SceneError(
            f"{field} of the {owner} is {shown(value)}; give a number from {low:g}", field="forces"
        )
    return float(value)


def _names(owner: str, value: Iterable[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = None if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if names is None or not all(isinstance(name, str) for name in names):
        raise SceneError(f"bodies of the {owner} is {shown(value)}; give a list of names", field="forces")
    return tuple(sorted(names))


@dataclass(frozen=True, kw_only=True)
class Thruster:
    """A force at a point of a body, fixed in the body's axes, over a span of time.

    Attributes:
        body: Name of the body.
        force: Body axes [N].
        point: Where it acts, body frame [m].
        start, end: When it acts [s].
    """

    body: str
    force: ArrayLike
    point: ArrayLike = (0.0, 0.0, 0.0)
    start: float = 0.0
    end: float = np.inf

    def __post_init__(self) -> None:
        owner = f"thruster of '{self.body}'"
        object.__setattr__(self, "force", _vector(owner, "force", self.force))
        object.__setattr__(self, "point", _vector(owner, "point", self.point))
        object.__setattr__(self, "start", _number(owner, "start", self.start))
        if not (isinstance(self.end, float) and self.end == np.inf):
            object.__setattr__(self, "end", _number(owner, "end", self.end, self.start))


@dataclass(frozen=True, kw_only=True)
class Spring:
    """A spring between two points of bodies, or between a body and a point of the world.

    Equation: f_a = -(k (|d| - length) + c d/dt |d|) d / |d|, d = p_a - p_b (1999, section C).

    Attributes:
        body_a, body_b: Names; `body_b` None is the world.
        point_a, point_b: Body frames [m], of the world where `body_b` is None.
        stiffness: k [N/m].
        length: At rest [m].
        damping: c [N s/m].
    """

    body_a: str
    body_b: str | None = None
    point_a: ArrayLike = (0.0, 0.0, 0.0)
    point_b: ArrayLike = (0.0, 0.0, 0.0)
    stiffness: float
    length: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        owner = f"spring of '{self.body_a}'"
        for field in ("point_a", "point_b"):
            object.__setattr__(self, field, _vector(owner, field, getattr(self, field)))
        for field in ("stiffness", "length", "damping"):
            object.__setattr__(self, field, _number(owner, field, getattr(self, field)))


@dataclass(frozen=True, kw_only=True)
class UniformField:
    """The same acceleration for all bodies, or for some: gravity for those alone, or a steady wind.

    Attributes:
        acceleration: World axes [m/s^2].
        bodies: Names; None is all.
    """

    acceleration: ArrayLike
    bodies: Iterable[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "acceleration", _vector("uniform field", "acceleration", self.acceleration))
        object.__setattr__(self, "bodies", _names("uniform field", self.bodies))


@dataclass(frozen=True, kw_only=True)
class ViscousDrag:
    """A force -linear v at the centre of mass and a torque -angular w (1999, section C, viscous drag).

    Attributes:
        linear: [N s/m].
        angular: [N m s].
        bodies: Names; None is all.
    """

    linear: float = 0.0
    angular: float = 0.0
    bodies: Iterable[str] | None = None

    def __post_init__(self) -> None:
        for field in ("linear", "angular"):
            object.__setattr__(self, field, _number("viscous drag", field, getattr(self, field)))
        object.__setattr__(self, "bodies", _names("viscous drag", self.bodies))


@dataclass(frozen=True, kw_only=True)
class CustomForce:
    """A force on one body by a function of time and motion; a scene with one cannot be saved.

    Attributes:
        body: Name of the body.
        function: Called as function(time, motion) with a `PointMotion`; returns the force at the centre of
            mass and the torque about it, world axes [N], [N m]. It must depend on its arguments alone.
    """

    body: str
    function: Callable[[float, PointMotion], tuple[ArrayLike, ArrayLike]]


Force = Thruster | Spring | UniformField | ViscousDrag | CustomForce
_KINDS = {kind.__name__: kind for kind in (Thruster, Spring, UniformField, ViscousDrag)}


def bodies_of(force: Force) -> tuple[str, ...]:
    """Names of the bodies that a force asks for."""
    if isinstance(force, Thruster | CustomForce):
        return (force.body,)
    if isinstance(force, Spring):
        return (force.body_a,) if force.body_b is None else (force.body_a, force.body_b)
    return tuple(force.bodies or ())


def force_to_dict(force: Force) -> dict[str, Any]:
    """Describe a force by plain values for JSON.

    Raises:
        SceneError: It is a function, which a file cannot hold.
    """
    if isinstance(force, CustomForce):
        raise SceneError(
            "its force is a Python function, which a file cannot hold; remove it before saving",
            body=force.body,
            field="forces",
        )
    values = {field.name: getattr(force, field.name) for field in fields(force)}
    if isinstance(force, Thruster) and force.end == np.inf:
        del values["end"]
    return {"type": type(force).__name__, **values}


def force_from_dict(values: dict[str, Any]) -> Force:
    """Make the force that `force_to_dict` described.

    Raises:
        SceneError: The type or a field is not usable.
    """
    values = dict(values) if isinstance(values, dict) else {}
    kind = _KINDS.get(str(values.pop("type", None)))
    if kind is None:
        raise SceneError(f"a force has no type among {', '.join(_KINDS)}; give one", field="forces")
    try:
        return kind(**values)
    except TypeError as error:
        raise SceneError(
            f"a {kind.__name__} has a field too many or too few: {error}", field="forces"
        ) from error
