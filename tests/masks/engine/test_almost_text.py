"""Masks of states that are text but for something: exceptions, lengths beside patterns, complements, remainders. For
every token id the mask's bit is what `allows` says, at every cut of some valid texts (masks/common/slices.py)."""

from typing import Any

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.kernels.records.arena import HEADER

KEYS: dict[str, Any] = {
    "type": "object",
    "properties": {"mappings": {}, "sections": {}, "näme": {}},
    "patternProperties": {"^x_": {"type": "integer"}},
    "additionalProperties": False,
}
OPEN = {**KEYS, "additionalProperties": {"type": "null"}}
SORTED_KEYS: dict[str, Any] = {
    "type": "object",
    "patternProperties": {"^[0-9a-zA-Z_-]+$": {"type": "integer"}},
    "additionalProperties": {"type": "null"},
}
WORDS: dict[str, Any] = {"type": "string", "maxLength": 300, "pattern": r"^(?:\S+\s+){0,99}\S+$"}
CASES: list[tuple[Any, str]] = [
    (OPEN, '{|"|m|app|ers":null,"x|_y":1,"sections|X":null'),
    (KEYS, '{"|x_|any'),
    ({"type": "string", "maxLength": 12, "pattern": r"^[^-]*-.*x$"}, '"|ab|c-d|ef|x'),
    ({"type": "string", "minLength": 3, "maxLength": 40, "pattern": r"^(\S+\s+){0,3}\S+$"}, '"|two| wo|rds'),
    (WORDS, '"|two|  |wo|rds| '),
    ({"type": "string", "pattern": r"^(\S+ ){0,2}\S+$"}, '"|a|b c| |d'),
    ({"type": "string", "pattern": "^[A-Za-z]+( [A-Za-z]+)*$", "maxLength": 200}, '"|Two| wo|rds| |x'),
    ({"type": "string", "pattern": "^[A-Z][a-z]+( [A-Z][a-z]+)*$"}, '"|Two| |Wo|rds| A'),
    ({"type": "string", "not": {"enum": ["red", "redder", "blue"]}}, '"|r|ed|de|n'),
    ({"type": "string", "not": {"pattern": "^a.*z$"}}, '"|a|b|z|y'),
    ({"type": "string", "pattern": "^[a-z]{2,40}$", "not": {"const": "secret"}}, '"|se|cre|ts'),
    ({"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}, {"maxLength": 9}]}, '"|xx|a|x|b'),
    (SORTED_KEYS, '{"|terrain|-a|.|b":null,"|x'),
    ({"type": "string", "format": "uri"}, '"|https|://|example|.com/a|?q'),
    ({"type": "integer", "multipleOf": 7, "minimum": 100}, "|1|0|5"),
    ({"type": "number", "multipleOf": 0.21}, "|1|.|2|6"),
    ({"type": "integer", "not": {"multipleOf": 13}}, "|2|6|1"),
]


@pytest.mark.parametrize("schema, cuts", CASES, ids=[str(i) for i in range(len(CASES))])
def test_mask_is_what_is_allowed(schema: Any, cuts: str) -> None:
    vocabulary = vocabularies.sentencepiece32k()
    constraint = constrain.json_schema(schema, whitespace="compact", property_order="any")
    matcher = constrain.compile(constraint, vocabulary).matcher()
    row = np.zeros(vocabulary.words, np.uint32)
    for piece in cuts.split("|"):
        assert matcher.advance_bytes(piece.encode()), (piece, matcher.text)
        matcher.fill_mask(row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")[: vocabulary.size]
        wrong = [token for token in range(vocabulary.size) if bits[token] != matcher.allows(token)]
        assert not wrong, (matcher.text, [vocabulary.tokens[token] for token in wrong[:10]])


@pytest.mark.parametrize(
    "schema, pieces",
    [(OPEN, ('{"', "m", "x")), (SORTED_KEYS, ('{"', "terrain", "-a", ".")), (WORDS, ('"two', " wo", "rds a", " b"))],
    ids=["some", "sorted", "words"],
)
def test_text_but_for_something_is_cheap(schema: Any, pieces: tuple[str, ...]) -> None:
    """Any key but some, keys that a pattern tells apart, words that are counted: a part of the trie, not all of it."""
    vocabulary = vocabularies.sentencepiece32k()
    automaton = constrain.TokenAutomaton(vocabulary)
    matcher = constrain.compile(constrain.json_schema(schema), vocabulary, automaton=automaton).matcher()
    row = np.zeros(vocabulary.words, np.uint32)
    for piece in pieces:
        assert matcher.advance_bytes(piece.encode())
        before = int(automaton.memory.A[HEADER.NODES_VISITED])
        matcher.fill_mask(row)
        assert int(automaton.memory.A[HEADER.NODES_VISITED]) - before < len(vocabulary.trie) / 3
