"""A bake while it runs: a state machine that is fed with events of the work and asked to tick.

The window's timer calls `tick`, which takes the events that a worker thread has put into a queue; without a
window `run` takes them one after the other. Pure: no bpy.
"""

from __future__ import annotations  # naming core's types must not load the solver

import queue
import sys
import threading
import time as clock
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import core
from . import messages
from .bake_frames import BakedFrame
from .bake_work import BakeRequest, Ended, Event, FrameBaked, Noted, SceneBuilt, StageBegan, bake
from .cache_store import BakeHeader

State = Literal["waiting", "compile", "prepare", "simulate", "finished", "cancelled", "failed"]
# Blender's window takes Python's lock anew for each of hundreds of panels it draws, and each time waits this
# long for a thread that computes [s]; with Python's usual 5 ms it would stand still for a second.
SWITCH_INTERVAL = 5e-5
RECENT, RECENT_SECONDS = 20, 1.0  # the time left is foretold by so many of the last frames, and so long


@dataclass
class BakeJob:
    """One bake.

    Attributes:
        request: What is to be baked.
        frames: The frames so far; those of an earlier bake first, where this one goes on with it.
        state: Stage of the work, or how it ended.
        header: What is solved; None until that is known.
        scene: The core's scene; None until it is built.
        notes: What the artist should know.
        error: Why it failed.
        report: What the solver found; None until it ended.
    """

    request: BakeRequest
    frames: list[BakedFrame] = field(default_factory=list)
    state: State = "waiting"
    header: BakeHeader | None = None
    scene: core.Scene | None = None
    notes: list[str] = field(default_factory=list)
    error: str = ""
    report: dict[str, Any] | None = None
    clock: Callable[[], float] = clock.monotonic

    def __post_init__(self) -> None:
        self._cancel = threading.Event()
        self._go_on, self._resting = threading.Event(), threading.Event()
        self._go_on.set()
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._usual_interval: float | None = None
        self._recent: deque[float] = deque()  # times at which frames came

    # Running ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the work in a thread; call `tick` from then on."""
        self._thread = threading.Thread(target=self._work, name="Topple bake", daemon=True)
        self._usual_interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread.start()

    def tick(self) -> bool:
        """Take what the thread has done since the last tick; returns whether the bake has ended."""
        while not self.ended:
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                break
            if event is None:  # the thread is gone without a last word: a bug, which it has printed
                event = Ended("failed", messages.WORKER_DIED)
            self.take(event)
        if self.ended:
            self._leave()
        return self.ended

    def run(self, progress: Callable[[str, int, int], None]) -> None:
        """Do the work here and now, without a thread."""
        for event in bake(self.request, self._cancel.is_set):
            self.take(event)
            progress(self.state, self.done, self.request.frames)

    def rest(self) -> bool:
        """Ask the thread to rest after the frame it is at, until `go_on`; returns whether it rests by now."""
        self._go_on.clear()
        return self._resting.is_set()

    def go_on(self) -> None:
        """Let the thread work again."""
        self._go_on.set()

    def cancel(self) -> None:
        """Ask the work to end after the frame it is at; the frames so far are kept."""
        self._cancel.set()
        self.go_on()

    def join(self, seconds: float) -> bool:
        """Wait for the thread; returns whether it has ended."""
        if self._thread is not None:
            self._thread.join(seconds)
            self._leave()
        return self._thread is None or not self._thread.is_alive()

    def _leave(self) -> None:
        """Give Python its usual way of switching threads back."""
        if self._usual_interval is not None:
            sys.setswitchinterval(self._usual_interval)
            self._usual_interval = None

    def _work(self) -> None:
        try:
            for event in bake(self.request, self._cancel.is_set):
                self._events.put(event)
                if isinstance(event, FrameBaked) and not self._go_on.is_set():
                    self._resting.set()
                    self._go_on.wait()
                    self._resting.clear()
        finally:
            self._events.put(None)

    # State -----------------------------------------------------------------------------------

    def take(self, event: Event) -> None:
        """Advance by one event."""
        match event:
            case StageBegan(stage):
                self.state = stage
                if stage == "simulate":
                    self._recent.append(self.clock())
            case SceneBuilt(header, scene, kept):
                self.header, self.scene = header, scene
                del self.frames[kept + 1 :]
            case FrameBaked(frame):
                self.frames.append(frame)
                self._recent.append(self.clock())
                # Many may come at a tick, all at the same time.
                while len(self._recent) > RECENT + 1 and self._recent[-1] - self._recent[1] > RECENT_SECONDS:
                    self._recent.popleft()
            case Noted(message):
                self.notes.append(message)
            case Ended(outcome, message, report):
                self.state, self.error, self.report = outcome, message, report

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("finished", "cancelled", "failed")

    @property
    def cancelling(self) -> bool:
        """Whether the bake was asked to end and has not done so yet."""
        return self._cancel.is_set() and not self.ended

    @property
    def done(self) -> int:
        """Frames done after the start."""
        return max(len(self.frames) - 1, 0)

    @property
    def seconds_left(self) -> float | None:
        """Time until the last frame at the pace of the recent ones [s]; None while unknown."""
        if self.state != "simulate" or len(self._recent) < 2:
            return None
        pace = (self._recent[-1] - self._recent[0]) / (len(self._recent) - 1)
        since = self.clock() - self._recent[-1]
        return max(pace * (self.request.frames - self.done) - since, 0.0)

    @property
    def moving(self) -> int:
        """Bodies that move by forces and are not at rest, in the last frame."""
        if not self.frames or self.header is None:
            return 0
        dynamic = set(self.header.dynamic)
        return sum(
            moves and name in dynamic
            for name, moves in zip(self.header.names, self.frames[-1].moving.tolist(), strict=True)
        )
