"""How applied forces change with the motion: their Jacobian, for integrators that look at the step's end.

Displacements are (dc, dtheta) of each body, a small turn dtheta about the centre of mass in world axes, and
velocities (dv, dw): 6 numbers a body each, wrenches (force, torque) likewise.

Symbols: r arm of a point, [r] the matrix of r x. A point moves by dc - [r] dtheta, its velocity changes by
dv - [r] dw - [w][r] dtheta. Source: Witkin, Baraff & Kass 1999, Differential Equation Basics, section 3;
Baraff & Witkin 1998, section 4 (Jacobian of a spring).
"""

from typing import NamedTuple

import numpy as np

from ..forces import CustomForce, Spring, Thruster, ViscousDrag
from .body_state import BodyState, quat_multiply
from .forces import AppliedForces

Array = np.ndarray
PART = 1e-6  # of the size of what is varied: the differences for forces that are functions


class WrenchJacobian(NamedTuple):
    """Derivatives of the wrenches on n bodies, shapes (6 n, 6 n)."""

    of_place: Array  # [N/m], [N/rad] by displacements
    of_velocity: Array  # [N s/m], [N s/rad] by velocities


def wrench_jacobian(forces: AppliedForces, state: BodyState, time: float) -> WrenchJacobian:
    """Derivatives of all applied forces at a state: in closed form, by differences for functions."""
    n = len(state.c)
    out = WrenchJacobian(np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n)))
    for item in forces.forces:
        if isinstance(item, Spring):
            _add_spring(forces, item, state, out)
        elif isinstance(item, Thruster):
            _add_thruster(forces, item, state, time, out)
        elif isinstance(item, ViscousDrag):
            for i in forces.rows(item):
                rate = np.repeat([item.linear, item.angular], 3)
                out.of_velocity[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] -= np.diag(rate)
        elif isinstance(item, CustomForce):
            _add_custom(forces, item, state, time, out)
    return out


