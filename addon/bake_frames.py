"""What a bake keeps of each frame. Pure: no bpy."""

from __future__ import annotations  # naming core's types must not load the solver

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import core


@dataclass(frozen=True, eq=False)
class BakedFrame:
    """All bodies and contacts at one frame, in the order of the bake's names, world axes.

    Contacts are there to be shown, so their numbers have single precision.

    Attributes:
        position: Body origins [m], shape (bodies, 3).
        orientation: Quaternions (w, x, y, z), shape (bodies, 4).
        linear_velocity: Of the centres of mass [m/s], shape (bodies, 3).
        angular_velocity: [rad/s], shape (bodies, 3).
        contact_body: Bodies a and b of each contact point, shape (contacts, 2).
        contact_point: [m], shape (contacts, 3).
        contact_normal: From b to a, shape (contacts, 3).
        contact_force: On a; by the impulse solver the mean over its last step [N], shape (contacts, 3).
        contact_depth: Overlap at the contact, negative where apart [m], shape (contacts,).
        figures: Deepest overlap since the start [m], joules of the whole scene, seconds of work so far.
    """

    position: np.ndarray
    orientation: np.ndarray
    linear_velocity: np.ndarray
    angular_velocity: np.ndarray
    contact_body: np.ndarray
    contact_point: np.ndarray
    contact_normal: np.ndarray
    contact_force: np.ndarray
    contact_depth: np.ndarray
    figures: np.ndarray

    @property
    def deepest(self) -> float:
        """Deepest overlap from the start of the bake to this frame [m]."""
        return float(self.figures[0])

    @property
    def energy(self) -> float:
        """Kinetic and potential energy of all bodies [J]."""
        return float(self.figures[1])

    @property
    def seconds(self) -> float:
        """Work from the start of the bake to this frame [s]."""
        return float(self.figures[2])

    @property
    def moving(self) -> np.ndarray:
        """Which bodies move; those held at rest have no velocity at all, shape (bodies,)."""
        return np.asarray(self.linear_velocity.any(axis=1) | self.angular_velocity.any(axis=1))


def capture(simulation: core.Simulation, fps: float, deepest: float, seconds: float) -> BakedFrame:
    """The frame at which a simulation is now.

    Args:
        simulation: Advanced frame by frame.
        fps: Frames per second.
        deepest: Deepest overlap before this simulation began [m].
        seconds: Seconds of work so far.
    """
    state, contacts = simulation.state, simulation.contacts
    force = contacts.force
    solver = simulation.solver
    if isinstance(solver, core.ImpulseSolver):
        force = contacts.impulse * (math.ceil(1.0 / (fps * solver.time_step) - 1e-9) * fps)
    deepest = max(deepest, simulation.report.max_penetration)
    return BakedFrame(
        position=state.position,
        orientation=state.orientation,
        linear_velocity=state.linear_velocity,
        angular_velocity=state.angular_velocity,
        contact_body=np.stack([contacts.body_a, contacts.body_b], axis=1).astype(np.int32),
        contact_point=contacts.point.astype(np.float32),
        contact_normal=contacts.normal.astype(np.float32),
        contact_force=force.astype(np.float32),
        contact_depth=-contacts.separation.astype(np.float32),
        figures=np.array([deepest, simulation.energy(), seconds]),
    )


class BodyPaths(NamedTuple):
    """What keyframes are made of.

    Attributes:
        names: Bodies in the order of the arrays.
        position: Body origins [m], shape (frames, bodies, 3).
        orientation: Quaternions (w, x, y, z), shape (frames, bodies, 4).
    """

    names: tuple[str, ...]
    position: np.ndarray
    orientation: np.ndarray


def paths_of(frames: list[BakedFrame], names: tuple[str, ...]) -> BodyPaths:
    """The bodies' paths over the frames."""
    return BodyPaths(
        names,
        np.stack([frame.position for frame in frames]),
        np.stack([frame.orientation for frame in frames]),
    )


def trajectory_of(
    frames: list[BakedFrame],
    names: tuple[str, ...],
    fps: float,
    report: core.Report,
    events: tuple[core.ContactEvent, ...],
) -> core.Trajectory:
    """The frames as the core's trajectory."""
    states = ("position", "orientation", "linear_velocity", "angular_velocity")
    return core.Trajectory(
        times=np.arange(len(frames)) / fps,
        **{name: np.stack([getattr(frame, name) for frame in frames]) for name in states},
        names=names,
        report=report,
        events=events,
    )
