"""Fast bodies that meet off their middle: where they meet decides, not where they stood as the step began."""

import math

import numpy as np
import pytest
import topple
from scipy.spatial.transform import Rotation

G = 9.81
STEPS = pytest.mark.parametrize("step", [1 / 60, 1 / 240, 1e-3])
BALL, SPEED = 0.05, 5.0  # radius [m]; [m/s]: 8 cm in a step of 1/60 s


def run(scene: topple.Scene, step: float, seconds: float) -> topple.Simulation:
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=step))
    simulation.advance(round(seconds / step) * step)
    return simulation


@STEPS
def test_billiard_balls(step, figure):
    """e = 1, no friction: the ball struck leaves along the line of centres at v cos(a), sin a = offset / 2 R.

    The other one keeps v sin(a) across it. Limit: normals are known to 1e-3 rad, or to what a ball moves
    by when it is not looked at again, 1e-3 of its size: 2e-3 of v.
    """
    for k, sine in enumerate((0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)):
        scene = topple.Scene(gravity=(0, 0, 0))
        start = (-1.0 - 0.0117 * k, 2 * BALL * sine, 0)  # so that they meet in all parts of a step
        scene.add(topple.Body("cue", topple.Sphere(BALL), position=start, linear_velocity=(SPEED, 0, 0),
                              restitution=1.0, friction=0.0))  # fmt: skip
        scene.add(topple.Body("object", topple.Sphere(BALL), restitution=1.0, friction=0.0))
        cosine = math.sqrt(1 - sine**2)
        struck = SPEED * cosine * np.array([cosine, -sine, 0])
        velocity = np.array(run(scene, step, 0.4).state.linear_velocity)
        figure("velocity of the ball struck, of v", np.linalg.norm(velocity[1] - struck) / SPEED, 2e-3)
        left = np.array([SPEED, 0, 0]) - struck
        figure("velocity of the other, of v", np.linalg.norm(velocity[0] - left) / SPEED, 2e-3)


@STEPS
@pytest.mark.parametrize("shape", [topple.Sphere(BALL), topple.Box((0.1, 0.1, 0.1))], ids=["ball", "box"])
def test_what_passes_by_is_not_touched(step, shape, figure):
    """A millimetre or a centimetre beside it, whatever their closest points said when the step began."""
    for k in range(24):
        scene = topple.Scene(gravity=(0, 0, 0))
        start = np.array([-1.0 - 0.0037 * k, 2 * BALL + (1e-3, 1e-2)[k % 2], 0])
        scene.add(topple.Body("flies", shape, position=start, linear_velocity=(SPEED, 0, 0)))
        scene.add(topple.Body("stands", topple.Sphere(BALL)))
        simulation = run(scene, step, 0.4)
        velocity, place = np.array(simulation.state.linear_velocity), np.array(simulation.state.position)
        figure("velocity of what stands", np.abs(velocity[1]).max(), 1e-12, "m/s")
        figure("change of what flies", np.abs(velocity[0] - (SPEED, 0, 0)).max(), 1e-12, "m/s")
        figure("way of what stands", np.abs(place[1]).max(), 1e-12, "m")
        way = (SPEED * simulation.time, 0, 0)
        figure("what flies from where it should be", np.abs(place[0] - start - way).max(), 1e-12, "m")
        figure("penetration reported", simulation.report.max_penetration, 1e-12, "m")
        assert not simulation.events


def struck_box(step: float, seed: int) -> np.ndarray:
    """Velocity [m/s] of a turned box, and of its corners' turning, that a ball at 5 m/s has hit somewhere."""
    rng = np.random.default_rng(seed)
    offset, start, turn = rng.uniform(-0.08, 0.08), -0.8 - 0.1 * rng.random(), rng.normal(size=3)
    x, y, z, w = Rotation.from_rotvec(turn).as_quat()
    scene = topple.Scene(gravity=(0, 0, 0))
    surface = {"restitution": 0.7, "friction": 0.3}
    scene.add(topple.Body("ball", topple.Sphere(BALL), mass=1.0, position=(start, offset, 0.01),
                          linear_velocity=(SPEED, 0, 0), **surface))  # fmt: skip
    scene.add(topple.Body("box", topple.Box((0.1, 0.1, 0.1)), mass=1.0, orientation=(w, x, y, z), **surface))
    state = run(scene, step, 0.4).state
    return np.concatenate([state.linear_velocity[1], 0.087 * np.array(state.angular_velocity[1])])


@pytest.mark.parametrize("step", [1 / 240, 1e-3])
def test_ball_on_a_turned_box(step, figure):
    """A face, an edge or a corner is hit, often twice: as with steps of .02 ms, to 1 % of the ball's speed.

    In .02 ms the ball moves by .1 mm, which is a thousandth of its size.
    """
    for seed in range(12):
        error = np.linalg.norm(struck_box(step, seed) - struck_box(2e-5, seed))
        figure("velocity against short steps, of v", error / SPEED, 0.01)


