"""The islands of a step, each solved on its own: held at rest, swept, or given to Newton's method.

What an island needs is decided by measured residuals alone, so the choice is the same everywhere.
"""

from typing import NamedTuple

import numpy as np

from ..crew import LEADER
from ..dynamics.contact_rows import HEADROOM, PUSH, STIFFEST, add_impulse, to_world
from ..jit import inlined, inner, kernel, merged
from ..math3 import vec3
from ..tables import scratch_tables
from .impulse_contacts import bend, gap_rate
from .impulse_newton import NewtonScratch, newton_scratch, solve_island
from .impulse_progress import NEWTON, SWEEPS
from .impulse_rest import (
    REST_SPEED,
    copy_solution,
    hold,
    is_at_rest,
    is_calm,
    keep_impulses,
    typical_contact,
)
from .impulse_settle import (
    LARGE,
    leave_out_inertia,
    lengthen_step,
    may_settle,
    settle,
    shorten_step,
    take_inertia_in,
)
from .impulse_slip import SLIP_ROUNDS, let_slip, note_holding
from .impulse_squeezed import give_way, is_squeezed
from .impulse_sweeps import (
    BENT,
    ROUNDS,
    STRAIGHT,
    help_sweeps,
    sweep_island,
)
from .impulse_unsettled import note_unsettled
from .newton_limits import set_limits
from .packed_contacts import PackedContacts

OPEN, DONE = 0, 1  # SolveScratch.outcome
APART = 1e9  # [m] farther than anything closes in a step


class SolveScratch(NamedTuple):
    """Working space of the contact solve; what is of the last step is remembered from step to step."""

    outcome: np.ndarray  # (bodies + 1,) of each island
    gap: np.ndarray  # [m] (c,) gaps before arms rotate
    settles: np.ndarray  # (bodies,) comes to rest in this step
    held: np.ndarray  # (bodies,) held at rest in this step, and from then on in the last
    limit: np.ndarray  # [m/s] (bodies,) speed, turning included, above which a jammed body follows its mean
    moves: np.ndarray  # (bodies,) so that arms of its contacts are others in the mean over this step
    jammed: np.ndarray  # (bodies,) in an island that animated bodies jam
    contact_count: np.ndarray  # (bodies,) contacts of each body in the last step
    found: np.ndarray  # (bodies, 6) mean velocities of before, to come back to
    impulse: np.ndarray  # [N s] (c, 3) and impulses
    last_mean: np.ndarray  # (bodies, 6) mean velocities of the last step; zero of what came to rest in it
    wait: np.ndarray  # (bodies,) steps before the equilibrium of a heap is sought again, where none was found
    two_frictions: bool  # whether the dynamic friction of any body is not its static one
    newton: NewtonScratch


def solve_scratch(packed: PackedContacts, friction: np.ndarray) -> SolveScratch:
    """Scratch for bodies and contacts whose room for sweeps this is: no island is swept and kept at once.

    Args:
        friction: Of the bodies, static and dynamic, shape (n, 2).
    """
    body_count, contact_capacity = len(packed.found) - 1, len(packed.row)
    gap, outcome, found = scratch_tables(
        ((contact_capacity,), float), ((body_count + 1,), np.int64), ((body_count, 6), float)
    )
    return SolveScratch(
        outcome=outcome,
        gap=gap,
        settles=np.zeros(body_count, np.bool_),
        held=np.zeros(body_count, np.bool_),
        limit=np.full(body_count, np.inf),
        moves=np.zeros(body_count, np.bool_),
        jammed=np.zeros(body_count, np.bool_),
        contact_count=np.zeros(body_count, np.int64),
        found=found,
        impulse=packed.step,
        last_mean=np.zeros((body_count, 6)),
        wait=np.zeros(body_count, np.int64),
        two_frictions=bool((friction[:, 0] != friction[:, 1]).any()),
        newton=newton_scratch(body_count, contact_capacity),
    )


def remembered(solve: SolveScratch) -> tuple[np.ndarray, ...]:
    """What the next step goes on from."""
    return solve.last_mean, solve.held, solve.contact_count, solve.wait


def recall_solve(solve: SolveScratch, memory: tuple[np.ndarray, ...]) -> None:
    """Take over what `remembered` returned."""
    for mine, then in zip(remembered(solve), memory, strict=True):
        mine[:] = then


