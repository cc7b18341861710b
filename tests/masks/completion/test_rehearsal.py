"""Rehearsal: a likely text is a beginning of a member, and its masks are known afterwards, and the same."""

from threading import Event
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import constrain
from constrain.engines.requests import compiler as requests
from constrain.engines.requests.options import EngineOptions
from constrain.kernels.records.arena import HEADER
from constrain.masks.completion.rehearsal import rehearse
from constrain.masks.engine import TokenAutomaton

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
TREE = {"type": "object", "properties": {"value": WHOLE, "left": {"$ref": "#"}}, "required": ["value"]}
TEXTS: dict[str, tuple[Any, str]] = {
    "text": (TEXT, '"a b"'),
    "pattern": ({"type": "string", "pattern": "^[0-9]{3}$"}, '"000"'),
    "format": ({"type": "string", "format": "hostname", "maxLength": 9}, '"ab"'),
    "a pattern itself": ({"type": "string", "format": "regex", "minLength": 4}, '"'),
    "enum": ({"enum": ["blue", "red"]}, '"red"'),
    "bounded": ({"type": "integer", "minimum": 100}, "100"),
    "fraction": ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}, "0.1"),
    "boolean": ({"type": "boolean"}, "false"),
    "null": ({"type": "null"}, "null"),
    "object": (
        {"type": "object", "properties": {"b": WHOLE, "a": TEXT}, "required": ["a", "c"]},
        '{"b": 12, "a": "a b", "c": {}}',
    ),
    "forbidden": ({"type": "object", "properties": {"a": False, "b": {"type": "null"}}}, '{"b": null}'),
    "array": ({"type": "array", "items": WHOLE}, "[12, 12]"),
    "tuple": ({"type": "array", "prefixItems": [TEXT], "items": False}, '["a b"]'),
    "least": ({"type": "array", "items": WHOLE, "minItems": 4}, "[12, 12, 12, 12]"),
    "union": ({"anyOf": [TEXT, {"type": "object", "properties": {"a": WHOLE}}]}, '{"a": 12}'),
    "deep": (TREE, '{"value": 12, "left": {"value": 12, "left": {"value": 12, "left": {"value": 12, "left": '),
}


def of(schema: Any, **options: Any) -> constrain.Constraint:
    return constrain.json_schema(schema, **options)


@pytest.mark.parametrize("schema, text", TEXTS.values(), ids=TEXTS)
def test_a_likely_text_begins_a_member(schema: Any, text: str) -> None:
    constraint = of(schema)
    written = constraint.likely_text(1000)
    assert written.startswith(text)
    assert constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher().advance_bytes(written.encode())
    if constraint.accepts(written):
        value = constrain.json_schema(schema).parse(written)
        Draft202012Validator(schema).validate(value)


def test_it_is_as_long_as_asked_and_laid_out_as_asked() -> None:
    schema = {"type": "object", "properties": {str(number): TEXT for number in range(100)}}
    assert 50 <= len(of(schema).likely_text(50)) < 70
    assert of(schema, whitespace="compact").likely_text(15) == '{"0":"a b","1":'
    layout = constrain.schema.JsonLayout(separators=(",", " : "))
    assert of(schema, whitespace=layout).likely_text(15) == '{"0" : "a b","1" : '


def test_other_constraints_have_none() -> None:
    compiled = constrain.compile(constrain.regex("a+"), constrain.Vocabulary.of_bytes())
    assert compiled.constraint.likely_text(10) == ""
    assert rehearse(compiled) == 0


@pytest.mark.parametrize("name", TEXTS)
def test_masks_are_the_same_and_known(name: str) -> None:
    """All masks of the text are those of an automaton without rehearsal, and none of them walks the vocabulary."""
    constraint = of(TEXTS[name][0])
    vocabulary = constrain.Vocabulary([*(bytes([byte]) for byte in range(256)), b'{"', b'": ', b"12", None], [259])
    made = []
    for is_rehearsed in (False, True):
        automaton = TokenAutomaton(vocabulary)
        compiled = constrain.compile(constraint, vocabulary, automaton=automaton)
        read = rehearse(compiled, tokens=100) if is_rehearsed else 100
        before = int(automaton.memory.A[HEADER.NODES_VISITED])
        rows = np.zeros((read + 1, vocabulary.words), np.uint32)
        matcher = compiled.matcher()
        text = constraint.likely_text(500).encode()
        for row in rows:
            matcher.fill_mask(row)
            fitting = [
                token for token in range(vocabulary.size - 1) if text.startswith(vocabulary.tokens[token] or b"-")
            ]
            token = max((t for t in fitting if matcher.allows(t)), key=lambda t: len(vocabulary.tokens[t]), default=-1)
            if token < 0 or not matcher.advance(token):
                break
            text = text[len(vocabulary.tokens[token] or b"") :]
        made.append((rows, int(automaton.memory.A[HEADER.NODES_VISITED]) - before))
    (cold, some), (known, none) = made
    assert np.array_equal(cold[: len(known)], known)
    assert some > 0
    assert none == 0


def test_a_guess_that_is_refused_ends_it() -> None:
    schema = {
        "type": "object",
        "properties": {"a": WHOLE, "b": WHOLE, "c": WHOLE},
        "dependentSchemas": {"a": {"properties": {"b": False}}},
    }
    compiled = constrain.compile(of(schema), constrain.Vocabulary.of_bytes())
    assert 0 < rehearse(compiled, tokens=100) < len('{"a": 12, "b": 12, "c": 12}')


def test_compile_rehearses_if_asked() -> None:
    vocabulary = constrain.Vocabulary.of_bytes()
    visited = []
    for asked in (False, True):
        automaton = TokenAutomaton(vocabulary)
        constrain.compile(of(TREE), vocabulary, automaton=automaton, rehearse=asked)
        visited.append(int(automaton.memory.A[HEADER.NODES_VISITED]))
    assert visited[0] == 0 < visited[1]


@pytest.mark.parametrize("asked, runs", [(0, []), (7, [7])])
def test_an_engine_rehearses_a_new_schema_once(monkeypatch: pytest.MonkeyPatch, asked: int, runs: list[int]) -> None:
    found: list[int] = []
    monkeypatch.setattr(requests, "rehearse", lambda compiled, tokens: found.append(tokens))
    tokenizer = constrain.reference.load().tokenizer
    made = requests.RequestCompiler(tokenizer, len(tokenizer), EngineOptions(rehearse=asked))
    for _ in range(2):
        made.compiled("json", '{"type": "boolean"}')
    made._beside.shutdown()
    assert found == runs


def test_an_engine_lets_no_more_than_some_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one rehearsal does not end, `WAITING` schemas are taken, others go without; later ones are taken again."""
    go_on, found = Event(), list[Any]()

    def slow(compiled: Any, tokens: int) -> None:
        found.append(compiled)
        assert go_on.wait(60)

    monkeypatch.setattr(requests, "rehearse", slow)
    tokenizer = constrain.reference.load().tokenizer
    made = requests.RequestCompiler(tokenizer, len(tokenizer), EngineOptions())
    for number in range(requests.WAITING + 5):
        made.compiled("json", f'{{"const": {number}}}')
    go_on.set()
    made._beside.shutdown()
    assert len(found) == requests.WAITING
    assert made._waiting.acquire(blocking=False)
