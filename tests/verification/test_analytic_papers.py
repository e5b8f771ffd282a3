"""The scenes of the papers by the analytic solver: all forces are found, nothing overlaps at any event."""

import numpy as np
import pytest
import scenes
import topple
from scenes.meshes import grid, on_mesh

SCENES = {
    "bricks that fall over": (lambda: scenes.overbalanced_stack(3), 0.3),
    "bricks with an overhang": (scenes.brick_overhang, 0.2),
    "two dominoes": (lambda: scenes.dominoes(2), 0.4),
    "bodies of figure 26": (scenes.contacts_of_all_kinds, 0.2),
    "three billiard balls": (scenes.billiard_balls, 0.6),
    "mass 9 onto mass 1": (lambda: scenes.heavy_onto_light(gap=0.1), 0.3),
    "a table with four legs": (lambda: scenes.table(friction=0.5), 0.2),
    "a block pushed by a thruster": (lambda: scenes.block_with_thruster(force=8.0), 0.5),
    "a block that a thruster leans": (lambda: scenes.block_with_thruster(force=8.0, height=0.4), 0.5),
}


def every_step(scene, seconds):
    """The states after each step of the solver, from event to event, as a trajectory; and the simulation."""
    simulation = topple.Simulation(scene, "analytic")
    pipeline, times, states = simulation._pipeline, [0.0], [simulation.state]
    while pipeline.time < seconds:
        pipeline.step(seconds)
        if pipeline.time > times[-1]:
            times.append(pipeline.time)
            states.append(simulation.state)
        else:  # the same moment, after a collision
            states[-1] = simulation.state
    columns = ("position", "orientation", "linear_velocity", "angular_velocity")
    arrays = [np.array([getattr(state, name) for state in states]) for name in columns]
    names = tuple(body.name for body in scene.bodies)
    return topple.Trajectory(np.array(times), *arrays, names), simulation


@pytest.mark.parametrize("name", SCENES)
def test_scenes_of_the_papers(name, figure):
    """Analytic, scenes of the papers: systems solved to 1e-10 of their load, no penetration at any event."""
    build, seconds = SCENES[name]
    trajectory, simulation = every_step(build(), seconds)
    solves = simulation.report.solves
    assert solves["unsolved"] == 0
    figure(f"{name}: residual of the worst solve, relative", solves["worst_residual"], 1e-10)
    found = topple.verify(simulation.scene, trajectory)
    figure(f"{name}: penetration", found.max_penetration, 1e-5, "m")


def test_rocking_block_is_captured(figure):
    """Analytic: a block dropped on an edge rocks ever faster and lower, without end: it comes to rest.

    Each impact at the other edge, e = 0, leaves 1 - 3/2 sin(a)^2 of the turning, a = atan(b/h) (Housner
    1963), so that endlessly many take a finite time; capture ends them after a few dozen.
    """
    breadth, height, tilt = 0.5, 1.0, 0.05
    z = 0.5 * breadth * np.sin(tilt) + 0.5 * height * np.cos(tilt)
    scene = topple.Scene(bodies=[scenes.ground.plane(friction=0.8)])
    scene.add(
        topple.Body(
            "block", topple.Box((breadth, 1.0, height)), mass=1.0, position=(0.0, 0.0, z), friction=0.8,
            orientation=(np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0),
        )
    )  # fmt: skip
    simulation = topple.Simulation(scene, "analytic")
    simulation.advance(4.0)
    assert 5 <= len(simulation.events) <= 200
    figure("speed at the end", np.abs(simulation.state.linear_velocity[1]).max(), 0.0, "m/s")
    figure("height at the end", simulation.state.position[1, 2] - 0.5 * height, 1e-8, "m")


def test_step_ends_where_slip_ends(figure):
    """Analytic: a step is cut where a block ceases to slip, after v / (mu g)."""
    simulation = topple.Simulation(scenes.sliding_block(speed=0.5, friction=0.4), "analytic")
    pipeline, ends = simulation._pipeline, []
    while pipeline.time < 0.3:
        pipeline.step(0.3)
        ends.append(pipeline.time)
    stop = 0.5 / (0.4 * 9.81)
    figure("end of a step", np.abs(np.array(ends) - stop).min(), 1e-9, "s")


@pytest.mark.parametrize("jitter", [0.0, 0.3])
def test_no_bump_on_a_flat_mesh(jitter, figure):
    """Analytic: a box slides over the inner edges of a flat mesh as over a plane: nothing hits it."""
    box = topple.Body(
        "box", topple.Box((0.4, 0.3, 0.2)), position=(-0.3, 0.05, 0.1), linear_velocity=(1.5, 0.2, 0.0)
    )
    mesh = topple.Mesh(*grid(10, 4.0, jitter=jitter, seed=3))
    simulation = topple.Simulation(on_mesh(mesh, box), "analytic")
    simulation.advance(0.4)
    assert not simulation.events
    way = (1.5**2 + 0.2**2) / (2.0 * 0.5 * 9.81) * np.array([1.5, 0.2]) / np.hypot(1.5, 0.2)
    figure("way", np.abs(simulation.state.position[1, :2] - [-0.3, 0.05] - way).max(), 1e-6, "m")
