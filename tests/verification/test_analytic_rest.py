"""The analytic solver's contact forces and friction: closed forms, to round-off."""

import numpy as np
import pytest
import scenes
import topple
from topple.diagnostics import total_energy

G = 9.81


def analytic(scene, seconds, fps=24, **settings):
    return topple.simulate(scene, seconds=seconds, fps=fps, solver=topple.AnalyticSolver(**settings))


def force_between(simulation, upper, lower):
    """Sum of the contact forces on `upper` by `lower` [N]."""
    contacts = simulation.contacts
    names = [body.name for body in simulation.scene.bodies]
    a, b = names.index(upper), names.index(lower)
    on_a = contacts.force[(contacts.body_a == a) & (contacts.body_b == b)].sum(axis=0)
    return on_a - contacts.force[(contacts.body_a == b) & (contacts.body_b == a)].sum(axis=0)


@pytest.mark.parametrize("contact", ["lcp", "lp"])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_stack_forces(contact, friction, figure):
    """Analytic: 20 cubes: the k-th contact carries (N - k + 1) m g; exact to 1e-9, at rest for good."""
    simulation = topple.Simulation(
        scenes.stack(20, friction=friction), topple.AnalyticSolver(contact=contact)
    )
    weight = 1000.0 * G
    names = ["floor", *(f"cube_{k:03}" for k in range(20))]
    errors = [
        force_between(simulation, names[k], names[k - 1]) / weight - [0.0, 0.0, 21 - k] for k in range(1, 21)
    ]
    figure("forces over m g", np.abs(errors).max(), 1e-9)
    start = simulation.state.position
    simulation.advance(2.0)
    np.testing.assert_array_equal(simulation.state.position, start)


def test_heavy_on_light(figure):
    """Analytic: 10 cubes, the top one 10^4 times heavier, stand; the floor carries all, to 1e-9."""
    simulation = topple.Simulation(scenes.heavy_on_light(), "analytic")
    carried = force_between(simulation, "cube_000", "floor")[2] / (10009.0 * G)
    figure("weight carried, relative", carried - 1.0, 1e-9)
    start = simulation.state.position
    simulation.advance(1.0)
    figure("drift", np.abs(simulation.state.position - start).max(), 1e-4, "m")


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_table_with_four_legs(friction, figure):
    """Analytic: four legs are one too many for three equations: the weight is carried, no force pulls.

    Source: Baraff 1989, section 6 and appendix B (overdetermined systems).
    """
    simulation = topple.Simulation(scenes.table(friction=friction), "analytic")
    carried = force_between(simulation, "table", "floor") / G
    figure("weight carried", np.abs(carried - [0.0, 0.0, 25.0]).max(), 1e-9 * 25, "kg")
    contacts = simulation.contacts
    assert ((contacts.force * contacts.normal).sum(axis=1) >= 0.0).all()
    # Moments about the table's middle: the vase of 5 kg stands at (.4, .2).
    on_floor = contacts.body_a == 0
    lift = np.where(on_floor, -1.0, 1.0)[:, None] * contacts.force
    mine = on_floor | (contacts.body_b == 0)
    moment = np.cross(contacts.point[mine], lift[mine]).sum(axis=0) / (5.0 * G)
    figure("moment over m g", np.abs(moment[:2] - [0.2, -0.4]).max(), 1e-9, "m")


def test_brick_overhang(figure):
    """Analytic: four bricks stand with an overhang of 25/24 lengths, and fall a millionth beyond.

    Source: the harmonic series: the k-th brick from the top may reach 1 / (2 k) over the next.
    """
    standing = analytic(scenes.brick_overhang(), 1.0)
    figure("drift", np.abs(standing.position[-1] - standing.position[0]).max(), 1e-12, "m")
    falling = analytic(scenes.brick_overhang(beyond=1e-6), 0.25)
    assert falling.position[-1, -1, 2] < falling.position[0, -1, 2] - 1e-8


