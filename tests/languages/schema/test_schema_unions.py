"""Unions of many shapes as one set of rules: the objects of the shapes side by side, and those of a validator."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

import constrain
import vocabularies
from constrain.languages.schema.api import JsonSchema, PropertyOrder
from constrain.languages.schema.write import lower_objects, lower_unions
from constrain.masks.engine import Matcher, TokenAutomaton

VALUES = [1, 2, "a"]
NAMES = ["p", "q", "r", "s"]
UNORDERED = {  # objects of the validator come in another order than that of the schema
    "names in other orders",
    "a key that all begin with",
    "patterns apart",
    "patterns apart, open",
}


def kinds(*names: str) -> dict[str, Any]:
    return {"properties": {name: {"type": "integer"} for name in names}}


ORDER = {"properties": dict.fromkeys(NAMES, True)}
SCHEMAS: dict[str, Any] = {
    "one of four required": {**kinds("p", "q", "r"), "oneOf": [{"required": [n]} for n in "pqrs"]},
    "two of four": {**ORDER, "oneOf": [{"required": list(pair)} for pair in itertools.combinations(NAMES, 2)]},
    "closed": {
        **kinds("p", "q", "r", "s"),
        "additionalProperties": False,
        "oneOf": [{"required": ["p"]}, {"required": ["q", "r"]}, {"not": {"required": ["s"]}}],
    },
    "constants": {
        "properties": {"p": {"enum": [1, 2]}, "q": {}, "r": {"type": "string"}},
        "allOf": [
            {"if": {"properties": {"p": {"const": 1}}}, "then": {"required": ["q"]}, "else": {"required": ["r"]}},
            {"if": {"required": ["q"]}, "then": {"required": ["s"]}},
            {"not": {"properties": {"s": {"const": 2}}, "required": ["s", "r"]}},
        ],
    },
    "nothing but": {"not": {"anyOf": [{"required": [a, b]} for a, b in itertools.combinations(NAMES, 2)]}},
    "names in other orders": {
        "anyOf": [
            {"properties": {a: {"const": 1}, b: {"const": 2}, c: {"type": "string"}}, "required": [c]}
            for a, b, c in itertools.permutations("pqr")
        ],
        "oneOf": [{"required": ["p"]}, {"properties": {"p": False}}],
    },
    "open values": {
        "oneOf": [
            {"properties": {"p": {"const": 1}}, "required": ["p"], "additionalProperties": {"type": "integer"}},
            {"properties": {"p": {"const": 2}}, "required": ["p"], "additionalProperties": {"type": "string"}},
            {"properties": {"p": {"const": "a"}}, "required": ["p"], "additionalProperties": False},
        ]
    },
    "told apart outside": {
        "properties": {"p": {"enum": ["a", "b"]}},
        "required": ["p"],
        "oneOf": [
            {"properties": {"p": {"const": "a"}, "q": {"const": 1}}},
            {"properties": {"p": {"const": "b"}, "r": {"type": "string"}}},
            {"properties": {"p": {"const": "c"}}, "required": ["s"]},
        ],
    },
    "disjoint inside, alike outside": {
        **ORDER,
        "required": ["q"],
        "oneOf": [{"required": ["p"]}, {"properties": {"q": {"const": 1}, "p": False}}, {"maxProperties": 0}],
    },
    "patterns apart": {
        "properties": {"p": {"minimum": 2}, "s": {}},
        "patternProperties": {"^p": {"type": "integer"}, "^q": {"type": "string"}, "^r": {}, "^t": {"maximum": 1}},
        "additionalProperties": {"type": "string"},
        "required": ["s"],
    },
    "patterns apart, open": {
        "properties": {"q": {"const": 1}},
        "patternProperties": {"^p": {"type": "integer"}, "^q": {"type": "integer"}, "^r": {}, "^t$": False},
    },
    "a key that all begin with": {
        "anyOf": [
            {**kinds("p", "q"), "required": ["p", "q"], "additionalProperties": False},
            {"properties": {"p": {"const": "a"}, "r": {"type": "integer"}}, "required": ["p"]},
            {"properties": {"p": {"const": 2}, "s": True}, "required": ["p", "s"], "additionalProperties": False},
            {"properties": {"p": {"const": 2}, "q": {"const": "a"}}, "required": ["p"], "maxProperties": 2},
            {"properties": {"q": {"const": 2}}, "required": ["q"]},
        ]
    },
    "conditions apart": {
        "dependentRequired": {"p": ["q"], "r": ["s"]},
        **ORDER,
        "if": {"properties": {"s": {"const": 1}}},
        "then": {"properties": {"r": {"const": 2}}},
    },
    "conditions that meet": {
        "properties": {"p": {"enum": [1, "a"]}, "q": {"type": "integer"}, "r": {}, "s": {"not": {"const": 2}}},
        "required": ["p"],
        "allOf": [{"anyOf": [{"properties": {a: {"const": 1}}}, {"required": [b]}]} for a, b in ("pq", "rs", "qs")],
        "dependentSchemas": {"q": {"properties": {"s": {"const": "a"}}}},
    },
    "conditions and keys that are counted": {
        **kinds("p", "q", "r", "s"),
        "allOf": [{"anyOf": [{"required": [a]}, {"properties": {b: {"const": 1}}}]} for a, b in ("pq", "rs", "pq")],
        "maxProperties": 2,
    },
    "not what conditions say": {**ORDER, "not": {**ORDER, "dependentRequired": {"p": ["q"], "r": ["s"]}}},
    "a condition in a branch": {
        "oneOf": [
            {**kinds("p", "q"), "dependentRequired": {"p": ["q"]}, "required": ["p"], "additionalProperties": False},
            {**ORDER, "anyOf": [{"required": ["r"]}, {"properties": {"s": {"const": 2}}}], "required": ["q", "s"]},
        ]
    },
    "counted among them": {
        **ORDER,
        "oneOf": [{"required": ["p"], "maxProperties": 2}, {"required": ["q"]}, {"properties": {"r": {"const": 1}}}],
    },
}


@pytest.fixture(params=[0, 1 << 30], ids=["united", "side by side"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    unite(monkeypatch, request.param)
    return request.param


def unite(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Unite shapes, and make values behind their key, where they are more than `few`."""
    monkeypatch.setattr(lower_objects, "FEW", few)
    monkeypatch.setattr(lower_unions, "MANY", few)


