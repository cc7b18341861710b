"""Rules of values, objects and arrays, which a kernel makes of templates, equal what `expand` gives one by one."""

import json
from typing import Any

import pytest

import constrain
import vocabularies
from constrain.kernels.records import view
from constrain.kernels.records.grammars import NONTERMINAL, PLACED, template_at
from constrain.languages.cfg.bulk_rules import PlacedNonterminal
from constrain.languages.cfg.rules import Nonterminal
from constrain.languages.cfg.transform.walk import alternatives_of
from constrain.languages.schema import JsonLayout
from constrain.languages.schema.write.lower_objects import BULK
from constrain.masks.engine import inspect
from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.compiled_rules import CompiledRules

SIZES = [0, 1, 2, 3, BULK - 1, BULK]
REQUIRED = {
    "none": lambda n: [],
    "all": lambda n: range(n),
    "first": lambda n: range(min(n, 1)),
    "last": lambda n: range(max(n - 1, 0), n),
    "every third": lambda n: range(1, n, 3),
}


OPEN = {"closed": False, "any": True, "integers": {"type": "integer"}, "declared alike": {"type": ["integer", "null"]}}
ODD = ["", '"', "\\", "/", "\x00", "é", "日本", "😀", "a\nb", " ", "\x7f", "aé"]


@pytest.mark.parametrize("more", OPEN)
@pytest.mark.parametrize("required", REQUIRED)
@pytest.mark.parametrize("n", SIZES)
def test_places_have_the_alternatives_of_their_rules(n: int, required: str, more: str) -> None:
    check([f"k{i}" for i in range(n)], list(REQUIRED[required](n)), OPEN[more], {})


@pytest.mark.parametrize("more", OPEN)
@pytest.mark.parametrize("never", [(), ("never",), ("k", "é", "")], ids=str)
def test_keys_of_any_letters(more: str, never: tuple[str, ...]) -> None:
    check([name for name in ODD if name not in never], [1], OPEN[more], dict.fromkeys(never, False))


ITEMS = {"strings": {"type": "string"}, "any": True, "arrays": {"type": "array", "items": {"type": "null"}}}
LISTS = {  # keywords, how many nonterminals of a repetition there are
    "plain": ({}, 1),
    "one": ({"minItems": 1}, 1),
    "two": ({"minItems": 2}, 0),
    "few": ({"maxItems": 5}, 0),
    "distinct": ({"uniqueItems": True}, 1),
    "prefix": ({"prefixItems": [{"type": "string"}]}, 0),
    "counted": ({"contains": {"const": "a"}, "minContains": 0, "maxContains": 4}, 0),
}


@pytest.mark.parametrize("keywords", LISTS)
@pytest.mark.parametrize("items", ITEMS)
def test_repetitions_have_the_alternatives_of_their_rules(items: str, keywords: str) -> None:
    schema = {"type": "array", "items": ITEMS[items], **LISTS[keywords][0]}
    automaton = TokenAutomaton(vocabularies.tiny())
    matcher = constrain.compile(
        constrain.json_schema(schema, whitespace="bounded"), vocabularies.tiny(), automaton=automaton
    ).matcher()
    text = {"strings": '["a", "b"]', "any": '["a", {}, 3]', "arrays": "[[null, null], []]"}[items]
    if keywords == "prefix" and items == "arrays":
        text = '["a", [null, null], []]'
    assert matcher.advance_bytes(text.encode())
    assert matcher.is_accepting()
    rules = matcher.compiled.rules
    compare(automaton, rules)
    inner = items == "arrays" or (items, keywords) == ("any", "counted")  # an item that is not "a" may be an array
    arrays = [template for family, template in rules.templates.items() if family[-1] == "array"]
    described = [template for template in arrays if template not in rules.sources]
    assert len(described) == LISTS[keywords][1] + inner


