"""Scenes of Baraff 1989 and 1997 and of myPhysicsLab, and others with exact answers."""

import math

import numpy as np
import topple

from .ground import GRAVITY, floor, plane


def balls_in_line(
    velocities: tuple[float, ...], *, restitution: float = 1.0, gap: float = 0.5, radius: float = 0.1
) -> topple.Scene:
    """Equal balls of 1 kg along x without gravity; those that start at rest touch, the moving ones too.

    The moving balls, first in line, are `gap` [m] away from the resting ones. With (2, 0, 0) this is the
    collinear case: (0, 0, 2) one after the other, (-2/3, 4/3, 4/3) all at once. With (v, v, 0, 0, 0) it is
    the office toy: as many leave as came.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, 0.0))
    x = 0.0
    for i, speed in enumerate(velocities):
        if i > 0:
            x += 2.0 * radius + (gap if velocities[i - 1] != 0.0 and speed == 0.0 else 0.0)
        scene.add(
            topple.Body(
                f"ball_{i}", topple.Sphere(radius), mass=1.0, position=(x, 0.0, 0.0),
                linear_velocity=(speed, 0.0, 0.0), restitution=restitution, friction=0.0,
            )
        )  # fmt: skip
    return scene


def heavy_onto_light(*, speed: float = 1.0, gap: float = 0.0) -> topple.Scene:
    """Baraff 1989, figure 12: mass 9 falls at `speed` [m/s] onto mass 1, which lies on the floor; e = 0.

    Answer: both at rest in one simultaneous solve; after n passes over both contacts .9^n of the speed is
    left.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(friction=0.0))
    for name, mass, height, velocity in (("light", 1.0, 0.5, 0.0), ("heavy", 9.0, 1.5 + gap, -speed)):
        scene.add(
            topple.Body(
                name, topple.Box((1.0, 1.0, 1.0)), mass=mass, position=(0.0, 0.0, height),
                linear_velocity=(0.0, 0.0, velocity), friction=0.0,
            )
        )  # fmt: skip
    return scene


def table(*, friction: float = 0.0) -> topple.Scene:
    """A table with four legs, 20 kg, on a floor: four forces for three equations. Off-centre load of 5 kg."""
    legs = [
        (topple.Box((0.1, 0.1, 0.7)), (0.55 * x, 0.35 * y, -0.4), (1, 0, 0, 0))
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    shape = topple.Compound([(topple.Box((1.2, 0.8, 0.1)), (0, 0, 0), (1, 0, 0, 0)), *legs])
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=friction))
    scene.add(topple.Body("table", shape, mass=20.0, position=(0.0, 0.0, 0.75), friction=friction))
    scene.add(
        topple.Body(
            "vase", topple.Box((0.2, 0.2, 0.3)), mass=5.0, position=(0.4, 0.2, 0.95), friction=friction
        )
    )
    return scene


def brick_overhang(count: int = 4, *, beyond: float = 0.0) -> topple.Scene:
    """Bricks of 1 x .5 x .25 m stacked with the largest overhang, times 1 + `beyond`.

    The k-th brick from the top reaches 1 / (2 k) over the one below it: together 25/24 = 1.041667 lengths
    for four on a table, at which the stack just stands. Source: the harmonic series; Johnson 1955.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(topple.Body("table", topple.Box((4.0, 4.0, 1.0)), kind="static", position=(-2.0, 0.0, -0.5)))
    right = 0.0
    for level in range(count):
        right += (1.0 + beyond) / (2.0 * (count - level))
        scene.add(
            topple.Body(
                f"brick_{level}", topple.Box((1.0, 0.5, 0.25)), mass=1.0,
                position=(right - 0.5, 0.0, 0.125 + 0.25 * level),
            )
        )  # fmt: skip
    return scene


def overbalanced_stack(count: int = 5, *, step: float = 0.3) -> topple.Scene:
    """Bricks of 1 x .5 x .25 m, each `step` [m] further out than the one below: the upper ones tip over.

    Source: Baraff 1989, figure 13 (a stack of bricks that is overbalanced).
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=0.5))
    for level in range(count):
        scene.add(
            topple.Body(
                f"brick_{level}", topple.Box((1.0, 0.5, 0.25)), mass=1.0,
                position=(step * level, 0.0, 0.125 + 0.25 * level),
            )
        )  # fmt: skip
    return scene


