"""What a step begins with: islands, the rows of their contacts, and the impulses of the last step.

Impulses of the last step act all through the step: half a step's worth on positions. That is right for forces
that last. Where their sum on a body is far more than weight and friction make, and was another in the step
before (it was hit), they are no forecast: they act at the start of the step and are no smooth acceleration.
Nor do they tell anything of a body that turns far within the step.

Source: Bender & Schmitt 2006, section 3.2.
"""

import numpy as np

from ..crew import FIRST, LEADER, SECOND, TASK, next_piece_in_turn, piece_done, pieces_of, put_up
from ..dynamics.body_state import DYNAMIC, turned_inverse
from ..dynamics.contact_rows import add_parts, fill_rows, first_of_pair, soften, sum_momenta, to_world
from ..dynamics.islands import build_islands
from ..dynamics.motion import LEAST_TURN, WILD_TURN, is_driven, spin_steadily
from ..jit import inner, kernel, merged
from ..math3 import mat3, vec3
from .impulse_arms import mean_arms, note_moving
from .impulse_contacts import FAR_TURN, lasts, square_of_push, turns_far
from .impulse_level import come_on
from .impulse_rest import find_sleepers
from .island_parts import SMALLEST, divide_island

# Tasks on the board: rows are filled, impulses summed, they act on bodies, and what is level with what it
# gets to comes on to that; contacts that are worth a piece; and what the pieces have to know: whether any
# body turns far.
ROWS, MOMENTA, BODIES = FIRST, SECOND, SECOND + 1
CONTACTS_OF_PIECE = 256
SPINS = 0


@inner
def _any_turns_far(h, velocity):
    """Whether any body turns by more than FAR_TURN in the step."""
    for i in range(velocity.shape[0]):
        w = (velocity[i, 3], velocity[i, 4], velocity[i, 5])
        if vec3.dot(w, w) * h * h > FAR_TURN * FAR_TURN:
            return True
    return False


@inner
def _stand_half_way(kind, masses, h, mean, half_way):
    """Note how bodies answer impulses as they stand half way through the step, as arms of contacts do.

    By how it stands at the beginning a rod that spins would be kept from rolling as if it pitched: half a
    step on its roll counts as some pitch, whose inertia is far larger.
    """
    for i in range(kind.shape[0]):
        turn = h * mean[i, 3], h * mean[i, 4], h * mean[i, 5]
        inverse = mat3.load(masses.inv_I, i)
        if kind[i] == DYNAMIC and LEAST_TURN**2 < vec3.dot(turn, turn) < WILD_TURN**2:
            inverse = turned_inverse(inverse, masses.lock_angular[i], vec3.scale(turn, 0.5))
        for k in range(9):
            half_way.inv_I[i, k] = inverse[k]


@inner
def _recall_impulses(masses, contacts, rows, first, last, h, spins, start, push_out):
    """Write the impulses of the last step at some contacts [N s]; those that tell nothing are forgotten."""
    for c in range(first, last):
        if rows.kept[c]:
            continue
        p = vec3.load(rows.impulse, c)
        if p[0] == 0.0 or (spins and turns_far(masses, contacts, c, h, start)):
            for k in range(3):
                rows.impulse[c, k], rows.before[c, k], push_out[c, k] = 0.0, 0.0, 0.0
            continue
        push_out[c, 0], push_out[c, 1], push_out[c, 2] = to_world(contacts, c, p)


@inner
def _drive(masses, plan, i):
    """Add what contacts do to a body that spins, beyond what they would do to one that does not."""
    linear = mat3.transform(mat3.load(masses.inv_I, i), vec3.load_pair(plan.push[i])[1])
    for k in range(3):
        beyond = plan.driven[i, k] - plan.spin[i, k] - 0.5 * linear[k]
        plan.mean[i, 3 + k] += beyond
        plan.end_minus_mean[i, 3 + k] += beyond
        plan.change[i, 3 + k] += 2.0 * beyond


@inner
def _warm_start(
    kind, masses, contacts, rows, count, first, last, h, gravity_speed, spins, parts, plan, sums, lasting_out
):
    """Let them act on some bodies."""
    net = sums[0]
    for c in range(count if spins else 0):
        for side in range(2):
            body = contacts.body[c, side]
            if first <= body < last and not rows.kept[c]:
                spin_steadily(plan, body, h)
    for i in range(first, last):
        add_parts(sums, parts, i)
        lasting_out[i] = True
        if kind[i] != DYNAMIC:
            continue
        square, L = square_of_push(masses, i, net[i]), (net[i, 3], net[i, 4], net[i, 5])
        w = mat3.transform(mat3.load(masses.inv_I, i), L)
        for k in range(3):
            net[i, k] *= masses.inv_mass[i, k]
            net[i, 3 + k] = w[k]
        # Of bodies that applied forces press, more than their weight lasts.
        weight = vec3.norm((plan.change[i, 0], plan.change[i, 1], plan.change[i, 2]))
        weight = max(weight, gravity_speed) if plan.drive.shape[0] > 0 else gravity_speed
        lasting = lasting_out[i] = lasts(plan, i, square, weight)
        part = 0.5 if lasting else 1.0
        for k in range(6):
            plan.mean[i, k] += part * net[i, k]
            plan.end_minus_mean[i, k] += (1.0 - part) * net[i, k]
            if lasting:
                plan.change[i, k] += net[i, k]
        if lasting and is_driven(plan, i) and vec3.dot(L, L) > 0.0:
            _drive(masses, plan, i)


