"""The folder of a bake: whole files, a version stamp, spoiled and foreign folders, where it lies."""

import json
import os

import numpy as np
import pytest
import topple
from addon_host.bakes import request, silent
from topple_extension.addon.bake_frames import BakedFrame
from topple_extension.addon.bake_job import BakeJob
from topple_extension.addon.cache_store import CHECKPOINTS, CacheStore, cache_folder


@pytest.fixture
def store(tmp_path):
    store = CacheStore(tmp_path / "shot.topple" / "key")
    BakeJob(request(30, store=store, objects={"turns": np.arange(3.0)})).run(silent)
    return store


def test_what_is_kept_is_read_back(store):
    job = BakeJob(request(30))
    job.run(silent)
    stored = store.load()
    assert stored.header == job.header
    assert stored.report["events"] == json.loads(json.dumps(job.report["events"]))
    np.testing.assert_array_equal(stored.objects["turns"], np.arange(3.0))
    for one, other in zip(stored.frames, job.frames, strict=True):
        for name in {*BakedFrame.__annotations__} - {"figures"}:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype


def test_checkpoints_stay_few(tmp_path):
    store = CacheStore(tmp_path)
    for index in range(2000):
        store.keep_checkpoint(index, lambda path: path.write_bytes(b""))
        assert len(store.checkpoints()) <= CHECKPOINTS
    *even, _newest = store.checkpoints()
    gaps = np.diff([0, *even])  # the start needs none
    assert gaps.max() == gaps.min()


@pytest.mark.parametrize("lost", [1, 100, 10_000])
def test_a_killed_bake_keeps_the_whole_frames(store, lost):
    """However much is lost of the last frames, the others are a bake that goes on to the same end."""
    whole, size = store.load(), (store.folder / "frames").stat().st_size
    os.truncate(store.folder / "frames", size - lost)
    (store.folder / ".report.json.abc").write_bytes(b"half a rep")
    left = store.load().frames
    assert 31 - lost // (size // 31) - 2 < len(left) < 31
    again = BakeJob(request(30, store=store, resume_at=len(left) - 1), frames=left)
    again.run(silent)
    assert again.notes == []
    for one, other in zip(store.load().frames, whole.frames, strict=True):
        np.testing.assert_array_equal(one.position, other.position)


@pytest.mark.parametrize("name", ["bake.json", "objects.npz"])
def test_spoiled_files_are_refused(store, name):
    content = (store.folder / name).read_bytes()
    (store.folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(topple.SceneError, match="missing or damaged: bake again"):
        store.load()


@pytest.mark.parametrize("place", [0, 4, 8, 11, 12, 15, 16, "middle"])
def test_a_changed_byte_in_a_frame_is_noticed(store, place):
    """Of its head (checksums and sizes) or of its content."""
    path = store.folder / "frames"
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if place == "middle" else place] ^= 1
    path.write_bytes(content)
    with pytest.raises(topple.SceneError, match="missing or damaged: bake again"):
        store.load()


def test_lost_frames_are_noticed(store):
    (store.folder / "frames").unlink()
    with pytest.raises(topple.SceneError, match="missing or damaged: bake again"):
        store.load()


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such permissions")
def test_files_may_be_read_by_whom_the_umask_allows(store):
    mask = os.umask(0o022)
    os.umask(mask)
    assert {path.stat().st_mode & 0o777 for path in store.folder.iterdir()} == {0o666 & ~mask}


def test_other_versions_are_refused(store):
    header = json.loads((store.folder / "bake.json").read_text())
    assert header["topple"] == topple.__version__
    (store.folder / "bake.json").write_text(json.dumps({**header, "version": 99}))
    with pytest.raises(topple.SceneError, match="another version"):
        store.load()


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(topple.SceneError, match="missing or damaged"):
        CacheStore(tmp_path / "nowhere").load()


def test_size_and_clearing(store):
    assert store.size() == sum(path.stat().st_size for path in store.folder.iterdir())
    store.clear()
    assert not store.folder.exists()
    assert not store.folder.parent.exists()
    store.clear()


def test_the_folder_lies_beside_the_file(tmp_path):
    folder, moved = cache_folder(str(tmp_path / "shot.blend"), tmp_path / "user", "key")
    assert folder == tmp_path / "shot.topple" / "key"
    assert not moved
    assert not folder.exists()


def test_files_never_saved_use_the_users_folder(tmp_path):
    assert cache_folder("", tmp_path, "key") == (tmp_path / "key", False)


def test_read_only_folders_are_seen(tmp_path, monkeypatch):
    def refuse(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert cache_folder(str(tmp_path / "shot.blend"), tmp_path / "user", "key") == (
        tmp_path / "user" / "key",
        True,
    )
