"""Declarations: variables, functions, interfaces and aliases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from constrain.monitors.bound import EMPTY
from constrain.monitors.stacks import elements, replace_element, replace_fields
from constrain.monitors.typescript.classes import Classes
from constrain.monitors.typescript.flow import assigned
from constrain.monitors.typescript.naming import TsLexeme
from constrain.monitors.typescript.relations import is_assignable
from constrain.monitors.typescript.state import OPEN, Entry, TsFrame, Value
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import (
    ANY,
    NEVER,
    PRIMITIVES,
    UNDEFINED,
    VOID,
    TsSignature,
    TsType,
    TypeDefinition,
    constituents,
    function,
    union,
    widen,
)
from constrain.monitors.typescript.words import RESERVED

PENDING = Entry(VOID, "", pending=True)


class Declarations(Classes):
    """The steps of a state over the lexemes of declarations."""

    # Steps of other parts
    _complete: Callable[[S], S]
    _doubted: Callable[[S], Any]
    inferred: Callable[..., TsType]

    def _declaration_word(self, state: S, word: str) -> S | None:
        """The state after the word that a declaration begins with."""
        match word:
            case "export":
                return state.go("export")
            case "declare":
                return state.go("declare")
            case "function":
                return state.push(TsFrame("signature", role="function", facts=state.facts), "function name")
            case "interface" | "type":
                return state.go("type declaration", held=word)
            case "class":
                return state.go("class name")
        return None

    def _at_export(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.word in ("const", "let", "function", "interface", "type", "class"):
            return self.read(state.go("statement"), lexeme)
        return None if lexeme.word else OPEN

    def _at_declare(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read a declaration of what is defined elsewhere."""
        if lexeme.word in ("const", "let"):
            return state.push(TsFrame("declaration", role="declare", name=""), "variable name")
        if lexeme.word == "function":
            return state.push(TsFrame("signature", role="declare"), "function name")
        return OPEN

    # -- variables -----------------------------------------------------------------------------------------------------

    def _at_variable_name(self, state: S, lexeme: TsLexeme) -> S | None:
        if not lexeme.word:
            return OPEN
        if not self.may_declare(state, lexeme.word):
            return None
        state = self.declare(state, lexeme.word, PENDING)
        return state.change(name=lexeme.word).go("declared")

    def _at_declared(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the name of a variable."""
        frame = state.frame
        if lexeme.sign == ":" and "of" not in frame.flags:
            return self._begin_type(state, "variable")
        if lexeme.sign == "=":
            return self._begin_expression(state, TsFrame("init"))
        if lexeme.word in ("of", "in") and "for" in frame.flags:
            return self._begin_expression(state, TsFrame("of", role=lexeme.word))
        return None if lexeme.sign else OPEN

    def _typed_variable(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after the type of a variable."""
        frame = state.frame
        if frame.role == "declare":
            state = self.declare(state, frame.name, Entry(type_, "", "const"))
            return self._complete(state.pop("statement")) if lexeme.sign == ";" else None
        if lexeme.sign != "=":
            return None
        state = self.declare(state, frame.name, Entry(type_, "", frame.role, pending=True))
        return self._begin_expression(state, TsFrame("init", goal=type_, hint=type_))

    def bind_pending(self, state: S, type_: TsType) -> S:
        """The state after the type of an arrow function is known that a variable will have: its body may use it."""
        frames = [*elements(state.frames)][1:3]
        if len(frames) < 2 or frames[0].kind != "init" or frames[0].goal is not None:
            return state
        index, name = 1, frames[1].name
        scope = [*elements(state.scopes)][index]
        entry = scope.names.table.get(name)
        if entry is None or not entry.pending:
            return state
        scope = scope._replace(names=scope.names.add(name, entry._replace(type=type_)))
        return state._replace(scopes=replace_element(state.scopes, index, scope))

    def _end_init(self, state: S, lexeme: TsLexeme) -> S | None:
        """The state after the initial value of a variable."""
        if lexeme.sign != ";":
            return None
        value, goal = state.value, state.frame.goal
        state = state.pop("statement")
        frame = state.frame
        type_ = self._bound_type(value, frame.role) if goal is None else goal
        tested: tuple[str, ...] = ()
        if frame.role == "const" and value.when is not None and state.facts is not None:
            tables = [facts.table for facts in value.when if facts is not None]
            here = state.facts.table
            tested = tuple(sorted({key for table in tables for key in table if table[key] != here.get(key)}))
        state = self.declare(state, frame.name, Entry(type_, "", frame.role, tested=tested))
        key = state.scope.names.table[frame.name].key
        state = state._replace(facts=assigned(state.facts, key, type_, value.type, state.types))
        state = state.pop("statement")
        if "for" in frame.flags:
            facts = self._doubted(state)
            return state.go("test")._replace(facts=facts)
        return self._complete(state)

    @staticmethod
    def _bound_type(value: Value, role: str) -> TsType:
        """The type of a variable without a written one."""
        type_ = value.type
        if type_.kind == "array" and type_.parts == (NEVER,) and value.form == "literal":
            return ANY
        if role == "let":
            return ANY if type_.kind in ("null", "undefined") else widen(type_)
        return union(part if part.kind == "literal" else widen(part) for part in constituents(type_))

    # -- functions -----------------------------------------------------------------------------------------------------

    def _at_function_name(self, state: S, lexeme: TsLexeme) -> S | None:
        if not lexeme.word:
            return OPEN
        if not self.may_declare(state, lexeme.word):
            return None
        state = self.declare(state, lexeme.word, PENDING).change(name=lexeme.word)
        return state.enter(is_function=True).go("after function name")

    def _at_after_function_name(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign == "<":
            return state.go("generic")
        return state.go("parameter") if lexeme.sign == "(" else None

    def _generics_end(self, state: S) -> S | None:
        """The state after type parameters."""
        if state.kind == "signature":
            return state.go("after generics")
        return self._heads_generics(state)

    def _at_after_generics(self, state: S, lexeme: TsLexeme) -> S | None:
        return state.go("parameter") if lexeme.sign == "(" else None

    def _signature_ends(self, state: S) -> S | None:
        """The state in the body of a function, whose signature is known."""
        frame = state.frame
        if frame.role == "arrow":
            return self._begin_arrow_body(state, frame.goal)
        result = ANY if frame.goal is None else frame.goal
        made = function(TsSignature(frame.items, result, frame.generics))
        if frame.role == "function":
            state = self._bind_function(state, frame.name, made)
        elif frame.role == "constructor":
            state = self._constructor_begins(state, frame)
        else:
            state = self._method_begins(state, frame, made)
        state = state.swap(TsFrame(
            "function", role=frame.role, goal=frame.goal, name=frame.name, facts=state.facts, signature=made.parts[0],
            flags=frame.flags,
        ))  # fmt: skip
        return self._enter_body(state)

    def _enter_body(self, state: S) -> S:
        is_derived = state.frame.role == "constructor" and self.is_derived(state)
        return state.go("super" if is_derived else "statement", facts=EMPTY)

    @staticmethod
    def _bind_function(state: S, name: str, type_: TsType) -> S:
        """The state after the type of a function is known: it is declared in the scope around its own."""
        scope = [*elements(state.scopes)][1]
        entry = scope.names.table[name]._replace(type=type_, kind="function", pending=False)
        scope = replace_fields(scope, {"names": scope.names.add(name, entry)})
        return state._replace(scopes=replace_element(state.scopes, 1, scope))

    def _function_ends(self, state: S) -> S | None:
        """The state after the brace that closes the body of a function."""
        frame = state.frame
        is_reached = state.facts is not None
        goal = frame.goal
        if is_reached and goal is not None and frame.role != "constructor":
            needs = goal.kind not in ("any", "undefined") and all(part.kind != "void" for part in constituents(goal))
            if needs and not (frame.items and is_assignable(UNDEFINED, goal, state.types)):
                return None
        if frame.role == "constructor":
            return self._constructor_ends(state)
        if frame.role == "block":  # of an arrow function
            return self._arrow_block_ends(state)
        if frame.goal is None:
            type_ = self.inferred(frame.items, is_reached, False)
            made = function(frame.signature._replace(result=type_))
            if frame.role == "function":
                state = self._bind_function(state, frame.name, made)
            else:
                state = self._method_begins(state, frame, made)
        state = state.leave().pop("statement", facts=frame.facts)
        return self._complete(state) if frame.role == "function" else state.change(name="").go("class member")

    def _arrow_block(self, state: S) -> S:
        """The state in the block of an arrow function."""
        arrow = state.frame
        goal = None if arrow.goal == VOID and not arrow.seen else arrow.goal
        return state.push(TsFrame("function", role="block", goal=goal), "statement")

    def _arrow_block_ends(self, state: S) -> S | None:
        frame = state.frame
        result = self.inferred(frame.items, state.facts is not None, True) if frame.goal is None else frame.goal
        return self._arrow_ends(state.pop("operator"), result)

    def _declared_function(self, state: S, type_: TsType) -> S:
        """The state after the signature of a function that is defined elsewhere."""
        frame = state.frame
        made = function(TsSignature(frame.items, type_, frame.generics))
        state = self._bind_function(state, frame.name, made)
        return self._complete(state.leave().pop("statement"))

    # -- interfaces and aliases ----------------------------------------------------------------------------------------

    def _at_type_declaration(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the name of an interface or an alias."""
        word, held = lexeme.word, state.held
        if not word:
            return OPEN
        if word in RESERVED or word in PRIMITIVES or word in state.types.table:
            return None
        kind = "interface" if held == "interface" else "alias"
        state = state._replace(types=state.types.add(word, TypeDefinition(kind, complete=False)))
        frame = TsFrame("members" if kind == "interface" else "alias", role="interface", goal=TsType("named", word))
        return state.enter().push(frame, "head")._replace(at="type head")

    def _at_type_head(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the name of an interface or an alias."""
        if lexeme.sign == "<" and not state.frame.generics:
            return state.go("generic")
        if state.kind == "alias":
            return self._begin_type(state, "alias") if lexeme.sign == "=" else None
        if lexeme.word == "extends" and "based" not in state.frame.flags:
            return self._begin_type(state.change(flags=frozenset({"based"})), "heritage")
        if lexeme.sign == "{":
            return state.change(flags=frozenset()).go("member")
        return None

    def _heads_generics(self, state: S) -> S:
        """The state after the type parameters of an interface, an alias or a class."""
        frame = state.frame
        assert frame.goal is not None
        definition = state.types.table[frame.goal.name]._replace(generics=frame.generics)
        state = state._replace(types=state.types.add(frame.goal.name, definition))
        if frame.kind == "class":
            parts = tuple(TsType("parameter", name) for name in frame.generics)
            return self._own_constructor(state.change(goal=frame.goal._replace(parts=parts))).go("class head")
        return state.go("type head")

    def _heritage(self, state: S, role: str, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after the type that an interface extends."""
        frame = state.frame
        assert frame.goal is not None
        definition = state.types.table[frame.goal.name]._replace(bases=(type_,))
        state = state._replace(types=state.types.add(frame.goal.name, definition))
        return self.read(state.go("type head"), lexeme)

    def _alias_ends(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != ";":
            return None
        frame = state.frame
        assert frame.goal is not None
        made = TypeDefinition("alias", frame.generics, target=type_)
        state = state._replace(types=state.types.add(frame.goal.name, made))
        return self._complete(state.leave().pop("statement"))

    def _members_end(self, state: S) -> S | None:
        """The state after the brace that ends the members of an interface or of an object type."""
        frame = state.frame
        if frame.goal is None:
            return self._part(state.pop("after type"), TsType("object", "", frame.items))
        definition = state.types.table[frame.goal.name]._replace(complete=True)
        state = state._replace(types=state.types.add(frame.goal.name, definition))
        return self._complete(state.leave().pop("statement"))

    # -- types, by their role ------------------------------------------------------------------------------------------

    def _typed(self, state: S, role: str, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after a type, at the lexeme behind it."""
        match role:
            case "variable":
                return self._typed_variable(state, type_, lexeme)
            case "parameter":
                return self._typed_parameter(state, type_, lexeme)
            case "result":
                if state.frame.role == "declare":
                    return self._declared_function(state, type_) if lexeme.sign == ";" else None
                return self._typed_result(state, type_, lexeme)
            case "function type":
                return self._function_type_ends(state, type_, lexeme)
            case "member":
                return self._add_member(state, type_, lexeme)
            case "type argument":
                return self._type_argument(state, type_, lexeme)
            case "type group":
                return self._part(state, type_) if lexeme.sign == ")" else None
            case "alias":
                return self._alias_ends(state, type_, lexeme)
            case "field":
                return self._typed_field(state, type_, lexeme)
        heritage = self._class_heritage if state.kind == "class" else self._heritage
        return heritage(state, role, type_, lexeme)
