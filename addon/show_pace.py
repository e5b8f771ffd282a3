"""When the window shows a frame of a bake that goes on. Pure: no bpy."""

from .bake_job import BakeJob

LATE = 0.15  # seconds between two ticks that tell of a window that takes its time to draw
PAUSE = 4.0  # rest after a frame was drawn, in units of the time that took


class ShowPace:
    """Asked at every tick; keeps what drawing costs to a part of the bake, and the window alive.

    While the thread computes, a window without a graphics card takes twice as long to draw. So the thread
    rests for that time; where drawing turns out to be quick, it does not.
    """

    def __init__(self, job: BakeJob, now: float) -> None:
        self._job = job
        self._last_tick = self._next = now
        self._asked: float | None = None  # when a frame was wanted that is not drawn yet
        self._drawing = False
        self._frames = 0  # that had come when the last one was shown
        self._slow: bool | None = None  # whether drawing takes its time; None until that is known

    def due(self, now: float, *, wanted: bool) -> bool:
        """Whether to show the latest frame at this tick; the next tick comes when that is drawn.

        Args:
            now: Any clock [s].
            wanted: Whether the artist wants to see frames at all.
        """
        if self._drawing:
            self._note_drawn(now)
        self._last_tick = now
        if not wanted or self._job.ended:
            self._asked = None
            self._job.go_on()
            return False
        if now < self._next or len(self._job.frames) == self._frames:
            return False
        self._asked = now if self._asked is None else self._asked
        if self._slow is not False and not self._job.rest():
            return False
        self._frames, self._drawing = len(self._job.frames), True
        return True

    def _note_drawn(self, now: float) -> None:
        assert self._asked is not None
        self._slow = self._slow or now - self._last_tick > LATE
        self._next = now + PAUSE * (now - self._asked)
        self._asked, self._drawing = None, False
        self._job.go_on()
