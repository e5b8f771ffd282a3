"""Newton's method on the contacts of one island, for islands that sweeps do not settle.

The contacts of the impulse solver are springs of given compliance: an impulse follows from the mean
velocities w of the step,

    p_n = max(0, (rate - u_n) / compliance),
    p_t = before_t - u_t / compliance, at most mu p_n long,

and the step is the minimum over w of 1/2 (w - w0)' M (w - w0) + the springs' potentials, convex
while the friction limits stand still; they follow the normal impulses from one iteration to the next.
At rest the velocities of the last step are the solution already: the step costs one gradient.

Source: Bender & Schmitt 2006, section 3.2, for the conditions; Todorov 2014, *Convex and analytically
invertible dynamics with contacts*, and Castro et al. 2022, *An unconstrained convex formulation of
compliant contact*, for the potential; George & Liu 1981 for the factor.
"""

import math
from typing import NamedTuple

import numpy as np

from ..dynamics.body_state import inertia_of
from ..dynamics.contact_rows import (
    contact_frame,
    friction_of,
    in_frame,
    relative_velocity,
    sticking_impulse,
    stiffnesses,
)
from ..jit import allocating_inner, inlined, inner
from ..math3 import mat3, vec3
from ..tables import scratch_tables
from .block_cholesky import analyze, factor, products, solve, without_fill
from .conjugate_gradients import conjugate_gradients
from .newton_limits import LIMIT_ROUNDS, STEADY, follow_limits, set_limits
from .newton_matrix import (
    AS_GLUED,
    AS_SPRINGS,
    HOLDS,
    OPEN,
    SLIPS,
    assemble,
    friction_limit,
    is_locked,
    is_pressed,
)

MOST_ITERATIONS, MOST_IN_HEAPS = 320, 120
MAX_BODIES = 1000  # the elimination graph is a table of bodies by bodies
LINE_SEARCH = 12
FULL_STEP = 0.5  # a whole step that cuts the error to this part needs no line search
REUSE = 0.2  # the factor is kept while an iteration cuts the error to this part
# Without an iteration no more than this part of the accuracy is left, which is what one would leave.
CLEAN = 1e-3
# A contact that slips resists across its slip only. A step that goes by this ends early, where hundreds of
# others begin to slip or to hold. So contacts are given a part of that resistance along their slip, too: all
# of it, by which no step goes too far (the friction's potential lies below that parabola), at first and
# after a step that was cut to less than SHORT; half as much after each that was nearly WHOLE.
SHORT, WHOLE = 0.5, 0.8
# A contact that is open resists nothing, and a step that goes by this may end at its very start, where one of
# hundreds closes. So contacts that push anywhere along a step that was SHORT are given a part of their
# resistance while they are open, too: all of it in the next step, and so much less after each that was not.
# A large heap begins with those that push by the impulses of the sweeps.
AJAR = 0.1
# Block products of a factor, per contact, beyond which conjugate gradients are faster: a wall has 11, a heap
# of 500 rocks 23, one of 1240 boxes 180.
MOST_PRODUCTS = 40
# An incomplete factor may fail where the whole one does not. It is then taken of a matrix with a diagonal so
# much larger, several times over.
SHIFT, SHIFTS = 1.1, 8


class NewtonScratch(NamedTuple):
    """Working space, by body or by contact."""

    rate: np.ndarray  # [m/s] (c,) least normal velocity of each contact
    free: np.ndarray  # (bodies, 6) mean velocities without the contacts
    gradient: np.ndarray  # (bodies, 6) of the potential [N s, N m s]
    error: np.ndarray  # (bodies, 6) of the velocities, M^-1 times the gradient; zero where none responds
    step: np.ndarray  # (bodies, 6) Newton step
    limit: np.ndarray  # [N s] (c,) friction limit of the last iterate
    grip: np.ndarray  # (c,) OPEN, SLIPS or HOLDS: what the first step takes the contact for; then see `shut`
    turn: np.ndarray  # (c,) +-1 by whether the limit last rose, further from 0 by one for each turn back


