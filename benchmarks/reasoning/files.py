"""Questions of data sets that others published, read from files. Nothing is fetched, and none is kept here.

Layouts, told apart by what the rows have:

    GSM8K             lines {"question", "answer"}; the answer is the working, then "#### " and a number
    BIG-Bench Hard    {"examples": [{"input", "target"}]}; the target is one of the options "(A)", "(B)" of the input
    any other         rows {"question", "answer"} or {"input", "target"}, as lines, a list or under "examples": a text
                      (last letters), which is right if it is equal but for capitals and spaces

The first rows of a file are the examples of its prompts, and are not asked.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from reasoning.tasks import EXAMPLES, Question, object_of, prompt_of

SUFFIXES = (".json", ".jsonl")
NUMBER = re.compile(r"####\s*(-?[\d,]*\.?\d+)\s*$")
OPTION = re.compile(r"^\(([A-Z])\)", re.MULTILINE)
CALCULATION = re.compile(r"<<[^>]*>>")  # GSM8K's marks for a calculator
WORKING = {"type": "string", "maxLength": 800}


def rows_of_file(file: Path) -> list[tuple[str, str]]:
    """(question, answer) of each row. Raises ValueError, with the place, for a file of another layout."""
    text = file.read_text(encoding="utf-8")
    try:
        rows = [json.loads(line) for line in text.splitlines() if line.strip()] if file.suffix == ".jsonl" else None
        rows = json.loads(text) if rows is None else rows
        rows = rows["examples"] if isinstance(rows, dict) else rows
        names = ("question", "answer") if "question" in rows[0] else ("input", "target")
        return [(str(row[names[0]]), str(row[names[1]])) for row in rows]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"{file}: no rows of questions and answers ({error!r})") from error


def question_of(kind: str, text: str, answer: str) -> Question:
    """A row as a question with a schema for its answer."""
    if (number := NUMBER.search(answer)) is not None:
        working = CALCULATION.sub("", answer[: number.start()]).strip()[: WORKING["maxLength"]]
        value = float(number[1].replace(",", ""))
        shown = {"working": working, "answer": int(value) if value.is_integer() else value}
        schema = object_of(working=WORKING, answer={"type": "number"})
        return Question(kind, text, schema, shown, lambda found: abs(found["answer"] - value) < 1e-6)
    options = OPTION.findall(text)
    if (option := answer.strip("() ")) in options:
        schema = object_of(answer={"enum": sorted(set(options))})
        return Question(kind, text, schema, {"answer": option}, lambda found: found["answer"] == option)
    return Question(
        kind, text, object_of(answer={"type": "string", "maxLength": max(40, 2 * len(answer))}), {"answer": answer},
        lambda found: found["answer"].casefold().split() == answer.casefold().split(),
    )  # fmt: skip


def questions_of_file(file: Path, count: int, seed: int) -> list[tuple[Question, str]]:
    """Questions of a file with their prompts.

    Args:
        file: In one of the layouts above.
        count: How many at most; fewer than there are: drawn by the seed, in the order of the file.
        seed: Gives the same questions again.

    Raises:
        ValueError: The file has another layout, or no more rows than a prompt has examples.
    """
    found = [question_of(file.stem, *row) for row in rows_of_file(file)]
    shown, rest = found[:EXAMPLES], found[EXAMPLES:]
    if not rest:
        raise ValueError(f"{file}: {len(found)} rows, and {EXAMPLES} of them are examples")
    chosen = sorted(random.Random(seed).sample(range(len(rest)), min(count, len(rest))))
    return [(rest[i], prompt_of(rest[i], shown)) for i in chosen]


def files_in(folder: Path) -> dict[str, Path]:
    """The files of questions in a folder, by their names without the suffix. Raises ValueError where there is none."""
    files: dict[str, Any] = {file.stem: file for file in sorted(folder.glob("*")) if file.suffix in SUFFIXES}
    if not files:
        raise ValueError(f"{folder}: no file of questions ({', '.join(SUFFIXES)})")
    return files
