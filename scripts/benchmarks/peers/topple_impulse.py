"""Topple's impulse solver at its default tolerance."""

import numpy as np
import topple


class World:
    def __init__(self, scene: topple.Scene, *, time_step: float, steps_per_frame: int) -> None:
        self.simulation = topple.Simulation(
            scene, topple.ImpulseSolver(time_step=time_step, sleeping=False, threads=1)
        )
        self.frame_seconds = time_step * steps_per_frame

    def advance(self) -> None:
        self.simulation.advance(self.frame_seconds)

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        state = self.simulation.state
        return np.array(state.position), np.array(state.orientation)
