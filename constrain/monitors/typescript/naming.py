"""Names that are declared, and the lexemes that are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from constrain.monitors.monitor import NUMBER, Names
from constrain.monitors.stacks import elements, replace_element
from constrain.monitors.typescript.lexicon import CUT
from constrain.monitors.typescript.state import Entry, Scope, TsFrame, Value
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import ANY, TsType, literal
from constrain.monitors.typescript.words import RESERVED


class TsLexeme(NamedTuple):
    """A lexeme: its kind, and its text as a sign, a word, or a literal."""

    kind: int
    sign: str = ""
    word: str = ""
    text: str = ""


def literal_of(lexeme: TsLexeme) -> TsType | None:
    """The type of a literal; None: of a template with expressions."""
    text = lexeme.text
    if lexeme.kind == NUMBER:
        try:
            value = float(text)
        except ValueError:
            return literal(text, "number")
        return literal(str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value), "number")
    if text.endswith("${"):
        return None
    return literal(CUT.decode() if CUT.decode() in text else text[1:-1], "string")


class Naming:
    """Declared names, and the step of every lexeme."""

    def read(self, state: S, lexeme: TsLexeme) -> S | None:
        """The state after a lexeme; None: it may not stand there."""
        step: Callable[[S, TsLexeme], S | None] = getattr(self, "_at_" + state.at.replace(" ", "_"))
        return step(state, lexeme)

    @staticmethod
    def generics(state: S) -> frozenset[str]:
        """The type parameters that may be used."""
        return frozenset().union(*(scope.generics for scope in elements(state.scopes)))

    @staticmethod
    def find(state: S, name: str) -> Entry | None:
        """The meaning of a name that may be used; None: it is not declared."""
        later = False
        for scope in elements(state.scopes):
            entry: Entry | None = scope.names.table.get(name)
            if entry is not None:
                return entry if _may_be_used(entry, later) else None
            later = later or scope.is_function
        return None

    @staticmethod
    def use(state: S, name: str) -> S:
        """The state after a name was used: the scopes between may not declare it any more."""
        scopes = state.scopes
        for index, scope in enumerate(elements(state.scopes)):
            if name in scope.names.table:
                break
            if name not in scope.used:
                scopes = replace_element(scopes, index, scope._replace(used=scope.used | {name}))
        return state if scopes is state.scopes else state._replace(scopes=scopes)

    @staticmethod
    def may_declare(state: S, name: str) -> bool:
        """True if the innermost scope may have a new name."""
        scope: Scope = state.scope
        return name not in RESERVED and name not in scope.names.table and name not in scope.used

    @staticmethod
    def declare(state: S, name: str, entry: Entry) -> S:
        """The state after a name is declared in the innermost scope, or its entry is replaced."""
        old = state.scope.names.table.get(name)
        outer = sum(name in scope.names.table for scope in elements(state.scopes))
        key = old.key if old is not None else name + "'" * outer
        return state.change_scope(names=state.scope.names.add(name, entry._replace(key=key)))

    @staticmethod
    def value_of(state: S, name: str, entry: Entry) -> Value:
        """The value of a variable where it is read."""
        facts = state.facts.table if state.facts is not None else {}
        when = None
        if entry.tested and state.facts is not None:
            doubted = state.facts
            for key in entry.tested:
                doubted = doubted.add(key, ANY)
            when = (doubted, doubted)
        assigns = entry.kind in ("let", "parameter")
        return Value(facts.get(entry.key, entry.type), entry.key, entry.type, assigns, "name", when)

    @staticmethod
    def visible(state: S) -> Mapping[str, Entry]:
        """The names that may be used."""
        return _visible(state.scopes)

    @staticmethod
    def frames_of_function(state: S) -> list[TsFrame]:
        """The open parts, the innermost first, up to the function around."""
        found = []
        for frame in elements(state.frames):
            found.append(frame)
            if frame.kind in ("function", "arrow"):
                break
        return found

    @staticmethod
    def is_fixed(state: S, key: str) -> bool:
        """True if a fact about a place lasts: it is a constant."""
        return any(
            entry.key == key and entry.kind == "const"
            for scope in elements(state.scopes)
            for entry in scope.names.table.values()
        )

    @staticmethod
    def context(state: S) -> TsFrame:
        """The innermost frame that is no operator."""
        frame: TsFrame
        for frame in elements(state.frames):
            if frame.kind not in ("binary", "unary"):
                return frame
        raise AssertionError


def _may_be_used(entry: Entry, later: bool) -> bool:
    """True if a declared name has its value. later: where it is used, in a function that runs later."""
    return not entry.pending or (later and entry.type.kind != "void")


@lru_cache(maxsize=256)
def _visible(scopes: Any) -> Mapping[str, Entry]:
    found: dict[str, Entry | None] = {"this": None}
    later = False
    for scope in elements(scopes):
        for name, entry in scope.names.table.items():
            if name not in found:
                found[name] = entry if _may_be_used(entry, later) else None
        later = later or scope.is_function
    return {name: entry for name, entry in found.items() if entry is not None}


def names_of(names: Iterable[str], words: Iterable[str] = ()) -> Names:
    """Names and keywords, as the language of a place. Remembered."""
    return _names_of(frozenset(names), frozenset(words))


@lru_cache(maxsize=4096)
def _names_of(names: frozenset[str], words: frozenset[str]) -> Names:
    return Names(names | words, keywords=words - names)
