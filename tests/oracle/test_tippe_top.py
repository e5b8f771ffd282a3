"""The tippe top against its equations of motion, integrated by scipy.

A sphere of radius r whose centre lies a above the centre of mass c along the body's axis e, on a plane with
normal k. The arm from c to the contact is rho = a e - r k, the height of c is r - a e.k. With the slip
s = (v + w x rho without its part along k) and the spin w.k,

    m v' = N (k + d) - m g k,    L' = N (rho x (k + d) + t k),    L = I1 w + (I3 - I1) (w.e) e,
    d = -mu s / S,    t = -mu R^2 (w.k) / S,    S^2 = |s|^2 + R^2 (w.k)^2,

with R = 3 pi / 16 times the radius of the patch (Leine & Glocker 2003, sections 3 and 5); N is what keeps the
height. For a patch without size S = |s|, which is smoothed by a speed that must not matter.

Source: Cohen 1977, *The tippe top revisited*; Leine & Glocker 2003, section 5.
"""

import numpy as np
import pytest
import scenes
import topple
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

M, R1, A1, I1, I3, MU, G = 6e-3, 0.015, 0.003, 8e-7, 7e-7, 0.3, 9.81
TILT, SPIN = 0.1, 180.0
K = np.array([0.0, 0.0, 1.0])

pytestmark = pytest.mark.slow


def cross(a, b):
    """A cross product, ten times as fast as numpy's for three numbers."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rates(y, arm, smooth):
    """Derivative of (axis, angular velocity, horizontal velocity of the centre of mass)."""
    e, w, v = y[:3], y[3:6], np.array([y[6], y[7], 0.0])
    e_rate = cross(w, e)
    rho = A1 * e - R1 * K
    s = v + cross(w, rho)
    s[2] = 0.0
    size = np.sqrt(s @ s + (arm * w[2]) ** 2 + smooth**2)
    push = K - MU * s / size
    turn = cross(rho, push) - MU * arm**2 * w[2] / size * K
    # w' = N answer + free, from L' = N turn.
    answer = (turn - (I3 - I1) / I3 * (turn @ e) * e) / I1
    free = -(I3 - I1) / I1 * (w @ e) * e_rate
    # The centre of mass has the height r - a e.k: N / m - g = -a e''.k
    load = (G - A1 * (cross(free, e) + cross(w, e_rate))[2]) / (1.0 / M + A1 * cross(answer, e)[2])
    return np.concatenate([e_rate, load * answer + free, load * push[:2] / M])


def axis(seconds, arm, smooth, spin):
    """The axis of the body after some seconds."""
    e = np.array([np.sin(TILT), 0.0, np.cos(TILT)])
    start = np.concatenate([e, spin, np.zeros(2)])
    found = solve_ivp(
        lambda t, y: rates(y, arm, smooth), (0.0, seconds), start, method="LSODA", rtol=1e-10, atol=1e-12
    )
    return found.y[:3, -1]


ABOUT_AXIS = SPIN * np.array([np.sin(TILT), 0.0, np.cos(TILT)])


@pytest.mark.parametrize(
    ("radius", "spin", "seconds"),
    [(5e-4, ABOUT_AXIS, 0.2), (0.0, SPIN * K, 0.2), (0.0, ABOUT_AXIS, 0.2)],
    ids=["patch", "point, spins about the vertical", "point, rolls"],
)
def test_analytic_solver(radius, spin, seconds):
    """Patch or point, slip or roll: the axis agrees with the equations of motion.

    Smoothed by 1e-6 m/s, a contact that ought to stick creeps by less than that: 3e-7 m, 2e-5 of the radius.
    """
    scene = scenes.tippe_top(spin=spin)
    simulation = topple.Simulation(scene, topple.AnalyticSolver(contact_radius=radius))
    simulation.advance(seconds)
    w, x, y, z = simulation.state.orientation[1]
    found = Rotation.from_quat([x, y, z, w]).as_matrix()[:, 2]
    expected = axis(seconds, 3.0 * np.pi / 16.0 * radius, 0.0 if radius else 1e-6, spin)
    np.testing.assert_allclose(found, expected, atol=1e-7 if radius else 2e-5)


def test_what_turns_it_over():
    """With a patch of .5 mm it turns over; as a point, the nearer to Coulomb's law, the less it does.

    Spinning about its own axis, as in figure 12 of Leine & Glocker, the point soon rolls, and rolling costs
    nothing. Spinning about the vertical it slips on and turns far over, as a point as well.
    """
    assert axis(1.2, 3.0 * np.pi / 16.0 * 5e-4, 0.0, ABOUT_AXIS)[2] < 0.0
    assert axis(1.2, 0.0, 1e-2, ABOUT_AXIS)[2] < 0.0
    assert axis(1.2, 0.0, 1e-4, ABOUT_AXIS)[2] > np.cos(TILT)
    assert axis(0.8, 0.0, 1e-3, SPIN * K)[2] < 0.0
