"""JSON Schema: schema -> set algebra -> lazy grammar.

takes: a schema (dict, JSON text, Python type)
gives: `JsonSchema`, a source: its grammar, its report, the check of what a grammar cannot remember
used by: engine (compiles the grammar), generation (parses the result)
start reading at: algebra.py (the normal form), then reader.py, document.py, compute.py, lower.py
"""

from constrain.schema.budget import Budget
from constrain.schema.source import JsonSchema, json_schema
from constrain.schema.strict import RULES, Violation, violations
from constrain.schema.strict_convert import from_openai_strict, strict_reader, to_openai_strict
from constrain.schema.strict_state import Change

__all__ = [
    "RULES",
    "Budget",
    "Change",
    "JsonSchema",
    "Violation",
    "from_openai_strict",
    "json_schema",
    "strict_reader",
    "to_openai_strict",
    "violations",
]
