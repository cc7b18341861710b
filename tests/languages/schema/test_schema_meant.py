"""Schemas that constrain less than was meant: wrappers are refused, misspelt keywords told, and objects are objects."""

import warnings
from typing import Any

import pytest

import constrain
from constrain.languages.schema.read.keywords import KEYWORDS
from constrain.languages.schema.read.meant import SAID, meant

BOOK: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
UNTYPED: dict[str, Any] = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
NAMED = {"name": "book", "strict": True, "schema": BOOK}
WRAPPED: list[tuple[Any, str]] = [
    (NAMED, "schema['schema']"),
    ({"name": "book", "schema": True, "parameters": BOOK}, "schema['parameters']"),
    ({"type": "json_schema", "json_schema": NAMED}, "schema['json_schema']['schema']"),
    (
        {"response_format": {"type": "json_schema", "json_schema": NAMED}},
        "['response_format']['json_schema']['schema']",
    ),
    ({"name": "m", "inputSchema": BOOK}, "schema['inputSchema']"),
    ({"name": "m", "input_schema": UNTYPED, "description": "x"}, "schema['input_schema']"),
    ({"type": "function", "function": {"name": "m", "parameters": BOOK}}, "schema['function']['parameters']"),
    ({"openapi": "3.1.0", "components": {"schemas": {"Book": BOOK}}}, "#/components/schemas/Name"),
    ({"swagger": "2.0", "definitions": {"Book": BOOK}}, "#/definitions/Name"),
]


@pytest.mark.parametrize(("given", "fix"), WRAPPED)
def test_what_wraps_a_schema_is_no_schema(given: Any, fix: str) -> None:
    with pytest.raises(constrain.SchemaError, match="takes any JSON value") as caught:
        constrain.json_schema(given)
    assert fix in str(caught.value)


MISSPELT = [
    "propertys", "maxLenght", "minlength", "require", "item", "additional_properties", "anyof", "enums", "patern",
]  # fmt: skip


@pytest.mark.parametrize("key", MISSPELT)
def test_a_misspelt_keyword_is_told(key: str) -> None:
    with pytest.warns(UserWarning, match=rf"{key!r} at \$.properties.a is no keyword.* did you mean"):
        constraint = constrain.json_schema({"type": "object", "properties": {"a": {"type": "string", key: {}}}})
    assert [line.pointer for line in constraint.report if "did you mean" in line.note] == ["$.properties.a"]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("emial", "email"),
        ("datetime", "date-time"),
        ("Date", "date"),
        ("ip_v4", "ipv4"),
        ("UUID", "uuid"),
        ("guid", "uuid"),
    ],
)
def test_a_misspelt_format_is_told(name: str, known: str) -> None:
    with pytest.warns(UserWarning, match=rf"no format {name!r} at \$.items, .* did you mean {known!r}"):
        constrain.json_schema({"type": "array", "items": {"type": "string", "format": name}})


def test_what_is_misspelt_is_told_of_every_schema_that_has_it() -> None:
    """Formulas of common subschemas are kept for other schemas; what they say to the user is not lost with them."""
    for keyword in ("items", "contains", "items"):
        for part, named in (
            ({"type": "string", "format": "emial"}, "email"),
            ({"type": "string", "patern": 1}, "pattern"),
        ):
            with pytest.warns(UserWarning, match=f"did you mean '{named}'"):
                constrain.json_schema({"type": "array", keyword: part})


def test_formats_of_others_are_annotations() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("int32", "int64", "float", "double", "byte", "binary", "password", "color", "phone", ""):
            constrain.json_schema({"format": name})


def test_every_keyword_is_found_behind_one_wrong_letter() -> None:
    for name in (each for each in KEYWORDS if each.isalpha() and len(each) > 4):
        for at in range(1, len(name)):
            key = name[:at] + name[at + 1 :]
            assert key in KEYWORDS or key in SAID or meant(key) is not None, key