def newton_scratch(body_count: int, contact_capacity: int) -> NewtonScratch:
    """Scratch for so many bodies and contacts."""
    by_contact, by_body = ((contact_capacity,), float), ((body_count, 6), float)
    small = (contact_capacity,), np.int8
    return NewtonScratch(
        *scratch_tables(by_contact, by_body, by_body, by_body, by_body, by_contact, small, small)
    )


@inlined
def spring_impulse(rows, c, u, scratch, glued):
    """(p_n, p_t1, p_t2) of contact `c` at the relative velocity u; see `is_pressed` for `glued`."""
    across, along = stiffnesses(rows, c)
    limit = friction_limit(scratch, c, glued)
    normal = (scratch.rate[c] - u[0]) * along if is_pressed(scratch, c, u, glued) else 0.0
    p1, p2 = sticking_impulse(rows, c, u, across)
    square = p1 * p1 + p2 * p2
    if square <= limit * limit:
        return normal, p1, p2
    shorter = limit / math.sqrt(square)
    return normal, p1 * shorter, p2 * shorter


@inner
def _note_grips(rows, islands, island, grip):
    """Note how contacts push, by the impulses now in `rows.impulse`."""
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        p, most = rows.impulse[c], friction_of(rows, c) * rows.impulse[c, 0] * (1.0 - 1e-6)
        if p[0] <= 0.0:
            grip[c] = OPEN
        else:
            grip[c] = HOLDS if p[1] * p[1] + p[2] * p[2] < most * most else SLIPS


@inner
def _note_closing(islands, island, slip, scratch):
    """Note which contacts push somewhere along a step; `slip` is what `_line_search` left of it."""
    for i in range(slip.shape[0]):
        c = islands.order[islands.start[island] + i]
        lowest = min(slip[i, 0, 0], slip[i, 0, 0] - slip[i, 1, 0])
        scratch.grip[c] = HOLDS if scratch.rate[c] > lowest else OPEN


@inlined
def _momentum(masses, body, w):
    """M w of one body as six numbers."""
    m, L = masses.mass[body], mat3.transform(inertia_of(masses, body), (w[3], w[4], w[5]))
    return m * w[0], m * w[1], m * w[2], L[0], L[1], L[2]


@inner
def island_gradient(masses, contacts, rows, islands, island, velocity, scratch, glued):
    """Gradient of the potential at `velocity`, and the impulses there into `rows.impulse`.

    Args:
        glued: Whether contacts are taken for what their `grip` says; see `is_pressed`.

    Returns:
        The largest velocity error M^-1 g seen at a contact [m/s].
    """
    gradient, free = scratch.gradient, scratch.free
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        d = (
            velocity[body, 0] - free[body, 0],
            velocity[body, 1] - free[body, 1],
            velocity[body, 2] - free[body, 2],
            velocity[body, 3] - free[body, 3],
            velocity[body, 4] - free[body, 4],
            velocity[body, 5] - free[body, 5],
        )
        momentum = _momentum(masses, body, d)
        for m in range(6):
            gradient[body, m] = momentum[m]
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        frame = contact_frame(contacts, c)
        u = mat3.transform(frame, relative_velocity(velocity, contacts, c))
        p = spring_impulse(rows, c, u, scratch, glued)
        rows.impulse[c, 0], rows.impulse[c, 1], rows.impulse[c, 2] = p
        world = mat3.transform_transposed(frame, p)
        for side in range(2):
            body = contacts.body[c, side]
            if islands.number[body] < 0:
                continue
            sign = -1.0 if side == 0 else 1.0
            torque = vec3.cross(vec3.load(contacts.arm[c], side), world)
            for m in range(3):
                gradient[body, m] += sign * world[m]
                gradient[body, 3 + m] += sign * torque[m]
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        g = gradient[body]
        for m in range(6):
            if is_locked(masses, body, m):
                g[m] = 0.0
        spin = mat3.transform(mat3.load(masses.inv_I, body), (g[3], g[4], g[5]))
        for m in range(3):
            scratch.error[body, m] = g[m] / masses.mass[body]
            scratch.error[body, 3 + m] = spin[m]
    worst = 0.0
    for i in range(islands.start[island], islands.start[island + 1]):
        error = relative_velocity(scratch.error, contacts, islands.order[i])
        worst = max(worst, vec3.dot(error, error))
    return math.sqrt(worst)


