"""Many bodies that fall on each other."""

import math

import numpy as np
import topple

from .ground import GRAVITY, floor
from .shapes import random_orientation


def cube_grid(columns: int = 10, levels: int = 10, beside: float = 1.0, gap: float = 0.5) -> topple.Scene:
    """Unit cubes dropped in a grid of columns x columns columns, `levels` high: 1000 by default.

    Restitution 0.48 and friction 0.1 as in Bender & Schmitt 2006, section 4. There are `beside` [m] between
    columns, and `gap` [m] between cubes above each other and below the lowest.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=0.1, restitution=0.48))
    apart, middle = 1.0 + beside, (columns - 1) / 2
    for level in range(levels):
        for i in range(columns):
            for j in range(columns):
                z = 0.5 + gap + (1.0 + gap) * level
                scene.add(
                    topple.Body(
                        f"cube_{level:02}_{i:02}_{j:02}",
                        topple.Box((1.0, 1.0, 1.0)),
                        position=(apart * (i - middle), apart * (j - middle), z),
                        friction=0.1,
                        restitution=0.48,
                    )
                )
    return scene


def dice(count: int = 12, size: float = 0.01) -> topple.Scene:
    """Dice of `size` [m] dropped spinning from 3 to 6 sizes up, 4 sizes apart, turned at random (seed 1)."""
    random = np.random.default_rng(1)
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(1.0, friction=0.4, restitution=0.3))
    columns = math.ceil(math.sqrt(count))
    for index in range(count):
        row, column = divmod(index, columns)
        scene.add(
            topple.Body(
                f"die_{index:02}",
                topple.Box((size, size, size)),
                position=(4.0 * size * column, 4.0 * size * row, size * random.uniform(3.0, 6.0)),
                orientation=random_orientation(random),
                angular_velocity=random.uniform(-10.0, 10.0, 3),
                friction=0.4,
                restitution=0.3,
            )
        )
    return scene


def rocks_in_box(count: int = 500) -> topple.Scene:
    """Rocks (hulls of 24 random points, 0.4 to 0.6 m in radius) heaped in a walled box of 9 x 9 m.

    Seed 2; friction 0.5, restitution 0.1, 1000 kg/m^3. Dropped in layers of 7 x 7, 1.3 m apart; each
    rock's frame sits at its centre of mass, for engines that know no other. Walls are 20 m high.
    """
    random = np.random.default_rng(2)
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(20.0))
    for name, size, position in (
        ("wall_left", (1.0, 11.0, 20.0), (-5.0, 0.0, 10.0)),
        ("wall_right", (1.0, 11.0, 20.0), (5.0, 0.0, 10.0)),
        ("wall_front", (9.0, 1.0, 20.0), (0.0, -5.0, 10.0)),
        ("wall_back", (9.0, 1.0, 20.0), (0.0, 5.0, 10.0)),
    ):
        scene.add(topple.Body(name, topple.Box(size), kind="static", position=position))
    for index in range(count):
        layer, spot = divmod(index, 49)
        scene.add(
            topple.Body(
                f"rock_{index:03}",
                topple.ConvexHull(_rock_points(random)),
                position=(1.25 * (spot % 7 - 3), 1.25 * (spot // 7 - 3), 1.0 + 1.3 * layer),
                orientation=random_orientation(random),
                restitution=0.1,
            )
        )
    return scene


def funnel(columns: int = 10, levels: int = 10) -> topple.Scene:
    """1000 unit cubes that fall through a funnel of four inclined walls onto a floor.

    Bender & Schmitt 2006, figure 3 and section 4: e = 0.48, mu = 0.1, h = 1 ms, 6000 steps. The paper
    gives no measures of the funnel; here it narrows at 45 degrees from 24 x 24 m at z = 21 to a hole of
    6 x 6 m at z = 12, and the cubes start in a grid 1.4 m apart, the lowest at z = 19.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    material = {"friction": 0.1, "restitution": 0.48}
    scene.add(floor(200.0, **material))
    for name, turn in (("wall_east", 0), ("wall_north", 1), ("wall_west", 2), ("wall_south", 3)):
        scene.add(topple.Body(name, topple.ConvexHull(_funnel_wall(turn)), kind="static", **material))
    middle = (columns - 1) / 2
    for level in range(levels):
        for i in range(columns):
            for j in range(columns):
                scene.add(
                    topple.Body(
                        f"cube_{level:02}_{i:02}_{j:02}",
                        topple.Box((1.0, 1.0, 1.0)),
                        position=(1.4 * (i - middle), 1.4 * (j - middle), 19.0 + 1.4 * level),
                        **material,
                    )
                )
    return scene


