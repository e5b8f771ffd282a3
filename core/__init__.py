"""Topple: rigid bodies that touch, stack, slide, roll and bounce the way the equations say.

Units are SI, axes right-handed with z up, quaternions (w, x, y, z); see CONVENTIONS.md.

Public names load on first use, so that `import topple` is quick: numba and scipy come with the
first name that needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .errors import SceneError, ShapeError, SolverError, ToppleError

if TYPE_CHECKING:
    from .compilation import compile_kernels
    from .decomposition import decompose
    from .files import write_whole
    from .forces import CustomForce, PointMotion, Spring, Thruster, UniformField, ViscousDrag
    from .geometry.shapes import (
        Box,
        Capsule,
        Compound,
        Cone,
        ConvexHull,
        Cylinder,
        Mesh,
        Plane,
        Shape,
        Sphere,
    )
    from .queries import closest_points, contacts, ray_cast, time_of_impact
    from .report import ContactEvent, Report
    from .scene import Body, Motion, Scene
    from .simulation import Simulation, simulate
    from .solvers.analytic import AnalyticSolver
    from .solvers.impulse import ImpulseSolver
    from .trajectory import Trajectory
    from .verification import verify

__version__ = "0.1.0"

_HOME = {
    "AnalyticSolver": ".solvers.analytic",
    "Body": ".scene",
    "Box": ".geometry.shapes",
    "Capsule": ".geometry.shapes",
    "Compound": ".geometry.shapes",
    "Cone": ".geometry.shapes",
    "ContactEvent": ".report",
    "ConvexHull": ".geometry.shapes",
    "CustomForce": ".forces",
    "Cylinder": ".geometry.shapes",
    "ImpulseSolver": ".solvers.impulse",
    "Mesh": ".geometry.shapes",
    "Motion": ".scene",
    "Plane": ".geometry.shapes",
    "PointMotion": ".forces",
    "Report": ".report",
    "Scene": ".scene",
    "Shape": ".geometry.shapes",
    "Simulation": ".simulation",
    "Sphere": ".geometry.shapes",
    "Spring": ".forces",
    "Thruster": ".forces",
    "Trajectory": ".trajectory",
    "UniformField": ".forces",
    "ViscousDrag": ".forces",
    "closest_points": ".queries",
    "compile_kernels": ".compilation",
    "contacts": ".queries",
    "decompose": ".decomposition",
    "ray_cast": ".queries",
    "simulate": ".simulation",
    "time_of_impact": ".queries",
    "verify": ".verification",
    "write_whole": ".files",
}

__all__ = [
    "AnalyticSolver",
    "Body",
    "Box",
    "Capsule",
    "Compound",
    "Cone",
    "ContactEvent",
    "ConvexHull",
    "CustomForce",
    "Cylinder",
    "ImpulseSolver",
    "Mesh",
    "Motion",
    "Plane",
    "PointMotion",
    "Report",
    "Scene",
    "SceneError",
    "Shape",
    "ShapeError",
    "Simulation",
    "SolverError",
    "Sphere",
    "Spring",
    "Thruster",
    "ToppleError",
    "Trajectory",
    "UniformField",
    "ViscousDrag",
    "__version__",
    "closest_points",
    "compile_kernels",
    "contacts",
    "decompose",
    "ray_cast",
    "simulate",
    "time_of_impact",
    "verify",
    "write_whole",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name], __name__), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
