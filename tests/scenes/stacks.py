"""Bodies that stand on each other."""

import math

import numpy as np
import topple

from .ground import GRAVITY, floor


def stack(count: int = 10, size: float = 1.0, *, friction: float = 0.5) -> topple.Scene:
    """`count` cubes of `size` [m], density 1000 kg/m^3, exactly on top of each other on the floor."""
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=friction))
    for level in range(count):
        scene.add(
            topple.Body(
                f"cube_{level:03}",
                topple.Box((size, size, size)),
                position=(0.0, 0.0, (level + 0.5) * size),
                friction=friction,
            )
        )
    return scene


def heavy_on_light(count: int = 10, ratio: float = 1e4) -> topple.Scene:
    """A stack of `count` unit cubes of 1 kg whose top one is `ratio` times heavier."""
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor())
    for level in range(count):
        scene.add(
            topple.Body(
                f"cube_{level:03}",
                topple.Box((1.0, 1.0, 1.0)),
                mass=ratio if level == count - 1 else 1.0,
                position=(0.0, 0.0, level + 0.5),
            )
        )
    return scene


def brick_wall(rows: int = 20, columns: int = 25, *, friction: float = 0.6) -> topple.Scene:
    """A wall of bricks of 1 x 0.5 x 0.5 m in running bond, half bricks at the ends of odd rows.

    Density 1000 kg/m^3; bricks touch exactly, side by side as well. The wall runs along x from 0 to
    `columns` metres.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=friction))
    for row in range(rows):
        # (left end, length) of each brick of the row
        if row % 2 == 0:
            bricks = [(float(i), 1.0) for i in range(columns)]
        else:
            bricks = [(0.0, 0.5), *((i + 0.5, 1.0) for i in range(columns - 1)), (columns - 0.5, 0.5)]
        for index, (left, length) in enumerate(bricks):
            scene.add(
                topple.Body(
                    f"brick_{row:02}_{index:02}",
                    topple.Box((length, 0.5, 0.5)),
                    position=(left + length / 2, 0.0, 0.25 + 0.5 * row),
                    friction=friction,
                )
            )
    return scene


def arch(
    count: int = 25, *, radius: float = 5.0, thickness: float = 1.0, friction: float = 0.5
) -> topple.Scene:
    """A half circle of `count` stones whose middles lie at `radius` [m]; its ends stand on the floor.

    It holds itself where it is thicker than .107 of its radius (Heyman 1966, *The stone skeleton*).
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=friction))
    for index in range(count):
        corners = np.array(
            [
                (r * math.cos(angle), y, r * math.sin(angle))
                for angle in (math.pi * index / count, math.pi * (index + 1) / count)
                for r in (radius - 0.5 * thickness, radius + 0.5 * thickness)
                for y in (-0.5, 0.5)
            ]
        )
        middle = corners.mean(axis=0)
        scene.add(
            topple.Body(
                f"stone_{index:03}", topple.ConvexHull(corners - middle), position=middle, friction=friction
            )
        )
    return scene


def card_house(levels: int = 4, *, friction: float = 0.5) -> topple.Scene:
    """Pairs of cards that lean on each other at 65 degrees, `levels` pairs at the bottom and one at the top.

    Cards of 1 x .7 x .02 m and 5 kg; flat ones lie from peak to peak and carry the pairs above. A card that
    leans pushes its foot out with cot(65 deg) / 2 of its own load: less than .5.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=friction))
    angle, length, thick, gap = math.radians(65.0), 1.0, 0.02, 0.01
    cosine, sine = math.cos(angle), math.sin(angle)
    peaks = 2.0 * (length * cosine + thick * sine) + gap  # from peak to peak
    height = length * sine + thick * cosine

    def add(name: str, size, place, turn: float) -> None:
        orientation = (math.cos(turn / 2), 0.0, math.sin(turn / 2), 0.0)
        scene.add(
            topple.Body(
                name, topple.Box(size), mass=5.0, position=place, orientation=orientation, friction=friction
            )
        )

    for level in range(levels):
        base = level * (height + thick)
        for k in range(levels - level):
            x = (k + 0.5 * level) * peaks
            for side in (-1, 1):
                away = 0.5 * (length * cosine + thick * sine)
                place = (x + side * away, 0.0, base + 0.5 * height)
                add(
                    f"card_{level}_{k}_{'left' if side < 0 else 'right'}",
                    (length, 0.7, thick),
                    place,
                    side * angle,
                )
            if k > 0:
                place = (x - 0.5 * peaks, 0.0, base + height + 0.5 * thick)
                add(f"card_{level}_{k}_flat", (peaks - gap, 0.7, thick), place, 0.0)
    return scene


def pyramid(height: int = 15) -> topple.Scene:
    """Layers of k x k boxes of 2 m, k = height ... 1, dropped from gaps of 0.5 m: 1240 boxes for 15.

    Source: Jolt Physics, PerformanceTest/PyramidScene.h (friction 0.2, restitution 0, 1000 kg/m^3).
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=0.2))
    for layer in range(height):
        side = height - layer
        for i in range(side):
            for j in range(side):
                scene.add(
                    topple.Body(
                        f"box_{layer:02}_{i:02}_{j:02}",
                        topple.Box((2.0, 2.0, 2.0)),
                        position=(2.0 * i - side + 1.0, 2.0 * j - side + 1.0, 1.0 + 2.5 * layer),
                        friction=0.2,
                    )
                )
    return scene


def overlapping_cubes(*, upright: bool = False) -> topple.Scene:
    """Two unit cubes whose bodies overlap by 0.3 m: side by side on the floor, or one in the other's top."""
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor())
    second = (0.0, 0.0, 1.2) if upright else (0.7, 0.0, 0.5)
    for name, position in (("first", (0.0, 0.0, 0.5)), ("second", second)):
        scene.add(topple.Body(name, topple.Box((1.0, 1.0, 1.0)), position=position))
    return scene


def in_plane(scene: topple.Scene) -> topple.Scene:
    """The same bodies, locked so that they only move along x and z and turn about y: two dimensions."""
    bodies = []
    for body in scene.bodies:
        values = body.to_dict()
        if body.kind == "dynamic":
            values |= {"lock_linear": (False, True, False), "lock_angular": (True, False, True)}
        bodies.append(topple.Body.from_dict(values))
    return topple.Scene(scene.gravity, bodies, forces=scene.forces, combine=scene.combine)
