"""Every pattern of real schemas and of the official test suite: read, or refused for a reason that is named here."""

import json

import pytest

from conftest import data_path
from constrain.errors import ConstrainError
from constrain.languages.automata.parse.ecma import parse_ecma
from schema_corpus import corpora, sample

# pattern of MaskBench's development files -> why it is refused
REFUSED = {r"^\s*<([A-Za-z]+).+?(\/>|\/\1>)\s*$": "a backreference is not regular: it needs memory of the text"}


def patterns_of(schema, found):
    """Collect `pattern` and the keys of `patternProperties`, wherever they are."""
    if isinstance(schema, dict):
        found.update(value for key, value in schema.items() if key == "pattern" and isinstance(value, str))
        keyed = schema.get("patternProperties")
        found.update(keyed if isinstance(keyed, dict) else ())
        for value in schema.values():
            patterns_of(value, found)
    elif isinstance(schema, list):
        for value in schema:
            patterns_of(value, found)


def refusals(patterns):
    found = {}
    for pattern in patterns:
        try:
            parse_ecma(pattern)
        except ConstrainError as fault:
            found[pattern] = fault.message
    return found


@corpora
def test_real_schemas(corpus):
    found = set()
    for entry in sample(corpus):
        patterns_of(entry.schema, found)
    assert len(found) > {"ours": 20, "maskbench": 1500}[corpus]
    assert refusals(found) == (REFUSED if corpus == "maskbench" else {})


@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_official_suite(draft):
    found = set()
    for path in data_path("json-schema-test-suite", "tests", draft).rglob("*.json"):
        for group in json.loads(path.read_bytes()):
            patterns_of(group["schema"], found)
    assert found
    assert refusals(found) == {}
