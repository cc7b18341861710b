"""Random schemas and random values: our verdict is that of `jsonschema` and of `jsonschema-rs`.

Schemas mix every validation keyword of five drafts (`schema_strategies.py`), values aim at them
(`schema_instances.py`), and the order of keys is free. Schemas are refused only for reasons that stand here. A run over
50,000 pairs is the record 2026-11-21-differential; what is found becomes a row of `tests/data/schema_cases.toml`."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schema_instances import Aim
from schema_oracle_bugs import ORACLE_BUGS, Bug, mended
from schema_oracles import Python, Refused, Rust, compare, is_wrong, keywords, ours, write
from schema_shrink import shrink
from schema_strategies import DRAFTS, GROUPS, NAMES, Drawn, SchemaMaker, Seeded, seeded_schema

REFUSED = ("refers to itself", "leads back to itself")  # a part of the message of a SchemaError; a LimitError is stated


@st.composite
def cases(draw: Any, draft: str) -> tuple[dict[str, Any], list[str]]:
    """A schema and texts for it. (Hypothesis does not shrink them: `shrink` knows what a schema is, and is faster.)"""
    chooser = Drawn(draw)
    schema = SchemaMaker(chooser, DRAFTS[draft], size=6).document()
    return schema, [write(value) for value in Aim(chooser, schema).values(5)]


@pytest.mark.parametrize("draft", DRAFTS)
def test_three_verdicts_are_one(draft: str) -> None:
    @settings(max_examples=300, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
    @given(cases(draft))
    def check(case: tuple[dict[str, Any], list[str]]) -> None:
        schema, texts = case
        judge = ours(schema)
        if isinstance(judge, Refused):
            assert judge.error == "LimitError" or any(reason in judge.message for reason in REFUSED), (judge, schema)
            return
        python, rust = Python(schema), Rust(schema)
        for text in texts:
            outcome = compare(schema, text, judge, python, rust)
            assert outcome.kind in ("agree", "validator"), (outcome, *shrink(schema, json.loads(text), is_wrong))

    check()


@pytest.mark.parametrize("bug", ORACLE_BUGS, ids=lambda bug: bug.name)
def test_validators_still_have_their_faults(bug: Bug) -> None:
    """A fault that was mended leaves the table; until then we are right, and so are they about the rewritten schema."""
    schema, text = bug.example
    rewritten = mended(schema, (bug,))
    for name, validator in (("python", Python), ("rust", Rust)):
        assert (validator(schema)(text) == bug.right) == (name not in bug.who), name
        assert validator(rewritten)(text) == bug.right, name
    for judge in (ours(schema), ours(rewritten)):
        assert not isinstance(judge, Refused), judge
        assert judge(text) == bug.right


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_keyword_occurs(draft: str) -> None:
    """The generator writes every keyword that the draft knows, and no malformed schema."""
    found: set[str] = set()
    for seed in range(400):
        schema = seeded_schema(draft, seed)
        assert jsonschema_rs.meta.is_valid(schema), schema
        found |= keywords(schema)
    year = DRAFTS[draft].year
    expected = {name for name, (first, _, _) in GROUPS.items() if first <= year} - {"tuple", "ref", "annotation"}
    expected |= {"$ref", DRAFTS[draft].id, DRAFTS[draft].definitions}
    expected |= {"minContains", "maxContains", "$anchor"} if year >= 2019 else {"additionalItems"}
    expected |= {"then", "else"} if year >= 2018 else set()
    expected |= {"prefixItems", "$dynamicRef", "$dynamicAnchor"} if year == 2020 else set()
    expected |= {"additionalItems", "$recursiveRef", "$recursiveAnchor"} if year == 2019 else set()
    expected -= {"dependencies"} if year >= 2019 else {"dependentRequired"}
    assert found >= expected, sorted(expected - found)


def test_aimed_values_are_often_valid() -> None:
    """Neither verdict is rare, else agreement would say little."""
    valid = total = 0
    for seed in range(150):
        schema = seeded_schema("draft2020-12", seed)
        judge = Rust(schema)
        for value in Aim(Seeded(seed), schema).values(6):
            valid += judge(write(value))
            total += 1
    assert 0.25 < valid / total < 0.75


def test_shrinking_finds_the_culprit() -> None:
    schema = seeded_schema("draft7", 3) | {"properties": {"a": {"type": "integer", "minimum": 3}, "b": {}}}

    def fails(candidate: Any, value: Any) -> bool:
        """Anything with a minimum under a property, and a value with that property."""
        return "minimum" in candidate["properties"]["a"] and "a" in value

    small, value = shrink(schema, {"a": [1, 2], "b": 0}, fails)
    assert small == {"$schema": schema["$schema"], "properties": {"a": {"minimum": 0}}}
    assert keywords(small) - set(NAMES) == {"$schema", "properties", "minimum"}
    assert list(value) == ["a"]
