"""Arguments as elements: the texts of all small values, against a plain encoder and jsonschema."""

import json
import random
import re
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import jsonschema
import pytest
import referencing

import constrain
from constrain import tags
from constrain.chat.tags.parameters import STYLES
from work import counted

VOCABULARY = constrain.Vocabulary.of_bytes()
M3 = "]<]minimax[>["
SCALARS: list[Any] = [None, True, 3, 0.5, "x", "é<a>", ""]
ITEMS: list[Any] = [*SCALARS, [], ["x"], [3, "x"], [["x"]], {}, {"a": 3}, {"a": "x", "b": 3}, {"b": {"a": None}}]
VALUES = [
    {}, *({"a": one} for one in ITEMS), *({"b": one} for one in ITEMS),
    *({"a": one, "b": two} for one, two in product(ITEMS, repeat=2)), {"a": [1, 2, 3]}, {"a": {"a": {"a": None}}},
    {"b": 3, "a": 3}, {"c": 3},
]  # fmt: skip
INTEGER = {"type": "integer"}
ANY = {"$ref": "#/$defs/any"}
OPTIONAL_SELF = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/itself"}]}
DEFINITIONS = {
    "itself": {"type": "object", "properties": {"a": OPTIONAL_SELF}, "additionalProperties": False},
    "any": {
        "type": ["null", "boolean", "number", "string", "array", "object"],
        "items": {"$ref": "#/$defs/any"},
        "additionalProperties": False,
    },
}
INNER = {"type": "object", "properties": {"a": INTEGER}, "required": ["a"], "additionalProperties": False}
FEW = {"enum": ["x", {"a": 3}, ["x"]]}
SCHEMAS: dict[str, Any] = {
    "scalars": {"properties": {"a": {"type": ["string", "null"]}, "b": INTEGER}, "required": ["a"]},
    "any": {"properties": {"a": ANY, "b": ANY}},
    "arrays": {"properties": {"a": {"type": "array", "items": {"type": ["integer", "string"]}, "minItems": 1}}},
    "bounded": {"properties": {"a": {"type": ["array", "null"], "items": INTEGER, "maxItems": 2}, "b": False}},
    "tuples": {"properties": {"a": {"type": "array", "prefixItems": [INTEGER, {"type": "string"}], "items": False}}},
    "contains": {"properties": {"a": {"type": "array", "items": ANY, "contains": INTEGER, "maxContains": 2}, "b": ANY}},
    "nested": {"properties": {"a": INNER, "b": INTEGER}},
    "recursive": {"properties": {"a": OPTIONAL_SELF}},
    "either": {"properties": {"a": {"oneOf": [INTEGER, {"type": "array", "items": ANY}]}, "b": FEW}},
    "counted": {"properties": {"a": ANY, "b": ANY}, "minProperties": 1, "maxProperties": 1},
    "constants": {"properties": {"a": {"const": [3, "x"]}, "b": {"allOf": [ANY, {"not": {"type": "string"}}]}}},
}  # fmt: skip
INT_A = {"properties": {"a": INTEGER}, "required": ["a"]}
CLOSED = {"additionalProperties": False}
BOTH = {"properties": {"a": ANY, "b": ANY}}
COMBINED: dict[str, tuple[str, Any]] = {  # by name: the declared properties, which come first; a schema
    "nothing declared": ("", {}),
    "all of": ("ab", {"allOf": [INT_A, {"properties": {"a": {"minimum": 3}, "b": ANY}}]}),
    "by pattern": ("a", {"properties": {"a": ANY}, "patternProperties": {"^[bc]$": INTEGER}, **CLOSED}),
    "others": ("a", {"properties": {"a": INTEGER}, "additionalProperties": {"type": ["string", "null"]}}),
    "by name": ("ac", {"properties": {"a": ANY}, "propertyNames": {"enum": ["a", "c"]}}),
    "at most one": ("ab", {**BOTH, "maxProperties": 1, "additionalProperties": ANY}),
    "at least two": ("a", {"properties": {"a": ANY}, "minProperties": 2, "additionalProperties": ANY}),
    "a reference": ("a", {"$ref": "#/$defs/inner"}),
    "either": ("ab", {"anyOf": [{**INT_A, **CLOSED}, {"properties": {"b": ANY}, **CLOSED}]}),
    "one asks for another": ("ab", {**BOTH, "dependentRequired": {"a": ["b"]}, **CLOSED}),
    "a condition": ("ab", {**BOTH, "if": {"properties": {"a": {"const": 3}}}, "then": {"required": ["b"]}, **CLOSED}),
}  # fmt: skip


