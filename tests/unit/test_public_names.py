"""Public names load on first use."""

import tomllib
from pathlib import Path

import pytest
import topple


@pytest.mark.parametrize("name", topple.__all__)
def test_every_public_name_exists(name):
    assert getattr(topple, name) is not None
    assert name in dir(topple)


def test_the_manual_has_every_public_name():
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    assert [name for name in topple.__all__ if f"`{name}`" not in page] == []


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = topple.nonsense


def test_version_is_that_of_the_project():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert topple.__version__ == project["project"]["version"]
