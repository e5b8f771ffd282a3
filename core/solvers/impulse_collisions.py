"""Colliding contact of the impulse solver: impacts found and resolved inside the step.

Within a step each body moves with its velocity plus the smooth acceleration of gravity and lasting
contacts. A contact that closes faster than the resting limit is a collision; it is resolved at its
own time t in the step, so that position and velocity at the end of the step are those of a body that
flew, bounced at t and flew on: an impulse at t moves positions by (h - t) times its velocity change.

Source: Bender & Schmitt 2006, section 3.1 (collisions before contacts; loop until no pair collides;
condition (2) on accumulated impulses). Departs from it: collisions are resolved at their time within
the step instead of at its start; all collisions found in one round are simultaneous (Baraff 1989,
section 8), but for those that come later than another of their bodies; these, and what they cause, come
in the next round. Collisions of one round that have no moving body in common, not even through others, are
solved apart.
"""

from typing import NamedTuple

import numpy as np

from ..crew import LEADER, TASK, next_piece, piece_done, put_up, wait_for_all
from ..dynamics.body_state import DYNAMIC, Masses
from ..dynamics.contact_rows import in_frame, normal_answer, normal_velocity, relative_velocity
from ..dynamics.islands import CONTACTS
from ..dynamics.packed_rows import ANCHOR_1, ANCHOR_2, K_N, SMOOTH, pack_friction, pack_normal, pack_row
from ..jit import inlined, inner, kernel
from ..math3 import vec3
from ..tables import scratch_tables
from .collision_motion import (
    CollisionMotion,
    begin_motion,
    empty_motion,
    end_turn,
    smooth_velocity,
    turn_bodies,
)
from .collision_round import (
    MANY,
    begin_pairs,
    group_collisions,
    has_animated,
    hold_group_energy,
    lower_restitution,
    push,
    resolve_group,
    take_back,
)
from .impulse_meeting import (
    LEAST_OF_CAUSED,
    LEAST_RESTITUTION,
    REST_STEPS,
    begin_where_struck,
    find_collision,
    move_to_collision,
    restitution_of,
)

# A stack passes a blow on by one layer a round. Bodies caught between others collide ever faster; what
# is left after these rounds is resolved with the lasting contacts, without bouncing.
MAX_ROUNDS = 30
SETTLED = 1e-3  # part of the resting limit by which the last sweep may change a velocity
# Where the sweeps of a round with animated bodies still change velocities by more than this part of what it
# changed most, something is squeezed: no impulse would do, and the lasting contacts hold it as they can.
SQUEEZED = 0.05
MOST_ACTED = 0.999  # of a lasting impulse: the whole is known again from what is left of it
# Tasks on the board: contacts are looked at, groups of collisions resolved, contacts of bodies that these
# changed looked at again; and how many of each are worth a piece.
LOOK, RESOLVE, LOOK_AGAIN = (np.int64(task) for task in range(3))
CONTACTS_OF_PIECE, COLLISIONS_OF_PIECE, BODIES_OF_PIECE, MOST = 256, 8, 8, 16
# What the leader keeps count of: pieces of the task at hand; contacts to look at, then those that collide at
# first, and how far these are dealt with; the island at hand, its round, and in this collisions, groups of
# them and bodies that they changed.
PIECES, HITS, HIT, ISLAND, ROUND, LISTED, GROUPS, BODIES, COUNTS = range(9)


class CollisionScratch(NamedTuple):
    """Working space."""

    speed: np.ndarray  # [m/s] (n,) that no point of the body exceeds in the step before it collides
    soonest: np.ndarray  # [s] (n,) when it collides first in a round; the memory of `speed`, needed before
    motion: CollisionMotion
    touched: np.ndarray  # (n,) whether this round changed the body
    rank: np.ndarray  # (n,) its place among the bodies that the round before changed, -1 for others
    parent: np.ndarray  # (n,) the groups' union-find
    group: np.ndarray  # (n,) the group that a body stands for, -1 where none
    count: np.ndarray  # (COUNTS,)


