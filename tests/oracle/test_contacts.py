"""Contact points and the broad phase against slow, obvious NumPy."""

import itertools

import numpy as np
import pytest
import topple
from scenes.shapes import random_orientation
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation
from topple.simulation import Simulation

SIZE = 1.0


def random_scene(seed: int, count: int, spread: float) -> topple.Scene:
    """Boxes, rocks and balls at random poses in a cube, without gravity."""
    rng = np.random.default_rng(seed)
    scene = topple.Scene(gravity=(0, 0, 0))
    for i in range(count):
        shape = [
            topple.Box(rng.uniform(0.3, 1.0, 3)),
            topple.ConvexHull(rng.normal(size=(16, 3)) * 0.3),
            topple.Sphere(rng.uniform(0.2, 0.5)),
        ][i % 3]
        position = rng.uniform(-spread, spread, 3)
        scene.add(topple.Body(f"b{i:02}", shape, position=position, orientation=random_orientation(rng)))
    return scene


def world_vertices(body: topple.Body) -> np.ndarray:
    w, x, y, z = body.orientation
    return Rotation.from_quat([x, y, z, w]).apply(np.array(body.shape.hull.vertices)) + body.position


def hulls_touch(a: np.ndarray, b: np.ndarray) -> bool:
    """Linear program: some mixture of a's vertices is one of b's."""
    equal = np.zeros((5, len(a) + len(b)))
    equal[:3, : len(a)], equal[:3, len(a) :] = a.T, -b.T
    equal[3, : len(a)], equal[4, len(a) :] = 1.0, 1.0
    return linprog(np.zeros(equal.shape[1]), A_eq=equal, b_eq=[0, 0, 0, 1, 1], bounds=(0, None)).status == 0


@pytest.mark.parametrize("seed", range(4))
def test_every_overlap_is_found(seed):
    """Contacts with negative separation are there exactly for the pairs of hulls that overlap."""
    scene = random_scene(seed, 18, 1.0)
    contacts = Simulation(scene).contacts
    deep = contacts.separation < -1e-6
    found = {tuple(sorted(p)) for p in zip(contacts.body_a[deep], contacts.body_b[deep], strict=True)}
    hulls = [i for i, b in enumerate(scene.bodies) if not isinstance(b.shape, topple.Sphere)]
    overlapping = 0
    for i, j in itertools.combinations(hulls, 2):
        touch = hulls_touch(world_vertices(scene.bodies[i]), world_vertices(scene.bodies[j]))
        overlapping += touch
        assert ((i, j) in found) == touch, (scene.bodies[i].name, scene.bodies[j].name)
    assert overlapping > 5


@pytest.mark.parametrize("seed", range(3))
def test_separation_is_that_of_the_points(seed):
    """separation = n . (p_a - p_b), |n| = 1, for the points at the arms of the contact."""
    pipeline = Simulation(random_scene(seed, 18, 1.2))._pipeline
    n = pipeline.contact_count
    c, body = pipeline.contacts, pipeline.contacts.body[:n]
    point = c.arm[:n] + pipeline.state.c[body]
    gap = np.einsum("ck,ck->c", c.normal[:n], point[:, 0] - point[:, 1])
    np.testing.assert_allclose(gap, c.separation[:n], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(c.normal[:n], axis=1), 1.0, atol=1e-12)


def gap_along(n, a, b):
    """How far hulls of these vertices are apart along n, from b to a [m]."""
    return (a @ n).min() - (b @ n).max()


def widest_gap(a: topple.Body, b: topple.Body) -> float:
    """Of two boxes, along the normals of faces and the products of edges (separating axis theorem)."""
    turns = [Rotation.from_quat(np.roll(body.orientation, -1)).as_matrix().T for body in (a, b)]
    axes = [*turns[0], *turns[1], *(np.cross(u, v) for u in turns[0] for v in turns[1])]
    axes = [axis / np.linalg.norm(axis) for axis in axes if np.linalg.norm(axis) > 1e-9]
    corners = world_vertices(a), world_vertices(b)
    return max(gap_along(sign * axis, *corners) for axis in axes for sign in (1, -1))


def lattice_pairs(seed: int, count: int, jitter: float) -> topple.Scene:
    """Pairs of cubes as in a wall: sides, edges or corners meet, but for a trembling of position and turn."""
    rng = np.random.default_rng(seed)
    scene = topple.Scene(gravity=(0, 0, 0))
    for k in range(count):
        offset = rng.integers(-2, 3, 3).astype(float)
        offset[rng.integers(3)] = rng.choice((-2.0, 2.0))
        for name, place in (("a", np.zeros(3)), ("b", offset)):
            x, y, z, w = Rotation.from_rotvec(rng.normal(0.0, jitter, 3)).as_quat()
            position = place + rng.normal(0.0, jitter, 3) + (10.0 * k, 0.0, 0.0)
            cube = topple.Box((2, 2, 2))
            scene.add(topple.Body(f"{name}{k}", cube, position=position, orientation=(w, x, y, z)))
    return scene