def _funnel_wall(turn: int) -> np.ndarray:
    """Corners [m] of the wall at +x, turned `turn` quarters about z: a slab 1 m thick under its face."""
    face = np.array([[3.0, -3.0, 12.0], [3.0, 3.0, 12.0], [12.0, 12.0, 21.0], [12.0, -12.0, 21.0]])
    outward = np.array([math.sqrt(0.5), 0.0, -math.sqrt(0.5)])
    corners = np.vstack([face, face + outward])
    for _ in range(turn):
        corners = np.column_stack([-corners[:, 1], corners[:, 0], corners[:, 2]])
    return corners


def _rock_points(random: np.random.Generator) -> np.ndarray:
    """24 points [m] on an ellipsoid with half axes of 0.4 to 0.6 m, about their hull's centre of mass."""
    directions = random.normal(size=(24, 3))
    points = directions / np.linalg.norm(directions, axis=1)[:, None] * random.uniform(0.4, 0.6, 3)
    return points - topple.Body("rock", topple.ConvexHull(points)).center_of_mass


def crushed_cubes(columns: int = 4, rows: int = 3, levels: int = 3) -> topple.Scene:
    """Cubes of 0.6 m in a closed box, two walls of which close at 1 m/s until too little room is left.

    The walls set off after 0.2 s and stop where the cubes have three quarters of the width that they need.
    """
    size, across = 0.6, 0.3 * rows
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(20.0))
    top, half = size * levels, 0.5 * size * columns
    scene.add(topple.Body("lid", topple.Box((20.0, 20.0, 1.0)), kind="static", position=(0, 0, top + 0.55)))
    for name, sign in (("front", -1.0), ("back", 1.0)):
        wall, y = topple.Box((20.0, 1.0, 10.0)), sign * (across + 0.53)
        scene.add(topple.Body(name, wall, kind="static", position=(0.0, y, 5.0)))
    for name, sign in (("left", -1.0), ("right", 1.0)):
        x = sign * (half + 0.5 + np.array([0.05, 0.05, -0.25 * half]))
        places = np.stack([x, 0.0 * x, 0.0 * x + 0.5 * top], axis=1)
        times = [0.0, 0.2, 0.2 + 0.05 + 0.25 * half]
        motion = topple.Motion(times, places, np.tile((1.0, 0.0, 0.0, 0.0), (3, 1)))
        plate = topple.Box((1.0, 2.0 * across, 0.98 * top))
        scene.add(topple.Body(name, plate, kind="kinematic", motion=motion))
    for i, j, k in np.ndindex(columns, rows, levels):
        place = size * (np.array([i, j, k]) - 0.5 * np.array([columns - 1, rows - 1, -1]))
        scene.add(topple.Body(f"cube_{i}_{j}_{k}", topple.Box((size, size, size)), position=place))
    return scene


