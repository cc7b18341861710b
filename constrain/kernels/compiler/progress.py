"""The message to a user who waits for kernels: on a terminal a line that counts, else a line now and then."""

from __future__ import annotations

import contextlib
import sys
import time

PATIENCE = 0.5  # seconds until the first line of progress
INTERVAL = 10.0  # seconds between lines where there is no terminal


class Line:
    """The line."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.next = self.begin + PATIENCE
        self.is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self.stage = ""  # that was told last

    def tell(self, what: str) -> None:
        """Write what is being done, if it is time to: "stage: how far"."""
        now, stage = time.monotonic(), what.partition(":")[0]
        if now >= self.next or self.stage not in ("", stage):
            self.stage = stage
            self.next = now + (0.1 if self.is_terminal else INTERVAL)
            self._write(what, "" if self.is_terminal else "\n")

    def end(self) -> None:
        """Write that the kernels are ready, to who was told that they are not."""
        if self.stage:
            self._write(f"kernels are ready after {time.monotonic() - self.begin:.0f} s", "\n")

    def _write(self, text: str, end: str) -> None:
        with contextlib.suppress(OSError, AttributeError):  # nobody reads it, or there is no standard error
            sys.stderr.write(f"\r\x1b[Kconstrain: {text}{end}" if self.is_terminal else f"constrain: {text}{end}")
            sys.stderr.flush()
