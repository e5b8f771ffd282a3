"""Who may import whom, and what an import costs."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAZY = {"numba", "scipy", "matplotlib", "rich", "bpy"}


def test_import_contracts():
    """The contracts of pyproject.toml hold: the core's layers, no Blender in the core, numba in jit only."""
    command = Path(sys.executable).with_name("lint-imports")
    if not command.exists():
        pytest.skip("import-linter is not installed")
    result = subprocess.run([command, "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def imports_of_core(path: Path) -> list[str]:
    """Every import in an add-on file that reaches past the core's public names."""
    depth = len(path.relative_to(ROOT).parts)  # dots that lead to the extension's package
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.split(".")[0] in ("core", "topple") and (node.level != depth or "." in module):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: from {'.' * node.level}{module}")
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            found += [
                f"{path.relative_to(ROOT)}:{node.lineno}: import {name}"
                for name in names
                if name.split(".")[0] in ("core", "topple")
            ]
    return found


def test_addon_uses_public_names_only():
    """The add-on says `from .. import core` (or `from ..core import Body`), never a room of the core."""
    found = [line for path in sorted((ROOT / "addon").rglob("*.py")) for line in imports_of_core(path)]
    assert found == []


def test_every_package_is_installed():
    """A new folder of the core is listed in pyproject.toml, or an installed topple would lack it."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT / "core") for path in (ROOT / "core").rglob("*.py")}
    assert sorted(listed) == sorted(".".join(("topple", *folder.parts)) for folder in folders)


def test_import_is_light():
    """`import topple` loads neither compiler nor plots, and takes under half a second."""
    program = (
        "import json, sys, time; start = time.perf_counter(); import topple;"
        "seconds = time.perf_counter() - start;"
        "print(json.dumps([seconds, sorted({name.partition('.')[0] for name in sys.modules})]))"
    )
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    assert LAZY.isdisjoint(runs[0][1])
    assert min(seconds for seconds, _ in runs) < 0.5
