"""GSM8K: word problems; the answer is JSON with the working and a number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.task import JsonTask, Score

TOLD = 'Solve the problem. Answer with JSON: {"working": the steps, "answer": a number}.'
CALCULATION = re.compile(r"<<[^>]*>>")  # marks for a calculator
SHOTS = (1, 3)  # rows that are shown, and not asked: short ones
WANTED = {
    "type": "object",
    "properties": {"working": {"type": "string"}, "answer": {"type": "number"}},
    "required": ["working", "answer"],
}


def tasks(folder: Path) -> Iterator[JsonTask]:
    """The rows of a file of lines {"question", "answer"}, behind two of them."""
    (file,) = folder.glob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    shots = tuple((rows[place]["question"], json.dumps(worked(rows[place]["answer"]))) for place in SHOTS)
    for place, row in enumerate(rows):
        if place not in SHOTS:
            number = worked(row["answer"])["answer"]

            def judge(value: Any, number: float = number) -> Score:
                right = abs(value["answer"] - number) < 1e-6
                return Score(right, "" if right else f"the answer is {number}")

            yield JsonTask(f"gsm8k {place}", TOLD, row["question"], judge, shots, tokens=200, wanted=WANTED)


def worked(answer: str) -> dict[str, Any]:
    """The working and the number behind "####"."""
    working, _, number = answer.partition("####")
    value = float(number.replace(",", ""))
    return {
        "working": " ".join(CALCULATION.sub("", working).split()),
        "answer": int(value) if value.is_integer() else value,
    }