def mixed_masses(count: int = 200) -> topple.Scene:
    """Cubes of 0.6 m and 1 to 1000 kg heaped in a walled box of 5 x 5 m: heavy ones on light ones.

    Masses, even in the logarithm, turns and shifts are random (seed 3); dropped in layers of 4 x 4, 1.1 m
    apart.
    """
    random = np.random.default_rng(3)
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(20.0))
    for index, (x, y) in enumerate(((3.0, 0.0), (-3.0, 0.0), (0.0, 3.0), (0.0, -3.0))):
        size = (1.0, 7.0, 8.0) if y == 0.0 else (7.0, 1.0, 8.0)
        scene.add(topple.Body(f"wall_{index}", topple.Box(size), kind="static", position=(x, y, 4.0)))
    for index in range(count):
        layer, spot = divmod(index, 16)
        x, y = 1.25 * np.array([spot % 4, spot // 4]) - 1.9 + random.normal(size=2) * 0.02
        scene.add(
            topple.Body(
                f"cube_{index:03}",
                topple.Box((0.6, 0.6, 0.6)),
                mass=10.0 ** random.uniform(0.0, 3.0),
                position=(x, y, 0.7 + 1.1 * layer),
                orientation=random_orientation(random),
            )
        )
    return scene


def stirred_cubes(
    columns: int = 5, levels: int = 2, *, bar: float = 4.5, seconds: float = 10.0, seed: int | None = None
) -> topple.Scene:
    """Cubes of 0.6 m in a walled box of 7 x 7 m that an animated bar stirs at 2 rad/s.

    A bar of 4.5 m leaves room for a cube between its ends and the walls: nothing is squeezed. With a seed the
    cubes are moved by a nanometre: another course of the same chaos.
    """
    shift = np.zeros((levels, columns, columns, 3))
    if seed is not None:
        shift = 1e-9 * np.random.default_rng(seed).standard_normal(shift.shape)
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(20.0))
    for index, (x, y) in enumerate(((4.0, 0.0), (-4.0, 0.0), (0.0, 4.0), (0.0, -4.0))):
        size = (1.0, 9.0, 4.0) if y == 0.0 else (9.0, 1.0, 4.0)
        scene.add(topple.Body(f"wall_{index}", topple.Box(size), kind="static", position=(x, y, 2.0)))
    times = np.linspace(0.0, seconds, round(24 * seconds) + 1)
    turns = np.zeros((len(times), 4))
    turns[:, 0], turns[:, 3] = np.cos(times), np.sin(times)
    motion = topple.Motion(times, np.tile((0.0, 0.0, 0.4), (len(times), 1)), turns)
    scene.add(topple.Body("bar", topple.Box((bar, 0.3, 0.6)), kind="kinematic", motion=motion))
    for level in range(levels):
        for i in range(columns):
            for j in range(columns):
                scene.add(
                    topple.Body(
                        f"cube_{level}_{i}_{j}",
                        topple.Box((0.6, 0.6, 0.6)),
                        position=shift[level, i, j]
                        + (
                            1.2 * i - 0.6 * (columns - 1),
                            1.2 * j - 0.6 * (columns - 1),
                            1.2 + 0.8 * level,
                        ),
                    )
                )
    return scene


def wide_heap(count: int, *, levels: int = 4) -> topple.Scene:
    """Unit cubes heaped `levels` deep in a walled box as wide as their number asks for.

    Turned at random (seed 3) and dropped in layers 1.8 m apart, in columns 1.75 m apart; friction 0.5,
    restitution 0. The depth is the same whatever the number.
    """
    random = np.random.default_rng(3)
    columns = math.ceil(math.sqrt(count / levels))
    half = 0.5 * 1.75 * columns
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(2.0 * half + 4.0))
    for index, (x, y) in enumerate(((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))):
        size = (1.0, 2.0 * half + 2.0, 20.0) if y == 0.0 else (2.0 * half + 2.0, 1.0, 20.0)
        position = ((half + 0.5) * x, (half + 0.5) * y, 10.0)
        scene.add(topple.Body(f"wall_{index}", topple.Box(size), kind="static", position=position))
    for index in range(count):
        level, spot = divmod(index, columns * columns)
        row, column = divmod(spot, columns)
        middle = 0.5 * (columns - 1)
        scene.add(
            topple.Body(
                f"cube_{index:05}",
                topple.Box((1.0, 1.0, 1.0)),
                position=(1.75 * (column - middle), 1.75 * (row - middle), 1.0 + 1.8 * level),
                orientation=random_orientation(random),
            )
        )
    return scene


def silo(count: int = 250, *, columns: int = 11, in_plane: bool = False) -> topple.Scene:
    """Cubes of 0.5 m poured between two panes 0.6 m apart, `columns` side by side; friction 0.5.

    They fall in rows 0.8 m above each other, shifted and turned by a little at random (seed 1), and heap up
    some 20 high. With `in_plane` there are no panes: cubes move along x and z and turn about y only.
    """
    rng, width = np.random.default_rng(1), 0.9 * columns + 0.5
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    planes = {"floor": ((0, 0, 1), 0.0), "left": ((1, 0, 0), -width / 2), "right": ((-1, 0, 0), -width / 2)}
    if not in_plane:
        planes |= {"front": ((0, 1, 0), -0.3), "back": ((0, -1, 0), -0.3)}
    for name, plane in planes.items():
        scene.add(topple.Body(name, topple.Plane(*plane), kind="static", friction=0.5))
    for k in range(count):
        row, column = divmod(k, columns)
        turn, shift = rng.uniform(-0.3, 0.3), rng.uniform(-0.1, 0.1)
        scene.add(
            topple.Body(
                f"cube_{k:03}",
                topple.Box((0.5, 0.5, 0.5)),
                position=(0.9 * column - 0.45 * (columns - 1) + shift, 0.0, 0.4 + 0.8 * row),
                orientation=(np.cos(turn / 2), 0.0, np.sin(turn / 2), 0.0),
                friction=0.5,
                lock_linear=(False, in_plane, False),
                lock_angular=(in_plane, False, in_plane),
            )
        )
    return scene
