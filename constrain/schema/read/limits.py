"""Limits on what reading a schema may cost: seconds, memory, and whether the request is still wanted.

The idea: the algebra has corners that grow exponentially. It counts its own steps (`normalize/normal_forms.py`); a
server cares about time and memory. Cost: a look at the clock every few steps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from constrain.errors import LimitError

STEPS_PER_LOOK = 64  # between two looks at the clock
LOOKS_PER_MEASUREMENT = 32  # looks at the clock between two at the memory, which cost 20 µs


@dataclass
class Limits:
    """The limits on reading one schema, for `json_schema(..., limits=...)`. May be used again: each use starts anew.

    Attributes:
        seconds: Wall-clock time in seconds; None: no limit.
        megabytes: Growth of the process's resident memory in MB (10^6 bytes), where /proc/self/statm tells it; None: no
            limit.
        cancelled: A function that is called every few milliseconds; when it returns True, reading ends with a
            LimitError.

    Example:
        >>> import constrain
        >>> from constrain.schema import Limits
        >>> constrain.json_schema({"type": "integer"}, limits=Limits(seconds=1.0))
        json_schema({"type": "integer"})
    """

    seconds: float | None = 20.0
    megabytes: float | None = 2048.0
    cancelled: Callable[[], bool] | None = None
    _end: float = field(default=0.0, repr=False, compare=False)
    _max_resident: float = field(default=0.0, repr=False, compare=False)
    _steps: int = field(default=0, repr=False, compare=False)
    _looks: int = field(default=0, repr=False, compare=False)

    def start(self) -> Limits:
        """Start the clock, and return the limits themselves."""
        self._end = float("inf") if self.seconds is None else time.perf_counter() + self.seconds
        self._max_resident = 0.0  # known from the first look on
        self._steps = self._looks = 0
        return self

    def check(self, steps: int = 1) -> None:
        """Count some steps. Raises LimitError when a limit is reached."""
        self._steps += steps
        if self._steps >= STEPS_PER_LOOK:
            self._steps = 0
            self._look()

    def _look(self) -> None:
        if self.cancelled is not None and self.cancelled():
            raise LimitError("reading the schema was cancelled", fix="ask again")
        if time.perf_counter() > self._end:
            raise LimitError(
                f"reading the schema takes more than {self.seconds:g} seconds",
                fix="write fewer overlapping combinations (allOf, oneOf, not), or pass limits=Limits(seconds=...)",
            )
        self._looks += 1
        if self.megabytes is None or self._looks % LOOKS_PER_MEASUREMENT != 1:
            return
        if self._looks == 1:
            self._max_resident = resident_megabytes() + self.megabytes
        elif resident_megabytes() > self._max_resident:
            raise LimitError(
                f"reading the schema takes more than {self.megabytes:g} MB of memory",
                fix="write fewer overlapping combinations (allOf, oneOf, not), or pass limits=Limits(megabytes=...)",
            )


def resident_megabytes() -> float:
    """The resident memory of this process in MB; 0 where it cannot be known."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0
