"""The command `topple`: bake a scene, verify and plot the result, run a demo.

Results go to standard output, progress and errors to standard error, an error in one line that says
what to change.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from . import __version__
from .errors import SceneError, ToppleError
from .report import Report

EXIT_OK, EXIT_PENETRATION, EXIT_USAGE, EXIT_CANCELLED = 0, 1, 2, 130

EXIT_CODES = """exit codes:
  0    done
  1    the check found bodies that overlap by more than the tolerance
  2    the command line, a scene or a file is not usable; the message says what to change
  130  cancelled by Ctrl-C; nothing was written"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments (by default those of the process); return its exit code."""
    try:
        options = _parser().parse_args(arguments)
        return options.run(options)
    except ToppleError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(
            f"cannot use {error.filename}: {error.strerror}; check the path" if error.filename else str(error)
        )
    except KeyboardInterrupt:
        print("topple: cancelled, nothing was written", file=sys.stderr)
        return EXIT_CANCELLED


def _fail(message: str) -> int:
    print(f"topple: error: {' '.join(message.split())}", file=sys.stderr)
    return EXIT_USAGE


class _Parser(argparse.ArgumentParser):
    """Argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_USAGE, f"topple: error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="topple",
        description="Rigid bodies that touch, stack, slide, roll and bounce the way the equations say.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"topple {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, run: object, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run)
        return command

    bake = add("bake", _bake, "Simulate a scene and write its trajectory.")
    bake.add_argument("scene", metavar="SCENE.json", help="scene written by Scene.save")
    bake.add_argument("-o", "--output", metavar="OUT.npz", required=True, help="trajectory to write")
    bake.add_argument("--frames", type=_frame_count, required=True, help="frames after the start")
    bake.add_argument("--fps", type=_frame_rate, default=24.0, help="frames per second (24)")
    bake.add_argument("--solver", choices=["impulse", "analytic"], default="impulse", help="method (impulse)")

    verify = add("verify", _verify, "Check a trajectory for overlaps, energy and momentum.")
    verify.add_argument("scene", metavar="SCENE.json", help="scene it was baked from")
    verify.add_argument("trajectory", metavar="OUT.npz", help="trajectory to check")

    plot = add("plot", _plot, "Draw the bodies' height and speed over time, or how two of them touch.")
    subject = plot.add_mutually_exclusive_group(required=True)
    subject.add_argument("trajectory", metavar="OUT.npz", nargs="?", help="trajectory to draw")
    subject.add_argument(
        "--contacts",
        metavar=("SCENE.json", "A", "B"),
        nargs=3,
        help="draw how the bodies A and B of a scene touch instead",
    )
    plot.add_argument(
        "-o", "--output", metavar="OUT.png", required=True, help="picture to write: png, svg or pdf"
    )
    plot.add_argument(
        "--scene", metavar="SCENE.json", help="scene it was baked from; adds energy and penetration"
    )

    demo = add("demo", _demo, "Bake, check and plot a ball that knocks over a small wall.")
    demo.add_argument("-o", "--output", metavar="FOLDER", default="out", help="folder for the results (out)")
    return parser


def _frame_count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of frames; give a whole number from 1")
    return int(text)


def _frame_rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no frame rate; give a number above 0")
    return rate


def _bake(options: argparse.Namespace) -> int:
    from . import Scene, simulate

    output = _writable(options.output, (".npz",))
    scene = Scene.load(options.scene)
    with _progress_bars() as progress:
        trajectory = simulate(
            scene, frames=options.frames, fps=options.fps, solver=options.solver, progress=progress
        )
    trajectory.save(output)
    _print_report(trajectory.report)
    print(f"wrote {output}: {len(scene.bodies)} bodies, {options.frames} frames")
    return EXIT_OK


def _verify(options: argparse.Namespace) -> int:
    from . import Scene, Trajectory, verify
    from .verification import PENETRATION_TOLERANCE

    scene, trajectory = Scene.load(options.scene), Trajectory.load(options.trajectory)
    with _progress_bars() as progress:
        report = verify(scene, trajectory, progress=progress)
    _print_report(report)
    return EXIT_PENETRATION if report.max_penetration > PENETRATION_TOLERANCE else EXIT_OK


def _plot(options: argparse.Namespace) -> int:
    from . import Scene, Trajectory
    from .plot import FORMATS, plot

    output = _writable(options.output, FORMATS)
    if options.contacts:
        return _plot_contacts(options, output)
    trajectory = Trajectory.load(options.trajectory)
    scene = Scene.load(options.scene) if options.scene else None
    with _progress_bars() as progress:
        plot(trajectory, output, scene=scene, progress=progress)
    print(f"wrote {output}" + ("" if scene else "; --scene SCENE.json adds energy and penetration"))
    return EXIT_OK


def _plot_contacts(options: argparse.Namespace, output: Path) -> int:
    from . import Scene
    from .plot_contacts import plot_contacts

    if options.scene:
        raise SceneError("--contacts names its own scene; leave out --scene")
    scene, name_a, name_b = options.contacts
    plot_contacts(Scene.load(scene), name_a, name_b, output)
    print(f"wrote {output}")
    return EXIT_OK


def _demo(options: argparse.Namespace) -> int:
    from . import simulate, verify
    from .demo import demo_scene
    from .plot import plot
    from .verification import PENETRATION_TOLERANCE

    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    scene = demo_scene()
    with _progress_bars() as progress:
        trajectory = simulate(scene, frames=72, fps=24, progress=progress)
        report = verify(scene, trajectory, progress=progress)
        plot(trajectory, folder / "demo.png", scene=scene)
    scene.save(folder / "demo.json")
    trajectory.save(folder / "demo.npz")
    _print_report(report)
    print(f"wrote {folder / 'demo.json'}, {folder / 'demo.npz'}, {folder / 'demo.png'}")
    return EXIT_PENETRATION if report.max_penetration > PENETRATION_TOLERANCE else EXIT_OK


def _writable(path: str, endings: tuple[str, ...]) -> Path:
    """Refuse an output that could not be written, before the work is done."""
    output = Path(path)
    if output.suffix.lower() not in endings:
        raise SceneError(f"cannot write {path}; give it the ending {' or '.join(endings)}")
    if not output.parent.is_dir():
        raise SceneError(f"cannot write {path}; make the folder {output.parent} first")
    return output


@contextmanager
def _progress_bars() -> Iterator:
    """Yield progress(stage, done, total), which keeps one bar for each stage on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description:>8}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for earlier in bars.tasks:  # a new stage means that the ones before are done
                    bars.update(earlier.id, completed=earlier.total)
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield progress


def _print_report(report: Report) -> None:
    where = ""
    if report.worst_pair is not None:
        where = f", '{report.worst_pair[0]}' and '{report.worst_pair[1]}' in frame {report.worst_frame}"
    print(f"worst penetration  {report.max_penetration:.3g} m{where}")
    if report.unresolved:
        (a, b), count = report.unresolved[0]["pair"], len(report.unresolved)
        print(f"above tolerance    {count} times, first '{a}' and '{b}'")
    for stage, seconds in report.stage_seconds.items():
        print(f"{stage:<18} {seconds:.2f} s")
    for warning in report.warnings:
        print(f"warning: {warning}")
    print(f"state hash         {report.state_hash}")