# Sweeps end when no contact changes by more than SETTLED of the tolerance, or, in an island that moves, by
# more than ENOUGH of it once MOST_SWEEPS are made (typed: a literal would compile what it is passed to anew).
SETTLED, ENOUGH, MOST_SWEEPS = 1e-2, 1e-1, np.int64(60)
# Instead of ENOUGH: in a heap in motion, whose next step is another, and in others with loops of more than
# MANY contacts in motion. Both are swept until then. Where more is left, putting positions right takes as
# long; and Newton's method five times as long on the groups of some hundred contacts in a silo of 250 cubes.
ENOUGH_IN_MOTION, ENOUGH_OF_MANY, MANY = 0.6, 0.3, 50
# An island is calm where no contact moves faster than this many times what gravity adds in a step.
# What sweeps leave there would be seen as a shiver, so it goes to Newton's method at once; a heap, whose
# iterations each take as long as many sweeps, only where it may come to rest.
CALM = 2.0
# What sweeps leave in a heap is where its next step starts, so it would keep moving by that much: they go on
# until they leave at most this part of the way its contacts typically move in the step.
# Where that is finer than in fast motion they may be PATIENCE times as many: the sooner the heap lies still,
# the fewer its steps take.
OF_MOTION, PATIENCE = 0.3, 4
# But no less than this part of the way in a step at which bodies count as at rest: a quarter of it kept
# groups of cubes in a heap swinging by some 10 um, without end.
OF_REST = 0.1
# Velocity error that Newton's method leaves, times the step, in parts of the tolerance; in heaps in motion.
NEWTON_ACCURACY, OF_HEAPS = 1e-3, 0.5 * ENOUGH
NEWTON_ROUNDS = 4
# Sweeps after which an island that has not settled goes to Newton's method, one iteration of which
# takes as long; and after which one of more than SHORT bodies without loops does, as a column or a chain: a
# sweep passes a load on by a link or so, and the factor has no more blocks than there are links. It is left
# with OF_FALL of the way that gravity adds in a step at most: what is left of a blow presses a column at each
# link, and it takes tens of steps to stretch.
FIRST_SWEEPS, FIRST_OF_CHAIN, SHORT, OF_FALL = 30, 12, 4, 0.1
# A large island whose links close more than so many loops is a heap. While it moves it is only swept, since
# its factor fills in, and one iteration of Newton's method takes far longer than a sweep; unless no number of
# sweeps settles it, as where light bodies between heavy ones let through a part of a load, by the ratio of
# their masses, in each. Of more than MOST_OF_HEAP contacts Newton's method takes seconds, and always as long
# as thousands of sweeps: it is not tried where no more than MANY_SWEEPS are allowed.
LOOPS, MOST_OF_HEAP, MANY_SWEEPS = 20, 4000, 1000


@inner
def _count_loops(contacts, islands, island):
    """How many loops links between bodies close: many in a heap, one in an arch, none in a chain."""
    links = 0
    last_a, last_b = np.int64(-1), np.int64(-1)
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        a, b = contacts.body[c, 0], contacts.body[c, 1]
        if (a != last_a or b != last_b) and islands.number[a] >= 0 and islands.number[b] >= 0:
            links += 1
        last_a, last_b = a, b
    return max(links + 1 - (islands.body_start[island + 1] - islands.body_start[island]), 0)


@inlined
def _is_heap(islands, island, loops):
    """Whether an island with so many loops is one."""
    return islands.start[island + 1] - islands.start[island] > LARGE and loops > LOOPS


@inner
def _leave_acted(masses, contacts, rows, c, free):
    """Leave with what is free of impulses that part of those of the last step which has acted: it stays."""
    acted = rows.acted[c] / (1.0 - rows.acted[c])
    p = to_world(contacts, c, vec3.scale(vec3.load(rows.before, c), acted))
    for side in range(2):
        arm = vec3.load(contacts.arm[c], side)
        add_impulse(masses, contacts.body[c, side], arm, p, 1.0 - 2.0 * side, 1.0, free)


