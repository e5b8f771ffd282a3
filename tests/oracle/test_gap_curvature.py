"""How a gap curves as its bodies turn, against differences of the gap of two bodies that do."""

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation
from topple.collision.narrow_phase import CARRIED_BY_A, CARRIED_BY_B, CARRIED_BY_WORLD
from topple.jit import kernel
from topple.simulation import Simulation
from topple.solvers.impulse_contacts import gap_curvature

SHORT = 1e-3  # [s]


@kernel
def curvatures(masses, contacts, velocity, out):
    """Write the curvature of the gap of each contact."""
    for c in range(out.shape[0]):
        out[c] = gap_curvature(masses, contacts, c, velocity)


def gap_after(t, normal, arm, velocity, carrier):
    """The gap after the time t of steady motion, but for a constant: its bodies' points along the normal."""
    turned = [Rotation.from_rotvec(w[3:] * t) for w in velocity]
    if carrier != CARRIED_BY_WORLD:
        normal = turned[0 if carrier == CARRIED_BY_A else 1].apply(normal)
    ends = [v[:3] * t + q.apply(r) - r for v, q, r in zip(velocity, turned, arm, strict=True)]
    return normal @ (ends[0] - ends[1])


@pytest.mark.parametrize("carrier", [CARRIED_BY_A, CARRIED_BY_B, CARRIED_BY_WORLD])
def test_curvature_of_a_gap(carrier):
    scene = topple.Scene()
    scene.add(topple.Body("below", topple.Box((1.0, 1.2, 0.4)), position=(0.1, 0.2, 0.0)))
    scene.add(topple.Body("above", topple.Box((0.5, 0.6, 0.7)), position=(0.0, 0.0, 0.55)))
    pipeline = Simulation(scene, topple.ImpulseSolver())._pipeline
    pipeline.look_ahead(1e-3)
    pipeline.prepare_contacts(1e-3)
    contacts, count = pipeline.contacts, pipeline.contact_count
    assert count == 4
    contacts.carrier[:count] = carrier
    rng = np.random.default_rng(2)
    for _ in range(20):
        velocity, found = 4.0 * rng.normal(size=(2, 6)), np.zeros(count)
        curvatures(pipeline.masses, pipeline.geometry, velocity, found)
        for c in range(count):
            body, arm = contacts.body[c], pipeline.geometry.arm[c]
            of_pair = contacts.normal[c].copy(), arm.copy(), velocity[body], carrier
            before, after = gap_after(-SHORT, *of_pair), gap_after(SHORT, *of_pair)
            assert found[c] == pytest.approx((before + after) / SHORT**2, rel=1e-3, abs=1e-3)
