"""Equal sources share their states: a repeated request finds what the first one made."""

from __future__ import annotations

import pytest

import constrain
import vocabularies
from constrain.kernels import arena

SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
SOURCES = {
    "schema": (lambda: constrain.json_schema(dict(SCHEMA)), b'{"a": [1, 2'),
    "regex": (lambda: constrain.regex("[a-z]+[0-9]{2,4}"), b"abc1"),
    "lark": (lambda: constrain.grammar('start: WORD+\nWORD: /[a-z]+/\n%ignore " "'), b"ab c"),
    "gbnf": (lambda: constrain.grammar('root ::= ("a" root "b")?', format="gbnf"), b"aab"),
    "choices": (lambda: constrain.choices(["red", "green"]), b"gr"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_equal_sources_share_states(name: str) -> None:
    make, text = SOURCES[name]
    automaton = constrain.TokenAutomaton(vocabularies.tiny())
    first = constrain.compile(make(), vocabularies.tiny(), automaton=automaton).matcher()
    assert first.advance_bytes(text)
    records = int(automaton.A[arena.RECORDS])
    again = constrain.compile(make(), vocabularies.tiny(), automaton=automaton).matcher()
    assert again.advance_bytes(text)
    assert again.state == first.state
    assert automaton.A[arena.RECORDS] == records


def test_the_latest_sources_are_remembered() -> None:
    from constrain.engine.automaton import REMEMBERED

    automaton = constrain.TokenAutomaton(vocabularies.tiny())
    for n in range(REMEMBERED + 10):
        constrain.compile(constrain.choices([f"option {n}"]), vocabularies.tiny(), automaton=automaton)
    assert len(automaton._grammars) == REMEMBERED
