"""lark's own loader with located errors: parses a grammar text, follows `%import`, merges `%override` and `%extend`.

The idea: lark does the work. This module adds a base folder for relative imports (`%import .other.rule`), keeps the
texts of imported files so that an error in one of them shows its place, and reports the most common error first, an
undefined name, in the order of the text (lark's own check has no order).

Cost: lark's parser, about 10 µs a byte of grammar text. Limits: lark writes references between terminals out, so a
terminal has at most `MAX_PARTS` parts. lark looks at no clock; in long texts a look is taken between its own calls.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lark.exceptions import LarkError
from lark.grammar import Symbol
from lark.load_grammar import GrammarBuilder, PackageResource, stdlib_loader

from constrain.errors import ConstrainError, GrammarError, LimitError, did_you_mean
from constrain.languages.cfg.readers.lark_errors import Places, located
from constrain.limits import limited, tick

MAX_PARTS = 20_000  # of a terminal whose references are written out: 1 s
MAX_BLANK = 500
Found = TypeVar("Found")
LONG = 20_000  # characters of a text that takes lark 0.2 s


def load(text: str, places: Places, base: str | None = None) -> Any:
    """lark's `Grammar` of a text, with `term_defs`, `rule_defs` and `ignore`.

    base: the folder of relative imports; None: there are none, and no file is opened. Raises GrammarError.
    """
    _refuse_blank(text, places)
    loader = _Loader(places, base)
    try:
        with _looks_at_the_clock(len(text)):
            loader.load_grammar(text, os.path.join(base or "", "<grammar>"))
            return loader.build()
    except ConstrainError:
        raise
    except (LarkError, OSError, AssertionError, ValueError, KeyError, AttributeError) as error:
        tick()  # lark may have wrapped our own error
        raise loader.located(error) from error  # lark reports some faults by `assert` only


def _refuse_blank(text: str, places: Places) -> None:
    """Raise LimitError for many line ends in a row: lark's pattern for them takes the square of their number."""
    found = re.search(rf"(?:\r?\n){{{MAX_BLANK + 1}}}", text)
    if found is not None:
        place = places.at(found.start(), 1)
        raise LimitError(f"more than {MAX_BLANK} line ends in a row", place=place, fix="delete the blank lines")


class _Loader(GrammarBuilder):
    """lark's loader. latest: the places of the text that is being read, the grammar itself or an imported file."""

    def __init__(self, places: Places, base: str | None) -> None:
        super().__init__(import_paths=[self.read_file])
        self.base = os.path.realpath(base or "")
        self._definitions = _Definitions(places)
        self.places = places
        self.latest = places
        self.files: dict[str, str] = {}  # path -> text

    def located(self, error: Exception) -> GrammarError:
        """The error with its place, in the text that is read or in the grammar."""
        fault = located(error, self.latest)
        if fault.place is None and self.latest is not self.places:
            fault = located(error, self.places)
        return fault

    def read_file(self, folder: Any, name: str) -> tuple[Any, str]:
        """lark's hook for imports: (path, text) of a file of the base folder, or of lark's own library.

        What is not there is our error: for any OSError lark would look in the working directory.
        """
        if folder is None or isinstance(folder, PackageResource):
            return self._look_up(lambda: stdlib_loader(folder, name), name)
        if not folder:
            raise GrammarError(
                f"{name!r} is imported from a folder that is not given",
                place=self._import_of(name),
                fix='pass base="FOLDER", or the grammar as a Path',
            )
        path = os.path.join(folder, name)
        if not Path(os.path.realpath(path)).is_relative_to(self.base):  # by a link
            raise GrammarError(
                f"{name!r} leads out of the folder of the grammar",
                place=self._import_of(name),
                fix="copy the file into the folder",
            )
        text = self._look_up(lambda: Path(path).read_text(encoding="utf8"), name)
        self.latest = Places(text, path)
        _refuse_blank(text, self.latest)
        self.files[path] = text
        return path, text

    def _import_of(self, name: str) -> str | None:
        first = name.split(os.sep)[0].removesuffix(".lark")
        return self.places.search(rf"%import[ \t]*\.[ \t]*{first}")

    def _look_up(self, read: Callable[[], Found], name: str) -> Found:
        try:
            return read()
        except OSError as error:
            raise self.located(FileNotFoundError(errno.ENOENT, "no such file", name)) from error

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
            misread = self.places.misread()
            if misread is not None:
                raise misread
            known = [*parameters, *(str(each) for each in self._definitions)]
            fix = did_you_mean(name, known, "define it, import it, or correct the name")
            place = self.places.use(name)
            for path, text in self.files.items() if place is None else ():
                inside = Places(text, path)
                if place := inside.use(inside.written(name)):
                    name = inside.written(name)
                    break
            raise GrammarError(f"{name} is {what} but not defined", place=place, fix=fix)


class _Definitions(dict[str, Any]):
    """lark's definitions by name. It asks for `items` before it writes the references between terminals out."""

    def __init__(self, places: Places) -> None:
        super().__init__()
        self.places = places

    def items(self) -> Any:
        sizes: dict[str, int] = {}
        large = [(size, name) for name in self if (size := self._size(name, sizes, ())) > MAX_PARTS]
        if large:
            _, name = min(large)
            raise LimitError(
                f"the terminal {name} has more than {MAX_PARTS} parts, with its references written out",
                place=self.places.definition(name),
                fix="repeat a part with ~, or make rules of its parts",
            )
        return super().items()

    def _size(self, name: str, sizes: dict[str, int], above: tuple[str, ...]) -> int:
        """The parts of a terminal; 1 for what is no terminal, or leads back to itself, which lark refuses."""
        definition = self.get(name)
        if definition is None or not definition.is_term or definition.tree is None or name in above:
            return 1
        if name not in sizes:
            sizes[name] = 0
            for tree in definition.tree.iter_subtrees():
                for part in tree.children:
                    inner = str(part.name) if isinstance(part, Symbol) else ""
                    sizes[name] += self._size(inner, sizes, (*above, name)) if inner else 1
        return sizes[name]


@contextmanager
def _looks_at_the_clock(length: int) -> Iterator[None]:
    """Look at the clock at each call of a function, in long texts, unless somebody else uses the hook."""
    if length < LONG or not limited() or sys.getprofile() is not None:
        yield
        return
    sys.setprofile(lambda frame, event, argument: tick())
    try:
        yield
    finally:
        sys.setprofile(None)
