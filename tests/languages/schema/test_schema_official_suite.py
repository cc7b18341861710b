"""The official suite (JSON-Schema-Test-Suite), required tests of five drafts: our verdict is the suite's.

Property order is free, formats are annotations, as that suite assumes. Nothing is refused. In plain spelling the
verdicts are the same but for the texts in `NOT_PLAIN`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import referencing
import referencing.jsonschema
from naive_schema import recognises

from constrain.errors import UnsatisfiableError
from constrain.languages.schema import json_schema
from constrain.languages.schema.read.dialect import DIALECTS

PASSED = {"draft4": 610, "draft6": 829, "draft7": 913, "draft2019-09": 1227, "draft2020-12": 1257}
"""All there are in the suite that `make test` fetches (jsonschema 4.26.0); later ones have more."""


NOT_PLAIN = {  # an integer is its digits, and a constant without a point as well
    "a float with zero fractional part is an integer": "1.0",
    "float zero is valid": "0.0",
    "[0.0] is valid": "[0.0]",
    "float one is valid": "1.0",
    "[1.0] is valid": "[1.0]",
    "float is valid": "9007199254740992.0",
}


@pytest.fixture(scope="session")
def suite() -> Path:
    from conftest import data_path

    return data_path("json-schema-test-suite")


@pytest.fixture(scope="session")
def remotes(suite: Path) -> dict[str, Any]:
    return {
        f"http://localhost:1234/{path.relative_to(suite / 'remotes').as_posix()}": json.loads(path.read_text())
        for path in sorted((suite / "remotes").rglob("*.json"))
    }


def of_draft(name: str, raw: Any, draft: str) -> bool:
    """True if a remote document is meant for a draft. Draft 4 has `id`, and no schemas that are true or false."""
    if draft == "draft4" and isinstance(raw, dict) and "$id" in raw:
        return False
    first = name.removeprefix("http://localhost:1234/").split("/")[0]
    return first == draft or not (first.startswith("draft") or first == "v1")


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("uri", DIALECTS)
def test_draft(uri: str, spelling: Any, suite: Path, remotes: dict[str, Any]) -> None:
    dialect = DIALECTS[uri]
    default = referencing.jsonschema.specification_with(uri)
    registry = referencing.Registry().with_resources(
        (name, referencing.Resource.from_contents(raw, default_specification=default))
        for name, raw in remotes.items()
        if of_draft(name, raw, dialect.name)
    )
    groups = [
        group
        for path in sorted((suite / "tests" / dialect.name).glob("*.json"))
        for group in json.loads(path.read_text())
    ]
    passed = 0
    for group in groups:
        schema = group["schema"]
        if isinstance(schema, dict) and "$schema" not in schema:
            schema = {"$schema": uri, **schema}
        try:
            constraint = json_schema(
                schema, spelling=spelling, property_order="any", formats="annotate", registry=registry
            )
            grammar = constraint.to_grammar()
        except UnsatisfiableError:
            grammar = None
        for case in group["tests"]:
            text = json.dumps(case["data"])
            ours = grammar is not None and recognises(grammar, text) and constraint.residual_fault(text) is None
            refused = spelling == "plain" and NOT_PLAIN.get(case["description"]) == text
            expected = case["valid"] and not refused
            assert ours == expected, (group["description"], case["description"], schema, case["data"])
            passed += 1
    assert passed >= PASSED[dialect.name]
