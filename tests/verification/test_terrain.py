"""Rough terrain: whatever comes down on ridges, valleys, peaks and pits stays above them."""

import numpy as np
import pytest
import topple
from scenes.meshes import grid, on_mesh
from scenes.shapes import any_solid
from scipy.spatial.transform import Rotation

SIDES = 15.0  # half the width of a terrain, in sizes of a body


def deepest(scene, trajectory):
    """Deepest penetration that the independent check finds [m]; the solver itself knows of none."""
    report = topple.verify(scene, trajectory)
    assert trajectory.report.max_penetration <= 1e-4
    return report.max_penetration


def rugged(rng, size, slope):
    """A square terrain of random heights."""
    cells = int(rng.integers(5, 38))
    return topple.Mesh(
        *grid(cells, 2 * SIDES * size, height=lambda x, y: rng.uniform(-slope, slope, x.shape) * size)
    )


@pytest.mark.parametrize("seed", range(24))
def test_anything_on_any_terrain(seed, figure):
    """Solids of all kinds, of 3 cm to 10 m, fall on terrains of any roughness: none sinks in, none hangs."""
    rng = np.random.default_rng(seed)
    size = 10 ** rng.uniform(-1.5, 1.0)
    bodies = [
        topple.Body(
            f"body {k}", any_solid(rng, size), density=10 ** rng.uniform(1, 4),
            position=(*rng.uniform(-2, 2, 2) * size, (3.2 + 2.4 * k) * size), orientation=rng.normal(size=4),
            linear_velocity=rng.normal(size=3) * np.sqrt(size), restitution=rng.choice([0.0, 0.3, 0.9]),
            friction=rng.choice([0.0, 0.3, 1.0]),
        )
        for k in range(4)
    ]  # fmt: skip
    step = (1 / 60, 1 / 240)[seed % 2]
    scene = on_mesh(rugged(rng, size, (0.3, 0.6, 1.2)[seed % 3]), *bodies)
    trajectory = topple.simulate(scene, frames=48, fps=24, solver=topple.ImpulseSolver(time_step=step))
    figure("penetration", deepest(scene, trajectory), 1e-4, "m")
    moved = np.linalg.norm(np.diff(trajectory.position[:, 1:], axis=0), axis=2)
    speed = np.linalg.norm(trajectory.linear_velocity[1:, 1:], axis=2)
    assert not ((moved == 0.0) & (speed > 0.01 * np.sqrt(size))).any(), "it has a speed and does not move"


def test_saddlebag_on_a_ridge(figure):
    """Two balls of one body on either side of a ridge: its centre of mass is below both slopes."""
    ridge = topple.Mesh(*grid(8, 8.0, height=lambda x, y: -0.8 * np.abs(x)))
    ball = topple.Sphere(0.2)
    bag = topple.Compound([(ball, (x, 0.0, 0.0), (1, 0, 0, 0)) for x in (-1.2, 1.2)])
    body = topple.Body("bag", bag, position=(0.0, 0.3, -0.5), restitution=0.0, friction=0.5)
    scene = on_mesh(ridge, body)
    trajectory = topple.simulate(scene, seconds=2.0)
    figure("penetration", deepest(scene, trajectory), 1e-4, "m")
    rest = -0.8 * 1.2 + 0.2 * np.hypot(1.0, 0.8)  # where a ball touches its slope
    figure("height", trajectory.position[-1, 1, 2] - rest, 1e-4, "m")


@pytest.mark.parametrize("shape", [topple.Cone(0.25, 0.8), topple.ConvexHull(
    [(0, 0, -0.6), (0.3, 0, 0.2), (-0.2, 0.25, 0.2), (-0.2, -0.25, 0.2)])], ids=["cone", "hull"])  # fmt: skip
def test_tip_slides_into_a_pit(shape, figure):
    """A tip slides down a slope to the bottom of a pit, where it is under neither of the slopes beside it."""
    pit = topple.Mesh(*grid(8, 8.0, height=lambda x, y: 0.7 * np.hypot(x, y)))
    turn = Rotation.from_euler("xyz", (np.pi if isinstance(shape, topple.Cone) else 0.0, 0.3, 0.1))
    body = topple.Body(
        "tip", shape, position=(0.9, 0.6, 1.9), orientation=turn.as_quat(scalar_first=True), friction=0.05
    )
    scene = on_mesh(pit, body, friction=0.05)
    trajectory = topple.simulate(scene, seconds=3.0)
    figure("penetration", deepest(scene, trajectory), 1e-4, "m")


@pytest.mark.parametrize("steepness", [0.5, 1.0, 2.0])
def test_plank_over_the_edge_of_a_hill_lies(steepness, figure):
    """Its centre of mass is behind the plane of the slope that its end hangs over: it is not pushed off."""
    hill = topple.Mesh(*grid(2, 40.0, height=lambda x, y: -steepness * np.maximum(x, 0.0)))
    plank = topple.Body("plank", topple.Box((4.0, 0.5, 0.1)), position=(-0.8, 10.0, 0.05))
    scene = on_mesh(hill, plank)
    trajectory = topple.simulate(scene, seconds=1.0)
    figure("penetration", deepest(scene, trajectory), 1e-4, "m")
    drift = np.abs(trajectory.position[-1, 1] - plank.position).max()
    figure("drift", drift, 1e-5, "m")
