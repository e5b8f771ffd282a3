"""The matrix of Newton's method on contacts that are springs: M + sum J' D J, in blocks of 6 x 6.

D is the derivative -dp/du of a contact's impulse by its velocity, J = [1, -[r]] a body's contact velocity by
its own; n, t1, t2 the contact's frame.

Source: Castro et al. 2022, *An unconstrained convex formulation of compliant contact*, for the derivative.
"""

import math

import numpy as np

from ..dynamics.body_state import inertia_of
from ..dynamics.contact_rows import contact_frame, in_frame, relative_velocity, sticking_impulse, stiffnesses
from ..jit import inlined, inner
from ..math3 import vec3
from .block_cholesky import block_index

UNLIMITED = 1e150  # friction limit [N s] of a contact taken to hold
# How a contact pushes by its impulse: not at all, by friction on its limit, or by less.
OPEN, SLIPS, HOLDS = np.int8(0), np.int8(1), np.int8(2)
# Whether contacts are taken for what they do by their impulses (typed: literals would compile once more).
AS_SPRINGS, AS_GLUED = np.bool_(False), np.bool_(True)


@inlined
def is_pressed(scratch, c, u, glued):
    """Whether contact `c` pushes along its normal at the relative velocity u.

    Args:
        scratch: See `NewtonScratch`.
        glued: Whether it does as its `grip` says: it then pulls, too.
    """
    return scratch.grip[c] != OPEN if glued else scratch.rate[c] > u[0]


@inlined
def friction_limit(scratch, c, glued):
    """Largest friction impulse of contact `c` [N s]."""
    if glued and scratch.grip[c] != SLIPS:
        return UNLIMITED if scratch.grip[c] == HOLDS else 0.0
    return scratch.limit[c]


@inlined
def _spring_matrix(rows, c, u, scratch, along, shut, glued):
    """Derivative -dp/du of contact `c` in its frame: nn, n t1, n t2, t1 t1, t1 t2, t2 t2.

    A slipping contact resists across its slip, and is given the part `along` of that resistance along it; an
    open one does not resist, and is given the part `shut` of what it would if it were pressed, where its
    `grip` does not say OPEN.
    """
    stiffness, along_normal = stiffnesses(rows, c)
    limit = friction_limit(scratch, c, glued)
    normal = along_normal
    if not is_pressed(scratch, c, u, glued):
        normal *= shut if scratch.grip[c] != OPEN else 0.0
    p1, p2 = sticking_impulse(rows, c, u, stiffness)
    size = math.sqrt(p1 * p1 + p2 * p2)
    if size <= limit:
        return normal, 0.0, 0.0, stiffness, 0.0, stiffness
    across = limit / size * stiffness
    less = (1.0 - along) * across
    t1, t2 = p1 / size, p2 / size
    return normal, 0.0, 0.0, across - less * t1 * t1, -less * t1 * t2, across - less * t2 * t2


@inlined
def _world_matrix(contacts, c, D):
    """A symmetric matrix of the contact frame (six entries, no n t terms) in world axes (nine)."""
    f = contact_frame(contacts, c)
    n, t1, t2 = (f[0], f[1], f[2]), (f[3], f[4], f[5]), (f[6], f[7], f[8])
    dn = vec3.scale(n, D[0])
    d1 = vec3.add(vec3.scale(t1, D[3]), vec3.scale(t2, D[4]))
    d2 = vec3.add(vec3.scale(t1, D[4]), vec3.scale(t2, D[5]))
    xx = n[0] * dn[0] + t1[0] * d1[0] + t2[0] * d2[0]
    xy = n[0] * dn[1] + t1[0] * d1[1] + t2[0] * d2[1]
    xz = n[0] * dn[2] + t1[0] * d1[2] + t2[0] * d2[2]
    yy = n[1] * dn[1] + t1[1] * d1[1] + t2[1] * d2[1]
    yz = n[1] * dn[2] + t1[1] * d1[2] + t2[1] * d2[2]
    zz = n[2] * dn[2] + t1[2] * d1[2] + t2[2] * d2[2]
    return xx, xy, xz, xy, yy, yz, xz, yz, zz


@inlined
def _cross_columns(r, m):
    """[r] m: r crossed with each column of m."""
    return (
        r[1] * m[6] - r[2] * m[3], r[1] * m[7] - r[2] * m[4], r[1] * m[8] - r[2] * m[5],
        r[2] * m[0] - r[0] * m[6], r[2] * m[1] - r[0] * m[7], r[2] * m[2] - r[0] * m[8],
        r[0] * m[3] - r[1] * m[0], r[0] * m[4] - r[1] * m[1], r[0] * m[5] - r[1] * m[2],
    )  # fmt: skip


