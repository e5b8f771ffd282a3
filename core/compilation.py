"""Compiles the kernels of a solver before its first step, in processes made for it.

Numba compiles one function at a time however many threads ask, so the kernels come in parts that are
compiled side by side, by two processes: each takes the next part from a pipe when it is done with one, so
both end at about the same time, on any machine.
The folder of compiled kernels hands them over. In processes of their own numba can also be told to do without
what costs a fifth of the time (`compile_kernels_only`), which in this one is its user's to say. Where no
other process can be had, this one compiles everything.
"""

import atexit
import functools
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np

from . import jit
from .collision.broad_phase import BroadPhase
from .collision.contact_set import empty_contacts
from .collision.narrow_phase import detect_contacts, make_scratch
from .collision.pairs import empty_pairs
from .collision.persistence import CARRIED, new_trace
from .collision.time_of_impact import advance_along
from .crew import OVER, alone, attend, tell
from .dynamics.body_state import build_bodies, gravity_of, ignored_pairs, initial_state
from .dynamics.driven_bodies import carry_bodies, free_accelerations, place_bodies, write_rates
from .dynamics.forced_motion import Forced, dop853, forced_scratch, integrate_forced
from .dynamics.forces import AppliedForces, spring_energy
from .dynamics.kinematic import KinematicPaths, list_touched
from .dynamics.motion import empty_plan, move_bodies, plan_free_motion, update_all_derived
from .geometry.shape_table import ShapeTable
from .geometry.shapes import Box, Cylinder, Mesh, Plane, Sphere
from .kernel_folder import CACHE_FOLDER, CACHE_ROOT_VARIABLE, cache_root
from .scene import Body, Scene
from .sequence import call_nothing
from .solvers import impulse_stages as stages
from .solvers.analytic import AnalyticSolver
from .solvers.analytic_contacts import (
    build_system,
    find_islands,
    frame_velocity,
    read_contacts,
    relative_acceleration,
    wrenches,
)
from .solvers.analytic_rates import surfaces_of
from .solvers.analytic_rest import slip_along
from .solvers.analytic_rows import match_contacts
from .solvers.choice import SolverChoice, resolve_solver
from .solvers.cone_newton import projection_derivative, sweep_contacts
from .solvers.friction_cone import SWEEPS, solve_cone
from .solvers.impulse import ImpulseSolver, build_pipeline
from .solvers.impulse_contacts import write_impulses
from .solvers.impulse_energy import take_back_gain
from .solvers.impulse_forces import note_drive

# What the processes run: the core under the name it has here (in Blender a long one, of packages that only
# Blender can import), so that all find each other's kernels.
_PROCESS = """
import gc, importlib.util, os, sys, types
name, folder, *functions = sys.argv[1:]  # the pipe, which is its input, holds their numbers
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
compilation = importlib.import_module(name + ".compilation")
compilation.jit.compile_kernels_only()
while number := os.read(0, 1):
    getattr(compilation, functions[number[0]])()
os._exit(0)  # Python would look through millions of objects for garbage first: a twentieth of the time
"""
Part = Literal["collision", "motion", "repair", "preparation", "impulse", "analytic", "forces", "paths"]
# What each solver needs, what takes longest first.
IMPULSE: tuple[Part, ...] = ("impulse", "collision", "preparation", "repair", "motion")
ANALYTIC: tuple[Part, ...] = ("collision", "analytic", "forces")
_PROCESSES = 2


def compile_kernels(solver: SolverChoice = "impulse") -> None:
    """Compile the kernels a solver runs, or find all in the cache: once per process, before the first bake.

    Raises:
        SolverError: there is no such solver.
    """
    compile_parts(*(ANALYTIC if isinstance(resolve_solver(solver), AnalyticSolver) else IMPULSE))


@functools.cache
def compile_parts(*parts: Part) -> None:
    """Compile those of the parts that no process has compiled yet; what takes longest should stand first."""
    missing: list[Part] = [part for part in parts if not jit.is_compiled(part)]
    if CACHE_FOLDER is not None:
        for process in _start_processes([PARTS[part].__name__ for part in missing]):
            process.wait()
    with _garbage_left_alone():
        for part in missing:  # loads what the processes compiled
            PARTS[part]()
            jit.mark_compiled(part)