@inner
def _descent(islands, island, scratch):
    """Derivative of the potential along the step where its gradient was taken."""
    total = 0.0
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        for m in range(6):
            total += scratch.gradient[body, m] * scratch.step[body, m]
    return total


@inner
def _slope(masses, rows, islands, island, velocity, scratch, slip, beyond):
    """Derivative of the potential along the step at w + beyond step; friction limits stand still.

    Args:
        slip: Velocities of the island's contacts in their frames and what the step adds [m/s], (c, 2, 3).
    """
    total = 0.0
    step, free = scratch.step, scratch.free
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        d = (
            velocity[body, 0] - free[body, 0] + beyond * step[body, 0],
            velocity[body, 1] - free[body, 1] + beyond * step[body, 1],
            velocity[body, 2] - free[body, 2] + beyond * step[body, 2],
            velocity[body, 3] - free[body, 3] + beyond * step[body, 3],
            velocity[body, 4] - free[body, 4] + beyond * step[body, 4],
            velocity[body, 5] - free[body, 5] + beyond * step[body, 5],
        )
        momentum = _momentum(masses, body, d)
        for m in range(6):
            total += momentum[m] * step[body, m]
    first = islands.start[island]
    for i in range(slip.shape[0]):
        c = islands.order[first + i]
        u, du = vec3.load(slip[i], 0), vec3.load(slip[i], 1)
        p = spring_impulse(rows, c, vec3.add(u, vec3.scale(du, beyond)), scratch, AS_SPRINGS)
        total -= vec3.dot(p, du)
    return total


@inner
def _line_search(masses, contacts, rows, islands, island, velocity, scratch, slip, first, whole):
    """Length of the step at which the potential stops falling, at most 1; 0 where it does not.

    Args:
        velocity: After the whole step.
        slip: Scratch (contacts of the island, 2, 3).
        first, whole: Derivative of the potential along the step at its start and at its end.
    """
    if not first < 0.0:
        return 0.0
    if whole <= 0.1 * abs(first):
        return 1.0
    first_contact = islands.start[island]
    for i in range(slip.shape[0]):
        c = islands.order[first_contact + i]
        u = in_frame(contacts, c, relative_velocity(velocity, contacts, c))
        du = in_frame(contacts, c, relative_velocity(scratch.step, contacts, c))
        for m in range(3):
            slip[i, 0, m], slip[i, 1, m] = u[m], du[m]
    low, high, slope_low, slope_high, alpha = 0.0, 1.0, first, whole, 1.0
    for _ in range(LINE_SEARCH):  # Illinois' regula falsi on the monotone slope
        alpha = high - slope_high * (high - low) / (slope_high - slope_low)
        slope = _slope(masses, rows, islands, island, velocity, scratch, slip, alpha - 1.0)
        if abs(slope) <= 0.1 * abs(first):
            break
        if slope > 0.0:
            high, slope_high = alpha, slope
            slope_low *= 0.5
        else:
            low, slope_low = alpha, slope
            slope_high *= 0.5
    return alpha


