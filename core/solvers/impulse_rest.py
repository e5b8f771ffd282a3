"""Islands at rest: which sleep, which are held where they are because the forces on them balance.

A body that is held neither creeps nor shivers, and its island costs no more than a look at its springs.
"""

import math

from ..dynamics.body_state import DYNAMIC
from ..dynamics.contact_rows import PUSH, contact_matrix, normal_compliance, relative_velocity
from ..jit import inner, kernel, merged
from ..math3 import vec3
from .impulse_contacts import gap_rate
from .impulse_newton import island_gradient, set_limits
from .newton_matrix import AS_SPRINGS

# An island is held at rest where nothing moves faster than this part of what gravity adds in a step and
# the forces that act balance to this part of gravity.
REST_SPEED, REST_FORCE = 2e-2, 2e-3
SAME = 1e-9  # and an impulse is that of the last step where it differs by less than this part of gravity

# [m^2/s^2] below which squared speeds are all the same, and a product of such that leaves room for one more.
NO_SPEED, TINY = 1e-24, 1e-250


@inner
def is_slow(bound, islands, island, velocity, limit):
    """Whether all bodies of an island move slower than `limit` [m/s], and no point of them does by turning.

    Args:
        bound: Largest distance of any point of a body from its centre of mass [m], shape (bodies,).
    """
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        v, r = velocity[body], bound[body]
        if v[0] * v[0] + v[1] * v[1] + v[2] * v[2] > limit * limit:
            return False
        if r * r * (v[3] * v[3] + v[4] * v[4] + v[5] * v[5]) > limit * limit:
            return False
    return True