@inner
def set_up_islands(masses, contacts, rows, islands, island_count, h, gravity_speed, net, mean, solve):
    """Prepare every island, and hold those that are at rest.

    An island is at rest where nothing moves and the forces of the last step still balance: it costs
    one gradient, and its bodies neither creep nor shiver.

    Args:
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        net: Velocity changes by the impulses of the last step, shape (bodies, 6).
        mean: Planned mean velocities (bodies, 6); zero is written for islands at rest.
    """
    solve.held[:], solve.settles[:] = False, False
    for i in range(mean.shape[0]):
        solve.wait[i] = max(solve.wait[i] - 1, 0)
        for k in range(6):
            solve.newton.free[i, k] = mean[i, k] - net[i, k]
            solve.newton.step[i, k], solve.newton.error[i, k] = 0.0, 0.0
    for island in range(island_count):
        first, last = islands.start[island], islands.start[island + 1]
        if islands.asleep[island]:
            solve.outcome[island] = DONE
            hold(islands, island, mean, solve.held)
            continue
        for i in range(first, last):
            c = islands.order[i]
            solve.gap[c] = rows.gap[c]
            if rows.acted[c] > 0.0:
                _leave_acted(masses, contacts, rows, c, solve.newton.free)
        solve.outcome[island] = OPEN
        if is_at_rest(masses, contacts, rows, islands, island, h, gravity_speed, mean, solve):
            solve.outcome[island] = DONE
            hold(islands, island, mean, solve.held)


@inlined
def _begin_to_slip(contacts, rows, islands, island, mean, solve):
    """Whether pairs of an island begin to slip, by its solution: they do when it is next solved."""
    return solve.two_frictions and let_slip(contacts, rows, islands, island, mean)


@merged
def sweep_islands(
    masses,
    contacts,
    rows,
    islands,
    island_count,
    h,
    tolerance,
    gravity_speed,
    max_sweeps,
    equilibrium,
    plan,
    solve,
    packed,
    report,
    board,
):
    """Gauss-Seidel on the islands that are open, while it settles them quickly.

    Args:
        tolerance: Largest penetration to leave [m].
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        max_sweeps: Bound on the sweeps of an island.
        equilibrium: What islands may come to rest in.
        plan: `mean` is written.
        report: Sweeps are added, and what `note_unsettled` does.
    """
    mean = plan.mean
    for island in range(island_count):
        if solve.outcome[island] == DONE:
            continue
        first, last = islands.start[island], islands.start[island + 1]
        calm = is_calm(contacts, islands.order, first, last, mean, CALM * gravity_speed)
        loops = _count_loops(contacts, islands, island)
        heap = _is_heap(islands, island, loops)
        is_left = heap and (last - first > MOST_OF_HEAP or max_sweeps <= MANY_SWEEPS)
        if heap and equilibrium.far > 0.0:
            calm = may_settle(masses.bound, contacts, islands, island, gravity_speed, plan, solve)
        squeezed = is_squeezed(contacts, rows, solve.gap, islands, island, tolerance)
        if calm and not squeezed:
            continue
        settled = SETTLED * tolerance
        bodies = islands.body_start[island + 1] - islands.body_start[island]
        chain = loops == 0 and bodies > SHORT and not squeezed
        if chain and last - first > MANY:  # swept where it moves: in the next step it will be another island
            typical = typical_contact(contacts, islands.order, first, last, mean)
            chain = OF_MOTION * h * typical < ENOUGH * tolerance
        enough, most = ENOUGH * tolerance, FIRST_OF_CHAIN if chain else FIRST_SWEEPS
        if chain and gravity_speed > 0.0:
            enough = max(min(enough, OF_FALL * gravity_speed * h), settled)
        bound, worst = min(most, max_sweeps), settled
        if heap:
            enough = ENOUGH_IN_MOTION * tolerance
            typical = typical_contact(contacts, islands.order, first, last, mean)
            if gravity_speed > 0.0:  # or it would never be at rest
                settled = min(settled, OF_REST * REST_SPEED * gravity_speed * h)
            settled = min(max(settled, OF_MOTION * h * typical), enough)
            most = MOST_SWEEPS if settled == enough else PATIENCE * MOST_SWEEPS
        elif last - first > MANY and not chain:
            enough, most = ENOUGH_OF_MANY * tolerance, MOST_SWEEPS
        if squeezed:
            bound = min(most, max_sweeps)
        elif last - first > MANY and not chain:
            bound, worst = max_sweeps, enough
        for _ in range(SLIP_ROUNDS):
            residual, sweeps = sweep_island(
                masses, contacts, rows, islands, island, h, PUSH, BENT * tolerance, ROUNDS, settled, worst,
                most, bound, solve.gap, packed, mean, board,
            )  # fmt: skip
            report[SWEEPS] += sweeps
            unsettled = residual > enough and not is_left
            if unsettled or squeezed or not _begin_to_slip(contacts, rows, islands, island, mean, solve):
                break
        if residual <= enough or squeezed or is_left:
            solve.outcome[island] = DONE
        if (squeezed or is_left) and residual > enough:
            note_unsettled(contacts, rows, islands, island, h, residual, mean, report)


