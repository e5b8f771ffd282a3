"""The checkout as the package that Blender makes of an extension."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
EXTENSION = "topple_extension"


def load_extension(core: ModuleType | None = None) -> ModuleType:
    """Import the checkout as the package `topple_extension`, and leave it to the caller to register it.

    Args:
        core: The installed `topple`, where that is to be the extension's core, so that nothing is loaded
            twice; by default the extension loads its own.
    """
    spec = importlib.util.spec_from_file_location(
        EXTENSION, ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec is not None
    assert spec.loader is not None
    extension = importlib.util.module_from_spec(spec)
    sys.modules[EXTENSION] = extension
    spec.loader.exec_module(extension)
    if core is not None:
        extension.core = sys.modules[f"{EXTENSION}.core"] = core
    return extension
