"""`@kernel` declares a kernel, in one of three modes (mode.py); `load` makes all ready."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from constrain.kernels.compiler import native
from constrain.kernels.compiler.mode import MODE

__all__ = ["MODE", "atomic_add", "is_ready", "kernel", "load", "recursion", "release_fence", "thread_clock"]

Function = TypeVar("Function", bound=Callable[..., Any])
if MODE == "numba":
    try:
        from constrain.kernels.compiler import jit
    except ModuleNotFoundError as error:
        if error.name not in ("numba", "llvmlite"):
            raise
        message = f"the kernels have to be compiled here, since {native.REASON}: pip install numba"
        raise ModuleNotFoundError(message, name=error.name) from None


def kernel(
    signature: str, *, entry: bool = False, brief: bool = False, inline: bool = False, apart: bool = False
) -> Callable[[Function], Function]:
    """Declare a kernel. In the signature, `arena` stands for int32[::1], `row` for uint32[::1], `i` for int64; see
    `expand_signature` for all.

    entry: Python calls it, not only other kernels.
    brief: it is so short that it keeps the interpreter's lock. No other thread runs Python meanwhile.
    inline: numba copies it into its callers, although it is not small.
    apart: it is rarely called, and never copied into its callers, although it is small.
    """

    def declare(function: Function) -> Any:
        if MODE == "numba":
            return jit.compiled(function, expand_signature(signature), entry, brief, inline, apart)
        if MODE == "native" and entry:
            return native.find(function, expand_signature(signature))
        return _plain(function)

    return declare


def _plain(function: Function) -> Any:
    """The kernel as Python: a word of an arena (int32) is passed on and returned as an int, like `i` in a signature."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        result = function(*(a if isinstance(a, np.ndarray) else int(a) for a in arguments))
        return None if result is None else int(result)

    return call


def expand_signature(signature: str) -> str:
    """The signature in numba's words."""
    names = {"arena": "int32[::1]", "row": "uint32[::1]", "rows": "uint32[:, ::1]", "i": "int64", "ids": "int64[::1]"}
    names["halves"] = "int16[::1]"
    head, _, rest = signature.partition("(")
    arguments = ", ".join(names[a.strip()] for a in rest.rstrip(")").split(","))
    return f"{names.get(head, head)}({arguments})"


def recursion(itself: Callable[[], Callable[..., int]], n_arguments: int) -> Callable[..., int]:
    """The function by which a kernel calls itself; the kernel must return `i`, and take arenas, then integers.

    itself: gives the kernel, where it runs as Python.
    """
    if MODE == "numba":
        return jit.linking.self_call(n_arguments)
    return lambda *arguments: itself()(*arguments)


def atomic_add() -> Callable[..., int]:
    """The function that adds to a word that threads share: add(counter, word, amount) returns the value before."""
    return jit.linking.add_atomically if MODE == "numba" else _add_plainly


def release_fence() -> Callable[[], None]:
    """The function that orders writes: a thread that sees a write made after the call sees all made before it."""
    return jit.linking.order_writes if MODE == "numba" else _no_fence


def thread_clock() -> Callable[[], int]:
    """The function that reads the CPU time of its thread in milliseconds, from 1 on; 0 where there is no clock."""
    return jit.linking.thread_milliseconds if MODE == "numba" else _thread_milliseconds


def _thread_milliseconds() -> int:
    return time.thread_time_ns() // 1_000_000 + 1


def _no_fence() -> None:
    """The interpreter keeps the order of what it writes."""


_one_at_a_time = threading.Lock()


def _add_plainly(counter: Any, word: int, amount: int) -> int:
    with _one_at_a_time:
        before = int(counter[word])
        counter[word] += amount
        return before


def declare_all() -> None:
    """Import every module of kernels, those of wings too, so that `load` makes all of them ready."""
    for folder in native.FOLDERS:
        package = f"constrain.{folder.replace('/', '.')}."
        for found in pkgutil.walk_packages([str(native.PACKAGE / folder)], package):
            if not found.name.startswith("constrain.kernels.compiler."):  # no kernels; some need numba
                importlib.import_module(found.name)


def load(progress: Callable[[int, int], None] | None = None) -> None:
    """Make the kernels of all imported modules ready; quick when they are. Compiling, which happens once, takes most of
    a minute.

    progress: called with (kernels done, kernels in all); by default compiling writes a line to standard error.
    """
    if MODE == "numba":
        jit.make_ready(progress)


def is_ready() -> bool:
    """True if `load` has nothing to compile."""
    return MODE != "numba" or jit.is_kept()
