"""Raise at the n-th call that the library makes: what a signal, a lack of memory or a timeout may do at any place."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import constrain

PACKAGE = str(Path(constrain.__file__).parent)


class Interrupter:
    """Raises KeyboardInterrupt at the n-th call that the library makes while it is active, in the thread that made it
    active; `calls` says how many there were. 0: it only counts.

    The call with which `with lock:` lets go is left out: Python looks for signals after it, and not between the last
    line under the lock and that call.
    """

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def _see(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called.__name__ == "__exit__":
            return
        if event in ("call", "c_call") and frame.f_code.co_filename.startswith(PACKAGE):
            self.calls += 1
            if self.calls == self.at:
                raise KeyboardInterrupt

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        sys.setprofile(self._see)
        try:
            yield
        except KeyboardInterrupt:
            assert self.calls == self.at
        finally:
            sys.setprofile(None)
