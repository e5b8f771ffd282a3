"""What animated bodies squeeze: no impulse keeps it apart from them, so they are let into it.

An animated body goes where it goes. Where two of them, or one and a wall, leave less room than a body
needs, the conditions at its contacts contradict each other and impulses grow without end. There the
contacts with moving animated bodies become springs as soft as the bodies are light: what is squeezed then
moves with them, overlaps them by what there is no room for, and is not flung away.
"""

import math

import numpy as np

from ..dynamics.body_state import inertia_of
from ..dynamics.contact_rows import PUSH, in_frame, relative_velocity
from ..jit import inner, kernel
from ..math3 import mat3, vec3
from .impulse_contacts import gap_rate
from .impulse_rest import fastest_body, keep_impulses, touches_animated
from .impulse_sweeps import BENT, ROUNDS, sweep_island

# Tolerances by which a contact would end too deep, or is too deep in a body that no force moves.
SQUEEZED = 5.0
# Impulses so many times what would stop the island say that it is jammed: what they leave over is round-off.
# Fewer will do where they also make a body so many times faster than all there was before.
WEDGED, FLUNG = 100.0, 2.0
# No body gets faster in a step, turning included, than so many times all there was before: what an animated
# body hits without loss, twice its speed, and what that hits twice the speed of that.
FASTER = 4.0
# Impulses on a body so many times what would stop it are those of a press: what they leave over says little.
PRESSED = 5.0
SOFT = 1.0  # compliance of such contacts, in units of their effective mass' inverse
# Sweeps over them at most: what these leave is far below the overlap.
MOST_SOFT = np.int64(240)


@inner
def _is_in_fixed(contacts, gap, islands, c, depth):
    """Whether contact `c` is deeper than `depth` [m] in a body that no force moves.

    Args:
        gap: Gaps before arms rotate [m], shape (c,): what turning takes from one is no overlap.
    """
    a, b = contacts.body[c, 0], contacts.body[c, 1]
    return gap[c] < -depth and (islands.number[a] < 0 or islands.number[b] < 0)


@inner
def is_squeezed(contacts, rows, gap, islands, island, tolerance):
    """Whether an island is so deep in a body that no force moves that it has no room: nothing solves it.

    Args:
        gap: Gaps before arms rotate [m], shape (c,).
    """
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        # Where a contact was moved to a collision, the gap is what is followed back from there.
        if rows.slot[c] >= 0 and _is_in_fixed(contacts, gap, islands, c, SQUEEZED * tolerance):
            return True
    return False


@inner
def _any_animated(masses, mean):
    """Whether any body moves that no force moves."""
    for i in range(mean.shape[0]):
        m, v = masses.inv_mass[i], mean[i]
        if m[0] == 0.0 and m[1] == 0.0 and m[2] == 0.0:
            for k in range(6):
                if v[k] != 0.0:
                    return True
    return False


@inner
def _what_squeezes(contacts, gap, islands, island, any_animated, depth, mean):
    """Whether animated bodies touch an island, and whether it is in a body that no force moves."""
    animated, inside = False, False
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        animated = animated or (any_animated and touches_animated(contacts, islands, c, mean))
        inside = inside or _is_in_fixed(contacts, gap, islands, c, depth)
    return animated, inside


@inner
def _shortfall(contacts, rows, islands, island, h, mean):
    """How much too deep the worst contact would end [m]."""
    worst = 0.0
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        speed = in_frame(contacts, c, relative_velocity(mean, contacts, c))[0]
        worst = max(worst, h * (gap_rate(rows.gap[c], h, PUSH) - speed))
    return worst


@inner
def _animated_speed(contacts, islands, island, gravity_speed, mean):
    """The fastest point of an animated body that touches an island, or what gravity adds in a step [m/s]."""
    fastest = gravity_speed
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        for side in range(2):
            body = contacts.body[c, side]
            if islands.number[body] < 0:
                v = mean[body]
                turn = vec3.cross((v[3], v[4], v[5]), vec3.load(contacts.arm[c], side))
                fastest = max(fastest, vec3.norm(vec3.add((v[0], v[1], v[2]), turn)))
    return fastest


