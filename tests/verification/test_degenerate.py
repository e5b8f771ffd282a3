"""Contacts that leave nothing to choose a normal by: no pop, no NaN, and what should lie, lies."""

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

FLOOR = topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static")
SPIKE = topple.ConvexHull([[0, 0, -0.5], [-0.4, -0.3, 0.3], [0.4, -0.3, 0.3], [0, 0.5, 0.3]])
SPIKE_UP = topple.ConvexHull(-SPIKE.points)


@pytest.mark.parametrize("offset", [0.0, 1e-9, 1e-3])
def test_spike_on_spike(offset):
    """A tip that falls on a tip slides off to some side; it gains no speed from it."""
    below = topple.Body("below", SPIKE_UP, kind="static", position=(0, 0, 0.5))
    above = topple.Body("above", SPIKE, position=(offset, 0, 1.6))
    trajectory = topple.simulate(topple.Scene(bodies=[FLOOR, below, above]), seconds=1.5, fps=240)
    assert np.isfinite(trajectory.position).all()
    assert np.linalg.norm(trajectory.linear_velocity[:, 2], axis=1).max() < np.sqrt(2 * 9.81 * 1.6)
    assert trajectory.report.max_penetration < 1e-3


def test_edge_on_parallel_edge():
    """A box on its edge, on the parallel edge of another: it tips over and comes to rest."""
    turned = (np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0)
    root = np.sqrt(0.5)
    below = topple.Body(
        "below", topple.Box((1, 1, 1)), kind="static", orientation=turned, position=(0, 0, root)
    )
    above = topple.Body("above", topple.Box((1, 1, 1)), orientation=turned, position=(0, 0, 3 * root))
    trajectory = topple.simulate(topple.Scene(bodies=[FLOOR, below, above]), seconds=0.3, fps=240)
    assert np.isfinite(trajectory.position).all()
    assert np.abs(trajectory.linear_velocity[:, 2]).max() < 3.0
    assert trajectory.position[:, 2, 2].max() < 3 * root + 1e-4


def test_vertex_in_a_crack(figure):
    """A box on its corner's edge in the crack between two boxes that touch: it does not sink in."""
    boxes = [
        topple.Body(f"box {k}", topple.Box((1, 1, 1)), kind="static", position=(k - 0.5, 0, 0.5))
        for k in (0, 1)
    ]
    wedge = topple.Body("wedge", topple.Box((0.4, 0.4, 0.4)), position=(0, 0, 1 + 0.2 * np.sqrt(2)),
                        orientation=(np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0))  # fmt: skip
    scene = topple.Scene(bodies=[*boxes, wedge])
    trajectory = topple.simulate(scene, seconds=1.0)
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-4, "m")


@pytest.mark.parametrize(
    "shape", [topple.Box((1, 1, 1)), topple.Sphere(0.5), topple.Cylinder(0.4, 1.0), topple.Cone(0.5, 1.0)],
    ids=repr,
)  # fmt: skip
def test_identical_bodies_at_one_place(shape):
    """Two equal bodies, one inside the other, part without flying (Baraff 1997, footnote 6)."""
    bodies = [topple.Body(name, shape, position=(0, 0, 0.7)) for name in ("one", "other")]
    trajectory = topple.simulate(topple.Scene(bodies=[FLOOR, *bodies]), seconds=1.0, fps=24)
    assert np.isfinite(trajectory.position).all()
    assert np.linalg.norm(trajectory.linear_velocity[-1], axis=1).max() < 2.5
    (warning,) = [text for text in trajectory.report.warnings if "'one' and 'other' overlap" in text]
    assert "t = 0 s" in warning


# A needle of square section that rocks about its lower edges lifts its middle by less than from the half of
# its side to the half of its diagonal, else it would lie on the next side: v^2 < 2 g (diagonal - side) / 2.
SIDE = 1e-3
ROCKING = np.sqrt(9.81 * SIDE * (np.sqrt(2.0) - 1.0))


def test_needle_that_rolls(figure):
    """A needle that falls on a corner, spinning by half a turn a step, makes no energy of it."""
    turned = Rotation.from_quat((0.9, 0.3, 0.2, 0.1), scalar_first=True)
    needle = topple.Body(
        "needle", topple.Box((SIDE, SIDE, 1.0)), position=(0, 0, 0.8),
        orientation=turned.as_quat(scalar_first=True), angular_velocity=turned.apply((0.0, 0.0, 720.0)),
    )  # fmt: skip
    simulation = topple.Simulation(topple.Scene(bodies=[FLOOR, needle]))
    before = simulation.energy()
    turn, most = 0.0, 0.0
    for state in simulation.run(frames=15, fps=24):
        turn = max(turn, float(np.linalg.norm(state.angular_velocity[1])) / 240)
        most = max(most, simulation.energy())
    assert turn > 2.0  # [rad] a step
    figure("energy, of that at the start", most / before, 1.0 + 1e-12)


@pytest.mark.parametrize(("size", "speed"), [
    ((1.0, 1.0, 1e-3), 1e-3), ((1e-3, 1.0, 0.5), 1e-3), ((1.0, SIDE, SIDE), ROCKING),
], ids=["sheet", "blade", "needle"])  # fmt: skip
def test_thin_bodies(size, speed, figure):
    """Sheets and blades of a millimetre fall and rest; a needle may still rock: v^2 < (sqrt 2 - 1) g side."""
    body = topple.Body("thin", topple.Box(size), position=(0, 0, 0.8), orientation=(0.9, 0.3, 0.2, 0.1))
    scene = topple.Scene(bodies=[FLOOR, body])
    trajectory = topple.simulate(scene, seconds=4.0)
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-4, "m")
    figure("speed at the end", np.linalg.norm(trajectory.linear_velocity[-1]), speed, "m/s")
