"""The compiler of TypeScript as an oracle: which faults `tsc --strict` finds in programs.

One process of node reads lists of programs. Each program is a module of one `ts.Program`, so that a thousand cost the
library's types once. The package `typescript` is looked for as node looks for packages (`NODE_PATH`).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import lru_cache
from typing import NamedTuple

from languages.compilers import PROGRAMS, Reader

READER = Reader(
    "node", "--max-old-space-size=4096", "-e", (PROGRAMS / "typescript.js").read_text("utf-8"), by_line=True
)


class Fault(NamedTuple):
    """A fault that the compiler found: its number, the characters that it is about, and its message."""

    code: int
    start: int
    length: int
    message: str


@lru_cache
def is_there() -> bool:
    """True if node and the compiler are installed."""
    if shutil.which("node") is None:
        return False
    return subprocess.run(["node", "-e", 'require("typescript")'], capture_output=True, check=False).returncode == 0


def faults(programs: list[str]) -> list[list[Fault]]:
    """The faults of each program; none: the compiler accepts it."""
    return [[Fault(*each) for each in found] for found in json.loads(READER.ask(json.dumps(programs).encode()))]
