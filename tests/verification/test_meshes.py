"""Triangle meshes: no bump at a side that triangles share, none falls through, and what lies, lies."""

import numpy as np
import pytest
import topple
from scenes.meshes import grid, on_mesh, surface_of
from scipy.spatial.transform import Rotation

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@pytest.mark.parametrize("spin", [0.0, 1.0])
@pytest.mark.parametrize("shape", [topple.Sphere(0.3), topple.Box((0.4, 0.5, 0.6))], ids=repr)
def test_sliding_over_a_flat_floor(shape, spin, figure):
    """A body slides over a flat triangulated floor at its height and speed, as over a plane."""
    floor = topple.Mesh(*grid(20, 10.0, jitter=0.3))
    body = topple.Body(
        "body", shape, position=(-3.5, 0.1, 0.3), linear_velocity=(3, 0.4, 0), angular_velocity=(0, 0, spin),
        friction=0.0,
    )  # fmt: skip
    trajectory = topple.simulate(on_mesh(floor, body), seconds=2.0, fps=60)
    place = trajectory.position[:, 1]
    figure("height, peak to peak, per size", np.ptp(place[5:, 2]) / 0.6, 1e-6)
    figure("way", np.abs(place[-1, :2] - [2.5, 0.9]).max(), 1e-5, "m")


@pytest.mark.parametrize("step", [1 / 60, 1 / 240])
def test_brick_lands_on_its_edge(step, figure):
    """One end of the edge comes down after the other, over another triangle: it moves as on a plane."""
    turn = Rotation.from_rotvec((0.0, 0.02, 0.0)) * Rotation.from_rotvec((np.pi / 4 + 0.1, 0.0, 0.0))
    x, y, z, w = turn.as_quat()
    brick = topple.Body(
        "brick", topple.Box((1.9, 1, 1)), position=(0.37, 0.21, 0.78), orientation=(w, x, y, z)
    )  # fmt: skip
    floors = topple.Mesh(*grid(8, 8.0, jitter=0.3)), topple.Plane((0, 0, 1), 0.0)
    solver = topple.ImpulseSolver(time_step=step)
    on_triangles, on_plane = (
        topple.simulate(on_mesh(floor, brick), seconds=0.5, fps=60, solver=solver) for floor in floors
    )
    figure("from where it is on a plane", np.abs(on_triangles.position - on_plane.position).max(), 1e-5, "m")


def test_rolling_ball_stops_nowhere(figure):
    """A ball that slides, then rolls over triangles: v = 5/7 v0, as on a plane."""
    ball = topple.Body("ball", topple.Sphere(0.3), position=(-3.5, 0.1, 0.3), linear_velocity=(3, 0.4, 0))
    trajectory = topple.simulate(on_mesh(topple.Mesh(*grid(20, 10.0, jitter=0.3)), ball), seconds=2.0)
    figure("speed", np.abs(trajectory.linear_velocity[-1, 1, 0] - 3 * 5 / 7), 1e-6, "m/s")


def test_stack_on_an_aligned_grid(figure):
    """Cubes whose corners lie exactly on the floor's vertices stand."""
    cubes = [topple.Body(f"cube {k}", topple.Box((1, 1, 1)), position=(0.5, 0.5, 0.5 + k)) for k in range(5)]
    trajectory = topple.simulate(on_mesh(topple.Mesh(*grid(10, 10.0)), *cubes), seconds=3.0)
    figure("drift", np.abs(trajectory.position[-1, 1:] - trajectory.position[0, 1:]).max(), 1e-5, "m")


@pytest.mark.parametrize("two_sided", [None, True])
@pytest.mark.parametrize("overhang", [0.0, 0.3, 0.45])
def test_box_over_an_edge_lies(overhang, two_sided, figure):
    """A plank of length 1 on a block lies while less than half of it hangs over the edge."""
    block = topple.Mesh(*surface_of(CORNERS), two_sided=two_sided)
    plank = topple.Body("plank", topple.Box((1.0, 0.6, 0.2)), position=(overhang, 0, 0.6))
    trajectory = topple.simulate(on_mesh(block, plank), seconds=2.0)
    figure("drift", np.abs(trajectory.position[-1, 1] - trajectory.position[0, 1]).max(), 1e-5, "m")


def test_box_over_an_edge_tips():
    """Beyond half its length the plank tips and falls past the block."""
    block = topple.Mesh(*surface_of(CORNERS))
    plank = topple.Body("plank", topple.Box((1.0, 0.6, 0.2)), position=(0.55, 0, 0.6))
    trajectory = topple.simulate(on_mesh(block, plank), seconds=1.0)
    assert trajectory.position[-1, 1, 2] < 0.0


