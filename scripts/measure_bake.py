"""Measures what a bake costs besides the solver; see scripts/measure_bake."""

import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy

sys.path.insert(0, str(Path(__file__).parent))
import checkout

SHARE, SECONDS = 0.1, 3.0  # what the bake may cost besides the solver: part of the solver's time; [s]


def build_scene(bodies: int, frames: int) -> None:
    """Crates, each apart from the others, that fall into a heap."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.mesh.primitive_plane_add(size=100)
    ground = bpy.context.object.topple
    ground.enabled, ground.kind, ground.shape = True, "STATIC", "PLANE"
    bpy.ops.mesh.primitive_cube_add(size=1)
    mesh = bpy.context.object.data
    bpy.data.objects.remove(bpy.context.object)
    side = math.ceil(bodies ** (1 / 3))
    for i in range(bodies):
        obj = bpy.data.objects.new(f"crate {i}", mesh)
        bpy.context.collection.objects.link(obj)
        obj.location = 1.5 * (i % side), 1.5 * (i // side % side), 1.0 + 1.7 * (i // side**2)
        obj.rotation_euler = 0.1 * math.sin(3 * i), 0.1 * math.sin(7 * i), 0.0
        obj.topple.enabled, obj.topple.shape = True, "BOX"
    bpy.context.scene.frame_end = 1 + frames


class Stopwatch:
    """Seconds of each part of the work, waiting for the disk included: to be used on a quiet machine."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin

    def times(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose calls are a part of the work."""

        def timed(*arguments: Any, **options: Any) -> Any:
            with self.part(name):
                return function(*arguments, **options)

        return timed


def load_kernels() -> None:
    """Have all kernels in memory, as they are after the first bake of a session."""
    core = core_of_extension()
    cubes = [core.Body(str(i), core.Box((1, 1, 1)), position=(0, 0, 0.99 * i)) for i in range(3)]
    core.simulate(core.Scene(bodies=cubes), frames=2)


def core_of_extension() -> Any:
    return sys.modules[f"{checkout.EXTENSION}.core"]


def measure(folder: Path) -> tuple[dict[str, float], float]:
    """Seconds of each part besides the solver, and those of the solver."""
    from topple_extension.addon import baking, live_bakes, scene_reader, watch

    context, stopwatch = bpy.context, Stopwatch()
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    load_kernels()
    simulation = core_of_extension().Simulation
    for method in ("__init__", "advance"):
        setattr(simulation, method, stopwatch.times("solver", getattr(simulation, method)))
    with stopwatch.part("read the scene"):
        reading = scene_reader.read_scene(context)
        watched = watch.watch(context.scene, context.view_layer)
        bake = live_bakes.prepare(context.scene, reading, watched, on_disk=True)
    with stopwatch.part("run"):
        baking.bake_now(bake, lambda _stage, _done, _total: None)
    solver = stopwatch.seconds.pop("solver")
    stopwatch.seconds["shapes, contacts, disk"] = stopwatch.seconds.pop("run") - solver
    with stopwatch.part("write keyframes"):
        baking.write_keyframes(context, bake)
    return stopwatch.seconds, solver


def main(bodies: int, frames: int = 250) -> None:
    checkout.load_extension().register()
    build_scene(bodies, frames)
    with tempfile.TemporaryDirectory() as folder:
        parts, solver = measure(Path(folder))
    total = sum(parts.values())
    print(f"{bodies} bodies, {frames} frames, Blender {bpy.app.version_string}, seconds")
    for name, seconds in {"solver": solver, **parts, "besides the solver": total}.items():
        print(f"  {name:<24}{seconds:8.2f} s {100.0 * seconds / solver:7.1f} %", flush=True)
    if total > min(SECONDS, SHARE * solver):
        sys.exit(f"the bake costs more than {SECONDS} s or {SHARE:.0%} of the solver's time besides it")


if __name__ == "__main__":
    main(*map(int, sys.argv[sys.argv.index("--") + 1 :]))
