"""Walks through masks: they end in valid texts, and what is wrong with a text is seen."""

from __future__ import annotations

from typing import Any

import pytest

import constrain
import schema_corpus
import vocabularies
from real_walks import Walks


def test_walks_find_nothing() -> None:
    walks = Walks(vocabularies.tiny())
    for entry in schema_corpus.ours()[:6]:
        walks.schema(entry, 1)
    assert not walks.faults
    assert walks.counts["finished"] == 2 * walks.counts["schemas"] == 12
    assert "12 finished, 0 invalid, 0 dead ends, 0 contradictions" in walks.line()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b'{"a": 1}', None),
        (b'{"a": 1, "b": 2}', None),
        (b'{"n": 38E1856}', None),  # no float holds it
        (b'{"a": "x"}', "[False, False]"),
        (b'{"a": 1, "a": 2}', "a key is repeated"),
        (b'{"a": 1', "Expecting"),
    ],
)
def test_invalid_texts_are_seen(text: bytes, fault: str | None) -> None:
    walks, schema = Walks(vocabularies.tiny()), {"properties": {"a": {"type": "integer"}, "n": {"type": "number"}}}
    found: Any = walks.verdict(schema, constrain.json_schema({}), text)
    assert walks.counts["invalid"] == (fault is not None)
    assert found is None if fault is None else fault in found
