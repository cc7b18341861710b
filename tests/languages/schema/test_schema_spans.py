"""`x-span` with documents of the call: types of Python, whole texts of a model, long documents."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from pydantic import BaseModel, Field

import constrain
import vocabularies
from constrain import json_schema
from constrain.errors import ConstrainError, SchemaError

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
