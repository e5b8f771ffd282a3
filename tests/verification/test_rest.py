"""Bodies that stand must go on standing; bodies that overlap must part gently."""

import numpy as np
import pytest
import scenes
import topple


def drift(trajectory, first=0):
    """Largest distance [m] of any body from where it was in frame `first`, over all later frames."""
    return np.linalg.norm(trajectory.position[first:] - trajectory.position[first], axis=2).max()


@pytest.mark.parametrize(
    ("size", "allowed"),
    [
        pytest.param(1.0, 1e-4, id="1 m"),
        pytest.param(0.05, 1e-5, id="5 cm"),
        pytest.param(0.01, 1e-5, id="dice of 1 cm"),
    ],
)
def test_stack_of_ten_stands(size, allowed, figure):
    """Ten cubes on each other are in equilibrium: forces k m g between them, no motion, for 10 s.

    Statics; Blender's Bullet lets the 5 cm stack collapse. Drift of the unit cubes within the solver's
    tolerance of 1e-4 m, of the small ones under 1e-5 m.
    """
    trajectory = topple.simulate(scenes.stack(10, size), seconds=10.0)
    figure(f"drift of cubes of {size:g} m in 10 s", drift(trajectory), allowed, "m")


@pytest.mark.parametrize("name", ["heavy_on_light", "arch", "card_house", "brick_wall"])
def test_what_is_held_to_a_plane_stands(name, figure):
    """Bodies that only move along x and z and turn about y, as in two dimensions, stand as free ones do.

    The heavy cube sinks in as far as where nothing is locked; nothing moves after half a second.
    """
    trajectory = topple.simulate(scenes.in_plane(getattr(scenes, name)()), seconds=2.0)
    assert not trajectory.report.unresolved
    figure(f"drift of {name}", drift(trajectory), 1e-4, "m")
    figure(f"drift of {name} after half a second", drift(trajectory, 12), 0.0, "m")


