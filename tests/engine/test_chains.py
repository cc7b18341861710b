"""The places of a chain, which a kernel makes at once, have the alternatives that `expand` gives one by one."""

from __future__ import annotations

import json

import pytest

import constrain
import vocabularies
from constrain.engine import anatomy
from constrain.engine.automaton import TokenAutomaton
from constrain.grammar.rules import Nonterminal
from constrain.grammar.walk import alternatives_of
from constrain.kernels import arena, earley
from constrain.schema.lower_objects import CHAIN

SIZES = [1, 2, 3, CHAIN - 1, CHAIN, CHAIN + 1, 2 * CHAIN, 2 * CHAIN + 1]
REQUIRED = {
    "none": lambda n: [],
    "all": lambda n: range(n),
    "first": lambda n: [0],
    "last": lambda n: [n - 1],
    "every third": lambda n: range(1, n, 3),
}


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("required", REQUIRED)
@pytest.mark.parametrize("n", SIZES)
def test_places_have_the_alternatives_of_their_rules(n: int, required: str, is_open: bool) -> None:
    must = list(REQUIRED[required](n))
    schema = {
        "type": "object",
        "properties": {f"k{i}": {"type": ["integer", "null"]} for i in range(n)},
        "required": [f"k{i}" for i in must],
        "additionalProperties": is_open,
    }
    automaton = TokenAutomaton(vocabularies.tiny())
    matcher = constrain.compile(constrain.json_schema(schema), vocabularies.tiny(), automaton=automaton).matcher()
    matcher.advance_bytes(json.dumps({f"k{i}": i for i in range(n)}).encode())
    assert matcher.is_accepting()
    rules = matcher.compiled.rules
    assert len(rules.chains) == -(-n // CHAIN)
    places = 0
    for record, symbol in anatomy.symbols(automaton, rules).items():
        if isinstance(symbol, Nonterminal) and automaton.A[record + earley.ALTERNATIVES]:
            expected = {tuple(automaton.symbol(s, rules) for s in each) for each in alternatives_of(symbol)}
            assert written(automaton, record) == expected, symbol
            places += symbol.place is not None
    assert places == 2 * n - len(rules.chains)  # all but the first of each chain


def written(automaton: TokenAutomaton, record: int) -> set[tuple[int, ...]]:
    at = int(automaton.A[record + earley.ALTERNATIVES])
    found = set()
    for suffix in automaton.A[at + 1 : at + 1 + int(automaton.A[at])].tolist():
        symbols: list[int] = []
        while suffix:
            symbol, suffix = automaton.A[suffix + arena.KEY : suffix + arena.KEY + 2].tolist()
            symbols.append(symbol)
        found.add(tuple(symbols))
    return found


def test_counted_objects_have_no_chain() -> None:
    schema = {"type": "object", "properties": {"a": True, "b": True}, "minProperties": 1}
    compiled = constrain.compile(constrain.json_schema(schema), vocabularies.tiny())
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b'{"b": 1}')
    assert matcher.is_accepting()
    assert not compiled.rules.chains
