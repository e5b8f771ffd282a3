"""What the README promises can be typed in."""

import re
from pathlib import Path

import numpy as np
import pytest
import topple

ROOT = Path(__file__).parents[2]


def test_python_example(tmp_path, monkeypatch):
    """The README's example runs as it stands, and its crate ends at rest on the floor."""
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    exec(compile(example, "README.md", "exec"), {})
    trajectory = topple.Trajectory.load(tmp_path / "crate.npz")
    crate = trajectory.names.index("crate")
    assert trajectory.position.shape == (101, 2, 3)
    assert trajectory.position[-1, crate, 2] == pytest.approx(0.3, abs=1e-4)  # its half height
    np.testing.assert_allclose(trajectory.linear_velocity[-1, crate], 0.0, atol=1e-3)


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []
