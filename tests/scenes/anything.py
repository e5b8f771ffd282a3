"""Random scenes of all that a scene may hold, for tests that ask what must be so in any of them."""

import numpy as np
import topple

from .meshes import grid, surface_of
from .shapes import any_solid, random_orientation, random_turn

SECONDS = 3.0  # for which paths are given


def any_scene(seed: int) -> tuple[topple.Scene, topple.ImpulseSolver, int]:
    """Solids of one order of size, from 5 cm to 6 m, over a ground; how they are solved; frames to bake.

    Any of them may be locked, damped, asleep, a sensor, on a layer of its own, animated, or animated until
    it is released; springs, thrusters, drag and fields act in a third of the scenes.
    """
    rng = np.random.default_rng(seed)
    size = 10 ** rng.uniform(-1.3, 0.8)
    bodies = _ground(rng, size)
    movers = [_mover(rng, size, k) for k in range(rng.integers(1, 3))] if rng.random() < 0.35 else []
    low = 10.5 if movers else 2.5
    solids = [_solid(rng, size, low + 2.4 * k, k) for k in range(rng.integers(2, 11))]
    gravity = (0.0, 0.0, -9.81) if bodies else (0.0, 0.0, 0.0)
    forces = _forces(rng, size, [body for body in solids if body.kind == "dynamic"])
    scene = topple.Scene(
        gravity,
        [*bodies, *movers, *solids],
        forces=forces if rng.random() < 0.35 else (),
        combine=rng.choice(["geometric_mean", "multiply"]),
    )
    if rng.random() < 0.2:
        scene.ignore(solids[0].name, solids[1].name)
    solver = topple.ImpulseSolver(
        time_step=rng.choice([1 / 60, 1 / 120, 1 / 240, 1 / 1000], p=[0.2, 0.2, 0.4, 0.2]),
        shock_propagation=rng.random() < 0.7,
        sleeping=rng.random() < 0.7,
    )
    return scene, solver, int(36 * max(1.0, np.sqrt(size)))


def _surface(rng) -> dict:
    friction = rng.choice([0.0, 0.3, 0.6, 1.2])
    return {
        "restitution": rng.choice([0.0, 0.3, 0.8, 1.0], p=[0.4, 0.3, 0.2, 0.1]),
        "friction": friction,
        "friction_dynamic": friction * rng.choice([1.0, 0.7]),
    }


def _ground(rng, size) -> list[topple.Body]:
    """Static bodies below z = 0, or none: then nothing falls."""

    def static(name, shape, **pose):
        return topple.Body(name, shape, kind="static", **pose, **surface)

    surface, kind = _surface(rng), rng.integers(8)
    if kind == 0:
        return []
    if kind == 1:
        return [static("ground", topple.Plane((*rng.uniform(-0.4, 0.4, 2), 1.0), 0.0))]
    if kind == 2:
        height = rng.uniform(0.0, 0.8) * size
        mesh = grid(int(rng.integers(6, 30)), 30 * size, lambda x, y: rng.uniform(-height, 0.0, x.shape), 0.3)
        return [static("ground", topple.Mesh(*mesh))]
    if kind == 3:
        steep = rng.uniform(0.2, 1.0)
        return [static("ground", topple.Mesh(*grid(
            8, 30 * size, height=lambda x, y: steep * (np.hypot(x, y) - 15 * size))))]  # fmt: skip
    if kind == 4:
        solid = topple.Mesh(*surface_of(rng.normal(size=(24, 3)) * 3 * size))
        return [
            static("ground", solid, position=(0, 0, -9 * size)),
            static("below", topple.Plane((0, 0, 1), -20 * size)),
        ]
    thickness = size * 10 ** rng.uniform(-2, 0)
    floor = static("ground", topple.Box((30 * size, 30 * size, thickness)), position=(0, 0, -thickness / 2))
    walls = [
        static(f"wall {k}", topple.Box((0.5 * size, 8 * size, 6 * size)),
               position=(4 * size * np.cos(turn), 4 * size * np.sin(turn), 3 * size),
               orientation=(np.cos(turn / 2), 0, 0, np.sin(turn / 2)))
        for k, turn in enumerate(np.arange(4) * np.pi / 2)
    ]  # fmt: skip
    return [floor, *walls] if kind > 5 else [floor]


