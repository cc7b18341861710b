"""A MaskBench file as a task for a model, and how its answer is scored.

The task is to copy: the prompt shows the schema and the first valid instance of the file as lines `pointer = value`,
one for each leaf, and asks for the JSON. So the right answer is known, it is a member of the schema, and any difference
is the model's or the engine's doing. A file without a valid instance (or with one too long for the prompt) is asked
for any JSON that fits, and counts in coverage and efficiency only.

Scores, both between values as JSON compares them (1 = 1.0, key order does not matter):
    exact     the answer is the instance
    leaf F1   harmonic mean of precision and recall over (pointer, value) pairs
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Task:
    """file, dataset: where it is from. instance: the known answer in a list of one, or an empty list.
    tests: (text, valid) of every instance of the file.
    """

    file: str
    dataset: str
    schema: Any
    prompt: str
    instance: list[Any]
    tests: list[tuple[str, bool]]


def read_task(path: Path, schema_chars: int, record_chars: int) -> Task:
    """The task of a MaskBench file. schema_chars, record_chars: of the schema and the record, at most, in the prompt.

    A schema that is longer is cut there; a record is left out instead.
    """
    case = json.loads(path.read_text(encoding="utf-8"))
    schema = json.dumps(case["schema"], ensure_ascii=False)
    shown = schema if len(schema) <= schema_chars else schema[:schema_chars] + " …"
    parts, instance = [f"Schema: {shown}"], []
    valid = [test["data"] for test in case["tests"] if test["valid"]]
    if valid:
        lines = [f"{pointer} = {json.dumps(leaf, ensure_ascii=False)}" for pointer, leaf in leaves(valid[0]).items()]
        if sum(map(len, lines)) + len(lines) <= record_chars:
            parts += ["Record:", *lines]
            instance = valid[:1]
    return Task(
        file=path.name,
        dataset=dataset_of(path.name),
        schema=case["schema"],
        prompt="\n".join([*parts, "JSON: "]),
        instance=instance,
        tests=[(json.dumps(test["data"], ensure_ascii=False), test["valid"]) for test in case["tests"]],
    )


def empty_record(task: Task) -> dict[str, Any]:
    """A record in which nothing has happened yet; evaluate.py says what its fields mean."""
    keys = ("compile_s", "outcome", "valid", "fault", "text", "first_s", "exact", "leaf_f1", "right", "wrong")
    more = ("first_mask_us", "token_us", "log_p", "log_q", "known_tokens", "error", "stage", "message")
    nothing = dict.fromkeys([*keys, *more])
    return {
        "file": task.file,
        "dataset": task.dataset,
        "asked": True,
        **nothing,
        "tokens": 0,
        "retries": 0,
        "steps_s": [],
        "masks_s": [],
    }


def dataset_of(file: str) -> str:
    """`Github_easy---o1.json` → Github_easy; `BFCL_sql_2.json` → BFCL."""
    before, dashes, _ = file.partition("---")
    return before if dashes else file.partition("_")[0].removesuffix(".json")


def leaves(value: Any, pointer: str = "") -> dict[str, Any]:
    """JSON pointer (RFC 6901) → value of every scalar and every empty container."""
    if isinstance(value, dict) and value:
        pairs = [(key.replace("~", "~0").replace("/", "~1"), item) for key, item in value.items()]
    elif isinstance(value, list) and value:
        pairs = [(str(i), item) for i, item in enumerate(value)]
    else:
        return {pointer: value}
    found: dict[str, Any] = {}
    for step, item in pairs:
        found |= leaves(item, f"{pointer}/{step}")
    return found


def canonical(value: Any) -> str:
    """One text for equal JSON values."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def leaf_f1(answer: Any, truth: Any) -> float:
    """Harmonic mean of precision and recall of the leaves of an answer."""
    ours, theirs = ({(p, canonical(leaf)) for p, leaf in leaves(value).items()} for value in (answer, truth))
    return 2 * len(ours & theirs) / (len(ours) + len(theirs))


def first_value(text: str) -> list[Any]:
    """The first JSON value of a text in a list of one, or an empty list: an unconstrained model goes on after it."""
    try:
        return [json.JSONDecoder().raw_decode(text.lstrip(" \t\r\n"))[0]]
    except (ValueError, RecursionError):
        return []
