"""What the impulse solver keeps between steps: no more than it needs, and nothing out of date."""

import os
import sys

import numpy as np
import pytest
import scenes
import topple
from topple.collision.broad_phase import MIXED, SPARSE
from topple.collision.contact_set import CARRIED_ON
from topple.collision.pairs import ADDED, FREE, HIGH, renumber_pairs
from topple.dynamics.contact_rows import normal_response
from topple.jit import kernel
from topple.solvers.contact_events import EventLog
from topple.tables import ScratchPages, larger

STEP = 1.0 / 240.0
FRAMES = "_word", "_words", "_run"  # attributes that are words of frames
pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="each heap would take minutes without compilation"
)


def arrays_of(value) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """All arrays that a value of the solver holds: those that last, and those whose pages are given back."""
    found: dict[int, np.ndarray] = {}
    list_arrays(value, found, set())
    scratch = {key for key, array in found.items() if isinstance(pages_of(array), ScratchPages)}
    return [found[key] for key in found.keys() - scratch], [found[key] for key in scratch]


def pages_of(array: np.ndarray) -> object:
    """What holds the memory of an array that owns none."""
    return array.base.obj if isinstance(array.base, memoryview) else array.base


def list_arrays(value, found: dict[int, np.ndarray], seen: set[int]) -> None:
    """List arrays by identity; views count as what they are views of."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        found[id(value)] = value
    elif isinstance(value, dict):
        value = list(value.values())
    elif type(value).__module__.startswith("topple") and hasattr(value, "__dict__"):
        # Frames of kernels are as large for any number of bodies.
        value = [item for name, item in vars(value).items() if name not in FRAMES]
    if isinstance(value, tuple | list):
        for item in value:
            list_arrays(item, found, seen)


def heap_in_motion(count: int, seconds: float) -> topple.Simulation:
    simulation = topple.Simulation(
        scenes.wide_heap(count), topple.ImpulseSolver(time_step=STEP, sleeping=False, threads=1)
    )
    simulation.advance(seconds)
    return simulation


def test_memory_of_a_heap():
    """Once it has fallen, with some four contact points a body."""
    count = 500
    pipeline = heap_in_motion(count, 1.1)._pipeline
    assert pipeline.contact_count > 3 * count
    kept, scratch = arrays_of(pipeline)
    pipeline.rest()  # as `advance` does after some time
    assert sum(pages.nbytes for pages in scratch) > 2000 * count
    if sys.platform == "linux":
        assert not any(pages.any() for pages in scratch)
    assert sum(array.nbytes for array in kept) < 4400 * count


def test_tables_grow_to_need():
    """Whatever room there is at first, all contact points are found."""
    pipeline = heap_in_motion(60, 1.1)._pipeline
    pairs = pipeline.broad_phase.pairs
    touching = np.flatnonzero(pairs.point_count[: pairs.counter[0]] > 0)
    assert pairs.point_count[touching].sum() == pipeline.contact_count
    rooms = pairs.room[touching]
    assert (rooms >= 0).all()
    assert len(np.unique(rooms)) == len(rooms)


@kernel
def responses(masses, contacts, out):
    """Write K_nn of each contact as it is now."""
    for c in range(out.shape[0]):
        out[c] = normal_response(masses, contacts, c)


@pytest.mark.parametrize("seconds", [0.6, 0.8, 1.0])
def test_rows_are_those_of_the_last_look(seconds):
    """A point found anew and then carried on while positions are repaired has a new response."""
    pipeline = heap_in_motion(60, seconds)._pipeline
    pipeline.prepare_contacts(STEP)
    response = np.zeros(pipeline.contact_count)
    responses(pipeline.masses, pipeline.geometry, response)
    assert pipeline.contacts.counter[CARRIED_ON] > 0
    np.testing.assert_allclose(pipeline.rows.K_nn[: len(response)], response, rtol=1e-3)


def test_points_that_stay_written():
    """Of bodies that did not move they are what they would be if they were written anew, to the bit."""
    as_they_are, anew = heap_in_motion(60, 1.5), heap_in_motion(60, 1.5)
    kept, stayed = as_they_are._pipeline, 0
    for _ in range(60):
        moves = kept.trace.moves.copy()
        anew._pipeline.contacts.look[:] = -1  # which none has
        as_they_are.advance(STEP)
        anew.advance(STEP)
        count = kept.contact_count
        stayed += (kept.trace.moves == moves)[kept.contacts.body[:count]].all(axis=1).sum()
        for mine, theirs in zip(kept.contacts, anew._pipeline.contacts, strict=True):
            np.testing.assert_array_equal(mine[:count], theirs[:count])
    assert stayed > 0


def points_by_pair(simulation: topple.Simulation) -> list[np.ndarray]:
    """What the contact points are, in the order of their pairs' colliders."""
    pipeline = simulation._pipeline
    found, count = pipeline.contacts._replace(counter=np.zeros(1)), pipeline.contact_count
    pairs, slot = pipeline.broad_phase.pairs, found.slot[:count]
    order = np.lexsort((found.place[:count], *pairs.collider[slot].T))
    columns = [column[:count][order] for column in found[1:-1]]
    return [*columns, pairs.impulse[pairs.room[slot], found.place[:count]][order]]


