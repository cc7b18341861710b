"""The scopes of C: the names that are declared at a position of a text, and the members of a value."""

from __future__ import annotations

from functools import lru_cache

from constrain.monitors.bound import Bound
from constrain.monitors.c.lexicon import PREFIXES
from constrain.monitors.c.state import CState
from constrain.monitors.c.types import POINTER, UNKNOWN, CName, CType
from constrain.monitors.c.words import ALWAYS, KEYWORDS, RESERVED
from constrain.monitors.monitor import Names
from constrain.monitors.stacks import elements

_NONE = CName("value")
WORDS = KEYWORDS | {prefix.decode() for prefix in PREFIXES}  # L may begin a string


class CNames:
    """Names that are declared, and members."""

    def find(self, state: CState, name: str) -> CName | None:
        """The meaning of a name; None: it is not declared."""
        for scope in elements(state.scopes):
            if name in scope.names.table:
                entry: CName = scope.names.table[name]
                return entry
        return _NONE if name.startswith(RESERVED) or name in ALWAYS else None

    def is_type(self, state: CState, name: str) -> bool:
        """True if a name is a type."""
        entry = self.find(state, name)
        return entry is not None and entry.kind == "type"

    def visible_names(self, state: CState, types: bool | None = None) -> Names:
        """The names that are declared, and the keywords. types: types alone; False: none of them."""
        names = _visible_names(tuple(scope.names for scope in elements(state.scopes)), types)
        return names.with_names(state.opens) if state.opens else names

    def declare(self, state: CState, name: str, entry: CName) -> CState:
        """The state after a name is declared in the innermost scope."""
        names = state.scope.names
        old = names.table.get(name)
        if old is not None and old.type.arity is not None and entry.type.arity is not None:
            if entry.type.arity.number is None:  # `int f();` after `int f(int);`
                entry = old
        return state.change_scope(names=names.add(name, entry))

    def tag(self, state: CState, name: str, *, defines: bool) -> tuple[CState, int]:
        """The state after the tag of a structure, and its number. defines: whether its members or `;` follow."""
        for index, scope in enumerate(elements(state.scopes)):
            number = scope.tags.table.get(name) if name else None
            if number is not None and not (defines and (index or number in state.structs.table)):
                return state, number
            if defines:
                break
        number = state.made + 1
        if name:
            state = state.change_scope(tags=state.scope.tags.add(name, number))
        return state._replace(made=number), number

    def members(self, state: CState, value: CType, sign: str) -> Bound | bool | None:
        """The members that may stand after `.` or `->`; None: they are not known; False: the sign may not stand."""
        if value.base is None:
            return None
        if sign == "->":
            if not value.derived or len(value.derived) > 1 or not isinstance(value.derived[0], str):
                return False if not (value.derived and not isinstance(value.derived[0], str)) else None
        elif value.derived:
            return False
        if not isinstance(value.base, int):
            return False
        return state.structs.table.get(value.base)

    @staticmethod
    def apply_prefix(prefix: tuple[object, ...], value: CType) -> CType:
        """The type of an operand with what stands before it."""
        for sign in reversed(prefix):
            if isinstance(sign, CType):
                value = sign
            elif sign == "*":
                value = value.target
            elif sign == "&":
                value = UNKNOWN if value.base is None else CType((POINTER, *value.derived), value.base)
            else:
                value = UNKNOWN
        return value


@lru_cache(maxsize=1024)
def _visible_names(tables: tuple[Bound, ...], types: bool | None) -> Names:
    entries: dict[str, CName] = {}
    for bound in reversed(tables):
        entries.update(bound.table)
    names = [name for name, entry in entries.items() if types is None or types == (entry.kind == "type")]
    return Names([*names, *(() if types else ALWAYS)], words=KEYWORDS if types else WORDS, prefixes=RESERVED)
