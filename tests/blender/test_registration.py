"""Registering leaves nothing behind, and every panel draws."""

import bpy
import pytest
from blender.objects import add_cube, add_empty, make_body
from topple import compilation
from topple_extension.addon import layouts, panels, registration, simulation_panels, watch


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
        assert handlers() == []
        registration.register()
    assert registered() == before
    assert len(handlers()) == len(set(handlers())) + 1  # one of them hears of undo and of redo


def test_the_solver_is_compiled_by_processes_of_its_own():
    """Blender's Python starts them under the name that the core has here; what is silent must not fail."""
    [process] = compilation._start_processes(["_small_scene"])
    assert process.wait() == 0


class Layout:
    """Stands for `UILayout`, of which only a window makes one: checks names against what is drawn."""

    def __init__(self, used: list[str]) -> None:
        self.used = used

    def prop(self, data, name: str, **options) -> None:
        assert data.bl_rna.properties[name].description  # the tooltip
        self.used.append(name)

    def operator(self, name: str, **options) -> "Button":
        group, operator = name.split(".")
        assert hasattr(bpy.types, f"{group.upper()}_OT_{operator}")
        self.used.append(name)
        return Button(name)

    def label(self, *, text: str, icon: str = "NONE") -> None:
        assert icon in bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items
        self.used.append(text)

    def template_icon(self, *, icon_value: int, scale: float) -> None:
        self.used.append("template_icon")

    def separator(self) -> None:
        pass

    def menu(self, name: str, **options) -> None:
        assert hasattr(bpy.types, name)

    def progress(self, *, factor: float, text: str) -> None:
        assert 0.0 <= factor <= 1.0
        self.used.append(text)

    def operator_menu_enum(self, name: str, property_name: str, **options) -> None:
        self.operator(name)
        operator = getattr(bpy.ops.topple, name.removeprefix("topple."))
        assert property_name in operator.get_rna_type().properties

    def column(self, **options) -> "Layout":
        return Layout(self.used)

    row = box = grid_flow = column


class Button:
    """What a layout returns for an operator: takes only properties that it has."""

    def __init__(self, operator: str) -> None:
        self.__dict__["known"] = (
            getattr(bpy.ops.topple, operator.removeprefix("topple.")).get_rna_type().properties
        )

    def __setattr__(self, name: str, value: object) -> None:
        assert name in self.known


def handlers() -> list[str]:
    """Topple's functions that Blender calls."""
    names = [name for name in dir(bpy.app.handlers) if name.endswith(("_pre", "_post"))]
    events = [getattr(bpy.app.handlers, name) for name in names]
    return [f.__qualname__ for event in events for f in event if ".addon" in getattr(f, "__module__", "")]


@pytest.fixture(autouse=True)
def region_of_usual_width(monkeypatch):
    """Without a window there is no region whose width lines could fit."""
    monkeypatch.setattr(layouts, "fitting_characters", lambda: 40)


def drawn() -> list[str]:
    """Names of what all panels show for the active object."""
    used: list[str] = []
    for panel in (*panels.CLASSES, *simulation_panels.CLASSES):
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


OPERATORS = [cls for cls in registration.CLASSES if issubclass(cls, bpy.types.Operator)]


@pytest.mark.parametrize("cls", OPERATORS, ids=lambda cls: cls.bl_idname)
def test_operators_and_their_options_have_tooltips(cls):
    operator = getattr(bpy.ops.topple, cls.bl_idname.removeprefix("topple.")).get_rna_type()
    assert operator.description
    for name in cls.__annotations__:
        option = operator.properties[name]
        assert option.is_hidden or option.description, name


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
    assert shown.count("topple.add_bodies") == 3
    assert "shape" not in shown


def test_panels_draw_without_an_object():
    assert "topple.bake" in drawn()


def test_bake_panel_shows_what_there_is_and_what_changed():
    cube = make_body(add_cube("cube"))
    bpy.ops.topple.bake(keyframes=False)
    shown = drawn()
    assert "24 frames baked" in shown
    assert not any(text.startswith("Out of date") for text in shown)
    cube.topple.friction = 0.1
    watch.forget()
    assert any(text.startswith("Out of date: the set-up of") for text in drawn())
