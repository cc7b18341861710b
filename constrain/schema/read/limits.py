"""How much reading and computing a schema may cost, before it is given up with a `LimitError`.

The idea: the algebra has corners that grow exponentially. It counts its steps (`normalizer.py`), and beside them there
is
what a server cares about: seconds, memory, and whether the request is still wanted. Cost: a look at the clock every
few steps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from constrain.errors import LimitError

STEPS = 64  # between two looks at the clock
LOOKS = 32  # between two looks at the memory, which cost 20 µs


@dataclass
class Limits:
    """Limits of one schema, for `json_schema(..., limits=...)`. A limits may be used again; each use starts anew.

    seconds: wall clock. megabytes: by how much the process may grow meanwhile (where /proc tells; else not limited).
    cancelled: asked now and then; if it says True, reading ends with a LimitError.
    """

    seconds: float | None = 20.0
    megabytes: float | None = 2048.0
    cancelled: Callable[[], bool] | None = None
    _end: float = field(default=0.0, repr=False, compare=False)
    _most: float = field(default=0.0, repr=False, compare=False)
    _steps: int = field(default=0, repr=False, compare=False)
    _looks: int = field(default=0, repr=False, compare=False)

    def start(self) -> Limits:
        """Begin to count."""
        self._end = float("inf") if self.seconds is None else time.perf_counter() + self.seconds
        self._most = 0.0  # known from the first look on
        self._steps = self._looks = 0
        return self

    def check(self, steps: int = 1) -> None:
        """Count some steps. Raises LimitError when the limits is spent."""
        self._steps += steps
        if self._steps >= STEPS:
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
        if self.megabytes is None or self._looks % LOOKS != 1:
            return
        if self._looks == 1:
            self._most = resident_megabytes() + self.megabytes
        elif resident_megabytes() > self._most:
            raise LimitError(
                f"reading the schema takes more than {self.megabytes:g} MB of memory",
                fix="write fewer overlapping combinations (allOf, oneOf, not), or pass limits=Limits(megabytes=...)",
            )


def resident_megabytes() -> float:
    """The memory of this process; 0 where it cannot be known."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError, IndexError):
        return 0.0
