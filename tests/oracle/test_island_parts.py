"""How a large island is divided: every contact once, and nothing in common between what is swept at once."""

import numpy as np
import pytest
from topple.dynamics.body_state import DYNAMIC, STATIC
from topple.dynamics.islands import build_islands, empty_graph, empty_islands
from topple.jit import kernel
from topple.solvers.island_parts import DEEPEST, PARTS, SMALLEST, divide_island, empty_parts, sets_before


@kernel
def group(kind, body_of, count, islands, graph):
    return build_islands(kind, body_of, count, True, islands, graph)


@kernel
def divide(c, body_of, islands, parts):
    divide_island(c, body_of, islands, np.int64(0), parts)


@kernel
def count_sets_before(depth, number):
    return sets_before(depth, number)


def heap(sides):
    """Cubes that touch in a grid, the lowest on a floor: kinds, positions, and bodies of contacts."""
    index = np.arange(np.prod(sides)).reshape(sides)
    links = [np.stack([index[1:].ravel(), index[:-1].ravel()], axis=1)]
    links += [np.stack([index[:, 1:].ravel(), index[:, :-1].ravel()], axis=1)]
    links += [np.stack([index[:, :, 1:].ravel(), index[:, :, :-1].ravel()], axis=1)]
    lowest = index[:, :, 0].ravel()
    links += [np.stack([lowest, np.full_like(lowest, index.size)], axis=1)]
    place = np.stack(np.unravel_index(np.arange(index.size + 1), (*sides[:2], sides[2] + 1)), axis=1)
    kind = np.full(index.size + 1, DYNAMIC)
    kind[-1] = STATIC
    body_of = np.concatenate(links)
    return kind, place.astype(float), body_of[np.random.default_rng(1).permutation(len(body_of))]


def divided(sides):
    kind, c, body_of = heap(sides)
    islands, graph = empty_islands(len(kind), len(body_of)), empty_graph(len(kind), len(body_of))
    assert group(kind, body_of, len(body_of), islands, graph) == 1
    parts = empty_parts(len(kind), len(body_of))
    divide(c, body_of, islands, parts)
    return body_of, islands, parts


@pytest.mark.parametrize("sides", [(4, 4, 4), (16, 8, 8), (40, 10, 6), (20, 20, 20)])
def test_every_contact_is_in_one_set(sides):
    body_of, _, parts = divided(sides)
    depth = parts.depth[0]
    assert depth == min(DEEPEST, max(0, int(np.log2(len(body_of) / SMALLEST))))
    sets = count_sets_before(depth, 1 << depth)
    assert parts.contact_start[0] == 0
    assert parts.contact_end[sets - 1] == len(body_of)
    assert np.array_equal(parts.contact_start[1:sets], parts.contact_end[: sets - 1])
    assert np.array_equal(np.sort(parts.contact), np.arange(len(body_of)))
    sizes = (parts.contact_end - parts.contact_start)[: 1 << depth]
    assert sizes.max() < 1.5 * sizes.min()


@pytest.mark.parametrize("sides", [(40, 20, 6), (20, 20, 20)])
def test_what_is_swept_at_once_has_no_moving_body_in_common(sides):
    body_of, islands, parts = divided(sides)
    depth = parts.depth[0]
    assert depth > 1
    between = 0
    for number in range(1 << depth):
        moved = []
        for k in range(count_sets_before(depth, number), count_sets_before(depth, number + 1)):
            contacts = parts.contact[parts.contact_start[k] : parts.contact_end[k]]
            bodies = np.unique(body_of[contacts])
            moved.append(bodies[islands.number[bodies] >= 0])
            part = np.unique(parts.part[moved[-1]])
            assert len(part) <= (1 if number == 0 else 2)
            assert number == 0 or not len(part) or part[0] ^ part[-1] == number
            between += len(contacts) if number else 0
        moved = np.concatenate(moved)
        assert len(moved) == len(np.unique(moved))
    assert 0 < between < 0.25 * len(body_of)


def test_members_are_the_bodies_of_each_part_then_the_others():
    body_of, islands, parts = divided((16, 16, 8))
    count = 1 << parts.depth[0]
    assert 1 < count <= PARTS
    start = parts.member_start
    for part in range(count):
        assert set(parts.part[parts.member[start[part] : start[part + 1]]]) == {part}
    own, others = parts.member[: start[count]], parts.member[start[count] : start[count + 1]]
    assert np.array_equal(np.sort(own), np.flatnonzero(islands.number >= 0))
    assert others.tolist() == [body_of.max()]  # the floor
    assert np.array_equal(parts.place[parts.member[: start[count + 1]]], np.arange(start[count + 1]))
