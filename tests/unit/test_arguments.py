"""Arguments that are of no use are refused by one sentence that says what to give."""

import numpy as np
import pytest
import topple

ODD = [None, "x", [], {}, np.nan, np.inf, -1.0, [1, 2, 3], 2**2000, object()]


def scene() -> topple.Scene:
    return topple.Scene(bodies=[topple.Body("ball", topple.Sphere(1.0))])


def uses():
    """What to call, and by which name it is to be refused."""
    number = [value for value in ODD if value is not None]
    for name in ("time_step", "tolerance", "max_iterations"):
        yield from ((name, lambda v, n=name: topple.ImpulseSolver(**{n: v}), v) for v in [*ODD[:-2], ODD[-1]])
    for name in ("event_impulse", "threads"):
        yield from ((name, lambda v, n=name: topple.ImpulseSolver(**{n: v}), v) for v in number[:-2])
    for name in ("tolerance", "rtol", "contact_radius", "impact", "contact", "integrator"):
        yield from ((name, lambda v, n=name: topple.AnalyticSolver(**{n: v}), v) for v in ODD)
    for value in [*number[:-2], 1.5]:
        yield "frames", lambda v: topple.simulate(scene(), frames=v), value
        yield "frames", lambda v: next(topple.Simulation(scene()).run(v, 24)), value
    for value in ODD:
        if value != [1, 2, 3]:  # which these take
            yield "lock_linear", lambda v: topple.Body("ball", topple.Sphere(1.0), lock_linear=v), value
            yield "size", topple.Box, value
    for value in number:
        yield "seconds", lambda v: topple.simulate(scene(), seconds=v), value
    for value in ODD:
        yield "fps", lambda v: topple.simulate(scene(), frames=1, fps=v), value
        yield "advance", lambda v: topple.Simulation(scene()).advance(v), value
        yield "solver", lambda v: topple.simulate(scene(), frames=1, solver=v), value
        yield "is no scene", lambda v: topple.simulate(v, frames=1), value
        yield "mass", lambda v: topple.Body("ball", topple.Sphere(1.0), mass=v or -1.0), value
        yield "kind", lambda v: topple.Body("ball", topple.Sphere(1.0), kind=v), value
        yield "layers", lambda v: topple.Body("ball", topple.Sphere(1.0), layers=v), value
        yield "radius", topple.Sphere, value
        yield "part", topple.Compound, value
        yield "stiffness", lambda v: topple.Spring(body_a="a", body_b="b", stiffness=v, length=1.0), value
        yield "start", lambda v: topple.Thruster(body="a", force=(0, 0, 1), start=v), value


CASES = list(uses())


@pytest.mark.parametrize("index", range(len(CASES)))
def test_refused(index):
    name, use, value = CASES[index]
    with pytest.raises(topple.ToppleError, match=name) as refusal:
        use(value)
    assert "\n" not in str(refusal.value)
    assert 15 < len(str(refusal.value)) < 300
