"""Putting a function around one of vLLM's, once in a process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

MARK = "_hook_of_constrain"


def wrap(owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
    """Replace a function of a class or module by what `around` makes of it, unless that was done before.

    Returns: False if there is no such function.
    """
    original = getattr(owner, name, None)
    if owner is None or not callable(original):
        return False
    if not hasattr(original, MARK):
        hook = functools.wraps(original)(around(original))
        setattr(hook, MARK, True)
        setattr(owner, name, hook)
    return True
