"""The report says what was found, and where."""

import pytest
import topple
from addon_host.bakes import request, silent, two_balls
from topple_extension.addon.bake_job import BakeJob
from topple_extension.addon.findings import findings


def report_of(scene, frames=24):
    job = BakeJob(request(frames, scene))
    job.run(silent)
    return findings(job.frames, job.header.names, 1, 24.0, job.report["report"], 1e-4), job


def test_a_good_bake():
    found, job = report_of(two_balls())
    assert not any(finding.bad for finding in found)
    assert found[0].text.startswith("Deepest overlap") or found[0].text == "No overlap"
    if found[0].frame is not None:
        assert job.frames[found[0].frame - 1].deepest == pytest.approx(job.frames[-1].deepest)
    assert any(finding.text.startswith("Slowest stage: ") for finding in found)
    assert any(f"{job.frames[0].energy:.4g}\u00a0J at the start" in finding.text for finding in found)


def test_overlaps_at_the_start_are_warned_of_and_can_be_selected():
    scene = topple.Scene(gravity=(0, 0, 0))
    for i in range(2):
        scene.add(topple.Body(f"crate {i}", topple.Box((1, 1, 1)), position=(0.7 * i, 0, 0)))
    found, _ = report_of(scene, 4)
    (warning,) = [finding for finding in found if "overlap" in finding.text and "start" in finding.text]
    assert (warning.bad, warning.frame, warning.bodies) == (True, 1, ("crate 0", "crate 1"))


def test_steps_that_did_not_settle_name_their_bodies():
    _, job = report_of(two_balls())
    report = {
        "unresolved": [{"time": 0.5, "islands": 1, "residual": 1e-3, "pair": list(job.header.names[:2])}]
    }
    found = findings(job.frames, job.header.names, 1, 24.0, report, 1e-4)
    step = next(finding for finding in found if "at 0.500\u00a0s" in finding.text)
    assert (step.bad, step.frame, set(step.bodies)) == (True, 13, set(job.header.names[:2]))
