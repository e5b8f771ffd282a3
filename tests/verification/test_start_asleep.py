"""Bodies that start asleep: they hang where they are until something that moves touches them."""

import numpy as np
import pytest
import topple

SOLVERS = ["impulse", "analytic"]
FLOOR = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static")


def ball(name, x, *, speed=0.0, asleep=False):
    return topple.Body(
        name, topple.Sphere(0.5), position=(x, 0, 0), linear_velocity=(speed, 0, 0), restitution=1.0,
        friction=0.0, asleep=asleep,
    )  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
def test_struck_like_one_that_is_awake(solver, figure):
    """Without gravity sleep makes no difference: a ball strikes a row of two that touch, e = 1."""
    ends = []
    for asleep in (False, True):
        bodies = [ball("a", -2.0, speed=2.0), ball("b", 0.0, asleep=asleep), ball("c", 1.0, asleep=asleep)]
        scene = topple.Scene(gravity=(0, 0, 0), bodies=bodies)
        trajectory = topple.simulate(scene, seconds=1.0, solver=solver)
        ends.append(trajectory.linear_velocity[-1, :, 0])
    figure(f"difference of the speeds, {solver}", np.abs(ends[0] - ends[1]).max(), 1e-12, "m/s")
    assert np.abs(ends[1]).max() > 1.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_hangs_until_touched(solver, figure):
    """Two boxes on each other hang in the air; a ball that falls on them wakes both, and all fall."""
    box = topple.Box((1.0, 1.0, 1.0))
    scene = topple.Scene(bodies=[
        FLOOR,
        topple.Body("lower", box, position=(0, 0, 3.0), asleep=True),
        topple.Body("upper", box, position=(0, 0, 4.0), asleep=True),
        topple.Body("apart", box, position=(5, 0, 3.0), asleep=True),
        topple.Body("ball", topple.Sphere(0.25), position=(0, 0, 6.0)),
    ])  # fmt: skip
    strikes = np.sqrt(2.0 * (6.0 - 0.25 - 4.5) / 9.81)  # 0.505 s
    trajectory = topple.simulate(scene, seconds=1.2, solver=solver)
    z = dict(zip(trajectory.names, trajectory.position[:, :, 2].T, strict=True))
    before = trajectory.times < strikes - 1.0 / 120.0
    after = trajectory.times > strikes + 1.0 / 24.0
    moved = max(np.ptp(z["lower"][before]), np.ptp(z["upper"][before]), np.ptp(z["apart"]))
    figure(f"moved while asleep, {solver}", moved, 1e-12, "m")
    assert (np.diff(z["lower"][after]) < 0.0).all()
    assert (z["upper"][after] < 4.0).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_forces_wake(solver, figure):
    """A thruster wakes what it acts on when it starts: x = a t^2 / 2, and gravity pulls from then on."""
    ball = topple.Body("ball", topple.Sphere(0.5), mass=2.0, position=(0, 0, 3.0), asleep=True)
    thruster = topple.Thruster(body="ball", force=(24.0, 0, 0), start=0.5)
    trajectory = topple.simulate(topple.Scene(bodies=[ball], forces=[thruster]), seconds=1.0, solver=solver)
    since = np.maximum(trajectory.times - 0.5, 0.0)[:, None]
    expected = np.array([0, 0, 3.0]) + 0.5 * np.array([12.0, 0, -9.81]) * since**2
    figure(f"place, {solver}", np.abs(trajectory.position[:, 0] - expected).max(), 1e-9, "m")


def test_animated_bodies_wake():
    """An animated body wakes what it pushes; one that stands still does not, nor does the floor."""
    box = topple.Box((1.0, 1.0, 1.0))
    path = [(-1, 0, 0.5), (-1, 0, 0.5), (0, 0, 0.5)]
    motion = [0.0, 0.5, 1.0], path, np.tile([1.0, 0.0, 0.0, 0.0], (3, 1))
    pusher = topple.Body("pusher", box, kind="kinematic", motion=motion)
    scene = topple.Scene(bodies=[FLOOR, pusher, topple.Body("box", box, position=(0, 0, 0.5), asleep=True)])
    trajectory = topple.simulate(scene, seconds=1.0)
    x = trajectory.position[:, trajectory.names.index("box"), 0]
    assert (x[trajectory.times < 0.49] == 0.0).all()
    assert x[-1] > 0.99


def test_snapshot_knows_who_sleeps():
    """Going back to before the blow puts the body to sleep again: the same bits the second time."""
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[ball("a", -2.0, speed=2.0), ball("b", 0.0, asleep=True)])
    simulation = topple.Simulation(scene)
    simulation.advance(0.25)
    snapshot = simulation.snapshot()
    ends = []
    for _ in range(2):
        simulation.advance(0.75)
        ends.append(simulation.state.position.copy())
        simulation.restore(snapshot)
    np.testing.assert_array_equal(ends[0], ends[1])
    assert ends[0][1, 0] > 0.5


def test_velocity_is_refused():
    with pytest.raises(topple.SceneError, match="starts asleep and takes no linear_velocity"):
        ball("a", 0.0, speed=1.0, asleep=True)
