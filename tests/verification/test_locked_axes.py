"""Bodies whose axes are locked: guided, kept in a plane, or nailed down."""

import math

import numpy as np
import pytest
import topple

G = 9.81
ALL = (True, True, True)
GUIDED = {"lock_linear": (True, True, False), "lock_angular": ALL}  # up and down
PLANAR = {"lock_linear": (False, True, False), "lock_angular": (True, False, True)}  # in x and z
ON_RAILS = {"lock_linear": (False, False, True), "lock_angular": ALL}  # in x and y
NAILED = {"lock_linear": ALL, "lock_angular": ALL}


def floor(**surface):
    return topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", **surface)


def cube(name="cube", **options):
    return topple.Body(name, topple.Box((1, 1, 1)), mass=1.0, friction=0.5, **options)


def plate_that_comes_down(orientation=(1, 0, 0, 0)):
    """From 1.1 m over a cube to .3 m into it in two seconds."""
    path = [0, 2], [(0, 0, 2.2), (0, 0, 0.8)], [orientation] * 2
    return topple.Body("plate", topple.Box((1, 1, 0.2)), kind="kinematic", motion=path, friction=0.5)


@pytest.mark.parametrize("solver", ["impulse", "analytic"])
@pytest.mark.parametrize("shape", [topple.Sphere(0.1), topple.Box((0.2, 0.2, 0.2))])
def test_guided_body_bounces(shape, solver, figure):
    """Up and down is all it can go, so friction has nothing to stop: it rises to e^2 h = .25 m, and rests."""
    surface = {"friction": 0.5, "restitution": 0.5}
    body = topple.Body("body", shape, mass=1.0, position=(0, 0, 1.1), **surface, **GUIDED)
    scene = topple.Scene(bodies=[floor(**surface), body])
    trajectory = topple.simulate(scene, seconds=2.5, fps=240, solver=solver)
    height, first = trajectory.position[:, 1, 2] - 0.1, math.sqrt(2.0 / G)
    after = (trajectory.times > first) & (trajectory.times < first + 0.45)
    figure("apex", abs(height[after].max() - 0.25), 0.0025, "m")  # 1 %
    figure("height at the end", abs(height[-1]), 1e-4, "m")
    assert not trajectory.position[:, 1, :2].any()


@pytest.mark.parametrize("solver", ["impulse", "analytic"])
def test_planar_body_slides_down_a_ramp(solver, figure):
    """Kept in the plane x z: a = g (sin a - mu cos a), as without."""
    angle, mu = math.radians(30), 0.3
    normal = np.array([math.sin(angle), 0, math.cos(angle)])
    ramp = topple.Body("ramp", topple.Plane(normal, 0), kind="static", friction=mu)
    turned = (math.cos(angle / 2), 0, math.sin(angle / 2), 0)
    body = topple.Body(
        "body", topple.Box((0.4, 0.4, 0.2)), mass=1.0, position=0.1 * normal, orientation=turned, friction=mu,
        **PLANAR,
    )  # fmt: skip
    trajectory = topple.simulate(topple.Scene(bodies=[ramp, body]), seconds=1.0, solver=solver)
    way = np.linalg.norm(trajectory.position[-1, 1] - trajectory.position[0, 1])
    expected = 0.5 * G * (math.sin(angle) - mu * math.cos(angle))
    figure("way, relative", abs(way / expected - 1.0), 0.005)


@pytest.mark.parametrize("solver", ["impulse", "analytic"])
def test_body_on_rails_slides_on(solver, figure):
    """The rails bear it, not the floor: nothing brakes it."""
    body = cube(position=(0, 0, 0.5), linear_velocity=(1, 0, 0), **ON_RAILS)
    trajectory = topple.simulate(topple.Scene(bodies=[floor(friction=0.5), body]), seconds=2.0, solver=solver)
    figure("place", np.abs(trajectory.position[-1, 1] - (2, 0, 0.5)).max(), 1e-12, "m")


@pytest.mark.parametrize("solver", ["impulse", "analytic"])
@pytest.mark.parametrize("locks", [NAILED, ON_RAILS])
def test_what_cannot_give_way_bears_others(locks, solver):
    """A ball that falls on it comes to rest there, and four cubes stand: it moves no more than the floor."""
    ball = topple.Body("ball", topple.Sphere(0.2), mass=1.0, position=(0.3, 0, 2), restitution=0.8)
    bottom = cube(position=(0, 0, 0.5), **locks)
    scene = topple.Scene(bodies=[floor(friction=0.5), bottom, ball])
    trajectory = topple.simulate(scene, seconds=3.0, solver=solver)
    assert not (trajectory.position[:, 1] - bottom.position).any()
    np.testing.assert_allclose(trajectory.position[-1, 2], (0.3, 0, 1.2), atol=1e-4)
    tower = [cube(f"cube {k}", position=(0.1, 0, 1.5 + k)) for k in range(4)]
    scene = topple.Scene(bodies=[floor(friction=0.5), bottom, *tower])
    trajectory = topple.simulate(scene, seconds=1.0, solver=solver)
    np.testing.assert_allclose(trajectory.position[-1], trajectory.position[0], atol=1e-4)


def test_pressed_by_what_is_animated_is_reported():
    """A plate comes down on a cube that cannot give way: a warning, or an error, names both."""
    scene = topple.Scene(bodies=[floor(), cube(position=(0, 0, 0.5), **NAILED), plate_that_comes_down()])
    report = topple.simulate(scene, seconds=2.0).report
    (warning,) = report.warnings
    assert "'cube' and 'plate' are pressed into each other" in warning
    with pytest.raises(topple.SolverError, match=r"no impulses keep 'cube', 'plate' apart at 1\.57"):
        topple.simulate(scene, seconds=2.0, solver="analytic")


@pytest.mark.parametrize("locks", [NAILED, ON_RAILS])
def test_round_off_moves_nothing(locks, figure):
    """Upside down, faces' normals are up but for 1e-16, and along that a cube on rails is free to go."""
    over = (math.cos(math.pi / 2), math.sin(math.pi / 2), 0, 0)
    scene = topple.Scene(
        bodies=[floor(), cube(position=(0, 0, 0.5), orientation=over, **locks), plate_that_comes_down(over)]
    )
    trajectory = topple.simulate(scene, seconds=2.0)
    figure("moved", np.ptp(trajectory.position[:, 1], axis=0).max(), 1e-12, "m")
    assert "pressed into each other" in trajectory.report.warnings[0]


@pytest.mark.parametrize("kind", ["nailed", "on rails", "animated"])
def test_light_things_that_cannot_give_way_bear_heavy_ones(kind, figure):
    """A board of a milligram under a block of 10 t: what it weighs is of no consequence."""
    options = {"nailed": NAILED, "on rails": ON_RAILS, "animated": {"kind": "kinematic"}}[kind]
    shape, place = topple.Box((3, 3, 0.2)), (0, 0, -0.1)
    board = topple.Body("board", shape, mass=1e-6, position=place, friction=0.5, **options)
    block = topple.Body("block", topple.Box((1, 1, 1)), mass=1e4, position=(0, 0, 1), restitution=0.5)
    scene = topple.Scene(bodies=[board, block])
    trajectory = topple.simulate(scene, seconds=2.0)
    figure("height", abs(trajectory.position[-1, 1, 2] - 0.5), 1e-4, "m")
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-4, "m")
    assert not trajectory.report.warnings
