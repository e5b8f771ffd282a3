"""Operators: what the artist can do. Each file holds the operators of one task."""

from . import bake, bodies, export, inspect, keyframes, settle, setup

CLASSES = (
    *bodies.CLASSES,
    *setup.CLASSES,
    *bake.CLASSES,
    *keyframes.CLASSES,
    *settle.CLASSES,
    *export.CLASSES,
    *inspect.CLASSES,
)
