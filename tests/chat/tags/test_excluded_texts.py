"""Excluded texts of schemas, beside all spellings of short values."""

from __future__ import annotations

from itertools import product

import pytest

import constrain
from constrain import tags
from tables import table

TABLE = table("excluded_texts")

BYTES = constrain.Vocabulary.of_bytes()
CHARACTERS = ["a", "n", "0", "u", "<", "\n", "\x0b", '"', "\\", "é", "😀"]
SPELLINGS = TABLE["spellings"]
TEXTS = TABLE["texts"]
TEXTS += ["00<", "d83", "e00n", "\\ud83d\\u", "\\\\\\\\", "aa", "\\u"]


def written(value: str) -> list[str]:
    """All plain spellings of a value, without its quotes."""
    return ["".join(parts) for parts in product(*(SPELLINGS.get(character, [character]) for character in value))]


@pytest.mark.parametrize("text", TEXTS)
def test_strings_are_written_without_excluded_texts(text: str) -> None:
    """An excluded text is in no spelling that is left; a value of ASCII is left out only if it is in one of its."""
    form = {"type": "json_schema", "json_schema": {"type": "string"}, "excludes": [text]}
    compiled = constrain.compile(tags.structural_tag({"format": form}), BYTES)
    for value in map("".join, (v for size in range(3) for v in product(CHARACTERS, repeat=size))):
        spellings = written(value)
        inside = any(text in spelling for spelling in spellings)
        for spelling in spellings:
            matcher = compiled.matcher()
            taken = matcher.advance_bytes(f'"{spelling}"'.encode()) and matcher.is_accepting()
            assert not (taken and inside), (text, value)
            assert taken or inside or not value.isascii(), (text, value)
