"""The ways to get an answer: constrained, free and then parsed, faithful, and with keys in any order.

Every way gets the same prompt, model, temperature, limit of tokens and seed. An answer counts as

    valid   the output is finished, parses as JSON, and validates under the `jsonschema` package, formats checked
    right   it is valid, and its value is the known answer

and all others as wrong: what was cut, ran into a dead end, or is no JSON stays in the denominator. The free text is
treated kindly: its first JSON value counts, wherever it goes on, so it need not know when to stop.
"""

from __future__ import annotations

import json
import time
from typing import Any

import constrain
from evaluation.evaluate import invalid
from evaluation.tasks import first_value
from reasoning.tasks import Question

MODES = ("constrained", "free, then parsed", "faithful", "keys in any order")
FREE = MODES[1]


def options_of(mode: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `generate` for a mode."""
    if mode == FREE:
        return {}
    if mode == "keys in any order":
        return {"constraint": constrain.json_schema(schema, property_order="any")}
    return {"schema": schema, **({"method": "faithful"} if mode == "faithful" else {})}


def answer(model: Any, question: Question, prompt: Any, mode: str, setting: dict[str, Any]) -> dict[str, Any]:
    """The record of one question in one mode.

    Args:
        model: What `generate` takes.
        question: What is asked.
        prompt: A text, or messages.
        mode: One of `MODES`.
        setting: max_tokens, temperature, seed.
    """
    begin = time.process_time()
    output = constrain.generate(model, prompt, **options_of(mode, question.schema), **setting)
    seconds = time.process_time() - begin
    values = first_value(output.text) if mode == FREE else _parsed(output)
    fault = invalid(question.schema, values[0]) if values else "no JSON value"
    return {
        "kind": question.kind,
        "mode": mode,
        "finish_reason": output.finish_reason,
        "valid": fault is None,
        "fault": fault,
        "right": fault is None and question.right(values[0]),
        "tokens": len(output.tokens),
        "forwards": output.stats.forwards,
        "cpu_s": round(seconds, 4),
        "method": output.stats.method,
        "log_weight": output.log_weight,
        "text": output.text,
        "answer": question.answer,
    }


def _parsed(output: Any) -> list[Any]:
    """The value of a finished text in a list of one, or an empty list."""
    if output.finish_reason != "stop":
        return []
    try:
        return [json.loads(output.text)]
    except (ValueError, RecursionError):
        return []
