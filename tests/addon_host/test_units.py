"""Blender units and SI units."""

import numpy as np
import pytest
from topple_extension.addon.units import LengthUnit


@pytest.mark.parametrize(
    ("system", "scale", "metres"), [("METRIC", 0.01, 0.01), ("IMPERIAL", 2.0, 2.0), ("NONE", 0.01, 1.0)]
)
def test_unit_of_a_scene(system, scale, metres):
    """Without a unit system Blender shows lengths as they are stored."""
    assert LengthUnit.of_scene(system, scale).metres == metres


def test_centimetres():
    unit = LengthUnit.of_scene("METRIC", 0.01)
    np.testing.assert_allclose(unit.to_si([100.0, 0.0, -981.0]), [1.0, 0.0, -9.81])
    np.testing.assert_allclose(unit.from_si([1.0, 0.0, -9.81]), [100.0, 0.0, -981.0])
