"""Contacts of bodies that slide and roll, followed by what decided last, against those found anew."""

from functools import partial

import numpy as np
import pytest
import topple
from scenes import meshes
from scenes.shapes import random_turn
from scipy.spatial.transform import Rotation
from topple import sequence
from topple.collision.contact_set import CARRIED_ON, QUERIES, SURVIVED
from topple.collision.narrow_phase import FLAT
from topple.simulation import Simulation
from topple.solvers import impulse_stages

REACH, LOOK_AT_ALL, STEP = 1e-4, -1.0, 1 / 240
HOME = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))


def solids(rng):
    """Pairs of hulls of few and of many edges."""
    box, plate = topple.Box((0.6, 0.8, 1.0)), topple.Box((1.5, 1.2, 0.3))
    rock, stone = (topple.ConvexHull(rng.normal(size=(20, 3)) * 0.3) for _ in range(2))
    return [(box, plate), (rock, plate), (rock, stone), (box, box)]


def round_solids(rng):
    """Pairs of solids of which at least one is round."""
    capsule, cylinder, cone = topple.Capsule(0.3, 0.5), topple.Cylinder(0.35, 0.7), topple.Cone(0.4, 0.8)
    box, rock = topple.Box((0.6, 0.8, 1.0)), topple.ConvexHull(rng.normal(size=(20, 3)) * 0.3)
    return [
        (capsule, capsule), (capsule, cylinder), (capsule, box), (capsule, rock), (cylinder, cylinder),
        (capsule, topple.Sphere(0.4)), (cylinder, box), (cylinder, rock),
        (cone, cylinder), (cone, box), (cone, cone),
    ]  # fmt: skip


def touching(a, place, turn, b, gap):
    """The place beside it where two solids are that gap apart, and the closest points there."""
    orientation = turn.as_quat(scalar_first=True)
    closest = topple.closest_points(a, (place, orientation), b, HOME)
    while abs(closest.separation - gap) > 1e-9:
        place = place + (gap - closest.separation) * closest.normal
        closest = topple.closest_points(a, (place, orientation), b, HOME)
    return place, closest


def place_body(pipeline, body, place, turn):
    """Put a body of an impulse pipeline there, and look at all its pairs."""
    pipeline.state.c[body] = place + turn.apply(pipeline.model.p_Oc[body])
    axes = Rotation.from_quat(pipeline.model.q_OP[body], scalar_first=True)
    pipeline.state.R[body] = (turn * axes).as_matrix().ravel()
    pipeline.reach[:] = REACH
    looking = sequence.Sequence(pipeline.runner)
    pipeline._run(looking, partial(impulse_stages.find_contacts, pipeline, LOOK_AT_ALL), STEP)
    pipeline._note_contacts(looking)
    assert pipeline.contacts.counter[CARRIED_ON] == 0  # it was looked at


def slide(a, b, gap, rng):
    """Slide and turn a over b at a gap; yields the pipeline that follows them, and the gap found anew."""
    turn = random_turn(rng) if rng.random() < 0.7 else Rotation.identity()
    place, _ = touching(a, rng.normal(size=3) * 0.1 + [0, 0, 2.0], turn, b, gap)
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[topple.Body("b", b, kind="static")])
    scene.add(topple.Body("a", a, position=place, orientation=turn.as_quat(scalar_first=True)))
    pipeline = Simulation(scene, topple.ImpulseSolver())._pipeline
    way, spin = rng.normal(size=3) * 0.01, Rotation.from_rotvec(rng.normal(size=3) * 0.01)
    for _ in range(100):
        turn = spin * turn
        place, closest = touching(a, place + way, turn, b, gap)
        place_body(pipeline, pipeline.names.index("a"), place, turn)
        yield pipeline, closest.separation


# Where they are sunk in a plane is kept as long as it holds, though another one be cut by a little less.
@pytest.mark.parametrize(("gap", "off"), [(2e-5, 1e-7), (-1e-5, 2e-6)], ids=["apart", "sunk in"])
def test_hulls_same_as_found_anew(gap, off):
    """The deepest contact is the closest point, in whichever way the bodies came to touch there."""
    rng = np.random.default_rng(5)
    queries, survived = 0, 0
    for _ in range(3):
        for a, b in solids(rng):
            for pipeline, separation in slide(a, b, gap, rng):
                found = pipeline.contacts.separation[: pipeline.contact_count]
                assert len(found) > 0
                assert abs(found.min() - separation) < off
            queries += pipeline.contacts.counter[QUERIES]
            survived += pipeline.contacts.counter[SURVIVED]
    assert 20 < queries - survived < 0.5 * queries  # witnesses failed often, and held more often


