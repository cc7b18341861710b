"""Judges of a Python text: names that no scope binds, attributes that modules lack, calls that functions do not take.

By CPython: `symtable` for names (builtins apart), `getattr` on imported modules of the standard library,
`inspect.signature(...).bind` for calls. Lines at the end that are an unfinished statement are dropped (three at most).
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import symtable
import sys
from typing import Any

IMPLICIT = {"__name__", "__file__", "__doc__", "__builtins__", "__spec__", "__package__", "__loader__", "__path__"}


def is_sound(text: str) -> bool:
    """True if the whole statements of a text have no name, attribute or call that is wrong."""
    kept = finished(text, is_whole=False)
    return kept is None or not (undefined(kept) or missing(kept) or miscalled(kept))


def finished(text: str, is_whole: bool) -> str | None:
    """The text without an unfinished end; None: it does not parse without three lines at its end either."""
    lines = text.splitlines(keepends=True)
    if not is_whole and lines and not lines[-1].endswith("\n"):
        lines.pop()
    for drop in range(4):
        kept = "".join(lines[: len(lines) - drop] if drop else lines)
        try:
            ast.parse(kept)
        except (SyntaxError, ValueError):
            continue
        return kept
    return None


def undefined(text: str) -> set[str]:
    """Names that no scope binds, by CPython's own analysis of scopes."""
    module = symtable.symtable(text, "text", "exec")
    bound = {s.get_name() for s in module.get_symbols() if s.is_assigned() or s.is_imported()}
    bound |= IMPLICIT | set(dir(builtins))
    found: set[str] = set()

    def visit(table: Any, is_module: bool) -> None:
        for symbol in table.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (is_module or symbol.is_global()) and not symbol.is_namespace():
                found.add(symbol.get_name())
            if symbol.is_namespace() and is_module:
                bound.add(symbol.get_name())
        for child in table.get_children():
            visit(child, False)

    visit(module, True)
    return found - bound


def imported(tree: ast.Module) -> dict[str, Any]:
    """The modules of the standard library that a text imports, by name."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in sys.stdlib_module_names:
                    modules[alias.asname or alias.name] = importlib.import_module(alias.name)
    return modules


def miscalled(text: str) -> set[str]:
    """Calls of builtins and of functions of imported modules with arguments that these do not take.

    Left out are names that the text binds itself, and what `inspect` does not tell.
    """
    tree = ast.parse(text)
    modules, found = imported(tree), set()
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(isinstance(argument, ast.Starred) for argument in node.args):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id not in bound | set(modules):
            function = getattr(builtins, called.id, None)
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id not in bound:
            function = getattr(modules.get(called.value.id), called.attr, None)
        else:
            continue
        try:
            signature = inspect.signature(function)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        try:
            signature.bind(*node.args, **{keyword.arg: 0 for keyword in node.keywords if keyword.arg})
        except TypeError:
            if all(keyword.arg for keyword in node.keywords):
                found.add(ast.unparse(called))
    return found


def missing(text: str) -> set[str]:
    """Attributes of imported modules of the standard library that these do not have."""
    tree = ast.parse(text)
    modules = imported(tree)
    return {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
        and isinstance(node.ctx, ast.Load) and not hasattr(modules[node.value.id], node.attr)
    }  # fmt: skip
