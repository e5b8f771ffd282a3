"""The warning of bodies that could not be parted: which, since when, how deep, and what to do."""

import numpy as np
import pytest
from topple.collision.contact_set import empty_contacts
from topple.dynamics.body_state import DYNAMIC, KINEMATIC, STATIC
from topple.solvers.impulse_pressed import PressedPairs


@pytest.mark.parametrize(
    ("other", "remedy"), [(STATIC, "smaller steps"), (KINEMATIC, "animated bodies leave")]
)
def test_says_what_to_do(other, remedy):
    """Animated bodies are blamed only where there are any."""
    contacts, pressed = empty_contacts(8), PressedPairs(["post", "ball", "slab"])
    contacts.body[:3] = [(1, 0), (1, 2), (0, 2)]
    contacts.separation[:3] = -2e-3, -5e-5, -1.0  # the last two do not move each other
    kind = np.array([other, DYNAMIC, STATIC])
    for time, deeper in ((0.5, 0.0), (0.6, 1e-3)):
        contacts.separation[0] -= deeper
        pressed.note(kind, contacts, 3, np.zeros(8), 1e-4, time)
    [text] = pressed.warnings
    assert text.startswith(
        "bodies 'post' and 'ball' are pressed into each other from 0.5 s on, up to 0.003 m"
    )
    assert remedy in text