@pytest.mark.parametrize("jitter", [1e-6, 1e-5])
def test_cubes_of_a_wall_meet_where_they_touch(jitter):
    """The deepest point of each pair lies on its widest gap: no side of one is taken for a deep cut.

    Where edges lie on edges the simplices of GJK are slivers, of which round-off chooses the direction; one
    along the wall once pushed a cube half a metre aside.
    """
    scene = lattice_pairs(3, 600, jitter)
    contacts, seen = Simulation(scene).contacts, 0
    for c in range(len(contacts.body_a)):
        a, b = contacts.body_a[c], contacts.body_b[c]
        own = (contacts.body_a == a) & (contacts.body_b == b)
        if contacts.separation[c] > contacts.separation[own].min():
            continue
        bodies = scene.bodies[a], scene.bodies[b]
        widest = widest_gap(*bodies)
        along = gap_along(contacts.normal[c], *map(world_vertices, bodies))
        # A clipped point may be deeper by 1e-5 of the size, and a face stand for edges within the tolerance.
        assert contacts.separation[c] >= widest - 2e-5, (bodies[0].name, contacts.separation[c])
        assert along >= widest - 1e-4, (bodies[0].name, along)
        seen += 1
    assert seen > 400


def test_broad_phase_keeps_all_pairs():
    """After every step the pair table holds each pair whose boxes overlap, and no other."""
    scene = random_scene(7, 24, 1.5)
    rng = np.random.default_rng(1)
    moving = topple.Scene(gravity=(0, 0, 0))
    for body in scene.bodies:
        velocity = rng.uniform(-3, 3, 3)
        moving.add(
            topple.Body(
                body.name,
                body.shape,
                position=body.position,
                orientation=body.orientation,
                linear_velocity=velocity,
            )
        )
    simulation = Simulation(moving)
    for _ in range(40):
        simulation.advance(1 / 120)
        broad = simulation._pipeline.broad_phase
        low, high = broad.boxes.low, broad.boxes.high
        expected = {
            (i, j)
            for i, j in itertools.combinations(range(len(low)), 2)
            if (low[i] <= high[j]).all() and (low[j] <= high[i]).all()
        }
        pairs = broad.pairs.collider[: broad.pairs.counter[0]]
        assert {tuple(p) for p in pairs[pairs[:, 0] >= 0].tolist()} == expected


def crossing_edges(tilt):
    """A cube on its edge along x, one end lower by `tilt` [rad], on the edge along y of a fixed cube."""
    turn = Rotation.from_rotvec((0.0, tilt, 0.0)) * Rotation.from_rotvec((np.pi / 4, 0.0, 0.0))
    edge = turn.apply((1.0, 0.0, 0.0))
    normal = np.cross(edge, (0.0, 1.0, 0.0))  # up
    middle = np.array([0.5, 0.0, 0.5]) + turn.apply((0.0, 0.5, 0.5)) - 1e-6 * normal
    x, y, z, w = turn.as_quat()
    scene = topple.Scene(gravity=(0, 0, 0))
    scene.add(topple.Body("low", topple.Box((1, 1, 1)), kind="static"))
    scene.add(
        topple.Body(
            "high", topple.Box((1, 1, 1)), position=middle, orientation=(w, x, y, z), friction=0.0,
            linear_velocity=0.3 * edge + (0.0, 0.2, 0.0),
        )
    )  # fmt: skip
    return scene


@pytest.mark.parametrize("tilt", [0.05, 0.2, 0.3])
def test_two_edges_have_their_own_normal(tilt):
    """Their contact's normal is along the product of the edges, not that of a face beside one of them.

    A face's, up to acos(.95) away, would let them slide into each other by what it is off.
    """
    simulation = Simulation(crossing_edges(tilt), topple.ImpulseSolver(time_step=1e-3))
    for step in range(20):
        x, y, z, w = simulation.state.orientation[1][[1, 2, 3, 0]]
        edge = Rotation.from_quat((x, y, z, w)).apply((1.0, 0.0, 0.0))
        normal = np.cross(edge, (0.0, 1.0, 0.0))
        contacts = simulation.contacts
        deepest = np.argmin(contacts.separation)
        sign = 1.0 if contacts.body_a[deepest] == 1 else -1.0
        assert sign * contacts.normal[deepest] @ normal / np.linalg.norm(normal) > 1.0 - 1e-12, step
        simulation.advance(1e-3)
    assert simulation.report.max_penetration < 5e-6
