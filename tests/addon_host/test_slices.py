"""Work in slices comes to the same end as at once."""

import pytest
from topple_extension.addon.slices import BATCH, Slices, batches, completed


def count(upto: int, seen: list[str]):
    try:
        for i in range(upto):
            seen.append(str(i))
            yield
    finally:
        seen.append("left")
    return upto


def test_the_result_is_the_same():
    assert completed(count(5, [])) == 5
    slices = Slices(count(5, []))
    for _ in range(5):
        assert not slices.advance(0.0)
        assert slices.result is None
    assert slices.advance(0.0)
    assert slices.result == 5


def test_no_slice_goes_on_after_its_time():
    seen: list[str] = []
    slices = Slices(count(3, seen))
    assert not slices.advance(0.0)
    assert seen == ["0"]
    assert slices.advance(60.0)
    assert seen == ["0", "1", "2", "left"]


def test_giving_up_leaves_all_as_it_was():
    seen: list[str] = []
    slices = Slices(count(1_000_000_000, seen))
    assert not slices.advance(1e-3)
    slices.close()
    assert seen[-1] == "left"
    assert slices.result is None


def test_an_error_comes_out():
    def failing():
        yield
        raise ValueError("spoiled")

    with pytest.raises(ValueError, match="spoiled"):
        Slices(failing()).advance(60.0)


def test_batches_hold_all_in_order():
    items = list(range(2 * BATCH + 3))
    parts = list(batches(items))
    assert [len(part) for part in parts] == [BATCH, BATCH, 3]
    assert [item for part in parts for item in part] == items
