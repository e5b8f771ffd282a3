"""The command `topple`, run inside this process; one run as a command of its own."""

import subprocess
import sys

import numpy as np
import pytest
from topple import Body, Box, Capsule, Compound, Cone, ConvexHull, Cylinder, Plane, Scene, Sphere, Trajectory
from topple.cli import main

CONTACTS = ["plot", "-o", "a.png", "--contacts", "scene.json"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a scene of a falling crate and a hand-made trajectory of it, made current."""
    scene = Scene()
    scene.add(Body("floor", Plane((0, 0, 1), 0), kind="static"))
    scene.add(Body("crate", Box((1, 1, 1)), mass=1, position=(0, 0, 2)))
    scene.save(tmp_path / "scene.json")
    write_fall(tmp_path / "fall.npz", frames=5)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_fall(path, frames: int) -> None:
    """Free fall from z = 2 m: the crate's underside meets the floor after 0.55 s, 13 frames."""
    times = np.arange(frames + 1) / 24
    zero = np.zeros((frames + 1, 2, 3))
    position, velocity = zero.copy(), zero.copy()
    position[:, 1, 2] = 2 - 9.81 * times**2 / 2
    velocity[:, 1, 2] = -9.81 * times
    orientation = np.zeros((frames + 1, 2, 4))
    orientation[..., 0] = 1
    Trajectory(times, position, orientation, velocity, zero, ("floor", "crate")).save(path)


def test_verify_of_a_clean_trajectory(folder, capsys):
    assert main(["verify", "scene.json", "fall.npz"]) == 0
    assert "worst penetration  0 m" in capsys.readouterr().out


def test_verify_finds_penetration(folder, capsys):
    # Frame 14: z = 2 - 9.81 (14/24)^2 / 2 = 0.3309, half the crate is 0.5: 0.169 m below the floor.
    write_fall(folder / "deep.npz", frames=14)
    assert main(["verify", "scene.json", "deep.npz"]) == 1
    assert "worst penetration  0.169 m, 'floor' and 'crate' in frame 14" in capsys.readouterr().out


def test_bake_then_verify(folder, capsys):
    assert main(["bake", "scene.json", "-o", "out.npz", "--frames", "4", "--fps", "20"]) == 0
    assert "wrote out.npz: 2 bodies, 4 frames" in capsys.readouterr().out
    trajectory = Trajectory.load("out.npz")
    np.testing.assert_allclose(trajectory.times, np.arange(5) / 20)
    # Free fall: z = 2 - g t^2 / 2
    np.testing.assert_allclose(trajectory.position[:, 1, 2], 2 - 9.81 * trajectory.times**2 / 2, atol=1e-9)
    assert main(["verify", "scene.json", "out.npz"]) == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scene", [[], ["--scene", "scene.json"]])
@pytest.mark.parametrize(("name", "magic"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_plot_writes_pictures(folder, capsys, scene, name, magic):
    assert main(["plot", "fall.npz", "-o", name, *scene]) == 0
    assert (folder / name).read_bytes().startswith(magic)
    assert ("--scene" in capsys.readouterr().out) == (scene == [])


def test_plot_with_a_scene_names_axes_with_units(folder):
    main(["plot", "fall.npz", "-o", "a.svg", "--scene", "scene.json"])
    drawing = (folder / "a.svg").read_text()
    for label in ("height z [m]", "speed [m/s]", "energy [J]", "penetration [m]", "time [s]", "crate"):
        assert f"<!-- {label} -->" in drawing


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("shape", "place", "title"),
    [
        (Box((1, 1, 1)), (0, 0, 0.5), "separation 0"),
        (Cylinder(0.5, 1), (0, 0, 0.5), "separation 0"),
        (Cone(0.5, 1), (0, 0, 0.53), "separation 3 cm"),
        (Sphere(0.5), (0, 0, 0.498), "overlap 2 mm"),
        (Capsule(0.5, 1), (0, 0, 2), "separation 1 m"),
        (ConvexHull(np.eye(4, 3)), (0, 0, -0.25), "overlap 25 cm"),
        (Compound([(Box((1, 1, 1)), (x, 0, 0), (1, 0, 0, 0)) for x in (-1, 1)]), (0, 0, 0.5), "separation 0"),
    ],
)
def test_plot_contacts(folder, capsys, shape, place, title):
    scene = Scene(bodies=[Body("floor", Plane((0, 0, 1), 0), kind="static")])
    scene.add(Body("_$thing$", shape, position=place, orientation=(1, 0, 0, 0)))
    scene.save(folder / "pair.json")
    assert main(["plot", "--contacts", "pair.json", "_$thing$", "floor", "-o", "a.svg"]) == 0
    assert capsys.readouterr().out == "wrote a.svg\n"
    drawing = (folder / "a.svg").read_text()
    assert f"<!-- '_$thing$' and 'floor': {title} -->" in drawing
    for label in ("witness plane", "closest points", "'_$thing$'", "'floor'"):
        assert f"<!-- {label} -->" in drawing


def test_plot_contacts_in_a_corner_of_a_large_floor(folder):
    """The floor's size does not make the crate small: four points are told, and the picture is a png."""
    scene = Scene(bodies=[Body("floor", Box((1e3, 1e3, 1)), kind="static")])
    scene.add(Body("crate", Box((0.1, 0.1, 0.1)), position=(499, 499, 0.55)))
    scene.save(folder / "pair.json")
    for name in ("a.png", "a.svg"):
        assert main(["plot", "-o", name, "--contacts", "pair.json", "crate", "floor"]) == 0
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    drawing = (folder / "a.svg").read_text()
    assert "<!-- 4 contact points, normals -->" in drawing
    assert "<!-- 5 cm -->" in drawing, "the bar of the scale"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["juggle"], "invalid choice: 'juggle'"),
        (["bake", "scene.json", "--frames", "3"], "required: -o/--output"),
        (["bake", "scene.json", "-o", "out.npz"], "required: --frames"),
        (["bake", "scene.json", "-o", "out.npz", "--frames", "0"], "'0' is no number of frames"),
        (["bake", "scene.json", "-o", "out.npz", "--frames", "2.5"], "whole number"),
        (["bake", "scene.json", "-o", "out.npz", "--frames", "3", "--fps", "0"], "'0' is no frame rate"),
        (["bake", "scene.json", "-o", "out.npz", "--frames", "3", "--fps", "nan"], "above 0"),
        (["bake", "scene.json", "-o", "out.npz", "--frames", "3", "--solver", "magic"], "'magic'"),
        (["bake", "nowhere.json", "-o", "out.npz", "--frames", "3"], "cannot use nowhere.json: No such file"),
        (["bake", "scene.json", "-o", "none/out.npz", "--frames", "3"], "make the folder none first"),
        (["bake", "scene.json", "-o", "out.txt", "--frames", "3"], "the ending .npz"),
        (["bake", "fall.npz", "-o", "out.npz", "--frames", "3"], "fall.npz is not JSON"),
        (["bake", "bad.json", "-o", "out.npz", "--frames", "3"], "body 'crate': mass is -1"),
        (["verify", "scene.json", "scene.json"], "no whole Topple trajectory"),
        (["verify", "other.json", "fall.npz"], "give the scene it was baked from"),
        (["plot", "fall.npz", "-o", "a.gif"], "the ending .png or .svg or .pdf"),
        (["plot", "fall.npz", "-o", "none/a.png"], "make the folder none first"),
        (["plot", "fall.npz", "-o", "a.png", "--scene", "other.json"], "the scene it was baked from"),
        (["plot", "-o", "a.png"], "one of the arguments OUT.npz --contacts is required"),
        ([*CONTACTS, "floor", "crate", "fall.npz"], "not allowed with argument --contacts"),
        ([*CONTACTS, "floor"], "expected 3 arguments"),
        ([*CONTACTS, "floor", "box"], "the scene has no body 'box'; it has 'floor', 'crate'"),
        ([*CONTACTS, "crate", "crate"], "'crate' was named twice; name two different bodies"),
        ([*CONTACTS, "floor", "crate", "--scene", "scene.json"], "leave out --scene"),
    ],
)
def test_errors_are_one_line_and_leave_nothing_behind(folder, capsys, arguments, message):
    (folder / "bad.json").write_text((folder / "scene.json").read_text().replace('"mass": 1.0', '"mass": -1'))
    Scene(bodies=[Body("stranger", Box((1, 1, 1)))]).save(folder / "other.json")
    before = sorted(path.name for path in folder.iterdir())
    try:
        code = main(arguments)
    except SystemExit as stop:  # how argparse ends
        code = stop.code
    captured = capsys.readouterr()
    errors = [line for line in captured.err.splitlines() if line.startswith("topple: error: ")]
    assert code == 2
    assert len(errors) == 1
    assert message in errors[0]
    assert captured.err.strip().endswith(errors[0])
    assert "Traceback" not in captured.err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_cancelling_writes_nothing(folder, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("topple.simulate", interrupted)
    assert main(["bake", "scene.json", "-o", "out.npz", "--frames", "3"]) == 130
    assert "cancelled" in capsys.readouterr().err
    assert not (folder / "out.npz").exists()


def test_help_tells_exit_codes(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["verify", "--help"])
    assert stop.value.code == 0
    assert "overlap by more than the tolerance" in capsys.readouterr().out


def test_as_a_command(folder):
    command = [sys.executable, "-m", "topple", "verify", "scene.json"]
    done = subprocess.run([*command, "fall.npz"], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0
    assert "worst penetration  0 m" in done.stdout
    done = subprocess.run([*command, "none.npz"], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "cannot use none.npz" in done.stderr


@pytest.mark.slow
def test_demo(folder, capsys):
    assert main(["demo", "-o", "shown"]) == 0
    assert sorted(path.name for path in (folder / "shown").iterdir()) == ["demo.json", "demo.npz", "demo.png"]
    trajectory = Trajectory.load("shown/demo.npz")
    top = trajectory.position[:, [name.startswith("brick 4") for name in trajectory.names], 2]
    assert top[0].min() == pytest.approx(0.9)
    assert top[-1].min() < 0.5, "the ball knocks bricks off the wall"
