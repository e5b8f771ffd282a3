"""The analytic solver against laws that hold whatever the scene: energy, symmetry, scale, no way through."""

import time

import numpy as np
import pytest
import scenes
import topple
from topple.compilation import compile_kernels
from topple.diagnostics import kinetic_energy, total_energy
from topple.solvers.analytic import AnalyticPipeline, AnalyticSolver, build_pipeline
from topple.solvers.analytic_contacts import build_system, relative_acceleration
from topple.solvers.lcp import part_of, solve_lcp

G = 9.81


def analytic(scene, seconds, fps=24, **settings):
    return topple.simulate(scene, seconds=seconds, fps=fps, solver=AnalyticSolver(**settings))


def cage(bodies):
    """Bodies that fly about between six frictionless walls with e = 1, without gravity."""
    scene = topple.Scene(gravity=(0.0, 0.0, 0.0))
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            name = f"wall_{axis}_{int(sign > 0)}"
            wall = topple.Plane(tuple(normal), -1.0)
            scene.add(topple.Body(name, wall, kind="static", restitution=1.0, friction=0.0))
    random = np.random.default_rng(7)
    for i, shape in enumerate(bodies):
        place = [-0.5 + 0.5 * (i % 3), -0.4 + 0.4 * (i // 3), 0.1 * i]
        scene.add(
            topple.Body(
                f"body_{i}", shape, mass=1.0 + i, position=place, restitution=1.0, friction=0.0,
                linear_velocity=2.0 * random.normal(size=3), angular_velocity=3.0 * random.normal(size=3),
            )
        )  # fmt: skip
    return scene


CAGES = {
    "balls": [topple.Sphere(0.15)] * 5,
    "boxes": [topple.Box((0.3, 0.2, 0.25))] * 3,
    "rocks": [topple.ConvexHull(0.12 * np.random.default_rng(k).normal(size=(12, 3))) for k in range(3)],
    "capsules": [topple.Capsule(0.08, 0.2)] * 3,
    "cylinders": [topple.Cylinder(0.1, 0.2)] * 2,
    "cones": [topple.Cone(0.12, 0.25)] * 2,
}


@pytest.mark.parametrize("name", CAGES)
def test_energy_over_a_hundred_collisions(name, figure):
    """Analytic: without friction and with e = 1 energy is kept to 1e-10 over 100 collisions, any shapes."""
    simulation = topple.Simulation(cage(CAGES[name]), "analytic")
    start, worst = simulation.energy(), 0.0
    while len(simulation.events) < 100:
        simulation.advance(0.25)
        worst = max(worst, abs(simulation.energy() / start - 1.0))
    figure(f"{name}: energy, relative", worst, 1e-10)


@pytest.mark.parametrize("impact", ["sequential", "simultaneous"])
def test_no_event_makes_energy(impact, figure, monkeypatch):
    """Analytic: with friction or e < 1 the energy never rises by more than 1e-12 relative in an event."""
    rises = []
    resolve = AnalyticPipeline.resolve_collisions

    def watched(pipeline):
        energies = []
        for stage in (lambda p: None, resolve):
            stage(pipeline)
            s = pipeline.state
            moves = np.isfinite(pipeline.model.mass) & (pipeline.model.kind == 2)
            linear = 0.5 * pipeline.model.mass * (s.v**2).sum(axis=1)
            energies.append(float((linear + 0.5 * (s.L * s.w).sum(axis=1))[moves].sum()))
        if energies[0] > 0.0:
            rises.append(energies[1] / energies[0] - 1.0)

    monkeypatch.setattr(AnalyticPipeline, "resolve_collisions", watched)
    scene = topple.Scene(gravity=(0.0, 0.0, -G))
    scene.add(scenes.ground.plane(friction=0.6, restitution=0.7))
    for i in range(3):
        scene.add(
            topple.Body(
                f"box_{i}", topple.Box((0.5, 0.4, 0.3)), mass=1.0 + i, position=(0.1 * i, 0.0, 0.6 + 0.7 * i),
                orientation=(0.9, 0.3, 0.2 * i, 0.1), angular_velocity=(1.0, i, 3.0), restitution=0.7,
                friction=0.5,
            )
        )  # fmt: skip
    trajectory = analytic(scene, 0.6, impact=impact)
    assert len(trajectory.events) >= 10
    figure("rise of energy in an event, relative", max(0.0, *rises), 1e-12)
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-5, "m")


@pytest.mark.parametrize("speed", [5.0, 20.0, 60.0, 1000.0])
def test_no_way_through(speed, figure):
    """Analytic: a 10 cm cube thrown at a plate of 2 cm bounces in front of it."""
    scene = topple.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(topple.Body("plate", topple.Box((0.02, 2.0, 2.0)), kind="static", restitution=0.5))
    scene.add(
        topple.Body(
            "cube", topple.Box((0.1, 0.1, 0.1)), mass=1.0, position=(-2.0, 0.0, 0.0), restitution=0.5,
            orientation=(0.9, 0.1, 0.2, 0.3), linear_velocity=(speed, 0.0, 0.0), friction=0.0,
        )
    )  # fmt: skip
    trajectory = analytic(scene, 1.0, fps=48)
    cube = trajectory.names.index("cube")
    assert trajectory.position[-1, cube, 0] < -0.05
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-5, "m")
    energy = kinetic_energy(scene, trajectory)
    figure("rise of energy, relative", max(np.diff(energy).max() / energy[0], 0.0), 1e-12)


