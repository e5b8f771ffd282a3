"""Operators: what the artist can do. Each file holds the operators of one task."""

from . import bake, bodies

CLASSES = (*bodies.CLASSES, *bake.CLASSES)
