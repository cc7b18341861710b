"""Descriptions of schemas: their words (tests/data/descriptions.toml)."""

import json
from typing import Any

import pytest

import constrain
import schema_corpus
from tables import table

CASES = table("descriptions")["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_words(case: dict[str, str]) -> None:
    assert constrain.describe(case["schema"]) == case["text"].removeprefix("\n")


@schema_corpus.corpora
def test_real_schemas_are_described(corpus: str) -> None:
    """Every property of the root is named, and the words are the same each time."""
    for entry in schema_corpus.sample(corpus, 0, 5 if corpus == "ours" else 40):
        try:
            constraint = constrain.json_schema(entry.schema)
        except constrain.ConstrainError:
            continue
        text = constrain.describe(constraint)
        assert text == constrain.describe(entry.schema)
        for name in entry.schema.get("properties", ()) if isinstance(entry.schema, dict) else ():
            assert json.dumps(name, ensure_ascii=False) in text, (entry.name, name)


def test_a_closed_schema_is_described_as_it_was_written() -> None:
    for case in CASES:
        closed = constrain.json_schema(case["schema"], undeclared="avoid")
        text = constrain.describe(closed)
        assert text == constrain.describe(case["schema"])


@pytest.mark.parametrize("wanted", [constrain.regex("a+"), constrain.grammar('start: "a"')])
def test_a_constraint_without_a_schema(wanted: Any) -> None:
    with pytest.raises(constrain.ConstrainError, match="describe takes a schema or choices"):
        constrain.describe(wanted)


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf"])
def test_unions_of_one_branch_are_worded_once(key: str) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        schema = {key: [schema]}
    with constrain.Limits(steps=2_000):
        assert constrain.describe(schema) == "Answer with JSON: string"


def test_schemas_too_large_for_words_are_a_limit_error() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        deep = {"type": "object", "properties": {"a": deep}}
    wide: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        wide = {"type": "object", "properties": {"a": wide, "b": wide}}
    for schema in (deep, wide):
        with pytest.raises(constrain.LimitError), constrain.Limits(steps=20_000):
            constrain.describe(schema)
    deep["properties"]["a"] = deep
    with pytest.raises(constrain.ConstrainError, match="the schema contains itself"):
        constrain.describe(deep)
