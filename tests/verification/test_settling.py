"""Bodies that come to rest do so at once and where they would have; slow ones that do not go on moving."""

import math

import numpy as np
import pytest
import scenes
import topple
from topple import sequence
from topple.dynamics.contact_rows import PUSH
from topple.dynamics.packed_rows import K_N, K_T, WIDTH, friction_step, normal_step
from topple.jit import kernel
from topple.solvers.impulse import ImpulsePipeline, build_pipeline
from topple.solvers.impulse_islands import solve_contacts
from topple.solvers.impulse_progress import NEWTON, UNSETTLED
from topple.solvers.packed_contacts import pack_contact

STEP = 1.0 / 240.0  # [s]
GRAVITY = 9.81  # [m/s^2]


def block_on_floor(angle=0.0, friction=0.0, velocity=(0.0, 0.0, 0.0), gap=0.0):
    """A box of 0.4 m on a floor or `gap` [m] above, gravity inclined by `angle` [rad] toward x."""
    gravity = (GRAVITY * np.sin(angle), 0.0, -GRAVITY * np.cos(angle))
    scene = topple.Scene(gravity=gravity)
    scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", friction=friction))
    box, position = topple.Box((0.4,) * 3), (0.0, 0.0, 0.2 + gap)
    scene.add(topple.Body("block", box, position=position, linear_velocity=velocity, friction=friction))
    return scene


@pytest.mark.parametrize("speed", [0.05, 0.1, 0.2])
def test_slow_sliding_without_friction(speed, figure):
    """A block without friction that is slower than what gravity adds in a step goes on.

    Newton's first law, within 2 % of the way in 10 s: the slowest loses some 1 %, with or without settling.
    """
    velocity = speed * GRAVITY * STEP
    trajectory = topple.simulate(block_on_floor(velocity=(velocity, 0.0, 0.0)), seconds=10.0)
    figure("way", trajectory.position[-1, 1, 0] / (10.0 * velocity) - 1.0, 2e-2)


def test_slow_turn_without_friction(figure):
    """A beam of 20 m without friction whose ends move by 5 mm/s turns on: what is slow is measured in m/s.

    Newton's first law, within 2 % of the angle in 10 s.
    """
    length, spin = 20.0, 5e-4
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", friction=0.0))
    beam = topple.Box((length, 0.4, 0.4))
    scene.add(topple.Body("beam", beam, position=(0, 0, 0.2), angular_velocity=(0, 0, spin), friction=0.0))
    trajectory = topple.simulate(scene, seconds=10.0)
    angle = 2.0 * np.arctan2(trajectory.orientation[-1, 1, 3], trajectory.orientation[-1, 1, 0])
    figure("angle", angle / (10.0 * spin) - 1.0, 2e-2)


@pytest.mark.parametrize(("speed", "turns"), [(5e-4, 0.0), (12e-4, 1.0)])
def test_slow_spin_of_a_marble(speed, turns, figure):
    """A marble of 1 cm that spins upright stops where its surface is slower than .8 mm/s, and else spins on.

    What is at rest moves by less than .02 of what gravity adds in a step (REST_SPEED), .8 mm/s at 1/240 s;
    at its only point nothing resists the spin. Within 2 % of the angle in 2 s.
    """
    radius = 0.01
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", friction=0.5))
    ball, spin = topple.Sphere(radius), (0.0, 0.0, speed / radius)
    scene.add(topple.Body("ball", ball, position=(0, 0, radius), angular_velocity=spin, friction=0.5))
    trajectory = topple.simulate(scene, seconds=2.0)
    angle = 2.0 * np.arctan2(trajectory.orientation[-1, 1, 3], trajectory.orientation[-1, 1, 0])
    figure(f"angle at {1e3 * speed:.1f} mm/s", angle / (2.0 * speed / radius) - turns, 2e-2)


