"""Events against sets: a pair of bodies begins to touch where it did in none of its contacts, and ends so."""

import numpy as np
import pytest
import scenes
import topple

STEP, STEPS = 1 / 240, 240


def tables() -> topple.Scene:
    """Bodies of five boxes each that fall on each other: several of their contacts come and go at a time."""
    legs = [
        (topple.Box((0.1, 0.1, 0.6)), (x, y, -0.35), (1, 0, 0, 0)) for x in (-0.4, 0.4) for y in (-0.3, 0.3)
    ]
    shape = topple.Compound([(topple.Box((1.0, 0.8, 0.1)), (0, 0, 0), (1, 0, 0, 0)), *legs])
    scene = topple.Scene(bodies=[topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static")])
    for k in range(6):
        turn = (np.cos(0.3 * k), 0.0, 0.0, np.sin(0.3 * k))
        position = (0.2 * k, 0.1 * k, 0.8 + 0.9 * k)
        scene.add(topple.Body(f"table {k}", shape, position=position, orientation=turn, restitution=0.3))
    return scene


@pytest.mark.parametrize("build", [tables, lambda: scenes.rocks_in_box(60)], ids=["compounds", "hulls"])
def test_events_are_what_sets_say(build):
    simulation = topple.Simulation(build(), topple.ImpulseSolver(time_step=STEP))
    log, names = simulation._pipeline.log, simulation._pipeline.names
    touching, expected = set(), []
    for _ in range(STEPS):
        simulation.advance(STEP)
        keys = log.touching[log.touching >= 0].tolist()
        now = {(names[key // len(names)], names[key % len(names)]) for key in keys}
        time = simulation.time
        expected += [(time, "begin", *pair) for pair in now - touching]
        expected += [(time, "end", *pair) for pair in touching - now]
        touching = now
    found = [(event.time, event.kind, event.body_a, event.body_b) for event in log.events]
    assert sorted(found) == sorted(expected)
    assert len(expected) > 50
