"""How a body turns that is struck twice within a step, against Euler's equations to round-off."""

import numpy as np
import pytest
from oracle.test_free_rotation import H, turn_by_integration
from scipy.spatial.transform import Rotation
from topple import Body, Box, Scene
from topple.dynamics.body_state import body_masses, build_bodies, gravity_of, initial_state
from topple.dynamics.motion import empty_plan, plan_free_motion, update_all_derived
from topple.jit import kernel
from topple.solvers.collision_motion import _turn_body, begin_motion, empty_motion, end_turn


@kernel
def begin(plan, motion):
    """Begin the step."""
    begin_motion(plan, motion)


@kernel
def turn_to(model, state, masses, plan, time, h, motion):
    """Follow the only body to a time in the step."""
    _turn_body(model, state, masses, plan, 0, time, h, motion)


@kernel
def end(model, state, plan, h, motion):
    """Plan its turn in the whole step."""
    end_turn(model, state, plan, 0, h, motion)


def planned(rng, angle):
    """A box at random that turns by an angle in a step, planned as if it flew freely."""
    q, w = rng.normal(size=4), rng.normal(size=3)
    body = Body(
        "box", Box((0.3, 0.2, 0.1)), mass=1.0, orientation=tuple(q / np.linalg.norm(q)),
        angular_velocity=tuple(w * angle / (H * np.linalg.norm(w))),
    )  # fmt: skip
    scene = Scene(gravity=(0.0, 0.0, -9.81), bodies=[body])
    model, _, _, _, order = build_bodies(scene)
    state, plan = initial_state(scene, order, model), empty_plan(1)
    update_all_derived(model, state)
    plan_free_motion(model, state, gravity_of(scene, scene.bodies), H, plan)
    return model, state, plan


def turned(then, L, moments, seconds):
    """A free body's orientation after some time, and its angular velocity."""
    if seconds > 0.0:
        turn = turn_by_integration(then.as_quat(scalar_first=True), L, moments, seconds)
        then = Rotation.from_rotvec(turn) * then
    return then, then.apply(then.inv().apply(L) / moments)


@pytest.mark.parametrize("angle", [0.06, 0.2, 0.6])
@pytest.mark.parametrize(
    "looks", [[(0.0, True), (0.4, True)], [(0.3, True), (0.3, True)], [(0.9, False), (0.2, True)]]
)
def test_struck_within_a_step(looks, angle):
    """Angular velocity where a body is struck, and its turn in the step, to the error of free rotations.

    What was looked at and is no blow leaves nothing behind, though it be later than the next.
    """
    rng = np.random.default_rng(3)
    for _ in range(3):
        model, state, plan = planned(rng, angle)
        motion = empty_motion(body_masses(model, state), np.zeros((1, 6)), np.zeros((1, 6)))
        first = then = Rotation.from_quat(state.q[0], scalar_first=True)
        L, moments, at = state.L[0].copy(), model.inertia[0], 0.0
        begin(plan, motion)
        for part, is_blow in looks:
            turn_to(model, state, body_masses(model, state), plan, part * H, H, motion)
            here, w = turned(then, L, moments, (part - at) * H)
            even = plan.change[0, 3:] * part
            assert np.abs(H * (motion.velocity[0, 3:] + motion.beyond[0] + even - w)).max() < 1e-8
            if is_blow:
                blow = 0.3 * np.linalg.norm(L) * rng.normal(size=3)
                change = motion.colliding.inv_I[0].reshape(3, 3) @ blow
                assert np.abs(H * (change - here.apply(here.inv().apply(blow) / moments))).max() < 1e-8
                motion.velocity[0, 3:] += change
                motion.offset[0, 3:] -= part * H * change
                motion.time[0], then, L, at = part * H, here, L + blow, part
        plan.mean[0, 3:] += motion.velocity[0, 3:] - plan.start[0, 3:] + motion.offset[0, 3:] / H
        straight = H * plan.mean[0, 3:]
        end(model, state, plan, H, motion)
        exact = (turned(then, L, moments, (1.0 - at) * H)[0] * first.inv()).as_rotvec()
        off = np.linalg.norm(H * plan.mean[0, 3:] - exact)
        assert off < 1e-8
        assert np.linalg.norm(straight - exact) > 100.0 * off
