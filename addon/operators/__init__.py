"""Operators: what the artist can do. Each file holds the operators of one task."""

from . import bake, bodies, keyframes

CLASSES = (*bodies.CLASSES, *bake.CLASSES, *keyframes.CLASSES)
