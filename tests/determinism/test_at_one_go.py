"""Many steps at one go are the same as each by itself, to the bit, whatever Python has to do in between."""

import numpy as np
import pytest
import scenes
import topple
from topple.jit import RUNS_AS_PYTHON
from topple.solvers import contact_events
from topple.solvers.impulse_progress import LEAST_CONTACTS

FRAME, FRAMES, STEPS = 0.2, 6, 48  # [s], steps of a frame


def everything(simulation):
    """All that a run shows."""
    report = simulation.report
    arrays = [array.tobytes() for array in (*simulation.state, *simulation.contacts)]
    return arrays, simulation.events, report.max_penetration, report.unresolved, simulation.time


@pytest.mark.skipif(RUNS_AS_PYTHON, reason="each step is called by itself in this mode")
@pytest.mark.parametrize("event_impulse", [None, 0.1], ids=["who touches", "and who presses"])
@pytest.mark.parametrize("room", [8, contact_events.RECENT])
def test_at_one_go(monkeypatch, event_impulse, room):
    """Cubes in a funnel: tables grow, bodies are put right, and sweeps end before they have settled."""
    monkeypatch.setattr(contact_events, "RECENT", room)
    solver = topple.ImpulseSolver(event_impulse=event_impulse, max_iterations=1)
    at_one_go, one_by_one = (topple.Simulation(scenes.funnel(levels=3), solver) for _ in range(2))
    for _ in range(FRAMES):
        at_one_go.advance(FRAME)
        for _ in range(STEPS):
            assert one_by_one._pipeline.step(FRAME / STEPS) == 1
    pipeline = at_one_go._pipeline
    assert pipeline._stepping._runs < FRAMES * STEPS / 2  # or this shows nothing
    assert all(set(step["pair"]) <= set(pipeline.names) for step in pipeline.unresolved)
    assert pipeline.unresolved
    assert pipeline._repairing._runs > 0
    assert pipeline.contact_count > LEAST_CONTACTS
    assert len(pipeline.log.events) > contact_events.RECENT
    assert everything(at_one_go) == everything(one_by_one)


def pushed():
    """A stack that bars push, onto what sleeps; some are let go, between two steps and at the end of one."""
    scene = scenes.stack(3)
    for x in (1.05, 2.05):
        box = topple.Box((1.0, 1.0, 1.0))
        scene.add(topple.Body(f"sleeper_{x}", box, position=(x, 0.0, 0.5), asleep=True))
    times = np.linspace(0.0, 2.0, 49)
    turned = np.stack([np.cos(times), 0.0 * times, 0.0 * times, np.sin(times)], axis=1)
    for z, release in enumerate((None, 0.3037, 0.5037, 0.7, 0.8)):
        place = np.stack([0.5 * times - 1.0, 0.0 * times, 0.0 * times + z + 0.5], axis=1)
        path = topple.Motion(times, place, turned)
        bar = topple.Box((0.5, 0.2, 0.2))
        scene.add(topple.Body(f"bar_{z}", bar, kind="kinematic", motion=path, release_time=release))
    return scene


@pytest.mark.skipif(RUNS_AS_PYTHON, reason="each step is called by itself in this mode")
def test_at_one_go_with_animated_bodies():
    """Animated bodies go their way and are let go, and sleepers wake, in the same steps."""
    at_one_go, one_by_one = (topple.Simulation(pushed()) for _ in range(2))
    for _ in range(FRAMES):
        at_one_go.advance(FRAME)
        for _ in range(STEPS):
            assert one_by_one._pipeline.step(FRAME / STEPS) == 1
    assert len(at_one_go._pipeline.paths.released) == 6
    assert at_one_go._pipeline._stepping._runs < FRAMES * STEPS / 2  # or this shows nothing
    assert everything(at_one_go) == everything(one_by_one)
