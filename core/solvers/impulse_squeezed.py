"""What animated bodies squeeze: no impulse keeps it apart from them, so they are let into it.

An animated body goes where it goes. Where two of them, or one and a wall, leave less room than a body
needs, the conditions at its contacts contradict each other and impulses grow without end. There the
contacts with moving animated bodies become springs as soft as the bodies are light: what is squeezed then
moves with them, overlaps them by what there is no room for, and is not flung away.
"""

from ..dynamics.contact_rows import PUSH, in_frame, relative_velocity
from ..jit import inner, kernel
from ..math3 import mat3, vec3
from .impulse_contacts import gap_rate
from .impulse_sweeps import sweep_island

SQUEEZED = 5.0  # tolerances by which a contact of an island with animated bodies would end too deep
# Impulses so many times the island's momentum say that it is jammed: what they leave over is round-off.
WEDGED = 100.0
SOFT = 1.0  # compliance of such contacts, in units of their effective mass' inverse


@inner
def _is_animated(contacts, islands, c, mean):
    """Whether one of the bodies of a contact is no island's and moves."""
    for side in range(2):
        body = contacts.body[c, side]
        if islands.number[body] < 0:
            for m in range(6):
                if mean[body, m] != 0.0:
                    return True
    return False


@inner
def _shortfall(contacts, rows, islands, island, h, mean):
    """How much too deep the worst contact would end [m], and whether there are animated bodies."""
    worst, animated = 0.0, False
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        speed = in_frame(rows, c, relative_velocity(mean, contacts, c))[0]
        worst = max(worst, h * (gap_rate(rows.gap[c], h, PUSH) - speed))
        animated = animated or _is_animated(contacts, islands, c, mean)
    return worst, animated


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
def _is_wedged(masses, contacts, rows, islands, island, gravity_speed, mean):
    """Whether impulses are far larger than what could stop the whole island or bring it up to speed."""
    mass, fastest, largest = 0.0, gravity_speed, 0.0
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        mass += masses.mass[islands.body[k]]
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        largest = max(largest, rows.impulse[c, 0])
        for side in range(2):
            v = mean[contacts.body[c, side]]
            fastest = max(fastest, vec3.norm((v[0], v[1], v[2])))
    return largest > WEDGED * mass * fastest


@inner
def _drop_impulses(rows, islands, island, squeezed):
    """Forget the impulses of an island and mark its bodies."""
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        for k in range(3):
            rows.impulse[c, k], rows.before[c, k] = 0.0, 0.0
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        squeezed[islands.body[k]] = True


@kernel
def follow_mean(masses, state, mean, squeezed):
    """Let squeezed bodies go on with the mean velocities of the step: impulses have no say about them."""
    for i in range(squeezed.shape[0]):
        if squeezed[i]:
            w = (mean[i, 3], mean[i, 4], mean[i, 5])
            inertia = mat3.rotate_diagonal(mat3.load(masses.R, i), vec3.load(masses.inertia, i))
            L = mat3.transform(inertia, w)
            for k in range(3):
                state.v[i, k], state.w[i, k], state.L[i, k] = mean[i, k], w[k], L[k]


@inner
def give_way(
    masses, contacts, rows, islands, island_count, h, tolerance, gravity_speed, max_sweeps, mean, solve
):
    """Solve the islands anew that animated bodies squeeze, with soft contacts where these touch them.

    Args:
        tolerance: Largest penetration to leave [m].
        gravity_speed: What gravity adds to a velocity in one step [m/s].
        max_sweeps: Bound on the sweeps over an island.
        mean: Mean velocities in the step (bodies, 6): those solved for, written where something is squeezed.
        solve: `newton.free` is read: mean velocities without the impulses of contacts; `squeezed` is written.
    """
    solve.squeezed[:] = False
    if not _any_animated(masses, mean):
        return
    for island in range(island_count):
        if islands.asleep[island]:
            continue
        worst, animated = _shortfall(contacts, rows, islands, island, h, mean)
        if not animated:
            continue
        if worst <= SQUEEZED * tolerance:
            if _is_wedged(masses, contacts, rows, islands, island, gravity_speed, mean):
                _drop_impulses(rows, islands, island, solve.squeezed)
            continue
        for k in range(islands.body_start[island], islands.body_start[island + 1]):
            body = islands.body[k]
            for m in range(6):
                mean[body, m] = solve.newton.free[body, m]
        for i in range(islands.start[island], islands.start[island + 1]):
            c = islands.order[i]
            rows.impulse[c, 0], rows.impulse[c, 1], rows.impulse[c, 2] = 0.0, 0.0, 0.0
            if _is_animated(contacts, islands, c, mean):
                rows.compliance[c] = SOFT * rows.K[c, 0]
        sweep_island(
            masses, contacts, rows, islands, island, h, tolerance, 1e-2 * tolerance, max_sweeps,
            solve.gap, solve.packed, mean,
        )  # fmt: skip
