"""A memory of values takes no more than its room, and the oldest go first."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from constrain.lazily import Remembered


@pytest.mark.parametrize("threads", [1, 6])
def test_as_much_as_fits(threads: int) -> None:
    remembered: Remembered[int, int] = Remembered(2000, lambda key, value: 100)
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda n: (remembered.get(n % 31), remembered.keep(n % 31, n % 31)), range(5000)):
            assert remembered.size <= remembered.limit
    assert 10 <= len(remembered) <= 20 and remembered.size == 100 * len(remembered)
    assert all(key == value for key, value in remembered.items())


def test_the_older_half_goes_and_what_is_kept_again_is_new() -> None:
    remembered: Remembered[str, str] = Remembered(4)
    for name in "abcdae":
        assert remembered.keep(name, name) == name
    assert [*remembered] == ["d", "a", "e"]
    remembered.clear()
    assert not remembered


def test_one_value_may_be_larger_than_the_room() -> None:
    remembered: Remembered[str, int] = Remembered(10, lambda key, value: value)
    for name, value in (("a", 3), ("b", 12), ("c", 4)):
        remembered.keep(name, value)
    assert dict(remembered) == {"c": 4}
