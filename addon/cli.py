"""`blender -b FILE --command topple bake --output OUT.blend`: a bake without a window."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import bpy

from .. import core
from . import live_bakes, messages, watch

COMMAND = "topple"


def run(arguments: Sequence[str]) -> int:
    """Run the command in the file Blender has open; return the exit code."""
    options = _parser().parse_args(arguments)
    folder = options.output.absolute().parent
    if not folder.is_dir():
        return _fail(messages.missing_folder(str(folder)))

    from .baking import bake_now, summary, write_keyframes  # loads the solver
    from .scene_reader import read_scene

    context, resume_at = bpy.context, sys.maxsize if options.resume else None
    try:
        bake = live_bakes.prepare(
            context.scene,
            read_scene(context),
            watch.watch(context.scene, context.view_layer),
            on_disk=options.resume,
            resume_at=resume_at,
        )
        bake_now(bake, _print_progress)
    except core.ToppleError as error:
        return _fail(str(error))
    told = summary(bake)
    write_keyframes(context, bake)
    output = str(options.output.absolute())
    try:
        bpy.ops.wm.save_as_mainfile(filepath=output, copy=True, check_existing=False)
    except RuntimeError as error:  # as operators report what the disk refuses
        return _fail(messages.cannot_save(output, str(error).strip()))
    for warning in told.warnings:
        print(f"topple: {warning}", file=sys.stderr)
    print(messages.bake_finished(told.bodies, told.frames, told.max_penetration))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"blender -b FILE --command {COMMAND}", description="Topple rigid bodies without a window."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    bake = commands.add_parser("bake", help="bake the open file's bodies into keyframes and save a copy")
    bake.add_argument("--output", type=Path, required=True, metavar="OUT.blend", help="file to write")
    bake.add_argument(
        "--resume",
        action="store_true",
        help="keep the frames in a folder beside FILE, and go on with those of a run that was stopped",
    )
    return parser


def _print_progress(stage: str, done: int, total: int) -> None:
    end = "\n" if done >= total else ""
    print(f"\r{f'{stage}: {done}/{total}':<40}", end=end, file=sys.stderr, flush=True)


def _fail(message: str) -> int:
    print(f"topple: {message}", file=sys.stderr)
    return 1
