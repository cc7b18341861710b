"""The scopes of Python: names that are used, bound, and put off until they are bound."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from constrain.monitors.bound import Bound
from constrain.monitors.monitor import Names
from constrain.monitors.python.definitions import Attribute
from constrain.monitors.python.hints import NOTHING_KNOWN, Declared, is_object, one_of
from constrain.monitors.python.lexicon import PREFIXES
from constrain.monitors.python.scopes import NOTHING, PythonScope
from constrain.monitors.python.state import PythonState
from constrain.monitors.python.values import value_of
from constrain.monitors.python.words import CONSTANTS, DYNAMIC, IMPLICIT, IN_CLASSES, LOOPS, OPERAND
from constrain.monitors.stacks import elements, replace_element

BUILTINS = {name: value_of(obj) for name, obj in vars(builtins).items() if name not in CONSTANTS | {"_"}}
WORDS = OPERAND | {prefix.decode() for prefix in PREFIXES}
TARGETS = ("(", "[")


class PythonNames:
    """Names that are used, bound and missing.

    Attributes:
        strict: Whether only names count that are bound so far (`ahead="known"`).
        doubt_words: Names that ask for the platform, or expect a fault.
        declares: Whether names have the types that are declared (`types="declared"`).
    """

    strict: bool
    declares: bool
    doubt_words: re.Pattern[str]

    def find(self, state: PythonState, name: str) -> tuple[bool, Any]:
        """(True if a name may be bound, its value as far as it is known)."""
        later = False  # whether the code runs when names may have other values
        for frame in elements(state.frames):
            if name in frame.names and (frame.comprehends or frame.kind == "lambda"):
                return True, dict(reversed(frame.types)).get(name)
            later |= frame.kind == "lambda"
        if later and name in state.binds:
            return True, None
        for index, scope in enumerate(elements(state.scopes)):
            if name in scope.elsewhere or (scope.kind == "class" and index):
                continue
            if name in scope.bound.table:
                value = None if name in scope.shared else scope.bound.table[name]
                value = value if value is None or value.lasts or not (later or index) else None
                return True, self._with_type(state, scope, name, value) if self.declares else value
            later |= scope.kind == "function"
        value = BUILTINS.get(name)
        if value is not None:
            return True, None if later and not (self.strict or self.declares) else value
        return name in IMPLICIT or name in IN_CLASSES, None

    def _with_type(self, state: PythonState, owner: PythonScope, name: str, value: Any) -> Any:
        """The value of a name of a scope, with what its declared type adds."""
        for scope in elements(state.scopes):
            if name in scope.loose:
                return None
            if scope is owner:
                break
        kept = owner.declared.table.get(name)
        if value == NOTHING_KNOWN:
            return None
        if kept is None or kept.of is None or value == kept.of:
            return value
        return kept.of if value is None else one_of(value, kept.of) if is_object(value) else value

    def visible_names(self, state: PythonState) -> Names:
        """The names that may be bound, and the words that may stand where a name may."""
        tables, extra = [], NOTHING
        for frame in elements(state.frames):
            if frame.comprehends or frame.kind == "lambda":
                extra |= frame.names.union(name for name in state.binds if isinstance(name, str))
        for index, scope in enumerate(elements(state.scopes)):
            if scope.kind != "class" or not index:
                tables.append(scope.bound)
        return _names(tuple(tables), extra)

    def may_bind_later(self, state: PythonState) -> bool:
        """True if a name that is not bound may still be bound when the code at a state runs."""
        if self.strict:
            return state.outermost_scope.open
        if state.lazy or self.doubts(state) or any(frame.kind == "lambda" for frame in elements(state.frames)):
            return True
        if any(scope.open or scope.kind == "function" for scope in elements(state.scopes)):
            return True
        return any(block.head in LOOPS for block in elements(state.blocks))

    def doubts(self, state: PythonState) -> bool:
        """True if the code at a state may never run, or is expected to fail."""
        if self.strict:
            return False
        return state.doubt or (state.block is not None and state.block.doubt) or state.outermost_scope.open

    def asks_where(self, state: PythonState) -> bool:
        """True if code stands behind a question for the version or the platform, and not only in `try`."""
        if self.strict or state.doubt or state.outermost_scope.open:
            return state.doubt and not self.strict
        doubts = False
        for block in [*elements(state.blocks)][::-1]:
            is_new = block.doubt and not doubts
            doubts = block.doubt
            if block.doubt and block.head not in ("try", "except", "for", "while") and (is_new or block.head != "def"):
                return True
        return False

    def admits_any_name(self, state: PythonState) -> bool:
        """True if a name that is not bound may stand at a state: what follows shows if it gets bound."""
        return (
            self.is_target(state) or any(frame.able for frame in elements(state.frames)) or self.may_bind_later(state)
        )

    def is_target(self, state: PythonState) -> bool:
        """True if a name at a state may be what `=` binds."""
        return state.targets and all(
            frame.kind in TARGETS and not frame.comprehends for frame in elements(state.frames)
        )

    def use(self, state: PythonState, name: str) -> PythonState | None:
        """The state after a name that is used; None: it is not bound."""
        if name in DYNAMIC:
            state = self.open_module(state)
        is_bound, value = self.find(state, name)
        after = state if is_bound else self.postpone(state, (name,))
        return None if after is None else after._replace(at="operator", held="", value=value)

    def postpone(
        self, state: PythonState, names: Iterable[str | Attribute], put_off: bool = False
    ) -> PythonState | None:
        """The state after some names were used that are not bound; None: they would have to be.

        put_off: they are looked up later in any case.
        """
        after: PythonState | None = state
        for name in names:
            assert after is not None
            after = self._postpone_name(after, name, put_off)
            if after is None:
                return None
        return after

    def _postpone_name(self, state: PythonState, name: str | Attribute, put_off: bool) -> PythonState | None:
        for index, frame in enumerate(elements(state.frames)):
            if frame.able:
                frame = frame._replace(uses=frame.uses | {name})
                return state._replace(frames=replace_element(state.frames, index, frame))
        if self.is_target(state):
            return state._replace(uses=state.uses | {name})
        if self.doubts(state):
            return state
        if isinstance(name, Attribute):
            return None if name.is_missing else state
        if not (put_off and not self.strict) and not self.may_bind_later(state):
            return None
        scope = state.scope
        if scope.open or (state.lazy and scope.kind == "function" and state.head != "def"):
            return state  # annotations of local variables are not evaluated
        return state.change_scope(pending=scope.pending | {name})

    def resolve(
        self, state: PythonState, names: Iterable[str | Attribute], put_off: bool = False
    ) -> PythonState | None:
        """Postpone the names of these that are not bound by now."""
        left = (name for name in names if isinstance(name, Attribute) or not self.find(state, name)[0])
        return self.postpone(state, left, put_off)

    def bind(self, state: PythonState, name: str, value: Any = None) -> PythonState:
        """The state after a name is bound: in a comprehension, or in the innermost scope."""
        for index, frame in enumerate(elements(state.frames)):
            if frame.comprehends:
                frame = frame._replace(names=frame.names | {name})
                return state._replace(frames=replace_element(state.frames, index, frame))
        return self.assign(state, name, value, typed=state.head != "for")

    def assign(self, state: PythonState, name: str, value: Any = None, typed: bool = True) -> PythonState:
        """The state after a name is bound in the innermost scope, or where it was declared to be.

        typed: whether the value tells the type that the name keeps.
        """
        scope = state.scope
        if name in scope.elsewhere:
            return state
        value = None if name in scope.shared else value
        if not self.declares or not typed:
            return state.change_scope(bound=scope.bound.add(name, value))
        kept = scope.declared.table.get(name)
        if value is None and kept is not None and kept.is_stated:
            value = NOTHING_KNOWN
        return state.change_scope(bound=scope.bound.add(name, value), declared=kept_types(scope, name, value))

    def declare(self, state: PythonState, name: str) -> PythonState:
        """The state after `global` or `nonlocal`: the name counts as bound outside."""
        scope = state.scope
        if scope.kind != "module":
            state = state.change_scope(elsewhere=scope.elsewhere | {name})
        outer = [*elements(state.scopes)]
        for index, scope in enumerate(outer):
            if index == len(outer) - 1 or (index and scope.kind == "function" and name in scope.bound.table):
                scope = scope._replace(bound=scope.bound.add(name, None), shared=scope.shared | {name})
                state = state._replace(scopes=replace_element(state.scopes, index, scope))
        return state

    def open_module(self, state: PythonState) -> PythonState:
        """The state after which the module may have any name; under "known": objects may have any attribute."""
        if self.strict:
            return state.change_outermost_scope(stored=state.outermost_scope.stored | {"*"})
        return state.change_outermost_scope(open=True)

    def leave_scope(self, state: PythonState) -> PythonState:
        """The state after the innermost scope ends. Names that it lacks must be bound further out."""
        assert state.scopes is not None and state.scopes[1] is not None
        scope, outer = state.scopes
        missing = scope.pending - scope.bound.table.keys()
        state = state._replace(scopes=outer)
        if not missing:
            return state
        for index, scope in enumerate(elements(outer)):
            if scope.kind != "class":
                scope = scope._replace(pending=scope.pending | missing)
                return state._replace(scopes=replace_element(outer, index, scope))
        return state

    def is_resolved(self, state: PythonState) -> bool:
        """True if the module binds all names that were put off."""
        module = state.outermost_scope
        return module.open or all(self.find(state, name)[0] for name in module.pending - module.bound.table.keys())


def kept_types(scope: PythonScope, name: str, value: Any) -> Bound:
    """The types of a scope after a name, or an attribute in `self`, was bound: of all that it was bound to."""
    before = scope.declared.table.get(name)
    if before is None:
        if not is_object(value) or name in scope.bound.table or name in scope.fields:
            return scope.declared
        new = Declared(value, False)
    elif is_object(value):
        new = before._replace(of=one_of(before.of, value))
    else:
        new = before if before.is_stated else Declared(None, False)
    return scope.declared.add(name, new)


@lru_cache(maxsize=1024)
def _names(tables: tuple[Bound, ...], extra: frozenset[str]) -> Names:
    names = {*BUILTINS, *IMPLICIT, *IN_CLASSES, *extra}
    for bound in tables:
        names |= bound.table.keys()
    return Names(names, words=WORDS)
