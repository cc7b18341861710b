"""Programs of other languages that read texts, and answer each with a line: one process for all of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


class Reader:
    """A program that is started when it is first asked. by_line: a text is a line, and has no length before it."""

    def __init__(self, *command: str, by_line: bool = False) -> None:
        self.command, self.by_line = command, by_line
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, text: bytes) -> str:
        """The answer to a text, which goes to the program behind its length. Raises RuntimeError: the program ended."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(text + b"\n" if self.by_line else len(text).to_bytes(4, "big") + text)
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().rstrip("\n")
        if not answer:
            raise RuntimeError(f"{self.command[0]} ended; is it the right version?")
        return answer
