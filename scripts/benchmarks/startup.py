"""What a user waits for before the first step: fresh processes with an empty and with a full kernel cache.

As a script it is the process that is measured and prints its times as JSON.
"""

import json
import os
import subprocess
import sys
import tempfile
import time


def measure_startup() -> dict[str, dict[str, float]]:
    """Seconds of `import topple`, of loading its libraries, and of the first step.

    `cold`: everything is compiled; `warm`: found in the cache. Python keeps its bytecode between the two, as
    it does unless told not to.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TOPPLE_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": f"{cache}/bytecode"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return {state: _run(environment) for state in ("cold", "warm")}


def _run(environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, __file__]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(finished.stdout.splitlines()[-1])


def _measure() -> dict[str, float]:
    start = time.perf_counter()
    import topple

    imported = time.perf_counter()
    import numba  # noqa: F401
    import scipy.spatial  # noqa: F401

    loaded = time.perf_counter()
    tetrahedron = topple.ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    scene = topple.Scene()
    scene.add(topple.Body("plane", topple.Plane((0, 0, 1), 0.0), kind="static"))
    # Each shape touches the plane and each touches each other, so every pair of shapes is compiled.
    for index, shape in enumerate((topple.Sphere(0.5), topple.Box((1, 1, 1)), tetrahedron) * 2):
        scene.add(topple.Body(f"body_{index}", shape, position=(0.6 * index, 0.0, 0.45), restitution=0.3))
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=1e-3))
    simulation.advance(1e-3)
    done = time.perf_counter()
    return {"import": imported - start, "libraries": loaded - imported, "first_step": done - loaded}


if __name__ == "__main__":
    print(json.dumps(_measure()))
