"""Interpenetration witnesses of the analytic solver against the narrow phase."""

import numpy as np
import pytest
import topple
from scenes.shapes import random_orientation
from topple.simulation import Simulation
from topple.solvers import analytic_search
from topple.solvers.analytic_events import ContactFinder, steady_state
from topple.solvers.analytic_witness import Witnesses


def overlapping_boxes(seed: int) -> topple.Scene:
    """A box that a tilted one is a millimetre deep in, which turns and moves away from it."""
    rng = np.random.default_rng(seed)
    box = topple.Box((1.0, 1.0, 1.0))
    orientation = random_orientation(rng)
    place = np.array([*rng.uniform(-0.3, 0.3, 2), 3.0])
    found = topple.closest_points(box, (place, orientation), box, ((0, 0, 0), (1, 0, 0, 0)))
    place = place - (found.separation + 1e-3) * found.normal
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[topple.Body("lower", box, kind="static")])
    scene.add(
        topple.Body("upper", box, position=place, orientation=orientation, linear_velocity=found.normal,
                    angular_velocity=rng.normal(size=3) * 0.2)
    )  # fmt: skip
    return scene


@pytest.mark.parametrize("seed", range(6))
def test_same_as_the_narrow_phase(seed):
    """A witness says at its own moment what the narrow phase says, and never a wider gap a moment later."""
    pipeline = Simulation(overlapping_boxes(seed), topple.AnalyticSolver())._pipeline
    finder, state = pipeline.finder, pipeline.state
    reach = np.full(2, 0.05)
    finder.update_pairs(state, reach)
    gaps = finder.gaps(state, 0.05, reach)
    slots = np.flatnonzero(np.isfinite(gaps.separation))
    witnesses = Witnesses(finder, gaps, slots, state)
    np.testing.assert_allclose(witnesses.separation(state), gaps.separation[slots], atol=1e-15)
    for t in (-1e-4, 1e-4, 1e-3, 1e-2):
        moved = steady_state(finder.model, state, t)
        later = finder.gaps(moved, 0.05, reach).separation[slots]
        assert (witnesses.separation(moved) <= later + 1e-12).all()


def tumbling_boxes() -> topple.Scene:
    floor = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", restitution=0.6)
    scene = topple.Scene(bodies=[floor])
    for k in range(2):
        scene.add(
            topple.Body(f"box {k}", topple.Box((0.3, 0.4, 0.5)), position=(0.1 * k, 0, 1 + k),
                        orientation=(0.9, 0.3, 0.2 - 0.4 * k, 0.1), angular_velocity=(1, 2 - 4 * k, 3),
                        restitution=0.6)
        )  # fmt: skip
    return scene


def test_fewer_looks(monkeypatch):
    """The same collisions are found along witnesses; backing up takes less than half the looks at pairs."""
    look, back_up = ContactFinder.gaps, analytic_search.EventSearch._back_up
    looks, events, backing_up = [], [], [False]

    def counted(self, *arguments):
        looks[-1] += backing_up[0]
        return look(self, *arguments)

    def watched(self, *arguments):
        backing_up[0] = True
        at = back_up(self, *arguments)
        backing_up[0] = False
        return at

    monkeypatch.setattr(ContactFinder, "gaps", counted)
    monkeypatch.setattr(analytic_search.EventSearch, "_back_up", watched)
    for most in (analytic_search.MOST_WITNESSES, 0):
        monkeypatch.setattr(analytic_search, "MOST_WITNESSES", most)
        looks.append(0)
        simulation = Simulation(tumbling_boxes(), topple.AnalyticSolver())
        simulation.advance(0.6)
        events.append([event.time for event in simulation.events])
    np.testing.assert_allclose(events[0], events[1], rtol=0.0, atol=1e-9)
    assert len(events[0]) > 2
    assert looks[0] < looks[1] / 2
