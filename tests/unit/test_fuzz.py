"""Any two shapes at any poses: finite answers, unit normals, no endless loop. And files of any content."""

import json
import math

import numpy as np
import topple
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes.anything import any_scene

lengths = st.floats(1e-3, 1e3)
numbers = st.floats(-1e3, 1e3)
shapes = st.one_of(
    st.builds(topple.Sphere, lengths),
    st.builds(lambda x, y, z: topple.Box((x, y, z)), lengths, lengths, lengths),
    st.builds(topple.Capsule, lengths, lengths),
    st.builds(topple.Cylinder, lengths, lengths),
    st.builds(topple.Cone, lengths, lengths),
)
poses = st.builds(
    lambda position, q: (position, q if math.hypot(*q) > 1e-3 else (1.0, 0.0, 0.0, 0.0)),
    st.tuples(numbers, numbers, numbers),
    st.tuples(*(st.floats(-1, 1) for _ in range(4))),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(shapes, poses, shapes, poses)
def test_closest_points_of_anything(one, pose_one, other, pose_other):
    found = topple.closest_points(one, pose_one, other, pose_other)
    assert math.isfinite(found.separation)
    assert np.isfinite([found.point_a, found.point_b]).all()
    assert abs(np.linalg.norm(found.normal) - 1.0) < 1e-9
    size = max(np.abs(found.point_a).max(), np.abs(found.point_b).max(), 1e3)
    gap = found.point_a - found.point_b - found.separation * found.normal
    assert np.abs(gap).max() <= 1e-9 * size


def places(document, path=()):
    """The path to each value of a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def with_value(document, path, value):
    """A copy of a document with another value at a path."""
    if not path:
        return value
    copy = document.copy()
    copy[path[0]] = with_value(document[path[0]], path[1:], value)
    return copy


odd_values = st.one_of(
    st.sampled_from([None, True, "", "x", [], {}, [1, 2, 3], [["x"]], {"type": "box"}, 2**70]),
    st.floats(),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(seed=st.integers(0, 19), value=odd_values, choice=st.integers(0))
def test_a_scene_file_with_anything_in_it(seed, value, choice, tmp_path_factory):
    """It is read, or refused in one sentence."""
    path = tmp_path_factory.getbasetemp() / "any.json"
    any_scene(seed)[0].save(path)
    document = json.loads(path.read_text())
    where = [place for place in places(document) if len(place) <= 3 or choice % 2]
    path.write_text(json.dumps(with_value(document, where[choice % len(where)], value)))
    refusal = None
    try:
        topple.Scene.load(path)
    except topple.ToppleError as error:
        refusal = str(error)
    assert refusal is None or ("\n" not in refusal and 20 < len(refusal) < 300)
