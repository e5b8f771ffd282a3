"""Typed errors: every way Topple can refuse an input or fail a computation.

Each message is one sentence that names the body (where one is concerned) and the remedy.
"""

import math
import reprlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .trajectory import Trajectory


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxtuple, _SHORT.maxstring, _SHORT.maxother = 1, 6, 6, 60, 60


def shown(value: Any) -> str:
    """A value as a message shows it: of what is long, where it begins."""
    return _SHORT.repr(value)


def is_number(value: Any) -> bool:
    """Whether a value is one finite number."""
    try:
        return math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


class ToppleError(Exception):
    """Base of every error Topple raises on purpose."""


class SceneError(ToppleError, ValueError):
    """A scene or body description is not usable; `body` and `field` say where."""

    def __init__(self, message: str, *, body: str | None = None, field: str | None = None) -> None:
        self.body = body
        self.field = field
        super().__init__(message if body is None else f"body '{body}': {message}")


class ShapeError(ToppleError, ValueError):
    """A shape has no usable solid; `body` names its owner once it is known."""

    def __init__(self, message: str, *, body: str | None = None) -> None:
        self.body = body
        self.reason = message
        super().__init__(message if body is None else f"body '{body}': {message}")


class SolverError(ToppleError, RuntimeError):
    """A solver cannot go on; the message names the time and the bodies.

    `trajectory` has the frames that were computed before, where `simulate` raises it; else None.
    """

    trajectory: "Trajectory | None" = None
