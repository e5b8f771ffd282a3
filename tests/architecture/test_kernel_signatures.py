"""One signature per kernel: an int or float32 that strays into an argument would compile it again.

A number written out in a call is a type of its own to numba, a kernel more (`np.int64(0)` is none). Looked
at twice: where all kernels are compiled anew, and, after all other tests, in what they compiled, which are
mostly kernels found in the cache and so without those that only kernels call. The functions of `math3` are
exempt: they take a tuple and a row of an array alike.
"""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled in this mode"
)
PARTS = (
    "compile_collision",
    "compile_motion",
    "compile_repair",
    "compile_preparation",
    "compile_impulse",
    "compile_analytic",
    "compile_forces",
    "compile_paths",
)


def kernels_of_several_signatures() -> dict[str, list]:
    """Signatures of the core's kernels that this process compiled more than once, by full name."""
    from numba.core.dispatcher import Dispatcher

    kernels = {}
    for module_name, module in list(sys.modules.items()):
        if not module_name.startswith("topple.") or module_name.startswith("topple.math3"):
            continue
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == module_name:
                kernels[f"{module_name}.{name}"] = value.signatures
    return {name: found for name, found in kernels.items() if len(found) > 1}


def start(what: str, cache: Path, *folders: str) -> "subprocess.Popen[str]":
    """Run this file as a script with a cache of its own; modules are looked for in `folders` first."""
    return subprocess.Popen(
        [sys.executable, __file__, what],
        env={
            **os.environ,
            "TOPPLE_CACHE_DIR": str(cache),
            "NUMBA_OPT": "1",
            "PYTHONPATH": os.pathsep.join([*folders, str(Path(__file__).parents[1])]),
        },
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A cache in which each part was compiled by a process of its own, and what each process found."""
    cache = tmp_path_factory.mktemp("cache")
    processes = [start(part, cache) for part in PARTS]
    return cache, [process.communicate()[0] for process in processes]


def test_one_signature_where_all_is_compiled_anew(compiled):
    cache, found = compiled
    assert found == ["{}\n"] * len(PARTS)
    assert any(cache.rglob("*.nbc"))


def test_nothing_is_left_to_be_compiled_in_a_bake(compiled):
    cache, _ = compiled
    assert start("simulate", cache).communicate()[0] == "[]\n"


def test_the_same_core_elsewhere_finds_its_kernels(compiled, tmp_path):
    """A second installation is not compiled once more, or kernel by kernel in the midst of a run."""
    import topple

    cache, _ = compiled
    shutil.copytree(Path(topple.__file__).parent, tmp_path / "topple")
    assert start("simulate", cache, str(tmp_path)).communicate()[0] == "[]\n"


def test_no_kernel_is_a_part_of_another():
    """The cache keeps nothing of a kernel that could become one; what both need is an `inner` of its own."""
    import topple

    for module in pkgutil.walk_packages(topple.__path__, "topple."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = functions_of_the_core()
    kernels = [function for function, is_kernel in found if is_kernel]
    assert len(kernels) > 40
    for function, _ in found:
        called = (function.__globals__.get(name) for name in function.__code__.co_names)
        assert not [c.__name__ for c in called if getattr(c, "py_func", None) in kernels], function


def functions_of_the_core() -> list[tuple]:
    """The compiled functions of the modules that are loaded, and whether each is a kernel."""
    from numba.core.dispatcher import Dispatcher
    from topple.jit import _KernelCompiler

    modules = [module for name, module in list(sys.modules.items()) if name.startswith("topple.")]
    values = [value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)]
    return [(d.py_func, issubclass(d._compiler.pipeline_class, _KernelCompiler)) for d in values]


def test_one_signature_in_all_tests():
    assert kernels_of_several_signatures() == {}


def kernels_compiled_while_simulating() -> list[str]:
    """Names of the kernels that runs with both solvers, and queries, had to compile."""
    import numpy as np
    import scenes
    import topple
    from numba.core import event

    class Listener(event.Listener):
        def __init__(self):
            self.names = []

        def on_start(self, event):
            self.names.append(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event):
            pass

    listener = Listener()
    event.register("numba:compile", listener)
    for solver in ("impulse", "analytic"):
        topple.simulate(scenes.contacts_of_all_kinds(), seconds=0.1, solver=solver)
    topple.simulate(scenes.boxes_on_springs(), seconds=0.1)
    thrown = topple.Body(
        "thrown", topple.Box((0.1, 0.1, 0.1)), position=(0, 0, 1), linear_velocity=(0, 0, -60)
    )
    mesh = topple.Mesh([(-1, -1, 0), (1, -1, 0), (0, 1, 0)], [(0, 1, 2)])
    plate = topple.Body("plate", topple.Box((1, 1, 0.02)), kind="static", position=(0, 0, -0.5))
    for obstacle in (plate, topple.Body("mesh", mesh, kind="static")):
        topple.simulate(topple.Scene(bodies=[thrown, obstacle]), seconds=0.1)
    pose = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    twist = np.array([0.0, 0.0, -1.0]), np.zeros(3)
    above = np.array([0.0, 0.0, 3.0]), pose[1]
    cube, still = topple.Box((1.0, 1.0, 1.0)), (np.zeros(3), np.zeros(3))
    topple.closest_points(cube, above, cube, pose)
    topple.time_of_impact(cube, above, twist, cube, pose, still, 5.0)
    return listener.names


if __name__ == "__main__":
    if sys.argv[1] == "simulate":
        print(kernels_compiled_while_simulating())
    else:
        from topple import compilation

        compilation.jit.compile_kernels_only()
        getattr(compilation, sys.argv[1])()
        print(kernels_of_several_signatures())
