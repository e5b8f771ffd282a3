"""Rows of contacts against the bodies they join, as kernels: A, velocities and accelerations, islands.

Symbols and sources: head of `analytic_contacts.py`. A contact has three rows (n, t1, t2); body 0 of it is a,
on which forces act as they are, body 1 is b, on which they act reversed.
"""

import numpy as np

from ..dynamics.islands import group_of
from ..jit import inlined, inner, kernel
from ..math3 import mat3, vec3

SAME_PLANE = 1.0 - 1e-12  # cosine of 1e-6 rad: FLUSH of `manifold`


@inlined
def _store(row, v):
    row[0], row[1], row[2] = v


@inlined
def _at(v, w, body, arm):
    """Velocity of the point of a body at an arm; or acceleration, without what the turning adds."""
    return vec3.add(vec3.load(v, body), vec3.cross(vec3.load(w, body), arm))


@kernel
def contact_velocities(body, frame, arm, v, w, u_out):
    """Velocities of a against b in the contact frames [m/s], shape (m, 3)."""
    for c in range(body.shape[0]):
        at_a = _at(v, w, body[c, 0], vec3.load(arm[c], 0))
        u = vec3.subtract(at_a, _at(v, w, body[c, 1], vec3.load(arm[c], 1)))
        for k in range(3):
            u_out[c, k] = vec3.dot(vec3.load(frame[c], k), u)


@kernel
def contact_accelerations(body, frame, arm, arm_rate, normal_rate, curve, v, w, a, alpha, b_out):
    """b of the system A f + b in the contact frames [m/s^2], shape (m, 3): see `relative_acceleration`."""
    for c in range(body.shape[0]):
        i, j = body[c, 0], body[c, 1]
        arm_i, arm_j = vec3.load(arm[c], 0), vec3.load(arm[c], 1)
        steady = vec3.subtract(_at(a, alpha, i, arm_i), _at(a, alpha, j, arm_j))
        turning = vec3.subtract(
            vec3.cross(vec3.load(w, i), vec3.load(arm_rate[c], 0)),
            vec3.cross(vec3.load(w, j), vec3.load(arm_rate[c], 1)),
        )
        whole = vec3.add(steady, turning)
        for k in range(3):
            b_out[c, k] = vec3.dot(vec3.load(frame[c], k), whole)
        if curve[c] == curve[c]:  # measured
            b_out[c, 0] = vec3.dot(vec3.load(frame[c], 0), steady) + curve[c]
        else:
            u = vec3.subtract(_at(v, w, i, arm_i), _at(v, w, j, arm_j))
            b_out[c, 0] += vec3.dot(vec3.load(normal_rate, c), u)


@kernel
def slip_directions(u, frame, slips, along, slowest, slip_out):
    """Direction of the slip, zero where the contact sticks, shape (m, 3).

    Args:
        u: Slip in the contact frames [m/s], shape (m, 3): see `slip_velocity`.
        along: Directions of the slip at the step's start, world axes, shape (m, 3), or zero. They are kept
            where the slip is slower than `slowest` [m/s], and keep it from turning round where it passes
            through zero: the step is cut there later.
    """
    for c in range(u.shape[0]):
        _store(slip_out[c], (0.0, 0.0, 0.0))
        if not slips[c]:
            continue
        before, now = vec3.load(along, c), vec3.load(u, c)
        direction = (
            vec3.dot(vec3.load(frame[c], 0), before),
            vec3.dot(vec3.load(frame[c], 1), before),
            vec3.dot(vec3.load(frame[c], 2), before),
        )
        size = vec3.norm(now)
        if size > slowest:
            direction = vec3.scale(now, (-1.0 if vec3.dot(now, direction) < 0.0 else 1.0) / size)
        _store(slip_out[c], direction)


@kernel
def write_rows(body, frame, arm, inv_mass, inv_I, row_out, answer_out):
    """J and J M^-1 of each contact and side, shape (m, 2, 3, 6): linear, then angular columns."""
    for c in range(body.shape[0]):
        for side in range(2):
            i, sign = body[c, side], (1.0 if side == 0 else -1.0)
            inverse = mat3.load(inv_I, i)
            for k in range(3):
                d = vec3.scale(vec3.load(frame[c], k), sign)
                lever = vec3.cross(vec3.load(arm[c], side), d)
                turn = mat3.transform(inverse, lever)
                for x in range(3):
                    row_out[c, side, k, x], row_out[c, side, k, 3 + x] = d[x], lever[x]
                    answer_out[c, side, k, x] = d[x] * inv_mass[i, x]
                    answer_out[c, side, k, 3 + x] = turn[x]


@inner
def _add_block(row, answer, A, i, j):
    for k in range(3):
        for m in range(3):
            total = 0.0
            for x in range(6):
                total += row[k, x] * answer[m, x]
            A[3 * i + k, 3 * j + m] += total


