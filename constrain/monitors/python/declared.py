"""Types that a text declares: annotations, what `for`, `with` and `except` bind, what `isinstance` tells.

The idea: beside the value that a name has at a place (`PythonScope.bound`) stands the type that it keeps
(`PythonScope.declared`): that of its annotation, or of all that it was bound to. As for a type checker, an object has
the attributes of its declared type, though one of a subclass may have more. A test that may find out more
(`isinstance`, `hasattr`) adds the type that it tests to that of the name, or makes it open.
"""

from __future__ import annotations

from typing import Any

from constrain.monitors.python.definitions import Class, Self
from constrain.monitors.python.hints import Declared, Later, TypeUnion, declared, is_object, object_of, one_of, parsed
from constrain.monitors.python.naming import BUILTINS, PythonNames
from constrain.monitors.python.scopes import PythonFrame, PythonScope
from constrain.monitors.python.state import PythonState
from constrain.monitors.python.typed import entered, is_guard, iterated, parts, typed_attribute
from constrain.monitors.python.values import PythonCall, PythonValue, instance_of
from constrain.monitors.stacks import elements, replace_element

ASYNC = ("async", None)  # among `PythonState.hints`
TESTS = {"isinstance": 2, "issubclass": 1, "hasattr": 1, "callable": 1}  # and how many arguments tell what they do


