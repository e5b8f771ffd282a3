"""A bake as a state machine: stages, progress, cancelling, failing, going on, with and without a thread."""

import sys
import threading
import time

import numpy as np
import pytest
import topple
from addon_host.bakes import carried, request, silent, two_balls
from topple_extension.addon import bake_work, messages
from topple_extension.addon.bake_frames import BakedFrame
from topple_extension.addon.bake_job import SWITCH_INTERVAL, BakeJob
from topple_extension.addon.cache_store import CacheStore

STATES = ("position", "orientation", "linear_velocity", "angular_velocity")


def assert_same(frames, others):
    assert len(frames) == len(others)
    for one, other in zip(frames, others, strict=True):
        for name in {*BakedFrame.__annotations__} - {"figures"}:  # these hold the seconds of work
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def wait_for(job, condition, seconds=60.0):
    """Tick as the window's timer does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        job.tick()
        time.sleep(0.01)


@pytest.fixture(scope="module")
def whole():
    """A bake without a thread and without a disk."""
    job = BakeJob(request())
    job.run(silent)
    return job


def test_plain_loop_is_the_cores_simulation(whole):
    trajectory = topple.simulate(two_balls(), frames=24, fps=24)
    assert whole.state == "finished"
    assert whole.header.names == trajectory.names
    assert whole.header.dynamic == ("ball 0", "ball 1")
    for name in STATES:
        frames = np.stack([getattr(frame, name) for frame in whole.frames])
        np.testing.assert_array_equal(frames, getattr(trajectory, name))
    assert whole.report["notes"] == ["a remark"]
    assert [tuple(event) for event in whole.report["events"]] == list(trajectory.events)
    assert whole.frames[-1].deepest == trajectory.report.max_penetration


def test_thread_gives_the_same_bits(whole):
    job = BakeJob(request())
    job.start()
    wait_for(job, lambda: job.ended)
    assert_same(job.frames, whole.frames)


def test_forces_balance_gravity():
    """A crate at rest: the contact forces add up to m g, to the 1 % that the impulse solver promises."""
    scene = topple.Scene(bodies=[topple.Body("ground", topple.Plane((0, 0, 1), 0), kind="static")])
    scene.add(topple.Body("crate", topple.Box((1, 1, 1)), mass=3.0, position=(0, 0, 0.5)))
    job = BakeJob(request(12, scene))
    job.run(silent)
    assert job.frames[-1].contact_force.sum(axis=0)[2] == pytest.approx(3.0 * 9.81, rel=0.01)


def test_threads_switch_quickly_only_while_it_runs():
    usual, job = sys.getswitchinterval(), BakeJob(request(2))
    job.start()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL)
    wait_for(job, lambda: job.ended)
    assert sys.getswitchinterval() == usual


def test_stages_come_in_order():
    seen, job = [], BakeJob(request(3))
    job.run(lambda stage, done, total: seen.append((stage, done, total)))
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages == ["compile", "prepare", "simulate", "finished"]
    assert [done for stage, done, _ in seen if stage == "simulate"] == [0, 0, 1, 2, 3]


def first_frame():
    events = bake_work.bake(request(0), lambda: False)
    return next(event.frame for event in events if isinstance(event, bake_work.FrameBaked))


def test_time_left_follows_the_pace():
    now = [100.0]
    job = BakeJob(request(10), clock=lambda: now[0])
    frame = first_frame()
    job.take(bake_work.StageBegan("simulate"))
    assert job.seconds_left is None
    for _ in range(5):
        now[0] += 2.0
        job.take(bake_work.FrameBaked(frame))
    assert job.done == 4
    assert job.seconds_left == pytest.approx(2.0 * 6)
    now[0] += 0.5
    assert job.seconds_left == pytest.approx(2.0 * 6 - 0.5)


def test_time_left_where_many_frames_come_at_a_tick():
    now = [100.0]
    job = BakeJob(request(1000), clock=lambda: now[0])
    frame = first_frame()
    job.take(bake_work.StageBegan("simulate"))
    job.take(bake_work.FrameBaked(frame))
    for _ in range(10):
        now[0] += 0.1
        for _ in range(50):
            job.take(bake_work.FrameBaked(frame))
    assert job.done == 500
    assert job.seconds_left == pytest.approx(1.0, rel=0.1)


def test_the_thread_rests_when_asked(whole):
    job = BakeJob(request())
    job.rest()
    job.start()
    wait_for(job, lambda: job.rest() and job.frames)
    time.sleep(0.1)
    job.tick()
    assert len(job.frames) == 1
    job.go_on()
    wait_for(job, lambda: job.ended)
    assert_same(job.frames, whole.frames)


def test_a_bake_at_rest_can_be_cancelled():
    job = BakeJob(request())
    job.rest()
    job.start()
    wait_for(job, lambda: job.rest() and job.frames)
    job.cancel()
    assert job.join(10.0)
    job.tick()
    assert job.state == "cancelled"


def test_cancel_keeps_the_frames_so_far(tmp_path, whole):
    store = CacheStore(tmp_path / "bake")
    job = BakeJob(request(100000, store=store))
    job.start()
    wait_for(job, lambda: job.done >= 5)
    job.cancel()
    assert job.cancelling
    wait_for(job, lambda: job.ended)
    assert job.state == "cancelled"
    assert job.join(10.0)
    stored = store.load()
    assert_same(stored.frames, job.frames)
    assert store.checkpoints()[-1] == job.done
    count = min(len(job.frames), 25)
    assert_same(job.frames[:count], whole.frames[:count])


def test_bad_input_fails_in_words():
    def build():
        raise topple.ShapeError("it is flat", body="sheet")

    job = BakeJob(bake_work.BakeRequest(
        build=build, solver=topple.ImpulseSolver, first_frame=1, frames=5, fps=24.0))  # fmt: skip
    job.run(silent)
    assert (job.state, job.error) == ("failed", "body 'sheet': it is flat")
    assert job.frames == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_bug_in_the_worker_ends_the_job(monkeypatch):
    def build():
        raise ZeroDivisionError

    job = BakeJob(bake_work.BakeRequest(
        build=build, solver=topple.ImpulseSolver, first_frame=1, frames=5, fps=24.0))  # fmt: skip
    monkeypatch.setattr(threading, "excepthook", lambda arguments: None)
    job.start()
    wait_for(job, lambda: job.ended)
    assert (job.state, job.error) == ("failed", messages.WORKER_DIED)


@pytest.mark.parametrize("stopped_at", [3, 10, 17])
def test_resumed_bake_has_the_same_bits(tmp_path, whole, stopped_at):
    """Cancelled, read back from disk by another job, finished: every frame and event as in one go."""
    store = CacheStore(tmp_path / "bake")
    first = BakeJob(request(store=store))
    for event in bake_work.bake(first.request, lambda: first.done >= stopped_at):
        first.take(event)
    assert (first.state, first.done) == ("cancelled", stopped_at)
    second = BakeJob(
        request(store=CacheStore(store.folder), resume_at=stopped_at), frames=store.load().frames
    )
    second.run(silent)
    assert second.state == "finished"
    assert second.notes == []
    assert_same(second.frames, whole.frames)
    assert_same(store.load().frames, whole.frames)
    assert second.report["events"] == whole.report["events"]


@pytest.mark.parametrize("frame", [0, 4, 13, 24])
def test_resume_from_any_frame(tmp_path, whole, frame):
    """From a checkpoint at or before the frame; those it had no checkpoint for come out the same."""
    store = CacheStore(tmp_path / "bake")
    BakeJob(request(store=store)).run(silent)
    again = BakeJob(request(store=store, resume_at=frame), frames=store.load().frames)
    kept = []
    for event in bake_work.bake(again.request, lambda: False):
        again.take(event)
        if isinstance(event, bake_work.SceneBuilt):
            kept.append(event.kept)
    assert 0 <= kept[0] <= frame
    assert_same(again.frames, whole.frames)


def test_a_longer_bake_goes_on(tmp_path):
    """More frames than before: the animated body is known for longer, and its end is not in the way."""
    store = CacheStore(tmp_path / "bake")
    BakeJob(request(12, scene_until(12), store=store)).run(silent)
    longer = BakeJob(request(24, scene_until(24), store=store, resume_at=12), frames=store.load().frames)
    longer.run(silent)
    straight = BakeJob(request(24, scene_until(24)))
    straight.run(silent)
    assert longer.notes == []
    assert_same(longer.frames, straight.frames)


def scene_until(frames):
    scene = two_balls()
    scene.bodies[-1] = carried(frames)
    return scene


def test_changed_input_begins_anew_and_says_so(tmp_path):
    store = CacheStore(tmp_path / "bake")
    BakeJob(request(6, store=store)).run(silent)
    changed = two_balls()
    changed.bodies[1] = topple.Body("ball 0", topple.Sphere(0.2), position=(0, 0, 0.6))
    again = BakeJob(request(6, changed, store=store, resume_at=6), frames=store.load().frames)
    again.run(silent)
    assert again.notes == ["baked from the start: body 'ball 0' changed"]
    straight = BakeJob(request(6, changed))
    straight.run(silent)
    assert_same(again.frames, straight.frames)


def test_a_disk_that_refuses_leaves_the_bake_in_memory(tmp_path, whole, monkeypatch):
    store, written = CacheStore(tmp_path / "bake"), []

    def full(frame):
        if len(written) == 7:
            raise OSError(28, "No space left on device")
        CacheStore.keep_frame(store, frame)
        written.append(frame)

    monkeypatch.setattr(store, "keep_frame", full)
    job = BakeJob(request(store=store))
    job.run(silent)
    assert job.state == "finished"
    assert len(job.notes) == 1
    assert "No space left on device" in job.notes[0]
    assert_same(job.frames, whole.frames)
    assert len(store.load().frames) == 7


def test_ends_early_once_all_is_at_rest():
    scene = topple.Scene(bodies=[topple.Body("ground", topple.Plane((0, 0, 1), 0), kind="static")])
    scene.add(topple.Body("crate", topple.Box((1, 1, 1)), position=(0, 0, 0.7)))
    job = BakeJob(request(1000, scene, until_rest=0.5))
    job.run(silent)
    assert job.state == "finished"
    assert 12 < job.done < 100
    assert not job.frames[-1].moving.any()