def encoded(value: Any, form: str, is_whole: bool = True) -> str:
    """A value in a form; of an object or an array, what stands in its element."""
    if isinstance(value, str):
        return value
    if form in STYLES and not is_whole:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "".join(element(name, one, form) for name, one in value.items())
    if isinstance(value, list):
        return "".join(element(None, one, form) for one in value)
    return json.dumps(value)


TYPES = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array",
         dict: "object"}  # fmt: skip


def element(name: str | None, value: Any, form: str) -> str:
    if form == "minimax-m3":
        return f"{M3}<{name or 'item'}>{encoded(value, form)}{M3}</{name or 'item'}>"
    if form == "qwen":
        return f"<parameter={name}>{encoded(value, form, False)}</parameter>"
    if form == "kimi-k3":
        begin = f'<|open|>argument key="{name}" type="{TYPES[type(value)]}"<|sep|>'
        return f"{begin}{encoded(value, form, False)}<|close|>argument<|sep|>"
    kind = {str: "raw", dict: "dict", list: "list"}.get(type(value), "json")
    named = f' name="{name}"' if name else ""
    return f'<cofl:value{named} type="{kind}">{encoded(value, form)}</cofl:value>'


def readings(value: Any, form: str, is_whole: bool = True) -> Iterator[Any]:
    """The values that are written like a value: where no element says the kind, `3` is a text too."""
    if form in STYLES and not is_whole:
        yield value
        if form == "qwen" and not isinstance(value, str):
            yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, dict):
        for parts in product(*(readings(one, form, False) for one in value.values())):
            yield dict(zip(value, parts, strict=True))
    elif isinstance(value, list):
        yield from map(list, product(*(readings(one, form, False) for one in value)))
    else:
        yield value
    if form == "minimax-m3" and not is_whole and (value in ("", [], {}) or not isinstance(value, dict | list | str)):
        yield from ["", [], {}] if value in ("", [], {}) else [json.dumps(value)]


def in_order(value: Any, order: str) -> bool:
    """True if the properties of objects come in order."""
    if isinstance(value, list):
        return all(in_order(one, order) for one in value)
    if not isinstance(value, dict):
        return True
    return (order == "any" or list(value) == sorted(value)) and all(in_order(one, order) for one in value.values())


