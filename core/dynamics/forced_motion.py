"""Motion of free bodies under the forces of a table, in one kernel: DOP853 as `integrators` has it.

For steps whose forces are no functions of Python: calls of these for each of its stages would cost more than
the arithmetic. What is integrated, and to which error, is as in `driven_bodies`.

Source: Hairer, Norsett & Wanner 1993, section II.10.
"""

import math
from typing import NamedTuple

import numpy as np

from ..jit import inner, kernel
from .body_state import BodyModel, BodyState
from .driven_bodies import PARTS, body_rates, carry_body, copy_state, free_acceleration, place_body
from .forces import ForceTable, add_wrenches
from .integrators import LEAST_ERROR, LONGER, MOST_TRIALS, SAFE, SHORTER, SMALLEST_PART

STAGES, ORDER = 12, 8  # of DOP853; the order is that of its error


class Method(NamedTuple):
    """DOP853 with the error it may make: s = STAGES."""

    A: np.ndarray  # (s, s)
    B: np.ndarray  # (s,)
    C: np.ndarray  # (s,)
    fifth: np.ndarray  # (s + 1,) error by the method of order 5
    third: np.ndarray  # (s + 1,) and of order 3
    relative: np.ndarray  # (13,) error allowed in one step, relative to the lengths of c, q, v and L
    begins: np.ndarray  # (5,) where c, q, v and L begin in y, and the end


class Forced(NamedTuple):
    """What acts on n bodies in a step, and which k of them move by it."""

    table: ForceTable
    model: BodyModel
    start: BodyState
    rows: np.ndarray  # (k,) that move by forces
    moving: np.ndarray  # animated ones, which go on as they do
    force: np.ndarray  # [N] (n, 3) what else acts, the same all through the step
    torque: np.ndarray  # [N m] (n, 3)
    allowed: np.ndarray  # (k, 13) absolute error of y


class ForcedScratch(NamedTuple):
    """Working space for n bodies of which k move."""

    now: BodyState
    push: np.ndarray  # [N] (n, 3)
    turn: np.ndarray  # [N m] (n, 3)
    a: np.ndarray  # [m/s^2] (n, 3)
    alpha: np.ndarray  # [rad/s^2] (n, 3)
    K: np.ndarray  # (s + 1, k, 13) y' at the stages
    stage: np.ndarray  # (k, 13) y at one of them


def dop853(relative: float) -> Method:
    """The method, by scipy's coefficients, and the relative error it may make."""
    from scipy.integrate import DOP853 as table

    columns = table.A[:STAGES, :STAGES], table.B, table.C[:STAGES], table.E5, table.E3, relative * PARTS
    return Method(
        *(np.ascontiguousarray(column, float) for column in columns), begins=np.array([0, 3, 7, 10, 13])
    )


def forced_scratch(start: BodyState, moving_count: int) -> ForcedScratch:
    """Scratch for these bodies, of which so many move."""
    push, turn, a, alpha = np.zeros((4, len(start.c), 3))
    y = np.zeros((STAGES + 2, moving_count, 13))
    return ForcedScratch(copy_state(start), push, turn, a, alpha, y[:-1], y[-1])


@inner
def _rates(forced, y, since, at, applied, scratch, rates_out):
    """y' of the bodies that move, (k, 13), so long [s] after the start, where forces are those of `at`."""
    model, now = forced.model, scratch.now
    for m in range(forced.moving.shape[0]):
        carry_body(model, forced.start, now, forced.moving[m], since)
    for k in range(forced.rows.shape[0]):
        place_body(model, forced.start, now, forced.rows[k], y[k])
    for i in range(forced.force.shape[0]):
        for x in range(3):
            scratch.push[i, x], scratch.turn[i, x] = forced.force[i, x], forced.torque[i, x]
    if applied:
        add_wrenches(forced.table, model.mass, now, at, scratch.push, scratch.turn)
    for k in range(forced.rows.shape[0]):
        i = forced.rows[k]
        free_acceleration(
            model, now, (0.0, 0.0, 0.0), i, scratch.push, scratch.turn, scratch.a, scratch.alpha
        )
        body_rates(now, i, scratch.a, scratch.turn, rates_out[k])


@inner
def _stage(y, step, weights, count, K, stage_out):
    """y + step times the weighted sum of the first stages, shape (k, 13)."""
    for k in range(y.shape[0]):
        for x in range(13):
            total = 0.0
            for s in range(count):
                total += weights[s] * K[s, k, x]
            stage_out[k, x] = y[k, x] + step * total


@inner
def _error(y, new, step, method, allowed, K):
    """Error of a step in parts of what is allowed, by the estimates of order 5 and 3."""
    fifth, third = 0.0, 0.0
    for k in range(y.shape[0]):
        for p in range(4):
            first, last = method.begins[p], method.begins[p + 1]
            before, after = 0.0, 0.0
            for x in range(first, last):
                before, after = before + y[k, x] ** 2, after + new[k, x] ** 2
            size = math.sqrt(max(before, after))
            for x in range(first, last):
                e5, e3 = 0.0, 0.0
                for s in range(K.shape[0]):
                    e5, e3 = e5 + method.fifth[s] * K[s, k, x], e3 + method.third[s] * K[s, k, x]
                scale = allowed[k, x] + method.relative[x] * size
                fifth, third = fifth + (e5 / scale) ** 2, third + (e3 / scale) ** 2
    if fifth == 0.0:
        return 0.0
    return step * fifth / math.sqrt((fifth + 0.01 * third) * (13 * y.shape[0]))


@kernel
def integrate_forced(forced, method, begin, since, piece, last, applied, y, scratch):
    """Move bodies on by the time `piece` [s]: y, shape (k, 13), is written.

    Args:
        begin, since: When the piece begins, and how long that is after the start [s].
        last: The last moment at which forces are what they are at `begin` [s]: a thruster ends where a piece
            does, and acts until then, whatever the rounding.
        applied: Whether the forces of the table act.

    Returns:
        In how many steps; none where forces change too fast to be followed.
    """
    stage, K, stages = scratch.stage, scratch.K, method.B.shape[0]
    done, step, shortest, count = 0.0, piece, SMALLEST_PART * piece, 0
    _rates(forced, y, since, min(begin, last), applied, scratch, K[0])
    for _ in range(MOST_TRIALS):
        step = min(step, piece - done)
        for s in range(1, stages):
            way = done + method.C[s] * step
            _stage(y, step, method.A[s], s, K, stage)
            _rates(forced, stage, since + way, min(begin + way, last), applied, scratch, K[s])
        way = done + step
        _stage(y, step, method.B, stages, K, stage)
        _rates(forced, stage, since + way, min(begin + way, last), applied, scratch, K[stages])
        error, ends = _error(y, stage, step, method, forced.allowed, K), step >= piece - done
        if not error > 1.0 or step <= shortest:  # what is no number is told after the step
            done, count = way, count + 1
            for k in range(y.shape[0]):
                for x in range(13):
                    y[k, x], K[0, k, x] = stage[k, x], K[stages, k, x]
            if ends:
                return count
        change = SAFE * max(error, LEAST_ERROR) ** (-1.0 / ORDER)
        step = max(step * min(LONGER, max(SHORTER, change)), shortest)
    return 0