@inner
def _pressure(masses, rows, islands, island, speed):
    """The largest impulse over what could stop the whole island from `speed` [m/s]."""
    mass, largest = 0.0, 0.0
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        mass += masses.mass[islands.body[k]]
    for i in range(islands.start[island], islands.start[island + 1]):
        largest = max(largest, rows.impulse[islands.order[i], 0])
    return largest / (mass * speed) if speed > 0.0 else 0.0


@inner
def _drop_impulses(rows, islands, island):
    """Forget the impulses of an island."""
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        for k in range(3):
            rows.impulse[c, k], rows.before[c, k] = 0.0, 0.0


@inner
def _note_jam(islands, island, jammed):
    """Note that an island's impulses are those of a jam, and no guide to the next step's."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        jammed[islands.body[k]] = True


@inner
def _energetic_speed(masses, body, v):
    """Speed at which a body would have the energy of the velocity v (6,) without turning [m/s]."""
    inertia = inertia_of(masses, body)
    w = (v[3], v[4], v[5])
    turning = vec3.dot(w, mat3.transform(inertia, w)) / masses.mass[body]
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + turning)


@inner
def _limit_speed(masses, body, limit, mean):
    """Let the mean velocity of a body have no more energy than the speed `limit` [m/s] has."""
    speed = _energetic_speed(masses, body, mean[body])
    if speed > limit:
        for m in range(6):
            mean[body, m] *= limit / speed


@inner
def _own_limit(masses, body, animated_speed, start):
    """Speed that a jam may leave a body [m/s]: its own before the step, or that of what jams it."""
    return max(animated_speed, _energetic_speed(masses, body, start[body]))


@inner
def _limit_speeds(masses, islands, island, animated_speed, start, mean, limit_out):
    """Let no body of an island go FASTER than all there was before, in the step and after it."""
    first, last, limit = islands.body_start[island], islands.body_start[island + 1], 0.0
    for k in range(first, last):
        limit = max(limit, FASTER * _own_limit(masses, islands.body[k], animated_speed, start))
    for k in range(first, last):
        limit_out[islands.body[k]] = limit
        _limit_speed(masses, islands.body[k], limit, mean)


@inner
def _limit_jammed(masses, islands, island, animated_speed, kept, start, mean, limit_out):
    """Let no body of a jammed island get faster than it was and than what jams it, in the step and after.

    Args:
        kept: Part of that speed after the step up to which a body has its own velocity, not the step's mean.
    """
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        limit = _own_limit(masses, body, animated_speed, start)
        limit_out[body] = kept * limit
        _limit_speed(masses, body, limit, mean)


@inner
def _shoots_pressed(masses, contacts, rows, islands, island, animated_speed, start, mean):
    """Whether a body of an island that is in a press gets faster than a jam may leave it."""
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        for side in range(2):
            body = contacts.body[c, side]
            if islands.number[body] >= 0:
                limit = _own_limit(masses, body, animated_speed, start)
                pressed = rows.impulse[c, 0] > PRESSED * masses.mass[body] * limit
                if pressed and _energetic_speed(masses, body, mean[body]) > limit:
                    return True
    return False


@kernel
def follow_mean(masses, state, mean, limit):
    """Let bodies faster than their limit go on with the mean velocities of the step: impulses are no guide.

    Args:
        limit: Of each body [m/s], shape (n,): of the speed that has the energy of its motion and turning.
    """
    for i in range(limit.shape[0]):
        if limit[i] == math.inf:
            continue
        inertia = inertia_of(masses, i)
        square = vec3.dot(vec3.load(state.v, i), vec3.load(state.v, i))
        square += vec3.dot(vec3.load(state.w, i), vec3.load(state.L, i)) / masses.mass[i]
        if square > limit[i] * limit[i]:
            w = (mean[i, 3], mean[i, 4], mean[i, 5])
            L = mat3.transform(inertia, w)
            for k in range(3):
                state.v[i, k], state.w[i, k], state.L[i, k] = mean[i, k], w[k], L[k]


@inner
def _limit_jam(masses, contacts, rows, islands, island, animated_speed, start, mean, solve):
    """Limit the speeds in an island that animated bodies move, by `animated_speed` [m/s] in a jam."""
    speed = max(animated_speed, fastest_body(islands, island, start))
    pressure = _pressure(masses, rows, islands, island, speed)
    wedged = pressure > (FLUNG if fastest_body(islands, island, mean) > FLUNG * speed else WEDGED)
    if wedged:
        _drop_impulses(rows, islands, island)
    if pressure > FLUNG:
        _note_jam(islands, island, solve.jammed)
    if pressure > FLUNG or _shoots_pressed(
        masses, contacts, rows, islands, island, animated_speed, start, mean
    ):
        _limit_jammed(
            masses, islands, island, animated_speed, 0.0 if wedged else 1.0, start, mean, solve.limit
        )
    else:
        _limit_speeds(masses, islands, island, animated_speed, start, mean, solve.limit)


@inner
def _let_in(
    masses,
    contacts,
    rows,
    islands,
    island,
    h,
    tolerance,
    max_sweeps,
    animated_speed,
    start,
    mean,
    solve,
    packed,
    board,
):
    """Solve an island anew, with soft contacts where it is squeezed."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        for m in range(6):
            mean[body, m] = solve.newton.free[body, m]
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        rows.impulse[c, 0], rows.impulse[c, 1], rows.impulse[c, 2] = 0.0, 0.0, 0.0
        if touches_animated(contacts, islands, c, mean) or _is_in_fixed(
            contacts, solve.gap, islands, c, SQUEEZED * tolerance
        ):
            rows.compliance[c] = SOFT * rows.K_nn[c]
    sweep_island(
        masses, contacts, rows, islands, island, h, PUSH, BENT * tolerance, ROUNDS, 1e-2 * tolerance,
        1e-2 * tolerance, MOST_SOFT, min(MOST_SOFT, max_sweeps), solve.gap, packed, mean, board,
    )  # fmt: skip
    _limit_jammed(masses, islands, island, animated_speed, 1.0, start, mean, solve.limit)


