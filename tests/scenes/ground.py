"""What the other scenes stand on."""

import topple

GRAVITY = 9.81  # [m/s^2]


def floor(size: float = 100.0, *, friction: float = 0.5, restitution: float = 0.0) -> topple.Body:
    """A static box, 1 m thick, with its top at z = 0.

    A box and not a plane where other engines must run the same scene: Blender has no infinite plane.
    """
    return topple.Body(
        "floor",
        topple.Box((size, size, 1.0)),
        kind="static",
        position=(0.0, 0.0, -0.5),
        friction=friction,
        restitution=restitution,
    )


def plane(
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0), *, friction: float = 0.5, restitution: float = 0.0
) -> topple.Body:
    """A static half-space through the origin."""
    return topple.Body(
        "plane", topple.Plane(normal, 0.0), kind="static", friction=friction, restitution=restitution
    )