def verdict(compiled: constrain.CompiledConstraint, text: str) -> bool:
    matcher = compiled.matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("form", ["cohere", "minimax-m3", "qwen", "kimi-k3"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_members_are_the_encoded_values(name, form, order):
    schema = {"type": "object", "additionalProperties": False, "$defs": DEFINITIONS, **SCHEMAS[name]}
    constraint = tags.parameters(schema, form, make=lambda given: constrain.json_schema(given, property_order=order))
    compiled = constrain.compile(constraint, VOCABULARY)
    validator = jsonschema.Draft202012Validator(schema)
    texts: dict[str, bool] = {}
    for value in VALUES:
        texts[encoded(value, form)] = any(
            validator.is_valid(read) and in_order(read, order) for read in readings(value, form)
        )
    assert sum(texts.values()) >= 3
    assert {text for text, is_member in texts.items() if verdict(compiled, text) != is_member} == set()


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("form", ["cohere", "qwen", "kimi-k3"])
@pytest.mark.parametrize("name", COMBINED)
def test_all_keywords_of_the_object_count(name, form, order):
    declared, stated = COMBINED[name]
    schema = {"type": "object", "$defs": {**DEFINITIONS, "inner": INNER}, **stated}
    constraint = tags.parameters(schema, form, make=lambda given: constrain.json_schema(given, property_order=order))
    compiled = constrain.compile(constraint, VOCABULARY)
    validator = jsonschema.Draft202012Validator(schema)
    members = 0
    for value in [*VALUES, {"c": "x", "a": 3}, {"a": 3, "c": "x"}, {"a": 3, "b": 3, "c": 3}, {"c": None}]:
        known = [key for key in value if key in declared]
        comes = order == "any" or list(value)[: len(known)] == sorted(known)
        expected = comes and any(map(validator.is_valid, readings(value, form)))
        assert verdict(compiled, encoded(value, form)) == expected, value
        members += expected
    assert members >= 1


def test_undeclared_properties_are_written_where_the_schema_says_so():
    schema = {"type": "object", "properties": {"a": {}}}
    compiled = constrain.compile(tags.parameters(schema, "cohere"), VOCABULARY)
    assert verdict(compiled, encoded({"a": [1, {}]}, "cohere"))
    assert not verdict(compiled, encoded({"b": 1}, "cohere"))
    opened = constrain.compile(tags.parameters({**schema, "additionalProperties": True}, "cohere"), VOCABULARY)
    assert verdict(opened, encoded({"b": 1}, "cohere"))
    ends_with_names = tags.parameters({**schema, "additionalProperties": True}, "minimax-m3")
    assert not verdict(constrain.compile(ends_with_names, VOCABULARY), encoded({"b": 1}, "minimax-m3"))


def test_undeclared_names():
    """Undeclared names may repeat and count once for `minProperties`; they have no blanks, quotes and brackets."""
    schema = {"type": "object", "properties": {"a": INTEGER}, "patternProperties": {"^-": INTEGER}, "minProperties": 2}
    compiled = constrain.compile(tags.parameters({**schema, "additionalProperties": False}), VOCABULARY)
    one, other = element("a", 1, "qwen"), element("-x", 1, "qwen")
    assert [verdict(compiled, text) for text in (one + other, one + other * 2, other * 2)] == [True, True, False]
    assert not any(verdict(compiled, one + element(f"-{c}", 1, "qwen")) for c in " \t\n\"'<>&")
    free = constrain.compile(tags.parameters({"type": "object"}), VOCABULARY)
    assert [verdict(free, element(name, 1, "qwen")) for name in ("a_1", "1a", "a-b", "")] == [True, False, False, False]


RAW = [("a<b", True), ("</cofl:value", True), ("</cofl:value>x", False), (M3, True), ("&lt;", True)]


@pytest.mark.parametrize(("text", "inside"), RAW)
def test_raw_text_ends_with_its_element(text, inside):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    compiled = constrain.compile(tags.parameters(schema, "cohere"), VOCABULARY)
    assert verdict(compiled, f'<cofl:value name="a" type="raw">{text}</cofl:value>') == inside


def test_whitespace_between_elements_is_as_little_as_is_asked_for():
    form = {"type": "json_schema", "style": "minimax_m3_xml", "max_whitespace_cnt": 1}
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]}
    compiled = constrain.compile(tags.structural_tag({"format": {**form, "json_schema": schema}}), VOCABULARY)
    a, b = element("a", "x", "minimax-m3"), element("b", "y", "minimax-m3")
    assert [verdict(compiled, text) for text in (a + b, f"{a}\n{b} ", f"{a}\n\n{b}")] == [True, True, False]
    none = tags.structural_tag({"format": {**form, "max_whitespace_cnt": 0, "json_schema": schema}})
    assert not verdict(constrain.compile(none, VOCABULARY), f"{a}\n{b}")


def test_names_are_written_as_models_write_them():
    schema = {"type": "object", "properties": {'a"&<': {"type": "integer"}}}
    cohere = constrain.compile(tags.parameters(schema, "cohere"), VOCABULARY)
    assert verdict(cohere, '<cofl:value name="a"&<" type="json">1</cofl:value>')
    kimi = constrain.compile(tags.parameters(schema, "kimi-k3"), VOCABULARY)
    begin = '<|open|>argument key="a&quot;&amp;<" type="number"<|sep|>'
    assert verdict(kimi, f"{begin}1<|close|>argument<|sep|>")


def test_elements_in_any_order():
    schema = {"type": "object", "properties": {"a": INTEGER, "b": INTEGER, "c": INTEGER}, "required": ["a", "b"]}
    make = lambda given: constrain.json_schema(given, property_order="any")  # noqa: E731
    compiled = constrain.compile(tags.parameters(schema, "qwen", make=make), VOCABULARY)
    for n in range(4):
        for names in product("abc", repeat=n):
            text = "".join(f"<parameter={name}>1</parameter>" for name in names)
            assert verdict(compiled, text) == (len(set(names)) == n and {"a", "b"} <= set(names)), text