@pytest.mark.parametrize("step", [1 / 240, 1 / 1000])
def test_a_column_that_is_hit(step, figure):
    """A column of 20 cubes on which one falls from .5 m is pressed by no visible part, and rests soon after.

    Without restitution the blow leaves nothing but friction's work. Each contact is found to SETTLED of the
    tolerance, 1e-6 m; what presses adds up on the way down. What is out of balance goes by half in each step:
    24 steps are enough for a part of 10^-7.
    """
    scene, height = topple.Scene(gravity=(0.0, 0.0, -GRAVITY)), 0.5
    scene.add(topple.Body("floor", topple.Plane((0, 0, 1), 0.0), kind="static", friction=0.5))
    for k in range(21):
        place = (0.01 * (k % 3), 0.01 * (k % 2), 0.5 + k + (height if k == 20 else 0.0))
        scene.add(topple.Body(f"cube {k}", topple.Box((1, 1, 1)), position=place, friction=0.5))
    simulation = topple.Simulation(scene, topple.ImpulseSolver(time_step=step))
    pipeline, lands = simulation._pipeline, np.sqrt(2.0 * height / GRAVITY)
    while simulation.time < lands + 2 * step or pipeline.solve.held.sum() < 21:
        pipeline.step(step)
        assert simulation.time < 2.0
    figure(f"steps from the blow to rest at 1/{1 / step:.0f} s", (simulation.time - lands) / step, 24.0)
    figure(f"penetration at 1/{1 / step:.0f} s", simulation.report.max_penetration, 1e-5, "m")


@pytest.mark.parametrize("over", [0.005, 0.02, 0.1])
def test_start_of_a_slide(over, figure):
    """A block on a slope a little too steep slides by 1/2 g (sin a - mu cos a) t^2."""
    friction = 0.3
    angle = np.arctan(friction + over)
    trajectory = topple.simulate(block_on_floor(angle, friction), seconds=2.0)
    way = 2.0 * GRAVITY * (np.sin(angle) - friction * np.cos(angle))
    figure("way", (trajectory.position[-1, 1, 0] - way) / way, 5e-3)


@pytest.mark.parametrize(("over", "gap"), [(0.005, 0.0), (0.02, 0.0), (-0.1, 0.9e-4)])
def test_first_step_of_what_is_not_in_equilibrium(over, gap, figure):
    """What slides, or hangs by less than the tolerance over the floor, is not let into springs at the start.

    In the first step of free fall a body moves by g h^2.
    """
    friction, time_step = 0.3, 1e-3
    scene = block_on_floor(np.arctan(friction + over), friction, gap=gap)
    pipeline, _ = build_pipeline(scene, topple.ImpulseSolver(time_step=time_step))
    before = pipeline.state.c[1].copy()
    pipeline.step(time_step)
    figure("moved", np.linalg.norm(pipeline.state.c[1] - before), GRAVITY * time_step**2, "m")


def test_slow_conveyor(figure):
    """A block on a floor that moves by 1 mm/s is carried along."""
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    motion = topple.Motion([0.0, 20.0], [(0, 0, -0.1), (0.02, 0, -0.1)], [(1, 0, 0, 0)] * 2)
    belt = topple.Box((4.0, 2.0, 0.2))
    scene.add(topple.Body("belt", belt, kind="kinematic", motion=motion, friction=0.5))
    scene.add(topple.Body("block", topple.Box((0.4,) * 3), position=(0, 0, 0.2), friction=0.5))
    trajectory = topple.simulate(scene, seconds=10.0)
    moved = trajectory.position[-1] - trajectory.position[0]
    figure("way against the belt's", moved[1, 0] - moved[0, 0], 1e-4, "m")


def turntable(angle, shape, radius, **surface):
    """A body of `shape`, .1 m high, on a disc that turns by `angle` (a function of the time), for 10 s."""
    times = np.linspace(0.0, 10.0, 2401)
    half = 0.5 * angle(times)
    orientations = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
    motion = times, np.tile([0.0, 0.0, -0.05], (len(times), 1)), orientations
    scene = topple.Scene(gravity=(0.0, 0.0, -GRAVITY))
    disc, spin = topple.Cylinder(3.0, 0.1), (angle(1e-6) - angle(0.0)) / 1e-6
    scene.add(topple.Body("disc", disc, kind="kinematic", motion=motion, **surface))
    start = {"linear_velocity": (0.0, radius * spin, 0.0), "angular_velocity": (0.0, 0.0, spin)}
    scene.add(topple.Body("rider", shape, position=(radius, 0.0, 0.05), **start, **surface))
    return scene


@pytest.mark.parametrize("time_step", [1e-3, STEP, 1.0 / 60.0])
@pytest.mark.parametrize(
    "shape", [topple.Box((0.4, 0.4, 0.1)), topple.Cylinder(0.2, 0.1)], ids=["box", "disc"]
)
def test_turntable(shape, time_step, figure):
    """What rides on a disc that turns at 1 rad/s stays where it is on it, for 10 s.

    It would leave its circle of 2 m by w^2 r h / 2 = 4.2 mm/s at 1/240 s if each step went along the tangent.
    """
    scene = turntable(lambda time: 1.0 * time, shape, 2.0, friction=0.5)
    trajectory = topple.simulate(scene, seconds=10.0, solver=topple.ImpulseSolver(time_step=time_step))
    place = trajectory.position[:, 1, 0] + 1j * trajectory.position[:, 1, 1]
    place = place * np.exp(-1j * trajectory.times)
    figure("way on the disc", np.abs(place - place[0]).max(), 1e-5, "m")


