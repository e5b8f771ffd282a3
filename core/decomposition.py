"""Splits a concave mesh into convex parts, and keeps the answer on disk: it takes seconds to minutes.

The work is CoACD's: Wei, Liu, Ling, Su, "Approximate convex decomposition for 3D meshes with
collision-aware concavity and tree search", SIGGRAPH 2022. It runs in a process of its own: there it
can be interrupted, and a mesh on which it fails costs an error message and not the program.
"""

import contextlib
import hashlib
import importlib.metadata
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ShapeError
from .geometry.shapes import Compound, ConvexHull
from .kernel_folder import cache_root
from .scene import write_whole

LEAST_CONCAVITY, MOST_CONCAVITY = 0.01, 1.0  # what CoACD takes

Vertices = NDArray[np.float64]
Triangles = NDArray[np.int64]

# What the other process runs. Its result does not depend on the number of threads.
_SPLIT = """
import sys
import coacd, numpy
coacd.set_log_level("off")
mesh_path, parts_path, concavity = sys.argv[1:]
with numpy.load(mesh_path) as arrays:
    mesh = coacd.Mesh(arrays["vertices"], arrays["triangles"])
parts = [points for points, _ in coacd.run_coacd(mesh, threshold=float(concavity), seed=0)]
numpy.savez(parts_path, points=numpy.concatenate([numpy.empty((0, 3)), *parts]), sizes=[*map(len, parts)])
"""


def decompose(vertices: ArrayLike, triangles: ArrayLike, *, concavity: float = 0.05) -> Compound:
    """Split a mesh into convex parts, so that hollows stay hollow.

    The parts fill the mesh with next to no overlap, so mass and inertia are nearly those of the
    mesh. A closed mesh is cut as it is; one with holes or loose faces is first wrapped in a thin
    closed skin, which takes longer. The answer depends on the surface alone, not on the order of
    its vertices or triangles, and is kept in the folder `decompositions` of the user's cache.

    Args:
        vertices: Corners [m], shape (n, 3).
        triangles: Rows of three indices into `vertices`, shape (m, 3).
        concavity: How far the parts may bulge out of the mesh, as a part of half its largest extent:
            0.01 (close, many parts) to 1 (coarse, few parts).

    Returns:
        Convex hulls in the mesh's own frame.

    Raises:
        ShapeError: The mesh has no usable surface, the concavity is out of range, or the package
            `coacd` is missing.
    """
    corners, faces = _clean(*_validated(vertices, triangles))
    if not LEAST_CONCAVITY <= concavity <= MOST_CONCAVITY:
        raise ShapeError(
            f"the concavity is {concavity!r}; give a number from {LEAST_CONCAVITY:g} to {MOST_CONCAVITY:g}"
        )
    path = _cache_path(corners, faces, float(concavity))
    parts = _read(path)
    if parts is None:
        parts = _solid_parts(_split(corners, faces, float(concavity)))
        with contextlib.suppress(OSError):  # a disk that refuses costs time in the next call, nothing else
            _write(path, parts)
    return Compound([(ConvexHull(points), (0, 0, 0), (1, 0, 0, 0)) for points in parts])