@inner
def _stiffen(rows, order, first, last, sink):
    """Stiffen the springs that gave by more than twice `sink`; whether there were any."""
    any_soft = False
    for i in range(first, last):
        c = order[i]
        stiffest = STIFFEST * rows.K_nn[c]
        if rows.compliance[c] > stiffest and rows.compliance[c] * rows.impulse[c, 0] > 2.0 * sink:
            rows.compliance[c] = max(stiffest, sink / (HEADROOM * rows.impulse[c, 0]))
            any_soft = True
    return any_soft


@merged
def _converge(
    masses, contacts, rows, islands, island, h, tolerance, accuracy, sink, patient, static, mean, solve,
    report,
):  # fmt: skip
    """Newton's method with arms that rotate and springs stiff enough; returns the error left [m/s]."""
    first, last = islands.start[island], islands.start[island + 1]
    set_limits(rows, islands, island, solve.newton.limit)
    error = 0.0
    for _ in range(NEWTON_ROUNDS):  # straight arms, then with those that rotate; soft, then stiff
        for i in range(first, last):
            c = islands.order[i]
            solve.newton.rate[c] = gap_rate(rows.gap[c], h, PUSH)
        if static:
            lengthen_step(rows, islands.order, first, last, h, solve.newton.rate)
        iterations, error = solve_island(
            masses, contacts, rows, islands, island, accuracy, patient, mean, solve.newton
        )
        if static:
            shorten_step(rows, islands.order, first, last, solve.gap)
        report[NEWTON] += iterations
        if not error * h <= ENOUGH * tolerance:
            break
        bent = not static and bend(
            masses, contacts, rows, islands.order, first, last, h, BENT * tolerance, mean, solve.gap
        )
        if not (_stiffen(rows, islands.order, first, last, sink) or bent):
            break
    return error


@merged
def newton_islands(
    masses, contacts, rows, islands, island_count, h, tolerance, accuracy, gravity_speed, sink, max_sweeps,
    equilibrium, plan, solve, packed, report, board,
):  # fmt: skip
    """Newton's method on the islands that sweeps did not settle; where it fails, more sweeps.

    Args:
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        sink: How far a spring may give under its load, per step [m/s]; softer ones are stiffened.
        max_sweeps: Bound on the sweeps where Newton's method did not converge.
        equilibrium: What islands may come to rest in; see `impulse_settle`.
    """
    mean, settling = plan.mean, equilibrium.far > 0.0
    for island in range(island_count):
        if solve.outcome[island] == DONE:
            continue
        copy_solution(islands, island, mean, rows.impulse, solve.found, solve.impulse)
        slip_rounds = SLIP_ROUNDS
        still = may_settle(masses.bound, contacts, islands, island, gravity_speed, plan, solve)
        static, limit, enough, bound = settling and still, accuracy, ENOUGH * tolerance, max_sweeps
        if settling and not still and _is_heap(islands, island, _count_loops(contacts, islands, island)):
            limit, enough, bound = OF_HEAPS * tolerance / h, ENOUGH_IN_MOTION * tolerance, MOST_SWEEPS
            slip_rounds = 1
        while True:
            if static:
                leave_out_inertia(islands, island, plan, solve.newton.free, mean)
            error = _converge(
                masses, contacts, rows, islands, island, h, tolerance, limit, sink,
                still or not settling, static, mean, solve, report,
            )  # fmt: skip
            if not static:
                slip_rounds -= 1
                settled = error * h <= ENOUGH * tolerance
                begin = settled and _begin_to_slip(contacts, rows, islands, island, mean, solve)
                if not begin or slip_rounds == 0:
                    break
                continue
            if settle(
                masses.bound, contacts, rows, islands, island, h, gravity_speed, tolerance, equilibrium,
                error, mean, solve,
            ):  # fmt: skip
                break
            static = still = False
            take_inertia_in(islands, island, plan, solve.newton.free)
            copy_solution(islands, island, solve.found, solve.impulse, mean, rows.impulse)
        if not error * h <= ENOUGH * tolerance:
            copy_solution(islands, island, solve.found, solve.impulse, mean, rows.impulse)
            residual, sweeps = sweep_island(
                masses, contacts, rows, islands, island, h, PUSH, BENT * tolerance, ROUNDS,
                SETTLED * tolerance, enough, MOST_SWEEPS, min(bound, max_sweeps), solve.gap, packed, mean,
                board,
            )  # fmt: skip
            report[SWEEPS] += sweeps
            _begin_to_slip(contacts, rows, islands, island, mean, solve)
            if residual > enough:
                note_unsettled(contacts, rows, islands, island, h, residual, mean, report)


