"""The analytic solver's collisions: closed forms, to round-off."""

import numpy as np
import pytest
import scenes
import topple
from topple.diagnostics import kinetic_energy, total_energy
from topple.solvers.analytic import build_pipeline
from topple.solvers.analytic_contacts import build_system, frame_velocity
from topple.solvers.analytic_impacts import sequential_impulses

G = 9.81


def analytic(scene, seconds, fps=24, **settings):
    return topple.simulate(scene, seconds=seconds, fps=fps, solver=topple.AnalyticSolver(**settings))


@pytest.mark.parametrize(("restitution", "zeno_end"), [(0.5, 1.354571), (0.8, 4.063713), (0.9, 8.578949)])
def test_bouncing_ball(restitution, zeno_end, figure):
    """Analytic: the n-th impact is at sqrt(2 h / g) (1 + 2 (e + ... + e^(n-1))); then the ball rests.

    Source: v' = -e v (Newton). The first is at .4515236409857308 s, the 44th with e = .9 at 8.491374 s. Times
    to 1e-12: each is a root of a parabola found to round-off. The sequence is cut where a bounce is lower
    than 1e-8 m, about 9e-4 s before its end.
    """
    trajectory = analytic(scenes.bouncing_ball(restitution=restitution), zeno_end + 0.1)
    times = np.array([event.time for event in trajectory.events])
    terms = restitution ** np.arange(1, len(times))
    expected = np.sqrt(2.0 / G) * np.concatenate([[1.0], 1.0 + 2.0 * np.cumsum(terms)])
    assert len(times) >= {0.5: 13, 0.8: 41, 0.9: 80}[restitution]
    figure("times of impact", np.abs(times - expected).max(), 1e-12, "s")
    if restitution == 0.9:
        assert times[43] == pytest.approx(8.491374, abs=1e-6)
    assert zeno_end - 2e-3 < times[-1] < zeno_end
    ball = trajectory.names.index("ball")
    after = trajectory.times > zeno_end
    np.testing.assert_array_equal(trajectory.linear_velocity[after, ball], 0.0)
    figure("gap at rest", np.abs(trajectory.position[after, ball, 2] - 0.1).max(), 1e-8, "m")


def test_elastic_drop(figure):
    """Analytic: with e = 1 a ball dropped from 5 m comes back to 5 m for ever; 1e-10 after 100 bounces."""
    scene = scenes.bouncing_ball(height=4.9, restitution=1.0)
    trajectory = analytic(scene, 201.5, fps=5)
    assert len(trajectory.events) >= 100
    energy = total_energy(scene, trajectory)
    figure("energy, relative", np.abs(energy / energy[0] - 1.0).max(), 1e-10)


def test_many_elastic_balls(figure):
    """Analytic: SimBenchmark bouncing, 49 balls, e = 1, 20 s: mean of (E - E0)^2 under 1e-12 J^2."""
    scene = scenes.bouncing_balls()
    trajectory = analytic(scene, 20.0, fps=10)
    energy = total_energy(scene, trajectory)
    assert energy[0] == pytest.approx(24034.5)
    assert len(trajectory.events) == 490
    figure("mean (E - E0)^2", np.mean((energy - energy[0]) ** 2), 1e-12, "J^2")


@pytest.mark.parametrize(
    ("impact", "expected"), [("sequential", (0, 0, 2)), ("simultaneous", (-2 / 3, 4 / 3, 4 / 3))]
)
def test_collinear_balls(impact, expected, figure):
    """Analytic: a ball at 2 m/s into two that touch: (0, 0, 2) pair by pair, (-2/3, 4/3, 4/3) all at once.

    Source: 1997, eq. 8-18, pair after pair; 1989, section 8: v+ = -e v- at both contacts at once gives
    j1 = 8/3, j2 = 4/3. Momentum 2 and energy 2 in both.
    """
    scene = scenes.balls_in_line((2.0, 0.0, 0.0))
    trajectory = analytic(scene, 0.6, impact=impact)
    figure("velocities", np.abs(trajectory.linear_velocity[-1, :, 0] - expected).max(), 1e-12, "m/s")
    figure("energy", kinetic_energy(scene, trajectory)[-1] - 2.0, 1e-12, "J")


@pytest.mark.parametrize("pulled", [1, 2, 3])
def test_office_toy(pulled, figure):
    """Analytic: as many balls leave as came, at the same speed (Bender & Schmitt 2006, office toy)."""
    speeds = (1.5,) * pulled + (0.0,) * (5 - pulled)
    trajectory = analytic(scenes.balls_in_line(speeds), 1.0)
    figure("velocities", np.abs(trajectory.linear_velocity[-1, :, 0] - speeds[::-1]).max(), 1e-9, "m/s")


def test_heavy_onto_light_simultaneous(figure):
    """Analytic: mass 9 onto mass 1 on the floor, e = 0: at rest in one solve (Baraff 1989, fig. 12)."""
    simulation = topple.Simulation(scenes.heavy_onto_light(), topple.AnalyticSolver(impact="simultaneous"))
    figure("velocities", np.abs(simulation.state.linear_velocity).max(), 1e-15, "m/s")
    assert simulation.report.unresolved == []