def empty_collisions(half_way: Masses, velocity: np.ndarray, offset: np.ndarray) -> CollisionScratch:
    """Scratch; `velocity` and `offset` (n, 6) are others' between collisions."""
    n = len(velocity)
    of_bodies = (n,), np.int64
    speed, parent, group = scratch_tables(((n,), float), of_bodies, of_bodies)
    return CollisionScratch(
        speed=speed,
        soonest=speed,
        motion=empty_motion(half_way, velocity, offset),
        touched=np.zeros(n, np.bool_),
        rank=np.full(n, -1),
        parent=parent,
        group=group,
        count=np.zeros(COUNTS, np.int64),
    )


@inlined
def _fastest_point(v, radius):
    """Speed that no point of a body within `radius` of its centre of mass exceeds [m/s]."""
    spin = vec3.norm((v[3], v[4], v[5]))
    return vec3.norm((v[0], v[1], v[2])) + (radius * spin if spin > 0.0 else 0.0)


@inlined
def _is_fast(contacts, c, rest_speed, scratch):
    """Whether the bodies of contact `c` are fast enough to collide there before any other has."""
    return scratch.speed[contacts.body[c, 0]] + scratch.speed[contacts.body[c, 1]] >= rest_speed


@inner
def _list_first(
    model, state, surfaces, plan, masses, contacts, rows, now, first, last, h, rest_speed, scratch
):  # fmt: skip
    """Find when collisions of a group happen, and put those last that come after another of their bodies.

    What a body strikes first sends it another way. Where it would be nearer to the next than the tolerance by
    then, it strikes both at once.

    Returns:
        Where those begin that are to wait.
    """
    for i in range(first, last):
        for side in range(2):
            scratch.soonest[contacts.body[now.contact[i], side]] = h
    for i in range(first, last):
        c = now.contact[i]
        now.time[i], now.approach[i, 0] = find_collision(
            model, state, surfaces, plan, masses, contacts, rows, c, h, rest_speed, LEAST_RESTITUTION, now,
            scratch.motion,
        )  # fmt: skip
        for side in range(2):
            body = contacts.body[c, side]
            if model.kind[body] == DYNAMIC:  # the others go their way
                scratch.soonest[body] = min(scratch.soonest[body], now.time[i])
    kept = first
    for i in range(first, last):
        c, waits = now.contact[i], False
        for side in range(2):
            late = now.time[i] - scratch.soonest[contacts.body[c, side]]
            waits = waits or -late * now.approach[i, 0] > surfaces.tolerance
        if not waits:
            now.contact[i], now.contact[kept] = now.contact[kept], c
            now.time[i], now.time[kept] = now.time[kept], now.time[i]
            speed = now.approach[i, 0]
            now.approach[i, 0], now.approach[kept, 0] = now.approach[kept, 0], speed
            kept += 1
    return kept


@inner
def _aim(model, state, surfaces, plan, masses, colliding, contacts, rows, now, i, h, motion):
    """Find what collision `i` of the round aims at: rest, or a bounce, after the smooth motion.

    Args:
        colliding: Masses of the bodies as they stand when they collide.
    """
    c, row, time, speed = now.contact[i], now.row[i], now.time[i], now.approach[i, 0]
    if rows.before[c, 0] == 0.0 and rows.collision[c, 0] == 0.0:
        move_to_collision(model, state, masses, contacts, rows, c, time, h, plan, motion)
        now.smooth[c] = normal_velocity(plan.change, contacts, c)
    smooth = in_frame(contacts, c, smooth_velocity(plan, contacts, c, time, h, motion))
    velocity = in_frame(contacts, c, relative_velocity(motion.velocity, contacts, c))
    now.body[i, 0], now.body[i, 1] = contacts.body[c, 0], contacts.body[c, 1]
    for k in range(3):
        now.approach[i, k] = velocity[k] + smooth[k]
        now.impulse[i, k] = 0.0
    if rows.before[c, 0] == 0.0:
        speed = now.approach[i, 0]
    pack_row(colliding, contacts, c, 0.0, 1.0, row)
    pack_friction(rows.friction[c, 0], rows.friction[c, 1], row)
    restitution = restitution_of(surfaces, contacts, c)
    response = row[K_N] if normal_answer(colliding, contacts, c) > 0.0 else np.inf  # then nothing helps
    pack_normal(response, 0.0, -restitution * speed - smooth[0], row)
    row[ANCHOR_1], row[ANCHOR_2], row[SMOOTH] = -smooth[1], -smooth[2], smooth[0]