@inlined
def _leave_out_idle(rows, islands, island):
    """Have contacts of an island that are open and press nothing take part in nothing.

    Nothing closes them in the step, as turning arms say; straight on at the velocities of its end some would.
    """
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        if rows.gap[c] > 0.0 and rows.impulse[c, 0] == 0.0:
            rows.gap[c] = APART


@inlined
def _take_idle_in(rows, islands, island, gap):
    """Let them take part again, at the gaps that they have."""
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        if rows.gap[c] == APART:
            rows.gap[c] = gap[c]


@merged
def release_push(
    masses, contacts, rows, islands, island_count, plan, h, slop, max_sweeps, solve, packed, velocity, board
):
    """End velocities without what pushed penetrations apart; `velocity` (n, 6) is written.

    Positions keep the push, velocities do not: overlapping bodies part without flying off. Islands
    without penetration beyond `slop` keep their solution.
    """
    for i in range(velocity.shape[0]):
        for k in range(6):
            velocity[i, k] = plan.mean[i, k] + plan.end_minus_mean[i, k]
    for island in range(island_count):
        pushed = False
        for i in range(islands.start[island], islands.start[island + 1]):
            pushed = pushed or rows.gap[islands.order[i]] < -slop
        if pushed:
            keep_impulses(rows, islands, island, np.bool_(False))
            _leave_out_idle(rows, islands, island)
            sweep_island(
                masses, contacts, rows, islands, island, h, 0.0, np.inf, STRAIGHT, 0.1 * slop, 0.1 * slop,
                MOST_SWEEPS, min(MOST_SWEEPS, max_sweeps), solve.gap, packed, velocity, board,
            )  # fmt: skip
            _take_idle_in(rows, islands, island, solve.gap)


@kernel
def solve_contacts(
    masses, contacts, rows, islands, island_count, h, gravity_speed, tolerance, accuracy, sink, max_sweeps,
    equilibrium, net, plan, solve, packed, report, end_velocity, board, thread,
):  # fmt: skip
    """Find the impulses of all islands: those of the last step, or by sweeps, or by Newton's method.

    Args:
        masses: Of the bodies as they stand half way through the step.
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        tolerance: Largest penetration to leave [m].
        accuracy: Velocity error that Newton's method leaves [m/s].
        sink: How far a spring may give under its load, per step [m/s].
        max_sweeps: Bound on the sweeps over an island.
        equilibrium: What islands may come to rest in.
        net: Velocity changes by the impulses of the last step, shape (bodies, 6).
        plan: `mean` and `end_minus_mean` of the coming step; `mean` is written.
        packed: Scratch of this step.
        report: Sweeps, Newton's iterations, and what `note_unsettled` notes: written.
        end_velocity: Velocities at the end of the step, without what parts overlaps, (bodies, 6): written.
        board, thread: See `crew`: several threads share the sweeps over large islands.
    """
    mean = plan.mean
    if thread != LEADER:
        help_sweeps(board, thread, masses, contacts, rows, solve.gap, packed, mean)
        return
    report[:] = 0.0
    set_up_islands(masses, contacts, rows, islands, island_count, h, gravity_speed, net, mean, solve)
    sweep_islands(
        masses, contacts, rows, islands, island_count, h, tolerance, gravity_speed, max_sweeps, equilibrium,
        plan, solve, packed, report, board,
    )  # fmt: skip
    newton_islands(
        masses, contacts, rows, islands, island_count, h, tolerance, accuracy, gravity_speed, sink,
        max_sweeps, equilibrium, plan, solve, packed, report, board,
    )  # fmt: skip
    give_way(
        masses, contacts, rows, islands, island_count, h, tolerance, gravity_speed, max_sweeps, plan.start,
        mean, solve, packed, board,
    )  # fmt: skip
    for i in range(mean.shape[0]):
        for k in range(6):
            solve.last_mean[i, k] = 0.0 if solve.settles[i] else mean[i, k]
    release_push(
        masses, contacts, rows, islands, island_count, plan, h, 2.0 * tolerance, max_sweeps, solve,
        packed, end_velocity, board,
    )  # fmt: skip
    for island in range(island_count):
        if solve.two_frictions:
            note_holding(contacts, rows, islands, island)
