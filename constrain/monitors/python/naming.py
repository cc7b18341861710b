"""What a name means at a place, and what becomes of one that is used or bound there."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from constrain.monitors.monitor import Names
from constrain.monitors.python.definitions import Attribute
from constrain.monitors.python.lexicon import PREFIXES
from constrain.monitors.python.scopes import NOTHING, Scope
from constrain.monitors.python.state import Py
from constrain.monitors.python.values import value_of
from constrain.monitors.python.words import CONSTANTS, DYNAMIC, IMPLICIT, IN_CLASSES, LOOPS, OPERAND
from constrain.monitors.stacks import Bound, each, replaced

BUILTINS = {name: value_of(obj) for name, obj in vars(builtins).items() if name not in CONSTANTS | {"_"}}
WORDS = OPERAND | {prefix.decode() for prefix in PREFIXES}
TARGETS = ("(", "[")


class Naming:
    """Names that are used, bound and missing.

    Attributes:
        strict: Whether only names count that are bound so far (`ahead="known"`).
    """

    strict: bool

    def find(self, here: Py, name: str) -> tuple[bool, Any]:
        """Whether a name may be bound, and what is known of its value."""
        later = False  # whether the code runs when names may have other values
        for frame in each(here.frames):
            if name in frame.names and (frame.comprehends or frame.kind == "lambda"):
                return True, None
            later |= frame.kind == "lambda"
        if later and name in here.binds:
            return True, None
        for place, scope in enumerate(each(here.scopes)):
            if name in scope.elsewhere or (scope.kind == "class" and place):
                continue
            if name in scope.bound.table:
                value = None if name in scope.shared else scope.bound.table[name]
                return True, value if value is None or value.lasts or not (later or place) else None
            later |= scope.kind == "function"
        value = BUILTINS.get(name)
        if value is not None:
            return True, None if later and not self.strict else value
        return name in IMPLICIT or name in IN_CLASSES, None

    def visible(self, here: Py) -> Names:
        """The names that may be bound, and the words that may stand where a name may."""
        tables, extra = [], NOTHING
        for frame in each(here.frames):
            if frame.comprehends or frame.kind == "lambda":
                extra |= frame.names.union(name for name in here.binds if isinstance(name, str))
        for place, scope in enumerate(each(here.scopes)):
            if scope.kind != "class" or not place:
                tables.append(scope.bound)
        return _names(tuple(tables), extra)

    def later(self, here: Py) -> bool:
        """Whether a name that is not bound may still be bound when the code at a place runs."""
        if self.strict:
            return module_of(here).open
        if here.lazy or self.doubts(here) or any(frame.kind == "lambda" for frame in each(here.frames)):
            return True
        if any(scope.open or scope.kind == "function" for scope in each(here.scopes)):
            return True
        return any(block.head in LOOPS for block in each(here.blocks))

    def doubts(self, here: Py) -> bool:
        """Whether the code at a place may never run, or is expected to fail."""
        if self.strict:
            return False
        return here.doubt or (here.blocks is not None and here.blocks[0].doubt) or module_of(here).open

    def any_name(self, here: Py) -> bool:
        """Whether a name that is not bound may stand at a place: what follows shows whether it is."""
        return self.is_target(here) or any(frame.able for frame in each(here.frames)) or self.later(here)

    def is_target(self, here: Py) -> bool:
        """Whether a name at a place may be what `=` binds."""
        return here.targets and all(frame.kind in TARGETS and not frame.comprehends for frame in each(here.frames))

    def used(self, here: Py, name: str) -> Py | None:
        """The state after a name that is used; None: it is not bound."""
        if name in DYNAMIC:
            here = self.opened(here)
        found, value = self.find(here, name)
        after = here if found else self.missing(here, (name,))
        return None if after is None else after._replace(at="operator", held="", value=value)

    def missing(self, here: Py, names: Iterable[str | Attribute], put_off: bool = False) -> Py | None:
        """The state after some names were used that are not bound; None: they would have to be.

        put_off: they are looked up later in any case.
        """
        after: Py | None = here
        for name in names:
            assert after is not None
            after = self._missing(after, name, put_off)
            if after is None:
                return None
        return after

    def _missing(self, here: Py, name: str | Attribute, put_off: bool) -> Py | None:
        for place, frame in enumerate(each(here.frames)):
            if frame.able:
                frame = frame._replace(uses=frame.uses | {name})
                return here._replace(frames=replaced(here.frames, place, frame))
        if self.is_target(here):
            return here._replace(uses=here.uses | {name})
        if self.doubts(here):
            return here
        if isinstance(name, Attribute):
            return None if name.is_missing else here
        if not (put_off and not self.strict) and not self.later(here):
            return None
        scope = _innermost(here)
        if scope.open or (here.lazy and scope.kind == "function" and here.head != "def"):
            return here  # annotations of local variables are not evaluated
        return _with_scope(here, scope._replace(pending=scope.pending | {name}))

    def resolved(self, here: Py, names: Iterable[str | Attribute], put_off: bool = False) -> Py | None:
        """`missing` for names of which some may be bound by now."""
        left = (name for name in names if isinstance(name, Attribute) or not self.find(here, name)[0])
        return self.missing(here, left, put_off)

    def bound(self, here: Py, name: str, value: Any = None) -> Py:
        """The state after a name is bound: in a comprehension, or in the innermost scope."""
        for place, frame in enumerate(each(here.frames)):
            if frame.comprehends:
                frame = frame._replace(names=frame.names | {name})
                return here._replace(frames=replaced(here.frames, place, frame))
        return self.assigned(here, name, value)

    def assigned(self, here: Py, name: str, value: Any = None) -> Py:
        """The state after a name is bound in the innermost scope, or where it was declared to be."""
        scope = _innermost(here)
        if name in scope.elsewhere:
            return here
        value = None if name in scope.shared else value
        return _with_scope(here, scope._replace(bound=scope.bound.plus(name, value)))

    def declared(self, here: Py, name: str) -> Py:
        """The state after `global` or `nonlocal`: the name counts as bound outside."""
        scope = _innermost(here)
        if scope.kind != "module":
            here = _with_scope(here, scope._replace(elsewhere=scope.elsewhere | {name}))
        outer = [*each(here.scopes)]
        for place, scope in enumerate(outer):
            is_owner = place == len(outer) - 1 or (place and scope.kind == "function" and name in scope.bound.table)
            if is_owner:
                scope = scope._replace(bound=scope.bound.plus(name, None), shared=scope.shared | {name})
                here = here._replace(scopes=replaced(here.scopes, place, scope))
        return here

    def opened(self, here: Py) -> Py:
        """The state after which the module may have any name; under "known": objects may have any attribute."""
        place = sum(1 for _ in each(here.scopes)) - 1
        module = module_of(here)
        module = module._replace(stored=module.stored | {"*"}) if self.strict else module._replace(open=True)
        return here._replace(scopes=replaced(here.scopes, place, module))

    def left(self, here: Py) -> Py:
        """The state after the innermost scope ends. Names that it lacks must be bound further out."""
        assert here.scopes is not None and here.scopes[1] is not None
        scope, outer = here.scopes
        missing = scope.pending - scope.bound.table.keys()
        here = here._replace(scopes=outer)
        if not missing:
            return here
        for place, around in enumerate(each(outer)):
            if around.kind != "class":
                around = around._replace(pending=around.pending | missing)
                return here._replace(scopes=replaced(outer, place, around))
        return here

    def is_resolved(self, here: Py) -> bool:
        """Whether the module binds all names that were put off."""
        module = module_of(here)
        return module.open or all(self.find(here, name)[0] for name in module.pending - module.bound.table.keys())


def _innermost(here: Py) -> Scope:
    assert here.scopes is not None
    return here.scopes[0]


def module_of(here: Py) -> Scope:
    module = None
    for scope in each(here.scopes):
        module = scope
    assert module is not None
    return module


def _with_scope(here: Py, scope: Scope) -> Py:
    """The state with another innermost scope."""
    assert here.scopes is not None
    return here._replace(scopes=(scope, here.scopes[1]))


@lru_cache(maxsize=1024)
def _names(tables: tuple[Bound, ...], extra: frozenset[str]) -> Names:
    names = {*BUILTINS, *IMPLICIT, *IN_CLASSES, *extra}
    for bound in tables:
        names |= bound.table.keys()
    return Names(names, words=WORDS)