@inner
def _close_group(kind, masses, rows, now, first, last, scratch):
    """Add a group's impulses to the contacts' and to the offsets, and mark the bodies that changed."""
    for i in range(first, last):
        c = now.contact[i]
        push(kind, masses, now, i, vec3.load(now.impulse, i), -now.time[i], scratch.motion.offset)
        for k in range(3):
            rows.collision[c, k] += now.impulse[i, k]
        if now.impulse[i, 0] > 0.0:
            for side in range(2):
                body = now.body[i, side]
                if kind[body] == DYNAMIC:
                    scratch.touched[body] = True
                    scratch.motion.time[body] = max(scratch.motion.time[body], now.time[i])


@inner
def _resolve_groups(
    model, state, surfaces, plan, masses, contacts, rows, now, first, last, h, rest_speed, scratch
):  # fmt: skip
    """Resolve so many groups of the round, none of which moves what another one does."""
    settled, listed, kind = SETTLED * rest_speed, scratch.count[LISTED], model.kind
    colliding = scratch.motion.colliding
    for g in range(first, last):
        begin, last_waiting = now.group_start[g], now.group_start[g + 1]
        end = _list_first(
            model, state, surfaces, plan, masses, contacts, rows, now, begin, last_waiting, h, rest_speed,
            scratch,
        )  # fmt: skip
        turn_bodies(model, state, masses, contacts, now, begin, end, h, plan, scratch.soonest, scratch.motion)
        for i in range(begin, end):
            _aim(
                model, state, surfaces, plan, masses, colliding, contacts, rows, now, i, h, scratch.motion
            )  # fmt: skip
        begin_pairs(kind, colliding, now, begin, end, scratch.motion.velocity)
        largest, left = resolve_group(
            kind, colliding, now, begin, end, listed > MANY, settled, scratch.motion.velocity
        )  # fmt: skip
        if left > max(settled, SQUEEZED * largest) and has_animated(kind, contacts, now, listed):
            take_back(kind, colliding, now, begin, end, scratch.motion.velocity)
            last_waiting = end
        lower_restitution(
            kind, colliding, rows, now, begin, end, listed > MANY, settled, scratch.motion.velocity
        )  # fmt: skip
        hold_group_energy(kind, colliding, now, begin, end, scratch.motion.velocity)
        _close_group(kind, colliding, rows, now, begin, end, scratch)
        for i in range(end, last_waiting):  # it may still come
            for side in range(2):
                body = contacts.body[now.contact[i], side]
                scratch.touched[body] = kind[body] == DYNAMIC


@inner
def _look(
    model, state, surfaces, plan, masses, contacts, rows, first, last, h, rest_speed, now, scratch
):  # fmt: skip
    """Note which of some contacts collide before any other has; whether any does."""
    any_collides = False
    for c in range(first, last):
        now.collides[c] = False
        if rows.kept[c]:
            continue
        now.smooth[c] = normal_velocity(plan.change, contacts, c)
        if not _is_fast(contacts, c, rest_speed, scratch):
            continue
        time, _ = find_collision(
            model, state, surfaces, plan, masses, contacts, rows, c, h, rest_speed, LEAST_RESTITUTION, now,
            scratch.motion,
        )  # fmt: skip
        if time >= 0.0:
            now.collides[c] = any_collides = True
    return any_collides


@inner
def _look_again(
    model, state, surfaces, plan, masses, contacts, rows, now, first, last, h, rest_speed, graph, scratch
):  # fmt: skip
    """Note contacts of some of the bodies just changed that now collide, with the first of two such."""
    for rank in range(first, last):
        body, found = now.changed[rank], 0
        start = graph.contact_start[body]
        for k in range(graph.link_start[body], graph.link_start[body + 1]):
            link = graph.link_of_body[k]
            c = np.int64(graph.link[link])
            other = scratch.rank[contacts.body[c, 0] + contacts.body[c, 1] - body]
            if 0 <= other < rank:
                continue
            while c < graph.link[link + 1]:
                begin_where_struck(masses, contacts, rows, c, h, plan, now, scratch.motion)
                time, _ = find_collision(
                    model, state, surfaces, plan, masses, contacts, rows, c, h, rest_speed, LEAST_OF_CAUSED,
                    now, scratch.motion,
                )  # fmt: skip
                if time >= 0.0:
                    now.found[start + found] = c
                    found += 1
                c += 1
        now.found_count[rank] = found


