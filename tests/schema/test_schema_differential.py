"""Random schemas and random values: our verdict is that of the `jsonschema` package.

Values are written compactly by `json.dumps`; the order of keys is free. Schemas are refused only for reasons that are
written down here.
"""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive_schema import recognises

from constrain.errors import LimitError, SchemaError, UnsatisfiableError
from constrain.schema import json_schema

NAMES = ["a", "b", "ab", "c"]
SCALARS = st.sampled_from([None, True, False, 0, 1, 2, 3, 1.5, -1, 6, 10, "", "a", "b", "ab", "abc", "1"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
COUNTS = st.integers(0, 3)


def keyword(name: str, values: st.SearchStrategy) -> st.SearchStrategy:
    return values.map(lambda value: {name: value})


LEAVES = st.one_of(
    st.booleans(),
    st.just({}),
    keyword("type", st.sampled_from(TYPES)),
    keyword("type", st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True)),
    keyword("const", VALUES),
    keyword("enum", st.lists(VALUES, min_size=1, max_size=3)),
    keyword("minimum", st.sampled_from([0, 1, 1.5, 2])),
    keyword("maximum", st.sampled_from([0, 1, 2.5, 3])),
    keyword("exclusiveMinimum", st.sampled_from([0, 1, 1.5])),
    keyword("multipleOf", st.sampled_from([1, 2, 3, 0.5])),
    keyword("minLength", COUNTS),
    keyword("maxLength", COUNTS),
    keyword("pattern", st.sampled_from(["a", "^a", "b$", "^[ab]*$", "^(a|ab)$"])),
    keyword("minItems", COUNTS),
    keyword("maxItems", COUNTS),
    keyword("minProperties", COUNTS),
    keyword("maxProperties", COUNTS),
    keyword("required", st.lists(st.sampled_from(NAMES), max_size=2, unique=True)),
    keyword(
        "dependentRequired",
        st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2), max_size=2),
    ),
    st.just({"$ref": "#/$defs/node"}),
)


def merged(parts: list) -> object:
    """Several keywords in one schema."""
    booleans = [part for part in parts if isinstance(part, bool)]
    if booleans:
        return booleans[0]
    return {key: value for part in parts for key, value in part.items()}


def composite(inner: st.SearchStrategy) -> st.SearchStrategy:
    named = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    several = st.lists(inner, min_size=1, max_size=3)
    keywords = st.one_of(
        keyword("properties", named),
        keyword("additionalProperties", inner),
        keyword("patternProperties", st.dictionaries(st.sampled_from(["a", "^b", "c$"]), inner, max_size=2)),
        keyword("propertyNames", inner),
        keyword("items", inner),
        keyword("prefixItems", several),
        keyword("contains", inner),
        keyword("allOf", several),
        keyword("anyOf", several),
        keyword("oneOf", several),
        keyword("not", inner),
        keyword("dependentSchemas", named),
        st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
    )
    return st.lists(keywords | LEAVES, min_size=1, max_size=4).map(merged)


SCHEMAS = st.recursive(LEAVES, composite, max_leaves=8)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS, SCHEMAS, st.lists(VALUES, min_size=1, max_size=8))
def test_verdicts_equal_jsonschema(schema: object, node: object, values: list) -> None:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"node": node}, "allOf": [schema]}
    check(whole, values)


def check(schema: dict, values: list) -> None:
    """Compare all verdicts; an unsatisfiable schema accepts nothing."""
    validator = jsonschema.Draft202012Validator(schema)
    try:
        source = json_schema(schema, whitespace="compact", property_order="any")
        grammar = source.to_grammar()
    except UnsatisfiableError:
        grammar = None
    except LimitError:
        return
    except SchemaError as error:
        if "refers to itself" in error.message or "leads back to itself" in error.message:
            return
        raise
    for value in values:
        text = json.dumps(value, separators=(",", ":"))
        ours = grammar is not None and recognises(grammar, text) and source.check(text) is None
        assert ours == verdict(validator, value, ours), (schema, value)


def verdict(validator: jsonschema.protocols.Validator, value: object, ours: bool) -> bool:
    """What jsonschema says; ours where it never ends (it follows references under an `if` without branches)."""
    try:
        return validator.is_valid(value)
    except RecursionError:
        return ours


if __name__ == "__main__":
    pytest.main([__file__])
