"""Written types: annotations, and the members of interfaces and of object types.

A method `_at_x` reads the lexeme after `at="x"` (monitor.py). `_begin_type` opens a type; the lexeme behind it is given
to `_typed`, with the role of the type.
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.monitor import NUMBER, STRING
from constrain.monitors.stacks import elements
from constrain.monitors.typescript.naming import Naming, TsLexeme, literal_of
from constrain.monitors.typescript.relations import CALL, expand, is_assignable, own_members
from constrain.monitors.typescript.state import OPEN, TsFrame
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import (
    BEYOND,
    PRIMITIVES,
    Member,
    TsSignature,
    TsType,
    array,
    constituents,
    function,
    union,
)
from constrain.monitors.typescript.words import MODIFIERS, RESERVED

OUTSIDE = frozenset({"typeof", "keyof", "readonly", "unique", "infer", "asserts", "import"})  # of the subset


class Annotations(Naming):
    """The steps of a state over the lexemes of types."""

    # Steps of other parts
    _typed: Callable[[S, str, TsType, TsLexeme], S | None]
    _members_end: Callable[[S], S | None]
    _new_arguments: Callable[[S, TsFrame, tuple[TsType, ...]], S | None]
    _generics_end: Callable[[S], S | None]

    def _begin_type(self, state: S, role: str, goal: TsType | None = None) -> S:
        return state.push(TsFrame("type", role=role, goal=goal), "type")

    def _at_type(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what a type begins with."""
        if state.frame.role in ("heritage", "implements") and not self._may_inherit(state, lexeme.word):
            return None
        if lexeme.word:
            return self._type_word(state, lexeme.word)
        if lexeme.kind in (STRING, NUMBER):
            type_ = literal_of(lexeme)
            return OPEN if type_ is None else self._part(state, type_._replace(fresh=False))
        match lexeme.sign:
            case "(":
                return self._type_paren(state)
            case "{":
                return state.push(TsFrame("members", role="type"), "member") if self._takes_object(state) else None
            case "|":
                return None if state.frame.items or state.frame.seen else state.change(seen=1)
        return OPEN

    @staticmethod
    def _may_inherit(state: S, word: str) -> bool:
        """True if a class or interface may extend or implement a type."""
        definition = state.types.table.get(word)
        if definition is None or not definition.complete:
            return False
        is_base = state.frame.role == "heritage" and [*elements(state.frames)][1].kind == "class"
        return definition.kind == "class" or (definition.kind == "interface" and not is_base)

    @staticmethod
    def _takes_object(state: S) -> bool:
        goal = state.frame.goal
        parts = () if goal is None else constituents(expand(goal, state.types))
        return goal is None or any(part.kind in ("any", "unknown", "object", "named") for part in parts)

    @staticmethod
    def _part(state: S, type_: TsType) -> S | None:
        """The state after one type of a union, which the expected type may forbid."""
        goal = state.frame.goal
        if goal is not None:
            made = [type_, array(type_), array(array(type_))]
            if not any(is_assignable(each, goal, state.types) for each in made):
                return None
        return state.go("after type", type=type_)

    def _type_word(self, state: S, word: str) -> S | None:
        if word in self.generics(state):
            return self._part(state, TsType("parameter", word))
        if word in PRIMITIVES:
            return self._part(state, PRIMITIVES[word])
        definition = state.types.table.get(word)
        if definition is None:
            return OPEN if word in OUTSIDE else None
        if not definition.complete and definition.kind == "alias" and self._is_bare(state):
            return None  # it would be itself
        if definition.generics:
            return state.go("type name", held=word)
        if definition.kind == "open":
            return self._part(state, BEYOND)
        named = TsType("named", word)
        return self._part(state, expand(named, state.types) if definition.complete else named)

    @staticmethod
    def _is_bare(state: S) -> bool:
        """True if the type that is read is the alias itself, and not a part of a member, a function or an argument."""
        for frame in elements(state.frames):
            if frame.kind in ("members", "signature", "type arguments"):
                return False
            if frame.kind == "alias":
                return True
        return False

    def _at_type_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the `<` after the name of a generic type."""
        if lexeme.sign != "<":
            return None
        return self._begin_type(state.push(TsFrame("type arguments", name=state.held), "type"), "type argument")

    def _at_after_type(self, state: S, lexeme: TsLexeme) -> S | None:
        frame = state.frame
        is_name = frame.role in ("heritage", "implements")
        match lexeme.sign:
            case "[" if not is_name:
                return state.go("type bracket")
            case "|" if not is_name:
                return state.change(items=(*frame.items, state.type)).go("type")
            case "&":
                return OPEN
            case ">=":  # `Array<number>= []`
                after = self._at_after_type(state, TsLexeme(lexeme.kind, ">"))
                return None if after is None else self.read(after, TsLexeme(lexeme.kind, "="))
        type_ = union((*frame.items, state.type)) if frame.items else state.type
        return self._typed(state.pop("after type"), frame.role, type_, lexeme)

    def _at_type_bracket(self, state: S, lexeme: TsLexeme) -> S | None:
        return state.go("after type", type=array(state.type)) if lexeme.sign == "]" else OPEN

    # -- parentheses and arguments -------------------------------------------------------------------------------------

    def _type_paren(self, state: S) -> S:
        """The state after `(`: in a union a function's type has parentheses of its own."""
        is_union = state.frame.items or state.frame.seen
        return self._begin_type(state, "type group") if is_union else state.go("type paren")

    def _at_type_paren(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows `(` in a type: parameters of a function's type, or a type."""
        if lexeme.sign in (")", "..."):
            return self.read(self._function_type(state), lexeme)
        if lexeme.word and lexeme.word not in RESERVED:
            return state.go("type paren word", held=lexeme.word)
        return self.read(self._begin_type(state, "type group"), lexeme)

    @staticmethod
    def _function_type(state: S) -> S:
        return state.push(TsFrame("signature", role="type"), "parameter")

    def _at_type_paren_word(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows a word after `(`: it is a parameter, or a type."""
        held = state.held
        if lexeme.sign in (":", "?"):
            return self.read(self._function_type(state).go("parameter name", held=held), lexeme)
        after = self._type_word(self._begin_type(state, "type group"), held)
        return None if after is None else self.read(after, lexeme)

    def _type_argument(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after an argument of a generic type, at the sign behind it."""
        frame, sign = state.frame, lexeme.sign
        items = (*frame.items, type_)
        definition = state.types.table.get(frame.name)
        many = 0 if definition is None else len(definition.generics)
        if sign == "," and (not many or len(items) < many):
            return self._begin_type(state.change(items=items), "type argument")
        if sign != ">" or (many and len(items) != many):
            return None if sign in (",", ">", ">=") else OPEN
        if frame.role == "new":
            return self._new_arguments(state, frame, items)
        is_open = definition is None or definition.kind == "open"
        made = BEYOND if is_open else expand(TsType("named", frame.name, items), state.types)
        return self._part(state.pop("after type"), array(items[0]) if frame.name == "Array" else made)

    # -- members of interfaces and of object types ---------------------------------------------------------------------

    def _at_member(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what a member begins with. The frame's goal is the interface that is declared."""
        frame, word = state.frame, lexeme.word
        if lexeme.sign == "}":
            return self._members_end(state)
        if lexeme.sign == "(" and frame.role == "interface":
            return state.change(name=CALL).enter().push(TsFrame("signature", role="call"), "parameter")
        if not word or word in MODIFIERS:
            return state.change(flags=frame.flags | {"readonly"}) if word == "readonly" and not frame.flags else OPEN
        if any(each.name == word for each in frame.items) or word in self._inherited(state):
            return None
        return state.change(name=word).go("member name")

    @staticmethod
    def _inherited(state: S) -> frozenset[str]:
        """The names of the members that a declared type inherits."""
        goal = state.frame.goal
        bases = () if goal is None else state.types.table[goal.name].bases
        return frozenset(name for base in bases for name in own_members(base, state.types) or ())

    def _at_member_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the name of a member."""
        frame = state.frame
        match lexeme.sign:
            case "?":
                return state.change(flags=frame.flags | {"?"}) if "?" not in frame.flags else None
            case ":":
                return self._begin_type(state, "member")
            case "(" | "<" if "readonly" not in frame.flags:
                state = state.enter().push(TsFrame("signature", role="method"), "parameter")
                return state.go("generic") if lexeme.sign == "<" else state
        return None if lexeme.sign in (";", ",", "}", "(", "<") else OPEN

    def _add_member(self, state: S, type_: TsType, lexeme: TsLexeme, is_method: bool = False) -> S | None:
        """The state after a member, at the sign behind it."""
        frame = state.frame
        if lexeme.sign not in (";", ",", "}"):
            return None
        member = Member(frame.name, type_, "?" in frame.flags, "readonly" in frame.flags, is_method)
        state = state.change(items=(*frame.items, member), flags=frozenset(), name="")
        if frame.goal is not None:  # the interface has it from here on
            definition = state.types.table[frame.goal.name]
            definition = definition._replace(members=definition.members.add(member.name, member))
            state = state._replace(types=state.types.add(frame.goal.name, definition))
        return self._members_end(state) if lexeme.sign == "}" else state.go("member")

    # -- type parameters -----------------------------------------------------------------------------------------------

    def _at_generic(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the name of a type parameter."""
        frame, word = state.frame, lexeme.word
        if not word:
            return OPEN
        if word in RESERVED or word in PRIMITIVES or word in frame.generics:
            return None
        state = state.change_scope(generics=state.scope.generics | {word})
        return state.change(generics=(*frame.generics, word)).go("after generic")

    def _at_after_generic(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign == ",":
            return state.go("generic")
        if lexeme.sign == ">=":  # `type A<T>= T;`
            after = self._generics_end(state)
            return None if after is None else self.read(after, TsLexeme(lexeme.kind, "="))
        return self._generics_end(state) if lexeme.sign == ">" else OPEN

    def _method_type_ends(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after the result of a method of an interface."""
        frame = state.frame
        made = function(TsSignature(frame.items, type_, frame.generics))
        return self._add_member(state.pop("member").leave(), made, lexeme, is_method=True)
