"""The strict subset of OpenAI's Structured Outputs: the checker, the converter, the way back.

Tables in `tests/data/schema_strict.toml`; limits counted to the last; random schemas, whose changes are taken at their
word: with `jsonschema` as the judge, what the strict schema accepts is read back as a valid value, and every valid
value can be written unless a change says "narrower".
"""

from __future__ import annotations

import itertools
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.errors import ConstrainError, SchemaError, UnsatisfiableError
from constrain.schema import json_schema
from constrain.schema.strict import RULES, check, violations
from constrain.schema.strict_convert import from_openai_strict, strict_reader, to_openai_strict
from constrain.schema.strict_merge import merge

TABLE = tomllib.loads((Path(__file__).parent.parent / "data" / "schema_strict.toml").read_text())


def named(rows: str) -> Any:
    return pytest.mark.parametrize("row", TABLE[rows], ids=lambda row: row["name"])


# -------------------------------------------------------------------------------------------------------- the checker


@named("violations")
def test_violations(row: dict) -> None:
    found = violations(json.loads(row["schema"]))
    assert [f"{each.pointer}: {each.message}" for each in found] == row["found"]
    assert all(each.fix for each in found)


@named("error")
def test_one_error_lists_everything(row: dict) -> None:
    with pytest.raises(SchemaError) as caught:
        check(json.loads(row["schema"]))
    assert str(caught.value) == row["message"]


def test_a_long_list_is_cut() -> None:
    wide = {"type": "object", "properties": {f"p{i}": {} for i in range(99)}, "required": [f"p{i}" for i in range(99)]}
    with pytest.raises(SchemaError) as caught:
        check(wide)
    assert str(caught.value).startswith("100 things are outside the strict subset\n")
    assert str(caught.value).count("    at $") == 50
    assert "  … and 50 more\n" in str(caught.value)


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for level in range(levels):
        schema = closed({"a": schema}) if level % 2 or level == levels - 1 else {"type": "array", "items": schema}
    return schema


def texts(count: int, size: int) -> dict[str, Any]:
    return {"type": "string", "enum": [str(i).ljust(size, "x") for i in range(count)]}


def wordy(size: int) -> dict[str, Any]:
    """Ten characters beside the two long texts, in all the places that count."""
    long_ = {"a" * size: {"type": "string", "const": "b" * 60_000}}
    return {**closed({**long_, "e": texts(2, 4)}), "$defs": {"d": {"type": "null"}}}


