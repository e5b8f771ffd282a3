"""`blender -b FILE --command topple bake --output OUT.blend`."""

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


def test_missing_folder(tmp_path, capfd):
    cube = make_body(add_cube("cube"))
    folder = tmp_path / "nowhere"
    assert cli.run(["bake", "--output", str(folder / "baked.blend")]) == 1
    message = capfd.readouterr().err.strip()
    assert message == f"topple: the folder '{folder}' does not exist: create it or choose another --output"
    assert not folder.exists()
    assert cube.animation_data is None


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
