"""Oracles that give up: plain twins take time without bound on some inputs, and a fuzzer has to go on."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

_end = math.inf


class OutOfPatienceError(Exception):
    """An oracle has taken as long as it may; it has no verdict."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Let oracles inside take so much CPU time of the process, then raise OutOfPatienceError."""
    global _end  # the oracles are plain functions, and run in one thread
    _end = time.process_time() + seconds
    try:
        yield
    finally:
        _end = math.inf


def tick() -> None:
    """Called in loops of oracles."""
    if time.process_time() > _end:
        raise OutOfPatienceError
