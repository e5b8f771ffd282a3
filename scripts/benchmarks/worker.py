"""Runs one case in one engine, in a process of its own: `python worker.py CASE PEER FRAMES OUTPUT.npz`.

Prints `progress DONE TOTAL` lines. A throw-away copy of the scene is stepped for one frame first, so that
loading compiled kernels and first touches of memory are not timed.
"""

import json
import resource
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from cases import CASES
from peers import PEERS, check_comparable


def peak_memory() -> float:
    """Largest resident size of this process so far [MiB]."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux: getrusage would count the parent's memory from before exec
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def run(case_name: str, peer_name: str, frames: int, output: Path) -> None:
    """Time `frames` frames and write poses, seconds per frame and memory to `output`."""
    case, peer = CASES[case_name], PEERS[peer_name]
    scene = case.build()
    check_comparable(scene)
    world_type = peer.load()
    memory_before = peak_memory()
    settings = {"time_step": case.time_step, "steps_per_frame": case.steps_per_frame, **peer.options}
    world_type(scene, **settings).advance()

    world = world_type(scene, **settings)
    poses = [world.poses()]
    seconds = []
    for frame in range(frames):
        start = time.perf_counter()
        world.advance()
        seconds.append(time.perf_counter() - start)
        poses.append(world.poses())
        print(f"progress {frame + 1} {frames}", flush=True)
    np.savez(
        output,
        seconds=seconds,
        position=np.array([position for position, _ in poses]),
        orientation=np.array([orientation for _, orientation in poses]),
        facts=json.dumps(
            {
                "version": version(peer.needs),
                "memory_before": memory_before,
                "memory_peak": peak_memory(),
            }
        ),
    )


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
