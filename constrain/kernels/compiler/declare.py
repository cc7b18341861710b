"""Kernels are declared here, and compiled or read from the cache all at once.

`@kernel(signature)` declares a kernel; `load()` compiles all of them: one signature each (numba quietly compiles a
second one for every mix of int32 and int64 arguments), nothing at import. Once all are in numba's disk cache, the small
ones that only kernels call are not read from it: their code is in those that call them (linking.py). Numba's cache does
not notice an edited callee in another file (numba issue 1833); here every cache entry is stamped with a hash of all
kernel sources, so any edit recompiles all.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

from constrain.kernels.compiler import linking, pipeline

Function = TypeVar("Function", bound=Callable[..., Any])

_kernels: list[tuple[Any, str]] = []
_entries: set[Any] = set()
_ready: set[Any] = set()
_lock = threading.Lock()


def _source_stamp() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _source_stamp()


def kernel(signature: str, *, entry: bool = False, inline: bool = False) -> Callable[[Function], Function]:
    """Declare a kernel. In the signature, `arena` stands for int32[::1], `row` for uint32[::1], `i` for int64; see
    `_expand` for all.

    entry: Python calls it, not only other kernels. inline: copy it into its callers, although it is not small.
    """

    def declare(function: Function) -> Function:
        if numba.config.DISABLE_JIT:
            return _plain(function)
        # PERF: without numba's runtime, arrays are passed without counting references. Two locked instructions an array
        # and call were 38 % of all CPU time of MaskBench (perf record; note 0005). So kernels cannot make arrays.
        dispatcher = numba.njit(
            cache=True, nogil=True, error_model="numpy", _nrt=False, pipeline_class=pipeline.Compiler
        )(linking.caller(function))
        # PERF/SAFETY: private attribute, guarded by tests/kernels/test_cache.py, which edits a helper and sees it.
        dispatcher._cache._cache_file._source_stamp = _STAMP
        if not inline:
            linking.declare(dispatcher, _expand(signature))
        _kernels.append((dispatcher, _expand(signature)))
        if entry:
            _entries.add(dispatcher)
        return dispatcher

    return declare


def _plain(function: Function) -> Any:
    """The kernel as Python: a word of an arena (int32) is passed on and returned as an int, like `i` in a signature."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        result = function(*(a if isinstance(a, np.ndarray) else int(a) for a in arguments))
        return None if result is None else int(result)

    return call


def _expand(signature: str) -> str:
    names = {"arena": "int32[::1]", "row": "uint32[::1]", "rows": "uint32[:, ::1]", "i": "int64", "ids": "int64[::1]"}
    names["halves"] = "int16[::1]"
    head, _, rest = signature.partition("(")
    arguments = ", ".join(names[a.strip()] for a in rest.rstrip(")").split(","))
    return f"{names.get(head, head)}({arguments})"


def load(progress: Callable[[int, int], None] | None = None, *, everything: bool = False) -> None:
    """Make the kernels ready: read from the cache what is called, or compile all; quick when done already.

    progress: called with (kernels done, kernels in all) after each; by default a line on a terminal while compiling.
    everything: read those too of which their callers have a copy.
    """
    with _lock:
        cached = is_cached()
        waiting = [
            (dispatcher, signature)
            for dispatcher, signature in _kernels
            if dispatcher not in _ready
            and (everything or not cached or dispatcher in _entries or linking.is_symbol(dispatcher))
        ]
        if progress is None:
            progress = _quiet if cached else _line
        for done, (dispatcher, signature) in enumerate(waiting, start=1):
            dispatcher.compile(signature)
            dispatcher.disable_compile()
            linking.publish(dispatcher)
            _ready.add(dispatcher)
            progress(done, len(waiting))


def is_cached() -> bool:
    """Whether `load()` has only to read from the cache: the last kernel's entry is there, and of these sources."""
    if numba.config.DISABLE_JIT or not _kernels:
        return True
    return bool(_kernels[-1][0]._cache._cache_file._load_index())


def _quiet(done: int, total: int) -> None:
    pass


def _line(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\rconstrain: compiling kernels, once: {done} of {total}" + ("\n" if done == total else ""))
        sys.stderr.flush()
