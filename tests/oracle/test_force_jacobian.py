"""The Jacobian of applied forces against differences of the forces themselves."""

import numpy as np
import pytest
import topple
from topple.dynamics.body_state import BodyState, build_bodies, initial_state, quat_multiply
from topple.dynamics.driven_bodies import place_bodies, write_rates
from topple.dynamics.force_jacobian import rates_jacobian, wrench_jacobian
from topple.dynamics.forces import AppliedForces
from topple.dynamics.integrators import difference_jacobian
from topple.dynamics.motion import update_all_derived
from topple.solvers.analytic_motion import copy_state

FORCES = {
    "spring": topple.Spring(
        body_a="a", body_b="b", point_a=(0.3, 0.2, 0.1), point_b=(-0.2, 0.4, 0), stiffness=70.0, length=0.4,
        damping=3.0,
    ),
    "spring to the world": topple.Spring(
        body_a="b", point_a=(0.1, 0.2, -0.4), point_b=(1, 1, 1), stiffness=20.0, damping=2.0
    ),
    "thruster": topple.Thruster(body="a", force=(1, 2, 3), point=(0.2, -0.4, 0.3)),
    "drag": topple.ViscousDrag(linear=2.0, angular=0.3, bodies=["b"]),
    "field": topple.UniformField(acceleration=(0, 1, -3)),
    "function": topple.CustomForce(
body="a",
        function=lambda t, m: (
            -2.0 * m.position - m.linear_velocity, m.orientation[1:] - m.angular_velocity,
        ),
    ),
}  # fmt: skip


def setup(*names):
    """Applied forces and a state of two boxes that move and turn."""
    bodies = [
        topple.Body(
            name, topple.Box((0.5, 0.7, 1.1)), mass=mass, position=place, orientation=turn,
            linear_velocity=(0.3, -0.2, 0.5), angular_velocity=spin, linear_damping=0.1, angular_damping=0.2,
        )
        for name, mass, place, turn, spin in (
            ("a", 2.0, (-1, 0.2, 0.1), (0.9, 0.1, 0.3, -0.2), (1, -2, 0.5)),
            ("b", 3.0, (1, -0.3, 0.4), (0.7, -0.5, 0.1, 0.4), (0.4, 1.5, -1)),
        )
    ]  # fmt: skip
    scene = topple.Scene(gravity=(0, 0, 0), bodies=bodies, forces=[FORCES[name] for name in names])
    model, *_, order = build_bodies(scene)
    state = initial_state(scene, order, model)
    update_all_derived(model, state)
    return AppliedForces(list(scene.forces), ["a", "b"], model), model, state


def moved(state, i, k, step):
    """The state with number k of body i varied: (dc, dtheta, dv, dw)."""
    later = BodyState(*(column.copy() for column in state))
    kind, axis = divmod(k, 3)
    if kind == 1:
        half = np.zeros((1, 4))
        half[0, 0], half[0, 1 + axis] = np.cos(step / 2), np.sin(step / 2)
        later.q[i] = quat_multiply(half, later.q[i][None])[0]
    else:
        {0: later.c, 2: later.v, 3: later.w}[kind][i, axis] += step
    return later


@pytest.mark.parametrize("name", FORCES)
def test_wrenches(name):
    """Central differences of h = 1e-5: error h^2 F''' = 1e-8 of forces of 100 N, round-off 1e-9."""
    forces, _, state = setup(name)
    found = wrench_jacobian(forces, state, 0.0)
    for i in range(2):
        for k in range(12):
            ends = [np.hstack(forces.wrench(moved(state, i, k, h), 0.0)).ravel() for h in (1e-5, -1e-5)]
            column = (found.of_place if k < 6 else found.of_velocity)[:, 6 * i + k % 6]
            np.testing.assert_allclose(column, (ends[0] - ends[1]) / 2e-5, atol=2e-6)


def test_rates_of_bodies():
    """The derivative of y' by y = (c, q, v, L), all forces and damping at once."""
    forces, model, state = setup(*FORCES)
    rows = np.arange(2)
    scratch = copy_state(state)

    def derivative(t, y):
        place_bodies(model, state, scratch, rows, y.reshape(-1, 13))
        force, torque = forces.wrench(scratch, t)
        rates = np.empty((2, 13))
        a = force * model.inv_mass - model.damping[:, :1] * scratch.v
        write_rates(scratch, rows, a, torque - model.damping[:, 1:] * scratch.L, rates)
        return rates.ravel()

    y = np.concatenate([np.zeros((2, 3)), state.q, state.v, state.L], axis=1).ravel()
    expected = difference_jacobian(derivative)(0.0, y)
    np.testing.assert_allclose(rates_jacobian(forces, state, 0.0, rows), expected, atol=1e-6)
