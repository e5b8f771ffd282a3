"""The end of a step: impulses act on the bodies, and these move."""

from ..crew import FIRST, LEADER, SECOND, TASK, next_piece_in_turn, piece_done, pieces_of, put_up
from ..dynamics.body_state import DYNAMIC
from ..dynamics.contact_rows import PUSH, add_parts, contact_frame, join_impulses, sum_momenta
from ..dynamics.motion import move_some_bodies
from ..jit import inner, kernel
from ..math3 import mat3, vec3
from .impulse_contacts import STEADY, lasts, square_of_push
from .impulse_energy import kinetic_energy

IMPULSES, MOMENTA = FIRST, SECOND  # are turned into world axes, and summed; then bodies are moved
CONTACTS_OF_PIECE = 512  # that are worth a piece


@inner
def _write_impulses(contacts, rows, first, last, impulse_out, push_out):
    """Write the impulses of some contacts in world axes: for the next step, and all of this one [N s]."""
    join_impulses(rows, first, last)
    for c in range(first, last):
        if rows.kept[c]:
            continue
        p, before = vec3.load(rows.impulse, c), vec3.load(rows.before, c)
        # Of friction the spring's part is kept, without what damps it.
        kept = (p[0], before[1] + PUSH * (p[1] - before[1]), before[2] + PUSH * (p[2] - before[2]))
        frame, total = contact_frame(contacts, c), vec3.add(p, vec3.load(rows.collision, c))
        impulse_out[c, 0], impulse_out[c, 1], impulse_out[c, 2] = mat3.transform_transposed(frame, kept)
        push_out[c, 0], push_out[c, 1], push_out[c, 2] = mat3.transform_transposed(frame, total)


@inner
def _note_lasting(masses, gravity, i, change, h, plan):
    """Note by what contacts changed the momenta of a body, and whether as forces that last."""
    square = square_of_push(masses, i, change)
    for k in range(6):
        plan.push[i, k] = change[k] - plan.push[i, k]
    plan.steady[i] = square_of_push(masses, i, plan.push[i]) <= STEADY * STEADY * square
    weight = h * vec3.norm(vec3.load(gravity, i))
    if plan.drive.shape[0] > 0:
        weight += vec3.norm((plan.drive[i, 6], plan.drive[i, 7], plan.drive[i, 8]))
    plan.lasts[i] = lasts(plan, i, square, weight)
    for k in range(6):
        plan.push[i, k] = change[k]


@inner
def _advance(model, masses, state, change, parts, first, last, plan, gravity, h, energy_out):
    """Add the impulses to the momentum of some bodies, note what energy they had before, and move them."""
    for i in range(first, last):
        energy_out[i] = 0.0
        if model.kind[i] == DYNAMIC:
            energy_out[i] = kinetic_energy(masses, state, i)
            add_parts(change, parts, i)
            d = change[0][i]
            _note_lasting(masses, gravity, i, d, h, plan)
            for k in range(3):
                if model.inv_mass[i, k] > 0.0:
                    state.v[i, k] += d[k] * model.inv_mass[i, k]
                if not model.lock_angular[i, k]:
                    state.L[i, k] += d[3 + k]
    move_some_bodies(model, state, plan, gravity, h, first, last)


@kernel
def advance_bodies(
    model, masses, state, contacts, rows, count, plan, gravity, h, impulse, push, change, parts, energy_out,
    shares, board, thread,
):  # fmt: skip
    """Apply the impulses of the step to the bodies and move these.

    Args:
        gravity: Of each body [m/s^2], shape (n, 3).
        impulse: Of each contact, world axes, for the next step [N s], shape (c, 3): written.
        push: Scratch (c, 3).
        change: A tuple of scratch (n, 6), one for each part of the contacts.
        parts: How many of these; they must not depend on the number of threads, or sums would.
        energy_out: Kinetic energy of every body that forces move, before the impulses [J], shape (n,).
        shares: In how many parts the bodies are divided.
        board, thread: See `crew`: several threads share the contacts, then the bodies.
    """
    n = state.c.shape[0]
    contact_pieces = pieces_of(count, CONTACTS_OF_PIECE)
    pieces = contact_pieces, parts, shares
    if thread == LEADER:
        put_up(board, IMPULSES, contact_pieces)
    piece = next_piece_in_turn(board, thread, pieces)
    while piece >= 0:
        if board.word[TASK] == IMPULSES:
            first, last = count * piece // contact_pieces, count * (piece + 1) // contact_pieces
            _write_impulses(contacts, rows, first, last, impulse, push)
        elif board.word[TASK] == MOMENTA:
            first, last = count * piece // parts, count * (piece + 1) // parts
            sum_momenta(contacts, rows, first, last, push, change[piece])
        else:
            first, last = n * piece // shares, n * (piece + 1) // shares
            _advance(
                model, masses, state, change, parts, first, last, plan, gravity, h, energy_out
            )  # fmt: skip
        piece_done(board)
        piece = next_piece_in_turn(board, thread, pieces)