@pytest.mark.parametrize("step", [1 / 240, 1e-3])
def test_wheel_on_a_step(step, figure):
    """A cylinder that rolls against a step of height s, e = 0, turns about its edge from then on.

    The angular momentum about the edge is kept: w' / w = (I + m r (r - s)) / (I + m r^2). On top it has
    lost m g s: w''^2 = w'^2 - 2 m g s / (I + m r^2), from which w' follows. It stays on the edge while
    w'^2 r < g (r - s) / r, at less than 2.3 m/s. Limit: in a step arms are straight, while it turns by w' h;
    and the normal is known to 1e-3.
    """
    r, height, inertia = 0.5, 0.1, 0.125  # per mass [m^2]
    after = (inertia + r * (r - height)) / (inertia + r * r)
    for speed in (1.8, 2.0):
        for k in range(4):
            scene = topple.Scene()
            scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", friction=2.0))
            scene.add(topple.Body("step", topple.Box((4, 4, height)), kind="static", friction=2.0,
                                  position=(2, 0, height / 2)))  # fmt: skip
            scene.add(topple.Body("wheel", topple.Cylinder(r, 1.0), mass=1.0, friction=2.0,
                                  position=(-0.6 - 0.0023 * k, 0, r),
                                  orientation=(math.sqrt(0.5), math.sqrt(0.5), 0, 0),
                                  linear_velocity=(speed, 0, 0),
                                  angular_velocity=(0, speed / r, 0)))  # fmt: skip
            simulation = run(scene, step, 1.0)
            spin = float(np.array(simulation.state.angular_velocity)[2, 1])
            turned = math.sqrt(spin**2 + 2 * G * height / (inertia + r * r))
            error = turned / (after * speed / r) - 1
            figure("turning after it has struck, relative", error, after * speed / r * step + 1e-3)


SIDE = 0.2  # of a cube [m]
CORNERS = 0.5 * SIDE * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def landing(height: float, turn: np.ndarray, spin: np.ndarray, restitution: float) -> np.ndarray | None:
    """Velocity and spin of a cube that its first corner to reach a plane has thrown up, closed form.

    None where another corner lands after it, or within .3 s none.
    """

    def heights(t: float, spin: np.ndarray, start: float, rate: float, turned: Rotation) -> np.ndarray:
        return start + rate * t + (Rotation.from_rotvec(spin * t) * turned).apply(CORNERS)[:, 2]

    turned, rate = Rotation.from_rotvec(turn), -SPEED
    low, high = 0.0, 0.3
    if heights(high, spin, height, rate, turned).min() > 0.0:
        return None
    while high - low > 1e-15:  # it falls faster than its corners turn
        middle = 0.5 * (low + high)
        if heights(middle, spin, height, rate, turned).min() > 0.0:
            low = middle
        else:
            high = middle
    turned, start = Rotation.from_rotvec(spin * low) * turned, height + rate * low
    arms = turned.apply(CORNERS)
    arm = arms[arms[:, 2].argmin()]
    inertia, lever = SIDE**2 / 6.0, np.array([arm[1], -arm[0], 0.0])  # per mass; arm x n
    blow = (1.0 + restitution) * -(rate + spin @ lever) / (1.0 + lever @ lever / inertia)
    rate, spin = rate + blow, spin + blow / inertia * lever
    if any(heights(t, spin, start, rate, turned).min() < 0.0 for t in np.linspace(1e-5, 0.3, 3000)):
        return None
    return np.array([0.0, 0.0, rate, *spin])


def triangles(width: float, count: int) -> topple.Mesh:
    """A flat floor of so many squares along either side, two triangles each."""
    side = np.linspace(-0.5, 0.5, count + 1) * width
    points = [(x, y, 0.0) for x in side for y in side]
    faces = []
    for i in range(count):
        for a in range(i * (count + 1), i * (count + 1) + count):
            faces += [(a, a + count + 1, a + 1), (a + 1, a + count + 1, a + count + 2)]
    return topple.Mesh(points, faces)


@STEPS
@pytest.mark.parametrize("floor", [topple.Plane((0, 0, 1), 0.0), triangles(3.1, 7)], ids=["plane", "mesh"])
def test_cube_that_lands_on_a_corner(step, floor, figure):
    """A cube at 5 m/s that spins at 8 rad/s lands on the corner that is below then, as it lies then.

    Limit: where it lands is known to 1e-3 of its size and turn, r, each, so its lever to 2e-3 r = .35 mm. A
    blow of 8 Ns then changes its spin, of inertia 1/150, by .4 rad/s: its corners' velocity by 1 % of v.
    """
    rng, landed = np.random.default_rng(3), 0
    while landed < 24:
        turn, spin, height = rng.normal(size=3) * 2.0, rng.normal(size=3), 0.5 + 0.2 * rng.random()
        spin *= 8.0 / np.linalg.norm(spin)
        exact = landing(height, turn, spin, 0.6)
        if exact is None:
            continue
        landed += 1
        x, y, z, w = Rotation.from_rotvec(turn).as_quat()
        scene = topple.Scene(gravity=(0, 0, 0))
        surface = {"restitution": 0.6, "friction": 0.0}
        scene.add(topple.Body("floor", floor, kind="static", **surface))
        scene.add(topple.Body("cube", topple.Box((SIDE,) * 3), mass=1.0, position=(0, 0, height),
                              orientation=(w, x, y, z), linear_velocity=(0, 0, -SPEED),
                              angular_velocity=spin, **surface))  # fmt: skip
        state = run(scene, step, 0.3).state
        found = np.concatenate([state.linear_velocity[1], state.angular_velocity[1]])
        error = np.abs(found - exact) * (1, 1, 1, *[0.5 * SIDE] * 3)
        figure("velocity, also of corners, of v", error.max() / SPEED, 0.01)
