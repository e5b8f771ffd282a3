"""The folder of compiled kernels.

Numba's disk cache does not notice a change in another file, so the folder's name is a hash of
every source file of the core, the numba version and the Python ABI: a changed helper gets a new
folder, never stale machine code, and wherever the core is installed twice it is compiled once. The folder
lies outside the source tree, which may be read-only or cleared on upgrade (in Blender: its own folder for
extensions, by the variable below).
"""

import functools
import hashlib
import os
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

CACHE_ROOT_VARIABLE = "TOPPLE_CACHE_DIR"
KEPT_CACHES = 4  # folders of older sources kept, so that switching branches does not recompile


def cache_root() -> Path:
    """Folder that holds all kernel caches: `TOPPLE_CACHE_DIR`, or the user's cache folder."""
    chosen = os.environ.get(CACHE_ROOT_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", str(Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return Path(base) / "topple"


@functools.cache
def source_hash() -> str:
    """Hash of all core sources, the numba version and the Python ABI (16 hex digits)."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    digest.update(f"{version('numba')} {sys.implementation.cache_tag}".encode())
    return digest.hexdigest()[:16]


def _remove_old_caches(root: Path) -> None:
    """Drop the oldest cache folders; one that another process is using may stay."""
    folders = sorted((p for p in root.glob("kernels-*") if p.is_dir()), key=lambda p: p.stat().st_mtime)
    for folder in folders[:-KEPT_CACHES]:
        shutil.rmtree(folder, ignore_errors=True)


def _prepare_folder() -> Path | None:
    """Make the folder; None where the disk refuses it (kernels then compile per process)."""
    # Numba's files name the package, which is another one inside Blender's extension.
    folder = cache_root() / f"kernels-{source_hash()}-{__package__}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # it may be there, but not ours to write to
        _remove_old_caches(folder.parent)
    except OSError:
        return None
    return folder


CACHE_FOLDER = _prepare_folder()
