"""lark's own loader with located errors: parses a grammar text, follows `%import`, merges `%override` and `%extend`.

The idea: lark does the work. This module adds a base folder for relative imports (`%import .other.rule`), keeps the
texts of imported files so that an error in one of them shows its place, and reports the most common error first, an
undefined name, in the order of the text (lark's own check has no order).

Cost: lark's parser, about 10 µs a byte of grammar text.
"""

from __future__ import annotations

import os
from typing import Any

from lark.exceptions import LarkError
from lark.grammar import Symbol
from lark.load_grammar import GrammarBuilder

from constrain.cfg.readers.lark_errors import Places, located
from constrain.errors import ConstrainError, GrammarError


def load(text: str, places: Places, base: str | None = None) -> Any:
    """lark's `Grammar` of a text, with `term_defs`, `rule_defs` and `ignore`.

    base: the folder of relative imports; None: the working directory. Raises GrammarError.
    """
    loader = _Loader(places)
    try:
        loader.load_grammar(text, os.path.join(base or "", "<grammar>"))
        return loader.build()
    except ConstrainError:
        raise
    except (LarkError, OSError, AssertionError, ValueError, KeyError, AttributeError) as error:
        fault = located(error, loader.latest)
        if fault.place is None and loader.latest is not places:
            fault = located(error, places)
        raise fault from error  # lark reports some faults by `assert` only


class _Loader(GrammarBuilder):
    """lark's loader. latest: the places of the text that is being read, the grammar itself or an imported file."""

    def __init__(self, places: Places) -> None:
        super().__init__(import_paths=[self.read_file])
        self.places = places
        self.latest = places
        self.files: dict[str, str] = {}  # path -> text

    def read_file(self, folder: str | None, name: str) -> tuple[str, str]:
        """lark's hook for imports: (path, text) of a file; OSError sends lark on to its own library."""
        if folder is None:
            raise FileNotFoundError(name)
        path = os.path.join(folder, name)
        with open(path, encoding="utf8") as file:
            text = file.read()
        self.latest = Places(text, path)
        self.files[path] = text
        return path, text

    def do_import(self, *args: Any) -> None:
        """Follow one of the grammar's own imports."""
        super().do_import(*args)
        self.latest = self.places

    def validate(self) -> None:
        """Check the grammar; undefined names are reported first."""
        for definition in self._definitions.values():
            parameters = {*definition.params}
            for value in definition.tree.iter_subtrees_topdown() if definition.tree else ():
                if value.data == "value" and isinstance(value.children[0], Symbol):
                    self._require(str(value.children[0].name), parameters, "used")
        for name in self._ignore_names:
            self._require(name, set(), "ignored")
        super().validate()

    def _require(self, name: str, parameters: set[str], what: str) -> None:
        """Raise GrammarError if a name is neither defined nor a parameter. what: "used" or "ignored"."""
        if name not in self._definitions and name not in parameters:
            fix = "define it, import it, or correct the name"
            place = self.places.use(name)
            for path, text in self.files.items() if place is None else ():
                inside = Places(text, path)
                if place := inside.use(inside.written(name)):
                    name = inside.written(name)
                    break
            raise GrammarError(f"{name} is {what} but not defined", place=place, fix=fix)
