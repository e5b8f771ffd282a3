"""What turns about an edge: bodies that rock, and prisms that roll from edge to edge."""

import numpy as np
import pytest
import topple
from scipy.integrate import quad

G = 9.81
LEAN, RADIUS = np.arctan2(0.5, 2.0), np.hypot(0.25, 1.0)  # of the block: from an edge to its middle


def rock(tilt, time_step):
    """The block of 1000 kg let go at `tilt` on an edge: angles, spins and energies for 2 s, after each step.

    Energy [J] is above that of the block at rest upright.
    """
    pivot, c, s = np.array([0.25, 0.0, 0.0]), np.cos(tilt), np.sin(tilt)
    middle = pivot + np.array([c * -0.25 + s, 0.0, s * 0.25 + c])
    scene = topple.Scene(gravity=(0, 0, -G))
    scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", friction=3.0))
    scene.add(topple.Body("block", topple.Box((0.5, 1.0, 2.0)), mass=1000.0, friction=3.0, position=middle,
                          orientation=(np.cos(0.5 * tilt), 0.0, np.sin(0.5 * tilt), 0.0)))  # fmt: skip
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=time_step))
    rows = []
    while simulation.time < 2.0:
        simulation.advance(time_step)
        q, spin = simulation.state.orientation[1], simulation.state.angular_velocity[1, 1]
        rows.append((2 * np.arctan2(q[2], q[0]), spin, simulation.energy() - 1000.0 * G))
    return np.array(rows).T


@pytest.mark.parametrize("time_step", [1 / 60, 1 / 240, 1e-3])
def test_swing_about_an_edge_keeps_its_energy(time_step, figure):
    """A block 2 m high and .5 m wide comes down on one edge: up to the blow its energy stays.

    Limit: arms turn by the velocity of the step before, off by (dw/dt) h, which takes m g R (w h)^2 / 4
    until it turns by w, or 3/8 g h^2 / R of the energy, and springs give by 1 um as they take the load. Were
    arms those of the beginning of each step, it would lose about g h tilt / (2 w R) of it, .004 at 1/240 s.
    """
    for part in (0.3, 0.5, 0.7, 0.95):
        tilt = part * LEAN
        angle, _, energy = rock(tilt, time_step)
        blow = np.flatnonzero(angle < 0.0)[0]
        height = RADIUS * (np.cos(LEAN - tilt) - np.cos(LEAN))
        lost = 1.0 - energy[blow - 4] / (1000.0 * G * height)
        figure("lost", lost, 3 / 8 * G * time_step**2 / RADIUS + 1e-6 / height)


@pytest.mark.parametrize("time_step", [1 / 240, 1e-3])
def test_block_that_rocks(time_step, figure):
    """A block 2 m high and .5 m wide that rocks: its turning is w' = (1 - 3/2 sin^2 a) w after each blow.

    Source: Housner 1963, *The behavior of inverted pendulum structures during earthquakes*, eq. 6: angular
    momentum about the other edge, at a from the middle. Energy from five steps before the blow to five
    after it. Limit: at the blow arms are those of the middle of its step, off by up to w h / 2 for either
    edge. Were what it stood on taken to bear nothing in the step of the blow, the error would be up to
    2 (dw/dt) h / w, .05 at 1/240 s.
    """
    kept = (1 - 1.5 * np.sin(LEAN) ** 2) ** 2
    for part in (0.5, 0.55, 0.6, 0.65, 0.7):
        angle, spin, energy = rock(part * LEAN, time_step)
        blow = np.flatnonzero(angle < 0.0)[0]
        error = energy[blow + 5] / (kept * energy[blow - 6]) - 1.0
        figure("energy after the blow, relative", error, time_step * abs(spin[blow - 1]))


@pytest.mark.parametrize("time_step", [1 / 240, 1e-3])
def test_prism_that_rolls(time_step, figure):
    """A hexagonal prism rolls down a slope of 10 degrees from edge to edge, 11/17 of its turning after each.

    About an edge at R it has I = 17/12 m R^2. Steady: (289/168) m g R sin a is what I w^2 / 2 is before a
    blow, from which its period follows by quadrature. Source: McGeer 1990, *Passive dynamic walking*
    (the rimless wheel), with the inertia of a solid hexagon. Limit: a blow is off by up to w h, as in
    `test_block_that_rocks`, and half of that in the turning.
    """
    slope, side = np.radians(10.0), 0.5
    corners = [(side * np.cos(k), y, side * np.sin(k)) for k in np.arange(6) * np.pi / 3 for y in (-0.6, 0.6)]
    scene = topple.Scene(gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", friction=3.0))
    scene.add(topple.Body("prism", topple.ConvexHull(np.array(corners)), friction=3.0,
                          position=(0, 0, side * np.sqrt(0.75)), angular_velocity=(0, 3.0, 0),
                          linear_velocity=(3.0 * side * np.sqrt(0.75), 0, 0)))  # fmt: skip
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=time_step))
    times, places = [], []
    while simulation.time < 10.0:
        simulation.advance(time_step)
        times.append(simulation.time)
        places.append(simulation.state.position[1, 0])
    before = np.sqrt(2 * 289 / 168 * G * np.sin(slope) / (17 / 12 * side))
    after, pull = 11 / 17 * before, 2 * G / (17 / 12 * side)
    period = quad(
        lambda angle: (after**2 + pull * (np.cos(slope - np.pi / 6) - np.cos(slope + angle))) ** -0.5,
        -np.pi / 6, np.pi / 6,
    )[0]  # fmt: skip
    passed = np.interp(side * np.arange(8.25, places[-1] / side - 1.0), places, times)
    figure("period, relative", np.diff(passed).mean() / period - 1.0, 0.5 * before * time_step)
