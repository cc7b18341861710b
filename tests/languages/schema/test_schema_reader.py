"""Reading a schema shares and remembers parts: common and equal subschemas, members of long objects, last texts.

A schema without `$id` has an address; `x-span` reads documents of the call.
"""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import pytest
import referencing
from naive_schema import recognises
from pydantic import BaseModel, Field
from referencing.jsonschema import DRAFT202012

import constrain
import vocabularies
from constrain import json_schema
from constrain.errors import ConstrainError, SchemaError
from constrain.languages.automata import decide
from constrain.languages.automata.syntax import ANY_TEXT, EMPTY, alternate, chars, concat, intersect, literals, repeat
from constrain.languages.schema.read.document import ReadOptions
from constrain.languages.schema.read.reader import COMMON, common_formulas
from constrain.languages.schema.recent import CHARACTERS, SHARE, Recent
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


def test_results_are_kept_within_both_bounds() -> None:
    made: list[str] = []

    def make(kind: str, text: str, more: int) -> tuple[str, int, int]:
        made.append(text[:20])
        return kind, len(text), more

    recent, draw = Recent(make, 10), random.Random(3)
    for _ in range(300):
        length = draw.choice([5, 1000, CHARACTERS // SHARE, CHARACTERS // SHARE + 1])
        text = str(draw.randrange(4)).ljust(length, "x")
        assert recent("json", text, 7) == ("json", length, 7)
        assert len(recent.results) <= 10
        assert sum(len(str(key[1])) for key in recent.results) <= CHARACTERS
    recent.results.clear()
    made.clear()
    for text in ("a", "b", "a", "c", "a"):
        recent("regex", text, 0)
    assert made == ["a", "b", "c"]  # what is asked for again is kept


def test_the_oldest_goes_first_and_long_texts_are_not_kept() -> None:
    made: list[str] = []
    recent = Recent(lambda kind, text: made.append(text[:1]), 2)
    long = "z" * (CHARACTERS // SHARE + 1)
    for text in ("a", "b", "a", "c", long, long, "a", "b"):
        recent("json", text)
    assert made == ["a", "b", "c", "z", "z", "b"]


INTEGER = {"type": "integer", "$defs": {"a": {"$anchor": "here", "type": "null"}}}
FAULTS: list[Any] = [[1], {"$id": 5}, {"$defs": [1]}, {"$defs": {"a": ["x"]}}, {"allOf": ["x"]}]


def registry_of(**documents: Any) -> Any:
    """A registry of documents under one site; a name stands for `https://example.org/name.json`."""
    pairs = ((f"https://example.org/{name}.json", each) for name, each in documents.items())
    return referencing.Registry().with_resources((uri, DRAFT202012.create_resource(each)) for uri, each in pairs)


def takes(schema: Any, text: str, registry: Any) -> bool:
    return recognises(json_schema(schema, registry=registry).to_grammar(), text)


@pytest.mark.parametrize("ref", ["base.json", "./base.json", "/base.json"])
def test_a_schema_without_id_has_the_address_that_the_registry_gives_it(ref: str) -> None:
    schema = {"items": {"$ref": ref}}
    registry = registry_of(base=INTEGER, main=dict(schema))
    assert takes(schema, "[1]", registry) and not takes(schema, '["a"]', registry)
    with pytest.raises(SchemaError, match=r"base\.json"):
        json_schema(schema, registry=registry_of(base=INTEGER))  # nothing says what it is relative to
    with pytest.raises(SchemaError, match=r"base\.json"):
        json_schema(schema, registry=registry_of(base=INTEGER, main=schema, twin=schema))  # two addresses


def test_an_id_goes_before_the_registry() -> None:
    schema = {"$id": "https://example.org/inner/main.json", "$ref": "base.json"}
    with pytest.raises(SchemaError, match=r"base\.json"):
        json_schema(schema, registry=registry_of(base=INTEGER, main=schema))


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_malformed_document_hinders_no_reference_to_another(fault: Any) -> None:
    registry = registry_of(base=INTEGER, bad=fault)
    assert takes({"$ref": "https://example.org/base.json#here"}, "null", registry)  # an anchor: all are walked
    assert not takes({"$ref": "https://example.org/base.json#here"}, "1", registry)
    with pytest.raises(SchemaError):
        json_schema({"$ref": "https://example.org/bad.json#here"}, registry=registry)


ARTICLE = 'The "old" harbour\nof Genoa is older than that of Turin. It is large.'


class Answer(BaseModel):
    quotes: list[str] = Field(json_schema_extra={"items": {"type": "string", "x-span": {"document": "article"}}})
    where: str = Field(max_length=12, json_schema_extra={"x-span": {"document": "article", "unit": "char"}})


def test_a_type_quotes_a_document() -> None:
    constraint = json_schema(Answer, documents={"article": ARTICLE})
    assert {line.status for line in constraint.report if line.keyword == "x-span"} == {"enforced"}
    assert pickle.loads(pickle.dumps(constraint)) == constraint != json_schema(Answer, documents={"article": "a b"})
    good = Answer(quotes=['"old" harbour\nof', "It"], where="Genoa is")
    assert constraint.parse(good.model_dump_json()) == good and constraint.accepts(good.model_dump_json())
    for bad in (Answer(quotes=["old harbour"], where="G"), Answer(quotes=[], where="harbour of")):
        assert not constraint.accepts(bad.model_dump_json())


@pytest.mark.parametrize("undeclared", ["allow", "avoid", "refuse"])
def test_what_a_model_writes_stands_in_the_document(undeclared: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"type": "array", "items": {"$ref": "#/$defs/q"}, "uniqueItems": True, "maxItems": 3}},
        "required": ["q"],
        "additionalProperties": False,
        "$defs": {"q": {"type": "string", "x-span": {"document": "article"}, "maxLength": 30, "minLength": 4}},
    }
    constraint = json_schema(schema, documents={"article": ARTICLE}, undeclared=undeclared)
    outputs = constrain.generate(
        constrain.reference.load(), "Quote:", constraint=constraint, n=12, seed=1, max_tokens=80, complete=True
    )
    for g in outputs:
        quotes = json.loads(g.text)["q"]
        assert len(set(quotes)) == len(quotes) <= 3
        assert all(quote in ARTICLE and 4 <= len(quote) <= 30 and quote == quote.strip() for quote in quotes)
    assert sum(len(json.loads(g.text)["q"]) for g in outputs) > 0


def test_errors_name_the_documents_of_the_call() -> None:
    with pytest.raises(SchemaError, match="there is no document 'b': there are 'a'"):
        json_schema({"x-span": {"document": "b"}}, documents={"a": "text"})
    for given in ({"a": 3}, ["a"], "a"):
        with pytest.raises(ConstrainError, match="documents= has a text for each name"):
            json_schema({}, documents=given)  # type: ignore[arg-type]


def test_a_long_document_with_a_length() -> None:
    numbers = " ".join(map(str, range(20_000)))
    schema = {"type": "string", "x-span": {"document": "numbers"}, "minLength": 20, "maxLength": 40}
    constraint = json_schema(schema, documents={"numbers": numbers}, limits=constrain.Limits(seconds=60))
    matcher = constrain.compile(constraint, vocabularies.tiny()).matcher()
    assert matcher.advance_bytes(b'"31 32 33 34 35')
    assert not matcher.advance_bytes(b'"')
    assert matcher.advance_bytes(b' 36 37 38 39 40 41 42 43"')
    assert matcher.is_accepting()
