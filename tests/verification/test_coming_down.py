"""What comes down in a step is known before it: how deep bodies are before positions are put right."""

import numpy as np
import pytest
import topple
from scenes.meshes import grid


def deepest_before_repair(scene, time_step, seconds):
    """The deepest overlap [m] that any step left to be put right; a result shows nothing of it."""
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=time_step))
    pipeline, worst = simulation._pipeline, 0.0
    move_apart = pipeline.move_apart

    def note(h):
        nonlocal worst
        worst = max(worst, -pipeline.contacts.separation[: pipeline.contact_count].min())
        move_apart(h)

    pipeline.move_apart = note
    simulation.advance(seconds)
    return worst


def thrown(name, shape, random, height, shift=0.0):
    """A body that is thrown and turns."""
    turn = random.normal(size=4)
    return topple.Body(
        name, shape, position=(shift, 0, height), orientation=turn / np.linalg.norm(turn),
        linear_velocity=random.normal(size=3), angular_velocity=5 * random.normal(size=3),
    )  # fmt: skip


@pytest.mark.parametrize("seed", [5, 10])
def test_splinter_on_a_box(seed, figure):
    """A splinter of stone comes down on a corner of none of the faces that it turned to the box before."""
    random = np.random.default_rng(seed)
    splinter = topple.ConvexHull(random.normal(size=(24, 3)) * (0.5, 0.1, 0.1))
    floor = topple.Body("floor", topple.Box((40, 40, 1)), kind="static", position=(0, 0, -0.5))
    scene = topple.Scene(bodies=[floor, thrown("splinter", splinter, random, 1.5)])
    figure("depth before positions are put right", deepest_before_repair(scene, 1 / 240, 2.0), 2e-4, "m")


@pytest.mark.parametrize("seed", [3, 11])
def test_plank_across_a_ridge(seed, figure):
    """A plank across the ridge of a mesh comes down on one slope with the corner that is over it.

    While it rocks about the ridge, triangles on either side have all the ridge under it for a contact.
    """
    random = np.random.default_rng(seed)
    ridge = topple.Mesh(*grid(4, 6.0, height=lambda x, y: -0.2 * np.abs(x)))
    plank = thrown("plank", topple.Box((0.5, 0.6, 0.2)), random, 1.2, shift=0.1)
    scene = topple.Scene(bodies=[topple.Body("ridge", ridge, kind="static"), plank])
    figure("depth before positions are put right", deepest_before_repair(scene, 1 / 240, 1.0), 1e-3, "m")


@pytest.mark.parametrize("spin", [(-8, 20, 1.7), (-10, 24, 1.7), (-10, 28.36, 8), (-12, 24, 1.7)])
def test_what_turns_fast_is_not_squeezed(spin, figure):
    """A capsule that spins and is hit: what turning takes from a gap is no overlap to be let in."""
    scene = topple.Scene(bodies=[topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static")])
    for name, shape, friction, position, turn, v, w in (
        ("capsule", topple.Capsule(0.0588694, 0.398313), 0.389, (1.4053, 0.558, 0.05943),
         (0.3957, -0.2717, -0.6528, -0.586), (1.914, 0.44, -0.01), spin),
        ("drum", topple.Cylinder(0.305054, 0.369734), 0.973, (1.0502, 0.4166, 0.2319),
         (0.0804, -0.3054, 0.9488, 0.0108), (3.465, 2.054, -0.398), (-9.88, 2.76, -2.5)),
    ):  # fmt: skip
        scene.add(
            topple.Body(
                name, shape, position=position, orientation=turn / np.linalg.norm(turn), friction=friction,
                linear_velocity=v, angular_velocity=w,
            )
        )  # fmt: skip
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=1 / 60))
    pipeline, predicted = simulation._pipeline, []
    end, h = pipeline._end_step, 1 / 60

    def note(*arguments):
        end(*arguments)
        contacts, mean = pipeline.contacts, pipeline.plan.mean
        for c in range(pipeline.contact_count):
            v = mean[contacts.body[c]]
            v = v[:, :3] + np.cross(v[:, 3:], contacts.arm[c])
            predicted.append(contacts.separation[c] + h * contacts.normal[c] @ (v[0] - v[1]))

    pipeline._end_step = note
    simulation.advance(h)
    assert len(predicted) > 2
    figure("predicted depth", -min(predicted), 2e-3, "m")