def check(names: list[str], must: list[int], more: bool | dict[str, Any], never: dict[str, bool]) -> None:
    n = len(names)
    schema = {
        "type": "object",
        "properties": {name: {"type": ["integer", "null"]} for name in names} | never,
        "required": [names[i] for i in must],
        "additionalProperties": more,
    }
    automaton = TokenAutomaton(vocabularies.tiny())
    matcher = constrain.compile(
        constrain.json_schema(schema, whitespace="bounded"), vocabularies.tiny(), automaton=automaton
    ).matcher()
    others = {"other": 1, "another": 2} if more is not False else {}
    matcher.advance_bytes(json.dumps({name: i for i, name in enumerate(names)} | others).encode())
    assert matcher.is_accepting()
    rules = matcher.compiled.rules
    assert sum(key[-1] == "object" for key in rules.templates) == (n > 0 or more is not False)
    assert compare(automaton, rules) == 2 * n + 3 * (more is not False)


def compare(automaton: TokenAutomaton, rules: CompiledRules) -> int:
    """Compare all alternatives with the results of `expand`; the number of places among the nonterminals."""
    places = 0
    for record, symbol in inspect.symbols(automaton, rules).items():
        if isinstance(symbol, Nonterminal) and NONTERMINAL.ALTERNATIVES(automaton.memory.A, record):
            expected = {tuple(automaton.symbols.record(s, rules) for s in each) for each in alternatives_of(symbol)}
            assert written(automaton, record) == expected, symbol
            A = automaton.memory.A
            assert NONTERMINAL.RIGHT_RECURSIVE(A, record) == symbol.right_recursive
            assert NONTERMINAL.IS_WATCHED(A, record) == symbol.watched
            position = symbol.position if isinstance(symbol, PlacedNonterminal) else None
            if position is not None:
                places += position.family[-1] == "object"
                template = template_at(rules.templates[position.family], position.number)
                assert PLACED.TEMPLATE(A, NONTERMINAL.PLACED(A, record)) == template
    return places


def written(automaton: TokenAutomaton, record: int) -> set[tuple[int, ...]]:
    A = automaton.memory.A
    return {
        inspect.suffix(automaton, suffix) for suffix in view.list_items(A, NONTERMINAL.ALTERNATIVES(A, record)).tolist()
    }


@pytest.mark.parametrize("whitespace", ["consistent", "compact", "bounded", "any", JsonLayout(indent=1)], ids=str)
@pytest.mark.parametrize("indent", [None, 1])
def test_values_at_all_places_have_the_alternatives_of_their_rules(whitespace: Any, indent: int | None) -> None:
    """One description serves all layouts; what has none (counts, a class of keys) is expanded at each place."""
    inner = {"type": ["object", "null"], "properties": {"a": {"$ref": "#"}, "n": {}}, "required": ["a"]}
    schema = {
        "properties": {"list": {"type": "array", "items": inner, "maxItems": 3}, "o": inner, "any": {}},
        "patternProperties": {"^x": {"type": "array", "items": {"type": "integer"}}},
        "minProperties": 1,
        "anyOf": [{"type": "object"}, {"type": "string"}],
    }
    vocabulary = vocabularies.tiny()
    automaton = TokenAutomaton(vocabulary)
    compiled = constrain.compile(constrain.json_schema(schema, whitespace=whitespace), vocabulary, automaton=automaton)
    value = {"list": [{"a": "s", "n": [1]}, None], "o": {"a": {"any": {}, "x": [1, 2]}, "n": {}}, "x": []}
    written = json.dumps(value, indent=indent, separators=(",", ":") if whitespace == "compact" else None)
    matcher = compiled.matcher()
    if matcher.advance_bytes(written.encode()):
        assert matcher.is_accepting()
    compare(automaton, compiled.rules)


def test_counted_objects_have_no_description() -> None:
    schema = {"type": "object", "properties": {"a": True, "b": True}, "minProperties": 1}
    compiled = constrain.compile(constrain.json_schema(schema), vocabularies.tiny())
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b'{"b": 1}')
    assert matcher.is_accepting()
    assert not any(key[-1] == "object" for key in compiled.rules.templates)
