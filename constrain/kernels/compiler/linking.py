"""Calls between kernels: a small kernel is copied into its callers, a large one is called by its symbol.

Numba copies the machine code of a callee, and all that it calls in turn, into every caller, and optimises all of it
again there: the work grows with the square of the depth of calls. Here only small kernels are copied, which is what
lets LLVM inline them; a large one is a symbol, which the linker finds when the caller is made or read from the cache.

PERF: `constrain warmup` takes 32 s of CPU time instead of 100, and the cache 7 MB instead of 25; masks take as long as
before. With SMALL = 0 it would be 25 s, but cold masks would take 1.2 times as long; with 1300, 78 s.
Limit: a kernel must be ready before its callers are; jit.py keeps the order of declaration.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils, sigutils, types
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

SMALL = 400  # bytes of bytecode
CLOCKS = {"linux": 3, "darwin": 16}  # CLOCK_THREAD_CPUTIME_ID of C
never_copied = False  # set by native/lower.py, where LLVM sees all kernels at once

_symbols: dict[Dispatcher, Any] = {}  # of each large kernel: what its callers call in its place


def caller(function: Any) -> Any:
    """The same function, in which the name of a large kernel means its symbol."""
    namespace = {
        name: _symbols.get(value, value) if isinstance(value, Dispatcher) else value
        for name, value in function.__globals__.items()
    }
    linked = FunctionType(function.__code__, namespace, function.__name__)
    linked.__module__ = function.__module__
    return linked


def declare(dispatcher: Any, signature: str, is_inline: bool, is_apart: bool) -> None:
    """Let kernels that are declared from now on call this one by its symbol, if it is large or rarely called."""
    is_large = len(dispatcher.py_func.__code__.co_code) > SMALL
    if never_copied or is_apart or (is_large and not is_inline):
        arguments, result = sigutils.normalize_signature(signature)
        _symbols[dispatcher] = call(symbol_name(dispatcher), result(*arguments))


def is_symbol(dispatcher: Any) -> bool:
    """True if others call this kernel by its symbol, so that they cannot be loaded before it."""
    return dispatcher in _symbols


def publish(dispatcher: Any) -> None:
    """Tell the linker where the machine code of a compiled kernel is."""
    if is_symbol(dispatcher):
        (compiled,) = dispatcher.overloads.values()
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        binding.add_symbol(symbol_name(dispatcher), address)


def self_call(n_arguments: int) -> Callable[..., int]:
    """The function by which a kernel calls itself; the kernel must return `i`, and take arenas, then integers.

    Numba's own self-recursion goes through a symbol that is lost when the kernel is read from the cache (the process
    aborts with "Symbol not found: .numba.unresolved$..."). This emits a plain call of the function being compiled.
    """

    def typed(_context: Any, *given: Any) -> tuple[Any, Callable[..., Any]]:
        signature = types.int64(*(a if isinstance(a, types.Array) else types.int64 for a in given))
        return signature, _emitter(signature, lambda _context, builder: builder.function)

    return _intrinsic(typed, n_arguments, f"self of {n_arguments}")


@intrinsic
def add_atomically(context: Any, counter: Any, word: Any, amount: Any) -> Any:
    """counter[word] += amount, whoever else does the same at that moment; what it was before. counter: int64[::1]."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        place = builder.gep(array.data, [values[1]])
        return builder.atomic_rmw("add", place, values[2], "acq_rel")

    return types.int64(counter, types.int64, types.int64), generate


@intrinsic
def order_writes(context: Any) -> Any:
    """Writes before it are seen by other threads before those after it. PERF: on x86 no instruction at all."""

    def generate(context: Any, builder: Any, _signature: Any, _values: Any) -> Any:
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def thread_milliseconds(context: Any) -> Any:
    """The CPU time of this thread in milliseconds, from 1 on; 0 where C has no such clock (Windows)."""

    def generate(context: Any, builder: Any, _signature: Any, _values: Any) -> Any:
        clock = CLOCKS.get(sys.platform)
        if clock is None:
            return context.get_constant(types.int64, 0)
        word = ir.IntType(64)
        time = cgutils.alloca_once(builder, ir.ArrayType(word, 2))  # struct timespec: seconds, nanoseconds
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), time.type])
        builder.call(
            cgutils.get_or_insert_function(builder.module, kind, "clock_gettime"), [ir.IntType(32)(clock), time]
        )
        seconds, nanoseconds = (builder.load(cgutils.gep_inbounds(builder, time, 0, k)) for k in range(2))
        whole = builder.mul(seconds, word(1000))
        return builder.add(builder.add(whole, builder.sdiv(nanoseconds, word(1_000_000))), word(1))

    return types.int64(), generate


def call(name: str, signature: Any) -> Any:
    """An intrinsic that calls the machine code of this symbol."""

    def function(context: Any, builder: Any) -> Any:
        kind = context.call_conv.get_function_type(signature.return_type, signature.args)
        return cgutils.get_or_insert_function(builder.module, kind, name)

    emit = _emitter(signature, function)
    return _intrinsic(lambda _context, *_given: (signature, emit), len(signature.args), f"{name}: {signature}")


def _emitter(signature: Any, function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Emit a call in numba's own convention. function: (context, builder) → what is called."""

    def emit(context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        status, result = context.call_conv.call_function(
            builder, function(context, builder), signature.return_type, signature.args, values
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return emit


def _intrinsic(typed: Callable[..., Any], n_arguments: int, what: str) -> Any:
    """An intrinsic needs its arguments by name. what: tells it from others."""
    names = ", ".join(f"a{k}" for k in range(n_arguments))
    function = eval(f"lambda context, {names}: typed(context, {names})", {"typed": typed})
    function.__module__, function.__qualname__ = __name__, what
    return intrinsic(function)


def symbol_name(dispatcher: Any) -> str:
    return f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__name__}"
