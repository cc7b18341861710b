"""`Matcher.mask`: the row that `fill_mask` writes, read-only, shared where nothing is left to ask, never changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.masks.engine.known_states import MAX_ROWS
from small_grammars import JSON

SOURCES: dict[str, tuple[Any, bytes]] = {
    "regex": (lambda: constrain.regex("[a-z]+[0-9]{2,4}"), b"abc12"),
    "grammar": (lambda: constrain.grammar(JSON), b'{"ab": [12, true]}'),
    "guarded": (lambda: constrain.json_schema({"type": "object"}, whitespace="compact"), b'{"a":1,"ab":{}}'),
    "unique": (lambda: constrain.json_schema({"type": "array", "uniqueItems": True}), b'["a", "ab", 1, 12]'),
    "checked": (lambda: constrain.json_schema({"type": "string", "format": "regex"}), b'"ab"'),
}


@pytest.mark.parametrize("name", SOURCES)
def test_it_is_what_fill_mask_writes(name: str) -> None:
    make, text = SOURCES[name]
    automaton = constrain.TokenAutomaton(vocabularies.tiny())
    compiled = constrain.compile(make(), vocabularies.tiny(), automaton=automaton)
    kept = []
    for _ in range(2):  # the second time from memory
        matcher = compiled.matcher()
        row = np.zeros(vocabularies.tiny().words, np.uint32)
        for i in range(len(text) + 1):
            matcher.fill_mask(row)
            mask = matcher.mask()
            assert mask.dtype == np.uint32 and (mask == row).all(), text[:i]
            with pytest.raises(ValueError, match="read-only"):
                mask[0] = 1
            kept.append((mask, row.copy()))
            assert matcher.advance_bytes(text[i : i + 1]) or i == len(text)
        automaton.flush()
    assert all((mask == row).all() for mask, row in kept)


def test_after_the_end_nothing_is_allowed() -> None:
    matcher = constrain.compile(constrain.choices(["ab"]), vocabularies.tiny()).matcher()
    assert matcher.advance_bytes(b"ab") and matcher.advance(270)
    assert not matcher.mask().any()


def test_equal_states_share_a_row_and_few_are_kept() -> None:
    automaton = constrain.TokenAutomaton(vocabularies.tiny())
    compiled = constrain.compile(constrain.regex("a{0,2000}"), vocabularies.tiny(), automaton=automaton)
    matcher = compiled.matcher()
    assert matcher.mask() is compiled.matcher().mask() is matcher.fork().mask()
    for _ in range(2 * MAX_ROWS):
        matcher.mask()
        assert matcher.advance_bytes(b"a")
    assert 0 < len(automaton.known.masks) <= MAX_ROWS
