"""Islands: groups of bodies joined by contacts, each solved on its own.

Static and kinematic bodies join nothing. Within an island contacts are ordered by their distance
from the ground on the contact graph, so that a sweep carries a load from layer to layer
(Guendelman, Bridson & Fedkiw 2003, shock propagation, used here as an order only: it changes how
fast a sweep converges, never where it converges to).
"""

from typing import NamedTuple

import numpy as np

from ..jit import inlined, inner
from ..tables import scratch_tables
from .body_state import DYNAMIC

BUILT, CONTACTS, ISLANDS = 0, 1, 2  # ContactGraph.built


class Islands(NamedTuple):
    """Contacts grouped by island."""

    order: np.ndarray  # (contact capacity,) contact indices, island by island, ground up
    start: np.ndarray  # (bodies + 2,) where each island begins in `order`
    body: np.ndarray  # (bodies,) dynamic bodies in contact, island by island
    body_start: np.ndarray  # (bodies + 2,) where each island begins in `body`
    asleep: np.ndarray  # (bodies + 1,) whether nothing has changed in an island that was held at rest
    number: np.ndarray  # (bodies,) place of a body within its island; -1 where it responds to none


class ContactGraph(NamedTuple):
    """The contacts as links between bodies."""

    contact_start: np.ndarray  # (bodies + 2,) where each body's contacts would begin in a list of all bodies'
    link_start: np.ndarray  # (bodies + 2,) and where its links do in `link_of_body`
    link_of_body: np.ndarray  # (2 contact capacity,)
    level: np.ndarray  # (bodies,) distance from the ground on the contact graph
    parent: np.ndarray  # (bodies,) union-find
    queue: np.ndarray  # (contact capacity + bodies + 4,) scratch
    link: np.ndarray  # (contact capacity + 1,) where each link begins: contacts of two bodies in a row
    last_link: np.ndarray  # (contact capacity, 2) bodies of the contacts the islands were last built of
    last_kind: np.ndarray  # (bodies,) what the bodies were then
    built: (
        np.ndarray
    )  # (3,) whether they were, since the last `release`; numbers of contacts and of islands then


def empty_islands(body_count: int, contact_capacity: int) -> Islands:
    """Room for the islands of so many bodies and contacts."""
    order, start, body, body_start, asleep, number = scratch_tables(
        ((contact_capacity,), np.int64), ((body_count + 2,), np.int64), ((body_count,), np.int64),
        ((body_count + 2,), np.int64), ((body_count + 1,), np.bool_), ((body_count,), np.int64),
    )  # fmt: skip
    return Islands(order, start, body, body_start, asleep, number)


def empty_graph(body_count: int, contact_capacity: int) -> ContactGraph:
    """Room for the graph of so many bodies and contacts: nothing is built of it."""
    of_bodies, starts = ((body_count,), np.int64), ((body_count + 2,), np.int64)
    level, parent, queue, contact_start, link_start, link_of_body, link, last_link, last_kind, built = (
        scratch_tables(
            of_bodies, of_bodies, ((contact_capacity + body_count + 4,), np.int64), starts, starts,
            ((2 * contact_capacity,), np.int32), ((contact_capacity + 1,), np.int32),
            ((contact_capacity, 2), np.int32), of_bodies, ((3,), np.int64),
        )
    )  # fmt: skip
    return ContactGraph(
        contact_start, link_start, link_of_body, level, parent, queue, link, last_link, last_kind, built
    )


@inlined
def group_of(parent, i):
    """The body that stands for the group of body i; shortens the way to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@inner
def _list_links_of_bodies(body_of, links, graph):
    """List for each body its links in ascending order, and count its contacts."""
    start, contact_start = graph.link_start, graph.contact_start
    n = start.shape[0] - 2
    start[:], contact_start[:] = 0, 0
    for link in range(links):
        c = graph.link[link]
        for side in range(2):
            start[body_of[c, side] + 2] += 1
            contact_start[body_of[c, side] + 1] += graph.link[link + 1] - c
    for i in range(n):
        start[i + 2] += start[i + 1]
        contact_start[i + 1] += contact_start[i]
    for link in range(links):
        for side in range(2):
            body = body_of[graph.link[link], side]
            graph.link_of_body[start[body + 1]] = link
            start[body + 1] += 1


@inner
def _measure_levels(kind, body_of, links, graph):
    """Breadth-first distance of every dynamic body from the nearest fixed one; -1 where none."""
    n = graph.parent.shape[0]
    queue, level = graph.queue, graph.level
    head, tail = 0, 0
    for i in range(n):
        level[i] = -1
    for link in range(links):
        c = graph.link[link]
        for side in range(2):
            body, other = body_of[c, side], body_of[c, 1 - side]
            if kind[other] != DYNAMIC and kind[body] == DYNAMIC and level[body] < 0:
                level[body] = 1
                queue[tail] = body
                tail += 1
    while head < tail:
        body = queue[head]
        head += 1
        for k in range(graph.link_start[body], graph.link_start[body + 1]):
            c = graph.link[graph.link_of_body[k]]
            other = body_of[c, 0] + body_of[c, 1] - body
            if kind[other] == DYNAMIC and level[other] < 0:
                level[other] = level[body] + 1
                queue[tail] = other
                tail += 1


@inlined
def _level_of_contact(kind, body_of, c, level):
    """The lower of the two bodies' levels: 0 on the ground."""
    a, b = body_of[c, 0], body_of[c, 1]
    if kind[a] != DYNAMIC or kind[b] != DYNAMIC:
        return 0
    return max(min(level[a], level[b]), 0)


