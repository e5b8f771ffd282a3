"""Shapes, their convex hulls and their mass properties."""
