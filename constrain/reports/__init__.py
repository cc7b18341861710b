"""Reports about results: nothing of them is loaded until somebody asks for one.

takes: outputs of `generate`, with what was recorded of their tokens; options, or inputs to answer one by one
gives: tokens in colours, plots, votes, confidence in parts, scores of options, answers to many inputs
start reading at: display/tokens.py, then vote.py and answers/__init__.py
"""

from importlib import import_module
from typing import Any

from constrain.lazily import names_of_stub

_HOMES = names_of_stub(__file__)


def __getattr__(name: str) -> Any:
    """Load a report when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
