"""Runs the cases and prints both columns; fails where Topple is the worse of the two."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import topple
from checkout import load_extension

from . import cases

DOCUMENT = Path(__file__).parents[2] / "docs" / "blender.md"
HEAD = """# Beside Blender's own rigid bodies
The same scenes by Blender's own rigid bodies and by Topple, each at its default settings, 24 frames a second;
made by `scripts/compare_with_builtin --docs` in the `bpy` wheel {version}. Topple promises its numbers to its
tolerance, 1e-4 m. Moving meshes (B5) are *Convex Parts* in Topple. Left out: B8 and B9 (joints, which
Topple's bodies do not have yet). B17's creep is that of the second second: in the first a crate settles on
the ramp, by less than Topple's tolerance.

| case | Blender | Topple | right | Topple is |
|---|---|---|---|---|
"""
TOLERANCE = 1e-4  # what Topple promises: an error below counts as none


def main(arguments: list[str]) -> int:
    wanted = [name for name in arguments if not name.startswith("-")] or list(cases.CASES)
    load_extension(topple).register()
    rows, worse = [], 0
    for name in wanted:
        with _silent():
            found = cases.CASES[name]()
        for case in found:
            verdict = verdict_on(case.builtin_error, case.topple_error)
            worse += verdict == "worse"
            rows.append("| " + " | ".join((case.case, case.builtin, case.topple, case.exact, verdict)) + " |")
            print(rows[-1], flush=True)
    if "--docs" in arguments:
        import bpy

        DOCUMENT.write_text(
            HEAD.format(version=bpy.app.version_string) + "\n".join(rows) + "\n", encoding="utf-8"
        )
    return min(worse, 1)


def verdict_on(builtin_error: float, topple_error: float) -> str:
    """Which of two errors is the smaller; "worse" is what Topple must not be."""
    if topple_error < builtin_error:
        return "better"
    if topple_error == builtin_error == 0.0:
        return "both right"
    return "within Topple's tolerance" if topple_error <= TOLERANCE else "worse"


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep Blender's own lines off the table."""
    saved, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)


sys.exit(main(sys.argv[1:]))
