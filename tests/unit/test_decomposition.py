"""Concave meshes become convex parts; the second time they come from the disk."""

import importlib.metadata
from itertools import pairwise

import numpy as np
import pytest
import topple
from scipy.spatial import Delaunay
from topple import decomposition

# A U of 2 x 2 x 1 m whose groove is 1.2 m wide and 1.6 m deep: corners of its outline, its triangles.
OUTLINE = [(-1, -1), (1, -1), (1, 1), (0.6, 1), (0.6, -0.6), (-0.6, -0.6), (-0.6, 1), (-1, 1)]
CAP = [(0, 1, 5), (1, 4, 5), (1, 2, 4), (2, 3, 4), (0, 5, 7), (5, 6, 7)]
VOLUME = 4 - 1.2 * 1.6
HERE = (0, 0, 0), (1, 0, 0, 0)

pytest.importorskip("coacd")
pytestmark = pytest.mark.slow  # CoACD takes seconds


def channel() -> tuple[np.ndarray, np.ndarray]:
    """The U, extruded along y, its groove open upwards."""
    count = len(OUTLINE)
    vertices = np.array([(x, y, z) for y in (0.5, -0.5) for x, z in OUTLINE])
    far = [(c, b, a) for a, b, c in CAP]
    near = [(a + count, b + count, c + count) for a, b, c in CAP]
    around = [(a, (a + 1) % count) for a in range(count)]
    sides = [t for a, b in around for t in ((a, b, b + count), (a, b + count, a + count))]
    return vertices, np.array(far + near + sides)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("TOPPLE_CACHE_DIR", str(tmp_path))
    return tmp_path / "decompositions"


