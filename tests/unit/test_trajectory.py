"""Trajectories in memory and on disk."""

import json

import numpy as np
import pytest
from topple import Report, SceneError, Trajectory


def make(names=("b", "a"), frames=3, report=None) -> Trajectory:
    rng = np.random.default_rng(7)
    size = (frames + 1, len(names))
    states = {
        name: rng.normal(size=(*size, width))
        for name, width in (
            ("position", 3),
            ("orientation", 4),
            ("linear_velocity", 3),
            ("angular_velocity", 3),
        )
    }
    return Trajectory(times=np.arange(frames + 1) / 24, names=names, report=report or Report(), **states)


def test_saved_and_loaded_trajectory_is_the_same_to_the_bit(tmp_path):
    report = Report(
        max_penetration=1e-5, worst_pair=("a", "b"), worst_frame=2, warnings=["w"], unresolved=[{"time": 0.5}]
    )
    report.stage_seconds["solve"] = 0.5
    trajectory = make(report=report)
    trajectory.save(tmp_path / "out.npz")
    loaded = Trajectory.load(tmp_path / "out.npz")
    for name in ("times", "position", "orientation", "linear_velocity", "angular_velocity"):
        assert getattr(loaded, name).tobytes() == getattr(trajectory, name).tobytes()
    assert loaded.names == ("b", "a")
    assert loaded.report == report
    assert loaded.state_hash == trajectory.state_hash == loaded.report.state_hash
    assert [path.name for path in tmp_path.iterdir()] == ["out.npz"]


def test_hash_ignores_the_order_of_adding_but_no_bit_of_state():
    one = make()
    swapped = Trajectory(
        times=one.times,
        position=one.position[:, ::-1],
        orientation=one.orientation[:, ::-1],
        linear_velocity=one.linear_velocity[:, ::-1],
        angular_velocity=one.angular_velocity[:, ::-1],
        names=one.names[::-1],
    )
    assert swapped.state_hash == one.state_hash
    moved = one.position.copy()
    moved[-1, 0, 0] = np.nextafter(moved[-1, 0, 0], np.inf)
    changed = Trajectory(
        one.times, moved, one.orientation, one.linear_velocity, one.angular_velocity, one.names
    )
    assert changed.state_hash != one.state_hash
    renamed = Trajectory(
        one.times, one.position, one.orientation, one.linear_velocity, one.angular_velocity, ("b", "c")
    )
    assert renamed.state_hash != one.state_hash


def test_states_are_read_only_copies():
    trajectory = make()
    with pytest.raises(ValueError, match="read-only"):
        trajectory.position[0, 0, 0] = 1


def test_arrays_that_do_not_fit_are_refused():
    one = make()
    with pytest.raises(SceneError, match="orientation has shape"):
        Trajectory(
            one.times, one.position, one.position, one.linear_velocity, one.angular_velocity, one.names
        )


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 cut off"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(SceneError, match="no whole Topple trajectory"):
        Trajectory.load(tmp_path / "x.npz")


def test_a_file_cut_short_is_refused(tmp_path):
    make().save(tmp_path / "x.npz")
    whole = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SceneError, match="bake it again"):
        Trajectory.load(tmp_path / "x.npz")


def edited(path, **changes):
    """A saved trajectory's file with other values in its header, or other arrays."""
    make().save(path)
    with np.load(path) as archive:
        values = dict(archive)
    arrays = {name: changes.pop(name) for name in list(changes) if name in values}
    header = {**json.loads(str(values["header"])), **changes}
    np.savez(path, **{**values, "header": np.array(json.dumps(header)), **arrays})


@pytest.mark.parametrize(
    "changes",
    [
        {"names": None}, {"names": ["a"]}, {"report": 3}, {"report": {"warmth": 1}}, {"events": [[1, 2]]},
        {"events": 3}, {"times": np.array(3.0)}, {"times": np.array("x")}, {"position": np.array("x")},
        {"header": np.array("{")}, {"header": np.array("3")},
    ],
)  # fmt: skip
def test_files_of_other_content_are_refused(tmp_path, changes):
    edited(tmp_path / "x.npz", **changes)
    with pytest.raises(SceneError, match="trajectory"):
        Trajectory.load(tmp_path / "x.npz")


def test_a_file_with_wrong_bytes_is_refused(tmp_path):
    """Wherever a byte is wrong: or it is of no consequence."""
    make().save(tmp_path / "x.npz")
    whole = (tmp_path / "x.npz").read_bytes()
    refused = 0
    for place in range(0, len(whole), 7):
        wrong = bytes([whole[place] ^ 0x55])
        (tmp_path / "x.npz").write_bytes(whole[:place] + wrong + whole[place + 1 :])
        try:
            assert Trajectory.load(tmp_path / "x.npz").state_hash == make().state_hash
        except SceneError:
            refused += 1
    assert refused > 100


def test_another_version_is_refused_by_number(tmp_path):
    edited(tmp_path / "x.npz", version=99)
    with pytest.raises(SceneError, match="version 99"):
        Trajectory.load(tmp_path / "x.npz")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    make().save(tmp_path / "x.npz")
    before = (tmp_path / "x.npz").read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        make(frames=9).save(tmp_path / "x.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
    assert (tmp_path / "x.npz").read_bytes() == before
