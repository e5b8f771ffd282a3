"""Any two shapes at any poses: finite answers, unit normals, and no endless loop."""

import math

import numpy as np
import topple
from hypothesis import given, settings
from hypothesis import strategies as st

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