@pytest.mark.parametrize(("moments", "spin"), [((1, 10, 11), (0, 2, 1e-4)), ((1, 2, 3), (0.01, 1, 0.01))])
def test_free_tops(moments, spin, figure):
    """Analytic: a free body keeps L to 1e-13 and energy to 1e-6 over 90 s, also while it tumbles."""
    scene = scenes.spinning_body(moments, spin)
    simulation = topple.Simulation(scene, "analytic")
    pipeline = simulation._pipeline
    L, energy = pipeline.state.L[0].copy(), simulation.energy()
    worst, change = 0.0, 0.0
    for _ in range(360):
        simulation.advance(0.25)
        worst = max(worst, abs(simulation.energy() / energy - 1.0))
        change = max(change, np.linalg.norm(pipeline.state.L[0] - L) / np.linalg.norm(L))
    figure("angular momentum, relative", change, 1e-13)
    figure("energy, relative", worst, 1e-6)


@pytest.mark.parametrize("moments", [(1, 10, 11), (1, 2, 3), (0.01, 1, 1.005), (1, 1.01, 2), (1, 1, 2)])
def test_tumbling_flight(moments, figure):
    """Analytic: a flight changes the energy of a body that tumbles by 1e-12 at most: a hundred by 1e-10."""
    simulation = topple.Simulation(scenes.spinning_body(moments, (0.3, 0.9, 0.4)), "analytic")
    last, worst = simulation.energy(), 0.0
    for _ in range(16):
        simulation.advance(0.25)
        worst, last = max(worst, abs(simulation.energy() / last - 1.0)), simulation.energy()
    figure("energy in a flight of .25 s, relative", worst, 1e-12)


def wall_system(rows, columns):
    """A and b of the normals of a wall of bricks at rest."""
    compile_kernels("analytic")
    pipeline, _ = build_pipeline(scenes.brick_wall(rows, columns), AnalyticSolver())
    pipeline.start()
    contacts = pipeline.contacts
    a, alpha, _ = pipeline.mover.free_acceleration(pipeline.state, 0.0)
    b = relative_acceleration(contacts, pipeline.state, a, alpha)[:, 0]
    A = build_system(contacts, pipeline.model, pipeline.state)
    return part_of(A, np.arange(0, 3 * len(b), 3)), b


def test_four_hundred_contacts(figure):
    """Analytic: 400 contacts in one island are solved in under 50 ms, to a residual of 1e-10."""
    A, b = wall_system(6, 7)
    keep = np.arange(400)
    A, b = part_of(A, keep), b[keep]
    solve_lcp(A, b)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        solution = solve_lcp(A, b)
        seconds.append(time.perf_counter() - begin)
    figure("best of five", 1e3 * min(seconds), 50.0, "ms")
    figure("residual, relative", solution.residual, 1e-10)


@pytest.mark.slow
def test_two_thousand_contacts(figure):
    """Analytic: more than 2000 contacts in one island are solved to a residual of 1e-10."""
    A, b = wall_system(14, 16)
    assert len(b) >= 2000
    figure("residual, relative", solve_lcp(A, b).residual, 1e-10)


def test_forces_do_what_the_quadratic_program_says(figure):
    """Analytic: A f is that of min f'A f / 2 + b'f, f >= 0, for a wall of bricks: Gauss's least constraint.

    Its dual is min |y - c|^2 / 2 with G y >= 0, for A = G G' and b = G c, which has one solution; by daqp, an
    active set method. Interior point methods stop at 1e-3 here, as too many forces do.
    """
    daqp = pytest.importorskip("daqp")
    A, b = wall_system(3, 4)
    dense = A if isinstance(A, np.ndarray) else A.toarray()
    m, load = len(b), np.abs(b).max()
    values, vectors = np.linalg.eigh(dense)
    kept = values > 1e-10 * values.max()
    G_ = np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))
    c = np.linalg.lstsq(G_, b, rcond=None)[0]
    assert np.abs(G_ @ c - b).max() < 1e-12 * load
    y, _, status, _ = daqp.solve(
        np.eye(len(c)), -c, G_, np.full(m, 1e30), np.zeros(m), np.zeros(m, dtype=np.intc)
    )
    assert status == 1
    figure("A f over |b|", np.abs(G_ @ y - (A @ solve_lcp(A, b).f + b)).max() / load, 1e-9)


def test_linear_programs_count_their_wrong_guesses(figure):
    """Analytic: contact="lp" says how often its guess of the vanishing contacts was wrong; forces agree."""
    ends = []
    for contact in ("lp", "lcp"):
        trajectory = analytic(scenes.overbalanced_stack(), 0.1, contact=contact)
        ends.append(trajectory.position[-1])
        frictionless = analytic(scenes.table(friction=0.0), 0.1, contact=contact)
        if contact == "lp":
            # The table stands on four legs that all carry: the first guess, that none vanishes, is right.
            figure("wrong guesses, table", frictionless.report.solves["wrong_guesses"], 0)
    figure("overbalanced stack, lp against lcp", np.abs(ends[0] - ends[1]).max(), 1e-8, "m")


def test_energy_of_simulation_is_that_of_its_trajectory(figure):
    """Analytic: `Simulation.energy` and `diagnostics.total_energy` agree."""
    scene = scenes.bouncing_ball(restitution=0.5)
    simulation = topple.Simulation(scene, "analytic")
    simulation.advance(0.5)
    expected = total_energy(scene, analytic(scene, 0.5, fps=2))[-1]
    figure("energy, relative", simulation.energy() / expected - 1.0, 1e-12)