def _validated(vertices: ArrayLike, triangles: ArrayLike) -> tuple[Vertices, Triangles]:
    try:
        corners = np.array(vertices, dtype=np.float64)
        faces = np.array(triangles)
    except (TypeError, ValueError) as error:
        raise ShapeError("its mesh is not made of numbers; give arrays of shape (n, 3) and (m, 3)") from error
    if corners.ndim != 2 or corners.shape[1] != 3:
        raise ShapeError(f"its vertices have shape {corners.shape}; give an array of shape (n, 3)")
    if not np.isfinite(corners).all():
        row = int(np.flatnonzero(~np.isfinite(corners).all(axis=1))[0])
        raise ShapeError(f"its vertex {row} is not finite; remove it or give it coordinates")
    if faces.size == 0:
        raise ShapeError("its mesh has no triangles; give it faces, or use a ConvexHull of its points")
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise ShapeError(
            f"its triangles have shape {faces.shape} and type {faces.dtype}; "
            "give whole numbers of shape (m, 3)"
        )
    outside = ((faces < 0) | (faces >= len(corners))).any(axis=1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise ShapeError(
            f"its triangle {row} is {faces[row].tolist()}, but there are {len(corners)} vertices; "
            f"use indices from 0 to {len(corners) - 1}"
        )
    return corners, faces.astype(np.int64)


def _clean(vertices: Vertices, triangles: Triangles) -> tuple[Vertices, Triangles]:
    """The same surface with each corner and each triangle once, in an order that is fixed.

    Exporters write a corner once for each face; to CoACD such a surface would be full of holes.
    """
    corners, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)  # + 0.0 turns -0.0 into 0.0
    triangles = index.reshape(-1)[triangles]
    a, b, c = triangles.T
    triangles = triangles[(a != b) & (b != c) & (c != a)]
    if len(triangles) == 0:
        raise ShapeError("its triangles have no area; give it faces with three different corners")
    first = np.argmin(triangles, axis=1)[:, None]
    triangles = np.unique(np.take_along_axis(triangles, (first + np.arange(3)) % 3, axis=1), axis=0)
    used, index = np.unique(triangles, return_inverse=True)
    return corners[used], index.reshape(-1, 3)


def _split(vertices: Vertices, triangles: Triangles, concavity: float) -> list[Vertices]:
    """Points of the parts that CoACD finds."""
    if not Path(sys.executable or "").name.startswith("python"):  # a program that embeds Python
        raise ShapeError(
            "a mesh is split by a Python of its own, and this program names none (sys.executable); "
            "split it in a plain Python, or use its convex hull"
        )
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2  # it loses digits far from the origin
    with tempfile.TemporaryDirectory(prefix="topple-") as folder:
        mesh, result = Path(folder, "mesh.npz"), Path(folder, "parts.npz")
        np.savez(mesh, vertices=vertices - middle, triangles=triangles)
        done = subprocess.run(
            [sys.executable, "-c", _SPLIT, mesh, result, str(concavity)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            check=False,
        )
        parts = _read(result)
    if parts is None:
        reason = (done.stderr.decode(errors="replace").strip().splitlines() or [f"code {done.returncode}"])[
            -1
        ]
        raise ShapeError(
            f"CoACD could not split its mesh of {len(triangles)} triangles ({reason}); "
            "close its holes and remove faces that cross, or use its convex hull"
        )
    return [points + middle for points in parts]


def _solid_parts(parts: list[Vertices]) -> list[Vertices]:
    """The parts without slivers that are too thin to be solids."""
    solid = []
    for points in parts:
        with contextlib.suppress(ShapeError):
            _ = ConvexHull(points).mass_properties
            solid.append(points)
    if not solid:
        raise ShapeError("its mesh holds no volume; give it thickness, or use a Box")
    return solid


def _cache_path(vertices: Vertices, triangles: Triangles, concavity: float) -> Path:
    """File of a mesh's parts, named by all that decides them."""
    try:
        version = importlib.metadata.version("coacd")
    except importlib.metadata.PackageNotFoundError as error:
        raise ShapeError(
            "splitting a mesh into convex parts needs the package coacd; run pip install topple[decompose] "
            "(in Blender: pip install coacd with Blender's Python), or use its convex hull"
        ) from error
    digest = hashlib.sha256(f"{version} {concavity!r} {len(vertices)}".encode())
    digest.update(np.ascontiguousarray(vertices, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(triangles, dtype="<i8").tobytes())
    return cache_root() / "decompositions" / f"{digest.hexdigest()[:32]}.npz"


def _write(path: Path, parts: list[Vertices]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, points=np.concatenate(parts), sizes=[len(points) for points in parts])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, buffer.getvalue())


def _read(path: Path) -> list[Vertices] | None:
    """Points of each part; None where there is no file, or none that can be used."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            points, sizes = arrays["points"], arrays["sizes"]
        if points.dtype != np.float64 or points.shape != (sizes.sum(), 3) or not np.isfinite(points).all():
            return None
        return np.split(points, np.cumsum(sizes)[:-1])
    except (OSError, ValueError, KeyError, EOFError, TypeError, RuntimeError, zipfile.BadZipFile):
        return None
