"""The oracle gives up: it takes time without bound on some inputs, and a fuzzer has to go on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from reading_oracle import reading


class OutOfPatienceError(Exception):
    """An oracle has taken as long as it may; it has no verdict."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Let the oracle inside take so much CPU time of the process, then raise OutOfPatienceError."""
    end, derivative = time.process_time() + seconds, reading.derivative

    def impatient(*asked: Any) -> Any:  # what it does without end takes derivatives
        if time.process_time() > end:
            raise OutOfPatienceError
        return derivative(*asked)

    with patch.object(reading, "derivative", impatient):
        yield