@pytest.mark.parametrize("friction", [0.1, 0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("degrees", [3, 10, 20, 30, 40])
def test_ramp(friction, degrees, figure):
    """Analytic: a block sticks if and only if angle < atan mu; else it slides with g (sin - mu cos).

    Sliding from rest: half the acceleration times t^2. The acceleration is constant, which integrators of
    second order and more follows to round-off.
    """
    angle = np.radians(degrees)
    trajectory = analytic(scenes.block_on_ramp(angle=angle, friction=friction), 0.25)
    block = trajectory.names.index("block")
    moved = np.linalg.norm(trajectory.position[-1, block] - trajectory.position[0, block])
    if np.tan(angle) < friction:
        figure("creep", moved, 1e-12, "m")
    else:
        acceleration = G * (np.sin(angle) - friction * np.cos(angle))
        figure("distance", moved - 0.5 * acceleration * 0.25**2, 1e-9, "m")


@pytest.mark.parametrize(("speed", "friction"), [(2.0, 0.2), (2.0, 0.4), (2.0, 0.7), (5.0, 0.5)])
@pytest.mark.parametrize("direction", [0.0, 0.3])
def test_stopping_distance(speed, friction, direction, figure):
    """Analytic: a block stops after v0^2 / (2 mu g), the same in every direction, and then stays."""
    scene = scenes.sliding_block(speed=speed, friction=friction, direction=direction)
    trajectory = analytic(scene, speed / (friction * G) + 0.25)
    block = trajectory.names.index("block")
    moved = np.linalg.norm(trajectory.position[-1, block] - trajectory.position[0, block])
    figure("distance", moved - speed**2 / (2 * friction * G), 1e-9, "m")
    np.testing.assert_array_equal(trajectory.linear_velocity[-1, block], 0.0)


def test_pool_ball(figure):
    """Analytic: rolls at 2 v0 / (7 mu g) = .291248 s, x = 12 v0^2 / (49 mu g) = .499282 m; 5/7 v0 then."""
    trajectory = analytic(scenes.pool_ball(), 1.0)
    ball = trajectory.names.index("ball")
    rolls, at, v = 2 * 2.0 / (7 * 0.2 * G), 12 * 4.0 / (49 * 0.2 * G), 5 / 7 * 2.0
    figure("velocity", np.abs(trajectory.linear_velocity[-1, ball] - [v, 0, 0]).max(), 1e-9, "m/s")
    figure("position", trajectory.position[-1, ball, 0] - (at + v * (1.0 - rolls)), 1e-9, "m")
    np.testing.assert_allclose(trajectory.angular_velocity[-1, ball, 1], v / 0.0286, rtol=1e-9)


@pytest.mark.parametrize(("force", "slides"), [(4.0, False), (8.0, True)])
def test_thruster_against_friction(force, slides, figure):
    """Analytic: a push F on a block with mu = .5 moves it with F/m - mu g if F > mu m g, else not."""
    trajectory = analytic(scenes.block_with_thruster(force=force), 0.5)
    block = trajectory.names.index("block")
    expected = 0.5 * (force - 0.5 * G) * 0.25 if slides else 0.0
    figure("distance", trajectory.position[-1, block, 0] - expected, 1e-9, "m")


def test_painleve_rod():
    """Analytic: no force satisfies all conditions for a rod that slides on its tip; an impulse ends the slip.

    Source: Painleve 1895; Stewart 2000, section 2: with mu = 2 at 63 degrees the tip jams at once.
    """
    scene = scenes.painleve_rod()
    trajectory = analytic(scene, 0.1)
    first = trajectory.events[0]
    assert first.kind == "impact without collision"
    assert first.time == 0.0
    assert first.impulse > 0.0
    assert trajectory.report.unresolved == []
    energy = total_energy(scene, trajectory)
    assert (np.diff(energy) <= 1e-9 * energy[0]).all()


def test_dominoes(figure):
    """Analytic: the row falls, stone after stone, each hit by the one before; no overlap, no energy made."""
    scene = scenes.dominoes(3)
    trajectory = analytic(scene, 1.0)
    energy = total_energy(scene, trajectory)
    figure("rise of energy, relative", max(np.diff(energy).max() / energy[0], 0.0), 1e-8)
    hits = [e for e in trajectory.events if {"domino_00", "domino_01"} == {e.body_a, e.body_b}]
    later = [e for e in trajectory.events if {"domino_01", "domino_02"} == {e.body_a, e.body_b}]
    assert 0.0 < hits[0].time < later[0].time
    middle = trajectory.position[:, :, 1][:, 1:]
    figure(
        "sideways", np.abs(middle).max(), 1e-6, "m"
    )  # mirror symmetry, which a sequence of points would break
    report = topple.verify(scene, trajectory)
    figure("penetration", report.max_penetration, 1e-5, "m")
    figure("residual of the worst solve, relative", trajectory.report.solves["worst_residual"], 1e-10)
    assert trajectory.report.solves["unsolved"] == 0


@pytest.mark.slow
def test_overbalanced_stack(figure):
    """Analytic: the upper bricks of an overbalanced stack tip, the lowest stays (Baraff 1989, figure 1)."""
    scene = scenes.overbalanced_stack()
    trajectory = analytic(scene, 0.3)
    energy = total_energy(scene, trajectory)
    figure("energy, relative", max(np.diff(energy).max() / energy[0], 0.0), 1e-8)
    top, bottom = trajectory.names.index("brick_4"), trajectory.names.index("brick_0")
    assert trajectory.position[-1, top, 2] < trajectory.position[0, top, 2] - 0.05
    np.testing.assert_allclose(trajectory.position[-1, bottom], trajectory.position[0, bottom], atol=1e-9)
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-5, "m")
    figure("residual of the worst solve, relative", trajectory.report.solves["worst_residual"], 1e-10)
    assert trajectory.report.solves["unsolved"] == 0