def dominoes(count: int = 6, *, spacing: float = 0.5, push: float = 1.0) -> topple.Scene:
    """Stones of .15 x .5 x 1 m in a row along x, the first of which turns over at `push` [rad/s].

    Source: Baraff 1989 (dominoes), 1997.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(floor(friction=0.6))
    for i in range(count):
        spin = push if i == 0 else 0.0
        # It turns about its lower edge on the side it falls to, (.075, 0, -.5) from its centre.
        scene.add(
            topple.Body(
                f"domino_{i:02}", topple.Box((0.15, 0.5, 1.0)), mass=1.0, position=(spacing * i, 0.0, 0.5),
                angular_velocity=(0.0, spin, 0.0), linear_velocity=(spin * 0.5, 0.0, spin * 0.075),
                friction=0.3,
            )
        )  # fmt: skip
    return scene


def billiard_balls(*, restitution: float = 1.0) -> topple.Scene:
    """A ball at 1 m/s hits two that touch, in the middle: the three centres are an equilateral triangle.

    Answer with e = 1, all at once: the two leave at 30 degrees with 2 sqrt(3) / 5 m/s each and the first
    goes back at 1/5 m/s (momentum and Newton's law at both contacts). Source: Baraff 1989, section 8.
    """
    radius = 0.1
    scene = topple.Scene(gravity=(0.0, 0.0, 0.0))
    places = {"cue": (-2.0 * radius * math.sqrt(0.75) - 0.5, 0.0, 0.0), "left": (0.0, radius, 0.0)}
    places["right"] = (0.0, -radius, 0.0)
    for name, place in places.items():
        scene.add(
            topple.Body(
                name, topple.Sphere(radius), mass=1.0, position=place, restitution=restitution, friction=0.0,
                linear_velocity=(1.0 if name == "cue" else 0.0, 0.0, 0.0),
            )
        )  # fmt: skip
    return scene


def contacts_of_all_kinds(seed: int = 1) -> topple.Scene:
    """Vertex/face and edge/edge contacts as in Baraff 1997, figure 26, and those of round bodies; all moving.

    To check n', A and b against finite differences. Pairs stand far from each other: a tetrahedron on its
    tip on a plane, two boxes edge across edge, a ball on a tilted slab, a ball on a ball, a can on its side
    and one on its rim, a capsule, a box whose tip stands on a slab, a can on its rim on a slab, and a tip on
    the top of a can.
    """
    random = np.random.default_rng(seed)
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane())
    half = math.pi / 8
    tip = np.array([(0, 0, 0), (0.6, 0.1, 0.9), (-0.4, 0.5, 1.0), (-0.2, -0.6, 1.1)], float)
    across = (math.cos(half), math.sin(half), 0.0, 0.0)
    along = (math.cos(half), 0.0, math.sin(half), 0.0)
    tilt = (math.cos(0.2), math.sin(0.2), 0.0, 0.0)
    up = np.array([0.0, -math.sin(0.4), math.cos(0.4)])  # normal of a body turned by `tilt`
    lift = math.sqrt(0.5)
    lean = 0.6  # of the can on its rim
    lying = (math.sqrt(0.5), math.sqrt(0.5), 0, 0)
    leaning = (math.cos(lean / 2), math.sin(lean / 2), 0, 0)
    rim = 0.5 * math.cos(lean) + 0.4 * math.sin(lean)
    bodies = [
        ("lower", topple.Box((1, 1, 1)), (3.0, 0.0, 5.0), across),
        ("upper", topple.Box((1, 1, 1)), (3.1, 0.2, 5.0 + 2.0 * lift), along),
        ("tip", topple.ConvexHull(tip), (0.0, 0.0, 0.0), (1, 0, 0, 0)),
        ("slab", topple.Box((2, 2, 0.2)), (0.0, 9.0, 5.0), tilt),
        ("slab ball", topple.Sphere(0.3), np.array((0.0, 9.0, 5.0)) + 0.4 * up, (1, 0, 0, 0)),
        ("slab two", topple.Box((2, 2, 0.2)), (9.0, 9.0, 5.0), tilt),
        ("slab tip", topple.ConvexHull(tip), np.array((9.0, 9.0, 5.0)) + 0.1 * up, tilt),
        ("ball one", topple.Sphere(0.3), (9.0, 0.0, 5.0), (1, 0, 0, 0)),
        ("ball two", topple.Sphere(0.5), np.array((9.0, 0.0, 5.0)) + 0.8 * up, (1, 0, 0, 0)),
        ("can side", topple.Cylinder(0.4, 1.0), (15.0, 0.0, 0.4), lying),
        ("can rim", topple.Cylinder(0.4, 1.0), (18.0, 0.0, rim), leaning),
        ("capsule", topple.Capsule(0.3, 1.0), (21.0, 0.0, 0.3 + 0.5 * math.cos(lean)),
         leaning),
        ("slab three", topple.Box((2, 2, 0.2)), (15.0, 9.0, 5.0), (1, 0, 0, 0)),
        ("slab rim", topple.Cylinder(0.4, 1.0), (15.0, 9.0, 5.1 + rim), leaning),
        ("drum", topple.Cylinder(0.8, 0.5), (21.0, 9.0, 5.0), (1, 0, 0, 0)),
        ("drum tip", topple.ConvexHull(tip), (21.1, 9.2, 5.25), (1, 0, 0, 0)),
    ]  # fmt: skip
    for name, shape, position, orientation in bodies:
        spin = random.normal(size=3)
        if name == "can side":  # both of its ends stay down
            spin = np.array([0.0, 1.3, 0.0])
        scene.add(
            topple.Body(
                name, shape, mass=1.0 + float(random.random()), position=position, orientation=orientation,
                linear_velocity=random.normal(size=3), angular_velocity=spin,
            )
        )  # fmt: skip
    return scene


def block_with_thruster(*, force: float, friction: float = 0.5, height: float = 0.0) -> topple.Scene:
    """A block of 1 x 1 x .5 m, 1 kg, pushed along x by a thruster on its left, `height` above its centre.

    Source: myPhysicsLab, *Collisions with contact* (thrusters).
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(friction=friction))
    scene.add(
        topple.Body(
            "block", topple.Box((1.0, 1.0, 0.5)), mass=1.0, position=(0.0, 0.0, 0.25), friction=friction
        )
    )
    scene.add(topple.Thruster(body="block", force=(force, 0.0, 0.0), point=(-0.5, 0.0, height)))
    return scene


def painleve_rod(*, friction: float = 2.0, angle: float = 1.1, speed: float = 1.0) -> topple.Scene:
    """A thin rod of 1 m whose lower end slides along a plane towards the side it leans to [rad].

    With mu above 4/3 there are angles at which no contact force satisfies all conditions: the tip jams.
    Source: Painleve 1895; Stewart 2000, section 2.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(plane(friction=friction))
    radius = 0.01
    shape = topple.Capsule(radius, 1.0)
    # The capsule's axis is z; turned by pi/2 - angle about y it leans towards +x.
    turn = math.pi / 2 - angle
    scene.add(
        topple.Body(
            "rod", shape, mass=1.0, friction=friction,
            position=(0.0, 0.0, radius + 0.5 * math.sin(angle)),
            orientation=(math.cos(turn / 2), 0.0, math.sin(turn / 2), 0.0),
            linear_velocity=(-speed, 0.0, 0.0),
        )
    )  # fmt: skip
    return scene
