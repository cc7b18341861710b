"""All kernels as one LLVM module.

A kernel is lowered alone (lower.py), so several processes share the work, and what was lowered once is kept under a key
of all that it is made of (keys.py), in a file beside those of compiler/cache.py: an edit costs the kernels that it
changes. The numbers of exceptions are given when all are linked.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from llvmlite import binding as llvm
from llvmlite import ir

import constrain.kernels
from constrain.kernels.compiler import cache, jit, linking, native
from native import keys, lower

Error = tuple[str, str, str | None]  # what is raised: module, name and message
KEPT = 4  # times as many kernels as there are: those that were used last
A_PROCESS = 8  # kernels that are worth a process more


class Lowered(NamedTuple):
    """module: of all kernels, by their names (`symbol_of`). errors: what codes mean, from 1 on."""

    module: Any
    kernels: list[jit.Kernel]
    errors: list[Error]


def build(progress: Callable[[int, int], None]) -> Lowered:
    """All kernels of the package. progress: called with (kernels that were lowered here, how many are to be)."""
    constrain.kernels.declare_all()
    modules = []
    for kernel, code in zip(jit.declared, _codes(jit.declared, progress), strict=True):
        module = llvm.parse_bitcode(code)
        function = module.get_function(kernel.name)
        function.name = symbol_of(kernel)
        if kernel.is_inline:
            function.add_function_attribute("alwaysinline")
        if kernel.is_apart:
            function.add_function_attribute("noinline")
            function.add_function_attribute("cold")
        modules.append(module)
    while len(modules) > 1:  # linking takes time by what is there, so equal parts are linked
        for other in range(len(modules) // 2):
            modules[other].link_in(modules.pop())
    (whole,) = modules
    names = sorted(each.name for each in whole.global_variables if each.name.startswith(lower.ERROR))
    whole.link_in(llvm.parse_assembly(str(_numbers(names))))
    return Lowered(whole, list(jit.declared), [tuple(json.loads(name.removeprefix(lower.ERROR))) for name in names])


def _numbers(names: Sequence[str]) -> ir.Module:
    """The variables of exceptions, with their values."""
    module = ir.Module()
    for number, name in enumerate(names, 1):
        variable = ir.GlobalVariable(module, lower.CODE, name)
        variable.global_constant, variable.initializer = True, lower.CODE(number)
    return module


def symbol_of(kernel: jit.Kernel) -> str:
    """The name of a kernel's function. Others call it by its module and name, unless several have that name."""
    name = linking.symbol_name(kernel.dispatcher)
    alike = sum(name == linking.symbol_name(other.dispatcher) for other in jit.declared)
    return name if alike == 1 else kernel.name


def _codes(kernels: Sequence[jit.Kernel], progress: Callable[[int, int], None]) -> list[bytes]:
    """The LLVM of each kernel as bitcode, from the file or lowered here."""
    path = cache.path_of(("lowered", keys.of_compiler()))
    known = [keys.of_kernel(kernel) for kernel in kernels]
    kept = cache.read(path)
    codes = [kept.get(key, b"") if key else b"" for key in known]
    absent = [number for number, code in enumerate(codes) if not code]
    try:
        for done, (number, code) in enumerate(_lower_all(kernels, absent), 1):
            codes[number] = code
            progress(done, len(absent))
        if not all(codes):
            raise RuntimeError("a process that lowers kernels ended early")
    finally:
        if absent and native.stamp() == native.STAMP:  # not by a compiler that was edited meanwhile
            used = {key: code for key, code in zip(known, codes, strict=True) if key and code}
            kept = {key: code for key, code in cache.read(path).items() if key not in used} | used
            cache.write(path, dict(list(kept.items())[-KEPT * len(kernels) :]))
    return codes


def _lower_all(kernels: Sequence[jit.Kernel], numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """The bitcode of the kernels of these numbers, as each is done, by as many processes as pay."""
    if not numbers:
        return
    context = lower.Context()
    long_first = sorted(numbers, key=lambda number: -len(kernels[number].dispatcher.py_func.__code__.co_code))
    processes = min(_cores(), len(numbers) // A_PROCESS) if "fork" in get_all_start_methods() else 1
    here = 1 if processes > 1 else len(numbers)  # the others begin with what numba has loaded for the first
    for number in long_first[:here]:
        yield number, lower.lower(kernels[number], context)
    readers: list[Connection] = []
    for share in range(here, min(here + processes, len(numbers))):
        reader, writer = get_context("fork").Pipe(duplex=False)
        mine = [kernels[number] for number in long_first[share::processes]]
        given = long_first[share::processes], mine, context, (reader, writer)
        get_context("fork").Process(target=_send, args=given, daemon=True).start()
        writer.close()
        readers.append(reader)
    while readers:
        ready = wait(readers)
        for reader in [each for each in readers if each in ready]:
            try:
                yield reader.recv()
            except EOFError:
                readers.remove(reader)


def _send(
    numbers: Sequence[int], kernels: Sequence[jit.Kernel], context: lower.Context, ends: tuple[Connection, Connection]
) -> None:
    """Lower these kernels in a process of its own, which ends with the one that reads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the business of that one
    reader, writer = ends
    reader.close()
    for number, kernel in zip(numbers, kernels, strict=True):
        writer.send((number, lower.lower(kernel, context)))


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
