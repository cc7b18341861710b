"""JSON Schema: schema -> set algebra -> lazy grammar.

takes: a schema (dict, JSON text, Python type)
gives: `JsonSchema`, a source: its grammar, its report, the check of what a grammar cannot remember
used by: engine (compiles the grammar), generation (parses the result)
start reading at: algebra.py (the normal form), then document.py, compute.py, lower.py
"""

from constrain.schema.source import JsonSchema, json_schema

__all__ = ["JsonSchema", "json_schema"]
