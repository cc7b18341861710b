"""Imports of Python: which modules there are, and what they have."""

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
from constrain.monitors.python.naming import Naming
from constrain.monitors.python.scopes import Frame
from constrain.monitors.python.state import Py
from constrain.monitors.python.values import PLATFORM, Value, attributes, value_of

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
def installed() -> Names:
    """The modules that can be imported by their first name."""
    return Names(
        {*sys.stdlib_module_names, *sys.builtin_module_names, *(found.name for found in pkgutil.iter_modules())}
    )


class Imports(Naming):
    """How the lexemes of imports change a state.

    Attributes:
        imports: The modules that may be imported; None: any.
        known: Modules that are looked at, by name, beside those of the standard library.
    """

    imports: Names | None
    known: dict[str, types.ModuleType]

    def module(self, name: str) -> types.ModuleType | None:
        """A module that is looked at."""
        if name in self.known:
            return self.known[name]
        top = name.partition(".")[0]
        if top in self.known:
            return sys.modules.get(name)
        return standard_module(name)

    def module_names(self, here: Py) -> Names | None:
        """The names that may stand where a module does."""
        if self.doubts(here):
            return None
        if here.at in ("import", "from"):
            return self.imports
        if here.at == "importdot":
            module = self.module(here.held)
            return None if module is None else _submodules(module)
        if here.at == "names" and not here.params.startswith("."):
            module = self.module(here.params)
            names = None if module is None else attributes(value_of(module), self.strict)
            return None if names is None else _sorted(names)
        return None

    def _at_import(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return here._replace(at="imported", held=here.held + word)

    _at_importdot = _at_import

    def _at_from(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if word == "import":  # after dots
            return here._replace(at="names", params=here.held or ".", held="")
        if sign:
            return here._replace(held="." + here.held)
        return here._replace(at="imported", held=here.held + word)

    def _at_imported(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if sign == ".":
            return here._replace(at="importdot", held=here.held + ".")
        if word == "as":
            return here._replace(at="importas")
        if word == "import":
            return here._replace(at="names", params=here.held, held="")
        return self._import_ends(here)._replace(at="import", held="")  # a comma

    def _at_importas(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        module = None if here.held.startswith(".") else self.module(here.held)
        value = None if module is None else value_of(module)
        return self.assigned(here, word, value).go("imports", params="")

    def _at_imports(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return here.go("import")

    def _at_names(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if sign == "*":
            return self._star(here)
        if sign == "(":
            return here.push(Frame("names"), "names", params=here.params)
        if sign == ")":
            return self._list_ends(here)
        return here._replace(at="named", held=word)

    def _at_named(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if word == "as":
            return here._replace(at="namedas")
        after = self._import_ends(here)
        return self._list_ends(after) if sign == ")" else after._replace(at="names", held="")

    def _at_namedas(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return self.assigned(here, word, self._member(here)).go("aliased")

    def _at_aliased(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return self._list_ends(here) if sign == ")" else here.go("names")

    @staticmethod
    def _list_ends(here: Py) -> Py | None:
        """The state after the parenthesis that closes a list of names; None: none is open."""
        return here.pop("operator") if here.kind == "names" else None

    def _import_ends(self, here: Py) -> Py:
        """The state after a module or a name of one is imported."""
        if here.at == "named":
            return self.assigned(here, here.held, self._member(here))
        top = here.held.partition(".")[0]
        module = self.module(top)
        return self.assigned(here, top, None if module is None else value_of(module))

    def _member(self, here: Py) -> Value | None:
        """What is known of the name that is imported from a module."""
        if here.params.startswith("."):
            return None
        module = self.module(here.params)
        if module is None or here.held not in vars(module):
            return None
        found = vars(module)[here.held]
        return value_of(found) if isinstance(found, types.ModuleType | type | types.FunctionType) else None

    def _star(self, here: Py) -> Py:
        """The state after all names of a module are imported."""
        module = None if here.params.startswith(".") else self.module(here.params)
        if module is None or (not self.strict and module.__name__ in PLATFORM):
            return self.opened(here).go("operator")
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            here = self.assigned(here, name)
        return here.go("operator")


@lru_cache(maxsize=1024)
def _submodules(module: types.ModuleType) -> Names | None:
    path = getattr(module, "__path__", None)
    if path is None:
        names = {name for name, value in vars(module).items() if isinstance(value, types.ModuleType)}
        return Names(names) if names else None
    loaded = {name.rpartition(".")[2] for name in sys.modules if name.startswith(module.__name__ + ".")}
    return Names(loaded | {found.name for found in pkgutil.iter_modules(path)})


@lru_cache(maxsize=1024)
def _sorted(names: frozenset[str]) -> Names:
    return Names(names)
