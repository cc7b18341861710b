"""Modules that are looked at: those of the standard library, and which can be imported."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import sysconfig
import types
import warnings
from functools import lru_cache

from constrain.monitors.monitor import Names

# Modules of the standard library that do something when they are imported, or need what may not be there.
NOT_IMPORTED = frozenset({"antigravity", "this", "idlelib", "turtle", "turtledemo", "tkinter", "lib2to3", "test",
                          "__main__", "ensurepip", "msilib", "pty", "tty"})  # fmt: skip

_BUILT_IN = ("built-in", "frozen")
_STANDARD = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))


@lru_cache(maxsize=1024)
def standard_module(name: str) -> types.ModuleType | None:
    """A module of the standard library; None: it is none, is not here, or is not imported for its effects."""
    top = name.partition(".")[0]
    if top not in sys.stdlib_module_names or top in NOT_IMPORTED or name.endswith("__main__"):
        return None
    if "test" in name or name.startswith("distutils"):
        return None
    parent = name.rpartition(".")[0]
    if parent and standard_module(parent) is None:
        return None
    try:
        spec = importlib.util.find_spec(name)
        if spec is None or not (spec.origin in _BUILT_IN or str(spec.origin).startswith(_STANDARD)):
            return None  # a file of this name stands before it in the path
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of deprecated modules
            return importlib.import_module(name)
    except Exception:  # whatever a module of another platform raises
        return None


@lru_cache(maxsize=1)
def installed_modules() -> Names:
    """The modules that can be imported by their first name."""
    return Names(
        {*sys.stdlib_module_names, *sys.builtin_module_names, *(module.name for module in pkgutil.iter_modules())}
    )
