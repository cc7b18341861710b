"""Imports of Python: the modules that there are, and their names."""

from __future__ import annotations

import pkgutil
import sys
import types
from functools import lru_cache

from constrain.monitors.monitor import Names, names_of
from constrain.monitors.python.modules import standard_module
from constrain.monitors.python.naming import PythonNames
from constrain.monitors.python.scopes import PythonFrame
from constrain.monitors.python.state import PythonState
from constrain.monitors.python.typed import typed_attribute
from constrain.monitors.python.values import PLATFORM, PythonValue, attributes, value_of


class PythonImports(PythonNames):
    """The steps of a state over the lexemes of imports.

    Attributes:
        imports: The modules that may be imported; None: any.
        package: The package of the text; "": it is not known.
        known: Modules that are looked at beside the standard library, by name.
    """

    imports: Names | None
    package: str
    known: dict[str, types.ModuleType]

    def absolute(self, name: str) -> str:
        """The name of a module that an import may spell from the package of the text on; "": it is not known."""
        if not name.startswith("."):
            return name
        rest = name.lstrip(".")
        parts = self.package.split(".") if self.package else []
        kept = parts[: len(parts) - (len(name) - len(rest)) + 1]
        return ".".join([*kept, *([rest] if rest else [])]) if kept else ""

    def module(self, name: str) -> types.ModuleType | None:
        """A module that is looked at."""
        name = self.absolute(name)
        if name in self.known:
            return self.known[name]
        top = name.partition(".")[0]
        if top in self.known:
            return sys.modules.get(name)
        return standard_module(name)

    def module_names(self, state: PythonState) -> Names | None:
        """The names that may stand where a module does."""
        if self.doubts(state):
            return None
        if state.at in ("import", "from"):
            return self.imports
        if state.at == "importdot":
            module = self.module(state.held)
            return None if module is None else _submodules(module)
        if state.at == "names" and not state.params.startswith("."):
            module = self.module(state.params)
            names = None if module is None else attributes(value_of(module), self.strict)
            return None if names is None else names_of(names)
        return None

    def _at_import(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return state._replace(at="imported", held=state.held + word)

    _at_importdot = _at_import

    def _at_from(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if word == "import":  # after dots
            return state._replace(at="names", params=state.held or ".", held="")
        if sign:
            return state._replace(held=sign + state.held)
        return state._replace(at="imported", held=state.held + word)

    def _at_imported(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if sign == ".":
            return state._replace(at="importdot", held=state.held + ".")
        if word == "as":
            return state._replace(at="importas")
        if word == "import":
            return state._replace(at="names", params=state.held, held="")
        return self._import_ends(state)._replace(at="import", held="")  # a comma

    def _at_importas(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        module = None if state.held.startswith(".") else self.module(state.held)
        value = None if module is None else value_of(module)
        return self.assign(state, word, value).go("imports", params="")

    def _at_imports(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return state.go("import")

    def _at_names(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if sign == "*":
            return self._import_star(state)
        if sign == "(":
            return state.push(PythonFrame("names"), "names", params=state.params)
        if sign == ")":
            return self._list_ends(state)
        return state._replace(at="named", held=word)

    def _at_named(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if word == "as":
            return state._replace(at="namedas")
        after = self._import_ends(state)
        return self._list_ends(after) if sign == ")" else after._replace(at="names", held="")

    def _at_namedas(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return self.assign(state, word, self._member(state)).go("aliased")

    def _at_aliased(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return self._list_ends(state) if sign == ")" else state.go("names")

    @staticmethod
    def _list_ends(state: PythonState) -> PythonState | None:
        """The state after the parenthesis that closes a list of names; None: none is open."""
        return state.pop("operator") if state.kind == "names" else None

    def _import_ends(self, state: PythonState) -> PythonState:
        """The state after a module or a name of one is imported."""
        if state.at == "named":
            return self.assign(state, state.held, self._member(state))
        top = state.held.partition(".")[0]
        module = self.module(top)
        return self.assign(state, top, None if module is None else value_of(module))

    def _member(self, state: PythonState) -> PythonValue | None:
        """The value of the name that is imported from a module; None: it is not known."""
        module = self.module(state.params)
        if module is None or state.held not in vars(module):
            return self._submodule(state) if self.declares else None
        if self.declares:
            return typed_attribute(value_of(module), state.held)
        value = vars(module)[state.held]
        return value_of(value) if isinstance(value, types.ModuleType | type | types.FunctionType) else None

    def _submodule(self, state: PythonState) -> PythonValue | None:
        """The value of a module that is imported from its package."""
        found = self.module(f"{self.absolute(state.params)}.{state.held}")
        return None if found is None else value_of(found)

    def _import_star(self, state: PythonState) -> PythonState:
        """The state after all names of a module are imported."""
        module = None if state.params.startswith(".") else self.module(state.params)
        if module is None or (not self.strict and module.__name__ in PLATFORM):
            return self.open_module(state).go("operator")
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            state = self.assign(state, name)
        return state.go("operator")


@lru_cache(maxsize=1024)
def _submodules(module: types.ModuleType) -> Names | None:
    path = getattr(module, "__path__", None)
    if path is None:
        names = {name for name, value in vars(module).items() if isinstance(value, types.ModuleType)}
        return Names(names) if names else None
    loaded = {name.rpartition(".")[2] for name in sys.modules if name.startswith(module.__name__ + ".")}
    return Names(loaded | {submodule.name for submodule in pkgutil.iter_modules(path)})
