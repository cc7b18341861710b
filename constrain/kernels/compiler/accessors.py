"""Accessors: one-line functions that name a word of the arena, copied into each kernel that calls them.

The idea: `CONFIG.MASK(A, c)` says more than `A[c + 3]`, but a kernel costs 50 ms to compile, and more in each caller.
So an accessor is no kernel. Its expression is put in place of the call (expansion.py), in numba's intermediate
representation and before types are inferred: the kernel that numba compiles is the one with the offsets written out.
The fields of layouts (`CONFIG.MASK`, records/schema.py) become constants in the same way; a field that is called is an
accessor. Accessors of rows are derived from fields: `row_reader` and its kin.

Called from Python, an accessor takes and returns plain integers, so that views of the arena read with the same words.

Limit: an accessor is one expression or one assignment to an array, without branches. Numba's own inlining would do, at
some milliseconds a call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from constrain.kernels.compiler.mode import MODE

Function = TypeVar("Function", bound=Callable[..., Any])


class RecordLayout:
    """A class whose attributes are offsets; kernels read them as constants (records/schema.py)."""


def accessor(function: Function) -> Function:
    """Declare an accessor; see the head of this file."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if MODE == "python":  # kernels hand over words of the arena, which are int32
            arguments = tuple(a if isinstance(a, np.ndarray) else int(a) for a in arguments)
        result = function(*arguments)
        return None if result is None else int(result)

    call.accessor = function  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
