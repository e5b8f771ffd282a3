"""Every Blender test starts with the add-on registered and an empty file open."""

from collections.abc import Iterator

import bpy
import pytest
from topple_extension.addon import registration


@pytest.fixture(scope="session", autouse=True)
def addon_registered() -> Iterator[None]:
    registration.register()
    yield
    registration.unregister()


@pytest.fixture(autouse=True)
def empty_file(addon_registered: None) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.scene.frame_end = 25


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker("blender")
