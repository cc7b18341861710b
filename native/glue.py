"""The part of the extension module that is written for each kernel: kernels.h, which module.c includes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from numba.core import sigutils, types

from constrain.kernels.compiler.jit import Kernel
from native.optimise import entry_name
from native.program import Error

CHOICES = {  # how a level is recognised; the best first
    "x86-64-v3": "x86_level() >= 3",
    "x86-64-v2": "x86_level() >= 2",
    "generic": "1",
    "apple-m1": "1",
}


def write(kernels: Sequence[Kernel], errors: Sequence[Error], levels: Sequence[str], stamp: str) -> str:
    """The text of kernels.h. kernels: the entries, in the order of their symbols."""
    parts = [f"static const char STAMP[] = {json.dumps(stamp)};", _errors(errors)]
    parts += [_kernel(number, kernel, levels) for number, kernel in enumerate(kernels)]
    parts += [_methods(kernels), _choose(len(kernels), levels)]
    return "\n\n".join(parts) + "\n"


def _errors(errors: Sequence[Error]) -> str:
    rows = []
    for module, name, message in errors:
        rows.append(f'    {{"{module}", "{name}", {"NULL" if message is None else json.dumps(message)}}},')
    return "\n".join(["static const Error ERRORS[] = {", *rows, "};"])


def _kernel(number: int, kernel: Kernel, levels: Sequence[str]) -> str:
    name = kernel.dispatcher.py_func.__name__
    arguments, result = sigutils.normalize_signature(kernel.signature)
    declared, take, passed = ["int64_t *"], [], ["&result"]
    for place, kind in enumerate(arguments):
        if isinstance(kind, types.Array):
            shape = "VECTOR" if kind.ndim == 1 else "MATRIX"
            take.append(f"    Array a{place};")
            kinds = f"OF_{str(kind.dtype).upper()}, {kind.ndim}"
            take.append(f'    if (!array("{name}", {place}, given[{place}], {kinds}, &a{place}))')
            declared.append(shape)
            passed.append(f"PASS_{shape}(a{place})")
        else:
            take += [f"    int64_t a{place};", f"    if (!integer(given[{place}], &a{place}))"]
            declared.append("int64_t")
            passed.append(f"a{place}")
        take.append("        return NULL;")
    prototype = ", ".join(declared)
    call = f"f{number}({', '.join(passed)})"
    held = [f"    int32_t code = {call};"]
    released = [
        "    PyThreadState *thread = PyEval_SaveThread();",
        f"    int32_t code = {call};",
        "    PyEval_RestoreThread(thread);",
    ]
    lines = [
        *(f"int32_t {entry_name(number, level)}({prototype});" for level in levels),
        f"static int32_t (*f{number})({prototype});",
        f"static PyObject *call{number}(PyObject *self, PyObject *const *given, Py_ssize_t n)",
        "{",
        f'    if (!count("{name}", n, {len(arguments)}))',
        "        return NULL;",
        *take,
        "    int64_t result = 0;",
        *(held if kernel.is_brief else released),
        "    if (code)",
        "        return failed(code);",
        "    Py_RETURN_NONE;" if result == types.void else "    return PyLong_FromLongLong(result);",
        "}",
    ]
    return "\n".join(lines)


def _methods(kernels: Sequence[Kernel]) -> str:
    rows = [
        f"    {{{json.dumps(kernel.name)}, (PyCFunction)(void (*)(void))call{number}, METH_FASTCALL, NULL}},"
        for number, kernel in enumerate(kernels)
    ]
    return "\n".join(["static PyMethodDef METHODS[] = {", *rows, "    {NULL, NULL, 0, NULL},", "};"])


def _choose(n: int, levels: Sequence[str]) -> str:
    """The function that lets each f… be the one of the best level that this processor has; its name, or NULL."""
    lines = ["static const char *choose(void)", "{"]
    for level in reversed(levels):
        lines.append(f"    if ({CHOICES[level]}) {{")
        lines += [f"        f{number} = {entry_name(number, level)};" for number in range(n)]
        lines += [f'        return "{level}";', "    }"]
    lines += ["    return NULL;", "}"]
    return "\n".join(lines)
