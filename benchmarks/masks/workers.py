"""One process for each engine: requests and answers are lines of JSON; one that dies or hangs is started again.

The parent holds a `Worker`; the child calls `claim_stdout` before anything else is imported, then `serve`. An engine
that is killed costs its start again, which is in no figure. What a child prints is kept aside (xgrammar warns a lot);
its last line is told when the child dies.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

GRACE = 2.0  # seconds beyond a limit before a worker is killed: its own alarm may ring at the end of a long call
START_LIMIT = 900.0  # seconds for a worker to be ready: some engines read a vocabulary for minutes


class WorkerError(Exception):
    """A request without an answer. kind: "timeout" or "crash"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def claim_stdout() -> TextIO:
    """The channel for answers; what an engine prints, and where it crashes, goes to standard error from now on."""
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def serve(answers: TextIO, ready: dict[str, Any], handle: Callable[[Any], Any]) -> None:
    """Say `ready`, then answer every line of standard input with `handle` of it, until there are no more."""
    print(json.dumps(ready), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(handle(json.loads(line))), file=answers, flush=True)


def last_words(printed: str) -> str:
    """A process's last message: the fault that Python named and its innermost frame, else its last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    fatal = next((line for line in lines if line.startswith("Fatal Python error")), None)
    if fatal is None:
        return lines[-1] if lines else "no message"
    frame = next((line for line in lines[lines.index(fatal) :] if line.startswith("File ")), "no frame")
    return f"{fatal}; {frame}"


class Worker:
    """A process that answers; `meta` is what it said of itself when it was ready."""

    def __init__(self, name: str, command: Sequence[str | Path], home: Path | None = None) -> None:
        """home: the checkout whose package the process imports; None: this one's."""
        self.name = name
        self.environment = None if home is None else {**os.environ, "PYTHONPATH": str(home)}
        self.command = [str(part) for part in command]
        self.process: subprocess.Popen[str] | None = None
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115  (for as long as the worker lives)
        self.meta = self._begin()

    def _begin(self) -> dict[str, Any]:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.printed,
            text=True,
            encoding="utf-8",
            env=self.environment,
        )
        line = self._line(START_LIMIT)
        if not line:
            code = self._leave(kill=True)
            raise WorkerError("crash", f"the engine {self.name} does not start (code {code})\n{self._tail()}")
        return json.loads(line)

    def _tail(self) -> str:
        """The end of what the process printed."""
        size = os.fstat(self.printed.fileno()).st_size
        return os.pread(self.printed.fileno(), 5000, max(0, size - 5000)).decode(errors="replace").strip()

    def _line(self, limit: float) -> str | None:
        """The next answer; "" if the process ended, None if nothing came in time (limit: seconds)."""
        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        return self.process.stdout.readline() if ready else None

    def _leave(self, kill: bool) -> int:
        """Wait for the process to end, and forget it. Returns its exit code."""
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        if kill:
            self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        self.process = None
        return code

    def ask(self, request: Any, limit: float) -> Any:
        """The answer to a request. Raises WorkerError where there is none; the next request finds a new process."""
        if self.process is None:
            self._begin()
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self._line(limit + GRACE)
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        if line is None:
            self._leave(kill=True)
            raise WorkerError("timeout", f"over {limit:g} s: the process was ended")
        code = self._leave(kill=False)
        raise WorkerError("crash", f"the process ended with code {code}: {last_words(self._tail())}")

    def end(self) -> None:
        """Let the process end by itself."""
        if self.process is not None:
            self._leave(kill=False)
