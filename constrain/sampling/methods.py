"""The table of methods: the names that `generate(method=...)` knows.

A method is a generator function `method(job)`: it yields `(row, token ids)` as soon as tokens are final — for
streaming; a method that revises its outputs yields nothing — and returns one `Sample` for each row of the job.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from constrain.errors import ConstrainError
from constrain.sampling.job import Job, Sample
from constrain.sampling.lcd import lcd

Method = Callable[[Job], Generator[tuple[int, list[int]], None, list[Sample]]]

METHODS: dict[str, Method] = {"lcd": lcd}


def register(name: str, method: Method) -> None:
    """Make a method known by a name. A name can be given once."""
    if name in METHODS:
        raise ConstrainError(f"there is a method {name!r} already", fix="register it under another name")
    METHODS[name] = method


def method_named(name: str) -> Method:
    """The method of a name; ConstrainError with the known names."""
    if name not in METHODS:
        raise ConstrainError(f"there is no method {name!r}", fix=f"choose one of: {', '.join(sorted(METHODS))}")
    return METHODS[name]
