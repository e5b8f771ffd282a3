"""Who meets whom: layers, pairs that ignore each other, sensors, and the events they leave."""

import numpy as np
import pytest
import topple

FLOOR = topple.Plane((0, 0, 1), 0.0)


def falling(*bodies: topple.Body) -> topple.Scene:
    return topple.Scene(bodies=[topple.Body("floor", FLOOR, kind="static", restitution=0.5), *bodies])


def ball(name: str, **values) -> topple.Body:
    return topple.Body(name, topple.Sphere(0.1), position=(0, 0, 1.1), restitution=0.5, **values)


def test_ignored_pair_passes():
    """A ball that ignores the floor falls on: z = 1.1 - g t^2 / 2; another one does not."""
    scene = falling(
        ball("ghost", collides_with=-1), topple.Body("crate", topple.Box((1, 1, 1)), position=(3, 0, 0.5))
    )
    scene.ignore("ghost", "floor")
    trajectory = topple.simulate(scene, seconds=1.0)
    assert trajectory.position[-1, 1, 2] == pytest.approx(1.1 - 9.81 / 2, rel=1e-12)
    assert trajectory.position[-1, 2, 2] == pytest.approx(0.5, abs=1e-5)
    assert topple.verify(scene, trajectory).max_penetration < 1e-5


def test_layers_decide():
    """Bodies meet where the mask of each has a layer of the other; the right one has layer 1, all masks."""
    scene = topple.Scene(gravity=(0, 0, 0))
    for k, (layers, mask) in enumerate([(1, 1), (2, 1), (1, 2)]):
        scene.add(topple.Body(f"left {k}", topple.Sphere(0.5), position=(0, 3 * k, 0), layers=layers,
                              collides_with=mask, linear_velocity=(1, 0, 0)))  # fmt: skip
        scene.add(topple.Body(f"right {k}", topple.Sphere(0.5), position=(2, 3 * k, 0)))
    speed = topple.simulate(scene, seconds=2.0).linear_velocity[-1, ::2, 0]
    np.testing.assert_allclose(speed, [0.5, 0.5, 1.0], atol=1e-9)


def test_sensor_reports_and_lets_pass(tmp_path):
    """A ball falls through a sensor as if it were not there: in and out at sqrt(2 d / g)."""
    gate = topple.Body("gate", topple.Box((1, 1, 0.2)), kind="static", position=(0, 0, 0.6), sensor=True)
    scene = falling(gate, ball("ball"))
    trajectory = topple.simulate(scene, seconds=0.6, fps=240)
    bare = topple.simulate(falling(ball("ball")), seconds=0.6, fps=240)
    np.testing.assert_array_equal(trajectory.position[:, 2], bare.position[:, 1])
    passed = [(e.kind, e.time) for e in trajectory.events if "gate" in (e.body_a, e.body_b)]
    expected = [("begin", np.sqrt(2 * 0.3 / 9.81)), ("end", np.sqrt(2 * 0.7 / 9.81))]
    assert [kind for kind, _ in passed[:2]] == [kind for kind, _ in expected]
    for (_, time), (_, exact) in zip(passed, expected, strict=False):
        assert exact - 1e-9 <= time <= exact + 2 / 240
    assert topple.verify(scene, trajectory).max_penetration < 1e-5
    scene.save(tmp_path / "scene.json")
    assert topple.Scene.load(tmp_path / "scene.json").bodies[1].sensor
    trajectory.save(tmp_path / "bake.npz")
    assert topple.Trajectory.load(tmp_path / "bake.npz").events == trajectory.events


def test_touch_events_carry_the_impulse():
    """A ball that meets the floor at v leaves the event of its impact: m v (1 + e)."""
    body = ball("ball", mass=2.0)
    trajectory = topple.simulate(falling(body), seconds=0.6, fps=24)
    first = trajectory.events[0]
    assert (first.kind, first.body_a, first.body_b) == ("begin", "ball", "floor")
    assert first.time == pytest.approx(np.sqrt(2 / 9.81), abs=1 / 240)
    assert first.impulse == pytest.approx(2.0 * np.sqrt(2 * 9.81) * 1.5, rel=1e-6)
    assert trajectory.events[1].kind == "end"
    np.testing.assert_allclose(first.point, (0, 0, 0), atol=1e-3)
    assert first.normal == (0.0, 0.0, 1.0)
    assert first.speed == pytest.approx(np.sqrt(2 * 9.81), rel=1e-2)  # within a step of 1/240 s


def test_table_of_events(tmp_path):
    """A block that slides: it stays in touch with m g h a step, and slows down by mu g t."""
    h, mu = 1 / 240, 0.25
    block = topple.Body(
        "block", topple.Box((1, 1, 1)), position=(0, 0, 0.5), mass=3.0, friction=mu,
        linear_velocity=(2, 0, 0),
    )  # fmt: skip
    floor = topple.Body("floor", topple.Plane((0, 0, 1), 0), kind="static", friction=mu)
    scene = topple.Scene(bodies=[floor, block])
    solver = topple.ImpulseSolver(time_step=h, event_impulse=1e-3)
    trajectory = topple.simulate(scene, seconds=0.5, solver=solver)
    trajectory.save(tmp_path / "bake.npz")
    loaded = topple.Trajectory.load(tmp_path / "bake.npz")
    table = loaded.event_table()
    assert (table["kind"] == ["begin"] + ["persist"] * 119).all()
    assert set(table["body_a"]) == {"block"}
    weight = 3.0 * 9.81 * h  # a step, from the first on
    np.testing.assert_allclose(table["impulse"][60:], weight, rtol=1e-2)
    assert len(loaded.event_table(impulse=0.75 * weight)) == 120
    np.testing.assert_allclose(table["normal"], np.tile([0, 0, 1.0], (120, 1)), atol=1e-6)
    np.testing.assert_allclose(table["speed"], 2.0 - mu * 9.81 * (table["time"] - h), atol=mu * 9.81 * h)
    np.testing.assert_allclose(table["point"][:, 2], 0.0, atol=1e-4)
    assert len(topple.simulate(scene, seconds=0.5).events) == 1


def test_unknown_names_are_refused():
    scene = falling(ball("ball"))
    with pytest.raises(topple.SceneError, match=r"'bal'.*no such body"):
        scene.ignore("bal", "floor")
    with pytest.raises(topple.SceneError, match="cannot ignore itself"):
        scene.ignore("ball", "ball")
