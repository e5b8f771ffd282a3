"""Sentences that are put together."""

from topple_extension.addon import messages


def test_counts_read_well():
    assert messages.bodies_done("Added", 1) == "Added 1 body"
    assert messages.bodies_done("Removed", 3) == "Removed 3 bodies"
    assert messages.bodies_done("Cleared the bake of", 0) == "Cleared the bake of 0 bodies"
    assert (
        messages.bake_finished(2, 100, 3.21e-5) == "Baked 2 bodies over 100 frames, deepest overlap 3.2e-05 m"
    )


def test_axis_is_named():
    assert "along Y is zero" in messages.zero_scale(1)


def test_notes_name_the_body_as_errors_do():
    assert messages.note("crate", "it leans") == "body 'crate': it leans"
