"""Sentences that are put together."""

import re
from pathlib import Path

from topple_extension.addon import messages


def test_counts_read_well():
    assert messages.bodies_done("Added", 1) == "Added 1 body"
    assert messages.bodies_done("Removed", 3) == "Removed 3 bodies"
    assert messages.bodies_done("Cleared the bake of", 0) == "Cleared the bake of 0 bodies"
    assert (
        messages.bake_finished(2, 100, 3.21e-5)
        == "Baked 2 bodies over 100 frames, deepest overlap 32.1\u00a0µm"
    )
    assert messages.settled(2, 0.32) == "Settled 2 objects in 0.3 s"


def test_values_have_units_that_suit_them():
    assert [messages.length(value) for value in (0.0, 2.4e-7, 0.0804, 3.0)] == [
        "0\u00a0µm", "0.24\u00a0µm", "8.04\u00a0cm", "3\u00a0m",
    ]  # fmt: skip
    assert [messages.energy(value) for value in (-2.5, 999.9, 159200.0, 3e6)] == [
        "-2.5\u00a0J", "999.9\u00a0J", "159.2\u00a0kJ", "3\u00a0MJ",
    ]  # fmt: skip


def test_axis_is_named():
    assert "along Y is zero" in messages.zero_scale(1)


def test_notes_name_the_body_as_errors_do():
    assert messages.note("crate", "it leans") == "body 'crate': it leans"


def test_the_manual_quotes_messages_that_exist():
    """Each piece of a message in the manual's table is part of a string in the add-on or the core."""
    folder = Path(__file__).parents[2]
    sources = [*(folder / "addon").glob("*.py"), folder / "core" / "simulation.py"]
    said = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text(encoding="utf-8") for path in sources))
    manual = (folder / "docs" / "manual.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\| \*(.+?)\*", manual[manual.index("## Messages") :], re.MULTILINE)
    assert len(quoted) > 15
    pieces = [piece.strip() for message in quoted for piece in message.split("…")]
    assert [piece for piece in pieces if piece not in said] == []
