"""Arguments of scenes and bodies turned into checked values."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import SceneError, shown


class Reader:
    """Turns arguments into checked values; its errors name the body and the field."""

    def __init__(self, body: str | None) -> None:
        self.body = body

    def error(self, field: str, message: str) -> SceneError:
        """The error that names a field and the body."""
        return SceneError(f"{field} {message}", body=self.body, field=field)

    def array(self, field: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Finite float64 numbers of a given shape; -1 stands for any length."""
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.error(field, f"is {shown(value)}; give numbers of shape {_in_words(shape)}") from error
        fits = array.ndim == len(shape) and all(
            n < 0 or n == m for n, m in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise self.error(field, f"has shape {array.shape}; give numbers of shape {_in_words(shape)}")
        if not np.isfinite(array).all():
            raise self.error(field, "has a value that is not finite; replace it")
        array += 0.0  # -0.0 becomes 0.0, so that both give the same bits
        array.flags.writeable = False
        return array

    def number(
        self, field: str, value: float, *, low: float = -np.inf, high: float = np.inf, above: float = -np.inf
    ) -> float:
        """A finite number within limits."""
        plain = isinstance(value, float) and math.isfinite(value)
        number = float(value if plain else self.array(field, value, ())) + 0.0
        if number <= above:
            raise self.error(field, f"is {number:g}; make it greater than {above:g}")
        if number < low:
            raise self.error(field, f"is {number:g}; make it at least {low:g}")
        if number > high:
            raise self.error(field, f"is {number:g}; make it at most {high:g}")
        return number

    def quaternions(self, field: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Unit quaternions (w, x, y, z) of a given shape."""
        quaternions = np.array(self.array(field, value, shape))
        length = np.linalg.norm(quaternions, axis=-1, keepdims=True)
        if not (length > 0).all() or not np.isfinite(length).all():
            raise self.error(field, "has a quaternion of length zero; the identity is (1, 0, 0, 0)")
        # One that is unit already keeps its bits, so that saving and loading change nothing.
        quaternions = np.where(np.abs(length - 1) < 1e-15, quaternions, quaternions / length)
        quaternions.flags.writeable = False
        return quaternions

    def listing(self, field: str, value: Any) -> list[Any]:
        """A list."""
        if not isinstance(value, list):
            raise self.error(field, f"is {shown(value)}; give a list")
        return value

    def choice(self, field: str, value: Any, options: tuple[str, ...]) -> Any:
        """One of a few words."""
        if not isinstance(value, str) or value not in options:
            raise self.error(field, f"is {shown(value)}; use one of {', '.join(map(repr, options))}")
        return value

    def mask(self, field: str, value: int) -> int:
        """Bits of an integer."""
        try:
            return int(np.int64(value.__index__()))
        except (AttributeError, TypeError, OverflowError) as error:
            raise self.error(field, f"is {shown(value)}; give an integer of at most 64 bits") from error

    def flags(self, field: str, value: Iterable[bool]) -> tuple[bool, bool, bool]:
        """Three truth values."""
        values = tuple(value) if isinstance(value, Iterable) else value
        x, y, z = (bool(flag) for flag in self.array(field, values, (3,)))
        return x, y, z


def _in_words(shape: tuple[int, ...]) -> str:
    """A shape with k for any length."""
    return str(tuple(shape)).replace("-1", "k")
