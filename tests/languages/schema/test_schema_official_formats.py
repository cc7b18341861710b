"""The official suite (JSON-Schema-Test-Suite), optional tests of five drafts: formats asserted, then everything else.

Where our verdict is not the suite's, the test stands in `tests/data/schema_format_disagreements.toml` with its reason.
A disagreement that is not listed fails, and so does a listed one that no longer occurs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import referencing
import referencing.jsonschema
from naive_schema import recognises

from conftest import data_path
from constrain.errors import SchemaError, UnsatisfiableError
from constrain.languages.schema import json_schema
from constrain.languages.schema.read.dialect import DIALECTS
from tables import table

ASSERTED = {"format-assertion.json"}  # files beside the folder `format` whose tests are about assertion
HOST = "http://localhost:1234/"
Test = tuple[str, str, str]  # file, group, test


@pytest.fixture(scope="session")
def suite() -> Path:
    return data_path("json-schema-test-suite")


@pytest.fixture(scope="session")
def registry(suite: Path) -> referencing.Registry:
    """The remote documents of all drafts: tests across drafts refer from one to another."""
    specifications = {dialect.name: referencing.jsonschema.specification_with(uri) for uri, dialect in DIALECTS.items()}
    resources = []
    for path in sorted((suite / "remotes").rglob("*.json")):
        name = path.relative_to(suite / "remotes").as_posix()
        default = specifications.get(name.split("/")[0], specifications["draft2020-12"])
        contents = json.loads(path.read_text(encoding="utf-8"))
        resources.append((HOST + name, referencing.Resource.from_contents(contents, default_specification=default)))
    return referencing.Registry().with_resources(resources)


def disagreements(
    paths: list[Path], uri: str, registry: referencing.Registry
) -> Iterator[tuple[Test, bool | None, bool]]:
    """Every test: (its name, our verdict, the suite's); our verdict is None if the schema is refused."""
    for path in paths:
        asserted = path.parent.name == "format" or path.name in ASSERTED
        for group in json.loads(path.read_text(encoding="utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema:
                schema = {"$schema": uri, **schema}
            judge = _judge(schema, "assert" if asserted else "annotate", registry)
            for case in group["tests"]:
                name = (path.name, group["description"], case["description"])
                yield name, None if judge is None else judge(json.dumps(case["data"])), case["valid"]


def _judge(schema: Any, formats: Any, registry: referencing.Registry) -> Any:
    """text → our verdict; None if the schema is refused."""
    try:
        constraint = json_schema(schema, spelling="any", property_order="any", formats=formats, registry=registry)
        grammar = constraint.to_grammar()
    except UnsatisfiableError:
        return lambda text: False
    except SchemaError:
        return None
    return lambda text: recognises(grammar, text) and constraint.residual_fault(text) is None


def listed(draft: str, part: str) -> set[Test]:
    """The tests of a draft that are known to disagree."""
    rows = table("schema_format_disagreements")["disagreement"]
    assert all(row["reason"] for row in rows)
    return {
        (row["file"], row["group"], test)
        for row in rows
        if row["part"] == part and draft in row["drafts"]
        for test in row["tests"]
    }


@pytest.mark.parametrize("uri", DIALECTS)
def test_formats_are_judged_as_the_suite_does(uri: str, suite: Path, registry: referencing.Registry) -> None:
    draft = DIALECTS[uri].name
    paths = sorted((suite / "tests" / draft / "optional" / "format").glob("*.json"))
    results = list(disagreements(paths, uri, registry))
    wrong = {test for test, ours, theirs in results if ours != theirs}
    assert len(results) > 150
    assert wrong == listed(draft, "format")
    assert len(wrong) <= 0.05 * len(results)


@pytest.mark.parametrize("uri", DIALECTS)
def test_other_optional_parts(uri: str, suite: Path, registry: referencing.Registry) -> None:
    draft = DIALECTS[uri].name
    paths = sorted((suite / "tests" / draft / "optional").glob("*.json"))
    results = list(disagreements(paths, uri, registry))
    wrong = {test for test, ours, theirs in results if ours != theirs}
    assert len(results) > 90
    assert wrong == listed(draft, "other")