def _path(rng, position, way, turn):
    """To and fro by `way` [m], turning by `turn` [rad], smooth, in one to ten keys."""
    times = np.linspace(0.0, SECONDS, rng.integers(2, 30))
    part = 0.5 - 0.5 * np.cos(2 * np.pi * rng.uniform(0.2, 1.0) * times)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    half = 0.5 * turn * part[:, None]
    return times, position + part[:, None] * way, np.hstack([np.cos(half), np.sin(half) * axis])


def _mover(rng, size, k) -> topple.Body:
    """A board or a closed mesh that moves beside and above the ground."""
    shape = topple.Box((4 * size, 3 * size, 0.5 * size))
    if rng.random() < 0.3:
        shape = topple.Mesh(*surface_of(rng.normal(size=(16, 3)) * size))
    where = np.array([(-1.0) ** k * 3.0, 0.0, 3.5 + 3 * k]) * size
    path = _path(rng, where, rng.uniform(-1, 1, 3) * size, rng.uniform(-1, 1))
    return topple.Body(f"mover {k}", shape, kind="kinematic", motion=path, **_surface(rng))


def _solid(rng, size, height, k) -> topple.Body:
    """One of a column of solids with room around each."""
    position = np.array([*rng.uniform(-2, 2, 2), height]) * size
    shape, name = any_solid(rng, size), f"solid {k:02}"
    options = {"density": 10 ** rng.uniform(2, 4), "position": position, **_surface(rng)}
    options["orientation"] = random_orientation(rng)
    options["linear_velocity"] = (
        rng.normal(size=3) * np.sqrt(size) * rng.choice([0.0, 1.0, 8.0], p=[0.3, 0.6, 0.1])
    )
    options["angular_velocity"] = rng.normal(size=3) * 3.0 / np.sqrt(size) * rng.integers(2)
    kind = rng.choice(["plain", "locked", "damped", "asleep", "layer", "sensor", "released", "animated"],
                      p=[0.6, 0.08, 0.08, 0.04, 0.05, 0.03, 0.09, 0.03])  # fmt: skip
    if kind == "locked":
        options |= {"lock_linear": rng.random(3) < 0.3, "lock_angular": rng.random(3) < 0.5}
    elif kind == "damped":
        options |= {"linear_damping": rng.uniform(0, 2), "angular_damping": rng.uniform(0, 2)}
    elif kind == "asleep":
        options |= {"asleep": True, "linear_velocity": (0, 0, 0), "angular_velocity": (0, 0, 0)}
    elif kind == "layer":
        options |= {"layers": 2, "collides_with": rng.choice([1, 3])}
    elif kind == "sensor":
        options["sensor"] = True
    elif kind in ("released", "animated"):
        del options["linear_velocity"], options["angular_velocity"]
        way = rng.uniform(-1.5, 1.5, 3) * size
        options |= {"kind": "kinematic", "motion": _path(rng, position, way, rng.uniform(-3, 3))}
        if kind == "released":
            options["release_time"] = rng.uniform(0.0, 1.0)
    return topple.Body(name, shape, **options)


def _forces(rng, size, bodies) -> list:
    forces = []
    for body in bodies[: rng.integers(1, 4)]:
        other = bodies[rng.integers(len(bodies))]
        point = random_turn(rng).apply((0.3 * size, 0.0, 0.0))
        rate = rng.uniform(2.0, 20.0)  # rad/s of a swing
        kind = rng.integers(5)
        if kind == 0 and other is not body:
            forces.append(topple.Spring(
                body_a=body.name, body_b=other.name, point_a=point, stiffness=body.mass * rate**2,
                length=size * rng.uniform(0, 2),
                damping=body.mass * rate * rng.choice([0.0, 0.2])))  # fmt: skip
        elif kind == 1:
            forces.append(topple.Spring(
                body_a=body.name, point_a=point, point_b=body.position + rng.normal(size=3) * size,
                stiffness=body.mass * rate**2, length=size))  # fmt: skip
        elif kind == 2:
            start = rng.uniform(0, 1)
            forces.append(topple.Thruster(
                body=body.name, force=body.mass * rng.normal(size=3) * 8.0, point=point, start=start,
                end=start + rng.uniform(0.05, 1)))  # fmt: skip
        elif kind == 3:
            forces.append(topple.ViscousDrag(linear=body.mass * rng.uniform(0, 3), bodies=[body.name]))
        else:
            forces.append(topple.UniformField(acceleration=rng.normal(size=3) * 5.0, bodies=[body.name]))
    return forces
