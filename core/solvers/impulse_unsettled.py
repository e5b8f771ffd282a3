"""Islands whose impulses did not settle: how far from its conditions a contact is, and where it is worst."""

import math

from ..dynamics.contact_rows import PUSH, friction_of, in_frame, normal_compliance, relative_velocity
from ..jit import inlined, inner
from .impulse_contacts import gap_rate
from .impulse_progress import BODY_A, BODY_B, RESIDUAL, UNSETTLED


@inlined
def _natural_map(contacts, rows, c, h, mean):
    """How far contact `c` is from its conditions [m/s]: its natural map, K (p - proj(p - w / K)).

    w is the velocity that the conditions weigh against the impulse p, proj the nearest impulse they allow.
    """
    u, p, K = in_frame(contacts, c, relative_velocity(mean, contacts, c)), rows.impulse[c], rows.K_nn[c]
    along = u[0] + normal_compliance(rows, c) * p[0] - gap_rate(rows.gap[c], h, PUSH)
    give, limit = PUSH * rows.compliance[c], friction_of(rows, c) * p[0]
    t1 = p[1] - (u[1] + give * (p[1] - rows.before[c, 1])) / K
    t2 = p[2] - (u[2] + give * (p[2] - rows.before[c, 2])) / K
    shorter = limit / max(math.sqrt(t1 * t1 + t2 * t2), limit) if limit > 0.0 else 0.0
    d1, d2 = p[1] - shorter * t1, p[2] - shorter * t2
    return max(abs(min(K * p[0], along)), K * math.sqrt(d1 * d1 + d2 * d2))


@inner
def note_unsettled(contacts, rows, islands, island, h, residual, mean, report):
    """Note that an island did not settle.

    Args:
        residual: Largest change of a contact in the last sweep [m].
        mean: Mean velocities (bodies, 6).
        report: Islands that did not settle, the worst residual of these, and the bodies at the contact that
            is furthest from its conditions there: written.
    """
    report[UNSETTLED] += 1.0
    if residual <= report[RESIDUAL]:
        return
    report[RESIDUAL], worst = residual, -1.0
    for i in range(islands.start[island], islands.start[island + 1]):
        c = islands.order[i]
        error = _natural_map(contacts, rows, c, h, mean)
        if error > worst:
            worst, report[BODY_A], report[BODY_B] = error, contacts.body[c, 0], contacts.body[c, 1]