def test_dice_come_to_rest(figure):
    """Thrown dice lose their energy (e < 1, mu > 0), lie flat after 2 s and then do not creep or turn.

    A die at rest on a face has its centre at half its size; it lies there within the solver's tolerance.
    """
    size = 0.01
    trajectory = topple.simulate(scenes.dice(12, size), seconds=4.0)
    settled = np.searchsorted(trajectory.times, 2.0)
    figure("creep from 2 s to 4 s", drift(trajectory, settled), 1e-5, "m")
    dice = [index for index, name in enumerate(trajectory.names) if name != "floor"]
    np.testing.assert_allclose(trajectory.position[-1, dice, 2], 0.5 * size, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("time_step", [1 / 240, 1e-3], ids=["1/240 s", "1 ms"])
def test_heavy_cube_on_light_ones(time_step, figure):
    """A cube 10^4 times heavier rests on nine light ones: sinks under 1e-4 m in 10 s.

    Statics: equilibrium does not depend on masses (PyBullet, Blender's Bullet and Rapier collapse).
    """
    solver = topple.ImpulseSolver(time_step=time_step)
    trajectory = topple.simulate(scenes.heavy_on_light(), seconds=10.0, solver=solver)
    figure(f"drift in 10 s, steps of {time_step:.2g} s", drift(trajectory), 1e-4, "m")


@pytest.mark.slow
@pytest.mark.parametrize("count", [25, 101])
def test_arch_stands(count, figure):
    """An arch of stones with friction .5 stands for 20 s: no stone moves by more than 1e-3 m.

    Statics: a line of thrust fits into an arch thicker than .107 of its radius; this one has .2.
    """
    trajectory = topple.simulate(scenes.arch(count), seconds=20.0)
    figure(f"drift of {count} stones in 20 s", drift(trajectory), 1e-3, "m")


def test_sleeping_changes_nothing():
    """A stack that sleeps wakes as a ball flies at it, and falls as one that never slept.

    What sleeps is what the solver would hold at rest in every step anyway, so nothing but the last digits
    of its orientation may differ: 1e-9 m after the first second, before anything flew at it.
    """
    ends = {}
    for sleeping in (True, False):
        scene = scenes.stack(3)
        scene.add(
            topple.Body(
                "ball",
                topple.Sphere(0.3),
                mass=2000.0,
                position=(-8.0, 0.0, 2.5),
                linear_velocity=(5.0, 0.0, 6.0),
            )
        )
        trajectory = topple.simulate(scene, seconds=3.0, solver=topple.ImpulseSolver(sleeping=sleeping))
        cubes = [trajectory.names.index(f"cube_{level:03}") for level in range(3)]
        ends[sleeping] = trajectory.position[:, cubes]
    np.testing.assert_allclose(ends[True][:24], ends[False][:24], atol=1e-9, rtol=0.0)
    assert np.abs(ends[True][-1] - ends[True][0]).max() > 0.01, "the ball moved nothing"
    np.testing.assert_allclose(ends[True][-1], ends[False][-1], atol=1e-3, rtol=0.0)


@pytest.mark.slow
def test_brick_wall_stands(figure):
    """20 rows of bricks in running bond stand for 10 s: no brick moves by more than 1e-4 m.

    Statics.
    """
    trajectory = topple.simulate(scenes.brick_wall(), seconds=10.0)
    figure("drift in 10 s", drift(trajectory), 1e-4, "m")


@pytest.mark.slow
def test_a_large_heap_comes_to_rest(figure):
    """A pyramid of 1240 boxes, dropped from gaps of half a metre, collapses; the heap lies exactly still."""
    solver = topple.ImpulseSolver(time_step=1 / 60)
    trajectory = topple.simulate(scenes.pyramid(), seconds=5.0, fps=60, solver=solver)
    figure("creep in the last half second", drift(trajectory, -30), 0.0, "m")
    figure("penetration", trajectory.report.max_penetration, 1e-4, "m")


def test_card_house_stands(figure):
    """A house of cards of 4 levels at 65 degrees with friction .5 stands for 20 s: drift under 1e-3 m.

    Statics: a card that leans pushes its foot out with cot(65 deg) / 2 = .23 of its own load, and no
    more than .47 of any: less than .5.
    """
    trajectory = topple.simulate(scenes.card_house(4), seconds=20.0)
    figure("drift in 20 s", drift(trajectory), 1e-3, "m")


def test_brick_overhang(figure):
    """Four bricks stand with an overhang of 25/24 lengths, the harmonic series; 1 % beyond they fall.

    Source: Johnson 1955. At 25/24 every brick's load stands exactly over an edge: the equilibrium has no
    reserve, so to stand is to stay where it was laid, to the tolerance of the solver.
    """
    figure("drift in 10 s", drift(topple.simulate(scenes.brick_overhang(), seconds=10.0)), 1e-4, "m")
    fallen = topple.simulate(scenes.brick_overhang(beyond=0.01), seconds=4.0)
    assert fallen.position[-1, fallen.names.index("brick_3"), 2] < 0.0


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_table_stands(friction, figure):
    """A table with four legs, one too many for three equations, stands and carries its load: 25 kg g.

    Statics. The impulses of a step h at the floor add up to the weight times h.
    """
    simulation = topple.Simulation(scenes.table(friction=friction))
    start = simulation.state.position
    simulation.advance(10.0)
    figure("drift in 10 s", np.abs(simulation.state.position - start).max(), 1e-4, "m")
    contacts = simulation.contacts
    names = [body.name for body in simulation.scene.bodies]
    floor, top = names.index("floor"), names.index("table")
    legs = contacts.impulse[(contacts.body_a == top) & (contacts.body_b == floor)].sum(axis=0)
    legs = legs - contacts.impulse[(contacts.body_b == top) & (contacts.body_a == floor)].sum(axis=0)
    figure("weight carried, relative", legs[2] * 240 / (25.0 * 9.81) - 1.0, 1e-2)
    assert ((contacts.impulse * contacts.normal).sum(axis=1) >= 0.0).all()


def test_stack_forces(figure):
    """20 cubes: the k-th contact carries (N - k + 1) m g, within 1 %; so much a second are its impulses."""
    simulation = topple.Simulation(scenes.stack(20))
    simulation.advance(1.0)
    contacts = simulation.contacts
    impulse = (contacts.impulse * contacts.normal).sum(axis=1)
    error = []
    for k in range(1, 21):
        # Cube k is the body of index k, the floor that of 0.
        between = np.minimum(contacts.body_a, contacts.body_b) == k - 1
        error.append(impulse[between].sum() * 240 / ((21 - k) * 1000.0 * 9.81) - 1.0)
    figure("forces, relative", np.abs(error).max(), 1e-2)


@pytest.mark.parametrize("gap", [0.0, 0.1], ids=["laid", "dropped"])
def test_mass_ratio(gap, figure):
    """1000 kg on 1 kg, laid or dropped, rests on it: no penetration over 1e-4 m, height 1.5 m to that."""
    scene = topple.Scene(bodies=[scenes.ground.floor()])
    for name, mass, height in (("light", 1.0, 0.5), ("heavy", 1000.0, 1.5 + gap)):
        scene.add(topple.Body(name, topple.Box((1.0, 1.0, 1.0)), mass=mass, position=(0.0, 0.0, height)))
    trajectory = topple.simulate(scene, seconds=4.0)
    figure("height", trajectory.position[-1, 2, 2] - 1.5, 1e-4, "m")
    figure("speed at the end", np.abs(trajectory.linear_velocity[-1]).max(), 1e-6, "m/s")
    figure("penetration", topple.verify(scene, trajectory).max_penetration, 1e-4, "m")


@pytest.mark.parametrize("upright", [False, True], ids=["side by side", "upright"])
def test_overlap_at_the_start(upright, figure):
    """Cubes that start 30 % inside each other part without flying, and the report names both.

    Positions are corrected without adding velocity, so none may reach 1 m/s (Blender's Bullet: 14.2 m/s).
    """
    scene = scenes.overlapping_cubes(upright=upright)
    trajectory = topple.simulate(scene, seconds=3.0, fps=240)
    figure("fastest", np.linalg.norm(trajectory.linear_velocity, axis=2).max(), 1.0, "m/s")
    first, second = (trajectory.position[-1, trajectory.names.index(name)] for name in ("first", "second"))
    assert np.abs(second - first).max() >= 1.0 - 1e-4  # unit cubes, still aligned: apart along one axis
    assert any("first" in warning and "second" in warning for warning in trajectory.report.warnings)
