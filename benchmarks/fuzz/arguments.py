"""Several odd values at once for the arguments of each public function: the tables of tests/test_odd_arguments.py."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

from hypothesis import strategies as st

import test_odd_arguments as table
from fuzz import Target

ARGUMENTS: dict[str, list[str]] = {}
for _name, _argument in table.CASES:
    ARGUMENTS.setdefault(_name, []).append(_argument)


def check(case: Any) -> None:
    """An answer, a ConstrainError that says something, or a TypeError."""
    odd = {argument: table.ODD[shown]() for argument, shown in case["odd"].items()}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.chdir(folder)  # some values name files
        stack.callback(os.chdir, before)
        fault = table.fault_of(case["function"], odd)
    assert fault is None, fault


def _odd(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Up to three arguments of a function with their values."""
    pairs = [
        (argument, shown)
        for argument in ARGUMENTS[name]
        for shown in table.ODD
        if (argument, shown) not in table.UNSUITED
    ]
    drawn = st.lists(st.sampled_from(pairs), min_size=1, max_size=3)
    return drawn.map(lambda chosen: {"function": name, "odd": dict(chosen)})


TARGETS = [Target("arguments", st.sampled_from(list(ARGUMENTS)).flatmap(_odd), check, 400)]