@pytest.mark.parametrize("key", ["x-order", "name", "unit", "label", "options", "propertyOrder", "example", "$comment"])
def test_other_keys_are_annotations(key: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constrain.json_schema({"type": "string", key: "a"})
        constrain.json_schema({"type": "object", "properties": {"propertys": {}, "schema": {}}})


def test_a_root_without_keywords_is_told() -> None:
    with pytest.warns(UserWarning, match="no key of the schema is a keyword"):
        constrain.json_schema({"city": "Bern", "days": 3})


DEFINED: list[tuple[dict[str, Any], str]] = [
    ({"$defs": {"Book": BOOK}}, '"#/$defs/Book"}?'),
    (
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "definitions": {"Author": BOOK, "Book": BOOK}},
        '"#/definitions/Book"}, or',
    ),
    ({"title": "Author", "$defs": {"Author": BOOK, "Book": BOOK}}, '"#/$defs/Author"}, or another of its 2'),
    ({"$id": "urn:x", "$defs": {"a/b c": True}}, '"#/$defs/a~1b%20c"}?'),
]


@pytest.mark.parametrize(("given", "fix"), DEFINED)
def test_definitions_alone_are_told(given: dict[str, Any], fix: str) -> None:
    with pytest.warns(UserWarning, match="no keyword that uses one, so it takes any JSON value") as told:
        constrain.json_schema(given)
    assert fix in str(told[0].message)
    pointer = fix.split('"')[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constrain.json_schema({**given, "$ref": pointer})
        constrain.json_schema({"title": "any", "$defs": {}})


OBJECTS: list[tuple[Any, list[str], list[str]]] = [  # what is taken either way, and what is taken as it is written only
    (UNTYPED, ['{"a": "x"}'], ["1", "null"]),
    ({"required": ["a"]}, ['{"a": 1}'], ["1"]),
    ({"type": "array", "items": UNTYPED}, ['[{"a": "x"}]'], ["[1]"]),
    ({"$defs": {"U": UNTYPED}, "$ref": "#/$defs/U"}, ['{"a": "x"}'], ["1"]),
    ({"allOf": [UNTYPED, {"properties": {"b": {}}}]}, ['{"a": "x", "b": 1}'], ["1"]),
    ({"anyOf": [UNTYPED, {"type": "null"}]}, ['{"a": "x"}', "null"], ["1"]),
    ({"type": ["object", "null"], **UNTYPED}, ['{"a": "x"}', "null"], []),
    ({"enum": [1, {"a": "x"}], "required": ["a"]}, ["1", '{"a": "x"}'], []),
]


@pytest.mark.parametrize(("given", "both", "written"), OBJECTS)
def test_properties_mean_an_object_where_text_is_generated(given: Any, both: list[str], written: list[str]) -> None:
    made = constrain.json_schema(given, undeclared="avoid")
    assert [made.accepts(text) for text in both + written] == [True] * len(both) + [False] * len(written)
    as_written = constrain.json_schema(given)
    assert all(as_written.accepts(text) for text in both + written)
    assert any(line.keyword == "(object)" for line in made.report) == bool(written)


def test_nullable_is_told() -> None:
    given = {"type": "string", "nullable": True}
    [line] = [line for line in constrain.json_schema(given).report if line.keyword == "nullable"]
    assert "dialect='openapi-3.0'" in line.note
    assert constrain.json_schema(given, dialect="openapi-3.0").accepts("null")


@pytest.mark.parametrize(("limits", "written"), [({"maxLength": 5}, "{0,5}"), ({"minLength": 3}, "{3,}")])
def test_the_fix_of_a_length_has_its_number(limits: dict[str, int], written: str) -> None:
    schema = {**BOOK, "properties": {"a": {"type": "string", **limits}}, "additionalProperties": False}
    [fault] = constrain.schema.violations(schema)
    assert fault.fix is not None and written in fault.fix
