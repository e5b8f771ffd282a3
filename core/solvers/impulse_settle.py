"""Islands about to come to rest: their equilibrium is found at once.

Impulses of the last step act all through a step, and what changes acts at its start. Loads that are out of
balance are so by half as much after each step, and springs take back half of their stretch: some twenty steps
of Newton's method pass until an island balances well enough to be held. So where hardly anything moves, the
equilibrium is looked for in which it would end,

    M g + sum J' p(x) = 0,

the springs' impulses p by their lengths after a displacement x of the bodies. Inertia, which is of no
consequence there, is left as a hundredth, for bodies that no spring holds. In the variables of a step
(see `impulse_newton`, w = x / (100 h)) these are the equations of a step 100 times as long that starts from
rest. Where they have no solution near by, the island moves on as it would have.
"""

import math
from typing import NamedTuple

from ..dynamics.contact_rows import PUSH
from ..jit import inner
from .impulse_rest import REST_FORCE, REST_SPEED, fastest_body, fastest_contact, is_slow, touches_animated

# An island may come to rest where its bodies hardly got ahead in the last step (REST_SPEED) and start the
# next slower than this part of what gravity adds in a step: impulses that are out of balance jolt them.
STILL = 0.25
# In an island of more than so many contacts it takes many iterations. Where it came to nothing there, it is
# not tried again for so long [s].
LARGE, WAIT = 400, 0.25
LONGER = 100.0  # how many times longer the step is taken for
# In one step it goes by the tolerance, or by this part of the way that gravity has in a step.
AT_ONCE = 0.25
TOUCHING = -1e-300  # [m] gap of an open contact, so that its spring gives like one that is closed


class Equilibrium(NamedTuple):
    """What an island may come to rest in."""

    far: float  # tolerances by which contacts may move to get there; 0 where islands do not come to rest
    inertia: float  # part of gravity that the hundredth of inertia may bear


# At the start a body is let in again and again, until it is held. What does not touch by then is no support.
AT_START, IN_MOTION, NOWHERE = Equilibrium(0.5, 0.1), Equilibrium(10.0, REST_FORCE), Equilibrium(0.0, 0.0)


@inner
def may_settle(bound, contacts, islands, island, gravity_speed, plan, solve):
    """Whether an island hardly moves on what stands still, and nothing says to wait.

    Args:
        bound: See `is_slow`.
    """
    # In this order: of what moves the first body mostly tells.
    if not is_slow(bound, islands, island, plan.start, STILL * gravity_speed):
        return False
    if not is_slow(bound, islands, island, solve.last_mean, REST_SPEED * gravity_speed):
        return False
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        if solve.wait[islands.body[k]] > 0:
            return False
    for i in range(islands.start[island], islands.start[island + 1]):
        if touches_animated(contacts, islands, islands.order[i], plan.mean):
            return False
    return True


@inner
def leave_out_inertia(islands, island, plan, free, mean):
    """Start from rest, with nothing but what forces add in the step; `free` and `mean` are written."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        for m in range(6):
            free[body, m] += plan.end_minus_mean[body, m] - plan.start[body, m]
            mean[body, m] = 0.0


@inner
def take_inertia_in(islands, island, plan, free):
    """Take back what `leave_out_inertia` did to `free`."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        for m in range(6):
            free[body, m] -= plan.end_minus_mean[body, m] - plan.start[body, m]


@inner
def lengthen_step(rows, order, first, last, h, rate):
    """Springs of a longer step, which push by all of their stretch, open contacts' too once they close."""
    for i in range(first, last):
        c = order[i]
        rate[c] = -rows.gap[c] / (LONGER * h)
        rows.gap[c] = min(rows.gap[c], TOUCHING)
        rows.compliance[c] /= PUSH * LONGER


@inner
def shorten_step(rows, order, first, last, gap):
    """Take back what `lengthen_step` did to rows."""
    for i in range(first, last):
        c = order[i]
        rows.gap[c] = gap[c]
        rows.compliance[c] *= PUSH * LONGER


@inner
def settle(
    bound, contacts, rows, islands, island, h, gravity_speed, tolerance, equilibrium, error, mean, solve
):
    """Let an island into the equilibrium found, or some of the way to it (AT_ONCE); whether it is one.

    Args:
        bound: See `is_slow`.
        equilibrium: What it may be.
        error: Velocity error of the solution [m/s].
        mean: In: the solution. Out: the velocities that lead there.
    """
    first, last = islands.start[island], islands.start[island + 1]
    way = LONGER * h * fastest_contact(contacts, islands.order, first, last, mean)
    balanced = max(error, fastest_body(islands, island, solve.newton.error)) <= REST_FORCE * gravity_speed
    near = way <= equilibrium.far * tolerance
    if not (balanced and near and is_slow(bound, islands, island, mean, equilibrium.inertia * gravity_speed)):
        for k in range(islands.body_start[island], islands.body_start[island + 1]):
            solve.wait[islands.body[k]] = math.ceil(WAIT / h) if last - first > LARGE else 0
        return False
    at_once = max(tolerance, AT_ONCE * gravity_speed * h)
    scale = LONGER if way <= at_once else LONGER * at_once / way
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        solve.settles[body] = True
        for m in range(6):
            mean[body, m] *= scale
    for i in range(first, last):
        c = islands.order[i]
        rows.acted[c] = 0.0
        for m in range(3):
            rows.before[c, m] = rows.impulse[c, m]  # which it is from now on
    return True
