"""The monitor of Python.

The idea: lexemes are read with stacks of scopes, blocks and brackets (scopes.py). `at` says what may come next. A name
is held until the next lexeme shows whether it is used or bound. What is not known is open: it refuses nothing.

    at                    what comes next
    start                 a statement
    operand, argument     an operand; one that may be an argument by name
    operator              what follows an operand
    held, heldarg, pheld  what shows the meaning of a held name: of an expression, of an argument, in a pattern
    soft                  what shows whether `match` or `type` is a name
    dot, attribute        an attribute; what shows whether it is stored
    def, class, typed     the name of a definition, and what follows it
    param, header         a parameter, and what follows all of them
    import, from, names   a module, and what is imported from it; importdot, imported, named: the parts of it
    fstring, spec         the rest of an f-string, the format of a field
    pattern               a pattern of `case`
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from constrain.errors import ConstrainError
from constrain.monitors.monitor import END, NAME, NEWLINE, OTHER, SIGN, STRING, Names
from constrain.monitors.python.imports import installed
from constrain.monitors.python.lexicon import LEXICON
from constrain.monitors.python.scopes import Scope
from constrain.monitors.python.state import Py
from constrain.monitors.python.statements import Statements
from constrain.monitors.python.values import Value, value_of
from constrain.monitors.python.words import DYNAMIC, KEYWORDS
from constrain.monitors.stacks import Bound


class PythonMonitor(Statements):
    """A `Monitor` of Python. Made by `python` and `objects`.

    Args:
        objects: What texts may use without importing it, by name.
        modules: Names of modules that are looked at beside those of the standard library.
        imports: Which modules may be imported: None: any; "installed"; or their names.
        ahead: "any" or "known".
    """

    lexicon = LEXICON

    def __init__(
        self, objects: tuple[tuple[str, Any], ...], modules: tuple[str, ...], imports: Any, ahead: str
    ) -> None:
        self.objects, self.modules, self.listed, self.ahead = objects, modules, imports, ahead
        self.strict = ahead == "known"
        self.known: dict[str, types.ModuleType] = {}
        for name in modules:
            parts = name.split(".")
            for i in range(len(parts)):
                self.known[".".join(parts[: i + 1])] = import_module(".".join(parts[: i + 1]))
        self.imports = None if imports is None else installed() if imports == "installed" else Names(imports)
        table = {name: value_of(given, given=True) for name, given in objects}
        self._start = Py((Scope("module", Bound(dict(table))), None))
        self._attributes = lru_cache(maxsize=4096)(Names)
        self._arguments = lru_cache(maxsize=4096)(Names)

    def _identity(self) -> tuple[Any, ...]:
        return self.objects, self.modules, self.listed, self.ahead

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PythonMonitor) or self._identity()[1:] != other._identity()[1:]:
            return False
        mine, others = dict(self.objects), dict(other.objects)
        return mine.keys() == others.keys() and all(mine[name] is others[name] for name in mine)

    def __hash__(self) -> int:
        return hash((tuple(name for name, _ in self.objects), *self._identity()[1:]))

    def __reduce__(self) -> tuple[Any, ...]:
        return PythonMonitor, self._identity()

    def __repr__(self) -> str:
        named = [name for name, _ in self.objects]
        return f"objects({named})" if named else f"python(ahead={self.ahead!r})"

    def start(self) -> Py:
        """See `Monitor`."""
        return self._start

    def resumed(self, state: Any) -> tuple[int, bytes] | None:
        """See `ResumingMonitor`."""
        here: Py = state
        if here.at == "fstring":
            assert here.top is not None
            return STRING, here.top.opening
        return (OTHER, b":") if here.at == "spec" else None

    def begin(self, state: Any, kind: int, first: bytes) -> Py | None:
        """See `Monitor`."""
        here: Py | None = state
        assert here is not None
        sign = first.decode("latin-1") if kind == SIGN else ""
        if here.column is not None and kind not in (NEWLINE, END):
            here = self._line_begins(here)
        here = self._held(here, kind, sign)
        if here is None:
            return None
        if kind == END:
            return here if self._ends(here) is not None else None
        if kind == NEWLINE:
            return here if self._line_ends(here, b"") is not None else None
        if here.at == "argument" and sign not in (")", "*", "**", ",") and not self._takes(here, kind):
            return None
        if kind == SIGN and self._read(here, kind, sign, "", first) is None:
            return None
        return here

    def _held(self, here: Py, kind: int, sign: str) -> Py | None:
        """The state once the next lexeme has shown what a held name is."""
        if here.at in ("held", "heldarg"):
            return self._settled(here, kind, sign)
        if here.at == "pheld":
            return self._pattern_named(here, sign)
        if here.at == "attribute":
            return self._attribute_settled(here, kind, sign)
        if here.at == "soft":
            after = self._soft(here, kind, sign)
            return after if after is None or after.at != "held" else self._settled(after, kind, sign)
        return here

    def _takes(self, here: Py, kind: int) -> bool:
        """Whether an argument may begin."""
        call = here.frames[0].call if here.frames is not None else None
        if call is None or not call.is_full or self.doubts(here):
            return True
        names = call.names()
        return kind == NAME and (names is None or bool(names))

    def _ends(self, here: Py) -> Py | None:
        """The state at the end of a text; None: a name is not bound."""
        after: Py | None = here if here.at == "start" else self._line_ends(here, b"")
        while after is not None and after.blocks is not None:
            after = self._block_ends(after)
        return after if after is not None and self.is_resolved(after) else None

    def may_end(self, state: Any) -> bool:
        """See `Monitor`. `begin` has decided."""
        return True

    def language(self, state: Any) -> Names | None:
        """See `Monitor`."""
        here: Py = state
        if here.at == "operand":
            return None if here.binding or self.any_name(here) else self.visible(here)
        if here.at == "argument":
            return self._argument_names(here)
        if here.at == "dot":
            if here.value is None or self.doubts(here):
                return None
            may_store = here.binding or self.is_target(here)
            if may_store and not (self.strict and isinstance(here.value, Value)):
                return None
            names = self.attributes_at(here, here.value)
            return None if names is None else self._attributes(names)
        if here.at in ("import", "from", "importdot", "names"):
            return self.module_names(here)
        return None

    def _argument_names(self, here: Py) -> Names | None:
        """The names that an argument may begin with."""
        call = here.frames[0].call if here.frames is not None else None
        named = None if call is None else call.names()
        if named is None or self.doubts(here):
            return None
        assert call is not None
        if call.is_full:
            return self._arguments(named)
        if self.any_name(here):
            return None
        return self.visible(here).with_names(named)

    def advance(self, state: Any, kind: int, text: bytes) -> Py | None:
        """See `Monitor`."""
        here: Py = state
        if kind == NEWLINE:
            return self._line_ends(here, text)
        sign = text.decode("latin-1") if kind == SIGN else ""
        word = text.decode(errors="replace") if kind == NAME else ""
        if here.at == "operand" and word and not self._may_stand(here, word):
            return None
        return self._read(here, kind, sign, word, text)

    def _may_stand(self, here: Py, word: str) -> bool:
        """Whether a word is a name that may stand here, and not only the beginning of a string."""
        return word in KEYWORDS or here.binding or self.any_name(here) or self.find(here, word)[0] or word in DYNAMIC

    def _read(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if sign == ";" and here.frames is None:
            return self._statement_ends(here)
        if sign == ";" and here.kind == "lambda":
            return self._statement_ends(self._without_lambda(here))
        after: Py | None = getattr(self, "_at_" + here.at)(here, kind, sign, word, text)
        return after


def python(
    *, objects: Mapping[str, Any] | None = None, modules: Iterable[str] = (), imports: Any = None, ahead: str = "any"
) -> PythonMonitor:
    """A monitor of Python: names that are bound, attributes of known values, arguments, what modules have.

    Args:
        objects: What texts may use without importing it, by name: functions, classes, modules, other objects.
        modules: Names of modules that are imported now, and looked at beside those of the standard library.
        imports: Which modules texts may import: None: any; "installed": what is here; or names.
        ahead: Which names may be used before they are bound. "any": names that may be bound by the time that the code
            runs, and they must be bound before the text ends; where code may never run, or is expected to fail, nothing
            is refused. "known": none, and nowhere.

    Returns:
        The monitor, for `monitored`.

    Raises:
        ConstrainError: An argument has the wrong type, or a module cannot be imported.

    Source:
        The Python language reference, section 4.2 (naming and binding).

    Example:
        >>> import constrain
        >>> strict = constrain.monitors.python(ahead="known")
        >>> constrain.monitors.accepted_beginning(strict, "import math\\nprint(math.sqrt(x))")
        'import math\\nprint(math.sqrt('
    """
    if ahead not in ("any", "known"):
        raise ConstrainError(f"ahead= is 'any' or 'known', not {ahead!r:.40}", fix='leave it out: "any"')
    given = {} if objects is None else objects
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and name.isidentifier() for name in given):
        raise ConstrainError(f"objects= are objects by name, not {objects!r:.60}", fix='{"client": client}')
    if imports is not None and imports != "installed":
        if isinstance(imports, str) or not isinstance(imports, Iterable):
            raise ConstrainError(f"imports= is None, 'installed' or names, not {imports!r:.40}")
        imports = tuple(sorted(imports))
    modules = (modules,) if isinstance(modules, str) else tuple(modules)
    try:
        return PythonMonitor(tuple(sorted(given.items(), key=lambda pair: pair[0])), modules, imports, ahead)
    except ImportError as error:
        raise ConstrainError(f"a module cannot be imported: {error}", fix="install it, or leave it out") from None


def objects(given: Mapping[str, Any], *, imports: Any = ()) -> PythonMonitor:
    """A monitor of Python that may use what some objects have, and nothing that is not bound.

    Args:
        given: The objects by name.
        imports: Which modules may be imported (see `python`); by default none.

    Returns:
        The monitor, for `monitored`.

    Raises:
        ConstrainError: An argument has the wrong type.

    Example:
        >>> import constrain
        >>> from pathlib import PurePosixPath
        >>> here = constrain.monitors.objects({"path": PurePosixPath("/")})
        >>> constrain.monitors.accepted_beginning(here, "path.joinpath('a').nosuch")
        "path.joinpath('a').nosuch"
        >>> constrain.monitors.accepted_beginning(here, "path.join_path('a')")
        'path.join'
    """
    return python(objects=given, imports=imports, ahead="known")