def matcher_of(schema: Any, order: PropertyOrder = "schema") -> Matcher:
    constraint = constrain.json_schema({"type": "object", **schema}, whitespace="compact", property_order=order)
    vocabulary = vocabularies.tiny()
    return constrain.compile(constraint, vocabulary, automaton=TokenAutomaton(vocabulary)).matcher()


def objects() -> Iterator[dict[str, Any]]:
    """Every object of at most three of the names and one other, in their order."""
    for names in itertools.chain.from_iterable(itertools.combinations([*NAMES, "t"], n) for n in range(5)):
        for values in itertools.product(VALUES, repeat=len(names)):
            yield dict(zip(names, values, strict=True))


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_objects_are_those_of_a_validator(name: str, order: Any, few: int) -> None:
    schema = {"type": "object", **SCHEMAS[name]}
    validator = jsonschema.Draft202012Validator(schema)
    start = matcher_of(SCHEMAS[name], order)
    is_strict = order == "any" or name not in UNORDERED
    wrong = []
    for number, value in enumerate(objects()):
        if order == "any" and number % 2:
            value = dict(reversed(value.items()))
        matcher = start.fork()
        text = json.dumps(value, separators=(",", ":"))
        accepted = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        if accepted != validator.is_valid(value) and (accepted or is_strict):
            wrong.append(text)
    assert not wrong


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_those_of_shapes_side_by_side(name: str, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    unite(monkeypatch, 0)
    united = matcher_of(SCHEMAS[name], order)
    unite(monkeypatch, 1 << 30)
    apart = matcher_of(SCHEMAS[name], order)
    for value in itertools.islice(objects(), 0, None, 7):
        pair = united.fork(), apart.fork()
        for byte in json.dumps(value, separators=(",", ":")).encode():
            assert (pair[0].mask() == pair[1].mask()).all(), (value, pair[0].text)
            unite(monkeypatch, 0)
            first = pair[0].advance_bytes(bytes([byte]))
            unite(monkeypatch, 1 << 30)
            assert pair[1].advance_bytes(bytes([byte])) == first
            if not first:
                break


@pytest.mark.parametrize("count", [3, 25, 60, 200])
def test_exactly_one_of_many_keys(count: int) -> None:
    """Differences of n branches, each with a key of its own, are not 2^n boxes. Above 45 branches, all others are
    subtracted at once."""
    branches = [{**kinds(f"p{i}"), "required": [f"p{i}"]} for i in range(count)]
    start = matcher_of({"oneOf": branches}, "any")
    for value, is_valid in [
        ({"p1": 1}, True),
        ({"p1": 1, "p2": "a"}, True),
        ({"p2": "a", "p1": 1, "x": 0}, True),
        ({f"p{count - 1}": 1, "p0": None}, True),
        ({"p1": 1, "p2": 2}, False),
        ({"p2": 2, "x": 0, "p0": 2}, False),
        ({"p1": "a"}, False),
        ({"x": 1}, False),
        ({}, False),
    ]:
        matcher = start.fork()
        accepted = matcher.advance_bytes(json.dumps(value, separators=(",", ":")).encode()) and matcher.is_accepting()
        assert accepted == is_valid, value


def test_hundreds_of_shapes_are_few_situations() -> None:
    names = [f"k{i}" for i in range(16)]
    pairs = [{"oneOf": [{"required": [a]}, {"required": [b]}]} for a, b in zip(names[::2], names[1::2], strict=True)]
    matcher = matcher_of({**kinds(*names), "allOf": pairs})
    constraint = matcher.compiled.constraint
    assert isinstance(constraint, JsonSchema)
    (box,) = constraint.normalizer.normal(constraint.document.root).objects
    assert [len(cases) for cases in box.conditions] == [2] * 8
    assert matcher.advance_bytes(b'{"k0":1')
    assert not matcher.fork().advance_bytes(b',"k1')
    assert matcher.advance_bytes(b',"k3":1,"k5":1,"k7":1,"k8":1,"k10":1,"k12":1,"k15":1')
    assert not matcher.is_accepting()
    assert matcher.advance_bytes(b',"other":{}}')
    assert matcher.is_accepting()
    assert len(matcher.compiled.rules.records) < 80


@pytest.mark.parametrize("count", [50, 200])
@pytest.mark.parametrize("names", ["payload{}", "payload"])
def test_shapes_told_apart_by_a_value_are_made_behind_its_key(count: int, names: str) -> None:
    """Each shape has a value of its own; the rules before that value are as few for 200 shapes as for 50."""
    branches = [
        {
            "properties": {"kind": {"const": f"k{i}"}, names.format(i): {"type": "array", "maxItems": i}},
            "required": ["kind", names.format(i)],
        }
        for i in range(count)
    ]
    matcher = matcher_of({"anyOf": branches})
    matcher.mask()
    matcher.advance_bytes(b'{"kind"')
    matcher.mask()
    assert len(matcher.compiled.rules.records) < 12
    matcher.advance_bytes(b':"')
    matcher.mask()
    assert len(matcher.compiled.rules.records) < 2 * count + 30
    assert matcher.advance_bytes(f'k7","{names.format(7)}":['.encode())


def test_values_with_the_same_rest_are_one_symbol() -> None:
    branches = [
        {"properties": {"kind": {"const": f"k{i}"}, "size": {"maximum": i % 3}}, "required": ["kind"]}
        for i in range(300)
    ]
    matcher = matcher_of({"anyOf": branches})
    assert matcher.advance_bytes(b'{"kind":"k2')
    matcher.mask()
    assert len(matcher.compiled.rules.records) < 20
    assert matcher.advance_bytes(b'95","size":') and not matcher.fork().advance_bytes(b"2}")
    assert matcher.advance_bytes(b"1}")
