"""The scenes of the papers by the analytic solver: all forces are found, nothing overlaps at any event."""

import numpy as np
import pytest
import scenes
import topple
from scenes.meshes import grid, on_mesh
from topple.solvers import analytic_impacts, analytic_rest

SOFT = 1e-7  # of the scaled A, whose diagonal is 1: makes the quadratic programs strictly convex
PROXIMAL_STEPS = 5  # each of which takes all but 1e-4 of what that changes back, where A is not singular

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


def recorded_solves(monkeypatch):
    """Lists that all systems with inequalities are added to: (A, b, f) of LCPs, and with friction."""
    smooth, rough = [], []
    solve_lcp, solve_cone = analytic_rest.solve_lcp, analytic_rest.solve_cone

    def watched_lcp(A, b, *, free=None, guess=None):
        solution = solve_lcp(A, b, free=free, guess=guess)
        if free is None and b.any():
            smooth.append((A, b.copy(), solution.f))
        return solution

    def watched_cone(A, b, friction, *, slip=None, slips=None, guess=None):
        solution = solve_cone(A, b, friction, slip=slip, slips=slips, guess=guess)
        if b.any():
            slip = np.zeros((len(b), 2)) if slip is None else slip
            rough.append((A, b.copy(), friction, slip, slip.any(axis=1), solution.f))
        return solution

    for module in (analytic_rest, analytic_impacts):
        monkeypatch.setattr(module, "solve_lcp", watched_lcp)
        monkeypatch.setattr(module, "solve_cone", watched_cone)
    return smooth, rough


def scaled(A, b, f):
    """A, b and f with a unit mean diagonal of each contact and a unit load, as vectors."""
    scale = np.repeat(1.0 / np.sqrt(A.diagonal().reshape(len(b), -1).mean(axis=1)), b[0].size)
    load = np.abs(scale * b.ravel()).max()
    return A * scale[:, None] * scale, scale * b.ravel() / load, f.ravel() / scale / load


def effect_by_program(A, b, low, high):
    """A x + b at the least of x'A x / 2 + b'x with low <= x <= high, by daqp, an active set method."""
    daqp = pytest.importorskip("daqp")
    soft = np.ascontiguousarray(A + SOFT * np.eye(len(b)))
    fixed = np.where(low == high, 5, 0).astype(np.intc)  # daqp's mark of an equality
    x = np.zeros(len(b))
    for _ in range(PROXIMAL_STEPS):
        x, _, status, _ = daqp.solve(
            soft, b - SOFT * x, np.zeros((0, len(b))), high, low, fixed, primal_tol=1e-11
        )
        assert status == 1
    return A @ x + b


def cone_errors(A, b, friction, slip, slips, f):
    """Violation of the conditions of `friction_cone.py` at f, and how far A f + b is from a program's.

    Given mu f_n and what slips, friction at rest is the least of f'A f / 2 + b'f over f_n >= 0 and the discs
    |f_t| <= mu f_n. In place of each disc the program has a square around it, one side of which touches it in
    the direction of f_t - w_t: what is best in the square and lies in the disc is best in the disc.
    """
    A, b, x = scaled(A, b, f)
    m, w, x3 = len(friction), A @ x + b, x.reshape(-1, 3)
    wanted = x3 - w.reshape(-1, 3)
    wanted[:, 0] = np.maximum(wanted[:, 0], 0.0)
    limit = friction * wanted[:, 0]
    size = np.linalg.norm(wanted[:, 1:], axis=1)
    wanted[:, 1:] *= np.where(size > limit, limit / np.where(size > 0.0, size, 1.0), 1.0)[:, None]
    wanted[slips, 1:] = -limit[slips, None] * slip[slips]
    turn = np.zeros((3 * m, 3 * m))
    limit = friction * x3[:, 0]
    for i, (_, t1, t2) in enumerate(x3 - w.reshape(-1, 3)):
        c, s = (t1, t2) / np.hypot(t1, t2) if t1 or t2 else (1.0, 0.0)
        turn[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = [[1, 0, 0], [0, c, s], [0, -s, c]]
    x = turn @ x
    high = np.column_stack([np.full(m, 1e30), limit, limit]).ravel()
    low = np.where(high == 1e30, 0.0, -high)
    for given in (3 * np.flatnonzero(slips)[:, None] + [1, 2]).ravel():
        low[given] = high[given] = x[given]
    effect = effect_by_program(turn @ A @ turn.T, turn @ b, low, high)
    return np.abs(x3 - wanted).max(), np.abs(turn.T @ effect - w).max()


@pytest.mark.parametrize("name", SCENES)
def test_forces_of_the_papers_do_what_programs_say(name, figure, monkeypatch):
    """Analytic, scenes of the papers: every solve against its conditions and a quadratic program."""
    smooth, rough = recorded_solves(monkeypatch)
    build, seconds = SCENES[name]
    topple.simulate(build(), seconds=seconds, solver=topple.AnalyticSolver(impact="simultaneous"))
    errors = [(0.0, 0.0)]
    for A, b, f in smooth:
        A, b, f = scaled(A, b, f)
        w = A @ f + b
        effect = effect_by_program(A, b, np.zeros(len(b)), np.full(len(b), 1e30))
        errors.append((np.abs(np.minimum(f, w)).max(), np.abs(effect - w).max()))
    errors += [cone_errors(*system) for system in rough]
    assert len(errors) > 1
    residual, effect = np.max(errors, axis=0)
    figure(f"{name}: natural map of the worst of {len(errors) - 1}, relative", residual, 1e-10)
    figure(f"{name}: A f against the program, relative", effect, 1e-9)


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
