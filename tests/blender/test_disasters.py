"""What goes wrong while a bake runs: nothing is lost, and a message says what to do."""

import os
import resource
import signal
from pathlib import Path

import bpy
import numpy as np
import pytest
from blender.objects import add_cube, add_mesh, key, make_body, set_parent, world_path
from topple_extension.addon import baking, cache_store, live_bakes, preview, scene_reader, watch

FRAMES = range(1, 26)
SHEET = [(-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)]


@pytest.fixture
def cube(tmp_path) -> bpy.types.Object:
    """A cube that falls onto the ground, in a file."""
    make_body(add_mesh("ground", SHEET, [(0, 1, 2, 3)]), kind="STATIC", shape="PLANE")
    cube = make_body(add_cube("cube", location=(0, 0, 3), rotation_euler=(0.5, 0.3, 0.2)), restitution=0.4)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    return cube


def prepare() -> live_bakes.LiveBake:
    """A bake on disk that has not begun."""
    context = bpy.context
    reading = scene_reader.read_scene(context)
    return live_bakes.prepare(
        context.scene, reading, watch.watch(context.scene, context.view_layer), on_disk=True
    )


def bake(**options) -> live_bakes.LiveBake:
    """Press Bake."""
    assert bpy.ops.topple.bake(**{"keyframes": False, "cache": True, **options}) == {"FINISHED"}
    return live_bakes.of_scene(bpy.context.scene)


def after(frames: int, action):
    """Does something once when so many frames are baked."""
    done = []

    def progress(_stage: str, baked: int, _total: int) -> None:
        if baked == frames and not done:
            done.append(action())

    return progress


@pytest.mark.filterwarnings("ignore:This process")  # forked with threads: the child touches none of theirs
def test_killed_while_writing_a_frame_and_resumed(cube, monkeypatch):
    """The process dies by SIGKILL in the middle of a file; the frames before it are kept to the bit."""
    expected = bake().trajectory().state_hash
    interrupted = prepare()
    bpy.ops.wm.save_mainfile()
    child = os.fork()
    if child == 0:
        append, written = cache_store.append_frame, []

        def die(path, frame):
            before = path.stat().st_size
            append(path, frame)
            written.append(frame)
            if len(written) == 23:
                os.truncate(path, (before + path.stat().st_size) // 2)
                os.kill(os.getpid(), signal.SIGKILL)

        monkeypatch.setattr(cache_store, "append_frame", die)
        baking.bake_now(interrupted, lambda *_: None)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    found = live_bakes.of_scene(bpy.context.scene)
    assert len(found.frames) == 22
    assert not found.complete
    resumed = bake(resume="LAST")
    assert resumed.job.notes == []
    assert resumed.trajectory().state_hash == expected


def test_a_full_disk_leaves_the_bake_in_memory(cube):
    """Files may not grow over 2 kB, as if no more room were left."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    unfinished = prepare()
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, limits[1]))
    try:
        baking.bake_now(unfinished, lambda *_: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert unfinished.complete
    (warning,) = baking.summary(unfinished).warnings
    assert "cannot be written" in warning
    assert "write its keyframes before you close Blender" in warning
    assert bpy.ops.topple.write_keyframes() == {"FINISHED"}
    assert world_path(cube, [25])[0, 2, 3] < 2.9


def test_a_folder_that_cannot_be_made_is_replaced_by_the_users(cube):
    """Where the bake's folder should be lies a file: no more can be made there than in a read-only folder."""
    blend = Path(bpy.data.filepath)
    blend.with_suffix(".topple").write_text("in the way")
    kept = bake()
    assert kept.store.folder.is_relative_to(live_bakes.user_folder())
    assert any("cannot be written to, so the bake is kept in" in note for note in kept.job.notes)
    bpy.ops.topple.clear_bake()
    assert blend.with_suffix(".topple").read_text() == "in the way"


def test_renamed_and_deleted_while_baking(cube):
    make_body(add_cube("other", location=(5, 0, 3)))

    def disturb() -> None:
        cube.name = "renamed"
        bpy.data.objects.remove(bpy.data.objects["other"])

    disturbed = prepare()
    baking.bake_now(disturbed, after(10, disturb))
    (warning,) = baking.summary(disturbed).warnings
    assert warning == "'other' no longer exist and were left out: bake again, or undo the deletion and resume"
    assert bpy.ops.topple.write_keyframes() == {"FINISHED"}
    assert world_path(cube, [20])[0, 2, 3] < 2.9


def test_undo_while_baking(cube):
    """Undo, to before the scene's first bake, replaces all of Blender's data under the thread: it goes on."""
    expected = bake().trajectory().state_hash
    bpy.ops.topple.clear_bake()
    bpy.ops.ed.undo_push(message="before")
    cube.location.x = 1.0
    bpy.ops.ed.undo_push(message="moved")
    running = prepare()
    running.job.start()
    assert bpy.ops.ed.undo() == {"FINISHED"}
    while not running.job.tick():
        bpy.context.scene.frame_set(2)
    scene, cube = bpy.context.scene, bpy.data.objects["cube"]
    assert running.job.state == "finished"
    assert cube.topple.enabled
    assert live_bakes.of_scene(scene) is running
    assert running.objects() == {"cube": cube}
    assert watch.changes_since(scene, bpy.context.view_layer, running.watched) == ["the place of 'cube'"]
    assert bpy.ops.topple.write_keyframes() == {"FINISHED"}
    assert world_path(cube, [1])[0, 0, 3] == 1.0
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath)
    scene, cube = bpy.context.scene, bpy.data.objects["cube"]
    assert live_bakes.of_scene(scene).complete
    assert bpy.ops.topple.clear_bake() == {"FINISHED"}
    assert tuple(cube.location) == (0, 0, 3)
    assert bake().trajectory().state_hash == expected