@inlined
def _cross_rows(m, r):
    """m [r]': r crossed with each row of m."""
    return (
        m[2] * r[1] - m[1] * r[2], m[0] * r[2] - m[2] * r[0], m[1] * r[0] - m[0] * r[1],
        m[5] * r[1] - m[4] * r[2], m[3] * r[2] - m[5] * r[0], m[4] * r[0] - m[3] * r[1],
        m[8] * r[1] - m[7] * r[2], m[6] * r[2] - m[8] * r[0], m[7] * r[0] - m[6] * r[1],
    )  # fmt: skip


@inner
def _add_own(block, D, low, r):
    """block += J' D J for J = [1, -[r]] and low = [r] D: its lower triangle."""
    corner = _cross_rows(low, r)
    for i in range(3):
        for j in range(i + 1):
            block[i, j] += D[3 * i + j]
            block[3 + i, 3 + j] += corner[3 * i + j]
        for j in range(3):
            block[3 + i, j] += low[3 * i + j]


@inner
def _subtract_link(block, D, low, other_low, other_r):
    """block -= J' D J_other, for a symmetric D: what is right of it is what is below it in the other's."""
    corner = _cross_rows(low, other_r)
    for i in range(3):
        for j in range(3):
            block[i, j] -= D[3 * i + j]
            block[3 + i, j] -= low[3 * i + j]
            block[i, 3 + j] -= other_low[3 * j + i]
            block[3 + i, 3 + j] -= corner[3 * i + j]


@inlined
def is_locked(masses, body, m):
    """Whether component m of a body's six velocities answers nothing."""
    return masses.inv_mass[body, m] == 0.0 if m < 3 else masses.lock_angular[body, m - 3]


@inner
def _lock_axes(masses, contacts, islands, island, pattern, blocks):
    """Leave out rows and columns of locked axes, along and about which a step has no part."""
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        block = blocks[pattern.rank[islands.number[body]]]
        for m in range(6):
            if is_locked(masses, body, m):
                block[m, :], block[:, m], block[m, m] = 0.0, 0.0, 1.0
    for i in range(islands.start[island], islands.start[island + 1]):
        a, b = contacts.body[islands.order[i], 0], contacts.body[islands.order[i], 1]
        if islands.number[a] >= 0 and islands.number[b] >= 0:
            row, column = pattern.rank[islands.number[a]], pattern.rank[islands.number[b]]
            if row < column:
                a, b, row, column = b, a, column, row
            block = blocks[block_index(pattern, row, column)]
            for m in range(6):
                if is_locked(masses, a, m):
                    block[m, :] = 0.0
                if is_locked(masses, b, m):
                    block[:, m] = 0.0


@inner
def assemble(masses, contacts, rows, islands, island, velocity, scratch, along, shut, glued, pattern, blocks):
    """Hessian M + sum J' D J into the pattern's blocks.

    Args:
        scratch: See `NewtonScratch`.
        along, shut: See `_spring_matrix`.
        glued: See `is_pressed`.
    """
    blocks[:, :, :] = 0.0
    any_locked = False
    for k in range(islands.body_start[island], islands.body_start[island + 1]):
        body = islands.body[k]
        block = blocks[pattern.rank[islands.number[body]]]
        inertia = inertia_of(masses, body)
        for i in range(3):
            block[i, i] = masses.mass[body]
            for j in range(i + 1):
                block[3 + i, 3 + j] = inertia[3 * i + j]
        for m in range(6):
            any_locked = any_locked or is_locked(masses, body, m)
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        u = in_frame(contacts, c, relative_velocity(velocity, contacts, c))
        D = _spring_matrix(rows, c, u, scratch, along, shut, glued)
        if D[0] == 0.0 and D[3] == 0.0 and D[5] == 0.0:
            continue
        D_W = _world_matrix(contacts, c, D)
        ka, kb = islands.number[contacts.body[c, 0]], islands.number[contacts.body[c, 1]]
        ra, rb = vec3.load(contacts.arm[c], 0), vec3.load(contacts.arm[c], 1)
        low_a, low_b = _cross_columns(ra, D_W), _cross_columns(rb, D_W)
        if ka >= 0:
            _add_own(blocks[pattern.rank[ka]], D_W, low_a, ra)
        if kb >= 0:
            _add_own(blocks[pattern.rank[kb]], D_W, low_b, rb)
        if ka >= 0 and kb >= 0:
            row_a, row_b = pattern.rank[ka], pattern.rank[kb]
            if row_a > row_b:
                _subtract_link(blocks[block_index(pattern, row_a, row_b)], D_W, low_a, low_b, rb)
            else:
                _subtract_link(blocks[block_index(pattern, row_b, row_a)], D_W, low_b, low_a, ra)
    if any_locked:
        _lock_axes(masses, contacts, islands, island, pattern, blocks)
    for k in range(pattern.rank.shape[0]):
        for i in range(6):
            for j in range(i):
                blocks[k, j, i] = blocks[k, i, j]