@pytest.mark.parametrize("form", ["qwen", "cohere", "gemma4", "pythonic"])
@pytest.mark.parametrize(
    ("size", "more"),
    [(3, {}), (4, {"minProperties": 3}), (4, {"maxProperties": 2}), (30, {}), (30, {"minProperties": 29})],
)
def test_elements_in_any_order_by_the_definition(form: str, size: int, more: dict[str, Any]) -> None:
    """Many properties cost no more than few: the rules of an order are made when a text reaches them."""
    names, source = [f"p{i}" for i in range(size)], random.Random(f"{form} {size} {more}")
    schema = {"type": "object", "properties": dict.fromkeys(names, INTEGER), "additionalProperties": False, **more}
    whole = constrain.json_schema({**schema, "required": names[:2]}, property_order="any")
    compiled = constrain.compile(tags.parameters(whole, form), VOCABULARY)
    for _ in range(40):
        written = source.sample(names, source.randint(0, size)) + source.sample(names, source.choice([0, 0, 0, 1]))
        member = len(set(written)) == len(written) and {"p0", "p1"} <= set(written)
        member = member and more.get("minProperties", 0) <= len(written) <= more.get("maxProperties", size)
        parts = [
            {"gemma4": f"{name}:1", "pythonic": f"{name}=1"}.get(form) or element(name, 1, form) for name in written
        ]
        text = {"gemma4": ",", "pythonic": ", "}.get(form, "").join(parts)
        assert verdict(compiled, text) == member, text


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
            "'uniqueItems' is decided on the finished value",
        ),
        ({"a": {"type": "string", "format": "regex"}}, "'format' is decided on the finished value"),
        ({"a": {"type": "string", "pattern": "</cofl:value>"}}, "derives no text"),
        ({"a": {"minProperties": 2, "maxProperties": 3, "type": "object"}}, "minProperties asks for 2 names"),
        ({"a": {"type": "object", "not": {"additionalProperties": INTEGER}}}, "a condition on some undeclared"),
    ],
)
def test_faults(properties, message):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    make = lambda given: constrain.json_schema(given, property_order="any")  # noqa: E731
    for style in ("cohere", *(["qwen"] if "'format'" in message else [])):
        with pytest.raises(constrain.ConstrainError, match=re.escape(message)):
            tags.parameters(schema, style, make=make).to_grammar()


@pytest.mark.parametrize("reference", ["#", "#/properties/b", "other.json"])
def test_a_value_that_stands_alone_refers_to_definitions_only(reference):
    """`#` would be the value itself."""
    schema = {"type": "object", "properties": {"a": {"items": {"$ref": reference}}, "b": {}}}
    registry = referencing.Registry().with_contents(
        [("other.json", {"$schema": "https://json-schema.org/draft/2020-12/schema"})]
    )
    with pytest.raises(constrain.SchemaError, match=r"means something else where the value stands alone") as caught:
        tags.parameters(schema, make=partial(constrain.json_schema, registry=registry))
    assert "$.properties.a" in str(caught.value)


@pytest.mark.parametrize("style", sorted(STYLES))
def test_blanks_between_parameters_end(style: str) -> None:
    """A line end and an indentation, before and after a number too; a second line end is refused."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}
    matcher = constrain.compile(tags.parameters(schema, style), constrain.Vocabulary.of_bytes()).matcher()
    form = STYLES[style]
    before = form.other.format(name="a", quoted="a", kind="number", space="")
    for text in (before, "1", form.close):
        for _ in range(8):
            assert matcher.advance_bytes(b"\t")
        assert matcher.advance_bytes(b"\n")
        assert not matcher.advance_bytes(b"\n")
        for _ in range(8):
            assert matcher.advance_bytes(b" ")
        assert not matcher.advance_bytes(b" ") and not matcher.advance_bytes(b"\t") and not matcher.advance_bytes(b"\r")
        assert matcher.advance_bytes(text.encode())
    assert matcher.is_accepting()


@pytest.mark.parametrize("style", ["qwen", "gemma4", "pythonic"])
def test_each_property_is_as_much_work_however_many_there_are(style: str) -> None:
    """Sixteen times as many properties take less than eighteen times the calls, in any order as in theirs."""

    def read(count: int) -> None:
        schema = {"type": "object", "properties": {f"p{i}": {"type": ["string", "integer"]} for i in range(count)}}
        tags.parameters(schema, style).to_grammar().start.expand()

    read(1)
    few, many = (counted(read, count)[1] for count in (10, 160))
    assert many < 18 * few, many / few