class PythonTypes(PythonNames):
    """The steps of a state that concern declared types."""

    # -- annotations ---------------------------------------------------------------------------------------------------

    def hint(self, state: PythonState) -> Any:
        """The value of an object with the annotation that was read; None: it is not known."""
        return declared(parsed(state.spelled), lambda name: self.thing(state, name)) if state.spelled else None

    def thing(self, state: PythonState, name: str) -> Any:
        """The class, module or form of `typing` that a dotted name in an annotation stands for; None: not known."""
        first, *rest = name.split(".")
        thing = self._thing(state, first)
        for part in rest:
            is_known = isinstance(thing, PythonValue) and thing.role == "object"
            thing = typed_attribute(thing, part) if is_known else None
        return thing

    def _thing(self, state: PythonState, name: str) -> Any:
        for scope in elements(state.scopes):
            if scope.kind == "class" and scope.name == name:
                return Later(name, True)
            if name in scope.bound.table:
                return scope.bound.table[name]
        return BUILTINS.get(name) or Later(name, True)

    def resolved(self, state: PythonState, value: Any) -> Any:
        """A value with the class of the text that a name stands for by now; None: it is not known."""
        if isinstance(value, TypeUnion):
            return one_of(*(self.resolved(state, each) for each in value.options))
        if not isinstance(value, Later):
            return value
        scopes = [*elements(state.scopes)]
        for index, scope in enumerate(scopes):
            if scope.kind == "class" and scope.name == value.name:
                return Self(len(scopes) - 1 - index, value.is_class)
            if value.name in scope.bound.table:
                thing = scope.bound.table[value.name]
                if not isinstance(thing, Class | PythonValue):
                    return None
                return thing if value.is_class else object_of(thing)
        return None

    def parameter_ends(self, state: PythonState) -> PythonState:
        """The state after a parameter, with its type."""
        if not state.spelled:
            return state
        name, value = state.frame.listed[-1].rstrip("="), self.hint(state)
        if name.startswith("**"):
            value = instance_of(dict, by_user=True, args=(instance_of(str, by_user=True), value))
        elif name.startswith("*"):
            value = instance_of(tuple, by_user=True, args=(value, ...))
        return state._replace(spelled="", hints=(*state.hints, (name.strip("*"), value)))

    def annotate(self, state: PythonState, name: str, stated: Declared, value: Any) -> PythonState:
        """The state after a name was declared to have a type, and got a value."""
        after = self.assign(state, name, None if stated.of is None else value, typed=False)
        return after.change_scope(declared=after.scope.declared.add(name, stated))

    # -- what statements bind ------------------------------------------------------------------------------------------

    def source(self, state: PythonState) -> Any:
        """The value that the name after `as` is bound to."""
        if not self.declares or not state.plain or ASYNC in state.hints:
            return None
        return object_of(state.value) if state.head == "except" else entered(self.resolved(state, state.value))

    def note_target(self, state: PythonState, name: str) -> PythonState:
        """The state after a name that `for` binds."""
        if not self.declares or state.head == "with":
            return state
        if state.frames is None:
            is_new = name not in state.scope.bound.table
            return state._replace(hints=(*state.hints, (name, is_new))) if state.head == "for" else state
        if state.frame.comprehends:
            return state.change(loop=(*state.frame.loop, name))
        for index, frame in enumerate(elements(state.frames)):  # names in brackets: what they get is not known
            if frame.comprehends:
                frame = frame._replace(loop=(*frame.loop, name, ""))
                return state._replace(frames=replace_element(state.frames, index, frame))
        return state._replace(hints=(*state.hints, (name, False), ASYNC))

    def bind_elements(self, state: PythonState) -> PythonState:
        """The state after the head of a loop: its names have what the container gives."""
        names = [(name, is_new) for name, is_new in state.hints if name != "async"]
        for (name, is_new), value in zip(names, self._given(state, len(names), ASYNC in state.hints), strict=True):
            if is_new and is_object(value):
                state = state.change_scope(declared=state.scope.declared.add(name, Declared(value, False)))
            state = self.assign(state, name, value)
        return state

    def bind_in_comprehension(self, state: PythonState) -> PythonState:
        """The state after the container of a comprehension."""
        frame: PythonFrame = state.frame
        if not frame.loop:
            return state
        given = self._given(state, len(frame.loop), "" in frame.loop)
        return state.change(loop=(), types=(*zip(frame.loop, given, strict=True), *frame.types))

    def _given(self, state: PythonState, count: int, is_unknown: bool) -> tuple[Any, ...]:
        value = None if is_unknown or not state.plain else iterated(self.resolved(state, state.value))
        return (value,) if count == 1 else (None,) * count if value is None else parts(value, count)

    # -- tests ---------------------------------------------------------------------------------------------------------

    def test_ends(self, state: PythonState, call: PythonCall) -> tuple[PythonState, PythonCall]:
        """The state and the call after an argument of a test of types; call: before that argument is counted."""
        function = call.of.what.obj if isinstance(call.of, PythonValue) and call.of.role == "object" else None
        name = getattr(function, "__name__", "")
        if call.by_position == 0 and is_guard(call.of):
            return self.loosen(state, state.held), call
        if name not in TESTS or function.__module__ != "builtins" or call.by_position > 1:
            return state, call
        if call.by_position == 0:
            tested = state.held
            is_variable = (
                tested in state.scope.bound.table and state.plain and self.find(state, tested)[1] == state.value
            )
            if not tested or TESTS[name] == 1 or not is_variable:
                return self.loosen(state, tested), call
            return state, call._replace(tested=tested)
        if not call.tested:
            return state, call
        tested_class = object_of(state.value) if state.plain else None
        before = state.scope.declared.table.get(call.tested)
        if tested_class is None or before is None or before.of is None:
            return self.loosen(state, call.tested), call
        wider = Declared(one_of(before.of, tested_class), before.is_stated)
        scope = state.scope
        bound = scope.bound.add(call.tested, None)
        return state.change_scope(declared=scope.declared.add(call.tested, wider), bound=bound), call

    def loosen(self, state: PythonState, name: str) -> PythonState:
        """The state after which nothing is known of a name, or of an attribute, in the innermost scope."""
        return state.change_scope(loose=state.scope.loose | {name}) if name and self.declares else state

    def is_loose(self, state: PythonState, name: str) -> bool:
        """True if nothing is known of an attribute by a test."""
        return any(name in scope.loose for scope in elements(state.scopes))


def of_class(value: Any, scope: PythonScope) -> Any:
    """A value to be kept beyond the class that is being read: its name stands for it."""
    if isinstance(value, Self):
        return Later(scope.name, value.is_class)
    if isinstance(value, TypeUnion):
        return one_of(*(of_class(each, scope) for each in value.options))
    return value