@allocating_inner
def _island_pattern(contacts, islands, island):
    """Where the Hessian of an island and its factor have blocks, and whether the factor is complete."""
    first, last = islands.start[island], islands.start[island + 1]
    n = islands.body_start[island + 1] - islands.body_start[island]
    links, count = np.empty((last - first, 2), np.int64), np.int64(0)
    for i in range(first, last):
        body = contacts.body[islands.order[i]]
        ka, kb = islands.number[body[0]], islands.number[body[1]]
        if ka >= 0 and kb >= 0 and (count == 0 or links[count - 1, 0] != ka or links[count - 1, 1] != kb):
            links[count, 0], links[count, 1] = ka, kb
            count += 1
    if n <= MAX_BODIES:
        linked = np.zeros((n, n), np.bool_)
        for i in range(count):
            linked[links[i, 0], links[i, 1]] = linked[links[i, 1], links[i, 0]] = True
        pattern = analyze(linked)
        if products(pattern) <= MOST_PRODUCTS * (last - first):
            return pattern, True
    return without_fill(n, links, count), False


@inner
def _factor_matrix(pattern, complete, matrix, blocks):
    """Factor a matrix into `blocks`; False where that fails."""
    larger = 1.0
    for _ in range(1 if complete else SHIFTS):
        for k in range(matrix.shape[0]):
            for i in range(6):
                for j in range(6):
                    blocks[k, i, j] = matrix[k, i, j]
        for k in range(pattern.rank.shape[0]):
            for i in range(6):
                blocks[k, i, i] *= larger
        if factor(pattern, blocks):
            return True
        larger *= SHIFT
    return False


@inner
def _newton_step(islands, island, pattern, complete, matrix, blocks, solution, work, scratch):
    """Solve H step = -gradient with the factor in `blocks`."""
    first = islands.body_start[island]
    for k in range(solution.shape[0]):
        for m in range(6):
            solution[pattern.rank[k], m] = -scratch.gradient[islands.body[first + k], m]
    if complete:
        solve(pattern, blocks, solution)
    else:
        conjugate_gradients(pattern, matrix, blocks, solution, work)
    for k in range(solution.shape[0]):
        for m in range(6):
            scratch.step[islands.body[first + k], m] = solution[pattern.rank[k], m]


