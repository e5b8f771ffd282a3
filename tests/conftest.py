"""What every test needs: the add-on under its parent package, and the order of the tests.

In Blender the repository is one package, whose `addon` says `from .. import core`. Outside, the same
package is made here under the name `topple_extension`, with `core` being the installed `topple`, so
that nothing is loaded twice: tests write `from topple_extension.addon import units`.
"""

from pathlib import Path

import pytest
import topple
from checkout import ROOT, load_extension


def check_checkout() -> None:
    """Refuse to test one checkout with the core of another."""
    tested = Path(topple.__file__).parent
    if tested != ROOT / "core":
        raise pytest.UsageError(f"`topple` is installed from {tested}; run: pip install --editable {ROOT}")


check_checkout()
load_extension(topple)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--figures", help="file for the table of the figures that tests/verification reached")
    parser.addoption("--scale", type=int, default=1, help="so many times as many random cases as usual")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the check of compiled kernels last: it looks at what all other tests have compiled."""
    items.sort(key=lambda item: item.path.name == "test_kernel_signatures.py")
