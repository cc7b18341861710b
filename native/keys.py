"""What the LLVM of a kernel is made of, as a key: equal keys, equal code.

A kernel is lowered without the kernels that it calls (lower.py), so all that matters is its own bytecode and signature,
the values of the names in it, the signatures of those that it calls, the compiler and its versions. Values are read as
numba reads them: constants by value, exceptions by name, fields of layouts and accessors, which are copied into the
kernel, by their own bytecode and names in turn. A name that stands for anything else has no description, and the kernel
that uses it no key: it is lowered each time.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.extending import _Intrinsic

from constrain.kernels.compiler import accessors, expansion, jit, linking, pipeline
from constrain.kernels.compiler.accessors import RecordLayout
from native import SOURCES

COMPILER = (accessors, expansion, linking, pipeline)  # what turns a kernel into LLVM, beside lower.py
MODULES = (np, math)  # whose contents change with their versions alone
PLAIN = (int, float, complex, str, bytes, type(None), type(...), np.generic)


class _Unknown(Exception):
    """A value without a description."""


def of_kernel(kernel: jit.Kernel) -> str | None:
    """The key of a kernel, None if what it is made of is not known."""
    try:
        parts = kernel.name, _function(kernel.dispatcher.py_func)
    except _Unknown:
        return None
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def of_compiler() -> tuple[object, ...]:
    """What the code of all kernels depends on."""
    digest = hashlib.sha256()
    for part in COMPILER:  # if they were edited meanwhile, program.py keeps nothing
        digest.update(Path(str(part.__file__)).read_bytes() + b"\0")
    settings = sorted((name, value) for name, value in os.environ.items() if name.startswith("NUMBA_"))
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version, sys.implementation.cache_tag
    sources = digest.hexdigest(), SOURCES["lower.py"], SOURCES["keys.py"]
    return *sources, settings, *versions, sys.platform, platform.machine()


@functools.cache
def _function(function: FunctionType) -> object:
    """The code of a function, the values of its names, and those of its closure."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    known = sorted(names & function.__globals__.keys())
    return (
        _constant(function.__code__),
        [(name, _value(function.__globals__[name], names)) for name in known],
        [_value(value, names) for value in [*cells, *(function.__defaults__ or ())]],
    )


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _constant(value: Any) -> object:
    """A constant of bytecode. Lines and files are no part of it."""
    if isinstance(value, CodeType):
        shape = value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags
        names = value.co_names, value.co_varnames, value.co_cellvars, value.co_freevars
        handlers = getattr(value, "co_exceptiontable", b"")  # of Python 3.11 and later
        return value.co_code, shape, names, handlers, [_constant(each) for each in value.co_consts]
    if isinstance(value, (tuple, frozenset)):
        parts = [_constant(each) for each in value]
        return type(value).__name__, parts if isinstance(value, tuple) else sorted(parts, key=repr)
    if isinstance(value, PLAIN):
        return type(value).__name__, repr(value)
    raise _Unknown(value)


def _value(value: Any, names: set[str]) -> object:
    """The value of a name. names: all that the code has, among them those of the attributes that it reads."""
    if isinstance(value, type) and issubclass(value, RecordLayout):
        return "layout", [(name, _value(getattr(value, name), names)) for name in sorted(names) if hasattr(value, name)]
    if isinstance(value, type) and (issubclass(value, BaseException) or value.__module__ in ("builtins", "numpy")):
        return "class", value.__module__, value.__qualname__
    if isinstance(value, ModuleType) and value in MODULES:
        return "module", value.__name__
    if isinstance(value, _Intrinsic) and value.__module__ == linking.__name__:  # which is part of the compiler
        return "intrinsic", value.__qualname__
    if hasattr(value, "accessor"):
        return "accessor", _constant(int(value)) if isinstance(value, int) else "", _function(value.accessor)
    return _constant(value)
