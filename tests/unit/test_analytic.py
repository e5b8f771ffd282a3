"""The analytic solver's settings, errors, events and memory."""

import numpy as np
import pytest
import scenes
import topple


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must be a positive number"),
        ({"rtol": float("nan")}, "rtol must be a positive number"),
        ({"impact": "both"}, "impact must be one of 'sequential', 'simultaneous'"),
        ({"contact": "qp"}, "contact must be one of 'lcp', 'lp'"),
        ({"integrator": "verlet"}, "integrator must be one of"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(topple.SolverError, match=message):
        topple.AnalyticSolver(**settings)


def test_overlap_at_the_start_is_parted_and_named():
    """Two cubes that overlap by 30 %: named, moved apart at once, and without a velocity."""
    scene = scenes.overlapping_cubes()
    trajectory = topple.simulate(scene, seconds=0.25, solver="analytic")
    (warning,) = [w for w in trajectory.report.warnings if "overlap" in w]
    for body in scene.bodies:
        if body.kind == "dynamic":
            assert body.name in warning
    assert "t = 0 s" in warning
    assert np.abs(trajectory.linear_velocity[0]).max() < 1e-9
    assert topple.verify(scene, trajectory).max_penetration < 1e-5


def test_overlap_that_cannot_be_parted():
    """A ball between two walls that are nearer than its diameter: an error that names two of them."""
    scene = topple.Scene()
    scene.add(topple.Body("left", topple.Plane((1, 0, 0), -0.4), kind="static"))
    scene.add(topple.Body("right", topple.Plane((-1, 0, 0), -0.4), kind="static"))
    scene.add(topple.Body("ball", topple.Sphere(0.5)))
    with pytest.raises(
        topple.SolverError, match=r"'ball'.*overlap at the start .t = 0 s. and cannot be moved"
    ):
        topple.simulate(scene, frames=1, solver="analytic")


def test_too_many_events(monkeypatch):
    """A ball that rattles between two plates: the error names both, and the frames so far are kept."""
    monkeypatch.setattr("topple.solvers.analytic_guard.EVENTS_PER_SECOND", 200)
    scene = topple.Scene(gravity=(0, 0, 0))
    for name, normal, offset in (("left", (1, 0, 0), -0.1), ("right", (-1, 0, 0), -0.1)):
        scene.add(topple.Body(name, topple.Plane(normal, offset), kind="static", restitution=1.0))
    scene.add(topple.Body("ball", topple.Sphere(0.05), linear_velocity=(40, 0, 0), restitution=1.0))
    with pytest.raises(topple.SolverError, match=r"too many events at .* between 'ball' and") as caught:
        topple.simulate(scene, seconds=2.0, solver="analytic")
    assert len(caught.value.trajectory.times) >= 5


def ball_between(left, right, *, friction):
    """A ball without gravity, .4 m wide, that touches two animated boxes or will."""
    ball = topple.Body("ball", topple.Sphere(0.2), friction=friction)
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[ball])
    for name, motion in (("left", left), ("right", right)):
        box = topple.Box((0.2, 1, 1))
        scene.add(topple.Body(name, box, kind="kinematic", motion=motion, friction=friction))
    return scene


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("impact", ["sequential", "simultaneous"])
def test_impulses_that_do_not_exist(friction, impact):
    """Two boxes that close in on a ball: at .5 s nothing keeps them apart. The frames before are kept."""
    upright = [(1, 0, 0, 0)] * 2
    left, right = (([0, 1], [(0.5 * side, 0, 0), (0.1 * side, 0, 0)], upright) for side in (-1, 1))
    message = r"no impulses keep 'ball', 'left', 'right' apart at 0\.5 s"
    with pytest.raises(topple.SolverError, match=message) as caught:
        topple.simulate(
            ball_between(left, right, friction=friction), seconds=1.0, fps=50,
            solver=topple.AnalyticSolver(impact=impact),
        )  # fmt: skip
    kept = caught.value.trajectory
    assert len(kept.times) in (25, 26)
    np.testing.assert_allclose(kept.position[:, 1, 0], -0.5 + 0.4 * kept.times, atol=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_forces_that_do_not_exist(friction):
    """Two boxes that turn with a ball between: both faces come on at -(d + r) w^2, from rest: no force helps.

    A warning names all three at 0 s; then they get into each other, which is the error of the test above.
    """
    turn = [(1, 0, 0, 0), (np.cos(0.5), 0, 0, np.sin(0.5))]
    left, right = (([0, 1], [(0.3 * side, 0, 0)] * 2, turn) for side in (-1, 1))
    with pytest.raises(topple.SolverError, match="no impulses keep 'ball', 'left', 'right' apart") as caught:
        topple.simulate(
            ball_between(left, right, friction=friction), seconds=0.5, fps=1000, solver="analytic"
        )
    report = caught.value.trajectory.report
    message = "no contact forces were found at 0 s between 'ball', 'left', 'right'"
    assert any(message in warning for warning in report.warnings)
    assert {step["pair"] for step in report.unresolved} <= {("ball", "left"), ("ball", "right")}
    assert report.unresolved


def test_events_are_saved(tmp_path):
    """What happened when, between whom and with which impulse: m v (1 + e) of the first bounce."""
    trajectory = topple.simulate(scenes.bouncing_ball(restitution=0.5), seconds=0.6, solver="analytic")
    trajectory.save(tmp_path / "ball.npz")
    (event,) = topple.Trajectory.load(tmp_path / "ball.npz").events
    assert event == trajectory.events[0]
    assert {event.body_a, event.body_b} == {"ball", "plane"}
    assert event.kind == "collision"
    assert event.impulse == pytest.approx(np.sqrt(2 * 9.81) * 1.5)


def test_contact_force_is_reported():
    """`Simulation.contacts.force` carries the weight; the impulse solver reports none."""
    simulation = topple.Simulation(scenes.stack(1), "analytic")
    contacts = simulation.contacts
    lift = np.where(contacts.body_a == 1, 1.0, -1.0)[:, None] * contacts.force
    np.testing.assert_allclose(lift.sum(axis=0), [0, 0, 9810.0], atol=1e-6)
    assert not topple.Simulation(scenes.stack(1)).contacts.force.any()


def test_kinematic_platform_carries_a_box():
    """A platform that moves at .5 m/s takes the box on it along by friction, after slipping at mu g."""
    times, positions = [0.0, 2.0], [(0, 0, -0.05), (1.0, 0, -0.05)]
    orientations = [(1, 0, 0, 0)] * 2
    scene = topple.Scene()
    scene.add(
        topple.Body(
            "platform", topple.Box((6, 2, 0.1)), kind="kinematic", motion=(times, positions, orientations)
        )
    )
    scene.add(topple.Body("box", topple.Box((0.4, 0.4, 0.2)), mass=1.0, position=(0, 0, 0.1), friction=0.5))
    trajectory = topple.simulate(scene, seconds=1.0, solver="analytic")
    slips_for = 0.5 / (0.5 * 9.81)
    assert trajectory.linear_velocity[-1, 1, 0] == pytest.approx(0.5, abs=1e-9)
    assert trajectory.position[-1, 1, 0] == pytest.approx(0.5 * (1.0 - slips_for / 2), abs=1e-6)


def test_released_body_falls():
    """A kinematic ball that is let go at .5 s falls from there, from rest."""
    scene = topple.Scene()
    scene.add(topple.Body("ball", topple.Sphere(0.1), kind="kinematic", position=(0, 0, 5), release_time=0.5))
    trajectory = topple.simulate(scene, seconds=1.0, fps=100, solver="analytic")
    assert trajectory.position[50, 0, 2] == 5.0
    assert trajectory.position[-1, 0, 2] == pytest.approx(5.0 - 0.5 * 9.81 * 0.25, abs=1e-9)
