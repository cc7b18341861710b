"""Large schemas: what is not visited costs nothing, what is visited costs what it is large; counted in calls."""

from __future__ import annotations

import json

import pytest
from naive_schema import recognises

from constrain.cfg.rules import Nonterminal
from constrain.errors import LimitError
from constrain.schema import json_schema
from work import counted


def tagged(count: int) -> list[dict]:
    """Objects told apart by a property."""
    properties = {"x": {"type": "integer"}}
    return [
        {
            "type": "object",
            "properties": {"kind": {"const": f"k{i}"}, **properties},
            "required": ["kind"],
            "additionalProperties": False,
        }
        for i in range(count)
    ]


def nested(depth: int) -> dict:
    schema: dict = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def told_apart_outside(count: int) -> dict:
    """Branches that only their sibling keywords keep apart: `type`, and that `kind` is required."""
    return {
        "type": "object",
        "required": ["kind"],
        "oneOf": [{"properties": {"kind": {"const": f"k{i}"}, "x": {"type": "integer"}}} for i in range(count)],
    }


SCHEMAS = {
    "100,000 texts": {"enum": [f"v{i}" for i in range(100_000)]},
    "100,000 numbers": {"enum": list(range(100_000))},
    "5,000 optional properties": {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(5000)}},
    "anyOf of 2,000": {"anyOf": tagged(2000)},
    "oneOf of 2,000": {"oneOf": tagged(2000)},
    "oneOf of 200, told apart outside": told_apart_outside(200),
    "a long string": {"type": "string", "maxLength": 10**6},
    "many items": {"type": "array", "items": {"type": "integer"}, "minItems": 5, "maxItems": 10**5},
    "200 levels": nested(200),
    "a wide interval": {"type": "number", "minimum": -(10**40), "maximum": 10**50},
    "a chain of references": {
        "$ref": "#/$defs/d0",
        "$defs": {f"d{i}": {"type": "object", "properties": {"n": {"$ref": f"#/$defs/d{i + 1}"}}} for i in range(2000)}
        | {"d2000": {}},
    },
}


def visit(symbol: object, depth: int) -> int:
    """Expand everything down to a depth; the number of alternatives."""
    if depth == 0 or not isinstance(symbol, Nonterminal):
        return 0
    alternatives = symbol.expand()
    return len(alternatives) + sum(visit(each, depth - 1) for sequence in alternatives for each in sequence)


@pytest.mark.parametrize("name", SCHEMAS)
def test_work_is_linear(name: str) -> None:
    """At most 25 calls for a character of the schema, and what any schema takes."""
    schema = SCHEMAS[name]
    alternatives, work = counted(lambda: visit(json_schema(schema).to_grammar().start, 5))
    assert alternatives > 0
    assert work < 25 * len(json.dumps(schema)) + 5000


def test_many_optional_properties_cost_a_linear_number_of_alternatives() -> None:
    schema = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(1000)}}
    grammar = json_schema(schema, whitespace="compact").to_grammar()
    seen: set = set()
    stack: list = [grammar.start]
    alternatives = 0
    while stack:
        symbol = stack.pop()
        if isinstance(symbol, Nonterminal) and symbol not in seen:
            seen.add(symbol)
            for sequence in symbol.expand():
                alternatives += 1
                stack += sequence
    assert alternatives < 1000 * 60


def test_the_last_of_many() -> None:
    grammar = json_schema({"oneOf": tagged(100)}).to_grammar()
    assert recognises(grammar, '{"kind": "k99", "x": 1}') and not recognises(grammar, '{"kind": "k100"}')


def test_overlapping_closed_branches_stay_small() -> None:
    names = [f"n{i}" for i in range(12)]
    branches = [
        {
            "type": "object",
            "properties": {"kind": {"enum": [name]}, name: {"type": "integer"}},
            "additionalProperties": False,
        }
        for name in names
    ]
    grammar = json_schema({"oneOf": branches}).to_grammar()
    assert recognises(grammar, '{"kind": "n3"}') and recognises(grammar, '{"n3": 1}')
    assert not recognises(grammar, "{}") and not recognises(grammar, '{"n3": 1, "n4": 1}')


def test_a_product_that_explodes_is_a_limit_with_its_place() -> None:
    disjunctions = [{"anyOf": [{"required": [f"{i}.{j}"]} for j in range(8)]} for i in range(8)]
    with pytest.raises(LimitError, match=r"at \$\.properties\.deep"):
        json_schema({"properties": {"deep": {"type": "object", "allOf": disjunctions}}})
