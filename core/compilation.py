"""Compiles every kernel before the first step, half of them in a second process.

Numba compiles one function at a time however many threads ask, so two processes halve the wait: they
share their work through the folder of compiled kernels. Where no second process can be had, this one
compiles everything.
"""

import functools
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from . import jit
from .geometry.shapes import Box, Cylinder, Mesh, Plane, Sphere
from .scene import Body, Scene
from .solvers.impulse import ImpulsePipeline, ImpulseSolver, build_pipeline

# What the second process runs: the core under the name it has here (in Blender a long one, of packages
# that only Blender can import), so that both find each other's kernels.
_SECOND_PROCESS = """
import gc, importlib, sys, types
name, folder = sys.argv[1:]
parents = name.split(".")[:-1]
for i in range(len(parents)):
    parent = types.ModuleType(".".join(parents[:i + 1]))
    parent.__path__ = []
    sys.modules[parent.__name__] = parent
spec = importlib.util.spec_from_file_location(
    name, folder + "/__init__.py", submodule_search_locations=[folder])
sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
gc.disable()
with importlib.import_module(name + ".jit").quick_compilation():
    importlib.import_module(name + ".compilation").compile_solver()
"""


@functools.cache
def compile_kernels() -> None:
    """Compile every kernel, or find all in the cache: once per process, before the first bake."""
    if jit.cache_is_complete():
        return
    second = _start_second_process() if jit.CACHE_FOLDER is not None else None
    with _garbage_left_alone(), jit.quick_compilation():
        _compile_collision()
        if second is not None:
            second.wait()
        compile_solver()  # loads what the second process compiled
    jit.mark_cache_complete()


def _start_second_process() -> "subprocess.Popen[bytes] | None":
    """A Python that runs `compile_solver`; None where there is none to be started."""
    if not Path(sys.executable or "").name.startswith("python"):  # a program that embeds Python
        return None
    folder = str(Path(__file__).parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        jit.CACHE_ROOT_VARIABLE: str(jit.cache_root()),
    }
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _SECOND_PROCESS, __name__.rpartition(".")[0], folder],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError:
        return None


def _small_pipeline() -> ImpulsePipeline:
    """A scene in which all kinds of contact occur, not yet looked ahead."""
    scene = Scene(
        bodies=[
            Body("plane", Plane((0.0, 0.0, 1.0), 0.0), kind="static"),
            Body("mesh", Mesh(np.eye(3), [[0, 1, 2]]), kind="static"),
            Body("lower", Box((1.0, 1.0, 1.0)), position=(0.0, 0.0, 0.5)),
            Body("upper", Box((1.0, 1.0, 1.0)), position=(0.2, 0.0, 1.5)),
            Body("can", Cylinder(0.5, 1.0), position=(0.0, 3.0, 0.5)),
            Body("ball", Sphere(0.5), position=(0.0, 0.0, 2.5), linear_velocity=(0.0, 0.0, -1.0)),
            Body("other ball", Sphere(0.5), position=(3.0, 0.0, 0.5), linear_velocity=(-9.0, 0.0, 0.0)),
        ]
    )
    return build_pipeline(scene, ImpulseSolver())[0]


def _compile_collision() -> None:
    """Compile the kernels of collision, and the islands, so that both halves take as long."""
    pipeline = _small_pipeline()
    for _ in range(2):  # the first sorts, the second sorts again
        pipeline.find_contacts()
        pipeline.state.c[:, 2] += 1.0
    pipeline.broad_phase.grow(pipeline.state, pipeline.reach)
    pipeline.build_islands()


def compile_solver() -> None:
    """Compile the kernels of motion and solver: their stages run without a contact."""
    pipeline = _small_pipeline()
    h = pipeline.settings.time_step
    pipeline.plan_motion(h)
    pipeline.find_impulses(h, 0)
    pipeline.move(h)
    pipeline.repair_positions(h)
    pipeline.project_positions()


@contextmanager
def _garbage_left_alone() -> Iterator[None]:
    """Compiling makes millions of objects that live on; looking through them for garbage costs 5 %."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
