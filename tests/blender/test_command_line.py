"""`blender -b FILE --command topple bake --output OUT.blend`."""

import json
import subprocess
import sys
from pathlib import Path

import bpy
import pytest
from blender.objects import add_cube, make_body, world_path
from topple_extension.addon import cli


def test_bake_saves_a_copy(tmp_path, capfd):
    make_body(add_cube("cube", location=(0, 0, 9)))
    source, output = tmp_path / "shot.blend", tmp_path / "baked.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(source))
    assert cli.run(["bake", "--output", str(output)]) == 0
    assert "Baked 1 body over 24 frames" in capfd.readouterr().out
    assert bpy.data.filepath == str(source)
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert world_path(bpy.data.objects["cube"], [25])[0, 2, 3] == pytest.approx(9 - 0.5 * 9.81, abs=1e-4)


WITHOUT_TOPPLE = """
import json, sys, bpy
bpy.ops.wm.open_mainfile(filepath={file!r})
heights = []
for frame in (1, 13, 25):
    bpy.context.scene.frame_set(frame)
    heights.append(bpy.data.objects["cube"].matrix_world.translation.z)
print("PLAYED", json.dumps([hasattr(bpy.types.Object, "topple"), "topple" in sys.modules, *heights]))
"""


def test_a_baked_file_plays_in_a_blender_without_topple(tmp_path):
    make_body(add_cube("cube", location=(0, 0, 9)))
    output = tmp_path / "baked.blend"
    assert cli.run(["bake", "--output", str(output)]) == 0
    script = WITHOUT_TOPPLE.format(file=str(output))
    blender = bpy.app.binary_path
    if Path(blender).name.startswith("blender"):
        command = [blender, "-b", "--factory-startup", "--python-expr", script]
    else:  # the bpy wheel
        command = [sys.executable, "-c", script]
    played = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in played.splitlines() if line.startswith("PLAYED")]
    *of_topple, start, middle, end = json.loads(line.removeprefix("PLAYED"))
    assert of_topple == [False, False]
    assert start == 9.0
    assert middle == pytest.approx(9 - 0.5 * 9.81 * 0.5**2, abs=1e-4)
    assert end == pytest.approx(9 - 0.5 * 9.81, abs=1e-4)


def test_missing_folder(tmp_path, capfd):
    cube = make_body(add_cube("cube"))
    folder = tmp_path / "nowhere"
    assert cli.run(["bake", "--output", str(folder / "baked.blend")]) == 1
    message = capfd.readouterr().err.strip()
    assert message == f"topple: the folder '{folder}' does not exist: create it or choose another --output"
    assert not folder.exists()
    assert cube.animation_data is None


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="other systems have no such folder")
def test_the_disk_refuses_the_output(capfd):
    make_body(add_cube("cube"))
    output = Path("/proc/baked.blend")  # a folder that takes no files, of whomever
    assert cli.run(["bake", "--output", str(output)]) == 1
    message = capfd.readouterr().err.strip().splitlines()[-1]
    assert message.startswith(f"topple: '{output}' could not be saved (")
    assert message.endswith("make room, or choose another --output")


def test_bad_scene(tmp_path, capfd):
    make_body(add_cube("cube", scale=(0, 1, 1)))
    output = tmp_path / "baked.blend"
    assert cli.run(["bake", "--output", str(output)]) == 1
    assert "body 'cube': its scale along X is zero" in capfd.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("arguments", [[], ["bake"], ["fry"]])
def test_usage(arguments, capfd):
    with pytest.raises(SystemExit) as exit_code:
        cli.run(arguments)
    assert exit_code.value.code == 2
    assert "usage: blender -b FILE --command topple" in capfd.readouterr().err