@inner
def fastest_body(islands, island, velocity):
    """Largest speed of a body's centre of mass [m/s]: what contacts do not show of an island in free fall."""
    fastest = 0.0
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        v = velocity[islands.body[k]]
        fastest = max(fastest, v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return math.sqrt(fastest)


@inner
def fastest_contact(contacts, order, first, last, velocity):
    """Largest relative velocity at the contacts of an island [m/s]."""
    fastest = 0.0
    for i in range(first, last):
        u = relative_velocity(velocity, contacts, order[i])
        fastest = max(fastest, vec3.dot(u, u))
    return math.sqrt(fastest)


@inner
def is_calm(contacts, order, first, last, velocity, limit):
    """Whether no relative velocity at the contacts of an island reaches `limit` [m/s]."""
    for i in range(first, last):
        u = relative_velocity(velocity, contacts, order[i])
        if not vec3.dot(u, u) < limit * limit:
            return False
    return True


@inner
def typical_contact(contacts, order, first, last, velocity):
    """Geometric mean of the relative velocities at an island's contacts [m/s]: few fast ones hardly count."""
    total, product = 0.0, 1.0
    for i in range(first, last):
        u = relative_velocity(velocity, contacts, order[i])
        product *= vec3.dot(u, u) + NO_SPEED
        if not TINY < product < 1.0 / TINY:
            total, product = total + math.log(product), 1.0
    return math.exp(0.5 * (total + math.log(product)) / (last - first))


@merged
def _fastest_support(contacts, islands, island, velocity):
    """Largest relative velocity where an island's own bodies stand still: at its contacts with others."""
    fastest = 0.0
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        if islands.number[contacts.body[c, 0]] < 0 or islands.number[contacts.body[c, 1]] < 0:
            u = relative_velocity(velocity, contacts, c)
            fastest = max(fastest, vec3.dot(u, u))
    return math.sqrt(fastest)


@inner
def touches_animated(contacts, islands, c, mean):
    """Whether one of the bodies of contact `c` is animated and moves: no island's, with velocities `mean`."""
    for side in range(2):
        body = contacts.body[c, side]
        if islands.number[body] < 0:
            for m in range(6):
                if mean[body, m] != 0.0:
                    return True
    return False


@inner
def copy_solution(islands, island, velocity, impulse, velocity_out, impulse_out):
    """Copy an island's velocities (bodies, 6) and impulses (c, 3), to come back to or to compare with."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        for m in range(6):
            velocity_out[body, m] = velocity[body, m]
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        for m in range(3):
            impulse_out[c, m] = impulse[c, m]


@merged
def _is_unchanged(masses, contacts, rows, islands, island, h, mean, accuracy, slow):
    """Whether every spring of an island pushes where nothing moves as it did in the last step.

    Args:
        mean: Planned velocities, shape (bodies, 6).
        accuracy: Change of a contact's velocity up to which an impulse is the same [m/s].
        slow: Relative velocity at a contact that is none [m/s].

    Returns:
        (whether that is so, whether any contact had a collision in this step).
    """
    any_collision = False
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        p, rate = rows.impulse[c], gap_rate(rows.gap[c], h, PUSH)
        if rows.K_nn[c] * abs(max(rate, 0.0) / normal_compliance(rows, c) - p[0]) > accuracy:
            return False, False
        u = relative_velocity(mean, contacts, c)
        if vec3.dot(u, u) > slow * slow:
            return False, False
        any_collision = any_collision or rows.collision[c, 0] != 0.0
        friction, limit = p[1] * p[1] + p[2] * p[2], rows.friction[c, 0] * p[0]
        if friction > limit * limit:
            K = contact_matrix(masses, contacts, c)
            if max(K[3], K[5]) * (math.sqrt(friction) - limit) > accuracy:
                return False, False
    return True, any_collision


@inner
def keep_impulses(rows, islands, island, kept):
    """Say whether all impulses of an island stay what they were."""
    for i in range(islands.start[island], islands.start[island + 1]):
        rows.kept[islands.order[i]] = kept


@merged
def is_at_rest(masses, contacts, rows, islands, island, h, gravity_speed, mean, solve):
    """Whether nothing moves and the forces balance where nothing does; if not, all is left as it was."""
    if not is_slow(masses.bound, islands, island, solve.last_mean, REST_SPEED * gravity_speed):
        return False
    most = REST_FORCE * gravity_speed
    # With the impulses of the last step, the planned velocities are all that is out of balance.
    if fastest_body(islands, island, mean) <= most:
        unchanged, any_collision = _is_unchanged(
            masses, contacts, rows, islands, island, h, mean, SAME * gravity_speed, most
        )
        if unchanged:
            keep_impulses(rows, islands, island, not any_collision)
            return True
    copy_solution(islands, island, mean, rows.impulse, solve.found, solve.impulse)
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        rate = gap_rate(rows.gap[c], h, PUSH)
        solve.newton.rate[c] = rate
        # By what holds it from now on: by last loads it could be held now, and let go in the next step.
        rows.impulse[c, 0] = max(rate, 0.0) / normal_compliance(rows, c)
    set_limits(rows, islands, island, solve.newton.limit)
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        for m in range(6):
            mean[islands.body[k], m] = 0.0
    error = island_gradient(masses, contacts, rows, islands, island, mean, solve.newton, AS_SPRINGS)
    if (
        max(error, fastest_body(islands, island, solve.newton.error)) <= most
        and _fastest_support(contacts, islands, island, mean) <= REST_SPEED * gravity_speed
    ):
        return True
    copy_solution(islands, island, solve.found, solve.impulse, mean, rows.impulse)
    return False


@inner
def hold(islands, island, mean, held):
    """Hold an island's bodies where they are."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        held[body] = True
        for m in range(6):
            mean[body, m] = 0.0


@inner
def _stays_asleep(kind, contacts, plan, graph, islands, island, solve):
    """Whether an island was held in the last step and nothing about it has changed since."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        count = graph.contact_start[body + 1] - graph.contact_start[body]
        if not solve.held[body] or solve.contact_count[body] != count:
            return False
        for m in range(6):
            if plan.start[body, m] != 0.0:
                return False
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        if not contacts.carried[c]:
            return False
        for side in range(2):
            body = contacts.body[c, side]
            if kind[body] != DYNAMIC:
                for m in range(6):
                    if plan.mean[body, m] != 0.0:
                        return False
    return True


@inner
def find_sleepers(kind, contacts, plan, graph, islands, island_count, may_sleep, solve, asleep_out):
    """Mark the islands that sleep and their contacts: held in the last step, with nothing changed since.

    Their solution is that of the last step, so no step need be made.

    Args:
        plan: Free motion.
        may_sleep: Whether any may.
        asleep_out: Set for the contacts of such islands, shape (c,).
    """
    for island in range(island_count):
        asleep = may_sleep and _stays_asleep(kind, contacts, plan, graph, islands, island, solve)
        islands.asleep[island] = asleep
        for i in range(islands.start[island], islands.start[island + 1] if asleep else 0):
            asleep_out[islands.order[i]] = True
    for body in range(kind.shape[0]):
        solve.contact_count[body] = graph.contact_start[body + 1] - graph.contact_start[body]


@kernel
def list_at_rest(held, settles, at_rest_out):
    """Note which bodies are held at rest or about to be, shapes (n,)."""
    for i in range(held.shape[0]):
        at_rest_out[i] = held[i] or settles[i]


@kernel
def count_lost(c, L):
    """How many bodies have no finite place (n, 3) or angular momentum (n, 3) any more."""
    lost = 0
    for i in range(c.shape[0]):
        total = 0.0
        for k in range(3):
            total += c[i, k] - c[i, k] + (L[i, k] - L[i, k])  # of what is not finite that is not a number
        lost += total != 0.0
    return lost


@kernel
def settle_held(state, held):
    """Take the last trace of motion from bodies held at rest."""
    for i in range(held.shape[0]):
        if held[i]:
            for k in range(3):
                state.v[i, k], state.L[i, k], state.w[i, k] = 0.0, 0.0, 0.0
