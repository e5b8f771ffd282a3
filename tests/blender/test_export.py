"""Data out of a bake: what the files say is what happened."""

import csv
import json

import bpy
import pytest
import topple
from blender.objects import add_cube, add_mesh, make_body
from topple_extension.addon import live_bakes

SHEET = [(-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)]


@pytest.fixture
def cube() -> bpy.types.Object:
    """A cube of 8 kg whose lower side is 1 m above the ground: it hits it after sqrt(2/g) = 0.4515 s."""
    make_body(add_mesh("ground", SHEET, [(0, 1, 2, 3)]), kind="STATIC", shape="PLANE")
    cube = make_body(add_cube("cube", location=(0, 0, 2)), mass_mode="MASS", mass=8.0)
    bpy.ops.topple.bake(keyframes=False)
    return cube


def test_contact_events(cube, tmp_path):
    for content, suffix in (("CSV", "csv"), ("JSON", "json")):
        assert bpy.ops.topple.export(filepath=str(tmp_path / "events"), content=content) == {"FINISHED"}
        assert (tmp_path / f"events.{suffix}").exists()
    table = list(csv.DictReader((tmp_path / "events.csv").open()))
    listed = json.loads((tmp_path / "events.json").read_text())
    assert len(table) == len(listed) == 1
    for event in (table[0], listed[0]):
        assert {event["body_a"], event["body_b"]} == {"cube", "ground"}
        assert event["kind"] == "begin"
        # A flat box meets the ground within one step of 1/240 s, with the momentum m sqrt(2 g h).
        assert float(event["time"]) == pytest.approx((2 / 9.81) ** 0.5, abs=1 / 240)
        assert float(event["frame"]) == pytest.approx(1 + 24 * float(event["time"]))
        assert float(event["impulse"]) == pytest.approx(8 * (2 * 9.81) ** 0.5, rel=0.02)


def test_trajectory_and_scene_open_in_python(cube, tmp_path):
    for content in ("NPZ", "SCENE"):
        bpy.ops.topple.export(filepath=str(tmp_path / "bake"), content=content)
    trajectory = topple.Trajectory.load(tmp_path / "bake.npz")
    scene = topple.Scene.load(tmp_path / "bake.json")
    solver = live_bakes.of_scene(bpy.context.scene).job.request.solver()
    assert trajectory.state_hash == live_bakes.of_scene(bpy.context.scene).trajectory().state_hash
    assert topple.simulate(scene, frames=24, fps=24, solver=solver).state_hash == trajectory.state_hash


def test_a_folder_that_is_not_there(cube, tmp_path):
    with pytest.raises(RuntimeError, match="could not be written"):
        bpy.ops.topple.export(filepath=str(tmp_path / "nowhere" / "events.csv"))


@pytest.mark.parametrize(("threshold", "marks"), [(30.0, ["Impact"]), (50.0, [])])
def test_markers(cube, threshold, marks):
    bpy.context.scene.timeline_markers.new("mine", frame=3)
    for _ in range(2):  # a second time replaces those of the first
        bpy.ops.topple.mark_impacts(threshold=threshold)
    markers = [marker for marker in bpy.context.scene.timeline_markers if marker.name != "mine"]
    assert [marker.name.split()[0] for marker in markers] == marks
    assert [marker.frame for marker in markers] == [12] * len(marks)


def test_custom_properties(cube):
    assert bpy.ops.topple.write_properties() == {"CANCELLED"}
    bpy.ops.topple.write_keyframes()
    for _ in range(2):
        assert bpy.ops.topple.write_properties() == {"FINISHED"}
    speeds, hits = [], []
    for frame in range(1, 26):
        bpy.context.scene.frame_set(frame)
        speeds.append(cube["topple_speed"])
        hits.append(cube["topple_impact"])
    assert speeds[9] == pytest.approx(9.81 * 9 / 24, rel=1e-5)
    assert speeds[24] == pytest.approx(0.0, abs=1e-3)
    assert [frame for frame, hit in enumerate(hits, 1) if hit > 0] == [12]
    bpy.ops.topple.clear_bake()
    assert cube.animation_data is None
