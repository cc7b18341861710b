"""HumanEval: a function by its head and documentation; its tests run in a process with limits.

The answer is the whole function, without its documentation. It is valid if it parses as one function and every name is
bound, by it or by what stands before the head (imports, other functions), and right if the tests pass.
"""

from __future__ import annotations

import ast
import gzip
import itertools
import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tasks.python_names import undefined
from tasks.task import Score, Task

SECONDS, BYTES = 10, 2_000_000_000  # of the tests
TOLD = "Write the function. Answer with its code alone, without its documentation."
SHOT = (
    'def longest(words: list) -> str:\n    """ The longest of some words; of equals the first.\n    """\n',
    "def longest(words: list) -> str:\n    best = ''\n    for word in words:\n        if len(word) > len(best):\n"
    "            best = word\n    return best",
)
FENCE = re.compile(r"```(?:python)?\n")


@dataclass(frozen=True)
class PythonTask(Task):
    """The answer is a function. before: the code before its head."""

    before: str = ""
    form: ClassVar[str] = "python"
    again: ClassVar[str] = "Answer again, with the function only."
    goes_on: ClassVar[bool] = True  # comments, say

    @property
    def objects(self) -> dict[str, Any]:
        """The objects that the code before binds; it is imports and functions of the data."""
        bound: dict[str, Any] = {}
        exec(self.before, bound)
        del bound["__builtins__"]
        return bound

    def read(self, text: str, free: bool) -> Any:
        text = FENCE.split(text, maxsplit=1)[-1].partition("```")[0]
        lines = text[text.find("def ") :].splitlines() if "def " in text else []
        inside = itertools.takewhile(lambda line: line.strip() == "" or line[0] in " \t)", lines[1:])
        return "\n".join([*lines[:1], *inside]).rstrip() or None

    def fault(self, value: Any) -> str | None:
        try:
            tree = ast.parse(value)
        except (SyntaxError, ValueError) as error:
            return str(error)
        if [type(each) for each in tree.body] != [ast.FunctionDef]:
            return "not one function"
        names = undefined(f"{self.before}\n{value}")
        return f"not defined: {', '.join(sorted(names))}" if names else None


def tasks(folder: Path) -> Iterator[PythonTask]:
    """The rows of HumanEval.jsonl.gz, behind one worked example."""
    lines = gzip.decompress((folder / "HumanEval.jsonl.gz").read_bytes()).decode("utf-8").splitlines()
    for row in map(json.loads, lines):
        before, head, rest = row["prompt"].rpartition("def ")

        def judge(value: Any, row: dict[str, Any] = row, before: str = before) -> Score:
            fault = run(f"{before}\n{value}\n{row['test']}\ncheck({row['entry_point']})\n")
            return Score(fault is None, fault or "")

        name = f"humaneval {row['task_id'].partition('/')[2]}"
        yield PythonTask(name, TOLD, f"{head}{rest}", judge, (SHOT,), tokens=160, before=before)


def run(program: str) -> str | None:
    """The last line that a program says in failing; None: it ends well. It may not write files, nor take long."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=3 * SECONDS, check=False,
                preexec_fn=limit, stdin=subprocess.DEVNULL, cwd=folder,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "no end"
    said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return None if done.returncode == 0 else said[-1]
