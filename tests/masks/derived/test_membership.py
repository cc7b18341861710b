"""`Constraint.accepts` and `Constraint.explain`: rows of tests/data/membership.toml, and the table of schemas."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import constrain

DATA = Path(__file__).parents[2] / "data"
TABLE = tomllib.loads((DATA / "membership.toml").read_text(encoding="utf-8"))
SCHEMAS = tomllib.loads((DATA / "schema_cases.toml").read_text(encoding="utf-8"))["case"]


def constraint_of(row: dict[str, Any]) -> constrain.Constraint:
    made: constrain.Constraint = eval(row["constraint"], {"constrain": constrain})
    return made


@pytest.mark.parametrize("row", TABLE["case"], ids=lambda row: row["name"])
def test_texts(row: dict[str, Any]) -> None:
    constraint = constraint_of(row)
    for text in row["accepts"]:
        assert constraint.accepts(text) and constraint.accepts(text.encode()) and constraint.explain(text) is None, text
    for text in row["refuses"]:
        refused = constraint.explain(text)
        assert not constraint.accepts(text) and refused is not None and refused == constraint.explain(text.encode())
    if "said" in row:
        assert str(constraint.explain(row["text"])) == row["said"].removeprefix("\n")


@pytest.mark.parametrize("row", TABLE["error"], ids=lambda row: row["name"])
def test_what_no_text_decides(row: dict[str, Any]) -> None:
    constraint = constraint_of(row)
    for ask in (constraint.accepts, constraint.explain):
        with pytest.raises(constrain.ConstrainError) as caught:
            ask(eval(row["text"]))
        assert str(caught.value) == row["error"].removeprefix("\n")


@pytest.mark.parametrize("text", ["\ud800", b"\xff", b"\xed\xa0\x80"])
def test_what_is_no_text_is_refused(text: str | bytes) -> None:
    anything = constrain.regex("(?s:.*)")
    assert not anything.accepts(text)
    assert anything.explain(text).byte == 0


@pytest.mark.parametrize("row", SCHEMAS[::3], ids=lambda row: row["name"])
def test_schemas(row: dict[str, Any]) -> None:
    options = {"spelling": "any", "whitespace": "bounded", **row.get("options", {})}
    schema = constrain.json_schema(row["schema"], **options)
    assert [text for text in row["valid"] if not schema.accepts(text)] == []
    assert [text for text in row["invalid"] if schema.accepts(text)] == []
