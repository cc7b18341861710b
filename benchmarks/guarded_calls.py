"""Lists of calls whose arguments have conditions that only values can tell: the count of dead ends.

Question: the reference model writes lists of calls. Their arguments have items that must differ (`uniqueItems`) and
keys that are not declared, so keys could repeat; the JSON array must not repeat a call. Are such repetitions vetoed
token by token, also inside repeated tags, or is an output thrown away at its end?

    python benchmarks/guarded_calls.py --outputs 300 --out benchmarks/record/<date>-guarded-calls

Answers are checked: every call of a finished output is validated by `jsonschema`, keys by a reader that sees repeated
ones. Outputs are completed in time (`complete=True`). Counted for each form: finished, cut off at `max_tokens`, dead
ends, and outputs that were thrown away on the way and sampled anew (`stats.retries`). "guarded" says whether
repetitions are vetoed token by token; if not, the finished text is checked.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema

import constrain
from constrain import tags

ARGUMENTS = {
    "type": "object",
    "properties": {
        "flags": {
            "type": "array",
            "items": {"enum": ["a", "b", "c"]},
            "uniqueItems": True,
            "minItems": 2,
            "maxItems": 3,
        }
    },
    "required": ["flags"],
    "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 9},
    "maxProperties": 4,
}
CALL = {
    "type": "object",
    "properties": {"name": {"enum": ["set", "get"]}, "arguments": ARGUMENTS},
    "required": ["name", "arguments"],
    "additionalProperties": False,
}
LIST = {"type": "array", "items": CALL, "minItems": 2, "maxItems": 3, "uniqueItems": True}


class Form(NamedTuple):
    """A way to write a list of calls. arguments: text -> the values to validate against ARGUMENTS."""

    name: str
    constraint: Any
    arguments: Callable[[str], list[Any]]


def strict(text: str) -> Any:
    """A JSON value; ValueError if a key repeats."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError(f"a key repeats: {pairs}")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=unique)


def between(text: str, begin: str, end: str) -> list[Any]:
    """The values between two texts, as often as they stand there."""
    return [strict(part.split(end)[0]) for part in text.split(begin)[1:]]


def forms() -> list[Form]:
    """All forms."""
    call = tags.tag("<call>", constrain.json_schema(ARGUMENTS), "</call>")
    free = tags.triggered_tags(["<call>"], [call], at_least_one=True)
    several = tags.separated([call], "\n", at_least_one=True)
    tool = {"name": "set", "parameters": ARGUMENTS}
    turn = constrain.tools([tool], format="qwen3", choice="required", thinking="none")
    array = constrain.tools([tool], format="phi4-mini", choice="required")

    def listed(text: str) -> list[Any]:
        calls = strict(text)
        jsonschema.validate(calls, LIST)
        return [each["arguments"] for each in calls]

    return [
        Form("a JSON array of calls", constrain.json_schema(LIST), listed),
        Form("tags in free text", free, lambda text: between(text, "<call>", "</call>")),
        Form("a list of tags", several, lambda text: between(text, "<call>", "</call>")),
        Form("tools, qwen3", turn, lambda text: [call.values for call in turn.read(text).tool_calls]),
        Form("tools, phi4-mini", array, lambda text: [call.values for call in array.read(text).tool_calls]),
    ]


def measure(form: Form, model: Any, outputs: int, batch: int, max_tokens: int) -> list[Any]:
    """One row of the table. Raises if a finished output is not valid."""
    counts = {"stop": 0, "length": 0, "dead_end": 0}
    calls = retries = 0
    begin = time.process_time()
    for seed in range(0, outputs, batch):
        n = min(batch, outputs - seed)
        settings: Any = {"n": n, "seed": seed, "max_tokens": max_tokens, "complete": True}
        made = constrain.generate(model, "Calls: ", constraint=form.constraint, **settings)
        for output in made if isinstance(made, list) else [made]:
            counts[output.finish_reason] += 1
            retries += output.stats.retries
            if output.finish_reason == "stop":
                for values in form.arguments(output.text):
                    jsonschema.validate(values, ARGUMENTS)
                    calls += 1
    seconds = time.process_time() - begin
    guarded = "yes" if form.constraint.guarded else "no"
    return [form.name, guarded, outputs, *counts.values(), retries, calls, f"{seconds:.0f}"]


def main(arguments: list[str] | None = None) -> int:
    """Print the table, keep the record; 1 if there was a dead end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--outputs", type=int, default=300, help="of each form (default: 300)")
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--max-tokens", type=int, default=160)
    parser.add_argument("--out", type=Path, help="folder for the record")
    options = parser.parse_args(arguments)
    heads = ["form", "guarded", "outputs", "finished", "cut off", "dead ends", "thrown away", "calls", "CPU s"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    model = constrain.reference.load()
    dead = 0
    for form in forms():
        row = measure(form, model, options.outputs, options.batch, options.max_tokens)
        dead += row[5]
        lines.append(f"| {' | '.join(map(str, row))} |")
        print(lines[-1], flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        command = "python benchmarks/guarded_calls.py " + " ".join(sys.argv[1:])
        (options.out / "summary.md").write_text("\n".join([command, "", *lines, ""]))
    return int(dead > 0)


if __name__ == "__main__":
    sys.exit(main())