def test_ridge_and_valley(figure):
    """A slab balances on a ridge; a ball in a valley touches both slopes: height r / sin(opening / 2)."""
    ridge = topple.Mesh(*grid(8, 4.0, height=lambda x, y: -np.abs(x)))
    slab = topple.Body("slab", topple.Box((1.0, 1.0, 0.2)), position=(0, 0.1, 0.1))
    trajectory = topple.simulate(on_mesh(ridge, slab), seconds=1.0)
    figure("slab's height", trajectory.position[-1, 1, 2] - 0.1, 1e-5, "m")
    valley = topple.Mesh(*grid(8, 4.0, height=lambda x, y: np.abs(x)))
    ball = topple.Body("ball", topple.Sphere(0.3), position=(0, 0.1, 0.3 * np.sqrt(2)))
    trajectory = topple.simulate(on_mesh(valley, ball), seconds=1.0)
    figure("ball's height", trajectory.position[-1, 1, 2] - 0.3 * np.sqrt(2), 1e-5, "m")


@pytest.mark.parametrize("speed", [5.0, 60.0, 1000.0])
@pytest.mark.parametrize(
    "shape", [topple.Sphere(0.1), topple.Box((0.1, 0.1, 0.1)), topple.Cone(0.1, 0.2)], ids=repr
)
def test_sheet_from_both_sides(shape, speed):
    """A sheet without thickness stops what comes, from above and from below, until it is past the border."""
    sheet = topple.Mesh(*grid(6, 4.0, jitter=0.2))
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[topple.Body("sheet", sheet, kind="static")])
    scene.add(topple.Body("up", shape, position=(0.1, 0.2, -2), linear_velocity=(0, 0.1 * speed, speed),
                          angular_velocity=(20, 3, 1), restitution=0.5))  # fmt: skip
    scene.add(topple.Body("down", shape, position=(0.6, -0.6, 2), linear_velocity=(0, 0, -speed),
                          angular_velocity=(20, 3, 1)))  # fmt: skip
    trajectory = topple.simulate(scene, seconds=0.5, fps=240)
    up, down = trajectory.position[:, 1], trajectory.position[:, 2]
    assert up[np.abs(up[:, :2]).max(axis=1) < 2.0, 2].max() < 0.0
    assert down[np.abs(down[:, :2]).max(axis=1) < 2.0, 2].min() > 0.0


def test_one_sided_sheet():
    """From behind a one-sided sheet lets bodies through; from the front it does not."""
    sheet = topple.Mesh(*grid(6, 4.0), two_sided=False)
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[topple.Body("sheet", sheet, kind="static")])
    ball = topple.Sphere(0.1)
    scene.add(topple.Body("up", ball, position=(0.1, 0.2, -1), linear_velocity=(0, 0, 5)))
    scene.add(topple.Body("down", ball, position=(0.6, -0.6, 1), linear_velocity=(0, 0, -5)))
    trajectory = topple.simulate(scene, seconds=1.0)
    assert trajectory.position[-1, 1, 2] > 3.0
    assert trajectory.position[-1, 2, 2] > 0.0


def test_moving_mesh_carries(figure):
    """A box on a kinematic tray moves with it: no slip below mu g, no sinking."""
    times = np.linspace(0.0, 2.0, 49)
    positions = np.stack([0.5 * times**2, 0 * times, 0.2 * times], axis=1)
    tray = topple.Body("tray", topple.Mesh(*grid(5, 2.0)), kind="kinematic",
                       motion=(times, positions, np.tile([1.0, 0, 0, 0], (49, 1))))  # fmt: skip
    box = topple.Body("box", topple.Box((0.4, 0.4, 0.4)), position=(0.03, 0.02, 0.2))
    trajectory = topple.simulate(topple.Scene(bodies=[box, tray]), seconds=2.0)
    relative = trajectory.position[:, 0] - trajectory.position[:, 1]
    figure("height over the tray", np.abs(relative[:, 2] - 0.2).max(), 1e-4, "m")
    figure("slip", np.abs(relative[-1, :2] - [0.03, 0.02]).max(), 0.02, "m")


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 1e-9], ids=["", "another heap"])
def test_heap_on_terrain(shift, figure):
    """Bodies of all shapes on rolling ground: no penetration by the independent check."""
    rng = np.random.default_rng(2)
    ground = topple.Mesh(
        *grid(24, 8.0, height=lambda x, y: 0.3 * np.sin(2 * x) * np.cos(1.7 * y) + 0.02 * (x * x + y * y))
    )  # a bowl, or what rolls leaves it
    shapes = [
        topple.Box((0.3, 0.4, 0.5)), topple.Sphere(0.2), topple.Capsule(0.12, 0.3), topple.Cylinder(0.2, 0.3),
        topple.Cone(0.2, 0.4), topple.ConvexHull(rng.normal(size=(20, 3)) * 0.15),
    ]  # fmt: skip
    bodies = [
        topple.Body(
            f"body {k:02}",
            shapes[k % 6],
            position=(0.7 * (k % 3) - 0.7 + shift, 0.7 * (k // 3 % 3) - 0.7, 1.0 + 0.7 * (k // 9)),
            orientation=rng.normal(size=4),
            restitution=0.2,
        )
        for k in range(30)
    ]
    scene = on_mesh(ground, *bodies)
    trajectory = topple.simulate(scene, seconds=3.0)
    report = topple.verify(scene, trajectory)
    figure("worst penetration", report.max_penetration, 1e-4, "m")
    assert (np.abs(trajectory.position[-1, 1:, :2]) < 4.0).all()
    assert (trajectory.position[-1, 1:, 2] > -0.4).all()
