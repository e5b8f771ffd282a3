"""When frames are shown: the solver rests for a window that draws slowly, and for no other."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
from topple_extension.addon.show_pace import PAUSE, ShowPace


class Job(SimpleNamespace):
    """Stands for a bake whose thread rests as soon as it is asked to, or does not."""

    def __init__(self, *, obeys: bool = True) -> None:
        super().__init__(frames=[0], ended=False, resting=False, obeys=obeys)

    def rest(self) -> bool:
        self.resting = self.obeys
        return self.resting

    def go_on(self) -> None:
        self.resting = False


def ticks(pace: ShowPace, job: Job, count: int, *, seconds_to_draw: float) -> list[tuple[float, bool]]:
    """Tick every 0.1 s, later where a frame is drawn; times at which one was shown, and whether at rest."""
    now, shown = 0.0, []
    for _ in range(count):
        job.frames.append(0)
        if pace.due(now, wanted=True):
            shown.append((now, job.resting))
        now = round(now + (max(seconds_to_draw, 0.1) if shown and shown[-1][0] == now else 0.1), 1)
    return shown


def gaps(shown: list[tuple[float, bool]]) -> list[float]:
    """Seconds from one frame that was shown to the next."""
    return [round(after - before, 1) for (before, _), (after, _) in pairwise(shown)]


def test_a_quick_window_shows_often_and_stops_nothing():
    job = Job()
    shown = ticks(ShowPace(job, 0.0), job, 41, seconds_to_draw=0.01)
    assert [resting for _, resting in shown] == [True] + [False] * (len(shown) - 1)
    assert {*gaps(shown)} <= {0.5, 0.6}


def test_for_a_slow_window_the_solver_rests():
    """Drawing takes 0.2 s, and a fifth of the whole time."""
    job = Job()
    shown = ticks(ShowPace(job, 0.0), job, 100, seconds_to_draw=0.2)
    assert all(resting for _, resting in shown)
    assert min(gaps(shown)) >= (1 + PAUSE) * 0.2
    assert not job.resting


def test_nothing_is_shown_before_the_solver_rests():
    job = Job(obeys=False)
    pace = ShowPace(job, 0.0)
    assert not pace.due(0.1, wanted=True)
    job.obeys = True
    assert pace.due(0.2, wanted=True)


@pytest.mark.parametrize("end", [{"ended": True}, {}])
def test_the_solver_goes_on_when_no_more_is_wanted(end):
    job = Job()
    pace = ShowPace(job, 0.0)
    assert pace.due(0.1, wanted=True)
    job.resting = True
    vars(job).update(end)
    assert not pace.due(0.2, wanted=False)
    assert not job.resting


def test_a_frame_is_shown_once():
    job = Job()
    pace = ShowPace(job, 0.0)
    assert pace.due(0.1, wanted=True)
    assert not pace.due(0.2, wanted=True)
    assert not pace.due(9.0, wanted=True)
    job.frames.append(0)
    assert pace.due(9.1, wanted=True)
