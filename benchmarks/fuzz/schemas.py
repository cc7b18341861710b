"""Schemas of five drafts with values that aim at them: our two verdicts, jsonschema's and jsonschema-rs's are one.

The first of ours is that of the grammar, read by the plain recogniser, and of the check; the second is the engine's.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from schema_instances import Aim
from schema_oracles import Ours, Python, Refused, Rust, compare, is_wrong, ours, write
from schema_shrink import shrink
from schema_strategies import DRAFTS, SchemaMaker, Seeded

import constrain
from fuzz import Target
from fuzz.patterns import BYTES

REFUSED = ("refers to itself", "leads back to itself")


def taken(judge: Ours, text: str) -> bool:
    """The engine's verdict."""
    if judge.constraint is None or judge.grammar is None:
        return False
    try:
        matcher = constrain.compile(judge.constraint, BYTES).matcher()
    except constrain.UnsatisfiableError:
        return False
    return bool(matcher.advance_bytes(text.encode()) and matcher.is_accepting())


def check(case: Any) -> None:
    """Four verdicts are one, or a known fault of a validator explains the difference."""
    schema, texts = case["schema"], case["texts"]
    judge = ours(schema)
    if isinstance(judge, Refused):
        assert judge.error == "LimitError" or any(reason in judge.message for reason in REFUSED), judge
        return
    python, rust = Python(schema), Rust(schema)
    for text in texts:
        outcome = compare(schema, text, judge, python, rust)
        if outcome.kind not in ("agree", "validator"):
            raise AssertionError(outcome, *shrink(schema, json.loads(text), is_wrong))
        engine = taken(judge, text)
        assert engine == outcome.ours, f"the engine says {engine} of {text}, the grammar {outcome.ours}"


def _case(number: int) -> dict[str, Any]:
    """The case of a number. (Hypothesis does not draw the schema: `shrink` knows what a schema is, and is faster.)"""
    draft = list(DRAFTS)[number % len(DRAFTS)]
    chooser = Seeded(f"fuzz {number}")
    schema = SchemaMaker(chooser, DRAFTS[draft], 6 + number % 3 * 5).document()
    return {"schema": schema, "texts": list(dict.fromkeys(write(value) for value in Aim(chooser, schema).values(6)))}


TARGETS = [Target("schemas", st.integers(0, 2**48).map(_case), check, 150)]
