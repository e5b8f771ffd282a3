"""Sorted lists of keys against Python's own lists and sets."""

import numpy as np
from topple.jit import kernel
from topple.sorted_keys import drop_common, place_of, sort_keys


@kernel
def _sorted(keys, count):
    return sort_keys(keys, count)


@kernel
def _dropped(keys, count, others, other_count):
    return drop_common(keys, count, others, other_count)


@kernel
def _place(keys, count, key):
    return place_of(keys, count, key)


def _random_keys(rng, most):
    """Up to `most` keys, many of them equal, in a table with room for more."""
    keys = np.full(most + 3, -7)
    count = int(rng.integers(most + 1))
    keys[:count] = rng.integers(0, most, count)
    return keys, count


def test_keys_are_sorted_and_equal_ones_dropped():
    rng = np.random.default_rng(1)
    for most in (1, 2, 3, 10, 200):
        for _ in range(20):
            keys, count = _random_keys(rng, most)
            expected = sorted(set(keys[:count].tolist()))
            left = _sorted(keys, count)
            assert keys[:left].tolist() == expected
            assert (keys[count:] == -7).all()


def test_what_two_lists_have_in_common_is_dropped_from_both():
    rng = np.random.default_rng(2)
    for most in (1, 3, 10, 200):
        for _ in range(20):
            (keys, count), (others, other_count) = _random_keys(rng, most), _random_keys(rng, most)
            count, other_count = _sorted(keys, count), _sorted(others, other_count)
            a, b = set(keys[:count].tolist()), set(others[:other_count].tolist())
            left, others_left = _dropped(keys, count, others, other_count)
            assert keys[:left].tolist() == sorted(a - b)
            assert others[:others_left].tolist() == sorted(b - a)


def test_a_key_is_found_where_it_is_and_only_there():
    rng = np.random.default_rng(3)
    keys, count = _random_keys(rng, 100)
    count = _sorted(keys, count)
    for key in range(-1, 102):
        place = _place(keys, count, key)
        assert (keys[place] == key and 0 <= place < count) if key in keys[:count] else place == -1
