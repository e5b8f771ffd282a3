"""Each change of an input is seen and named, and nothing else is."""

import pytest
import topple
from addon_host.bakes import carried, two_balls
from topple_extension.addon import fingerprint

SOLVER = topple.ImpulseSolver()


def of(scene=None, solver=SOLVER, fps=24.0):
    return fingerprint.of_scene(scene or two_balls(), solver, fps)


def test_the_same_scene_made_twice():
    scene = two_balls()
    topple.Simulation(scene)  # shapes keep what they work out
    assert fingerprint.changes(of(), of(scene)) == []


def with_ball(**changes):
    scene = two_balls()
    values = {"position": (0.05, 0, 0.9), "restitution": 0.5, "shape": topple.Sphere(0.2), **changes}
    scene.bodies[2] = topple.Body("ball 1", values.pop("shape"), **values)
    return scene


@pytest.mark.parametrize(
    "change",
    [
        {"shape": topple.Sphere(0.2000001)}, {"shape": topple.Box((0.4, 0.4, 0.4))}, {"mass": 2.0},
        {"friction": 0.4}, {"position": (0.05, 0, 0.91)}, {"linear_velocity": (0, 0, 1e-9)},
    ],
)  # fmt: skip
def test_every_change_of_a_body_is_named(change):
    assert fingerprint.changes(of(), of(with_ball())) == []
    assert fingerprint.changes(of(), of(with_ball(**change))) == ["body 'ball 1'"]


def test_settings_are_named():
    assert fingerprint.changes(of(), of(solver=topple.ImpulseSolver(tolerance=1e-5))) == ["solver"]
    assert fingerprint.changes(of(), of(fps=25.0)) == ["frame rate"]


def test_only_animation_to_come_may_differ():
    longer = two_balls()
    longer.bodies[-1] = carried(40)
    assert fingerprint.same_until(of(), of(longer), 23)
    assert not fingerprint.same_until(of(), of(longer), 24)  # its plan already knew of the end
    assert fingerprint.changes(of(), of(longer)) == ["animation of 'carried'"]


def test_sentences_name_a_few():
    assert fingerprint.sentence([]) == ""
    assert fingerprint.sentence(["gravity"]) == "gravity changed"
    assert fingerprint.sentence(list("abcde")) == "a, b, c and 2 more changed"