@pytest.mark.parametrize("passes", [1, 2, 7, 30])
def test_heavy_onto_light_sequential(passes, figure):
    """Analytic: after n passes over the pairs .9^n of the speed is left (Baraff 1989, section 8).

    A pass stops light on the floor, then heavy and light take (9 v + 0) / 10: .9 v.
    """
    topple.simulate(scenes.bouncing_ball(), frames=0)  # kernels
    pipeline, _ = build_pipeline(scenes.heavy_onto_light(), topple.AnalyticSolver())
    pipeline.find_contacts()
    contacts = pipeline.contacts
    # The floor first, as in the paper; a pass ends with the two boxes.
    floor_first = np.argsort(
        [pipeline.names.index("plane") not in pair for pair in contacts.body], kind="stable"
    )
    contacts = contacts.select(floor_first)
    A = build_system(contacts, pipeline.model, pipeline.state)
    velocity = frame_velocity(contacts, pipeline.state)
    impulse, done = sequential_impulses(contacts, A, velocity, 1e-12, passes=passes)
    assert done == passes
    heavy = [pipeline.names.index("heavy") in pair for pair in contacts.body]
    left = -1.0 + impulse[heavy, 0].sum() / 9.0
    figure("speed left", left + 0.9**passes, 1e-14, "m/s")


@pytest.mark.parametrize(("friction", "tangential"), [(0.1, 4.25), (0.3, 25 / 7)])
def test_oblique_ball(friction, tangential, figure):
    """Analytic: slips if mu (1 + e) v_n < 2/7 v_t: v_t' = v_t - mu (1 + e) v_n; else v_t' = 5/7 v_t.

    Source: Coulomb's law for an impulse on a solid ball (I = 2/5 m R^2). To 1e-6, reached to round-off.
    """
    trajectory = analytic(scenes.oblique_sphere(friction=friction), 0.5)
    ball = trajectory.names.index("ball")
    figure(
        "velocity", np.abs(trajectory.linear_velocity[-1, ball] - [2.5, tangential, 0.0]).max(), 1e-12, "m/s"
    )
    spin = 2.5 * (5.0 - tangential) / 0.1
    np.testing.assert_allclose(trajectory.angular_velocity[-1, ball], [0.0, 0.0, spin], atol=1e-9)


@pytest.mark.parametrize("restitution", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_head_on_balls(restitution, figure):
    """Analytic: v' = e v for the relative velocity of two balls, and momentum is kept."""
    trajectory = analytic(scenes.head_on_spheres(restitution=restitution), 0.5)
    v = trajectory.linear_velocity[-1, :, 0]
    figure("relative velocity", v[1] - v[0] - 4.0 * restitution, 1e-9, "m/s")
    figure("momentum", v[0] + 3.0 * v[1] + 4.0, 1e-9, "N s")


def test_billiard_balls(figure):
    """Analytic: three balls, e = 1, all at once: (-1/5), and (3/5, +-sqrt(3)/5) (Baraff 1989, figure 11)."""
    scene = scenes.billiard_balls()
    trajectory = analytic(scene, 1.0, impact="simultaneous")
    v = {name: trajectory.linear_velocity[-1, i] for i, name in enumerate(trajectory.names)}
    error = [
        v["cue"] - [-0.2, 0, 0],
        v["left"] - [0.6, np.sqrt(3) / 5, 0],
        v["right"] - [0.6, -np.sqrt(3) / 5, 0],
    ]
    figure("velocities", np.abs(error).max(), 1e-12, "m/s")


@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 1.0), (0.4, 1.0), (0.8, 0.5)])
def test_energy_of_a_tumbling_box(friction, restitution, figure):
    """Analytic: no collision makes energy; without friction and with e = 1 it is kept to 1e-10.

    Newton's restitution with friction may make some (Kane & Levinson 1985): ours may not.
    """
    scene = topple.Scene(gravity=(0.0, 0.0, -G))
    scene.add(scenes.ground.plane(friction=friction, restitution=restitution))
    scene.add(
        topple.Body(
            "box", topple.Box((1.0, 1.2, 0.8)), mass=1.0, position=(0.0, 0.0, 2.0), friction=friction,
            orientation=(0.9, 0.3, 0.2, 0.1), angular_velocity=(1.0, 2.0, 3.0), restitution=restitution,
        )
    )  # fmt: skip
    trajectory = analytic(scene, 3.0 if restitution == 1.0 else 1.0, fps=60)
    assert len(trajectory.events) >= 2
    energy = total_energy(scene, trajectory)
    figure("rise of energy, relative", max(np.diff(energy).max() / energy[0], 0.0), 1e-12)
    if friction == 0.0:
        figure("energy, relative", np.abs(energy / energy[0] - 1.0).max(), 1e-10)
    assert topple.verify(scene, trajectory).max_penetration <= 1e-5
