"""Tasks for real models: the texts have the fields that they say, and an answer counts as right by a plain rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import constrain
import real
from constrain.models.hf import HFModel


def test_the_texts() -> None:
    """40 of three kinds: what is to be extracted is in the text, is valid, and counts as right."""
    tasks = list(real.extractions())
    assert len(tasks) == len({task.question for task in tasks}) == 40
    table = real.tomllib.loads(real.TEXTS.read_text(encoding="utf-8"))
    for task in tasks:
        _, kind, place = task.name.split()
        row = table[kind][int(place)]
        task.wanted.model_validate_json(json.dumps(row["gold"]))
        assert task.right(row["gold"]) == (len(row["gold"]),) * 2
        assert task.right({})[0] == 0
        for value in row["gold"].values():
            assert not isinstance(value, str) or value.lower() in row["text"].lower()


@pytest.mark.parametrize(
    "value, answers, right",
    [
        ("Berkeley, CA.", ["berkeley, ca"], True),
        ("Paris", ["Rome", "paris"], True),
        (5.0, [5], True),
        (True, [1], False),
        ("", [5, ""], True),
        ([1, 2], [[1, 2]], True),
        ([2, 1], [[1, 2]], False),
        ({"a": 1}, [{"a": [1, 2], "b": [""]}], True),
        ({"a": 1, "c": 2}, [{"a": [1, 2]}], False),
    ],
)
def test_accepted(value: Any, answers: list[Any], right: bool) -> None:
    assert real.accepted(value, answers) is right


def test_calls(tmp_path: Path) -> None:
    """A call is right if its name is, and each argument, and none is added."""
    parameters = {"type": "dict", "properties": {"base": {"type": "float"}, "unit": {"type": "string"}}}
    function = {"name": "area", "description": "An area.", "parameters": {**parameters, "required": ["base"]}}
    row = {"id": "x_0", "question": [[{"role": "user", "content": "How large?"}]], "function": [function]}
    answer = {"id": "x_0", "ground_truth": [{"area": {"base": [10], "unit": ["", "m"]}}]}
    (tmp_path / "possible_answer").mkdir()
    for name in ("simple_python", "multiple"):
        (tmp_path / f"BFCL_v4_{name}.json").write_text(json.dumps(row) + "\n")
        (tmp_path / "possible_answer" / f"BFCL_v4_{name}.json").write_text(json.dumps(answer) + "\n")
    (first, _) = real.calls(tmp_path)
    for arguments, right in (
        ({"base": 10}, 2),
        ({"base": 10, "unit": "m"}, 2),
        ({"base": 9}, 1),
        ({"base": 10, "c": 1}, 0),
    ):
        assert first.right({"name": "area", "arguments": arguments}) == (right, 2)
    assert first.right({"name": "volume", "arguments": {"base": 10}}) == (0, 2)
    constrain.json_schema(first.schema)


@pytest.mark.parametrize("arm", ["default", "open", "dumps", "describe", "example", "schema"])
def test_an_arm(arm: str) -> None:
    """Any arm makes a record, whatever the model writes."""
    record = real.answered(arm, next(real.extractions()), HFModel.of(constrain.reference.load()), False, {})
    assert record["right"] <= record["valid"] <= record["ended"]
    assert record["log_mass"] <= 0
    assert "extraction" in real.table([{"task": "extraction Person 0", "arm": arm, **record}])
