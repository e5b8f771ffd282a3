"""Figures: each verification test says what it reached, and `--figures FILE` writes the table.

`scripts/validate` makes docs/validation.md this way, so the table cannot say what no test has measured. When
only some tests run (`-k`), it replaces their rows.
"""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

ROWS = pytest.StashKey[list[tuple[str, str, float, float, str]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ROWS] = []


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`figure(what, value, limit, unit)` asserts that |value| is at most `limit`, and keeps both."""

    def check(what: str, value: float, limit: float, unit: str = "") -> None:
        test = request.node
        case = (test.function.__doc__ or test.name).strip().splitlines()[0]
        value = abs(float(value))
        request.config.stash[ROWS].append((case, what, value, limit, unit))
        assert value <= limit, f"{what}: {value:.3g} {unit}, at most {limit:g} {unit} asked"

    return check


@pytest.fixture
def scale(request: pytest.FixtureRequest) -> int:
    """Times as many random cases as usual: `--scale`."""
    return request.config.getoption("scale")


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("figures")
    if path:
        old = Path(path).read_text() if session.config.getoption("keyword") and Path(path).exists() else ""
        write_table(Path(path), session.config.stash[ROWS], old)


def write_table(path: Path, rows: list[tuple[str, str, float, float, str]], old: str) -> None:
    """The page docs/validation.md; cases of the old page that have no new row stay."""
    head = [
        "# Validation",
        "",
        "Written by `scripts/validate`; do not edit. Scenes with known answers, run with the impulse solver,",
        "or with the analytic one where a row says so:",
        "what was measured (an error, drift or penetration) against the most that is allowed. Each row is an",
        "assertion of a test in `tests/verification`, whose docstring derives the answer, with its source.",
        "",
        "| case | figure | reached | asked |",
        "|---|---|---|---|",
    ]
    worst: dict[tuple[str, str, float, str], list[float]] = {}
    for case, what, value, limit, unit in rows:
        worst.setdefault((case.replace("|", "\\|"), what, limit, unit), []).append(value)
    cases: dict[str, list[str]] = {}
    for line in old.splitlines()[len(head) :]:
        cases.setdefault(line.split(" | ")[0], []).append(line)
    for case, *_ in worst:
        cases[f"| {case}"] = []
    for (case, what, limit, unit), values in worst.items():
        runs = f", worst of {len(values)}" if len(values) > 1 else ""
        reached, asked = f"{max(values):.2g} {unit}".strip(), f"{limit:g} {unit}".strip()
        cases[f"| {case}"].append(f"| {case} | {what}{runs} | {reached} | {asked} |")
    path.write_text("\n".join([*head, *itertools.chain(*cases.values())]) + "\n")
