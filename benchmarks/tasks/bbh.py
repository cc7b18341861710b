"""BIG-Bench Hard, five tasks: three choose an option, one counts, one sorts words into a list; in turn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tasks.task import ChoiceTask, JsonTask, Task, exactly

OPTION = re.compile(r"^\([A-Z]\)", re.MULTILINE)
FIXED = {"boolean_expressions": ("True", "False"), "sports_understanding": ("yes", "no")}
NAMES = (*FIXED, "date_understanding", "object_counting", "word_sorting")
SHOTS = 2


def tasks(folder: Path) -> Iterator[Task]:
    """The rows of the five files, in turn, behind the first two of each."""
    tables = [json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["examples"] for name in NAMES]
    for place in range(SHOTS, min(map(len, tables))):
        for name, rows in zip(NAMES, tables, strict=True):
            shots = tuple((row["input"], shown(name, row["target"])) for row in rows[:SHOTS])
            yield task(name, place, rows[place]["input"], rows[place]["target"], shots)


def shown(name: str, target: str) -> str:
    """An answer as an example has it."""
    return json.dumps(target.split()) if name == "word_sorting" else target


def task(name: str, place: int, asked: str, target: str, shots: tuple[tuple[str, str], ...]) -> Task:
    """The task of a row."""
    called = f"bbh {name}-{place}"
    if name == "object_counting":
        told = "Answer with the number alone."
        return JsonTask(called, told, asked, exactly(int(target)), shots, tokens=8, wanted={"type": "integer"})
    if name == "word_sorting":
        words = target.split()
        wanted = {
            "type": "array",
            "items": {"enum": asked.partition("List: ")[2].split()},
            "minItems": len(words),
            "maxItems": len(words),
        }
        return JsonTask(called, "Answer with a JSON list.", asked, exactly(words), shots, tokens=160, wanted=wanted)
    choices = FIXED.get(name) or tuple(OPTION.findall(asked))
    told = f"Answer with {' or '.join(choices)} and nothing else."
    return ChoiceTask(called, told, asked, exactly(target), shots, tokens=16, choices=choices)
