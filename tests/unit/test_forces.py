"""Forces of a scene: what they do, how they are saved, what is refused."""

import numpy as np
import pytest
import topple
from topple.diagnostics import spring_energy
from topple.dynamics.motion import move_bodies

BALL = topple.Sphere(0.1)


def space(*bodies, forces=()):
    return topple.Scene(gravity=(0, 0, 0), bodies=bodies, forces=forces)


@pytest.fixture(params=["impulse", "analytic"])
def end(request):
    """Simulates a scene by either solver."""
    return lambda scene, seconds=1.0: topple.simulate(scene, seconds=seconds, fps=24, solver=request.param)


def test_spring_oscillator(end):
    """x = cos(sqrt(k / m) t) for a mass on a spring of no length; energy is kept to the integrator's 1e-8."""
    spring = topple.Spring(body_a="ball", stiffness=40.0)
    trajectory = end(space(topple.Body("ball", BALL, mass=2.0, position=(1, 0, 0)), forces=[spring]))
    expected = np.cos(np.sqrt(20.0) * trajectory.times)
    np.testing.assert_allclose(trajectory.position[:, 0, 0], expected, atol=1e-7)


def test_spring_between_bodies_keeps_momentum(end):
    """Two balls on a spring: linear and angular momentum stay; the points are off the centres."""
    bodies = [
        topple.Body("a", topple.Box((1, 1, 1)), mass=1.0, position=(-1, 0, 0), angular_velocity=(0.5, 1, 2)),
        topple.Body("b", topple.Box((1, 1, 1)), mass=3.0, position=(1.5, 0, 0), linear_velocity=(0, 0.3, 0)),
    ]
    spring = topple.Spring(
        body_a="a",
        body_b="b",
        point_a=(0.2, 0.5, 0),
        point_b=(-0.1, 0, 0.5),
        stiffness=5.0,
        length=2.0,
        damping=0.2,
    )
    scene = space(*bodies, forces=[spring])
    trajectory = end(scene)
    from topple.diagnostics import angular_momentum, linear_momentum

    for momentum in (linear_momentum(scene, trajectory), angular_momentum(scene, trajectory)):
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-7)
    assert np.abs(trajectory.linear_velocity[-1, 0]).max() > 0.05


def test_energy_that_springs_store_in_a_step():
    """What the solver takes them to store is the difference of their energy before and after."""
    bodies = [topple.Body(name, BALL, mass=2.0, position=(x, 0, 0)) for name, x in (("a", 0), ("b", 1))]
    springs = [
        topple.Spring(body_a="a", point_a=(0.1, 0, 0.05), body_b="b", stiffness=50.0, length=0.3),
        topple.Spring(body_a="b", point_a=(0, 0.1, 0), point_b=(0, 2, 1), stiffness=8.0),
    ]
    scene, h = space(*bodies, forces=springs), 0.1
    simulation = topple.Simulation(scene)
    p = simulation._pipeline
    before = spring_energy(scene, simulation.state)
    p.plan.mean[:] = np.random.default_rng(4).normal(size=(2, 6))
    move_bodies(p.model, p.state, p.plan, p.gravity, h)
    stored = spring_energy(scene, simulation.state) - before
    assert abs(stored) > 0.1
    assert p.drive.stored(p.state, p.plan, h) == pytest.approx(stored, rel=1e-12)


def test_thruster_acts_in_body_axes_for_its_time(end):
    """F = 2 N for .5 s on 1 kg: .25 m at its end, then 1 m/s. The body is turned: it goes along +y."""
    quarter = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    thruster = topple.Thruster(body="ball", force=(2, 0, 0), end=0.5)
    trajectory = end(space(topple.Body("ball", BALL, mass=1.0, orientation=quarter), forces=[thruster]))
    np.testing.assert_allclose(trajectory.position[12, 0], [0, 0.25, 0], atol=1e-12)
    np.testing.assert_allclose(trajectory.position[-1, 0], [0, 0.75, 0], atol=1e-12)


def test_thruster_off_centre_turns(end):
    """Torque r x F: alpha = .1 * 1 / I with I = .4 * 1 * .01."""
    thruster = topple.Thruster(body="ball", force=(0, 1, 0), point=(0.1, 0, 0), end=0.01)
    trajectory = end(space(topple.Body("ball", BALL, mass=1.0), forces=[thruster]), 0.5)
    assert trajectory.angular_velocity[-1, 0, 2] == pytest.approx(0.1 * 0.01 / 0.004, rel=1e-3)