@pytest.mark.parametrize("dynamic", [0.6, 0.3])
def test_turntable_that_speeds_up(dynamic, figure):
    """A block on a disc that speeds up by .2 rad/s^2 lets go where its acceleration is .6 g, within 3 %.

    Coulomb. Found late, by .1 mm of slip.
    """
    rate, radius = 0.2, 2.0
    surface = {"friction": 0.6, "friction_dynamic": dynamic}
    scene = turntable(lambda time: 0.5 * rate * time**2, topple.Box((0.4, 0.4, 0.1)), radius, **surface)
    trajectory = topple.simulate(scene, seconds=10.0, fps=240)
    out = np.linalg.norm(trajectory.position[:, 1, :2], axis=1) - radius
    lets_go = trajectory.times[np.flatnonzero(out > 1e-4)[0]]
    acceleration = radius * math.hypot((rate * lets_go) ** 2, rate)
    figure("acceleration it lets go at, relative", acceleration / (0.6 * GRAVITY) - 1.0, 3e-2)


@pytest.mark.parametrize("time_step", [1e-3, STEP])
def test_settling_takes_few_steps(time_step, figure):
    """Ten cubes dropped on each other: forces k m g between them, within ten steps of the last motion.

    Statics. While springs were let go by halves, this took some twenty steps of Newton's method.
    """
    scene = scenes.cube_grid(1, 10)
    pipeline, _ = build_pipeline(scene, topple.ImpulseSolver(time_step=time_step, sleeping=False))
    pipeline.look_ahead(time_step)
    moving = pipeline.model.inv_mass[:, 2] > 0.0
    slow, steps = 0.02 * GRAVITY * time_step, 0
    while pipeline.time < 3.0:
        pipeline.step(time_step)
        if not pipeline.solve.held[moving].all():
            steps = 0 if np.abs(pipeline.solve.last_mean).max() > slow else steps + 1
    assert pipeline.solve.held[moving].all()
    figure("steps from the last motion to rest", steps, 10.0)
    contacts, load, pairs = pipeline.contacts, np.zeros(len(moving)), pipeline.broad_phase.pairs
    for c in range(pipeline.contact_count):
        z = pipeline.state.c[contacts.body[c], 2] * moving[contacts.body[c]]
        impulse = pairs.impulse[pairs.room[contacts.slot[c]], contacts.place[c]]
        load[contacts.body[c, z.argmax()]] += abs(impulse[2]) / time_step
    height = pipeline.state.c[moving, 2]
    carried = 1000.0 * GRAVITY * (10.0 - np.floor(height))
    figure("loads", np.abs(load[moving] / carried - 1.0).max(), 1e-2)


def test_a_heap_in_motion_is_seldom_put_right(monkeypatch, figure):
    """Contacts end where they were predicted to: a round in fifty steps mends what was not known.

    With the normals of faces for contacts of edges bodies slid into each other: one step in eight took one.
    """
    rounds = []
    move_apart = ImpulsePipeline.move_apart
    monkeypatch.setattr(
        ImpulsePipeline, "move_apart", lambda self, h: (rounds.append(1), move_apart(self, h))
    )
    simulation = topple.Simulation(scenes.rocks_in_box(60), topple.ImpulseSolver(time_step=1e-3))
    simulation.advance(0.9)
    figure("rounds of repair a step", len(rounds) / 900, 0.02)
    figure("penetration", simulation.report.max_penetration, 1e-4, "m")


@kernel
def changes_by_another_update(masses, contacts, rows, count, h, mean, row, change_out):
    """How much each contact would change in one more sweep [m]."""
    for c in range(count):
        pack_contact(masses, contacts, rows, c, h, PUSH, mean, row)
        u = (0.0, 0.0, 0.0)  # nothing is added to the mean velocities so far
        p0, p1, p2 = rows.impulse[c, 0], rows.impulse[c, 1], rows.impulse[c, 2]
        q0 = normal_step(row, u, p0)
        q1, q2 = friction_step(row, u, q0 - p0, p1, p2, q0)
        across = math.sqrt((q1 - p1) ** 2 + (q2 - p2) ** 2)
        change_out[c] = max(row[K_N] * abs(q0 - p0), row[K_T] * across)


