"""Registering leaves nothing behind, and every panel draws."""

import bpy
import pytest
from blender.objects import add_cube, add_empty, make_body
from topple_extension.addon import panels, registration


def registered() -> set[str]:
    """Everything of Topple that Blender knows."""
    types = {name for name in dir(bpy.types) if name.upper().startswith("TOPPLE")}
    properties = {
        f"{owner.__name__}.topple"
        for owner in (bpy.types.Object, bpy.types.Scene)
        if hasattr(owner, "topple")
    }
    operators = {f"topple.{name}" for name in dir(bpy.ops.topple)}
    return types | properties | operators


def test_ten_times_leaves_nothing():
    before = registered()
    assert {"topple.bake", "Object.topple", "TOPPLE_PT_body"} <= before
    for _ in range(10):
        registration.unregister()
        assert registered() == set()
        registration.register()
    assert registered() == before


class Layout:
    """Stands for `UILayout`, of which only a window makes one: checks names against what is drawn."""

    def __init__(self, used: list[str]) -> None:
        self.used = used

    def prop(self, data, name: str, **options) -> None:
        assert name in data.bl_rna.properties
        self.used.append(name)

    def operator(self, name: str, **options) -> None:
        group, operator = name.split(".")
        assert hasattr(bpy.types, f"{group.upper()}_OT_{operator}")
        self.used.append(name)

    def operator_menu_enum(self, name: str, property_name: str, **options) -> None:
        self.operator(name)
        operator = getattr(bpy.ops.topple, name.removeprefix("topple."))
        assert property_name in operator.get_rna_type().properties

    def column(self, **options) -> "Layout":
        return Layout(self.used)


def drawn() -> list[str]:
    """Names of what all panels show for the active object."""
    used: list[str] = []
    for panel in panels.CLASSES:
        if not hasattr(panel, "poll") or panel.poll(bpy.context):
            stand_in = type(panel.__name__, (), {**_methods(panel), "layout": Layout(used)})()
            stand_in.draw(bpy.context)
    return used


def _methods(panel: type) -> dict:
    return {
        name: value
        for base in reversed(panel.__mro__)
        for name, value in vars(base).items()
        if callable(value) and name.startswith("draw")
    }


@pytest.mark.parametrize("kind", ["DYNAMIC", "STATIC", "KINEMATIC"])
@pytest.mark.parametrize("mass_mode", ["MASS", "DENSITY"])
def test_panels_show_what_the_kind_has(kind, mass_mode):
    cube = make_body(add_cube("cube"), kind=kind, mass_mode=mass_mode)
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = cube
    shown = set(drawn())
    assert {"kind", "shape", "friction", "restitution", "topple.bake", "topple.clear_bake"} <= shown
    assert (mass_mode.lower() in shown) == (kind == "DYNAMIC")
    assert ("linear_velocity" in shown) == (kind == "DYNAMIC")


def test_panels_offer_to_add_a_body():
    empty = add_empty("empty")
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = empty
    shown = drawn()
    assert shown.count("topple.add_bodies") == 2
    assert "shape" not in shown


def test_panels_draw_without_an_object():
    assert "topple.bake" in drawn()
