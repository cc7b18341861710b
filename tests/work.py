"""Count the work of a call: neither the speed of a machine nor what else it does changes it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


def counted(function: Callable[..., Result], *args: Any, **keywords: Any) -> tuple[Result, int]:
    """The result of the function, and the number of functions called meanwhile, in Python and in C.

    Versions of Python differ by some per cent: bounds must be generous.
    """
    count = 0

    def profile(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        result = function(*args, **keywords)
    finally:
        sys.setprofile(before)
    return result, count


class Looks:
    """For `Limits(cancelled=)`: a request that is given up after `most` looks."""

    def __init__(self, most: int) -> None:
        self.count, self.most = 0, most

    def __call__(self) -> bool:
        self.count += 1
        return self.count > self.most
