"""Equal constraints share their states: a repeated request finds what the first one made."""

import gc
import weakref

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.kernels.records.arena import HEADER

SCHEMA = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
SOURCES = {
    "schema": (lambda: constrain.json_schema(dict(SCHEMA)), b'{"a": [1, 2'),
    "free keys": (lambda: constrain.json_schema({"additionalProperties": {"type": "integer"}}), b'{"a": 1, "b'),
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
    records = int(automaton.memory.A[HEADER.RECORDS])
    again = constrain.compile(make(), vocabularies.tiny(), automaton=automaton).matcher()
    assert again.advance_bytes(text)
    assert again.state == first.state
    assert automaton.memory.A[HEADER.RECORDS] == records


def test_a_text_has_a_state_however_deep_it_is() -> None:
    """Keys that came are compared, level by level. What is too deep to be compared is a state of its own."""
    nested = {"$defs": {"any": {"type": "object", "additionalProperties": {"$ref": "#/$defs/any"}}}}
    schema = constrain.json_schema({**nested, "$ref": "#/$defs/any"}, undeclared="allow")
    compiled = constrain.compile(schema, constrain.Vocabulary.of_bytes())
    for depth in (50, 5000):
        matchers = [compiled.matcher() for _ in range(2)]
        assert all(matcher.advance_bytes(b'{"a":' * depth) for matcher in matchers)
        first, again = (matcher.state for matcher in matchers)
        assert first == again or depth > 50  # how deep Python compares differs by its version


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_asked_for_again_is_kept(name: str) -> None:
    make, text = SOURCES[name]
    automaton = constrain.TokenAutomaton(vocabularies.tiny())
    for _ in range(2):  # nobody holds the first when the second comes
        assert constrain.compile(make(), vocabularies.tiny(), automaton=automaton).matcher().advance_bytes(text)
    records = int(automaton.memory.A[HEADER.RECORDS])
    third = constrain.compile(make(), vocabularies.tiny(), automaton=automaton).matcher()
    assert third.advance_bytes(text)
    assert automaton.memory.A[HEADER.RECORDS] == records


def test_the_latest_sources_are_remembered() -> None:
    from constrain.masks.engine.compiled_rules import REMEMBERED

    automaton = constrain.TokenAutomaton(vocabularies.tiny())
    for n in range(REMEMBERED + 10):
        for _ in range(2):
            constrain.compile(constrain.choices([f"option {n}"]), vocabularies.tiny(), automaton=automaton)
    assert REMEMBERED // 2 <= len(automaton.grammars._kept) == len(automaton.grammars._rules) <= REMEMBERED


@pytest.mark.usefixtures("young_heap")
@pytest.mark.parametrize("lacks", [b"", b"\x04", bytes(range(128, 256))], ids=["all bytes", "no control", "ASCII"])
def test_what_is_asked_for_once_is_freed_at_once(lacks: bytes) -> None:
    """No cycles in what a schema leads to: nothing waits for the garbage collector, and no vocabulary keeps it."""
    tokens = [bytes([byte]) for byte in range(256) if byte not in lacks]
    vocabulary = constrain.Vocabulary([*tokens, b"ab", None], eos_ids=[len(tokens) + 1])
    schemas = [
        {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"enum": [1, "x", {"c": 2}]}}, "required": ["b"]},
        {"anyOf": [{"required": ["a"]}, {"not": {"type": "array", "contains": {"type": "null"}}}]},
        {"type": "array", "items": {"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "integer"}]}},
        {"$id": "http://a.test", "properties": {"a": {"$id": "b", "items": {"$ref": "#/$defs/c"}, "$defs": {"c": {}}}}},
    ]
    automaton = constrain.TokenAutomaton(vocabulary)
    gc.collect()
    gc.disable()
    try:
        for schema in schemas:
            compiled = constrain.compile(constrain.json_schema(schema), vocabulary, automaton=automaton)
            matcher = compiled.matcher()
            for byte in b'{"a":':
                matcher.advance_bytes(bytes([byte]))
            matcher.fill_mask(np.zeros(vocabulary.words, np.uint32))
            normalizer = weakref.ref(compiled.constraint.normalizer)
            document = weakref.ref(compiled.constraint.normalizer.document)
            del compiled, matcher
            assert normalizer() is None and document() is None, schema
    finally:
        gc.enable()


def test_keys_that_end_alike_share_walks() -> None:
    """The rest of a key, and the whitespace before it, are walked once for all schemas."""
    vocabulary = vocabularies.tiny()
    automaton = constrain.TokenAutomaton(vocabulary)
    row = np.zeros(vocabulary.words, np.uint32)

    def walks(key: str, text: bytes) -> int:
        schema = {"type": "object", "properties": {key: {"type": "null"}}, "required": [key]}
        constraint = constrain.json_schema({**schema, "additionalProperties": False})
        matcher = constrain.compile(constraint, vocabulary, automaton=automaton).matcher()
        assert matcher.advance_bytes(text)
        before = int(automaton.memory.A[HEADER.TABLES_MADE])
        matcher.fill_mask(row)
        return int(automaton.memory.A[HEADER.TABLES_MADE]) - before

    assert walks("first_name", b"{") == 3  # a space and lines, and the key with its quote
    assert walks("last_name", b"{") == 1
    assert walks("first_name", b'{"first') == 1
    assert walks("last_name", b'{"last') == 0
    assert walks("name", b'{"') == 1
