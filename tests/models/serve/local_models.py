"""Data of the tests of local engines: a prompt, a schema, and settings whose texts are those of transformers."""

from __future__ import annotations

from typing import Any

PROMPT = '[{"name": "Ada", "age": 36},\n'
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0},
    "several": {"n": 3, "seed": 3},
    "sir": {"method": "sir", "seed": 1},
    "smc": {"method": "smc", "n": 3, "seed": 2},
    "prompts": {"seed": 5, "prompt": [PROMPT, "A person: "]},
}


def texts(outputs: Any) -> list[Any]:
    """The texts of a result, each with why it ended."""
    return [texts(each) for each in outputs] if isinstance(outputs, list) else [outputs.text, outputs.finish_reason]
