"""A memory of values takes no more than its room, and the least used goes first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from constrain.languages.cuts.remembered import EACH, Remembered


@pytest.mark.parametrize("threads", [1, 6])
def test_as_much_as_fits(threads: int) -> None:
    remembered: Remembered[Any] = Remembered(20 * (100 + EACH))
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda n: (remembered.get(n % 31), remembered.keep(n % 31, n % 31, 100)), range(5000)):
            assert remembered.size <= remembered.limit
    assert len(remembered) == 20 and remembered.size == remembered.limit
    assert {remembered.get(n) for n in range(31)} >= {None} and all(remembered.get(n) in (None, n) for n in range(31))


def test_the_least_used_goes_first() -> None:
    remembered: Remembered[str] = Remembered(2 * EACH)
    for name in "ab":
        remembered.keep(name, name, 0)
    assert remembered.get("a") == "a"
    remembered.keep("c", "c", 0)
    assert [remembered.get(name) for name in "abc"] == ["a", None, "c"]
