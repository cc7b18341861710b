"""Count the work of a call: neither the speed of a machine nor what else it does changes it."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import constrain

PACKAGE = str(Path(constrain.__file__).parent)
LOOKING = f"{PACKAGE}/limits.py"

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


def unlooked(function: Callable[[], object]) -> tuple[int, str]:
    """The most lines of the package that run without a `tick` or `look` of the limits, and the one that ran most."""
    lines: Counter[tuple[str, int]] = Counter()
    longest = 0, ""

    def note() -> None:
        nonlocal longest
        if lines.total() > longest[0]:
            [((file, number), count)] = lines.most_common(1)
            longest = lines.total(), f"{file[len(PACKAGE) + 1 :]}:{number}, {count} times"
        lines.clear()

    def each_line(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            lines[frame.f_code.co_filename, frame.f_lineno] += 1
        return each_line

    def each_call(frame: FrameType, _event: str, _argument: Any) -> Any:
        file = frame.f_code.co_filename
        if file == LOOKING and frame.f_code.co_name in ("tick", "look"):
            note()
            return None
        return each_line if file.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        function()
    finally:
        sys.settrace(before)
    note()
    return longest