def cross_matrix(r: Array) -> Array:
    """The matrix of r x."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def _add_spring(forces: AppliedForces, item: Spring, state: BodyState, out: WrenchJacobian) -> None:
    ends = forces.spring_ends(item, state)
    d = ends[0].point - ends[1].point
    distance = float(np.linalg.norm(d))
    if distance == 0.0:
        return
    u, slip = d / distance, ends[0].velocity - ends[1].velocity
    across = (np.eye(3) - np.outer(u, u)) / distance
    stretch = item.stiffness * (distance - item.length) + item.damping * float(slip @ u)
    by_place = -(np.outer(u, item.stiffness * u + item.damping * (across @ slip)) + stretch * across)
    by_velocity = -item.damping * np.outer(u, u)
    for sign, end in zip((1.0, -1.0), ends, strict=True):
        if end.body is None:
            continue
        rows = slice(6 * end.body, 6 * end.body + 6)
        lever = np.vstack([np.eye(3), cross_matrix(end.arm)])
        for other_sign, other in zip((1.0, -1.0), ends, strict=True):
            if other.body is None:
                continue
            columns = slice(6 * other.body, 6 * other.body + 6)
            arm = cross_matrix(other.arm)
            moves = np.hstack([np.eye(3), -arm])
            turns = np.hstack([np.zeros((3, 3)), -cross_matrix(state.w[other.body]) @ arm])
            both = sign * other_sign
            out.of_place[rows, columns] += both * lever @ (by_place @ moves + by_velocity @ turns)
            out.of_velocity[rows, columns] += both * lever @ by_velocity @ moves
        pull = cross_matrix(-sign * stretch * u)  # the arm turns, too
        out.of_place[6 * end.body + 3 : 6 * end.body + 6, 6 * end.body + 3 : 6 * end.body + 6] += (
            pull @ cross_matrix(end.arm)
        )


def _add_thruster(
    forces: AppliedForces, item: Thruster, state: BodyState, time: float, out: WrenchJacobian
) -> None:
    """Force and torque turn with the body."""
    force, torque = forces.thrust(item, state, time)
    i = forces.index[item.body]
    turn = slice(6 * i + 3, 6 * i + 6)
    out.of_place[6 * i : 6 * i + 3, turn] -= cross_matrix(force)
    out.of_place[turn, turn] -= cross_matrix(torque)


def _add_custom(
    forces: AppliedForces, item: CustomForce, state: BodyState, time: float, out: WrenchJacobian
) -> None:
    """Central differences of a function over the motion of its body."""
    i = forces.index[item.body]
    size = forces.model.bound[i]
    speed = float(np.linalg.norm(state.v[i]) + size * np.linalg.norm(state.w[i])) + size
    for k in range(12):
        step = PART * np.array([size, 1.0, speed, speed / size])[k // 3]
        change = []
        for sign in (0.5, -0.5):
            moved = BodyState(*(column.copy() for column in state))
            kind, axis = divmod(k, 3)
            if kind == 1:
                half = np.zeros((1, 4))
                half[0, 0], half[0, 1 + axis] = np.cos(0.5 * sign * step), np.sin(0.5 * sign * step)
                moved.q[i] = quat_multiply(half, moved.q[i][None])[0]
            else:
                column = moved.c if kind == 0 else moved.v if kind == 2 else moved.w
                column[i, axis] += sign * step
            force, torque = np.zeros_like(state.v), np.zeros_like(state.v)
            forces.add_custom(item, moved, time, force, torque)
            change.append(np.concatenate([force[i], torque[i]]))
        target = out.of_place if k < 6 else out.of_velocity
        target[6 * i : 6 * i + 6, 6 * i + k % 6] += (change[0] - change[1]) / step


def rates_jacobian(forces: AppliedForces, state: BodyState, time: float, rows: Array) -> Array:
    """Derivative of y' by y for the bodies `rows`, shape (13 k, 13 k); y as in `dynamics/driven_bodies.py`.

    Without contact forces and without locked axes. With dtheta = 2 dq q* and w = I^-1 L:
    dw = dtheta x w + I^-1 (dL - dtheta x L).
    """
    model, k, wrench = forces.model, len(rows), wrench_jacobian(forces, state, time)
    motion = np.zeros((12 * k, 13 * k))  # (dc, dtheta | dv, dw) of each body by y
    rates = np.zeros((13 * k, 13 * k))
    for a, i in enumerate(rows.tolist()):
        y, place, speed = 13 * a, 6 * a, 6 * (k + a)
        inverse, w = state.inv_I[i].reshape(3, 3), state.w[i]
        turn = _turn_by_quaternion(state.q[i])
        motion[place : place + 3, y : y + 3] = np.eye(3)
        motion[place + 3 : place + 6, y + 3 : y + 7] = turn
        motion[speed : speed + 3, y + 7 : y + 10] = np.eye(3)
        spin = motion[speed + 3 : speed + 6]
        spin[:, y + 3 : y + 7] = (inverse @ cross_matrix(state.L[i]) - cross_matrix(w)) @ turn
        spin[:, y + 10 : y + 13] = inverse
        rates[y : y + 3, y + 7 : y + 10] = np.eye(3)
        # q' = w q / 2, and dq = dtheta q / 2: a quarter of turn's transpose is the way back from dtheta.
        back = 0.25 * turn.T
        rates[y + 3 : y + 7] = back @ spin
        rates[y + 3 : y + 7, y + 3 : y + 7] += 0.5 * _left_matrix(w) @ back @ turn
        rates[y + 7 : y + 10, y + 7 : y + 10] = -model.damping[i, 0] * np.eye(3)
        rates[y + 10 : y + 13, y + 10 : y + 13] = -model.damping[i, 1] * np.eye(3)
    columns = (6 * rows[:, None] + np.arange(6)).ravel()
    by_motion = np.hstack([part[np.ix_(columns, columns)] for part in wrench]) @ motion
    for a, i in enumerate(rows.tolist()):
        rates[13 * a + 7 : 13 * a + 10] += model.inv_mass[i][:, None] * by_motion[6 * a : 6 * a + 3]
        rates[13 * a + 10 : 13 * a + 13] += by_motion[6 * a + 3 : 6 * a + 6]
    return rates


def _turn_by_quaternion(q: Array) -> Array:
    """dtheta by dq, shape (3, 4): twice the vector part of dq q*, for a unit quaternion."""
    w, x, y, z = q
    return 2.0 * np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])


def _left_matrix(w: Array) -> Array:
    """The matrix of (0, w) q, shape (4, 4)."""
    out = np.zeros((4, 4))
    out[0, 1:], out[1:, 0], out[1:, 1:] = -w, w, cross_matrix(w)
    return out