@inner
def _same_links(kind, body_of, count, graph):
    """Whether bodies and contacts are linked as they were when the islands were last built; notes how."""
    same = graph.built[BUILT] == 1 and graph.built[CONTACTS] == count
    graph.built[BUILT], graph.built[CONTACTS] = 1, count
    for i in range(kind.shape[0]):
        same = same and graph.last_kind[i] == kind[i]
        graph.last_kind[i] = kind[i]
    for c in range(count):
        a, b = body_of[c, 0], body_of[c, 1]
        same = same and graph.last_link[c, 0] == a and graph.last_link[c, 1] == b
        graph.last_link[c, 0], graph.last_link[c, 1] = a, b
    return same


@inner
def _list_links(body_of, count, link):
    """Write where each link begins, and where the last ends; returns their number."""
    links = 0
    for c in range(count):
        if c == 0 or body_of[c, 0] != body_of[c - 1, 0] or body_of[c, 1] != body_of[c - 1, 1]:
            link[links] = c
            links += 1
    link[links] = count
    return links


@inner
def _join(kind, body_of, links, graph):
    """Let each body know the first one of its island, by number."""
    parent = graph.parent
    for i in range(parent.shape[0]):
        parent[i] = i
    for link in range(links):
        a, b = body_of[graph.link[link], 0], body_of[graph.link[link], 1]
        if kind[a] == DYNAMIC and kind[b] == DYNAMIC:
            ra, rb = group_of(parent, a), group_of(parent, b)
            parent[max(ra, rb)] = min(ra, rb)  # the root is the first body, whatever the order
    for i in range(parent.shape[0]):
        parent[i] = group_of(parent, i)


@inner
def _sort_by_level(kind, body_of, links, graph, tally):
    """Write the links into the queue, the lowest first; `tally` is scratch."""
    levels = 1
    for i in range(graph.level.shape[0]):
        levels = max(levels, graph.level[i] + 1)
    for k in range(levels + 1):
        tally[k] = 0
    for link in range(links):
        tally[_level_of_contact(kind, body_of, graph.link[link], graph.level) + 1] += 1
    for k in range(levels):
        tally[k + 1] += tally[k]
    for link in range(links):
        k = _level_of_contact(kind, body_of, graph.link[link], graph.level)
        graph.queue[tally[k]] = link
        tally[k] += 1


@inner
def _list_contacts(kind, body_of, links, islands, graph, tally):
    """Fill `order` and `start` from the links in the queue; returns the number of islands."""
    tally[:] = 0
    for link in range(links):
        c = graph.link[link]
        if _responds(kind, body_of, c):
            tally[_island_root(kind, body_of, c, graph.parent) + 1] += graph.link[link + 1] - c
    island_count = np.int64(0)  # typed: a literal 0 would compile `_list_bodies` twice
    total = 0
    for i in range(graph.parent.shape[0]):
        size = tally[i + 1]
        tally[i + 1] = total
        if size > 0:
            islands.start[island_count] = total
            island_count += 1
        total += size
    islands.start[island_count] = total
    for k in range(links):
        first, last = graph.link[graph.queue[k]], graph.link[graph.queue[k] + 1]
        if not _responds(kind, body_of, first):
            continue
        root = _island_root(kind, body_of, first, graph.parent)
        for c in range(first, last):
            islands.order[tally[root + 1]] = c
            tally[root + 1] += 1
    return island_count


@inner
def build_islands(kind, body_of, count, ground_up, islands, graph):
    """Group the contacts by island; returns the number of islands. What has not changed is not done again.

    Islands are numbered by their first body, and sorting keeps the order of what is equal.

    Args:
        ground_up: Order each island's contacts by level; otherwise by index.
    """
    if _same_links(kind, body_of, count, graph):
        return graph.built[ISLANDS]
    links, queue = _list_links(body_of, count, graph.link), graph.queue
    _list_links_of_bodies(body_of, links, graph)
    _join(kind, body_of, links, graph)
    tally = queue[count : count + graph.parent.shape[0] + 4]  # there are at most n + 1 levels
    if ground_up:
        _measure_levels(kind, body_of, links, graph)
        _sort_by_level(kind, body_of, links, graph, tally)
    else:
        for link in range(links):
            queue[link] = link
    island_count = _list_contacts(kind, body_of, links, islands, graph, tally)
    _list_bodies(kind, body_of, islands, island_count)
    graph.built[ISLANDS] = island_count
    return island_count


@inner
def _list_bodies(kind, body_of, islands, island_count):
    """Fill `body`, `body_start` and `number` from the ordered contacts."""
    number = islands.number
    number[:] = -1
    total = 0
    for island in range(island_count):
        islands.body_start[island] = total
        last_a, last_b = np.int64(-1), np.int64(-1)
        for i in range(islands.start[island], islands.start[island + 1]):
            a, b = body_of[islands.order[i], 0], body_of[islands.order[i], 1]
            if a == last_a and b == last_b:
                continue
            last_a, last_b = a, b
            for body in (a, b):
                if number[body] < 0 and kind[body] == DYNAMIC:
                    number[body] = total - islands.body_start[island]
                    islands.body[total] = body
                    total += 1
    islands.body_start[island_count] = total


@inlined
def _responds(kind, body_of, c):
    """Whether a contact moves a body: two that are animated, or asleep, may touch as they like."""
    return kind[body_of[c, 0]] == DYNAMIC or kind[body_of[c, 1]] == DYNAMIC


@inlined
def _island_root(kind, body_of, c, parent):
    a = body_of[c, 0]
    return parent[a if kind[a] == DYNAMIC else body_of[c, 1]]