def test_undo_while_the_bake_is_shown(cube):
    """What a preview has put away is still there after undo and redo, and what comes is shown."""
    key(cube, "scale", {1: (1, 1, 1), 25: (1, 1, 2)})
    key(cube, "location", {1: (0, 0, 3), 25: (0, 0, 4)})
    other = add_cube("other", location=(9, 9, 9))
    bpy.ops.ed.undo_push(message="before")
    other.location.x = 5.0
    bpy.ops.ed.undo_push(message="moved")
    running = prepare()
    running.job.start()
    while len(running.frames) < 5:  # one after the other: it runs still when the first are shown
        running.job.go_on()
        running.job.rest()
        running.job.tick()
    assert running.running
    preview.begin(running)
    bpy.context.scene.frame_set(5)
    for step, x in ((bpy.ops.ed.undo, 9.0), (bpy.ops.ed.redo, 5.0)):
        assert step() == {"FINISHED"}
        assert bpy.data.objects["other"].location.x == x
        bpy.context.scene.frame_set(3)
        fallen = 3 - 0.5 * 9.81 * (2 / 24) ** 2
        assert bpy.data.objects["cube"].location.z == pytest.approx(fallen, abs=1e-4)
    running.job.go_on()
    while not running.job.tick():
        pass
    assert bpy.ops.topple.write_keyframes() == {"FINISHED"}
    assert bpy.ops.topple.clear_bake() == {"FINISHED"}
    bpy.context.scene.frame_set(25)
    cube = bpy.data.objects["cube"]
    assert (tuple(cube.location), tuple(cube.scale)) == ((0, 0, 4), (1, 1, 2))


def test_two_scenes(cube):
    """Each scene of a file has a bake of its own, shown in that scene alone."""
    first = bpy.context.scene
    bake()
    path = world_path(cube, FRAMES)
    second = bpy.data.scenes.new("second")
    second.frame_end = 25
    bpy.context.window.scene = second
    ball = make_body(add_cube("ball", location=(0, 0, 9)))
    bake()
    assert world_path(ball, [25])[0, 2, 3] == pytest.approx(9 - 0.5 * 9.81, abs=1e-4)
    bpy.context.window.scene = first
    np.testing.assert_array_equal(world_path(cube, FRAMES), path)
    bpy.ops.topple.clear_bake()
    assert tuple(cube.location) == (0, 0, 3)
    assert live_bakes.of_scene(second).complete


def test_many_bodies_under_one_parent(cube):
    """Children of an animated parent are read and keyed together; each goes where it would go alone."""
    parent = bpy.data.objects.new("parent", None)
    bpy.context.collection.objects.link(parent)
    parent.rotation_euler = (0.3, 0.2, 1.0)
    for frame, place in ((1, (0, 0, 0)), (25, (1, 2, 3))):
        parent.location = place
        parent.keyframe_insert("location", frame=frame)
    children = [make_body(add_cube(f"child {i}", location=(4.0 * i, 9, 9))) for i in range(3)]
    for child in children:
        set_parent(child, parent, keep=True)
    bpy.context.scene.frame_set(1)
    starts = [child.matrix_world.translation.copy() for child in children]
    bake()
    bpy.context.scene.frame_set(13)
    for child, start in zip(children, starts, strict=True):
        fallen = child.matrix_world.translation - start
        np.testing.assert_allclose(fallen, (0, 0, -0.5 * 9.81 * 0.5**2), atol=1e-4)


def test_ten_thousand_objects():
    bpy.context.scene.frame_end = 3
    mesh = add_cube("first").data
    for i in range(1, 10_000):
        obj = bpy.data.objects.new(f"cube {i}", mesh)
        obj.location = (3.0 * (i % 100), 3.0 * (i // 100), 0.0)
        bpy.context.collection.objects.link(obj)
    for obj in bpy.context.scene.objects:
        obj.topple.enabled, obj.topple.shape = True, "BOX"
    kept = bake(cache=False)
    bpy.context.scene.frame_set(3)
    fallen = -0.5 * 9.81 * (2 / 24) ** 2
    heights = np.array([obj.location.z for obj in bpy.context.scene.objects])
    np.testing.assert_allclose(heights, fallen, atol=1e-5)
    assert len(kept.objects()) == 10_000
    assert bpy.ops.topple.clear_bake() == {"FINISHED"}
    assert not np.any([obj.location.z for obj in bpy.context.scene.objects])
