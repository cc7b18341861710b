"""The cache of the last texts: bounded in number and in characters, and equal to computing anew."""

from __future__ import annotations

import random

from constrain.languages.schema.recent import CHARACTERS, SHARE, Recent


def test_results_are_kept_within_both_bounds() -> None:
    made: list[str] = []

    def make(kind: str, text: str, more: int) -> tuple[str, int, int]:
        made.append(text[:20])
        return kind, len(text), more

    recent, draw = Recent(make, 10), random.Random(3)
    for _ in range(300):
        length = draw.choice([5, 1000, CHARACTERS // SHARE, CHARACTERS // SHARE + 1])
        text = str(draw.randrange(4)).ljust(length, "x")
        assert recent("json", text, 7) == ("json", length, 7)
        assert len(recent.results) <= 10
        assert sum(len(str(key[1])) for key in recent.results) <= CHARACTERS
    recent.results.clear()
    made.clear()
    for text in ("a", "b", "a", "c", "a"):
        recent("regex", text, 0)
    assert made == ["a", "b", "c"]  # what is asked for again is kept


def test_the_oldest_goes_first_and_long_texts_are_not_kept() -> None:
    made: list[str] = []
    recent = Recent(lambda kind, text: made.append(text[:1]), 2)
    long = "z" * (CHARACTERS // SHARE + 1)
    for text in ("a", "b", "a", "c", long, long, "a", "b"):
        recent("json", text)
    assert made == ["a", "b", "c", "z", "z", "b"]
