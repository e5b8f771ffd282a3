"""What Blender's own rigid bodies become, and what is told."""

import math

import pytest
from topple_extension.addon import messages
from topple_extension.addon.materials import MATERIALS
from topple_extension.addon.rigid_body_world import converted, decay_rate

PLAIN = {
    "type": "ACTIVE", "enabled": True, "kinematic": False, "collision_shape": "CONVEX_HULL", "mass": 2.0,
    "friction": 0.3, "restitution": 0.7, "linear_damping": 0.04, "angular_damping": 0.1, "use_margin": False,
    "collision_margin": 0.04, "use_deform": False, "use_deactivation": False, "use_start_deactivated": False,
    "collision_collections": [True] + [False] * 19,
}  # fmt: skip


def test_an_active_body():
    settings, remarks = converted(PLAIN)
    assert remarks == []
    assert (settings["kind"], settings["shape"], settings["mass_mode"]) == ("DYNAMIC", "CONVEX_HULL", "MASS")
    assert (settings["mass"], settings["friction"], settings["restitution"]) == (2.0, 0.3, 0.7)
    assert settings["layers"] == settings["collides_with"] == (True, *(False,) * 19)


def test_an_active_body_that_starts_deactivated_starts_asleep():
    asleep = {"use_deactivation": True, "use_start_deactivated": True}
    settings, remarks = converted({**PLAIN, **asleep})
    assert (settings["asleep"], remarks) == (True, [])
    assert not converted(PLAIN)[0]["asleep"]
    assert not converted({**PLAIN, **asleep, "type": "PASSIVE"})[0]["asleep"]
    assert not converted({**PLAIN, **asleep, "use_deactivation": False})[0]["asleep"]


@pytest.mark.parametrize("damping", [0.0, 0.04, 0.5])
def test_damping_loses_the_same_in_a_second(damping):
    assert math.exp(-decay_rate(damping)) == pytest.approx(1.0 - damping)


@pytest.mark.parametrize(
    ("change", "kind", "shape", "remark"),
    [
        ({"type": "PASSIVE"}, "STATIC", "CONVEX_HULL", None),
        ({"type": "PASSIVE", "kinematic": True}, "KINEMATIC", "CONVEX_HULL", None),
        ({"kinematic": True}, "KINEMATIC", "CONVEX_HULL", None),
        ({"enabled": False}, "STATIC", "CONVEX_HULL", messages.NOT_DYNAMIC),
        ({"collision_shape": "MESH"}, "DYNAMIC", "CONVEX_PARTS", messages.ACTIVE_MESH),
        ({"collision_shape": "MESH", "type": "PASSIVE"}, "STATIC", "MESH", None),
        ({"use_margin": True}, "DYNAMIC", "CONVEX_HULL", messages.NO_MARGIN),
        ({"use_deform": True}, "DYNAMIC", "CONVEX_HULL", messages.NO_DEFORMING),
    ],
)
def test_kinds_shapes_and_remarks(change, kind, shape, remark):
    settings, remarks = converted({**PLAIN, **change})
    assert (settings["kind"], settings["shape"]) == (kind, shape)
    assert remarks == ([remark] if remark else [])


def test_materials_are_possible():
    for material in MATERIALS.values():
        assert 1.0 < material.density < 25000.0
        assert 0.0 < material.friction <= 1.2
        assert 0.0 <= material.restitution < 1.0
