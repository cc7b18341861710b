"""Large schemas: what is not visited costs nothing, what is visited costs what it is large; counted in calls."""

import json

import pytest
from naive_schema import recognises

import constrain
from constrain.errors import LimitError, SchemaError
from constrain.languages.cfg.rules import Nonterminal
from constrain.languages.schema import Limits, json_schema
from work import Looks, counted

PATIENT = Limits(seconds=60)  # work is counted by a profiler, which takes its time


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
    alternatives, work = counted(lambda: visit(json_schema(schema, limits=PATIENT).to_grammar().start, 5))
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


def conditions(count: int) -> dict:
    """Each kind of object has a condition of its own."""
    each = [
        {"if": {"properties": {"kind": {"const": f"k{i}"}}}, "then": {"properties": {"x": {"minimum": i}}}}
        for i in range(count)
    ]
    return {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}, "allOf": each}


def pairs_of_keys(count: int) -> dict:
    """Each first key of a pair asks for the second one: conditions that do not interact."""
    keys = {f"{letter}{i}": {"type": "integer"} for i in range(count) for letter in "ab"}
    needed = {f"a{i}": [f"b{i}"] for i in range(count)}
    return {"type": "object", "dependentRequired": needed, "properties": keys}


def listed_kinds(count: int) -> dict:
    """Arrays whose items decide by two names each what else they need."""
    each = [
        {
            "if": {"anyOf": [{"contains": {"const": f"a{i}"}}, {"contains": {"const": f"b{i}"}}]},
            "then": {"contains": {"const": f"c{i}"}},
        }
        for i in range(count)
    ]
    return {"type": "array", "contains": {"const": "base"}, "allOf": each}


@pytest.mark.parametrize(
    ("schema", "most", "members", "others"),
    [
        (
            conditions(80),
            1_000_000,  # 15 million before constants were compared where conjunctions are made
            ['{"kind": "k7", "x": 7}', '{"kind": "k79", "x": 79}', '{"kind": "other", "x": 0}'],
            ['{"kind": "k7", "x": 6}', '{"kind": "k79", "x": 78}', '{"x": 79}'],
        ),
        (
            pairs_of_keys(40),
            100_000,  # 2^40 boxes, of which 5,000 were made before the others were left to the check
            ["{}", '{"a7": 1, "b7": 2}', '{"b0": 1, "a39": 1, "b39": 1, "other": 1}'],
            ['{"a7": 1}', '{"a7": 1, "b7": 2, "a8": 1}', '{"b7": 2, "a7": 1}'],
        ),
        (
            listed_kinds(3),
            100_000,  # 1 million before contradictions were left out early
            ['["base"]', '["a1", "base", "c1"]', '["b0", "c2", "a2", "c0", "base"]', '["c0", "base", 1]'],
            ["[]", '["a1", "base", "c2"]', '["b0", "c2", "a2", "base"]', '["a0", "c0"]'],
        ),
    ],
    ids=["a condition for each kind", "conditions apart", "lists that decide"],
)
def test_conditions_stay_small(schema: dict, most: int, members: list[str], others: list[str]) -> None:
    constraint, work = counted(lambda: json_schema(schema, whitespace="any"))
    assert work < most
    compiled = constrain.compile(constraint, constrain.Vocabulary.of_bytes())
    for text in members + others:
        matcher = compiled.matcher()
        accepted = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        assert accepted == (text in members), text
    assert not constraint.residual


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


def test_a_product_that_explodes_is_left_to_the_check_at_its_place() -> None:
    disjunctions = [{"anyOf": [{"required": [f"{i}.{j}"]} for j in range(8)]} for i in range(8)]
    constraint = json_schema({"properties": {"deep": {"type": "object", "allOf": disjunctions}}})
    assert [entry.pointer for entry in constraint.report if entry.status == "residual"] == ["$.properties.deep"]


def reads(schema: object, text: str) -> bool:
    """True if all bytes of a text may be written, and it may end."""
    matcher = constrain.compile(json_schema(schema), constrain.Vocabulary.of_bytes()).matcher()
    return all(matcher.advance(byte) for byte in text.encode()) and matcher.is_accepting()


def test_disjoint_patterns_stay_small() -> None:
    """100 patterns that begin differently are 100 classes; they took 5,000 looks at the clock."""
    patterns = {f"^{chr(97 + i % 26)}{i}_": {"maximum": 100 + i} for i in range(100)}
    with Limits(seconds=None, cancelled=Looks(1000)):
        constraint = json_schema({"type": "object", "patternProperties": patterns})
    matcher = constrain.compile(constraint, constrain.Vocabulary.of_bytes()).matcher()
    assert all(matcher.advance(byte) for byte in b'{"a0_y":100,"b1_":101,"zz":1000,"b27_x":127')
    assert not matcher.allows(ord("7")) and matcher.allows(ord("}"))  # 1277 > 127


def test_patterns_apart_are_read_one_by_one() -> None:
    """200 patterns that begin differently take 0.2 million calls; by products of classes they took 2.7 million."""
    patterns = {f"^{chr(97 + i % 26)}{i}_": {"maximum": 100 + i} for i in range(200)}
    schema = {"type": "object", "patternProperties": patterns, "additionalProperties": False}
    assert counted(lambda: json_schema(schema, limits=PATIENT))[1] < 500_000


def test_items_that_use_up_their_values() -> None:
    schema = {"type": "array", "items": {"enum": list(range(60))}, "uniqueItems": True, "minItems": 60}
    text = json.dumps(list(range(60)), separators=(",", ":"))
    assert reads(schema, text)
    assert not reads(schema, "[" + ",".join(["0", *map(str, range(59))]))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "maximum": 10**5000},
        {"const": 10**5000},
        {"type": "string", "minLength": 10**5000},
        {"type": "string", "minLength": 2**63},
        {"type": "array", "contains": {"type": "integer"}, "minContains": 10**3000},
    ],
)
def test_numbers_without_end_are_limits(schema: dict) -> None:
    with pytest.raises((LimitError, SchemaError)):
        reads(schema, '"a"')


def test_counts_that_no_text_reaches() -> None:
    assert reads({"type": "string", "maxLength": 4294967298}, '"aaaaa"')
    assert reads({"type": "array", "maxItems": 2**64}, "[1,2]")


def test_a_deep_schema_of_python_is_a_limit() -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(LimitError, match="nested too deeply"):
        reads({"type": "integer", "default": deep}, "1")