@pytest.mark.parametrize("gap", [2e-5, -1e-5], ids=["apart", "sunk in"])
def test_round_solids_same_as_found_anew(gap):
    """The same of round ones, to what the choice of four points may leave out (FLAT of the tolerance)."""
    rng = np.random.default_rng(6)
    looks, followed = 0, 0
    for _ in range(2):
        for a, b in round_solids(rng):
            for pipeline, separation in slide(a, b, gap, rng):
                looks, followed = looks + 1, followed + (pipeline.broad_phase.pairs.witness[0] < 0).any()
                found = pipeline.contacts.separation[: pipeline.contact_count]
                assert len(found) > 0
                assert abs(found.min() - separation) < FLAT * pipeline.tolerance
    assert followed > 0.5 * looks  # vertices and rims were known


UPRIGHT, LYING = Rotation.identity(), Rotation.from_euler("yz", [90, 10], degrees=True)
CYLINDER, BOX = topple.Cylinder(0.3, 0.5), topple.Box((1.2, 0.4, 0.4))
GROUND = topple.Mesh(*meshes.grid(8, 2.0, jitter=0.2))


@pytest.mark.parametrize(
    ("shape", "turn", "height", "support", "top"),
    [
        (CYLINDER, UPRIGHT, 0.25, topple.Plane((0, 0, 1), 0.0), 0.0),
        (CYLINDER, LYING, 0.3, topple.Plane((0, 0, 1), 0.0), 0.0),
        (CYLINDER, UPRIGHT, 0.25, BOX, 0.2),
        (CYLINDER, LYING, 0.3, BOX, 0.2),
        (CYLINDER, UPRIGHT, 0.25, topple.Cylinder(0.4, 0.2), 0.1),
        (topple.Cylinder(0.2, 1.5), LYING, 0.2, CYLINDER, 0.25),
        (topple.Capsule(0.2, 0.8), LYING, 0.2, CYLINDER, 0.25),
        (CYLINDER, UPRIGHT, 0.25, GROUND, 0.0),
        (CYLINDER, LYING, 0.3, GROUND, 0.0),
    ],
    ids=[
        "stands",
        "lies",
        "stands on box",
        "lies on box",
        "disc on disc",
        "line on disc",
        "capsule on disc",
        "stands on mesh",
        "lies on mesh",
    ],
)
def test_what_trembles_keeps_its_points(shape, turn, height, support, top):
    """A disc that lies flat, or a line, keeps its contact points while it leans by 5e-6 rad, here and there.

    Its deepest point is at another end each time: what it bore would be lost there in the next step.
    """
    rng = np.random.default_rng(8)
    scene = topple.Scene(gravity=(0, 0, 0), bodies=[topple.Body("support", support, kind="static")])
    place, first = np.array([0.0, 0.0, height + top - 3e-6]), np.zeros((0, 3))
    scene.add(topple.Body("a", shape, position=place, orientation=turn.as_quat(scalar_first=True)))
    pipeline = Simulation(scene, topple.ImpulseSolver())._pipeline
    for lean in [2e-3, *50 * [5e-6]]:
        angle = rng.uniform(0.0, 2.0 * np.pi)
        leans = Rotation.from_rotvec(lean * np.array([np.cos(angle), np.sin(angle), 0.0]))
        place_body(pipeline, pipeline.names.index("a"), place, leans * turn)
        pipeline.broad_phase.pairs.impulse[:] = 1.0  # each point bears a load
        if lean > 1e-3:  # it came to lie, or to stand, on the edge where it leaned
            continue
        contacts, count = pipeline.contacts, pipeline.contact_count
        at = contacts.arm[:count, 0] + pipeline.state.c[contacts.body[:count, 0]]
        first = first if len(first) else at
        apart = np.linalg.norm(at[:, None] - first, axis=2)
        assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-4
