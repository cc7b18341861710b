"""Descriptions of schemas: their words (tests/data/descriptions.toml), and examples that are always valid."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_validator

import constrain
import schema_corpus

TABLE = Path(__file__).parent.parent / "data" / "descriptions.toml"
CASES = tomllib.loads(TABLE.read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_words(case: dict[str, str]) -> None:
    """As the table says; without the example all but the last line."""
    text = case["text"].removeprefix("\n")
    assert constrain.describe(case["schema"], example=True) == text
    assert constrain.describe(case["schema"]) == text.rpartition("\nExample: ")[0]


@schema_corpus.corpora
def test_examples_are_valid(corpus: str) -> None:
    """Of real schemas: a description for each, the same each time, and an example that the constraint accepts."""
    found = 0
    entries = schema_corpus.sample(corpus, 0, 5 if corpus == "ours" else 40)
    for entry in entries:
        try:
            constraint = constrain.json_schema(entry.schema)
        except constrain.ConstrainError:
            continue
        text = constrain.describe(constraint, example=True)
        assert text == constrain.describe(constraint, example=True)
        _, _, example = text.partition("\nExample: ")
        if example:
            assert constraint.accepts(example), entry.name
            found += 1
    assert found > 0.9 * len(entries)


@pytest.mark.parametrize("whitespace", ["compact", {"indent": 2}])
def test_an_example_is_spelled_as_the_constraint_is(whitespace: Any) -> None:
    constraint = constrain.json_schema(CASES[0]["schema"], whitespace=whitespace)
    _, _, example = constrain.describe(constraint, example=True).partition("\nExample: ")
    assert constraint.accepts(example)
    assert "first" in example


def test_a_closed_schema_is_described_as_it_was_written() -> None:
    for case in CASES:
        closed = constrain.json_schema(case["schema"], undeclared="avoid")
        text = constrain.describe(closed, example=True)
        assert text == constrain.describe(case["schema"], example=True)


def test_what_a_validator_refuses_is_no_example() -> None:
    class Even(BaseModel):
        number: int = Field(description="an even number")

        @field_validator("number")
        @classmethod
        def even(cls, value: int) -> int:
            """Refuse odd numbers and zero."""
            if value % 2 or not value:
                raise ValueError("odd")
            return value

    assert constrain.describe(Even, example=True).splitlines()[1:] == ['- "number": integer, an even number']


@pytest.mark.parametrize("wanted", [constrain.regex("a+"), constrain.choices(["a"])])
def test_a_constraint_without_a_schema(wanted: Any) -> None:
    with pytest.raises(constrain.ConstrainError, match="describe takes a schema"):
        constrain.describe(wanted)
