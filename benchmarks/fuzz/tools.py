"""Shapes of tools in every format: a turn that the format's template writes is taken if its arguments are valid.

It reads back equal, and a tool is read in bounded work, however many properties it has.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import strategies as st

import constrain
from constrain.languages.schema import Limits
from fuzz import Target

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the templates are those of the tests
from tests.chat.calls.naive_writers import CONTENT_OR_CALLS, IDS, WRITERS, write
from tests.chat.calls.random_tools import TEXTS, WORDS
from tests.chat.calls.test_round_trips import ids_of, vocabulary_of

STEPS = 40_000  # of reading, for one tool
SAYS = ("additionalProperties", "patternProperties")
VALUES: list[Any] = [*TEXTS, 0, -3, 2.5, True, None, [], ["a"], [1, {"to": "x"}], {}, {"to": 1, "note": "x y"}]
VALUES += ["(a", ["a", "b", "a"], [[], []]]
EXTRAS: list[dict[str, Any]] = [
    {}, {}, {}, {"additionalProperties": False}, {"additionalProperties": True}, {"minProperties": 1},
    {"additionalProperties": {"type": "integer"}}, {"maxProperties": 2}, {"required": ["to"]},
    {"dependentRequired": {"city": ["days"]}}, {"not": {"required": ["when"]}}, {"$ref": "#/$defs/tree"},
    {"patternProperties": {"^t": {"type": "string"}}}, {"anyOf": [{"required": ["city"]}, {"required": ["to"]}]},
]  # fmt: skip
TREE = {"type": "object", "properties": {"to": {"$ref": "#/$defs/tree"}, "note": {"type": "string"}}}


def _value(source: random.Random, depth: int = 0) -> Any:
    """A schema of an argument."""
    kind = source.choice(["string", "integer", "number", "boolean", "array", "object", "free", "any", "union", "ref"])
    if kind == "array":
        unique = {"uniqueItems": True} if source.random() < 0.3 else {}
        return {"type": "array", **({"items": _value(source, depth + 1)} if depth < 2 else {}), **unique}
    if kind == "string" and source.random() < 0.3:
        return {"type": "string", "format": "regex"}
    if kind == "object":
        return _object(source, depth + 1) if depth < 2 else {"type": "object"}
    if kind == "union":
        return {"anyOf": [{"type": "null"}, _value(source, depth + 1) if depth < 2 else {"type": "string"}]}
    return {"free": {"type": "object"}, "any": {}, "ref": {"$ref": "#/$defs/tree"}}.get(kind, {"type": kind})


def _object(source: random.Random, depth: int = 0) -> dict[str, Any]:
    """A schema of an object: nothing declared, few or many properties, with or without a type."""
    count = source.choice([0, 0, 1, 2, 3, 5, 12, 30] if depth == 0 else [0, 1, 2])
    names = [WORDS[i] if i < len(WORDS) else f"{WORDS[i % len(WORDS)]}{i}" for i in range(count)]
    schema: dict[str, Any] = {"type": "object"} if depth or source.random() < 0.8 else {}
    if names or source.random() < 0.3:
        schema["properties"] = {name: _value(source, depth) for name in names}
        if source.random() < 0.6:
            schema["required"] = [name for name in names if source.random() < 0.4]
    return schema | source.choice(EXTRAS if depth == 0 else EXTRAS[:5])


def check(case: Any) -> bool | None:
    """A tool, and calls of it in one format."""
    source, name, undeclared = random.Random(case["seed"]), case["format"], case["undeclared"]
    schema = {**_object(source), "$defs": {"tree": TREE}}
    try:
        with Limits(steps=STEPS):
            turn = constrain.tools([{"name": "m", "inputSchema": schema}], format=name, undeclared=undeclared)
    except constrain.LimitError:
        raise AssertionError(f"more than {STEPS} steps: {json.dumps(schema)}") from None
    except constrain.ConstrainError:
        return True
    compiled = constrain.compile(turn, vocabulary_of(name))
    judge = jsonschema.Draft202012Validator(
        {"type": "object", **schema}, format_checker=jsonschema.FormatChecker(["regex"])
    )
    names = list(dict.fromkeys([*schema.get("properties", ()), "to", "city", "when"]))
    for _ in range(12):
        chosen = sorted(source.sample(names, source.randint(0, min(len(names), 4))), key=names.index)
        arguments = {one: source.choice(VALUES) for one in sorted({*chosen, *schema.get("required", ())})}
        arguments = {one: arguments[one] for one in names if one in arguments}
        call = {"name": "m", "arguments": arguments, "id": IDS.get(name, "").format(name="m", index=0)}
        text = write(name, "" if name in CONTENT_OR_CALLS else "so", None, [call])
        tokens, matcher = ids_of(name, text), compiled.matcher()
        taken = matcher.advance_tokens(tokens) == len(tokens) and matcher.is_accepting()
        valid = judge.is_valid(arguments)
        read = [one.arguments for one in turn.read(text).tool_calls]
        if taken and read == [arguments]:  # a text that spells another value is that value's (docs/howto/tools.md)
            assert valid, ("taken", schema, text)
        declared = schema.get("properties", {}) or not any(key in schema for key in ("properties", *SAYS))
        flat = all(not isinstance(value, dict | list) for value in arguments.values())
        plain = flat and declared and "$ref" not in schema and "anyOf" not in schema and name != "minimax-m3"
        if valid and plain and (undeclared == "allow" or set(arguments) <= schema.get("properties", arguments).keys()):
            assert taken, ("refused", schema, text, bytes(matcher.text))
    return None


CASES = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "format": st.sampled_from(sorted(WRITERS)),
        "undeclared": st.sampled_from(["avoid", "allow"]),
    }
)
TARGETS = [Target("tools", CASES, check, 60)]
