"""Targets of the fuzzer: what is drawn, and the oracle that judges it. `fuzzing.py` runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st


class Target(NamedTuple):
    """One way to look for faults.

    Attributes:
        name: Its name on the command line and in rows.
        cases: Draws cases: values of JSON, so that a case can be kept as a row.
        check: Judges a case; an exception is a finding. True: a part of it that a plain oracle took too long for is
            undecided.
        examples: Cases of one round, some ten seconds.
    """

    name: str
    cases: st.SearchStrategy[Any]
    check: Callable[[Any], bool | None]
    examples: int
