"""The monitor of Python.

The idea: lexemes are read with stacks of scopes, blocks and brackets (scopes.py). `at` says what may come next. A name
is held until the next lexeme shows whether it is used or bound. Where something is not known, nothing is refused.

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
    annotation            a string that is an annotation
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from constrain.errors import ConstrainError
from constrain.monitors.bound import Bound
from constrain.monitors.monitor import END, NAME, NEWLINE, OTHER, QUOTED, SIGN, STRING, Names, names_of
from constrain.monitors.python.definitions import Self
from constrain.monitors.python.hints import LONGEST
from constrain.monitors.python.lexicon import LEXICON
from constrain.monitors.python.modules import installed_modules
from constrain.monitors.python.naming import BUILTINS
from constrain.monitors.python.owed import owed
from constrain.monitors.python.scopes import PythonScope
from constrain.monitors.python.state import PythonState
from constrain.monitors.python.statements import PythonStatements
from constrain.monitors.python.values import PythonValue, value_of
from constrain.monitors.python.words import ASKS, CONSTANTS, DOUBT, DYNAMIC, HEADS, IMPLICIT, IN_CLASSES, KEYWORDS, SOFT


class PythonMonitor(PythonStatements):
    """A `Monitor` of Python. Made by `python` and `objects`.

    Args:
        objects: The objects that texts may use without importing them, by name.
        modules: Names of modules that are looked at beside the standard library.
        imports: The modules that may be imported: None: any; "installed"; or their names.
        ahead: "any" or "known".
        types: "values" or "declared".
        package: The package of the texts.
    """

    lexicon = LEXICON

    words = frozenset(BUILTINS) | CONSTANTS | HEADS | KEYWORDS | SOFT | IMPLICIT | IN_CLASSES | DYNAMIC

    def __init__(
        self,
        objects: tuple[tuple[str, Any], ...],
        modules: tuple[str, ...],
        imports: Any,
        ahead: str,
        types: str = "values",
        package: str = "",
    ) -> None:
        self.objects, self.modules, self.listed, self.ahead = objects, modules, imports, ahead
        self.types, self.package = types, package
        self.strict, self.declares = ahead == "known", types == "declared"
        self.doubt_words = ASKS if self.declares else DOUBT
        self.known: dict[str, ModuleType] = {}
        for name in modules:
            parts = name.split(".")
            for i in range(len(parts)):
                self.known[".".join(parts[: i + 1])] = import_module(".".join(parts[: i + 1]))
        self.imports = None if imports is None else installed_modules() if imports == "installed" else Names(imports)
        table = {name: value_of(obj, by_user=True) for name, obj in objects}
        self._start = PythonState((PythonScope("module", Bound(dict(table))), None))

    def _identity(self) -> tuple[Any, ...]:
        return self.objects, self.modules, self.listed, self.ahead, self.types, self.package

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
        types = ", types='declared'" if self.declares else ""
        return f"objects({named})" if named else f"python(ahead={self.ahead!r}{types})"

    def start(self) -> PythonState:
        """The state before the first lexeme."""
        return self._start

    def resume(self, state: PythonState) -> tuple[int, bytes] | None:
        """The rest of an f-string, or of a format, after an expression in it; a string that is an annotation."""
        if self.declares and state.lazy and state.at == "operand":
            return QUOTED, b""
        if state.at == "fstring":
            return STRING, state.frame.opening
        return (OTHER, b":") if state.at == "spec" else None

    def begin(self, state: PythonState, kind: int, first: bytes) -> PythonState | None:
        """The state when a lexeme begins; None: none of its kind may."""
        sign = first.decode("latin-1") if kind == SIGN else ""
        if state.column is not None and kind not in (NEWLINE, END):
            begun = self._line_begins(state)
            if begun is None:
                return None
            state = begun
        settled = self._settle(state, kind, sign)
        if settled is None:
            return None
        state = settled
        if kind == END:
            return state if self._ends(state) is not None else None
        if kind == NEWLINE:
            return state if self._line_ends(state, b"") is not None else None
        if kind == QUOTED:
            return state._replace(at="annotation")
        if state.at == "argument" and sign not in (")", "*", "**", ",") and not self._takes_argument(state, kind):
            return None
        if kind == SIGN and self._read(state, kind, sign, "", first) is None:
            return None
        return state

    def _settle(self, state: PythonState, kind: int, sign: str) -> PythonState | None:
        """The state once the next lexeme has shown what a held name is."""
        if state.at in ("held", "heldarg"):
            return self._settle_name(state, kind, sign)
        if state.at == "pheld":
            return self._settle_pattern(state, sign)
        if state.at == "attribute":
            return self._settle_attribute(state, kind, sign)
        if state.at == "soft":
            after = self._settle_soft(state, kind, sign)
            return after if after is None or after.at != "held" else self._settle_name(after, kind, sign)
        return state

    def _takes_argument(self, state: PythonState, kind: int) -> bool:
        """True if an argument may begin."""
        call = state.call
        if call is None or not call.is_full or self.doubts(state):
            return True
        names = call.names()
        return kind == NAME and (names is None or bool(names))

    def _ends(self, state: PythonState) -> PythonState | None:
        """The state at the end of a text; None: a name is not bound."""
        after: PythonState | None = state if state.at == "start" else self._line_ends(state, b"")
        while after is not None and after.blocks is not None:
            after = self._block_ends(after)
        return after if after is not None and self.is_resolved(after) else None

    def may_end(self, state: PythonState) -> bool:
        """True: `begin` has decided."""
        return True

    def owed(self, state: PythonState) -> list[str]:
        """Texts that bind the names that were put off."""
        return owed(self._settle(state, NEWLINE, "") or state)

    def language(self, state: PythonState) -> Names | None:
        """The names that the lexeme which has begun may be; None: any."""
        if state.at == "operand":
            return None if state.binding or self.admits_any_name(state) else self.visible_names(state)
        if state.at == "argument":
            return self._argument_names(state)
        if state.at == "dot":
            if not self.judges(state, state.value):
                return None
            may_store = state.binding or self.is_target(state)
            if may_store and not self._stores_only_known(state.value):
                return None
            names = self.attributes_at(state, state.value)
            if names is None or not state.lazy or self.strict:
                return None if names is None else names_of(names)
            return _names_in_annotations(names)
        if state.at in ("import", "from", "importdot", "names"):
            return self.module_names(state)
        return None

    def _stores_only_known(self, value: Any) -> bool:
        """True if only attributes of a value that are known may be stored."""
        if self.declares:
            return not isinstance(value, Self)
        return self.strict and isinstance(value, PythonValue)

    def _argument_names(self, state: PythonState) -> Names | None:
        """The names that an argument may begin with."""
        call = state.call
        named = None if call is None else call.names()
        if named is None or self.doubts(state):
            return None
        assert call is not None
        if call.is_full:
            return names_of(named)
        if self.admits_any_name(state):
            return None
        return self.visible_names(state).with_names(named)

    def advance(self, state: PythonState, kind: int, text: bytes) -> PythonState | None:
        """The state after a lexeme; None: it may not stand there."""
        if kind == NEWLINE:
            return self._line_ends(state, text)
        sign = text.decode("latin-1") if kind == SIGN else ""
        word = text.decode(errors="replace") if kind == NAME else ""
        if state.at == "operand" and word and not self._may_stand(state, word):
            return None
        after = self._read(state, kind, sign, word, text)
        if self.declares and after is not None and after.lazy and state.lazy:
            after = after._replace(spelled=f"{after.spelled} {text.decode(errors='replace')}"[: LONGEST + 1])
        return after

    def _may_stand(self, state: PythonState, word: str) -> bool:
        """True if a word is a name that may stand here, and not only the beginning of a string."""
        return (
            word in KEYWORDS
            or state.binding
            or self.admits_any_name(state)
            or self.find(state, word)[0]
            or word in DYNAMIC
        )

    def _read(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if sign == ";" and state.frames is None:
            return self._statement_ends(state)
        if sign == ";" and state.kind == "lambda":
            return self._statement_ends(self._leave_lambdas(state))
        after: PythonState | None = getattr(self, "_at_" + state.at)(state, kind, sign, word, text)
        return after


@lru_cache(maxsize=1024)
def _names_in_annotations(names: frozenset[str]) -> Names:
    """Attributes, and the private names that stubs alone may have."""
    return Names(names, prefixes=("_",))


def python(
    *,
    objects: Mapping[str, Any] | None = None,
    modules: Iterable[str] = (),
    imports: Any = None,
    ahead: str = "any",
    types: str = "values",
    package: str = "",
) -> PythonMonitor:
    """A monitor of Python: names that are bound, attributes of known values, arguments, what modules have.

    Args:
        objects: The objects that texts may use without importing them, by name: functions, classes, modules, others.
        modules: Names of modules that are imported now, and looked at beside the standard library.
        imports: The modules that texts may import: None: any; "installed": all that can be; or names.
        ahead: The names that may be used before they are bound. "any": names that may be bound when the code runs, and
            they must be bound before the text ends; where code may never run, or is expected to fail, nothing is
            refused. "known": none, and nowhere.
        types: What tells the attributes of an object. "values": only what it must be when the code runs. "declared":
            the annotations too, as for a type checker: an object has the attributes of its declared type, and a class
            binds all that its methods use of `self`. Where texts do otherwise and run all the same, it is wrong.
        package: The package in which the text will be a module: where its relative imports begin.

    Returns:
        The monitor, for `monitored`.

    Raises:
        ConstrainError: An argument has the wrong type, or a module cannot be imported.

    Source:
        The Python language reference, section 4.2 (naming and binding); PEP 484.

    Example:
        >>> import constrain
        >>> strict = constrain.monitors.python(ahead="known")
        >>> constrain.monitors.accepted_beginning(strict, "import math\\nprint(math.sqrt(x))")
        'import math\\nprint(math.sqrt('
    """
    if types not in ("values", "declared"):
        raise ConstrainError(f"types= is 'values' or 'declared', not {types!r:.40}", fix='leave it out: "values"')
    if ahead not in ("any", "known"):
        raise ConstrainError(f"ahead= is 'any' or 'known', not {ahead!r:.40}", fix='leave it out: "any"')
    known = {} if objects is None else objects
    if not isinstance(known, Mapping) or not all(isinstance(name, str) and name.isidentifier() for name in known):
        raise ConstrainError(f"objects= are objects by name, not {objects!r:.60}", fix='{"client": client}')
    if imports is not None and imports != "installed":
        if isinstance(imports, str) or not isinstance(imports, Iterable):
            raise ConstrainError(f"imports= is None, 'installed' or names, not {imports!r:.40}")
        imports = tuple(sorted(imports))
    modules = (modules,) if isinstance(modules, str) else tuple(modules)
    try:
        return PythonMonitor(
            tuple(sorted(known.items(), key=lambda pair: pair[0])), modules, imports, ahead, types, package
        )
    except ImportError as error:
        raise ConstrainError(f"a module cannot be imported: {error}", fix="install it, or leave it out") from None


def objects(given: Mapping[str, Any], *, imports: Any = ()) -> PythonMonitor:
    """A monitor of Python that may use some objects and their attributes, and nothing that is not bound.

    Args:
        given: The objects by name.
        imports: The modules that may be imported, as in `python`; by default none.

    Returns:
        The monitor, for `monitored`.

    Raises:
        ConstrainError: An argument has the wrong type.

    Example:
        >>> import constrain
        >>> from pathlib import PurePosixPath
        >>> agent = constrain.monitors.objects({"path": PurePosixPath("/")})
        >>> constrain.monitors.accepted_beginning(agent, "path.joinpath('a').nosuch")
        "path.joinpath('a').nosuch"
        >>> constrain.monitors.accepted_beginning(agent, "path.join_path('a')")
        'path.join'
    """
    return python(objects=given, imports=imports, ahead="known")
