"""Bad input: one clear message with the object's name, and the scene stays as it was."""

import importlib.metadata
from collections.abc import Callable

import bpy
import numpy as np
import pytest
from blender.objects import add_cube, add_empty, add_mesh, key, make_body, set_parent, world_path


def good_body() -> bpy.types.Object:
    return make_body(add_cube("good", location=(0, 0, 9)))


def no_bodies() -> None:
    bpy.data.objects["good"].topple.enabled = False


def no_dynamic_bodies() -> None:
    bpy.data.objects["good"].topple.kind = "STATIC"


def one_frame() -> None:
    bpy.context.scene.frame_end = bpy.context.scene.frame_start


def no_faces() -> None:
    make_body(add_mesh("bad", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]))


def no_geometry() -> None:
    make_body(add_empty("bad"))


def flat_mesh() -> None:
    make_body(add_mesh("bad", [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]))


def zero_scale() -> None:
    make_body(add_cube("bad", scale=(1, 0, 1)))


def nan_location() -> None:
    make_body(add_cube("bad", location=(0, float("nan"), 0)))


def nan_vertex() -> None:
    make_body(add_cube("bad")).data.vertices[0].co.x = float("nan")


def negative_mass() -> None:
    make_body(add_cube("bad"), mass_mode="MASS", mass=-1.0)


def zero_density() -> None:
    make_body(add_cube("bad"), density=0.0)


def moving_plane() -> None:
    make_body(add_cube("bad"), shape="PLANE")


def constrained() -> None:
    make_body(add_cube("bad")).constraints.new("COPY_LOCATION").target = bpy.data.objects["good"]


def driven() -> None:
    make_body(add_cube("bad")).driver_add("location", 0).driver.expression = "1"


def animated_delta() -> None:
    key(make_body(add_cube("bad")), "delta_location", {1: (0, 0, 0), 9: (1, 0, 0)})


def solo_track() -> None:
    bad = make_body(add_cube("bad"))
    key(bad, "location", {1: (0, 0, 0), 9: (1, 0, 0)})
    track = bad.animation_data.nla_tracks.new()
    track.strips.new("strip", 1, bad.animation_data.action)
    track.is_solo = True


def static_child_of_dynamic() -> None:
    set_parent(make_body(add_cube("bad"), kind="STATIC"), bpy.data.objects["good"])


def parent_shrinks_to_nothing() -> None:
    parent = add_empty("parent")
    key(parent, "scale", {1: (1, 1, 1), 25: (0, 1, 1)})
    set_parent(make_body(add_cube("bad")), parent)


def own_rigid_body() -> None:
    bad = make_body(add_cube("bad"))
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = bad
    bpy.ops.rigidbody.object_add(type="ACTIVE")


CASES = [
    (own_rigid_body, "body 'bad': it is also a rigid body of Blender's own"),
    (no_bodies, "Add Topple Bodies"),
    (no_dynamic_bodies, "make a body Dynamic"),
    (one_frame, "frame range"),
    (no_faces, "body 'bad': it has no faces"),
    (no_geometry, "body 'bad': objects of this type"),
    (flat_mesh, "body 'bad': "),
    (zero_scale, "body 'bad': its scale along Y is zero"),
    (nan_location, "body 'bad': its transform contains"),
    (nan_vertex, "body 'bad': "),
    (negative_mass, "body 'bad': "),
    (zero_density, "body 'bad': "),
    (moving_plane, "body 'bad': "),
    (constrained, "body 'bad': its constraint 'Copy Location'"),
    (driven, "body 'bad': its transform has a driver"),
    (animated_delta, "body 'bad': its delta transform"),
    (solo_track, "body 'bad': an NLA track"),
    (static_child_of_dynamic, "body 'bad': it is Static but follows its dynamic parent 'good'"),
    (parent_shrinks_to_nothing, "body 'bad': its parent has a zero scale"),
]


def state_of_scene() -> tuple:
    return (
        bpy.context.scene.frame_current,
        sorted(action.name for action in bpy.data.actions),
        sorted(mesh.name for mesh in bpy.data.meshes),
        [(obj.name, obj.animation_data and obj.animation_data.action) for obj in bpy.data.objects],
        [obj.topple.previous.stored for obj in bpy.data.objects],
    )


@pytest.mark.parametrize(("spoil", "message"), CASES, ids=[case.__name__ for case, _ in CASES])
def test_bad_input_is_refused_and_changes_nothing(spoil: Callable, message):
    good_body()
    spoil()
    bpy.context.scene.frame_set(7)
    before = state_of_scene()
    with pytest.raises(RuntimeError, match=r"^Error: ") as error:
        bpy.ops.topple.bake()
    assert message in str(error.value)
    assert len(str(error.value).strip().splitlines()) == 1
    assert state_of_scene() == before


def test_convex_parts_without_coacd(tmp_path, monkeypatch):
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    good_body()
    make_body(add_cube("bad"), shape="CONVEX_PARTS")
    monkeypatch.setenv("TOPPLE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(
        RuntimeError, match=r"body 'bad': .* needs the package coacd; run pip install"
    ) as error:
        bpy.ops.topple.bake()
    assert "use its convex hull" in str(error.value)


@pytest.mark.parametrize("spoil", [no_faces, zero_scale, negative_mass])
def test_a_failed_bake_leaves_the_earlier_one(spoil):
    good = good_body()
    bpy.ops.topple.bake()
    path, action = world_path(good, range(1, 26)), good.animation_data.action
    spoil()
    with pytest.raises(RuntimeError, match="bad"):
        bpy.ops.topple.bake()
    assert good.animation_data.action is action
    np.testing.assert_array_equal(world_path(good, range(1, 26)), path)


@pytest.fixture
def library(tmp_path):
    """A .blend file with a Topple body named 'linked' in a collection named 'set'."""
    collection = bpy.data.collections.new("set")
    body = make_body(add_cube("linked"))
    collection.objects.link(body)
    file = tmp_path / "library.blend"
    bpy.data.libraries.write(str(file), {collection}, fake_user=True)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.frame_end = 25
    return str(file)


def link_collection(library: str) -> bpy.types.Collection:
    with bpy.data.libraries.load(library, link=True) as (_, loaded):
        loaded.collections = ["set"]
    bpy.context.scene.collection.children.link(loaded.collections[0])
    bpy.context.view_layer.update()
    return loaded.collections[0]


def test_linked_dynamic_object_is_refused(library):
    good_body()
    link_collection(library)
    before = state_of_scene()
    with pytest.raises(RuntimeError, match=r"body 'linked.*linked from a library") as error:
        bpy.ops.topple.bake()
    assert "library override" in str(error.value)
    assert state_of_scene() == before


def test_linked_object_is_not_added(library):
    linked = link_collection(library).objects["linked"]
    bpy.context.view_layer.objects.active = linked
    assert bpy.ops.topple.add_bodies(kind="STATIC") == {"CANCELLED"}
    assert linked.topple.kind == "DYNAMIC"


def test_library_override_can_be_baked(library):
    collection = link_collection(library)
    overridden = collection.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    body = overridden.objects["linked"]
    bpy.context.scene.collection.children.unlink(collection)
    assert bpy.ops.topple.bake() == {"FINISHED"}
    assert world_path(body, [25])[0, 2, 3] == pytest.approx(-0.5 * 9.81, abs=1e-4)
    bpy.ops.topple.clear_bake()
    assert world_path(body, [25])[0, 2, 3] == pytest.approx(0.0)
