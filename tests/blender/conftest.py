"""Every Blender test starts with the add-on registered and an empty file open."""

import platform
from collections.abc import Iterator

import bpy
import numba
import numpy as np
import pytest
import scipy
from topple_extension.addon import registration


def pytest_report_header() -> str:
    """Told for `scripts/test_versions`, whose table has these in its columns."""
    versions = (bpy.app.version_string, platform.python_version(), np.__version__)
    return "tested in: " + " | ".join((*versions, scipy.__version__, numba.__version__))


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
