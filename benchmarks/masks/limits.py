"""Limits that hold inside a worker: of time, by a signal; of memory, by the kernel. And how much memory was used.

A signal is heard between two steps of Python: a call into an engine that does not come back is ended from outside
(workers.py).
"""

from __future__ import annotations

import contextlib
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class TimeLimitError(BaseException):
    """The time is over. No Exception, since some engines catch every Exception and go on."""


def _ring(*_: Any) -> None:
    raise TimeLimitError


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimitError in the body once so much wall time is over."""
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def limit_memory(gigabytes: float) -> None:
    """Let the process have so much address space (10⁹ bytes) and no more: an allocation beyond it fails."""
    limit = int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def forget_peak_rss() -> None:
    """Let the peak begin anew at what is resident now (Linux: proc(5), /proc/pid/clear_refs)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_rss_mb() -> float:
    """The largest resident set of this process since then, in MB (10⁶ bytes)."""
    with contextlib.suppress(OSError, StopIteration):
        status = Path("/proc/self/status").read_text().splitlines()
        return round(int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024 / 1e6, 1)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, 1)
