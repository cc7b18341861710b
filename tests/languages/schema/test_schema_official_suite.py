"""The official suite (JSON-Schema-Test-Suite) of five drafts: our verdict is the suite's.

Required tests: property order is free, formats are annotations, as that suite assumes. Nothing is refused. In plain
spelling the verdicts are the same but for the texts in `NOT_PLAIN`. Optional tests: formats asserted. Where our
verdict is not the suite's, the test stands in `tests/data/schema_format_disagreements.toml` with its reason; a
disagreement that is not listed fails, and so does a listed one that no longer occurs.
"""

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


ASSERTED = {"format-assertion.json"}  # files beside the folder `format` whose tests are about assertion
HOST = "http://localhost:1234/"
Test = tuple[str, str, str]  # file, group, test


@pytest.fixture(scope="session")
def suite_folder() -> Path:
    return data_path("json-schema-test-suite")


@pytest.fixture(scope="session")
def registry(suite_folder: Path) -> referencing.Registry:
    """The remote documents of all drafts: tests across drafts refer from one to another."""
    specifications = {dialect.name: referencing.jsonschema.specification_with(uri) for uri, dialect in DIALECTS.items()}
    resources = []
    for path in sorted((suite_folder / "remotes").rglob("*.json")):
        name = path.relative_to(suite_folder / "remotes").as_posix()
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
def test_formats_are_judged_as_the_suite_does(uri: str, suite_folder: Path, registry: referencing.Registry) -> None:
    draft = DIALECTS[uri].name
    paths = sorted((suite_folder / "tests" / draft / "optional" / "format").glob("*.json"))
    results = list(disagreements(paths, uri, registry))
    wrong = {test for test, ours, theirs in results if ours != theirs}
    assert len(results) > 150
    assert wrong == listed(draft, "format")
    assert len(wrong) <= 0.05 * len(results)


@pytest.mark.parametrize("uri", DIALECTS)
def test_other_optional_parts(uri: str, suite_folder: Path, registry: referencing.Registry) -> None:
    draft = DIALECTS[uri].name
    paths = sorted((suite_folder / "tests" / draft / "optional").glob("*.json"))
    results = list(disagreements(paths, uri, registry))
    wrong = {test for test, ours, theirs in results if ours != theirs}
    assert len(results) > 90
    assert wrong == listed(draft, "other")