@inner
def _do_piece(
    board, piece, model, state, surfaces, masses, plan, contacts, rows, h, rest_speed, graph, now, scratch
):  # fmt: skip
    """Do a piece of the task on the board."""
    task, count = board.word[TASK], scratch.count
    pieces = count[PIECES]
    if task == LOOK:
        size = count[HITS]
    else:
        size = count[GROUPS] if task == RESOLVE else count[BODIES]
    first, last = size * piece // pieces, size * (piece + 1) // pieces
    if task == LOOK:
        found = _look(
            model, state, surfaces, plan, masses, contacts, rows, first, last, h, rest_speed, now, scratch
        )  # fmt: skip
        board.tally[piece, 0] = found
    elif task == RESOLVE:
        _resolve_groups(
            model, state, surfaces, plan, masses, contacts, rows, now, first, last, h, rest_speed, scratch
        )  # fmt: skip
    else:
        _look_again(
            model, state, surfaces, plan, masses, contacts, rows, now, first, last, h, rest_speed, graph,
            scratch,
        )  # fmt: skip


@inner
def _put_up(board, task, pieces, scratch):
    """Begin a task of about so many pieces."""
    scratch.count[PIECES] = min(max(pieces, 1), MOST)
    put_up(board, task, scratch.count[PIECES])


@inner
def _list_hits(board, islands, island_count, now, scratch):
    """List the contacts that the pieces of LOOK noted, in the islands' order."""
    hits, any_collides = 0, False
    for piece in range(scratch.count[PIECES]):
        any_collides = any_collides or board.tally[piece, 0] > 0
    for i in range(islands.start[island_count] if any_collides else 0):
        if now.collides[islands.order[i]]:
            now.hit[hits] = i
            hits += 1
    scratch.count[HITS] = hits


@inner
def _begin_island(islands, now, scratch):
    """List the collisions of the next island that has any."""
    count = scratch.count
    while islands.start[count[ISLAND] + 1] <= now.hit[count[HIT]]:
        count[ISLAND] += 1
    last = islands.start[count[ISLAND] + 1]
    while count[HIT] < count[HITS] and now.hit[count[HIT]] < last:
        now.listed[count[LISTED]] = islands.order[now.hit[count[HIT]]]
        count[LISTED] += 1
        count[HIT] += 1
    count[ROUND] = 0


@inner
def _split_impulses(masses, contacts, rows, islands, island, h, plan, lasting, now, scratch):
    """Keep what lasting contacts did until their bodies collided apart from what is still to be found.

    Contacts of the moment at which these bodies would have met are of the beginning of the step from here on.

    What a body stood on has borne it until the blow, and what it then stands on bears it from there on only:
    else a block that rocks would come down on its other edge as if that had borne it all through the step.
    """
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        a, b = contacts.body[c, 0], contacts.body[c, 1]
        part = min(max(scratch.motion.time[a], scratch.motion.time[b]) / h, MOST_ACTED)
        begin_where_struck(masses, contacts, rows, c, h, plan, now, scratch.motion)
        if part > 0.0 and rows.before[c, 0] > 0.0 and lasting[a] and lasting[b] and not rows.kept[c]:
            rows.acted[c] = part
            for k in range(3):
                rows.before[c, k] *= 1.0 - part
                rows.impulse[c, k] = rows.before[c, k]


@inner
def _end_island(model, state, masses, contacts, rows, islands, plan, h, lasting, now, scratch):
    """Take the island's collisions into the plan."""
    island = scratch.count[ISLAND]
    _split_impulses(masses, contacts, rows, islands, island, h, plan, lasting, now, scratch)
    for i in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[i]
        for k in range(6):
            late = scratch.motion.offset[body, k] / h
            plan.mean[body, k] += scratch.motion.velocity[body, k] - plan.start[body, k] + late
            plan.end_minus_mean[body, k] -= late
        if scratch.motion.time[body] > 0.0:
            end_turn(model, state, plan, body, h, scratch.motion)


