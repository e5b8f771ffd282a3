"""Shapes: what they accept and what they refuse."""

import json

import numpy as np
import pytest
import topple
from topple import Box, Capsule, Compound, Cone, ConvexHull, Cylinder, Plane, ShapeError, Sphere
from topple.geometry.shapes import shape_from_dict, shape_to_dict


@pytest.mark.parametrize("radius", [0, -1, np.nan, np.inf, "big", None, (1, 2)])
def test_sphere_refuses(radius):
    with pytest.raises(ShapeError, match="radius"):
        Sphere(radius)


@pytest.mark.parametrize("size", [(1, 1, 0), (1, -1, 1), (1, np.nan, 1), (1, 1), 2, "abc", (1, 1, np.inf)])
def test_box_refuses(size):
    with pytest.raises(ShapeError, match="size"):
        Box(size)


@pytest.mark.parametrize(
    ("normal", "offset"), [((0, 0, 0), 0), ((0, 0, np.nan), 0), ((0, 1), 0), ((0, 0, 1), np.inf)]
)
def test_plane_refuses(normal, offset):
    with pytest.raises(ShapeError, match=r"normal|offset"):
        Plane(normal, offset)


def test_plane_normal_is_made_unit_and_offset_kept():
    plane = Plane((0, 3, 4), 2)
    np.testing.assert_allclose(plane.normal, (0, 0.6, 0.8))
    assert plane.offset == 2


def test_sizes_are_copies_nobody_can_change():
    size = np.ones(3)
    box = Box(size)
    size[0] = 9
    assert box.size[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        box.size[0] = 9


@pytest.mark.parametrize(
    "shape",
    [
        Sphere(0.1),
        Box((1, 2, 1 / 3)),
        Capsule(0.1, 1 / 3),
        Cylinder(0.1, 1 / 3),
        Cone(0.1, 1 / 3),
        ConvexHull([*np.eye(3), (0, 0, 0)]),
        Plane((1, 2, 3), 0.7),
        Compound(
            [
                (Sphere(0.1), (1, 2, 3), (1, 2, 3, 4)),
                (Compound([(Box((1, 1, 1)), (0, 0, 1), (1, 0, 0, 0))]), (0, 0, 0), (0, 1, 0, 0)),
            ]
        ),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_shapes_survive_json(shape):
    again = shape_from_dict(json.loads(json.dumps(shape_to_dict(shape))))
    assert type(again) is type(shape)
    assert shape_to_dict(again) == shape_to_dict(shape)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"type": "blob"}, "unknown"),
        ({}, "unknown"),
        ({"type": "box"}, "'size'"),
        ({"type": "box", "size": [1]}, "size"),
    ],
)
def test_bad_shape_descriptions(values, reason):
    with pytest.raises(ShapeError, match=reason):
        shape_from_dict(values)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], "without parts"),
        ([(Plane((0, 0, 1), 0), (0, 0, 0), (1, 0, 0, 0))], "solid shape"),
        ([(Sphere(1), (0, 0, 0))], "shape, position, orientation"),
        ([(Sphere(1), (0, 0, 0), (0, 0, 0, 0))], "orientation has length 0"),
        ([(Sphere(1), (0, np.nan, 0), (1, 0, 0, 0))], "position"),
    ],
)
def test_compound_refuses(parts, reason):
    with pytest.raises(ShapeError, match=reason):
        Compound(parts)


@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        (np.eye(3), [], "no faces"),
        (np.eye(3) * np.nan, [[0, 1, 2]], "not finite"),
        (np.eye(3), [[0, 1, 3]], "outside 0 to 2"),
        (np.zeros((3, 3)), [[0, 1, 2]], "without area"),
        (np.eye(2), [[0, 1, 1]], "shape"),
        (np.eye(3), [[0.5, 1, 2]], "whole numbers"),
        ("abc", [[0, 1, 2]], "not numbers"),
    ],
)
def test_bad_meshes_are_refused(vertices, triangles, message):
    with pytest.raises(topple.ShapeError, match=message):
        topple.Body("ground", topple.Mesh(vertices, triangles), kind="static")


def test_mesh_cannot_be_moved_by_forces():
    mesh = topple.Mesh(np.eye(3), [[0, 1, 2]])
    with pytest.raises(topple.SceneError, match="body 'ground': a mesh has no inside"):
        topple.Body("ground", mesh)


def test_mesh_knows_its_bends():
    """A roof of two faces at 90 degrees: the side they share bends away by pi / 2, the others are free."""
    roof = topple.Mesh([[0, 0, 0], [0, 1, 0], [1, 0, -1], [-1, 0, -1]], [[0, 2, 1], [0, 1, 3]])
    assert not roof.surface.is_closed
    lean = roof.surface.lean
    shared = lean[lean[:, :, 1] == 0.0]
    np.testing.assert_allclose(shared, [[np.pi / 2, 0.0]] * 2)
    assert (lean == np.pi).sum() == 8
