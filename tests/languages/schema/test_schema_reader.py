"""Reading a schema shares and remembers parts: common subschemas, equal subschemas, members of long objects."""

from __future__ import annotations

import pytest

import constrain
import vocabularies
from constrain.languages.automata import decide
from constrain.languages.automata.syntax import ANY_TEXT, EMPTY, alternate, chars, concat, intersect, literals, repeat
from constrain.languages.schema.read.document import ReadOptions
from constrain.languages.schema.read.reader import COMMON, common_formulas
from constrain.languages.schema.sets.strings import plainly_some


def accepts(schema: object, text: str, **options: str) -> bool:
    constraint = constrain.json_schema(schema, **options)
    matcher = constrain.compile(constraint, vocabularies.tiny()).matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize("order", [1, -1])
def test_common_subschemas_are_kept_by_draft_and_options(order: int) -> None:
    """The same content says another thing under another draft or policy, whichever was read first."""
    integer = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    date = {"type": "object", "properties": {"a": {"type": "string", "format": "date"}}, "required": ["a"]}
    cases = [
        (integer, '{"a": 1.0}', {"dialect": "draft4", "spelling": "any"}, False),
        (integer, '{"a": 1.0}', {"dialect": "draft2020-12", "spelling": "any"}, True),
        (date, '{"a": "x"}', {"formats": "assert"}, False),
        (date, '{"a": "x"}', {"formats": "annotate"}, True),
    ]
    for schema, text, options, expected in cases[::order] * 2:
        assert accepts(schema, text, **options) is expected


def test_only_what_touches_nothing_else_is_common() -> None:
    """A residual is noted for each schema, and what names other subschemas is read for each."""
    schema = {
        "properties": {
            "a": {"type": "number", "multipleOf": 1000003},
            "b": {"type": "array", "items": {"type": "string", "minLength": 7}},
            "c": {"type": "string", "minLength": 8, "description": "c"},
        }
    }
    for _ in range(2):
        constraint = constrain.json_schema(schema)
        assert [keyword for _, keyword, _ in constraint.document.residuals] == ["multipleOf"]
    known = common_formulas(constraint.document.dialect, ReadOptions().formats)
    assert ("type", "string", "minLength", ("int", 8)) in known
    assert all(COMMON.issuperset(content[::2]) for content in known)
    assert not any(("int", 1000003) in content for content in known)


def test_the_report_takes_lists_of_types() -> None:
    schema = {"type": ["integer", "number", "null"]}
    plain, exact = (constrain.json_schema(schema, spelling=spelling).report for spelling in ("plain", "any"))
    assert [entry.note for entry in plain if entry.keyword == "type"] == [""]
    assert "also 1.0 and 12e3" in next(entry.note for entry in exact if entry.keyword == "type")


def test_the_report_names_equal_subschemas_too() -> None:
    schema = {"properties": {"a": {"type": "string", "title": "x"}, "b": {"type": "string", "default": "y"}}}
    entries = [(entry.keyword, entry.pointer, entry.status) for entry in constrain.json_schema(schema).report]
    assert entries[:5] == [
        ("properties", "$", "enforced"),
        ("type", "$.properties.a", "enforced"),
        ("title", "$.properties.a", "annotation"),
        ("type", "$.properties.b", "enforced"),
        ("default", "$.properties.b", "annotation"),
    ]


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("n", [3, 60])
def test_the_last_property_that_fits_ends_the_object(order: str, n: int) -> None:
    """No comma is offered where no member may follow, however many properties are left."""
    schema = {"properties": {f"p{i}": {"type": "integer"} for i in range(n)}, "maxProperties": 2}
    constraint = constrain.json_schema({"type": "object", **schema}, property_order=order)
    compiled = constrain.compile(constraint, vocabularies.tiny())
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b'{"p0": 1')
    assert matcher.fork().advance_bytes(b', "p2"') and matcher.advance_bytes(b', "p1": 1')
    assert not matcher.fork().advance_bytes(b",")
    assert matcher.advance_bytes(b"}")


@pytest.mark.parametrize("first", [0, 7, 29])
def test_optional_properties_are_skipped_in_order(first: int) -> None:
    schema = {"type": "object", "properties": {f"p{i}": {"const": i} for i in range(30)}, "additionalProperties": False}
    schema["required"] = ["p29"]
    matcher = constrain.compile(constrain.json_schema(schema), vocabularies.tiny()).matcher()
    assert matcher.advance_bytes(f'{{"p{first}": {first}'.encode())
    assert matcher.fork().advance_bytes(b"}") is (first == 29)
    for i in range(30):
        assert matcher.fork().advance_bytes(f', "p{i}": {i}'.encode()) is (i > first)


def test_what_is_plainly_there_is_there() -> None:
    digit = chars([(0x30, 0x39)])
    some = [ANY_TEXT, literals(["a"]), digit, repeat(digit, 3, 9), concat(digit, ANY_TEXT), alternate(EMPTY, digit)]
    none = [EMPTY, repeat(EMPTY, 1, 2), concat(digit, EMPTY), intersect(literals(["a"]), digit)]
    for node in some:
        assert plainly_some(node) and not decide.is_empty(node)
    for node in none:
        assert not plainly_some(node) and decide.is_empty(node)