LIMITS = [
    ("depth", nested(10), nested(11), "11 levels of nesting; the limit is 10"),
    (
        "properties",
        closed({f"{i}": {"type": "null"} for i in range(5000)}),
        closed({f"{i}": {"type": "null"} for i in range(5001)}),
        "5001 properties in all; the limit is 5000",
    ),
    (
        "text in names, definitions, enum and const",
        wordy(59_990),
        wordy(59_991),
        "120001 characters in names and values in all; the limit is 120000",
    ),
    (
        "enum values",
        closed({"a": texts(250, 4), "b": {"type": "integer", "enum": list(range(750))}}),
        closed({"a": texts(250, 4), "b": {"type": "integer", "enum": list(range(751))}}),
        "1001 enum values in all; the limit is 1000",
    ),
    (
        "a large enum",
        closed({"a": texts(250, 61)}),
        closed({"a": texts(251, 60)}),
        "an enum of 251 values has 15060 characters; beyond 250 values the limit is 15000",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("inside", "outside", "message"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_limits(inside: dict, outside: dict, message: str) -> None:
    assert violations(inside) == []
    assert [each.message for each in violations(outside)] == [message]


def test_recursion_is_no_depth() -> None:
    assert violations(closed({"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}})) == []


def test_other_rules() -> None:
    schema = closed({"s": {"type": "string", "minLength": 2}})
    assert [each.message for each in violations(schema)] == ["minLength is outside the subset"]
    loose = RULES._replace(keywords=RULES.keywords | {"minLength"})
    assert violations(schema, loose) == []
    assert to_openai_strict(schema, rules=loose) == (schema, [])
    assert [each.message for each in violations(nested(6), RULES._replace(max_depth=5))] == [
        "6 levels of nesting; the limit is 5"
    ]


def test_keywords_beyond_recursion_limit_are_found() -> None:
    deep: dict[str, Any] = {"not": {}, "type": "null"}
    for _ in range(5000):
        deep = {"type": "array", "items": deep}
    found = [each.message for each in violations(closed({"a": deep}))]
    assert found == ["not is outside the subset", "5001 levels of nesting; the limit is 10"]


# ------------------------------------------------------------------------------------------------------ the converter


def spelt(changes: list) -> list[str]:
    return [f"{each.effect} {each.pointer}: {each.message}" for each in changes]


@named("convert")
def test_conversion(row: dict) -> None:
    given_schema = json.loads(row["schema"])
    kept = json.dumps(given_schema)
    strict, changes = to_openai_strict(given_schema)
    assert json.dumps(strict) == json.dumps(json.loads(row["strict"]))  # the order of keys too
    assert spelt(changes) == row["changes"]
    assert violations(strict) == []
    assert json.dumps(given_schema) == kept  # what was given is not touched
    json_schema(strict)
    for written, meant in row.get("values", []):
        value = from_openai_strict(json.loads(written), given_schema)
        assert value == json.loads(meant)
        judge(given_schema).validate(value)


@named("refused")
def test_refusal(row: dict) -> None:
    with pytest.raises(SchemaError) as caught:
        to_openai_strict(row["schema"])
    lines = str(caught.value).splitlines()
    found = [f"{at[7:]}: {message[2:]}" for message, at in itertools.pairwise(lines) if at[:7] == "    at "]
    assert found == row["found"]
    if "strict" not in row:  # not convertible at all
        with pytest.raises(SchemaError):
            to_openai_strict(row["schema"], lossy=True)
        return
    strict, changes = to_openai_strict(row["schema"], lossy=True)
    assert strict == json.loads(row["strict"])
    wider = [f"{each.pointer}: {each.message}" for each in changes if each.effect == "wider"]
    assert wider == [f"{line}: left out" for line in row["found"]]


def test_python_types() -> None:
    class Child(pydantic.BaseModel):
        name: str = "x"
        sizes: dict[str, int] = {}
        place: tuple[str, int] | None = None

    strict, _ = to_openai_strict(Child)
    assert violations(strict) == []
    written = {"name": None, "sizes": [{"key": "a", "value": 1}], "place": {"item_0": "b", "item_1": 2}}
    assert Child.model_validate(from_openai_strict(written, Child)) == Child(sizes={"a": 1}, place=("b", 2))


def test_faults_of_the_schema_are_those_of_json_schema() -> None:
    with pytest.raises(UnsatisfiableError):
        to_openai_strict({"type": "string", "enum": [1]})
    with pytest.raises(SchemaError, match="minLength"):
        to_openai_strict({"type": "string", "minLength": -1})


def test_values_outside_the_strict_schema_are_refused() -> None:
    with pytest.raises(ConstrainError) as caught:
        from_openai_strict({"a": "x"}, closed({"a": {"type": "integer"}}))
    assert caught.value.message == "the value does not fulfil the strict schema: 'x' is not of type 'integer'"
    assert caught.value.place == "$.a"


@pytest.mark.parametrize(
    ("a", "b", "merged", "lost"),
    [
        ({"type": ["integer", "string"]}, {"type": ["number", "null"]}, {"type": "integer"}, []),
        ({"type": "number"}, {"type": "string"}, False, []),
        ({"multipleOf": 4}, {"multipleOf": 6}, {"multipleOf": 12}, []),
        ({"multipleOf": 0.5}, {"multipleOf": 1.5}, {"multipleOf": 1.5}, []),
        ({"multipleOf": 0.4}, {"multipleOf": 0.6}, {"multipleOf": 0.4}, ["multipleOf"]),
        ({"enum": [1, "1", True]}, {"enum": [1.0, True]}, {"enum": [1, True]}, []),
        ({"minimum": 1, "maximum": 5}, {"minimum": 2, "maximum": 9}, {"minimum": 2, "maximum": 5}, []),
        ({"not": {"const": 1}}, {"not": {"const": 2}}, {"not": {"anyOf": [{"const": 1}, {"const": 2}]}}, []),
        ({"contains": {}, "minContains": 2}, {"minContains": 3}, {"contains": {}, "minContains": 2}, ["contains"]),
        ({"x-note": 1}, {"x-note": 2, "title": "t"}, {"x-note": 1, "title": "t"}, []),
        ({"dependentRequired": {"a": ["b"]}}, {"dependentRequired": {"a": ["c"]}},
         {"dependentRequired": {"a": ["b", "c"]}}, []),
        ({"properties": {"a": True}, "additionalProperties": False}, {"properties": {"b": True}, "required": ["c"]},
         {"properties": {"a": True, "b": False, "c": False}, "required": ["c"], "additionalProperties": False}, []),
        ({"anyOf": [{"type": "null"}, {"minimum": 1}]}, {"anyOf": [{"type": "null"}, {"maximum": 2}]},
         {"anyOf": [{"type": "null"}, {"allOf": [{"type": "null"}, {"maximum": 2}]},
                    {"allOf": [{"minimum": 1}, {"type": "null"}]}, {"allOf": [{"minimum": 1}, {"maximum": 2}]}]}, []),
        (True, {"type": "null"}, {"type": "null"}, []),
        ({"type": "null"}, False, False, []),
    ],
)  # fmt: skip
def test_merging(a: Any, b: Any, merged: Any, lost: list) -> None:
    assert merge(a, b) == (merged, lost)


def _is_wired() -> bool:
    try:
        json_schema(closed({}), dialect="openai-strict")
    except ConstrainError:
        return False
    return True


@pytest.mark.skipif(not _is_wired(), reason="json_schema does not know the dialect openai-strict")
def test_dialect_of_json_schema() -> None:
    schema = closed({"a": {"type": ["string", "null"]}})
    assert json_schema(schema, dialect="openai-strict").schema == schema
    with pytest.raises(SchemaError, match="1 thing is outside the strict subset"):
        json_schema({**schema, "required": []}, dialect="openai-strict")
    with pytest.raises(SchemaError, match="the root is not an object of its own"):
        json_schema('{"type": "string"}', dialect="openai-strict")


# ------------------------------------------------------------------------------------- changes, taken at their word


def judge(schema: Any) -> Any:
    return jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)


NAMES = st.sampled_from(["a", "b"])
LEAVES = st.sampled_from(
    [
        {"type": "string"}, {"type": "integer", "minimum": 1}, {"type": ["null", "string"]}, {"enum": ["x", 1, None]},
        {"const": "x"}, {"type": "string", "minLength": 1}, {"type": "boolean"}, {"type": "null"}, {"maximum": 0},
        {"type": "number", "not": {"type": "integer"}}, {"type": "string", "pattern": "^x", "maxLength": 1}, {},
        {"$ref": "#/$defs/d"}, {"$ref": "#/$defs/d", "type": "object"}, False,
    ]
)  # fmt: skip


PLAIN = st.sampled_from(
    [
        {"type": "string"}, {"type": "integer", "minimum": 1}, {"enum": ["x", 1]}, {"const": "x"}, {"type": "boolean"},
        {"type": "number", "not": {"type": "string"}}, {"type": "string", "minLength": 1}, {"$ref": "#/$defs/d"},
        {"enum": [["x", 1], "x", {}]}, {"type": "array", "items": {"type": "boolean"}, "maxItems": 1}, False,
    ]
)  # fmt: skip
"""Schemas that the subset can say in full where they are optional: without null, with a type."""


def objects(inner: st.SearchStrategy, others: list) -> st.SearchStrategy:
    return st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(NAMES, inner, min_size=1, max_size=2),
            "additionalProperties": st.sampled_from(others),
        },
        optional={
            "required": st.lists(NAMES, unique=True, max_size=2),
            "anyOf": st.just([{"required": ["a"]}, {"required": ["b"]}]),
            "minProperties": st.just(1),
        },
    )


def containers(inner: st.SearchStrategy, others: list) -> st.SearchStrategy:
    return st.one_of(
        objects(inner, others),
        st.builds(lambda a, b: {"allOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda a, b: {"oneOf": [a, b]}, inner, inner),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner}, optional={"minItems": st.just(1), "maxItems": st.just(1)}
        ),
        st.builds(lambda a, b: {"prefixItems": [a, b], "type": "array", "minItems": 2, "maxItems": 2}, inner, inner),
        st.builds(lambda a: {"type": "object", "additionalProperties": a, "maxProperties": 1}, inner),
    )


def schemas(leaves: st.SearchStrategy, others: list) -> st.SearchStrategy:
    nested = objects(st.recursive(leaves, lambda inner: containers(inner, others), max_leaves=5), others)
    return st.builds(lambda schema, d: {**schema, "$defs": {"d": d}}, nested, objects(leaves, others))


SCHEMAS = st.one_of(
    schemas(LEAVES, [True, False, {"type": "string"}]), schemas(PLAIN, [False]), schemas(PLAIN, [False])
)


def written_values(strict: dict, node: dict, depth: int = 3) -> list:
    """Some values of a strict schema, by its own words."""
    if "$ref" in node:
        target = strict if node["$ref"] == "#" else strict["$defs"][node["$ref"].rpartition("/")[2]]
        return written_values(strict, target, depth - 1) if depth else []
    if "anyOf" in node:
        return [value for each in node["anyOf"] for value in written_values(strict, each, depth)[:4]]
    if "const" in node:
        return [node["const"]]
    if "enum" in node:
        return node["enum"]
    if node["type"] == "object":
        parts = [written_values(strict, inner, depth)[:4] for inner in node["properties"].values()]
        some = itertools.islice(itertools.product(*parts), 12)
        return [dict(zip(node["properties"], each, strict=True)) for each in some]
    if node["type"] == "array":
        inner = written_values(strict, node["items"], depth)[:2]
        lists = [[], *([value] for value in inner), *(list(pair) for pair in itertools.product(inner, inner))]
        return [value for value in lists if node.get("minItems", 0) <= len(value) <= node.get("maxItems", 9)]
    plain = ["", "x", "yy", 1, 0, -1, 0.5, True, None]
    return [value for value in plain if judge(node).is_valid(value)]


def meant_values(depth: int = 2) -> list:
    """Small values, to be found among those that can be written."""
    plain: list = ["x", "", 1, 0.5, None, True]
    if not depth:
        return plain
    inner = meant_values(depth - 1)[: 6 if depth > 1 else 4]
    pairs = [{"a": a, "b": b} for a in inner[:4] for b in inner[:4]]
    return [*plain, {}, [], *([a] for a in inner), *({"a": a} for a in inner), *({"b": b} for b in inner), *pairs]


VALUES = meant_values(1) + [{"a": value} for value in meant_values(1)] + [{"b": value} for value in meant_values(1)]


def spellings(value: Any, strict: dict, node: dict, depth: int = 4) -> list:
    """The ways in which a value may be written under a strict subschema, as far as the four codes go."""
    if "$ref" in node:
        target = strict if node["$ref"] == "#" else strict["$defs"][node["$ref"].rpartition("/")[2]]
        return spellings(value, strict, target, depth - 1) if depth else []
    if "anyOf" in node:
        return [each for branch in node["anyOf"] for each in spellings(value, strict, branch, depth)]
    properties = node.get("properties", {})
    if isinstance(value, dict) and "items" in node:
        pairs = [{"key": key, "value": each} for key, each in value.items()]
        return spellings(pairs, strict, node, depth)
    if isinstance(value, list) and properties:
        value = {f"item_{i}": each for i, each in enumerate(value)}
    if isinstance(value, dict):
        if not value.keys() <= properties.keys():
            return []
        ways = [
            spellings(value[name], strict, inner, depth) if name in value else [None]
            for name, inner in properties.items()
        ]
        return [dict(zip(properties, each, strict=True)) for each in itertools.product(*ways)]
    if isinstance(value, list):
        ways = [spellings(each, strict, node.get("items", {}), depth) for each in value]
        return [list(each) for each in itertools.product(*ways)]
    return [value]


@settings(max_examples=200, deadline=None)
@given(SCHEMAS)
def test_changes_are_true(schema: dict) -> None:
    try:
        strict, changes = to_openai_strict(schema)
    except (SchemaError, UnsatisfiableError):
        return
    assert violations(strict) == []
    assert all(each.effect in ("same", "coded", "narrower") for each in changes)
    original, written, read = judge(schema), judge(strict), strict_reader(schema)
    for value in written_values(strict, strict):
        assert original.is_valid(read(value)), (value, read(value))
    if any(each.effect == "narrower" for each in changes):
        return
    wrapped = any(each.message.startswith("the root is not an object") for each in changes)
    for value in VALUES:
        ways = spellings(value, strict, strict["properties"]["value"] if wrapped else strict)
        ways = [{"value": each} for each in ways] if wrapped else ways
        ways = [each for each in ways if written.is_valid(each)]
        if original.is_valid(value):
            assert any(read(each) == value for each in ways), value


@settings(max_examples=100, deadline=None)
@given(SCHEMAS)
def test_lossy_conversion_loses_only_what_it_says(schema: dict) -> None:
    try:
        strict, changes = to_openai_strict(schema, lossy=True)
    except (SchemaError, UnsatisfiableError):
        return
    assert violations(strict) == []
    original, read = judge(schema), strict_reader(schema)
    if not any(each.effect == "wider" for each in changes):
        assert to_openai_strict(schema) == (strict, changes)
        assert all(original.is_valid(read(value)) for value in written_values(strict, strict))
