"""JSON Schema: schema -> set algebra -> lazy grammar.

takes: a schema (dict, JSON text, Python type)
gives: `JsonSchema`, a constraint with a grammar, a report, and a check of conditions that a grammar cannot remember
stages: read/ (keywords) -> sets/ (the algebra) -> normalize/ (which sets are empty) -> write/ (rules) and check/
  (values)
start reading at: sets/algebra.py (the normal form), then read/reader.py, normalize/normal_forms.py, write/lower.py
"""

from constrain.languages.schema.api import JsonSchema, json_schema
from constrain.languages.schema.write.json_layout import JsonLayout
from constrain.lazily import loader
from constrain.limits import Limits

__all__ = ["JsonLayout", "JsonSchema", "Limits", "json_schema"]

_STRICT = ("RULES", "Violation", "violations")  # of OpenAI's strict subset
__getattr__ = loader(__name__, dict.fromkeys(_STRICT, "constrain.languages.schema.openai_strict"))