@inner
def _go_along(islands, island, alpha, velocity, scratch):
    """Add so much of the Newton step to an island's velocities."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        for m in range(6):
            velocity[body, m] += alpha * scratch.step[body, m]


@inner
def _step_glued(
    masses, contacts, rows, islands, island, error, pattern, complete, matrix, blocks, solution, work,
    velocity, scratch,
):  # fmt: skip
    """A first step by what contacts do by their impulses, not by their springs; the error then left.

    Sweeps leave velocities that are right to a part of the tolerance, by which a spring gives under many
    times its load: by their springs many of the contacts would be open, and each step of Newton's method
    would end where the first of them closes. Their impulses tell which are. Where that is no gain, it is
    taken back.

    Source: Hintermueller, Ito & Kunisch 2002, *The primal-dual active set strategy as a semismooth Newton
    method*.
    """
    island_gradient(masses, contacts, rows, islands, island, velocity, scratch, AS_GLUED)
    assemble(masses, contacts, rows, islands, island, velocity, scratch, 1.0, 0.0, AS_GLUED, pattern, matrix)
    way = 0.0
    if _factor_matrix(pattern, complete, matrix, blocks):
        _newton_step(islands, island, pattern, complete, matrix, blocks, solution, work, scratch)
        way = 1.0
    _go_along(islands, island, way, velocity, scratch)
    left = island_gradient(masses, contacts, rows, islands, island, velocity, scratch, AS_SPRINGS)
    if left < error:
        return left
    _go_along(islands, island, -way, velocity, scratch)
    return island_gradient(masses, contacts, rows, islands, island, velocity, scratch, AS_SPRINGS)


@inner
def _iterate(
    masses, contacts, rows, islands, island, accuracy, error, pattern, complete, matrix, blocks, solution,
    work, slip, last, velocity, scratch,
):  # fmt: skip
    """Newton's method from the error at hand; what `solve_island` returns."""
    most = MOST_ITERATIONS if complete else MOST_IN_HEAPS
    iterations, rounds, whole_steps = 0, 0, 0
    along, shut, enough, factored = 1.0, 0.0 if complete else 1.0, CLEAN * accuracy, False
    while iterations < most:
        if (error <= enough or iterations > 0) and rounds < LIMIT_ROUNDS:
            steady = whole_steps >= STEADY
            while True:
                follow_limits(rows, islands, island, rounds == 0, steady, last, scratch)
                error = island_gradient(
                    masses, contacts, rows, islands, island, velocity, scratch, AS_SPRINGS
                )
                rounds += 1
                if not (steady and error <= enough):
                    break
                steady = False  # what impulses ask for counts in the end, not where limits go
        if error <= enough:
            break
        iterations, enough = iterations + 1, accuracy
        if not factored:
            assemble(
                masses, contacts, rows, islands, island, velocity, scratch, along, shut, AS_SPRINGS, pattern,
                matrix,
            )  # fmt: skip
            if not _factor_matrix(pattern, complete, matrix, blocks):
                break
        _newton_step(islands, island, pattern, complete, matrix, blocks, solution, work, scratch)
        before, first, length = error, _descent(islands, island, scratch), 1.0
        _go_along(islands, island, 1.0, velocity, scratch)
        error = island_gradient(masses, contacts, rows, islands, island, velocity, scratch, AS_SPRINGS)
        if not error < FULL_STEP * before:
            whole = _descent(islands, island, scratch)
            length = _line_search(
                masses, contacts, rows, islands, island, velocity, scratch, slip, first, whole
            )
            if length < 1.0:
                _go_along(islands, island, length - 1.0, velocity, scratch)
                error = island_gradient(
                    masses, contacts, rows, islands, island, velocity, scratch, AS_SPRINGS
                )
        whole_steps = whole_steps + 1 if length == 1.0 else 0
        if length == 0.0:
            break
        factored = error < REUSE * before  # the factor still serves
        along = 1.0 if length < SHORT else along * (0.5 if length > WHOLE else 1.0)
        if length < SHORT:
            _note_closing(islands, island, slip, scratch)
            shut = 1.0
        else:
            shut *= AJAR
    if error > accuracy:
        set_limits(rows, islands, island, scratch.limit)
    return iterations, error


@allocating_inner
def solve_island(masses, contacts, rows, islands, island, accuracy, patient, velocity, scratch):
    """Newton's method on one island, friction limits brought up to date between solutions.

    Args:
        accuracy: Largest velocity error of a contact to leave [m/s].
        patient: Whether a heap whose factor fills in too far is worth it.
        velocity: Mean velocities (bodies, 6): where Newton's method begins; written.
        scratch: `rate`, `free` and `limit` are read.

    Returns:
        (iterations, velocity error left [m/s]), infinite where it was not worth it; the impulses are in
        `rows.impulse`.
    """
    pattern, complete = _island_pattern(contacts, islands, island)
    if not (complete or patient):
        return 0, math.inf
    n = pattern.rank.shape[0]
    matrix = np.empty((n + pattern.row.shape[0], 6, 6))
    blocks, solution, work = np.empty_like(matrix), np.empty((n, 6)), np.empty((0 if complete else 4, n, 6))
    contact_count = islands.start[island + 1] - islands.start[island]
    slip, last = np.empty((contact_count, 2, 3)), np.empty((contact_count, 2))
    _note_grips(rows, islands, island, scratch.grip)
    error = island_gradient(masses, contacts, rows, islands, island, velocity, scratch, AS_SPRINGS)
    if error > accuracy:
        error = _step_glued(
            masses, contacts, rows, islands, island, error, pattern, complete, matrix, blocks, solution,
            work, velocity, scratch,
        )  # fmt: skip
    return _iterate(
        masses, contacts, rows, islands, island, accuracy, error, pattern, complete, matrix, blocks, solution,
        work, slip, last, velocity, scratch,
    )  # fmt: skip
