"""Energy and momentum against closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple import Body, Box, Plane, Scene, Simulation, Sphere
from topple.diagnostics import (
    angular_momentum,
    centers_of_mass,
    kinetic_energy,
    linear_momentum,
    potential_energy,
    rotation_matrices,
    total_energy,
)


def states_of(scene: Scene) -> SimpleNamespace:
    fields = ("position", "orientation", "linear_velocity", "angular_velocity")
    return SimpleNamespace(**{f: np.array([getattr(body, f) for body in scene.bodies]) for f in fields})


def test_rotation_matrices_agree_with_scipy():
    quaternions = Rotation.random(20, random_state=3).as_quat()
    expected = Rotation.from_quat(quaternions).as_matrix()
    np.testing.assert_allclose(rotation_matrices(np.roll(quaternions, 1, axis=1)), expected, atol=1e-15)


def test_rolling_sphere():
    # T = m v^2 / 2 + (2/5 m r^2) (v/r)^2 / 2 = 7/10 m v^2;  U = m g h
    scene = Scene(gravity=(0, 0, -10))
    scene.add(Body("floor", Plane((0, 0, 1), 0), kind="static"))
    scene.add(
        Body(
            "ball",
            Sphere(0.5),
            mass=2,
            position=(0, 0, 0.5),
            linear_velocity=(3, 0, 0),
            angular_velocity=(0, 6, 0),
        )
    )
    states = states_of(scene)
    assert kinetic_energy(scene, states) == pytest.approx(0.7 * 2 * 9)
    assert potential_energy(scene, states) == pytest.approx(2 * 10 * 0.5)
    assert total_energy(scene, states) == pytest.approx(22.6)
    np.testing.assert_allclose(linear_momentum(scene, states), (6, 0, 0))
    # L = p x m v + I w = (0.5 * 6 + 0.2 * 6) y
    np.testing.assert_allclose(angular_momentum(scene, states), (0, 4.2, 0), atol=1e-15)


def test_energy_uses_the_centre_of_mass_not_the_origin():
    turned = (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0)  # 90 degrees about y: x becomes -z
    body = Body("b", Box((1, 1, 1)), mass=1, center_of_mass=(2, 0, 0), position=(0, 0, 5), orientation=turned)
    scene = Scene(gravity=(0, 0, -10), bodies=[body])
    np.testing.assert_allclose(centers_of_mass(scene, states_of(scene)), [[0, 0, 3]], atol=1e-15)
    assert potential_energy(scene, states_of(scene)) == pytest.approx(30)


def test_spin_energy_of_a_turned_box():
    # Spin about the body's own z axis, wherever that points: T = I_zz w^2 / 2
    rotation = Rotation.random(random_state=1)
    w_WB = rotation.apply((0, 0, 3.0))
    orientation = np.roll(rotation.as_quat(), 1)
    body = Body("b", Box((1, 2, 3)), mass=12, orientation=orientation, angular_velocity=w_WB)
    scene = Scene(bodies=[body])
    moment = 12 / 12 * (1 + 4)
    assert kinetic_energy(scene, states_of(scene)) == pytest.approx(moment * 9 / 2)
    np.testing.assert_allclose(angular_momentum(scene, states_of(scene)), moment * w_WB)


def test_frames_are_kept_apart():
    scene = Scene(gravity=(0, 0, -10), bodies=[Body("b", Sphere(1), mass=1)])
    states = states_of(scene)
    for name, value in vars(states).items():
        setattr(states, name, np.stack([value, value]))
    states.position = np.array([[[0, 0, 1.0]], [[0, 0, 4.0]]])
    np.testing.assert_allclose(total_energy(scene, states), (10, 40))


def test_only_bodies_that_forces_move_count():
    driven = {"kind": "kinematic", "mass": 1, "position": (0, 0, 1)}
    for values, expected in (({}, 0.0), ({"release_time": 1.0}, 10.0)):
        scene = Scene(gravity=(0, 0, -10), bodies=[Body("arm", Box((1, 1, 1)), **driven, **values)])
        assert total_energy(scene, states_of(scene)) == pytest.approx(expected)


def driven_and_free_bodies() -> Scene:
    """A box whose centre of mass is off its own, one with locks, one let go on its way, one only carried."""
    times = np.linspace(0.0, 1.0, 25)
    half = 0.5 * times  # turns of 1 rad/s about x
    turning = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=1)
    path = times, np.stack([4 + times, 0 * times, 3 + 0 * times], axis=1), turning
    turned = np.roll(Rotation.random(random_state=2).as_quat(), 1)
    box = Box((0.4, 0.6, 0.9))
    return Scene(
        bodies=[
            Body("z free", box, center_of_mass=(0.1, 0, 0.2), position=(0, 0, 1.2), orientation=turned,
                 linear_velocity=(1, 0, 0), angular_velocity=(1, 2, 3)),
            Body("locked", box, position=(2, 0, 2), orientation=turned, lock_angular=(True, False, False),
                 lock_linear=(False, True, False), angular_velocity=(0, 2, 3)),
            Body("released", box, kind="kinematic", motion=path, release_time=0.25),
            Body("carried", box, kind="kinematic", motion=(times, path[1] + (0, 4, 0), turning)),
            Body("floor", Plane((0, 0, 1), 0), kind="static"),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("solver", ["impulse", "analytic"])
def test_energy_of_a_simulation_is_that_of_its_states(solver):
    scene = driven_and_free_bodies()
    simulation = Simulation(scene, solver)
    for _ in range(7):  # the release and the first impact are within
        expected = total_energy(scene, simulation.state)
        assert simulation.energy() == pytest.approx(expected, rel=1e-13)  # a few hundred sums of round-off
        simulation.advance(1 / 12)
    assert simulation.events
