"""Gathers the extension's files and wheels, lists them in the manifest, and has Blender's tool pack them."""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "out" / "extension"
WHEELS = ROOT / "out" / "wheels"
PACKAGED = ("__init__.py", "LICENSE", "addon", "core")
REQUIREMENTS = ("numba>=0.60", "scipy>=1.11")
# Blender brings numpy; the wheels must go with the oldest that a Blender with this Python has (4.2, 5.1).
BLENDERS_OWN = "numpy"
OLDEST_NUMPY = {"3.11": "1.24.3", "3.13": "2.2.0"}
PYTHONS = tuple(OLDEST_NUMPY)
# The platform tags of wheels that run on what Blender itself runs on.
PLATFORMS = {
    "linux-x64": (
        "manylinux_2_28_x86_64",
        "manylinux_2_27_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux2014_x86_64",
    ),
    "windows-x64": ("win_amd64",),
    "macos-arm64": ("macosx_11_0_arm64", "macosx_12_0_arm64"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--platform", action="append", choices=PLATFORMS, help="by default all three")
    parser.add_argument(
        "--python", action="append", help=f"by default those of Blender, {', '.join(PYTHONS)}"
    )
    options = parser.parse_args()
    pythons = options.python or list(PYTHONS)
    wheels = {platform: download(platform, pythons) for platform in options.platform or PLATFORMS}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "topple"
        gather(source, wheels)
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        tool("build", "--source-dir", str(source), "--output-dir", str(OUT), "--split-platforms")
    for package in sorted(OUT.glob("*.zip")):
        tool("validate", str(package))
        print(f"{package.relative_to(ROOT)}  {package.stat().st_size / 1e6:.1f} MB")
    return 0


def download(platform: str, pythons: list[str]) -> list[Path]:
    """Wheels of a platform for some Pythons, numpy left out."""
    found = []
    for python in pythons:
        folder = WHEELS / platform / python
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.glob("*.whl")):
            print(f"Downloading wheels for {platform}, Python {python}", flush=True)
            tags = [f"--platform={tag}" for tag in PLATFORMS[platform]]
            command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet"]
            numpy = [f"{BLENDERS_OWN}=={OLDEST_NUMPY[python]}"] if python in OLDEST_NUMPY else []
            subprocess.run(
                [*command, "--only-binary=:all:", *tags, "--python-version", python, "--implementation", "cp",
                 "--dest", str(folder), *REQUIREMENTS, *numpy],
                check=True,
            )  # fmt: skip
        found += [path for path in sorted(folder.glob("*.whl")) if path.name.split("-")[0] != BLENDERS_OWN]
    return found


def gather(source: Path, wheels: dict[str, list[Path]]) -> None:
    """Copy what belongs into the package, and write its manifest."""
    source.mkdir()
    for name in PACKAGED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, source / name)
    names = sorted({wheel.name for of_platform in wheels.values() for wheel in of_platform})
    (source / "wheels").mkdir()
    for of_platform in wheels.values():
        for wheel in of_platform:
            shutil.copy(wheel, source / "wheels" / wheel.name)
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    listed = "".join(f'    "./wheels/{name}",\n' for name in names)
    platforms = ", ".join(f'"{platform}"' for platform in wheels)
    added = f"platforms = [{platforms}]\nwheels = [\n{listed}]\n\n"
    (source / "blender_manifest.toml").write_text(
        re.sub(r"(?m)^\[permissions\]", added + "[permissions]", manifest), encoding="utf-8"
    )


def tool(command: str, *arguments: str) -> None:
    """Run Blender's own tool for extensions, which needs no Blender to run."""
    spec = find_spec("bpy")
    assert spec is not None
    assert spec.origin is not None
    (script,) = Path(spec.origin).parent.glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py")
    subprocess.run([sys.executable, str(script), command, *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main())