def heaps_one_of_which_has_moved_pairs(shuffle):
    """Two heaps in the same motion; in the second the pairs are moved to the first slots."""
    as_they_are, moved = heap_in_motion(200, 1.1), heap_in_motion(200, 1.1)
    pipeline = moved._pipeline
    pairs = pipeline.broad_phase.pairs
    assert pairs.counter[FREE] > 20
    slots = shuffle(np.flatnonzero(pairs.collider[: pairs.counter[HIGH], 0] >= 0))
    renumber_pairs(pairs, slots)
    assert pairs.counter[FREE] == pairs.counter[ADDED] == 0
    assert pairs.counter[HIGH] == len(slots)
    pipeline.contacts.look[:], pipeline.rows.slot[:] = -1, -1
    pipeline.log.renumber(slots)
    for simulation in (as_they_are, moved):
        simulation._pipeline.look_ahead(STEP)
    return as_they_are, moved


def test_pairs_in_another_order():
    """What is known of them goes with them: the same contact points come out, with the same impulses."""
    as_they_are, moved = heaps_one_of_which_has_moved_pairs(np.random.default_rng(0).permutation)
    for mine, theirs in zip(points_by_pair(moved), points_by_pair(as_they_are), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_pairs_that_move_to_the_first_slots():
    """The heap goes on as it would have, and so do its events."""
    as_they_are, moved = heaps_one_of_which_has_moved_pairs(np.sort)
    for mine, theirs in zip(points_by_pair(moved), points_by_pair(as_they_are), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    events = len(moved.events)
    for simulation in (as_they_are, moved):
        simulation.advance(STEP)
    for mine, theirs in zip(moved.state, as_they_are.state, strict=True):  # before a heap's motion parts them
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    begun_and_ended = [
        [(event.kind, event.body_a, event.body_b) for event in simulation.events[events:]]
        for simulation in (moved, as_they_are)
    ]
    assert begun_and_ended[0] == begun_and_ended[1] != []
    for simulation in (as_they_are, moved):
        simulation.advance(19 * STEP)
        for body_of in simulation._pipeline.broad_phase.pairs.collider:
            assert body_of[0] < body_of[1] or (body_of == -1).all()


def test_pairs_lie_in_order():
    """Most pairs of a heap lie in the order of their bodies, also long after it was set up."""
    pairs = heap_in_motion(500, 1.0)._pipeline.broad_phase.pairs
    first = pairs.collider[: pairs.counter[HIGH], 0]
    assert (np.diff(first[first >= 0]) >= 0).mean() > 1.0 - 2.0 * MIXED


def test_slots_do_not_stay_free():
    """A heap in motion has many pairs that only come near each other; where it rests few are left."""
    pairs = heap_in_motion(500, 2.5)._pipeline.broad_phase.pairs
    assert pairs.counter[FREE] <= SPARSE * pairs.counter[HIGH] + larger(0)


def test_a_log_taken_over_may_have_more_slots_than_the_pairs():
    """Tables of pairs shrink where most slots are free; what is known of each slot does not."""
    log = heap_in_motion(60, 0.6)._pipeline.log
    log.make_room(500)
    touching, rows = log.memory()
    other = EventLog(log.names, np.arange(61), None)
    other.recall((touching.copy(), rows))
    other.make_room(300)
    assert len(other.found.now) == 300
    np.testing.assert_array_equal(other.touching, touching)