def test_what_is_reported_as_settled_is_so_at_every_contact(monkeypatch, figure):
    """The last sweep leaves out no contact that another would change: residuals of a heap in motion."""
    worst, unsettled, do, h = [], [], sequence.Runner.do, 1e-3

    def do_and_look(runner, call):
        result = do(runner, call)
        if call.kernel is not solve_contacts:
            return result
        change = np.zeros(p.contact_count)
        changes_by_another_update(
            p.half_way, p.geometry, p.rows, len(change), h, p.plan.mean, np.zeros(WIDTH), change
        )
        unsettled.append(p.solve_report[UNSETTLED] > 0.0)
        if not unsettled[-1]:
            worst.append(change.max(initial=0.0))
        return result

    monkeypatch.setattr(sequence, "ENOUGH", np.inf)  # Python calls all kernels
    simulation = topple.Simulation(scenes.rocks_in_box(120), topple.ImpulseSolver(time_step=h))
    p = simulation._pipeline
    simulation.advance(0.6)
    monkeypatch.setattr(sequence.Runner, "do", do_and_look)
    simulation.advance(0.2)
    assert np.median(worst) > 1e-7
    figure("largest residual", max(worst), 1e-4, "m")
    assert not any(unsettled)


@pytest.mark.parametrize("name", ["silo", "silo in plane", "rocks"])
def test_heaps_in_motion_settle_in_each_step(name, figure):
    """A heap that pours down settles in each step at 1/240 s, in its parts and as a whole.

    With a bound of 60 sweeps more than a tenth of these steps did not, by .8 mm, 2.4 mm and .8 mm.
    """
    scene = scenes.rocks_in_box() if name == "rocks" else scenes.silo(in_plane=name == "silo in plane")
    report = topple.simulate(scene, seconds=2.5).report
    figure("steps that did not settle", len(report.unresolved), 0.0)
    figure("penetration", report.max_penetration, 1e-4, "m")


@pytest.mark.slow
def test_heavy_on_light_in_a_heap_settles(figure):
    """200 cubes of 1 to 1000 kg that fall on each other for two seconds at 1/240 s: nearly all steps settle.

    4000 sweeps do not settle 36 of the 480 steps. Newton's method does, but for one: there a cube is five
    tolerances deep in the floor, and what may have no room is only swept.
    """
    report = topple.simulate(scenes.mixed_masses(), seconds=2.0, fps=240.0).report
    figure("part of the steps that did not settle", len(report.unresolved) / 480, 0.01)


def test_a_heap_of_hundreds_calms_down(figure):
    """Rocks of a heap that fell two seconds ago creep by .1 mm in .1 s at most.

    What sweeps leave is where the next step starts: until they ended at a part of how far bodies move it
    was .6 mm, for as long as one looked.
    """
    simulation = topple.Simulation(
        scenes.rocks_in_box(300), topple.ImpulseSolver(time_step=1e-3, sleeping=False)
    )
    simulation.advance(2.8)
    ways = []
    while simulation.time < 3.55:
        before = simulation.state.position.copy()
        simulation.advance(0.1)
        ways.append(np.median(np.linalg.norm(simulation.state.position - before, axis=1)))
    figure("way in .1 s, median", np.median(ways), 1e-4, "m")


@pytest.mark.slow
def test_a_wide_heap_finds_its_equilibrium(figure):
    """800 cubes in a heap come to rest, and lie exactly still: the equilibrium they end in is found at once.

    Friction limits that follow the normal impulses all the way turn back and forth with some of them, round
    after round: that took ten steps of 64 iterations and more, and some heaps did not come to rest in 10 s.
    Here one cube rocks on the edge of another for 14 s and loses a little with each blow before it falls off.
    """
    simulation = topple.Simulation(scenes.wide_heap(800), topple.ImpulseSolver(sleeping=False))
    pipeline, iterations = simulation._pipeline, 0
    while simulation.time < 30.0 and pipeline.solve.held.sum() < 800:
        pipeline.step(STEP)
        if pipeline.solve.settles.sum() > 200:
            iterations += pipeline.solve_report[NEWTON]
    assert pipeline.solve.held.sum() == 800
    assert iterations > 0
    figure("iterations that find the equilibrium", iterations, 200.0)
    before = simulation.state.position.copy()
    simulation.advance(0.5)
    figure("creep in half a second", np.abs(simulation.state.position - before).max(), 0.0, "m")
