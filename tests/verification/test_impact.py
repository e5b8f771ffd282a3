"""Collisions: Newton's restitution and Coulomb's friction at the moment of impact."""

import numpy as np
import pytest
import scenes
import topple
from topple.diagnostics import total_energy

G = 9.81


def apexes(height, vertical_velocity):
    """Apex [m] of each flight between two bounces, from energy: z + v_z^2 / (2 g).

    Free flight is exact, so within one flight all samples agree; the middle one is taken. The last
    flight may be cut off by the end of the run, which does not matter.
    """
    bounces = np.flatnonzero((vertical_velocity[:-1] < 0.0) & (vertical_velocity[1:] > 0.0)) + 1
    flights = zip(bounces, [*bounces[1:], len(height)], strict=True)
    middle = [(start + end) // 2 for start, end in flights]
    return height[middle] + vertical_velocity[middle] ** 2 / (2 * G)


@pytest.mark.parametrize("restitution", [0.5, 0.8, 0.9])
def test_bouncing_ball(restitution, figure):
    """The k-th apex is e^(2k) h, and the n-th impact is at t1 (1 + 2 (e + ... + e^(n-1))).

    Source: v' = -e v (Newton), apex = v^2 / (2 g). Apexes within 1 % for all of 2 cm and more: those
    flights are longer than a hundred steps of 1 ms.
    """
    radius, height, time_step = 0.1, 1.0, 1e-3
    zeno_end = np.sqrt(2 * height / G) * (1 + restitution) / (1 - restitution)
    trajectory = topple.simulate(
        scenes.bouncing_ball(height=height, restitution=restitution, radius=radius),
        seconds=zeno_end,
        fps=1 / time_step,
        solver=topple.ImpulseSolver(time_step=time_step),
    )
    ball = trajectory.names.index("ball")
    found = apexes(trajectory.position[:, ball, 2] - radius, trajectory.linear_velocity[:, ball, 2])
    expected = height * restitution ** (2.0 * np.arange(1, 100))
    count = int(np.sum(expected > 0.02))
    figure("apexes, relative", np.abs(found[:count] / expected[:count] - 1.0).max(), 1e-2)


def test_bouncing_ball_at_default_settings(figure):
    """First impact at sqrt(2 h / g) = .4515236409857308 s and apexes e^(2k) h within 1 % at h = 1/240 s."""
    trajectory = topple.simulate(scenes.bouncing_ball(restitution=0.9), seconds=5.0, fps=240)
    ball = trajectory.names.index("ball")
    vertical_velocity = trajectory.linear_velocity[:, ball, 2]
    first_impact = trajectory.times[np.argmax(vertical_velocity > 0.0)]
    assert 0.0 <= first_impact - 0.4515236409857308 <= 1 / 240
    found = apexes(trajectory.position[:, ball, 2] - 0.1, vertical_velocity)[:8]
    figure("apexes, relative", np.abs(found / 0.9 ** (2.0 * np.arange(1, 9)) - 1.0).max(), 1e-2)


@pytest.mark.parametrize("time_step", [1e-3, 1 / 240])
@pytest.mark.parametrize("restitution", [0.5, 0.8])
def test_a_bounce_lower_than_the_tolerance_is_none(restitution, time_step, figure):
    """It rises by (e v)^2 / (2 g), e^2 of the way fallen, where that is over the tolerance; else it stays.

    Source: Mirtich 1996 (what counts as rest). To stay is to come to rest within a tenth of the tolerance.
    """
    tolerance = topple.ImpulseSolver().tolerance
    for part in (0.9, 1.1):
        rise = max(part * tolerance, restitution**2 * (part * 1.05 * G * time_step) ** 2 / (2 * G))
        height = rise / restitution**2
        trajectory = topple.simulate(
            scenes.bouncing_ball(height=height, restitution=restitution, radius=0.1),
            seconds=np.sqrt(2 * height / G) * (1 + restitution), fps=1 / time_step,
            solver=topple.ImpulseSolver(time_step=time_step),
        )  # fmt: skip
        ball = trajectory.names.index("ball")
        up = trajectory.linear_velocity[:, ball, 2]
        reached = (trajectory.position[:, ball, 2] - 0.1 + up**2 / (2 * G))[up > 0.0].max(initial=0.0)
        if part > 1.0:
            figure("height of the bounce, less that asked", reached - rise, 0.02 * tolerance, "m")
        else:
            figure("height where it should stay", reached, 0.1 * tolerance, "m")


def test_elastic_drop(figure):
    """With e = 1 a ball dropped from 5 m comes back to 5 m for ever: v' = -v keeps the energy.

    Within .5 % over 10 bounces at default settings (Blender's Bullet: 3.28 to 6.37 m).
    """
    radius = 0.1
    scene = scenes.bouncing_ball(height=5.0 - radius, restitution=1.0, radius=radius)
    trajectory = topple.simulate(scene, seconds=20.0, fps=240)
    ball = trajectory.names.index("ball")
    found = apexes(trajectory.position[:, ball, 2], trajectory.linear_velocity[:, ball, 2])
    assert len(found) >= 10
    figure("apexes, relative", np.abs(found / 5.0 - 1.0).max(), 5e-3)


@pytest.mark.parametrize(
    ("friction", "tangential", "slips"),
    [(0.1, 4.25, True), (0.3, 3.571429, False)],
)
def test_oblique_sphere_on_wall(friction, tangential, slips, figure):
    """j_n = m (1 + e) v_n; slips if mu j_n < 2/7 m v_t: v_t' = v_t - mu (1 + e) v_n; else v_t' = 5/7 v_t.

    Source: Coulomb's law for an impulse on a solid sphere, I = 2/5 m R^2 (the contact point's effective
    tangential mass is 2/7 m). With e = .5 and v_n = v_t = 5: 4.25 at mu = .1, 3.571429 at mu = .3.
    """
    speed, restitution, radius = 5.0, 0.5, 0.1
    scene = scenes.oblique_sphere(friction=friction, restitution=restitution, speed=speed)
    trajectory = topple.simulate(scene, seconds=0.5, fps=240)
    ball = trajectory.names.index("ball")
    error = trajectory.linear_velocity[-1, ball] - [restitution * speed, tangential, 0.0]
    figure("velocity after", np.abs(error).max(), 1e-6, "m/s")
    # The tangential impulse m (v_t - v_t') acts at -R n and turns the ball by 5/2 (v_t - v_t') / R.
    spin = 2.5 * (speed - tangential) / radius
    np.testing.assert_allclose(trajectory.angular_velocity[-1, ball], [0.0, 0.0, spin], atol=1e-4)
    assert slips == (abs(spin * radius - tangential) > 1e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_head_on_spheres(restitution, figure):
    """v' = e v for the relative velocity, and the momentum is conserved; masses 1 and 3 kg.

    Source: Newton's law of restitution; Bender & Schmitt 2006, section 3.1. Must hold to 1e-9.
    """
    trajectory = topple.simulate(scenes.head_on_spheres(restitution=restitution), seconds=0.5, fps=240)
    left, right = trajectory.names.index("left"), trajectory.names.index("right")
    before, after = trajectory.linear_velocity[0], trajectory.linear_velocity[-1]
    error = after[right] - after[left] + restitution * (before[right] - before[left])
    figure("relative velocity after", np.abs(error).max(), 1e-9, "m/s")
    momentum = [1.0 * v[left] + 3.0 * v[right] for v in (before, after)]
    figure("momentum", np.abs(momentum[1] - momentum[0]).max(), 1e-9, "N s")


@pytest.mark.parametrize("time_step", [1 / 240, 1e-3], ids=["1/240 s", "1 ms"])
def test_bouncing_balls(time_step, figure):
    """SimBenchmark bouncing: 49 balls, e = 1, 20 s: mean of (E - E0)^2 under 1.9e-2 J^2, E0 = 24034.5 J.

    Source: Hwangbo, SimBenchmark (RaiSim's figure). Impacts are found within the step, so none makes energy.
    """
    scene = scenes.bouncing_balls()
    solver = topple.ImpulseSolver(time_step=time_step)
    energy = total_energy(scene, topple.simulate(scene, seconds=20.0, fps=50, solver=solver))
    assert energy[0] == pytest.approx(24034.5)
    figure("mean (E - E0)^2", np.mean((energy - energy[0]) ** 2), 1.9e-2, "J^2")


@pytest.mark.parametrize("gap", [0.5, 0.3, 0.123])
@pytest.mark.parametrize("velocities", [(2, 0, 0), (1, 0, 0, 0, 0), (1, 1, 0, 0, 0), (1, 1, 1, 0, 0)])
def test_office_toy(velocities, gap, figure):
    """As many balls leave as came, at the same speed: the blow goes through the row, pair by pair, e = 1.

    Source: Bender & Schmitt 2006, section 3.1. At 1/240 s: impacts take place within the step.
    """
    trajectory = topple.simulate(scenes.balls_in_line(velocities, gap=gap), seconds=1.5)
    error = trajectory.linear_velocity[-1, :, 0] - velocities[::-1]
    figure("velocities", np.abs(error).max(), 1e-9, "m/s")


@pytest.mark.parametrize("velocities", [(1, 0, 0, 0, 0), (1, 1, 0, 0, 0)])
def test_a_blow_without_bounce_is_shared_by_a_row(velocities, figure):
    """With e = 0 all balls of a row go on together, at their mean speed: the momentum is conserved.

    Source: the limit of pairs that slow each other down to and fro, Bender & Schmitt 2006, section 3.1; and
    the one velocity with which none overlaps the next and none pulls. To what sweeps end with: a tenth of the
    tolerance in a step of 1/240 s.
    """
    scene = scenes.balls_in_line(velocities, gap=0.123, restitution=0.0)
    speed = topple.simulate(scene, seconds=1.5).linear_velocity[-1, :, 0]
    figure("speed", np.abs(speed - np.mean(velocities)).max(), 1e-5 * 240, "m/s")
    figure("momentum", abs(speed.sum() - np.sum(velocities)), 1e-12, "N s")


@pytest.mark.parametrize("time_step", [1 / 240, 1 / 60], ids=["1/240 s", "1/60 s"])
def test_what_falls_flat_on_a_face_bounces_without_turning(time_step, figure):
    """Four corners that hit at once get the same impulse each, so a cube comes down as flat the next time."""
    simulation = topple.Simulation(scenes.cube_grid(1, 1), topple.ImpulseSolver(time_step=time_step))
    turning, bounces = [0.0], 0
    while simulation.time < 0.8:
        before = simulation.state.linear_velocity[1, 2]
        simulation.advance(time_step)
        turning.append(np.linalg.norm(simulation.state.angular_velocity[1]))
        bounces += before < 0.0 < simulation.state.linear_velocity[1, 2]
    assert bounces >= 2
    figure("turning", max(turning), 1e-9, "rad/s")
