"""Classification by choices: which of several functions answers a question (`live_multiple` of BFCL, each 13th row)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.calls import rows
from tasks.task import ChoiceTask, exactly

TOLD = "Answer with the name of the function that fits the question, and nothing else."
STEP = 13


def tasks(folder: Path) -> Iterator[ChoiceTask]:
    """Rows with three functions or more, behind one of them. folder: `bfcl_eval/data`."""
    several = [each for each in rows(folder, "live_multiple") if len(each[0]["function"]) > 2]
    row, accepted = several[2]
    shots = ((asked(row), next(iter(accepted))),)
    for row, accepted in several[::STEP]:
        names = tuple(dict.fromkeys(each["name"] for each in row["function"]))
        judge = exactly(next(iter(accepted)))
        yield ChoiceTask(f"tools {row['id']}", TOLD, asked(row), judge, shots, tokens=48, choices=names)


def asked(row: dict[str, Any]) -> str:
    """The functions in one line each, and the question."""
    lines = [f"{each['name']}: {each['description'].partition('. ')[0][:120]}" for each in row["function"]]
    return "\n".join([*lines, "", row["question"][0][-1]["content"]])