def _start_processes(functions: list[str]) -> "list[subprocess.Popen[bytes]]":
    """Pythons that share the functions below; none where there is none to be started."""
    if not Path(sys.executable or "").name.startswith("python"):  # a program that embeds Python
        return []
    queue, entrance = os.pipe()
    os.write(entrance, bytes(range(len(functions))))
    os.close(entrance)
    processes = [_start_process(functions, queue) for _ in functions[:_PROCESSES]]
    os.close(queue)
    return [process for process in processes if process is not None]


def _start_process(functions: list[str], queue: int) -> "subprocess.Popen[bytes] | None":
    """A Python that runs the functions whose numbers it finds in the pipe."""
    folder = str(Path(__file__).parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        CACHE_ROOT_VARIABLE: str(cache_root()),
    }
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROCESS, __name__.rpartition(".")[0], folder, *functions],
            env=environment,
            stdin=queue,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError:
        return None


def _small_scene() -> Scene:
    """A scene in which all kinds of contact occur."""
    return Scene(
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


def compile_collision() -> None:
    """Compile what finds pairs and their contact points; it runs without a pair."""
    scene = _small_scene()
    model, shapes, colliders, trees, order = build_bodies(scene)
    state = initial_state(scene, order, model)
    still, apart = np.zeros(len(order)), ignored_pairs(scene, scene.bodies)
    broad_phase = BroadPhase(model, shapes, colliders, trees, state, still == 0.0, apart)
    for _ in range(2):  # the first sorts, the second sorts again
        broad_phase.update(state, still)
        state.c[:, 2] += 1.0
    broad_phase.grow(state, still)
    detect_contacts(
        colliders, shapes, still > 0.0, state.c, state.R, new_trace(model.bound), empty_pairs(1, 1), still,
        0.0, CARRIED, empty_contacts(1), make_scratch(shapes), *alone(),
    )  # fmt: skip
    _compile_advance(shapes)


def _compile_advance(shapes: ShapeTable) -> None:
    """The kernel that `time_of_impact` calls."""
    rows, up = np.zeros((2, 3)), np.array([0.0, 0.0, 1.0])
    advance_along(
        shapes, np.zeros(2, np.int64), rows, np.eye(2, 4), rows, rows, np.zeros(2), up, 0.0, 0.0, 0.0
    )


def compile_motion() -> None:
    """Compile what applies impulses and moves bodies: these stages run without a contact, too."""
    pipeline, _ = build_pipeline(_small_scene(), ImpulseSolver())
    for call in stages.move(pipeline, pipeline.settings.time_step, 0, 0):
        pipeline.runner.do(call)


def compile_repair() -> None:
    """Compile what the impulse solver does around the motion of bodies."""
    pipeline, _ = build_pipeline(_small_scene(), ImpulseSolver())
    h = pipeline.settings.time_step
    around = *stages.stop_early(pipeline, h, 0), stages.note_events(pipeline, h, 0)
    repair = stages.measure_depth(pipeline, 0), *stages.move_apart(pipeline, 0, 0)
    for call in (*around, *repair, stages.end(pipeline, h, 0)):
        pipeline.runner.do(call)
    call_nothing(pipeline.crew)
    board, _ = alone()
    tell(board.word, OVER, 1)
    attend(board.word, np.zeros((2, 2), np.int64), board.word, 1)  # to which nothing is up


def compile_preparation() -> None:
    """Compile what the impulse solver does before it looks for impulses; it runs without a contact."""
    pipeline, _ = build_pipeline(_small_scene(), ImpulseSolver())
    h = pipeline.settings.time_step
    pipeline.plan_motion(h)
    pipeline.prepare_contacts(h)
    for call in stages.part_at_edges(pipeline, h, 0):
        pipeline.runner.do(call)


def compile_impulse() -> None:
    """Compile what finds impulses; it runs without an island."""
    pipeline, _ = build_pipeline(_small_scene(), ImpulseSolver())
    pipeline.find_impulses(pipeline.settings.time_step, 0)
    write_impulses(pipeline.geometry, np.zeros((0, 3)), pipeline.impulse)


def compile_analytic() -> None:
    """Compile the analytic solver: its kernels run without a contact, on one body."""
    scene = _small_scene()
    model, shapes, colliders, _, order = build_bodies(scene)
    state = initial_state(scene, order, model)
    gravity = gravity_of(scene, scene.bodies)
    plan = empty_plan(len(order))
    update_all_derived(model, state)
    plan_free_motion(model, state, gravity, 0.0, plan)
    move_bodies(model, state, plan, gravity, 0.0)
    contacts = read_contacts(
        empty_contacts(1), 0, 0.0, empty_pairs(1, 1), model, state, surfaces_of(shapes, colliders), False
    )
    find_islands(contacts, model)
    slip_along(contacts, frame_velocity(contacts, state), np.zeros(0, bool))
    relative_acceleration(contacts, state, state.v, state.w)
    build_system(contacts, model, state)
    wrenches(contacts, np.zeros((0, 3)), model)
    known = contacts.slot, contacts.feature, contacts.body, contacts.frame
    none = np.zeros(0, np.int64)
    match_contacts(*known, np.zeros(0, bool), *known, none, none)
    solve_cone(np.eye(3), -np.ones((1, 3)), np.ones(1))
    one, three = np.ones(1), np.ones(3)
    sweep_contacts(np.eye(3), -three, one, np.zeros((1, 2)), one < 0.0, SWEEPS, three)
    projection_derivative(three, -three, one, np.zeros((1, 2)), one < 0.0, np.empty((1, 3, 3)))


def compile_forces() -> None:
    """Compile what moves bodies under forces, for either solver."""
    scene = _small_scene()
    model, _, _, _, order = build_bodies(scene)
    state = initial_state(scene, order, model)
    rows, y = np.array([0]), np.eye(1, 13, 3)
    carry_bodies(model, state, state, rows, 0.0)
    place_bodies(model, state, state, rows, y)
    free_accelerations(model, state, np.array(scene.gravity), state.v, state.L, state.v, state.w)
    write_rates(state, rows, state.v, state.L, y)
    forces = AppliedForces([], [scene.bodies[i].name for i in order], model)
    forces.wrench(state, 0.0)
    spring_energy(forces.table, state)
    none, y = np.zeros((len(order), 3)), np.eye(1, 13, 3)
    forced = Forced(forces.table, model, state, rows, rows[:0], none, none.copy(), np.ones((1, 13)))
    integrate_forced(forced, dop853(1.0), 0.0, 0.0, 1.0, 1.0, True, y, forced_scratch(state, 1))
    note_drive(state, rows, y, y, none, np.zeros(len(order), np.bool_), 1.0, np.empty((1, 13)))
    p, _ = build_pipeline(scene, ImpulseSolver())
    take_back_gain(
        p.model.kind, p.masses, p.state, p.geometry, p.contacts.slot, p.broad_phase.pairs.allowance,
        p.forgives, p.rows, p.islands, 0, p.plan, p.gravity, 1.0, p.drive.driven, 0.0, p.energy,
    )  # fmt: skip


def compile_paths() -> None:
    """Compile what moves animated bodies, for either solver."""
    bodies = [Body("animated", Sphere(1.0), kind="kinematic")]
    scene = Scene(bodies=bodies)
    model, _, _, _, order = build_bodies(scene)
    state, paths = initial_state(scene, order, model), KinematicPaths(bodies, model, np.zeros((1, 3)))
    paths.set_poses(state, 0.0)
    paths.set_velocities(state, 0.0, 1.0)
    list_touched(model.kind, paths.asleep, empty_contacts(1), 0, np.zeros((1, 6)), 1.0, 1.0, paths.touched)


PARTS: dict[Part, Callable[[], None]] = {
    "collision": compile_collision,
    "motion": compile_motion,
    "repair": compile_repair,
    "preparation": compile_preparation,
    "impulse": compile_impulse,
    "analytic": compile_analytic,
    "forces": compile_forces,
    "paths": compile_paths,
}


@contextmanager
def _garbage_left_alone() -> Iterator[None]:
    """Compiling makes millions of objects that live on; looking through them for garbage costs 5 %.

    Nor does anyone look through them later: that would stop all threads for a second, again and again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # what is left at the end has to go, or Blender 4.5 hangs there
        if enabled:
            gc.enable()
