"""The same bits with any number of threads, in a scene in which every stage that can be divided is."""

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import scenes
import topple
from topple import crew
from topple.jit import inner, kernel

STEP = 1.0 / 240.0
DIVIDED = {"detect_contacts", "prepare_rows", "resolve_collisions", "solve_contacts"}
compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="one thread in this mode")


@pytest.fixture(scope="module")
def heap():
    """A heap in motion whose one island has several parts: its scene, and a snapshot."""
    scene = scenes.funnel()
    simulation = topple.Simulation(scene, topple.ImpulseSolver(threads=1))
    simulation.advance(1.25)
    return scene, simulation.snapshot()


def going_on(heap, threads):
    scene, snapshot = heap
    simulation = topple.Simulation(scene, topple.ImpulseSolver(threads=threads))
    simulation.restore(snapshot)
    return simulation


def everything(simulation):
    """All that a run shows."""
    arrays = [array.tobytes() for array in (*simulation.state, *simulation.contacts)]
    return arrays, simulation.events, simulation.report.max_penetration


@pytest.fixture
def divided(monkeypatch):
    """Names of the kernels whose work was put up in several pieces."""
    names, run = set(), crew.Crew.run

    def watched(self, kernel, *arguments, **options):
        def call(*all_arguments):
            result = kernel(*all_arguments)
            board, thread = all_arguments[-2:]
            # The last task, or one that counted something, had several pieces.
            if thread == crew.LEADER and (board.word[crew.DONE] > 1 or board.tally[1:].any()):
                names.add(kernel.__name__)
            return result

        return run(self, call, *arguments, **options)

    monkeypatch.setattr(crew.Crew, "run", watched)
    return names


@compiled
def test_same_bits_with_any_number_of_threads(heap, divided):
    results = []
    for threads in (1, 2, 3):
        divided.clear()
        simulation = going_on(heap, threads)
        simulation.advance(20 * STEP)
        results.append(everything(simulation))
        assert divided == DIVIDED
    assert results[1] == results[0]
    assert results[2] == results[0]


@compiled
def test_same_bits_in_any_order_of_adding(divided):
    """Names tell bodies apart; where they stand in the scene does not."""
    scene = scenes.funnel()
    turned = topple.Scene(gravity=scene.gravity, bodies=scene.bodies[::-1])
    first = topple.simulate(scene, seconds=1.25, solver=topple.ImpulseSolver(threads=1))
    divided.clear()
    second = topple.simulate(turned, seconds=1.25, solver=topple.ImpulseSolver(threads=2))
    assert divided == DIVIDED
    assert second.state_hash == first.state_hash
    np.testing.assert_array_equal(second.position[:, ::-1], first.position)


@compiled
def test_simulations_side_by_side(heap):
    """Each in a thread of its own, with a crew of its own."""
    alone = going_on(heap, 1)
    alone.advance(5 * STEP)
    side_by_side = [going_on(heap, 2) for _ in range(3)]
    threads = [threading.Thread(target=simulation.advance, args=(5 * STEP,)) for simulation in side_by_side]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(everything(simulation) == everything(alone) for simulation in side_by_side)


@compiled
def test_who_never_comes_is_not_waited_for(heap, monkeypatch):
    alone, deserted = going_on(heap, 1), going_on(heap, 3)
    monkeypatch.setattr(crew, "_take_part", lambda *arguments: None)
    for simulation in (alone, deserted):
        simulation.advance(3 * STEP)
    assert everything(deserted) == everything(alone)


@inner
def take_and_fail(board):
    """Take a piece, as soon as there is one, and leave it undone."""
    while not crew.is_over(board):
        if crew.take_piece(board) >= 0:
            raise ArithmeticError("a thread failed")


@kernel
def fails_with_a_piece(board):
    take_and_fail(board)


@pytest.mark.parametrize("stage", sorted(DIVIDED))
@compiled
def test_errors_of_other_threads_are_raised(heap, stage, monkeypatch):
    """The caller hears of one that fails with a piece in hand; nobody goes on without what it was to do."""
    take_part, going_on_without = crew._take_part, []

    def fail(part, board, errors):
        fails = part.func.__name__ == stage  # `watched` has no frame
        take_part((lambda: fails_with_a_piece(board)) if fails else part, board, errors)

    def watched(self, kernel, *arguments, **options):
        def call(*all_arguments):
            result = kernel(*all_arguments)
            if all_arguments[-2].word[crew.DONE] >= crew.NEVER_DONE:
                going_on_without.append(result)
            return result

        call.__name__ = kernel.__name__
        return run(self, call, *arguments, **options)

    run = crew.Crew.run
    monkeypatch.setattr(crew, "_take_part", fail)
    monkeypatch.setattr(crew.Crew, "run", watched)
    with pytest.raises(ArithmeticError, match="a thread failed"):
        going_on(heap, 2).advance(50 * STEP)
    assert going_on_without == []


def test_copies_have_threads_of_their_own():
    whole = crew.Crew(2)
    for copied in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        assert copied is not whole
        assert copied.threads == whole.threads


@compiled
def test_threads_end_with_their_simulation(heap):
    simulation = going_on(heap, 2)
    simulation.advance(STEP)
    others = [thread for thread in threading.enumerate() if thread.name.startswith("Topple")]
    assert others
    del simulation
    for thread in others:
        thread.join(10.0)
        assert not thread.is_alive()


@compiled
def test_python_ends_in_the_middle_of_a_run():
    """A thread that still steps when Python ends holds nothing up."""
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}; import scenes, threading, time, topple\n"
        "simulation = topple.Simulation(scenes.funnel(), topple.ImpulseSolver(threads=2))\n"
        "simulation.advance(1.25)\n"
        "threading.Thread(target=simulation.advance, args=(60.0,), daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_threads_are_a_number(threads):
    with pytest.raises(topple.SolverError, match="threads must be None or a whole number from 1 on"):
        topple.ImpulseSolver(threads=threads)


def test_threads_are_no_input_of_the_motion():
    """Bakes with other numbers of threads are the same: they go on with each other."""
    one, two = topple.ImpulseSolver(threads=1), topple.ImpulseSolver(threads=2)
    assert one == two
    assert repr(one) == repr(two)
