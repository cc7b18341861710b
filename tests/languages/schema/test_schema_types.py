"""Types of Python: the mask takes what pydantic writes, pydantic takes what a mask lets through, and what no mask knows
is told when the constraint is made. The page docs/howto/types.md has every public type of pydantic.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest
from pydantic import networks, types
from python_types import ROWS, VOCABULARY, evaluated, refusal, written
from test_schema_walks import walk

import constrain
from constrain.errors import SchemaError
from constrain.languages.schema import json_schema
from constrain.languages.schema.api import JsonSchema
from constrain.languages.schema.formats.python import NARROWED_TYPES, TYPES
from constrain.masks.engine import compile_bytewise

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "types.md"
NO_TYPES = {"validate_email", "Tag", "Discriminator", "GetPydanticSchema", "FailFast", "EncoderProtocol"}
NO_TYPES |= {"Base64Encoder", "Base64UrlEncoder"}
"""Public names beside the types: functions, and annotations that ask nothing of a value."""


def made(row: dict[str, Any]) -> tuple[JsonSchema, pydantic.TypeAdapter[Any]]:
    """The constraint of a row, and what pydantic reads and writes its type with."""
    try:
        adapter = pydantic.TypeAdapter(evaluated(row["type"]))
    except ImportError as missing:
        pytest.skip(str(missing))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        constraint = json_schema(adapter)
    told = [str(warning.message) for warning in caught if "no mask knows" in str(warning.message)]
    assert len(told) == (1 if row.get("later") else 0), told
    lines = [line for line in constraint.report if line.status == "residual"]
    if row.get("later"):
        assert row["later"] in told[0] and any(row["later"] in line.note for line in lines)
    else:
        assert not lines
    return constraint, adapter


@pytest.mark.parametrize("row", ROWS, ids=[row["type"] for row in ROWS])
def test_the_mask_takes_what_pydantic_writes_and_no_more_than_it_reads(row: dict[str, Any]) -> None:
    constraint, adapter = made(row)
    for value in row["values"]:
        text = written(adapter, evaluated(value))
        assert constraint.accepts(text) and refusal(adapter, text) is None, text
    for text in row.get("refused", ()):
        assert not constraint.accepts(text), text
    compiled = compile_bytewise(constraint, VOCABULARY)
    for seed in range(0 if row.get("later") else 5):
        found = walk(compiled, random.Random(seed))
        assert found is None or refusal(adapter, found) is None, found


def test_every_type_of_the_table_has_a_row() -> None:
    used = {name for name in TYPES if any(name in json.dumps(_schema(row)) for row in ROWS)}
    assert used >= set(TYPES) - {"EmailStr", "NameEmail"} and set(NARROWED_TYPES) <= set(TYPES)


def _schema(row: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return json_schema(evaluated(row["type"])).schema
        except (ImportError, SchemaError):
            return None


def test_the_page_has_every_public_type_of_pydantic() -> None:
    table = re.search(r"^\| types \|.*?\n\n", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert table
    on_page = set(re.findall(r"`(\w+)", table[0]))
    public = {*types.__all__, *networks.__all__} - NO_TYPES
    assert public <= on_page, sorted(public - on_page)


@pytest.mark.parametrize("row", [row for row in ROWS if row.get("later")], ids=lambda row: row["type"])
def test_the_page_says_what_is_checked_later(row: dict[str, Any]) -> None:
    kinds = (
        "file",
        "directory",
        "path",
        "socket",
        "import",
        "pattern",
        "function",
        "predicate",
        "encoder",
        "step",
        "list",
        "length of the URL",
    )
    assert any(kind in row["later"] for kind in kinds)
    assert all(kind in PAGE.read_text(encoding="utf-8") for kind in kinds if kind in row["later"])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"x-python": "date"}, "'date' names no type"),
        ({"x-python": {"type": "week"}}, "there is no type 'week'"),
        ({"x-python": {"type": "date", "ge": "yesterday"}}, "yesterday"),
        ({"x-python": {"type": "str", "pattern": "("}}, "not closed"),
        ({"x-python": {"later": "x"}}, "later is a list of texts"),
    ],
)
def test_errors_of_the_keyword_name_their_place(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)) as raised:
        json_schema({"properties": {"a": schema}})
    assert "$.properties.a" in str(raised.value) and "fix:" in str(raised.value)


def test_an_error_of_the_users_own_function_goes_out() -> None:
    def checked(value: int) -> int:
        return {1: 2}[value]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        constraint = json_schema(Annotated[int, pydantic.AfterValidator(checked)])
    assert constraint.parse("1") == 2
    with pytest.raises(KeyError):
        constraint.residual_fault("3")


def test_a_key_of_a_constraint_leaves_no_validator_out() -> None:
    from constrain.generation.identity import key_of

    vocabulary = constrain.Vocabulary.of_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert key_of(json_schema(evaluated("UUID4")), vocabulary)
        assert not key_of(json_schema(evaluated("Validated")), vocabulary)