@inner
def _list_changed(contacts, now, scratch):
    """List the bodies that the round changed, in the order of its collisions."""
    changed = 0
    for i in range(scratch.count[LISTED]):
        for side in range(2):
            body = contacts.body[now.listed[i], side]
            if scratch.touched[body]:
                scratch.touched[body] = False
                scratch.rank[body], now.changed[changed] = changed, body
                changed += 1
    scratch.count[BODIES] = changed


@inner
def _list_found(contact_start, now, scratch):
    """List the collisions that the last round caused."""
    listed = 0
    for rank in range(scratch.count[BODIES]):
        body = now.changed[rank]
        scratch.rank[body] = -1
        for k in range(now.found_count[rank]):
            now.listed[listed] = now.found[contact_start[body] + k]
            listed += 1
    scratch.count[LISTED] = listed


@inner
def _begin_round(board, kind, contacts, now, scratch):
    """Put up the groups of the collisions listed."""
    listed = scratch.count[LISTED]
    groups = group_collisions(kind, contacts, now, listed, scratch.parent, scratch.group)
    scratch.count[GROUPS] = groups
    scratch.count[ROUND] += 1
    _put_up(board, RESOLVE, min(groups, listed // COLLISIONS_OF_PIECE), scratch)


@inner
def _begin_next(
    board, model, state, masses, plan, contacts, rows, islands, island_count, h, lasting, graph, now, scratch
):  # fmt: skip
    """Put up the task after one that is done; whether there is any."""
    task, count = board.word[TASK], scratch.count
    if task == RESOLVE and count[ROUND] < MAX_ROUNDS:
        _list_changed(contacts, now, scratch)
        _put_up(board, LOOK_AGAIN, count[BODIES] // BODIES_OF_PIECE, scratch)
        return True
    if task == LOOK:
        _list_hits(board, islands, island_count, now, scratch)
    elif task == LOOK_AGAIN:
        _list_found(graph.contact_start, now, scratch)
    else:
        count[LISTED] = 0
    if count[LISTED] == 0:
        if task != LOOK:
            _end_island(model, state, masses, contacts, rows, islands, plan, h, lasting, now, scratch)
        if count[HIT] == count[HITS]:
            return False
        _begin_island(islands, now, scratch)
    _begin_round(board, model.kind, contacts, now, scratch)
    return True


@inner
def _begin(board, bound, plan, contact_count, rest_speed, scratch):
    """Put up the first look at all contacts, where any body is fast enough to collide; whether one is."""
    n, fastest = plan.start.shape[0], 0.0
    for i in range(n):
        scratch.speed[i] = _fastest_point(plan.start[i], bound[i]) + _fastest_point(plan.change[i], bound[i])
        fastest = max(fastest, scratch.speed[i])
    if 2.0 * fastest < rest_speed:
        return False
    begin_motion(plan, scratch.motion)
    scratch.touched[:] = False
    scratch.count[:] = 0
    scratch.count[HITS] = contact_count
    _put_up(board, LOOK, contact_count // CONTACTS_OF_PIECE, scratch)
    return True


@kernel
def resolve_collisions(
    model, state, surfaces, masses, plan, contacts, rows, islands, island_count, h, gravity_speed, lasting,
    graph, now, scratch, board, thread,
):  # fmt: skip
    """Resolve all collisions of the step; `plan.mean` and `plan.end_minus_mean` take them in.

    Args:
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        lasting: Whether the impulses of the last step act on a body all through this one, shape (n,).
        graph: Of these contacts.
        now: Scratch of this step.
        board, thread: See `crew`: several threads share the contacts and the groups of a round.
    """
    rest_speed = REST_STEPS * gravity_speed
    if thread == LEADER and not _begin(board, model.bound, plan, graph.built[CONTACTS], rest_speed, scratch):
        return
    while True:
        piece = next_piece(board, thread)
        if piece >= 0:
            _do_piece(
                board, piece, model, state, surfaces, masses, plan, contacts, rows, h, rest_speed, graph, now,
                scratch,
            )  # fmt: skip
            piece_done(board)
        elif thread != LEADER:
            return
        else:
            wait_for_all(board, scratch.count[PIECES])
            if not _begin_next(
                board, model, state, masses, plan, contacts, rows, islands, island_count, h, lasting, graph,
                now, scratch,
            ):  # fmt: skip
                return