def test_uniform_field_is_gravity_for_some(end):
    """Named bodies fall, the others do not."""
    field = topple.UniformField(acceleration=(0, 0, -3), bodies=["b"])
    trajectory = end(
        space(topple.Body("a", BALL), topple.Body("b", BALL, position=(1, 0, 0)), forces=[field])
    )
    np.testing.assert_allclose(trajectory.position[-1, :, 2], [0, -1.5], atol=1e-12)


def test_viscous_drag(end):
    """v = v0 exp(-k t / m)."""
    drag = topple.ViscousDrag(linear=3.0, angular=0.004)
    ball = topple.Body("ball", BALL, mass=2.0, linear_velocity=(1, 0, 0), angular_velocity=(0, 0, 5))
    trajectory = end(space(ball, forces=[drag]))
    np.testing.assert_allclose(
        trajectory.linear_velocity[:, 0, 0], np.exp(-1.5 * trajectory.times), atol=1e-8
    )
    spin = 5 * np.exp(-0.004 / (0.4 * 2 * 0.01) * trajectory.times)
    np.testing.assert_allclose(trajectory.angular_velocity[:, 0, 2], spin, atol=1e-7)


def test_function_of_time(end):
    """m x'' = sin(2 t): v = (1 - cos(2 t)) / 2."""
    force = topple.CustomForce(body="ball", function=lambda t, motion: ((np.sin(2 * t), 0, 0), (0, 0, 0)))
    trajectory = end(space(topple.Body("ball", BALL, mass=1.0), forces=[force]))
    expected = 0.5 * (1 - np.cos(2 * trajectory.times))
    np.testing.assert_allclose(trajectory.linear_velocity[:, 0, 0], expected, atol=1e-8)


def test_function_that_returns_nan_keeps_what_was_computed(end):
    """The error names body and time and carries the frames before."""
    force = topple.CustomForce(
        body="ball", function=lambda t, motion: ((np.nan if t > 0.5 else 0, 0, 0), (0, 0, 0))
    )
    with pytest.raises(topple.SolverError, match=r"body 'ball' is not finite at 0\.5") as caught:
        end(space(topple.Body("ball", BALL, linear_velocity=(1, 0, 0)), forces=[force]))
    kept = caught.value.trajectory
    assert 10 <= len(kept.times) <= 13
    np.testing.assert_allclose(kept.position[:, 0, 0], kept.times, atol=1e-12)


def test_spring_too_stiff_to_be_followed(end):
    """It ends in an error, and does not take a billion steps of the integrator."""
    spring = topple.Spring(body_a="ball", point_a=(0, 0.05, 0), stiffness=1e17)
    with pytest.raises(topple.SolverError, match="change too fast to be followed"):
        end(space(topple.Body("ball", BALL, position=(0.5, 0, 0)), forces=[spring]))


def test_function_that_returns_no_vectors(end):
    force = topple.CustomForce(body="ball", function=lambda t, motion: 3.0)
    with pytest.raises(topple.SolverError, match="'ball' returned no"):
        end(space(topple.Body("ball", BALL), forces=[force]))


def test_saved_and_loaded(tmp_path):
    """Every describable force comes back equal; a function cannot be written."""
    forces = [
        topple.Thruster(body="a", force=(1, 0, 0), end=2.0),
        topple.Thruster(body="a", force=(1, 0, 0)),
        topple.Spring(body_a="a", body_b="b", stiffness=3, length=1),
        topple.UniformField(acceleration=(0, 0, -1), bodies=["a"]),
        topple.ViscousDrag(linear=1.0),
    ]
    scene = space(topple.Body("a", BALL), topple.Body("b", BALL, position=(1, 0, 0)), forces=forces)
    scene.save(tmp_path / "scene.json")
    assert topple.Scene.load(tmp_path / "scene.json").forces == forces
    scene.add(topple.CustomForce(body="a", function=lambda t, motion: ((0, 0, 0), (0, 0, 0))))
    with pytest.raises(topple.SceneError, match=r"body 'a'.*a file cannot hold"):
        scene.save(tmp_path / "scene.json")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: topple.Thruster(body="a", force=(1, 0)), "force of the thruster of 'a'"),
        (lambda: topple.Thruster(body="a", force=(1, 0, np.nan)), "three finite numbers"),
        (lambda: topple.Thruster(body="a", force=(1, 0, 0), start=2, end=1), "end of the thruster"),
        (lambda: topple.Spring(body_a="a", stiffness=-1), "stiffness of the spring of 'a'"),
        (lambda: topple.ViscousDrag(bodies="a"), "give a list of names"),
    ],
)
def test_refused(make, message):
    with pytest.raises(topple.SceneError, match=message):
        make()


def test_missing_body():
    scene = space(topple.Body("a", BALL))
    with pytest.raises(topple.SceneError, match="'b', which the scene does not have"):
        scene.add(topple.Thruster(body="b", force=(1, 0, 0)))
