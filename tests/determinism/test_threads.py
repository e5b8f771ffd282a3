"""The same bits with any number of threads, in a scene in which every stage that can be divided is."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import scenes
import topple
from topple import crew, sequence
from topple.jit import inner, kernel

STEP = 1.0 / 240.0
DIVIDED = {
    "prepare_contacts",
    "detect_contacts",
    "resolve_collisions",
    "solve_contacts",
    "list_events",
}
# Of which bodies are divided, in the end, into as many parts as there are threads.
BY_BODIES = {"plan_motion", "advance_bodies"}
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
        self.alone_board.tally[:], self.shared_board.tally[:] = 0, 0
        result = run(self, kernel, *arguments, **options)
        # The last task, or one that counted something, had several pieces.
        if self.board.word[crew.DONE] > 1 or self.board.tally[1:].any():
            names.add(kernel.__name__)
        return result

    monkeypatch.setattr(crew.Crew, "run", watched)
    monkeypatch.setattr(sequence, "ENOUGH", np.inf)  # Python calls all kernels
    return names


@compiled
def test_same_bits_with_any_number_of_threads(heap, divided):
    results = []
    for threads in (1, 2, 3):
        divided.clear()
        simulation = going_on(heap, threads)
        simulation.advance(20 * STEP)
        results.append(everything(simulation))
        assert divided == (DIVIDED | BY_BODIES if threads > 1 else DIVIDED)
    assert results[1] == results[0]
    assert results[2] == results[0]


@compiled
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_same_bits_without_python_in_between(heap, threads, monkeypatch):
    """Kernels that follow each other in machine code, from the second run on."""
    called, followed = going_on(heap, threads), going_on(heap, threads)
    monkeypatch.setattr(sequence, "ENOUGH", np.inf)
    called.advance(20 * STEP)
    monkeypatch.setattr(sequence, "ENOUGH", 1)
    run, shared = sequence._Frames.run, set()

    def watched(frames, *arguments):
        shared.update(kernel.__name__ for kernel in frames.shared)
        return run(frames, *arguments)

    monkeypatch.setattr(sequence._Frames, "run", watched)
    followed.advance(20 * STEP)
    assert everything(followed) == everything(called)
    assert shared == DIVIDED | BY_BODIES


@compiled
def test_same_bits_in_any_order_of_adding(divided):
    """Names tell bodies apart; where they stand in the scene does not."""
    scene = scenes.funnel()
    turned = topple.Scene(gravity=scene.gravity, bodies=scene.bodies[::-1])
    first = topple.simulate(scene, seconds=1.25, solver=topple.ImpulseSolver(threads=1))
    divided.clear()
    second = topple.simulate(turned, seconds=1.25, solver=topple.ImpulseSolver(threads=2))
    assert divided == DIVIDED | BY_BODIES
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


MANY, TWO = np.int64(100), np.int64(2)  # typed, as the stages' are


@kernel
def count_own_pieces(rounds, done, board, thread):
    """Put up a hundred pieces, time and again; each thread counts those it does."""
    if thread == crew.LEADER:
        for _ in range(rounds):
            crew.put_up(board, crew.ONLY, MANY)
            piece = crew.next_piece(board, thread)
            while piece >= 0:
                done[thread] += 1
                crew.piece_done(board)
                piece = crew.next_piece(board, thread)
            crew.wait_for_all(board, MANY)
        return
    while not crew.is_over(board):
        if crew.next_piece(board, thread) >= 0:
            done[thread] += 1
            crew.piece_done(board)


@compiled
def test_all_threads_take_pieces_and_each_piece_is_done_once():
    workers, done = crew.Crew(2), np.zeros(2, np.int64)
    for runs in range(1, 1000):
        workers.run(count_own_pieces, 200, done)
        assert done.sum() == runs * 200 * MANY
        if runs >= 50 and (done > 0).all():
            return
    pytest.fail(f"a thread did nothing: {done}")


@kernel
def others_fail(patience, board, thread):
    """The leader leaves two pieces to others for so many looks; who takes one there fails."""
    if thread == crew.LEADER:
        crew.put_up(board, crew.ONLY, TWO)
        whole = crew.load_word(board.word, crew.LEFT)
        while crew.load_word(board.word, crew.LEFT) == whole and patience > 0:
            crew.pause()
            patience -= 1
        while crew.take_piece(board, thread) >= 0:  # where none has come the machine has other things to do
            crew.piece_done(board)
        crew.wait_for_all(board, TWO)
    elif crew.next_piece(board, thread) >= 0:
        raise ArithmeticError("a thread failed")


def fail_in_another_thread(workers):
    """What a thread that is not the leader raised, once one has come."""
    for _ in range(1000):
        try:
            workers.run(others_fail, 1_000_000)
        except ArithmeticError as error:
            return error
    pytest.fail("no other thread has come")


@compiled
def test_errors_of_other_threads_are_raised():
    workers, done = crew.Crew(2), np.zeros(2, np.int64)
    for _ in range(2):
        assert str(fail_in_another_thread(workers)) == "a thread failed"
    workers.run(count_own_pieces, 10, done)  # and it goes on with the next work
    assert done.sum() == 1000


@inner
def take_piece_of(board, thread):
    """Take a piece, as soon as there is one, and leave it undone; whether there was any."""
    while not crew.load_word(board.word, crew.OVER):
        if crew.take_piece(board, thread) >= 0:
            return True
    return False


@kernel
def fail_with_a_piece(notice, board, thread):
    """In place of `attend`: fail with a piece of what is up next."""
    if take_piece_of(board, thread):
        crew.store_word(notice, crew.IN * thread, crew.FAILED)
        crew.store_word(board.word, crew.DONE, crew.NEVER_DONE)


@pytest.mark.parametrize("stage", sorted(DIVIDED | BY_BODIES))
@compiled
def test_nobody_goes_on_without_what_another_was_to_do(heap, stage, monkeypatch):
    simulation = going_on(heap, 2)
    workers, run = simulation._pipeline.crew, crew.Crew.run
    went_on = []

    def watched(self, kernel, *arguments, **options):
        fails = kernel.__name__ == stage and not options.get("alone", False)
        if fails:
            failing.append(
                threading.Thread(target=fail_with_a_piece, args=(self.notice, self.shared_board, 1))
            )
        result = run(self, kernel, *arguments, **options)
        if self.board.word[crew.DONE] >= crew.NEVER_DONE:
            went_on.append(result)
        return result

    def begin(self):
        crew.tell(self.notice, crew.UP, 1)
        if failing:
            failing.pop().start()

    failing = []
    monkeypatch.setattr(sequence, "ENOUGH", np.inf)
    monkeypatch.setattr(crew.Crew, "run", watched)
    monkeypatch.setattr(crew.Crew, "_call_others", begin)
    monkeypatch.setattr(type(workers._calls[1]), "error", lambda self, kernel: ArithmeticError("it failed"))
    with pytest.raises(ArithmeticError, match="it failed"):
        simulation.advance(50 * STEP)
    assert went_on == []


@compiled
def test_what_another_thread_raised_late_is_raised_with_the_next_work():
    workers, done = crew.Crew(2), np.zeros(2, np.int64)
    fail_in_another_thread(workers)
    workers.notice[crew.IN] = crew.FAILED  # as if it had failed once more when the leader had gone on
    workers._kernel = others_fail
    with pytest.raises(ArithmeticError):
        workers.run(count_own_pieces, 10, done)
    assert done.sum() == 0


def test_copies_have_threads_of_their_own():
    whole = crew.Crew(2)
    for copied in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        assert copied is not whole
        assert copied.threads == whole.threads


@compiled
def test_what_a_late_thread_reads_outlives_its_crew(monkeypatch):
    """One that comes late may be in a kernel still when nobody has its crew any more."""
    leaves = threading.Event()
    monkeypatch.setattr(crew, "_take_part", lambda *arguments: leaves.wait())
    workers = crew.Crew(2)
    workers.run(count_own_pieces, 10, np.zeros(2, np.int64))
    frames, thread = weakref.ref(workers._calls[1]), workers._others[1]
    del workers
    gc.collect()
    held = frames() is not None
    leaves.set()
    thread.join()
    assert held


@compiled
def test_threads_end_with_their_simulation(heap):
    simulation = going_on(heap, 2)
    simulation.advance(STEP)
    others = list(simulation._pipeline.crew._others.values())
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