@kernel
def assemble_dense(body, row, answer, A_out):
    """A = J M^-1 J^T, symmetric to the bit, into zeros of shape (3 m, 3 m)."""
    m = body.shape[0]
    for i in range(m):
        for j in range(i + 1):
            for side in range(2):
                for other in range(2):
                    if body[i, side] == body[j, other]:
                        _add_block(row[i, side], answer[j, other], A_out, i, j)
    for i in range(3 * m):
        for j in range(i):
            A_out[j, i] = A_out[i, j]


@kernel
def sum_wrenches(body, frame, arm, force, push_out, turn_out):
    """Add forces or impulses of contacts, contact frames (m, 3), to the sums on each body, shapes (n, 3).

    Args:
        push_out: Forces [N] or impulses [N s], world axes.
        turn_out: Moments about the centres of mass.
    """
    for c in range(body.shape[0]):
        f = (0.0, 0.0, 0.0)
        for k in range(3):
            f = vec3.add(f, vec3.scale(vec3.load(frame[c], k), force[c, k]))
        for side in range(2):
            i, sign = body[c, side], (1.0 if side == 0 else -1.0)
            moment = vec3.cross(vec3.load(arm[c], side), f)
            for x in range(3):
                push_out[i, x] += sign * f[x]
                turn_out[i, x] += sign * moment[x]


@inlined
def _moves(inv_mass, inv_inertia, i):
    """Whether a body answers forces."""
    for k in range(3):
        if inv_mass[i, k] > 0.0 or inv_inertia[i, k] > 0.0:
            return True
    return False


@kernel
def label_islands(body, inv_mass, inv_inertia, parent, label_out):
    """Number of the island of each contact, in the order of their first contacts; returns how many.

    Args:
        parent: Scratch, shape (2, n).
        label_out: Shape (m,).
    """
    for i in range(inv_mass.shape[0]):
        parent[0, i], parent[1, i] = i, -1
    for c in range(body.shape[0]):
        a, b = body[c, 0], body[c, 1]
        if _moves(inv_mass, inv_inertia, a) and _moves(inv_mass, inv_inertia, b):
            parent[0, group_of(parent[0], b)] = group_of(parent[0], a)
    count = np.int64(0)
    for c in range(body.shape[0]):
        a = body[c, 0]
        i = group_of(parent[0], a if _moves(inv_mass, inv_inertia, a) else body[c, 1])
        if parent[1, i] < 0:
            parent[1, i] = count
            count += 1
        label_out[c] = parent[1, i]
    return count


@inner
def _has_slot(slot_before, slot):
    """Whether a pair had contacts then."""
    for k in range(slot_before.shape[0]):
        if slot_before[k] == slot:
            return True
    return False


@inner
def _in_one_plane(body, frame, body_before, frame_before, i):
    """A contact then of the same bodies with the normal that contact i has now; -1 for none."""
    for k in range(body_before.shape[0]):
        if body_before[k, 0] == body[i, 0] and body_before[k, 1] == body[i, 1]:
            if vec3.dot(vec3.load(frame[i], 0), vec3.load(frame_before[k], 0)) >= SAME_PLANE:
                return k
    return -1


@kernel
def match_contacts(
    slot, feature, body, frame, quiet, slot_before, feature_before, body_before, frame_before, chosen_out,
    match_out,
):  # fmt: skip
    """Find contacts of a moment ago: by feature, or, where a pair has none of these left, by pair.

    A corner that slides from one triangle of a flat mesh, or one part of a compound, to the next is in
    another pair of the same two bodies: it is taken for one of theirs in the same plane.

    Args:
        slot, feature, body, frame: Of the contacts now, m of them.
        quiet: Which of them part or approach so slowly that they may be in touch, shape (m,).
        slot_before, feature_before, body_before, frame_before: Of the contacts then.
        chosen_out, match_out: The contacts found, and which they were; room for m.

    Returns:
        Number of contacts found.
    """
    count = np.int64(0)
    for i in range(slot.shape[0]):
        same, of_pair = -1, -1
        for k in range(slot_before.shape[0]):
            if slot_before[k] == slot[i]:
                of_pair = k if of_pair < 0 else of_pair
                if feature_before[k] == feature[i]:
                    same = k
        if same < 0 and of_pair >= 0:
            for j in range(slot.shape[0]):
                if slot[j] == slot[i]:
                    for k in range(slot_before.shape[0]):
                        if slot_before[k] == slot[j] and feature_before[k] == feature[j]:
                            of_pair = -1
        if of_pair < 0 and quiet[i] and not _has_slot(slot_before, slot[i]):
            of_pair = _in_one_plane(body, frame, body_before, frame_before, i)
        if same >= 0 or of_pair >= 0:
            chosen_out[count] = i
            match_out[count] = same if same >= 0 else of_pair
            count += 1
    return count
