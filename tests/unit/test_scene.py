"""Bodies and scenes: resolved values, refusals that name body and field, JSON."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from topple import Body, Box, ConvexHull, Plane, Scene, SceneError, ShapeError, Sphere

BOX = Box((1, 1, 1))


def body(**values) -> Body:
    return Body("crate", values.pop("shape", BOX), **values)


def test_mass_comes_from_water_unless_given():
    assert body().mass == pytest.approx(1000)
    assert body(density=200).mass == pytest.approx(200)
    assert body(mass=3, density=200).mass == 3
    np.testing.assert_allclose(body(mass=3).inertia, np.eye(3) * 3 / 6)


def test_hull_off_its_origin_has_its_own_centre_of_mass():
    points = BOX.hull.vertices + np.array([1, 2, 3])
    np.testing.assert_allclose(body(shape=ConvexHull(points)).center_of_mass, (1, 2, 3))
    np.testing.assert_allclose(
        body(shape=ConvexHull(points), center_of_mass=(0, 0, 0)).center_of_mass, (0, 0, 0)
    )


def test_static_bodies_have_no_mass():
    for fixed in (body(kind="static", mass=3), Body("floor", Plane((0, 0, 1), 0), kind="static")):
        assert fixed.mass == 0
        assert not fixed.inertia.any()


def test_kinematic_bodies_have_mass_for_their_release():
    assert body(kind="kinematic", mass=2, release_time=1).mass == 2


def test_orientation_is_made_unit():
    np.testing.assert_allclose(body(orientation=(2, 0, 0, 0)).orientation, (1, 0, 0, 0))


def test_dynamic_friction_equals_static_by_default():
    assert body(friction=0.3).friction_dynamic == 0.3
    assert body(friction=0.3, friction_dynamic=0.2).friction_dynamic == 0.2


def test_motion_takes_the_short_way():
    orientations = np.array([[1, 0, 0, 0], [-0.9, 0, 0, -0.1], [0.8, 0, 0, 0.2], [-0.8, 0, 0, -0.3]])
    motion = body(kind="kinematic", motion=([0, 1, 2, 3], np.zeros((4, 3)), orientations)).motion
    assert motion is not None
    assert (np.einsum("ij,ij->i", motion.orientations[1:], motion.orientations[:-1]) > 0).all()
    np.testing.assert_allclose(np.linalg.norm(motion.orientations, axis=1), 1)


STILL = ([0, 1], np.zeros((2, 3)), [[1, 0, 0, 0]] * 2)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("kind", {"kind": "floating"}),
        ("mass", {"mass": 0}),
        ("mass", {"mass": -1}),
        ("mass", {"mass": np.nan}),
        ("mass", {"mass": "heavy"}),
        ("density", {"density": 0}),
        ("density", {"mass": 1, "density": np.inf}),
        ("inertia", {"inertia": np.ones((3, 3))}),
        ("inertia", {"inertia": np.diag([1, 1, -1])}),
        ("inertia", {"inertia": np.diag([1, 1, 3])}),
        ("inertia", {"inertia": np.eye(3) + np.eye(3, k=1) * 0.1}),
        ("inertia", {"inertia": (1, 1, 1)}),
        ("center_of_mass", {"center_of_mass": (0, np.nan, 0)}),
        ("position", {"position": (0, 0)}),
        ("position", {"position": (0, 0, np.inf)}),
        ("position", {"position": None}),
        ("orientation", {"orientation": (0, 0, 0, 0)}),
        ("orientation", {"orientation": (np.nan, 0, 0, 1)}),
        ("linear_velocity", {"linear_velocity": (0, 0, np.nan)}),
        ("linear_velocity", {"kind": "static", "linear_velocity": (0, 0, 1)}),
        ("angular_velocity", {"kind": "kinematic", "angular_velocity": (0, 0, 1)}),
        ("restitution", {"restitution": 1.1}),
        ("restitution", {"restitution": -0.1}),
        ("friction", {"friction": -0.1}),
        ("friction_dynamic", {"friction": 0.5, "friction_dynamic": 0.6}),
        ("linear_damping", {"linear_damping": -1}),
        ("angular_damping", {"angular_damping": np.nan}),
        ("layers", {"layers": 1.5}),
        ("collides_with", {"collides_with": 2**64}),
        ("lock_linear", {"lock_linear": (True, False)}),
        ("motion", {"motion": STILL}),
        ("motion", {"kind": "kinematic", "motion": ([1, 0], *STILL[1:])}),
        ("motion", {"kind": "kinematic", "motion": ([0], *STILL[1:])}),
        ("motion", {"kind": "kinematic", "motion": ([], np.zeros((0, 3)), np.zeros((0, 4)))}),
        ("motion", {"kind": "kinematic", "motion": ([0, np.nan], *STILL[1:])}),
        ("motion", {"kind": "kinematic", "motion": (*STILL[:2], np.zeros((2, 4)))}),
        ("motion", {"kind": "kinematic", "motion": 3}),
        ("release_time", {"release_time": 1}),
        ("release_time", {"kind": "kinematic", "release_time": -1}),
        ("kind", {"shape": Plane((0, 0, 1), 0)}),
        ("shape", {"shape": "box"}),
    ],
)
def test_refusals_name_body_and_field(field, values):
    with pytest.raises(SceneError) as caught:
        body(**values)
    assert (caught.value.body, caught.value.field) == ("crate", field)
    assert str(caught.value).startswith("body 'crate': ")
    assert field in str(caught.value) or "plane" in str(caught.value)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_body_needs_a_name(name):
    with pytest.raises(SceneError, match="name"):
        Body(name, BOX)


def test_flat_hull_names_the_body():
    with pytest.raises(ShapeError, match=r"^body 'crate': its points are flat") as caught:
        body(shape=ConvexHull(BOX.hull.vertices * (1, 1, 0)))
    assert caught.value.body == "crate"


def test_bodies_cannot_be_changed_half_way():
    crate = body()
    with pytest.raises(AttributeError, match="make a new Body to change mass"):
        crate.mass = 3
    with pytest.raises(ValueError, match="read-only"):
        crate.position[0] = 1


def test_names_are_unique():
    scene = Scene(bodies=[body()])
    with pytest.raises(SceneError, match="body 'crate': the scene already has"):
        scene.add(body())


def test_add_returns_the_body():
    crate = body()
    assert Scene().add(crate) is crate


@pytest.mark.parametrize(
    ("field", "values"),
    [("gravity", {"gravity": (0, 0)}), ("combine", {"combine": "max"}), ("bodies", {"bodies": ["crate"]})],
)
def test_scene_refusals(field, values):
    with pytest.raises(SceneError, match=field if field != "bodies" else "no body") as caught:
        Scene(**values)
    assert caught.value.field == field


def full_scene() -> Scene:
    scene = Scene(gravity=(0, 0.1, -9.81), combine="multiply")
    scene.add(Body("floor", Plane((0, 1, 3), 0.1), kind="static", friction=1 / 3))
    scene.add(Body("wall", Box((1, 2, 3)), kind="static", orientation=(1, 2, 3, 4)))
    scene.add(
        Body(
            "ball",
            Sphere(1 / 3),
            mass=0.1,
            restitution=1 / 7,
            layers=6,
            collides_with=3,
            lock_angular=(True, False, True),
            asleep=True,
            linear_damping=0.1,
        )
    )
    points = np.random.default_rng(0).normal(size=(30, 3))
    for k, orientation in enumerate(Rotation.random(20, random_state=0).as_quat()):
        scene.add(Body(f"rock {k}", ConvexHull(points), orientation=orientation, friction_dynamic=0.1))
    turns = Rotation.random(5, random_state=1).as_quat()
    motion = (np.arange(5) / 3, np.random.default_rng(1).normal(size=(5, 3)), turns)
    scene.add(Body("arm", BOX, kind="kinematic", motion=motion, release_time=1.1))
    return scene


def test_scene_survives_json_to_the_bit(tmp_path):
    scene = full_scene()
    scene.save(tmp_path / "scene.json")
    loaded = Scene.load(tmp_path / "scene.json")
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "scene.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    assert loaded.combine == "multiply"
    for one, other in zip(scene.bodies, loaded.bodies, strict=True):
        for field, value in vars(one).items():
            again = getattr(other, field)
            if isinstance(value, np.ndarray):
                assert again.tobytes() == value.tobytes(), (one.name, field)
            elif field == "motion" and value is not None:
                assert all((a == b).all() for a, b in zip(again, value, strict=True))
            elif field != "shape":
                assert again == value, (one.name, field)


def edited(tmp_path, edit) -> Scene:
    full_scene().save(tmp_path / "scene.json")
    document = json.loads((tmp_path / "scene.json").read_text())
    edit(document)
    (tmp_path / "scene.json").write_text(json.dumps(document))
    return Scene.load(tmp_path / "scene.json")


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda d: d.update(version=2), "version 2"),
        (lambda d: d.update(schema="other"), "no Topple scene"),
        (lambda d: d.update(wind=1), "unknown entries wind"),
        (lambda d: d["bodies"][2].update(colour="red"), "body 'ball': .*'colour'"),
        (lambda d: d["bodies"][2].update(friction="x"), "body 'ball': friction"),
        (lambda d: d["bodies"][2].pop("name"), "name"),
        (lambda d: d["bodies"][2]["shape"].update(radius=0), "body 'ball': its radius"),
        (lambda d: d["bodies"][2].update(name="floor"), "body 'floor': the scene already"),
        (lambda d: d.update(bodies=3), "bodies is 3; give a list"),
        (lambda d: d["bodies"].append(7), "every body needs a name"),
        (lambda d: d["bodies"][2].update(shape=7), "every body needs"),
        (lambda d: d["bodies"][2]["shape"].update(type=["box"]), "body 'ball': its shape type"),
        (lambda d: d.update(forces=7), "forces is 7; give a list"),
        (lambda d: d.update(forces=[7]), "a force has no type"),
        (lambda d: d.update(ignored=["ball"]), "ignored has 'ball'; give pairs of names"),
        (lambda d: d.update(ignored=[["ball"]]), "ignored has .*; give pairs of names"),
    ],
)
def test_edited_files_are_refused(tmp_path, edit, reason):
    with pytest.raises((SceneError, ShapeError), match=reason):
        edited(tmp_path, edit)


@pytest.mark.parametrize("content", ["", "[]", "{", "3", "\x00"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "scene.json").write_text(content)
    with pytest.raises(SceneError, match="save it with"):
        Scene.load(tmp_path / "scene.json")
