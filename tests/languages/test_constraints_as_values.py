"""Constraints are values: equal ones are equal, have one hash, and stay so through pickle and copies."""

import copy
import enum
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT7, DRAFT202012

import constrain
from constrain.monitors import monitored, python, sql

REGISTRY: Any = Registry().with_resources(
    [("urn:x", DRAFT202012.create_resource({"type": "integer"})), ("urn:y", DRAFT7.create_resource({"$ref": "urn:x"}))]
)
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}}


SQL: Any = sql({"t": ["id"]})
PYTHON: Any = python()


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


KINDS: dict[str, Callable[[], Any]] = {
    "schema": lambda: constrain.json_schema(OBJECT),
    "schema, closed": lambda: constrain.json_schema(OBJECT, undeclared="refuse"),
    "schema, registry": lambda: constrain.json_schema({"$ref": "urn:y"}, registry=REGISTRY),
    "schema, crawled registry": lambda: constrain.json_schema({"$ref": "urn:y"}, registry=REGISTRY.crawl()),
    "schema, folder": lambda: constrain.json_schema({"type": "integer"}, registry=Path(__file__).parent),
    "schema, in a part": lambda: constrain.seq("a ", constrain.json_schema({"$ref": "urn:x"}, registry=REGISTRY)),
    "type": lambda: constrain.json_schema(list[int]),
    "regex": lambda: constrain.regex(r"\p{L}+", dialect="ecma"),
    "choices": lambda: constrain.choices(["a", "b"]),
    "enum": lambda: constrain.choices(Colour),
    "Lark": lambda: constrain.grammar('start: "a" start | "b"'),
    "GBNF": lambda: constrain.grammar('root ::= "a" root | "b"', format="gbnf"),
    "collection": lambda: constrain.collection.load("json"),
    "alt": lambda: constrain.alt("a", constrain.many(constrain.regex("b"))),
    "rules": lambda: constrain.rules({"s": constrain.alt(constrain.seq("(", constrain.ref("s"), ")"), "x")}),
    "or": lambda: constrain.regex("a") | constrain.grammar('start: "b" start | "c"'),
    "and": lambda: constrain.regex("[a-z]+") & constrain.regex("(?s:.{3})"),
    "substring": lambda: constrain.substring("some text here"),
    "string": lambda: constrain.json_string(constrain.regex("a+")),
    "triggered": lambda: constrain.triggered([("<a>", constrain.regex("b+"), "</a>")]),
    "tools": lambda: constrain.tools([{"name": "f", "parameters": OBJECT}], format="qwen3"),
    "monitored": lambda: monitored(constrain.collection.load("sql"), SQL),
    "monitored, small": lambda: monitored(constrain.grammar('start: "print(" /[a-z]+/ ")"'), PYTHON),
}


@pytest.mark.parametrize("kind", KINDS)
def test_constraints_are_values(kind: str) -> None:
    one, two = KINDS[kind](), KINDS[kind]()
    assert one == two and hash(one) == hash(two) and repr(one) == repr(two)
    assert one != constrain.regex("another")
    constrain.compile(one, constrain.Vocabulary.of_bytes())  # what is made of it is no part of its value
    for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert again == one and hash(again) == hash(one) and repr(again) == repr(one)
        assert constrain.compile(again, constrain.Vocabulary.of_bytes()).report == one.report


def test_registries_with_other_documents_make_other_schemas() -> None:
    other: Any = Registry().with_resource("urn:x", DRAFT202012.create_resource({"type": "string"}))
    schemas = [constrain.json_schema({"$ref": "urn:x"}, registry=registry) for registry in (REGISTRY, other)]
    assert schemas[0] != schemas[1]
    assert [pickle.loads(pickle.dumps(schema)).accepts("1") for schema in schemas] == [True, False]


TEXTS = {  # None: a LimitError
    "1" * 4301: None, "-" + "9" * 5000: None, '{"a": ' + "1" * 4301 + "}": None, "[" * 3000 + "]" * 3000: None,
    "1" * 4300: int("1" * 4300), "1e999999": float("inf"), "1E-999999": 0.0, '"\\ud800"': "\ud800", '"\\/"': "/",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_odd_texts_are_parsed_or_are_errors_of_limits(text: str) -> None:
    anything = constrain.json_schema({}, spelling="any")
    if TEXTS[text] is None:
        with pytest.raises(constrain.LimitError):
            anything.parse(text)
    else:
        assert anything.parse(text) == TEXTS[text]
