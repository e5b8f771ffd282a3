"""Run tests in Blender's own Python.

    blender -b --factory-startup --python tests/blender/run_in_blender.py -- PYTEST_ARGUMENTS

Blender's Python needs pytest, numpy, scipy and numba; scripts/install_blender makes a Blender that
has them.
"""

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = ("pytest", "numpy", "scipy", "numba")


def main(arguments: list[str]) -> int:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"error: this Blender's Python ({sys.executable}) lacks {', '.join(missing)}; use the Blender")
        print("that scripts/install_blender makes, or install them there with pip.")
        return 2
    alias_core()
    import pytest

    return int(pytest.main([f"--rootdir={ROOT}", f"--config-file={ROOT / 'pyproject.toml'}", *arguments]))


def alias_core() -> None:
    """Make `import topple` load this checkout's core, which is not installed in Blender's Python."""
    folder = ROOT / "core"
    spec = importlib.util.spec_from_file_location(
        "topple", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    core = importlib.util.module_from_spec(spec)
    sys.modules["topple"] = core
    spec.loader.exec_module(core)


def end(code: int) -> None:
    """End the process; the `bpy` wheels are not always unloaded in peace.

    That of 4.2 crashes where any property had an update function, that of 4.5 now and then waits for ever in
    the destructor of a condition of its own.
    """
    import bpy

    if not bpy.app.binary_path:
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    own = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    end(main(own or [str(ROOT / "tests" / "blender")]))