@merged
def _divide_largest(c, body_of, islands, island_count, held, parts):
    """Divide the island that will be swept longest already now, while other threads fill rows."""
    largest, size = np.int64(-1), np.int64(2 * SMALLEST)
    for island in range(island_count):
        contacts = islands.start[island + 1] - islands.start[island]
        if contacts >= size and not held[islands.body[islands.body_start[island]]]:
            largest, size = island, contacts
    if largest >= 0:
        divide_island(c, body_of, islands, largest, parts)


@merged
def _group(
    kind, masses, contacts, count, ground_up, may_sleep, plan, islands, graph, solve, parts, rows, board,
    pieces,
):  # fmt: skip
    """Group the contacts by island, and put the rows up for others: at once where no island may sleep."""
    parts.island[0] = -1
    for c in range(count):
        rows.kept[c] = False
    any_sleeps = may_sleep and solve.held.any()
    if not any_sleeps:
        put_up(board, ROWS, pieces)
    island_count = build_islands(kind, contacts.body, count, ground_up, islands, graph)
    find_sleepers(kind, contacts, plan, graph, islands, island_count, any_sleeps, solve, rows.kept)
    if any_sleeps:
        put_up(board, ROWS, pieces)
    _divide_largest(masses.c, contacts.body, islands, island_count, solve.held, parts)
    return island_count


@kernel
def prepare_contacts(
    kind, friction, masses, half_way, shapes, colliders, tolerance, contacts, slots, places, count, pairs,
    multiply, softness, sink, h, gravity_speed, ground_up, may_sleep, plan, islands, graph, solve, swept,
    rows, push, sums, parts, lasting_out, shares, board, thread,
):  # fmt: skip
    """Group the contacts by island, fill their rows, and let the impulses of the last step act.

    Args:
        friction: Of the bodies, shape (n, 2).
        half_way: Masses of the bodies as they stand half way through the step: `inv_I` is written.
        tolerance: Penetration that does not count [m].
        slots, places: Pair of each contact, and its index among the pair's points.
        pairs: `stiffening` is brought up to date.
        softness: Compliance of a contact in units of its K_nn.
        sink: How far a contact may sink in under the load of the last step, per step [m/s].
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        ground_up: Order each island's contacts by level; otherwise by index.
        may_sleep: Whether any island may.
        plan: In: free motion. Out: motion with these impulses.
        solve: What is remembered of the last step.
        swept: How the island is divided that will be swept longest: written.
        push: Scratch (c, 3).
        sums: A tuple of (bodies, 6), one for each part of the contacts; the velocity changes by the impulses
            are written to the first.
        parts: How many of these; they must not depend on the number of threads, or sums would.
        lasting_out: Whether they act on a body all through the step, shape (bodies,).
        shares: In how many parts the bodies are divided.
        board, thread: See `crew`: while one thread groups the contacts others fill rows.

    Returns:
        The number of islands, to the leader.
    """
    n, island_count = kind.shape[0], np.int64(0)
    row_pieces = pieces_of(count, CONTACTS_OF_PIECE)
    if thread == LEADER:
        board.number[SPINS] = 1.0 if _any_turns_far(h, plan.start) else 0.0
        note_moving(kind, masses, h, plan.mean, solve.last_mean, solve.moves)
        _stand_half_way(kind, masses, h, plan.mean, half_way)
        island_count = _group(
            kind, masses, contacts, count, ground_up, may_sleep, plan, islands, graph, solve, swept, rows,
            board, row_pieces,
        )  # fmt: skip
    pieces = row_pieces, parts, shares, row_pieces
    piece = next_piece_in_turn(board, thread, pieces)
    while piece >= 0:
        spins = board.number[SPINS] > 0.0
        if board.word[TASK] == ROWS:
            first = first_of_pair(slots, count * piece // row_pieces, count)
            last = first_of_pair(slots, count * (piece + 1) // row_pieces, count)
            mean_arms(
                kind, masses, contacts, slots, pairs.allowance, first, last, h, plan, solve.last_mean,
                solve.moves, sink * h, rows.kept,
            )  # fmt: skip
            fill_rows(friction, half_way, contacts, slots, places, first, last, pairs, multiply, rows)
            soften(contacts.body, slots, first, last, softness, sink, solve.last_mean, pairs.stiffening, rows)
            _recall_impulses(masses, contacts, rows, first, last, h, spins, plan.start, push)
        elif board.word[TASK] == MOMENTA:
            first, last = count * piece // parts, count * (piece + 1) // parts
            sum_momenta(contacts, rows, first, last, push, sums[piece])
        elif board.word[TASK] == BODIES:
            _warm_start(
                kind, half_way, contacts, rows, count, n * piece // shares, n * (piece + 1) // shares, h,
                gravity_speed, spins, parts, plan, sums, lasting_out,
            )  # fmt: skip
        else:
            first = first_of_pair(slots, count * piece // row_pieces, count)
            last = first_of_pair(slots, count * (piece + 1) // row_pieces, count)
            fall = 0.5 * gravity_speed * h
            come_on(
                half_way, shapes, colliders, pairs, contacts, slots, first, last, h, tolerance, fall,
                plan.mean, rows,
            )  # fmt: skip
        piece_done(board)
        piece = next_piece_in_turn(board, thread, pieces)
    return island_count