@inner
def give_way(
    masses, contacts, rows, islands, island_count, h, tolerance, gravity_speed, max_sweeps, start, mean,
    solve, packed, board,
):  # fmt: skip
    """Solve the islands anew that bodies squeeze which no force moves; limit what animated bodies jam.

    Args:
        tolerance: Largest penetration to leave [m].
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        max_sweeps: Bound on the sweeps over an island.
        start: Velocities at the start of the step, shape (bodies, 6).
        mean: Mean velocities in the step (bodies, 6): those solved for, written where something is squeezed.
        solve: `gap` is read, and `newton.free`: mean velocities without the impulses of contacts; `limit`
            and `jammed` are written.
        packed: Scratch of this step.
    """
    solve.limit[:], solve.jammed[:] = math.inf, False
    any_animated, deep = _any_animated(masses, mean), SQUEEZED * tolerance
    for island in range(island_count):
        if islands.asleep[island]:
            continue
        animated, inside = _what_squeezes(contacts, solve.gap, islands, island, any_animated, deep, mean)
        if not animated and not inside:
            continue
        keep_impulses(rows, islands, island, np.bool_(False))
        animated_speed = _animated_speed(contacts, islands, island, gravity_speed, mean)
        if _shortfall(contacts, rows, islands, island, h, mean) > deep:
            _let_in(
                masses, contacts, rows, islands, island, h, tolerance, max_sweeps, animated_speed, start,
                mean, solve, packed, board,
            )  # fmt: skip
        elif animated:
            _limit_jam(masses, contacts, rows, islands, island, animated_speed, start, mean, solve)
