"""What a name means at a place of a C text, and the members of a value."""

from __future__ import annotations

from functools import lru_cache

from constrain.monitors.c.lexicon import PREFIXES
from constrain.monitors.c.state import C
from constrain.monitors.c.types import POINTER, UNKNOWN, Entry, Scope, Type
from constrain.monitors.c.words import ALWAYS, KEYWORDS, RESERVED
from constrain.monitors.monitor import Names
from constrain.monitors.stacks import Bound, each, replaced

_NONE = Entry("value")
WORDS = KEYWORDS | {prefix.decode() for prefix in PREFIXES}  # L may begin a string


class Naming:
    """Names that are declared, and members."""

    def find(self, here: C, name: str) -> Entry | None:
        """What a name means; None: it is not declared."""
        for scope in each(here.scopes):
            if name in scope.names.table:
                entry: Entry = scope.names.table[name]
                return entry
        return _NONE if name.startswith(RESERVED) or name in ALWAYS else None

    def is_type(self, here: C, name: str) -> bool:
        """Whether a name is that of a type."""
        entry = self.find(here, name)
        return entry is not None and entry.kind == "type"

    def visible(self, here: C, types: bool = False) -> Names:
        """The names that are declared, and the keywords. types: only those of types."""
        names = _visible(tuple(scope.names for scope in each(here.scopes)), types)
        return names.with_names(here.opens) if here.opens else names

    def declared(self, here: C, name: str, entry: Entry) -> C:
        """The state after a name is declared in the innermost scope."""
        assert here.scopes is not None
        scope: Scope = here.scopes[0]
        old = scope.names.table.get(name)
        if old is not None and old.type.arity is not None and entry.type.arity is not None:
            if entry.type.arity.number is None:  # `int f();` after `int f(int);`
                entry = old
        return here._replace(scopes=(scope._replace(names=scope.names.plus(name, entry)), here.scopes[1]))

    def tag(self, here: C, name: str, *, defines: bool) -> tuple[C, int]:
        """The state after the tag of a structure, and its number. defines: whether its members or `;` follow."""
        places = [*each(here.scopes)]
        for place, scope in enumerate(places):
            number = scope.tags.table.get(name) if name else None
            if number is not None and not (defines and (place or number in here.structs.table)):
                return here, number
            if defines:
                break
        number = here.made + 1
        if name:
            scope = places[0]._replace(tags=places[0].tags.plus(name, number))
            here = here._replace(scopes=replaced(here.scopes, 0, scope))
        return here._replace(made=number), number

    def members(self, here: C, value: Type, sign: str) -> Bound | bool | None:
        """What may stand after `.` or `->`: members; None: they are not known; False: none, the sign may not stand."""
        if value.base is None:
            return None
        if sign == "->":
            if not value.derived or len(value.derived) > 1 or not isinstance(value.derived[0], str):
                return False if not (value.derived and not isinstance(value.derived[0], str)) else None
        elif value.derived:
            return False
        if not isinstance(value.base, int):
            return False
        return here.structs.table.get(value.base)

    @staticmethod
    def applied(prefix: tuple[object, ...], value: Type) -> Type:
        """The type of an operand with what stands before it."""
        for sign in reversed(prefix):
            if isinstance(sign, Type):
                value = sign
            elif sign == "*":
                value = value.target
            elif sign == "&":
                value = UNKNOWN if value.base is None else Type((POINTER, *value.derived), value.base)
            else:
                value = UNKNOWN
        return value


@lru_cache(maxsize=1024)
def _visible(tables: tuple[Bound, ...], types: bool) -> Names:
    found: dict[str, Entry] = {}
    for bound in reversed(tables):
        found.update(bound.table)
    names = [name for name, entry in found.items() if not types or entry.kind == "type"]
    return Names([*names, *(() if types else ALWAYS)], words=KEYWORDS if types else WORDS, prefixes=RESERVED)