@pytest.fixture(scope="module")
def parts():
    """The U's parts, computed once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposition, "_write", lambda *_: None)
        return topple.decompose(*channel())


def hulls(compound: topple.Compound) -> list[np.ndarray]:
    return [shape.hull.vertices for shape, _, _ in compound.placed_parts()]


def inside(compound: topple.Compound, points: np.ndarray) -> np.ndarray:
    return np.any([Delaunay(part).find_simplex(points) >= 0 for part in hulls(compound)], axis=0)


def test_parts_fill_the_mesh_and_leave_its_groove(parts):
    assert len(parts.parts) >= 3
    # Half the largest extent is 1 m, so no part bulges by more than 0.05 m; these points keep that distance.
    x, y, z = np.random.default_rng(1).uniform(-0.95, 0.95, (3, 4000)) * [[1], [0.5], [1]]
    groove = (np.abs(x) < 0.55) & (z > -0.55)
    solid = (np.abs(x) > 0.65) | (z < -0.65)
    found = inside(parts, np.stack([x, y, z], axis=1))
    assert not found[groove].any()
    assert found[solid].mean() > 0.999, "cuts may leave cracks of 1e-4 of the size"
    assert parts.mass_properties.volume == pytest.approx(VOLUME, rel=0.01)
    np.testing.assert_allclose(np.concatenate(hulls(parts)).min(axis=0), (-1, -0.5, -1), atol=1e-3)


def test_a_ball_lies_in_the_groove(parts):
    found = topple.closest_points(topple.Sphere(0.4), ((0, 0, -0.1), (1, 0, 0, 0)), parts, HERE)
    # 0.1 m above the groove's floor at z = -0.6; its convex hull would hold the ball 0.7 m deep.
    assert found.separation == pytest.approx(0.1, abs=0.01)
    np.testing.assert_allclose(found.normal, (0, 0, 1), atol=0.01)


def test_order_scale_and_place_do_not_matter(parts):
    vertices, triangles = channel()
    order = np.random.default_rng(2).permutation(len(vertices))
    shuffled = np.argsort(order)[triangles][::-1, [1, 2, 0]]
    assert all(map(np.array_equal, hulls(topple.decompose(vertices[order], shuffled)), hulls(parts)))
    moved = topple.decompose(1e-3 * vertices + 100, triangles)
    assert moved.mass_properties.volume == pytest.approx(1e-9 * VOLUME, rel=0.01)
    np.testing.assert_allclose(moved.mass_properties.center_of_mass, 100, atol=1e-3)


def test_faces_with_corners_of_their_own_are_one_surface(parts):
    """As an STL file has them, with a loose vertex and a triangle twice."""
    vertices, triangles = channel()
    loose = np.concatenate([vertices[triangles].reshape(-1, 3), [(9, 9, 9)]])
    apart = np.arange(len(loose) - 1).reshape(-1, 3)
    found = topple.decompose(loose, np.concatenate([apart, apart[:1]]))
    assert all(map(np.array_equal, hulls(found), hulls(parts)))


def test_a_convex_mesh_is_one_part():
    box = topple.Box((1, 2, 3)).hull
    triangles = [(face[0], a, b) for face in map(box.face, range(6)) for a, b in pairwise(face[1:])]
    found = topple.decompose(box.vertices, triangles)
    assert len(found.parts) == 1
    assert found.mass_properties.volume == pytest.approx(6, rel=1e-5)


def test_the_second_call_reads_the_disk(folder, parts, monkeypatch):
    first = topple.decompose(*channel())
    [file] = folder.iterdir()
    monkeypatch.setattr(decomposition, "_split", lambda *_: pytest.fail("computed again"))
    again = topple.decompose(*channel())
    assert all(map(np.array_equal, hulls(first), hulls(again)))
    assert file.stat().st_size < 10_000
    with pytest.raises(pytest.fail.Exception, match="again"):
        topple.decompose(*channel(), concavity=0.2)


@pytest.mark.parametrize("spoil", [lambda whole: b"", lambda whole: whole[:200], lambda whole: b"x" * 99])
def test_a_spoilt_file_is_made_anew(folder, monkeypatch, spoil):
    calls = []
    monkeypatch.setattr(
        decomposition, "_split", lambda *_: calls.append(1) or [topple.Box((1, 1, 1)).hull.vertices]
    )
    topple.decompose(*channel())
    [file] = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(spoil(whole))
    topple.decompose(*channel())
    assert len(calls) == 2
    assert file.read_bytes() == whole
    assert [*folder.iterdir()] == [file]


def test_a_disk_that_refuses_costs_nothing(folder, monkeypatch):
    monkeypatch.setattr(decomposition, "_split", lambda *_: [topple.Box((1, 1, 1)).hull.vertices])
    folder.write_text("a file where the folder should be")
    assert len(topple.decompose(*channel()).parts) == 1


def test_slivers_are_dropped(monkeypatch):
    flat = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1e-9)])
    monkeypatch.setattr(decomposition, "_split", lambda *_: [flat, topple.Box((1, 1, 1)).hull.vertices, flat])
    assert len(topple.decompose(*channel()).parts) == 1
    monkeypatch.setattr(decomposition, "_split", lambda *_: [flat])
    with pytest.raises(topple.ShapeError, match="no volume"):
        topple.decompose(*channel(), concavity=0.06)


def test_in_a_program_that_embeds_python(monkeypatch):
    monkeypatch.setattr("sys.executable", "/opt/program")
    with pytest.raises(topple.ShapeError, match="in a plain Python"):
        topple.decompose(*channel())


def test_without_coacd(monkeypatch):
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(topple.ShapeError, match=r"pip install topple\[decompose\]"):
        topple.decompose(*channel())


def test_a_crash_is_an_error_and_leaves_nothing(folder, monkeypatch):
    monkeypatch.setattr(decomposition, "_SPLIT", "import os; os.abort()")
    with pytest.raises(topple.ShapeError, match=r"could not split its mesh of 28 triangles .* convex hull"):
        topple.decompose(*channel())
    assert not folder.exists()


NAN = channel()[0]
NAN[3, 1] = np.nan


@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        (NAN, channel()[1], "vertex 3 is not finite"),
        (channel()[0], [], "no triangles"),
        (channel()[0], np.empty((0, 3), dtype=int), "no triangles"),
        (
            channel()[0],
            [(0, 1, 16)],
            r"triangle 0 is \[0, 1, 16\], but there are 16 vertices; use .* 0 to 15",
        ),
        (channel()[0], [(0, 1, 2), (0, 1, -1)], "triangle 1"),
        (channel()[0], [(0, 1, 2, 3)], r"whole numbers of shape \(m, 3\)"),
        (channel()[0], [(0.0, 1.0, 2.5)], "whole numbers"),
        (channel()[0][:, :2], channel()[1], r"shape \(16, 2\)"),
        (["a"], channel()[1], "not made of numbers"),
        (channel()[0], [(0, 1), (2,)], "not made of numbers"),
        (channel()[0], [(0, 1, 1)], "no area"),
        (np.zeros((3, 3)), [(0, 1, 2)], "no area"),
    ],
)
def test_errors_say_what_to_change(folder, vertices, triangles, message):
    with pytest.raises(topple.ShapeError, match=message):
        topple.decompose(vertices, triangles)
    assert not folder.exists()


@pytest.mark.parametrize("concavity", [0, 0.001, 2, float("nan")])
def test_a_concavity_out_of_range(concavity):
    with pytest.raises(topple.ShapeError, match=r"from 0\.01 to 1"):
        topple.decompose(*channel(), concavity=concavity)
